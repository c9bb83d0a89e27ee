package mempool

import "math/bits"

// slab is a run of granules cut into equal slots.
type slab struct {
	base       uint64
	size       uint32 // of a slot
	class      uint8
	listed     bool // in its class's list of slabs with room
	slots      uint16
	free       uint16
	next, prev int32 // in that list; -1 ends it
	vacant     [4]uint64
	owners     []owner // by slot
}

// owner is what the pool keeps of a block for its user.
type owner struct {
	bytes   uint32 // padded size; 0: nobody's
	tag     uint32
	leaving bool
}

// shelf is the slabs of one class that have room, and at most one that is empty.
type shelf struct {
	head  int32
	empty int32 // slab that is kept although nothing is in it; -1 none
}

// allocSmall takes a slot.
func (p *Pool) allocSmall(n uint64, tag uint32) (uint64, bool) {
	c := classOf(n)
	sh := &p.shelves[c]
	i := sh.head
	if i < 0 {
		var ok bool
		if i, ok = p.newSlab(c); !ok {
			return 0, false
		}
	}
	s := &p.slabs[i]
	if sh.empty == i {
		sh.empty = -1
	}
	w := 0
	for s.vacant[w] == 0 {
		w++
	}
	slot := w*64 + bits.TrailingZeros64(s.vacant[w])
	s.vacant[w] &= s.vacant[w] - 1
	if s.free--; s.free == 0 {
		p.unlist(sh, i)
	}
	s.owners[slot] = owner{bytes: uint32(n), tag: tag}
	return s.base + uint64(slot)*uint64(s.size), true
}

// freeSmall gives a slot back.
func (p *Pool) freeSmall(i int32, slot uint32) {
	s := &p.slabs[i]
	sh := &p.shelves[s.class]
	s.owners[slot] = owner{}
	s.vacant[slot/64] |= 1 << (slot % 64)
	s.free++
	if !s.listed {
		p.list(sh, i)
	}
	if s.free != s.slots {
		return
	}
	// One empty slab of each class stays, so that a block that comes and goes does not take its slab along.
	if sh.empty >= 0 {
		p.dropSlab(i)
		return
	}
	sh.empty = i
}

// newSlab makes a slab of class c.
func (p *Pool) newSlab(c int) (int32, bool) {
	bytes := slabBytes(c)
	start, ok := p.takeRun(bytes/p.granule, 0)
	if !ok {
		return 0, false
	}
	i := int32(len(p.slabs))
	if n := len(p.spareSlabs); n > 0 {
		i = p.spareSlabs[n-1]
		p.spareSlabs = p.spareSlabs[:n-1]
	} else {
		p.slabs = append(p.slabs, slab{})
	}
	size := slotBytes(c)
	slots := int(bytes / size)
	s := &p.slabs[i]
	owners := s.owners
	if cap(owners) < slots {
		owners = make([]owner, slots)
	}
	*s = slab{base: p.address(start), size: uint32(size), class: uint8(c), slots: uint16(slots), free: uint16(slots), owners: owners[:slots]}
	clear(s.owners)
	for w := 0; w*64 < slots; w++ {
		s.vacant[w] = mask(0, uint(min(slots-w*64, 64)))
	}
	for g := start; g < start+bytes/p.granule; g++ {
		p.name(g, slabEntry(int(i)))
	}
	p.list(&p.shelves[c], i)
	return i, true
}

// dropSlab gives an empty slab's memory back.
func (p *Pool) dropSlab(i int32) {
	s := &p.slabs[i]
	p.unlist(&p.shelves[s.class], i)
	start := p.granuleOf(s.base)
	n := slabBytes(int(s.class)) / p.granule
	for g := start; g < start+n; g++ {
		p.name(g, noEntry)
	}
	p.giveRun(start, n, 0)
	p.spareSlabs = append(p.spareSlabs, i)
}

// list puts slab i into its shelf, behind the first one: that is filled before it.
func (p *Pool) list(sh *shelf, i int32) {
	s := &p.slabs[i]
	s.listed, s.prev, s.next = true, -1, sh.head
	if sh.head >= 0 {
		p.slabs[sh.head].prev = i
	}
	sh.head = i
}

func (p *Pool) unlist(sh *shelf, i int32) {
	s := &p.slabs[i]
	if s.prev >= 0 {
		p.slabs[s.prev].next = s.next
	} else {
		sh.head = s.next
	}
	if s.next >= 0 {
		p.slabs[s.next].prev = s.prev
	}
	s.listed = false
}
