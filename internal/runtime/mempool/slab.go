package mempool

import "math/bits"

// slab is a run of granules cut into equal slots.
type slab struct {
	base    uint64
	size    uint32 // of a slot
	class   uint8
	listed  bool   // in its class's list of slabs with room
	inverse uint64 // 2^40 / size, rounded up: dividing by size is what a free would spend its time with
	slots   uint16
	free    uint16
	number  int32
	vacant  [4]uint64
	owners  []owner // by slot
	next    *slab   // in that list
	prev    *slab
}

// owner is what the pool keeps of a slot for its user, in one word, since it is read soon after it is written: the padded
// size in the lower bits, 0 for nobody's, whether the block is leaving, and the tag above.
type owner uint64

const (
	leavingBit = owner(1) << 31
	tagShift   = 32
	cachedBit  = owner(cachedTag) << tagShift
)

func (o owner) bytes() uint64           { return uint64(o & (leavingBit - 1)) }
func (o owner) leaving() bool           { return o&leavingBit != 0 }
func (o owner) cached() bool            { return o&cachedBit != 0 }
func (o owner) tagged(tag uint32) owner { return o&(1<<tagShift-1) | owner(tag)<<tagShift }
func (o owner) tag() uint32             { return uint32(o &^ cachedBit >> tagShift) }

// shelf is the slabs of one class that have room, and at most one that is empty.
type shelf struct {
	head  *slab
	empty *slab // that is kept although nothing is in it
}

// allocSmall takes a slot.
func (p *Pool) allocSmall(n uint64, tag uint32) (uint64, bool) {
	c := p.class[(n+slotAlign-1)/slotAlign%1024]
	sh := &p.shelves[c]
	s := sh.head
	if s == nil {
		if s = p.newSlab(int(c)); s == nil {
			return 0, false
		}
	}
	if sh.empty == s {
		sh.empty = nil
	}
	w := 0
	for s.vacant[w&3] == 0 {
		w++
	}
	v := &s.vacant[w&3]
	slot := uint(w*64 + bits.TrailingZeros64(*v))
	*v &= *v - 1
	if s.free--; s.free == 0 {
		p.unlist(sh, s)
	}
	s.owners[slot] = owner(n) | owner(tag)<<tagShift
	p.allocs++
	if p.inUse += n; p.inUse > p.peak {
		p.peak = p.inUse
	}
	return s.base + uint64(slot)*uint64(s.size), true
}

// slot is the slot of s that begins at addr and is somebody's.
func (s *slab) slot(addr uint64) (uint32, bool) {
	off := addr - s.base
	slot := off * s.inverse >> 40
	return uint32(slot), slot*uint64(s.size) == off && slot < uint64(len(s.owners)) && s.owners[slot] != 0
}

// freeSmall gives a slot back.
func (p *Pool) freeSmall(s *slab, slot uint32) {
	sh := &p.shelves[s.class]
	s.owners[slot] = 0
	s.vacant[slot/64&3] |= 1 << (slot % 64)
	s.free++
	if !s.listed {
		p.list(sh, s)
	}
	if s.free != s.slots {
		return
	}
	// One empty slab of each class stays, so that a block that comes and goes does not take its slab along.
	if sh.empty != nil {
		p.dropSlab(s)
		return
	}
	sh.empty = s
}

// newSlab makes a slab of class c; nil if there is no room.
func (p *Pool) newSlab(c int) *slab {
	bytes := slabBytes(c)
	start, ok := p.takeRun(bytes/p.granule, 0)
	if !ok {
		return nil
	}
	var s *slab
	if n := len(p.spareSlabs); n > 0 {
		s = p.spareSlabs[n-1]
		p.spareSlabs = p.spareSlabs[:n-1]
	} else {
		s = &slab{number: int32(len(p.slabs))}
		p.slabs = append(p.slabs, s)
	}
	size := slotBytes(c)
	slots := int(bytes / size)
	if cap(s.owners) < slots {
		s.owners = make([]owner, slots)
	}
	s.owners = s.owners[:slots]
	clear(s.owners)
	s.base, s.size, s.class, s.inverse = p.address(start), uint32(size), uint8(c), (1<<40+size-1)/size
	s.slots, s.free, s.vacant = uint16(slots), uint16(slots), [4]uint64{}
	for w := 0; w*64 < slots; w++ {
		s.vacant[w] = mask(0, uint(min(slots-w*64, 64)))
	}
	for g := start; g < start+bytes/p.granule; g++ {
		p.name(g, slabEntry(int(s.number)))
	}
	p.list(&p.shelves[c], s)
	return s
}

// dropSlab gives an empty slab's memory back.
func (p *Pool) dropSlab(s *slab) {
	p.unlist(&p.shelves[s.class], s)
	start := p.granuleOf(s.base)
	n := slabBytes(int(s.class)) / p.granule
	for g := start; g < start+n; g++ {
		p.name(g, noEntry)
	}
	s.slots, s.free = 0, 0
	p.giveRun(start, n, 0)
	p.spareSlabs = append(p.spareSlabs, s)
}

// list puts slab s at the head of its shelf.
func (p *Pool) list(sh *shelf, s *slab) {
	s.listed, s.prev, s.next = true, nil, sh.head
	if sh.head != nil {
		sh.head.prev = s
	}
	sh.head = s
}

func (p *Pool) unlist(sh *shelf, s *slab) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		sh.head = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	}
	s.listed, s.next, s.prev = false, nil, nil
}
