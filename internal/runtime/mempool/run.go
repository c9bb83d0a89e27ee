package mempool

// Pages is told which segments of a table get their first block and lose their last one. Table 0 is the one that all
// blocks share that name no table of their own.
type Pages interface {
	Map(addr, bytes uint64, table uint32)
	Unmap(addr, bytes uint64, table uint32)
}

// noPages is for pools whose memory needs no mapping.
type noPages struct{}

func (noPages) Map(uint64, uint64, uint32)   {}
func (noPages) Unmap(uint64, uint64, uint32) {}

func (p *Pool) address(g uint64) uint64   { return p.base + g<<p.shift }
func (p *Pool) granuleOf(a uint64) uint64 { return (a - p.base) >> p.shift }

// takeRun takes n granules in a row at the lowest place.
func (p *Pool) takeRun(n uint64, table uint32) (uint64, bool) {
	if n > p.total/p.granule {
		return 0, false
	}
	for {
		start, inside, ok := p.tree.find(uint32(n))
		if ok {
			if inside >= 0 {
				start = uint64(inside) * uint64(p.perSegment)
				if s := p.segments[inside]; s != nil {
					start += uint64(s.find(uint32(n), p.perSegment))
				}
			}
			p.occupy(start, n, table, true)
			return start, true
		}
		if !p.grow() {
			return 0, false
		}
	}
}

// takeWhole takes whole segments at a multiple of align segments, the lowest that are free.
func (p *Pool) takeWhole(segments, align uint64, table uint32) (uint64, bool) {
	first := (align - p.base/Segment%align) % align
	for {
		for i := first; i+segments <= uint64(len(p.use)); i += align {
			n := uint64(0)
			for n < segments && p.use[i+n] == 0 && p.tree.leaf(int(i+n)).most == p.perSegment {
				n++
			}
			if n == segments {
				start := i * uint64(p.perSegment)
				p.occupy(start, segments*uint64(p.perSegment), table, true)
				return start, true
			}
		}
		if !p.grow() {
			return 0, false
		}
	}
}

// giveRun frees granules.
func (p *Pool) giveRun(start, n uint64, table uint32) { p.occupy(start, n, table, false) }

// occupy marks granules as used or free, and tells Pages about segments that begin or cease to be used.
func (p *Pool) occupy(start, n uint64, table uint32, used bool) {
	per := uint64(p.perSegment)
	lo, hi := int(start/per), int((start+n-1)/per)
	for i := lo; i <= hi; i++ {
		from, to := uint64(0), per
		if i == lo {
			from = start % per
		}
		if i == hi {
			to = (start+n-1)%per + 1
		}
		whole := to-from == per
		s := p.segments[i]
		switch {
		case s != nil || !whole:
			if s == nil {
				s = p.newSegment(i)
			}
			s.mark(uint(from), uint(to), used)
			*p.tree.leaf(i) = s.node(p.perSegment)
		case used:
			*p.tree.leaf(i) = node{}
		default:
			*p.tree.leaf(i) = node{p.perSegment, p.perSegment, p.perSegment}
		}
		if used {
			if p.use[i] == 0 {
				p.wake(i, table)
			}
			p.use[i] += uint16(to - from)
		} else if p.use[i] -= uint16(to - from); p.use[i] == 0 {
			p.idle(i, table)
		}
	}
	p.flushPages(table)
	p.tree.refresh(lo, hi)
}

// newSegment makes the record of a segment that was free as a whole.
func (p *Pool) newSegment(i int) *segment {
	var s *segment
	if n := len(p.spare); n > 0 {
		s = p.spare[n-1]
		p.spare = p.spare[:n-1]
	} else {
		s = new(segment)
	}
	p.segments[i] = s
	return s
}

// name sets what begins at a granule.
func (p *Pool) name(g uint64, e entry) {
	i := int(g / uint64(p.perSegment))
	s := p.segments[i]
	if s == nil {
		// A large block begins that fills the segment: its bitmap is all ones.
		s = p.newSegment(i)
		if p.use[i] != 0 {
			s.mark(0, uint(p.perSegment), true)
		}
	}
	old := &s.entries[g%uint64(p.perSegment)]
	switch {
	case *old == noEntry && e != noEntry:
		s.named++
	case *old != noEntry && e == noEntry:
		s.named--
	}
	*old = e
}

// what begins at, or for a slab covers, the granule g.
func (p *Pool) entryAt(g uint64) entry {
	if i := (g << p.shift) / Segment; i < uint64(len(p.segments)) && p.segments[i] != nil {
		return p.segments[i].entries[g&uint64(p.perSegment-1)&(maxGranules-1)]
	}
	return noEntry
}

// grow doubles the part of the range that the tree covers.
func (p *Pool) grow() bool {
	all := int(p.total / Segment)
	have := len(p.use)
	if have >= all {
		return false
	}
	t := newTree(2*p.tree.leaves, p.perSegment)
	n := min(all, t.leaves)
	for i := range n {
		if i < have {
			*t.leaf(i) = *p.tree.leaf(i)
		} else {
			*t.leaf(i) = node{p.perSegment, p.perSegment, p.perSegment}
		}
	}
	t.refresh(0, t.leaves-1)
	p.tree = t
	p.use = append(p.use, make([]uint16, n-have)...)
	p.mapped = append(p.mapped, make([]bool, n-have)...)
	p.segments = append(p.segments, make([]*segment, n-have)...)
	return true
}

// Split cuts a block of whole segments into two, the first of n bytes, a multiple of Segment. It says whether addr was
// such a block.
func (p *Pool) Split(addr, n uint64) bool {
	_, _, r := p.at(addr)
	if r == nil || n == 0 || n%Segment != 0 || r.start%uint64(p.perSegment) != 0 || n >= r.n*p.granule || r.bytes != r.n*p.granule {
		return false
	}
	rest := *r
	rest.start += n / p.granule
	rest.n -= n / p.granule
	rest.bytes -= n
	r.n, r.bytes = n/p.granule, n
	p.name(rest.start, blockEntry(p.newRun(rest)))
	p.allocs++
	return true
}

// Join makes one block of two neighbours of whole segments.
func (p *Pool) Join(addr, next uint64) bool {
	_, _, a := p.at(addr)
	_, _, b := p.at(next)
	if a == nil || b == nil || a.start+a.n != b.start || a.table != b.table || a.tag != b.tag || a.leaving || b.leaving || a.bytes != a.n*p.granule || b.bytes != b.n*p.granule {
		return false
	}
	i := p.entryAt(b.start).index()
	a.n, a.bytes = a.n+b.n, a.bytes+b.bytes
	p.name(b.start, noEntry)
	p.spareRuns = append(p.spareRuns, int32(i))
	p.frees++
	return true
}

// newRun is the number of a new record.
func (p *Pool) newRun(r run) int {
	if k := len(p.spareRuns); k > 0 {
		i := int(p.spareRuns[k-1])
		p.spareRuns = p.spareRuns[:k-1]
		p.runs[i] = r
		return i
	}
	p.runs = append(p.runs, r)
	return len(p.runs) - 1
}
