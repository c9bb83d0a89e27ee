package mempool

// Stats are bytes, but for the counts at the end.
type Stats struct {
	Total        uint64 // the whole range
	InUse        uint64 // padded sizes of all blocks, those included that are leaving and that caches keep
	Peak         uint64 // the most that InUse ever was
	Leaving      uint64 // freed by the program, but tasks may still use it
	Room         uint64 // what the blocks take, with the roundings of slots and granules
	Reserved     uint64 // mapped segments
	PeakReserved uint64
	Cached       uint64 // mapped segments without a block
	FreePages    uint64 // segments without a block
	LargestFree  uint64

	Blocks, Allocs, Frees uint64
}

// Stats counts.
func (p *Pool) Stats() Stats {
	room := p.room
	for _, s := range p.slabs {
		room += uint64(s.slots-s.free) * uint64(s.size)
	}
	root := p.tree.nodes[1]
	beyond := p.total - min(p.total, uint64(len(p.use))*Segment)
	last := uint64(root.last) * p.granule
	if beyond == 0 {
		last = 0
	}
	return Stats{
		Total: p.total, InUse: p.inUse - p.strayBytes, Peak: p.peak, Leaving: p.leaving - p.strayBytes, Room: room,
		Reserved: p.reserved, PeakReserved: p.peakReserved, Cached: p.cached, FreePages: p.total - (p.reserved - p.cached),
		LargestFree: max(uint64(root.most)*p.granule, beyond+last), Blocks: p.allocs - p.frees - uint64(len(p.strays)), Allocs: p.allocs, Frees: p.frees,
	}
}

// InUse is the padded bytes of all blocks.
func (p *Pool) InUse() uint64 { return p.inUse }

// ResetPeak begins the high-water marks anew.
func (p *Pool) ResetPeak() { p.peak, p.peakReserved = p.inUse, p.reserved }

// SegmentUse is how much of a segment is in use, and by what.
type SegmentUse struct {
	Addr      uint64
	Used      uint64 // bytes of granules
	Slabs     uint64 // of which slabs have
	SlabsUsed uint64 // of which slots are in use
	Mapped    bool
}

// Map describes the segments up to the last one that is mapped.
func (p *Pool) Map() []SegmentUse {
	var list []SegmentUse
	end := 0
	for i := range p.use {
		if p.mapped[i] {
			end = i + 1
		}
	}
	for i := range end {
		u := SegmentUse{Addr: p.base + uint64(i)*Segment, Used: uint64(p.use[i]) * p.granule, Mapped: p.mapped[i]}
		if s := p.segments[i]; s != nil {
			for _, e := range s.entries[:p.perSegment] {
				if e != noEntry && e.slab() {
					sl := p.slabs[e.index()]
					u.Slabs += p.granule
					u.SlabsUsed += p.granule * uint64(sl.slots-sl.free) / uint64(sl.slots)
				}
			}
		}
		list = append(list, u)
	}
	return list
}

// Containing is the block that addr lies in. It looks back from addr, and is for diagnosis and range queries.
func (p *Pool) Containing(addr uint64) (Block, bool) {
	if addr-p.base >= p.total {
		return Block{}, false
	}
	g := p.granuleOf(addr)
	for {
		e := p.entryAt(g)
		switch {
		case e == noEntry:
		case e.slab():
			s := p.slabs[e.index()]
			slot := uint32(addr-s.base) / s.size
			if slot >= uint32(s.slots) || s.owners[slot] == 0 {
				return Block{}, false
			}
			return s.block(slot), true
		default:
			b := p.blockOf(&p.runs[e.index()])
			return b, addr < b.Addr+b.Room
		}
		if i := g / uint64(p.perSegment); i >= uint64(len(p.segments)) || p.segments[i] == nil {
			g = i * uint64(p.perSegment) // nothing begins in it
		}
		if g == 0 {
			return Block{}, false
		}
		g--
	}
}

// All calls f for every block, in the order of addresses, until it returns false.
func (p *Pool) All(f func(Block) bool) {
	for i, s := range p.segments {
		if s == nil || s.named == 0 {
			continue
		}
		last := noEntry
		for g, e := range s.entries[:p.perSegment] {
			if e == noEntry || e == last && e.slab() {
				continue
			}
			last = e
			if !e.slab() {
				if !f(p.blockOf(&p.runs[e.index()])) {
					return
				}
				continue
			}
			sl := p.slabs[e.index()]
			if p.granuleOf(sl.base) != uint64(i)*uint64(p.perSegment)+uint64(g) {
				continue // it began in the segment before
			}
			for slot := range uint32(sl.slots) {
				if sl.owners[slot] != 0 && !f(sl.block(slot)) {
					return
				}
			}
		}
	}
}
