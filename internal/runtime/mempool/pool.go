package mempool

import "math/bits"

// Config is what a pool is made for.
type Config struct {
	Base, Size uint64 // the range of addresses; whole segments
	// Granule is the unit of blocks that are too large for slabs, in bytes: a power of two from 2 KiB to 32 KiB. 0 is 2 KiB.
	Granule uint64
	NoSlabs bool // every block is whole granules
	Pages   Pages
}

// Pool hands out blocks of a range of addresses.
type Pool struct {
	base, total uint64
	granule     uint64
	shift       uint8 // log2 of granule
	perSegment  uint32
	small       uint64 // largest block that goes into a slab
	pages       Pages

	tree       tree
	use        []uint16 // granules in use, by segment
	mapped     []bool
	segments   []*segment // nil: free as a whole, or in the middle of one block
	spare      []*segment
	shelves    [classes]shelf
	class      [1024]uint8 // by size in units of 64 bytes
	slabs      []*slab
	spareSlabs []*slab
	runs       []run
	spareRuns  []int32

	threshold, cached, reserved, peakReserved uint64
	toldAt, toldN                             int
	toldOn                                    bool
	inUse, peak, leaving                      uint64
	room                                      uint64 // of runs
	allocs, frees                             uint64
	strays                                    []uint64 // blocks of caches that others freed: they are leaving
	strayBytes                                uint64
	leavingCached                             int  // blocks of caches that are leaving and not yet among the strays
	forced                                    bool // strays were freed although their caches did not know
}

// run is a block that is no slot of a slab.
type run struct {
	start, n uint64 // granules
	bytes    uint64 // padded size
	tag      uint32
	table    uint32
	leaving  bool
}

// firstLeaves is how many segments the tree covers at first.
const firstLeaves = 64

// New makes a pool.
func New(c Config) *Pool {
	if c.Granule == 0 {
		c.Granule = Segment / maxGranules
	}
	if c.Pages == nil {
		c.Pages = noPages{}
	}
	p := &Pool{base: c.Base, total: c.Size &^ (Segment - 1), granule: c.Granule, shift: uint8(bits.TrailingZeros64(c.Granule)), perSegment: uint32(Segment / c.Granule), pages: c.Pages, small: maxSlot}
	if c.NoSlabs {
		p.small = 0
	}
	for i := range maxSlot/slotAlign + 1 {
		p.class[i] = uint8(classOf(uint64(max(i, 1)) * slotAlign))
	}
	p.tree = newTree(firstLeaves/2, p.perSegment)
	p.grow()
	return p
}

// Request is a block that is wanted.
type Request struct {
	Bytes uint64 // as the rules of the chip make it, see Padded
	Align uint64 // of its address, a power of two; 64 is kept in any case
	Whole uint64 // if not 0: whole pages of this size, which it shares with nobody
	Table uint32 // page table; not 0: one of its own, and whole segments
	Tag   uint32 // whose it is, below 1<<31; the pool only keeps it
}

// Block is one that was handed out.
type Block struct {
	Addr    uint64
	Bytes   uint64 // padded size
	Room    uint64 // what it takes of the pool
	Tag     uint32
	Table   uint32
	Leaving bool // freed, but tasks may still use it
	Cached  bool // a cache's: freed by anyone else, it goes on leaving until that cache knows it
}

// Alloc finds room for r and says whether there was some.
func (p *Pool) Alloc(r Request) (uint64, bool) {
	n := max(r.Bytes, 1)
	if n <= p.small && r.Align <= slotAlign && r.Whole == 0 && r.Table == 0 {
		return p.allocSmall(n, r.Tag&^cachedTag)
	}
	return p.allocRun(r, n)
}

func (p *Pool) allocRun(r Request, n uint64) (uint64, bool) {
	if n > p.total {
		return 0, false
	}
	var start, granules uint64
	var ok bool
	switch whole := max(r.Whole, r.Align); {
	case r.Whole > 0 || r.Table != 0 || r.Align > p.granule:
		// Alignment beyond a granule is rare: whole segments serve it.
		whole = max(whole, Segment)
		granules = (n + Segment - 1) &^ (Segment - 1) / p.granule
		if r.Whole > 0 {
			granules = (n + r.Whole - 1) / r.Whole * r.Whole / p.granule
		}
		start, ok = p.takeWhole(granules/uint64(p.perSegment), whole/Segment, r.Table)
	default:
		granules = (n + p.granule - 1) / p.granule
		start, ok = p.takeRun(granules, 0)
	}
	if !ok {
		return 0, false
	}
	i := p.newRun(run{start: start, n: granules, bytes: n, tag: r.Tag, table: r.Table})
	p.name(start, blockEntry(i))
	p.count(n, granules*p.granule)
	return p.address(start), true
}

