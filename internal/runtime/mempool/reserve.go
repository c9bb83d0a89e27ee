package mempool

// Segments go from free to used to cached: mapped, but nothing in it. Cached ones of table 0 are kept up to the
// threshold.

// wake is called when segment i gets its first block.
func (p *Pool) wake(i int, table uint32) {
	if p.mapped[i] {
		p.cached -= Segment
		if table != 0 { // kept for the others
			p.pages.Unmap(p.base+uint64(i)*Segment, Segment, 0)
			p.tell(i, table, true)
		}
		return
	}
	p.mapped[i] = true
	p.reserved += Segment
	p.peakReserved = max(p.peakReserved, p.reserved)
	p.tell(i, table, true)
}

// idle is called when segment i loses its last block.
func (p *Pool) idle(i int, table uint32) {
	if s := p.segments[i]; s != nil {
		// Its names are gone by now, see Free and dropSlab.
		clear(s.used[:])
		p.segments[i] = nil
		p.spare = append(p.spare, s)
	}
	if table == 0 && p.cached+Segment <= p.threshold {
		p.cached += Segment
		return
	}
	p.mapped[i] = false
	p.reserved -= Segment
	p.tell(i, table, false)
}

// tell collects neighbouring segments for one call of Pages.
func (p *Pool) tell(i int, table uint32, on bool) {
	if p.toldN > 0 && (p.toldOn != on || p.toldAt+p.toldN != i) {
		p.flushPages(table)
	}
	if p.toldN == 0 {
		p.toldAt, p.toldOn = i, on
	}
	p.toldN++
}

func (p *Pool) flushPages(table uint32) {
	if p.toldN == 0 {
		return
	}
	a, n := p.base+uint64(p.toldAt)*Segment, uint64(p.toldN)*Segment
	p.toldN = 0
	if p.toldOn {
		p.pages.Map(a, n, table)
	} else {
		p.pages.Unmap(a, n, table)
	}
}

// SetThreshold says how many bytes of idle segments are kept for the next blocks.
func (p *Pool) SetThreshold(bytes uint64) {
	p.threshold = bytes
	if p.cached > bytes {
		p.Trim(p.reserved - (p.cached - bytes))
	}
}

// Trim gives idle memory back, empty slabs first, until no more than keep bytes are reserved or nothing is idle. It
// returns the bytes that are still reserved.
func (p *Pool) Trim(keep uint64) uint64 {
	if p.reserved <= keep {
		return p.reserved
	}
	threshold := p.threshold
	p.threshold = 0
	for c := range p.shelves {
		if s := p.shelves[c].empty; s != nil {
			p.shelves[c].empty = nil
			p.dropSlab(s)
		}
	}
	p.threshold = threshold
	for i := len(p.use) - 1; i >= 0 && p.reserved > keep && p.cached > 0; i-- {
		if p.mapped[i] && p.use[i] == 0 {
			p.mapped[i] = false
			p.reserved -= Segment
			p.cached -= Segment
			p.pages.Unmap(p.base+uint64(i)*Segment, Segment, 0)
		}
	}
	return p.reserved
}