func (p *Pool) count(n, room uint64) {
	p.allocs++
	p.room += room
	p.inUse += n
	p.peak = max(p.peak, p.inUse)
}

// at finds the block that begins at addr: a slot of a slab, or a run.
func (p *Pool) at(addr uint64) (s *slab, slot uint32, r *run) {
	off := addr - p.base
	i := off / Segment
	if i >= uint64(len(p.segments)) || p.segments[i] == nil {
		return nil, 0, nil
	}
	e := p.segments[i].entries[off%Segment>>p.shift%maxGranules]
	switch {
	case e == noEntry:
	case e.slab():
		s = p.slabs[e.index()]
		if slot, ok := s.slot(addr); ok {
			return s, slot, nil
		}
	case off&(p.granule-1) == 0:
		return nil, 0, &p.runs[e.index()]
	}
	return nil, 0, nil
}

// Leave marks a block as freed by its user; it stays in use until Free. false: addr is not the start of a block, or it
// was freed before.
func (p *Pool) Leave(addr uint64) (Block, bool) {
	s, slot, r := p.at(addr)
	var b Block
	switch {
	case s != nil && !s.owners[slot].leaving():
		s.owners[slot] |= leavingBit
		b = s.block(slot)
		if b.Cached {
			p.leavingCached++
		}
	case r != nil && !r.leaving:
		r.leaving = true
		b = p.blockOf(r)
	default:
		return Block{}, false
	}
	p.leaving += b.Bytes
	return b, true
}

// Free gives a block back; false if addr is not the start of one.
func (p *Pool) Free(addr uint64) (Block, bool) { return p.free(addr, true) }

// FreeLive is Free, but not for a block that is leaving.
func (p *Pool) FreeLive(addr uint64) (Block, bool) { return p.free(addr, false) }

func (p *Pool) free(addr uint64, leaving bool) (Block, bool) {
	s, slot, r := p.at(addr)
	if s == nil {
		if r == nil || r.leaving && !leaving {
			return Block{}, false
		}
		return p.freeRun(r), true
	}
	o := s.owners[slot]
	if o.leaving() && !leaving {
		return Block{}, false
	}
	if o.cached() {
		p.stray(addr, &s.owners[slot])
		return s.block(slot), true
	}
	if o.leaving() {
		p.leaving -= o.bytes()
	}
	p.frees++
	p.inUse -= o.bytes()
	size := s.size
	p.freeSmall(s, slot)
	return Block{Addr: addr, Bytes: o.bytes(), Room: uint64(size), Tag: o.tag(), Leaving: o.leaving()}, true
}

func (p *Pool) freeRun(r *run) Block {
	b, x := p.blockOf(r), *r
	i := p.entryAt(r.start).index()
	p.name(x.start, noEntry)
	p.giveRun(x.start, x.n, x.table)
	p.spareRuns = append(p.spareRuns, int32(i))
	p.room -= b.Room
	p.frees++
	p.inUse -= b.Bytes
	if b.Leaving {
		p.leaving -= b.Bytes
	}
	return b
}

func (s *slab) block(slot uint32) Block {
	o := s.owners[slot]
	return Block{Addr: s.base + uint64(slot)*uint64(s.size), Bytes: o.bytes(), Room: uint64(s.size), Tag: o.tag(), Leaving: o.leaving(), Cached: o.cached()}
}

func (p *Pool) blockOf(r *run) Block {
	return Block{Addr: p.address(r.start), Bytes: r.bytes, Room: r.n * p.granule, Tag: r.tag, Table: r.table, Leaving: r.leaving}
}

// At is the block that begins at addr.
func (p *Pool) At(addr uint64) (Block, bool) {
	s, slot, r := p.at(addr)
	switch {
	case s != nil:
		return s.block(slot), true
	case r != nil:
		return p.blockOf(r), true
	}
	return Block{}, false
}
