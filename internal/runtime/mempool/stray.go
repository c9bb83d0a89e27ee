package mempool

// stray keeps a block of a cache that somebody else freed until the cache takes note of it: only the cache knows whether
// the program had the block.
func (p *Pool) stray(addr uint64, o *owner) {
	if o.leaving() {
		p.leavingCached--
	} else {
		*o |= leavingBit
		p.leaving += o.bytes()
	}
	p.strays = append(p.strays, addr)
	p.strayBytes += o.bytes()
}

// stay takes back that a block strays.
func (p *Pool) stay(addr uint64) {
	if s, slot, _ := p.at(addr); s != nil && s.owners[slot].leaving() {
		s.owners[slot] &^= leavingBit
		p.leaving -= s.owners[slot].bytes()
		p.strayBytes -= s.owners[slot].bytes()
	}
}

// disown makes a plain block of one of cache c.
func (p *Pool) disown(addr uint64, c *Cache) {
	if s, slot, _ := p.at(addr); s != nil && s.owners[slot].tag() == c.tag {
		s.owners[slot] = s.owners[slot].tagged(c.plain)
	}
}

// FreeStrays frees the blocks of caches that others have freed, whatever the caches know of them, and calls f for each. It
// is for when memory has run out.
func (p *Pool) FreeStrays(f func(Block)) {
	for _, addr := range p.strays {
		s, slot, _ := p.at(addr)
		s.owners[slot] = s.owners[slot].tagged(s.owners[slot].tag())
		if b, ok := p.Free(addr); ok {
			f(b)
		}
		p.forced = true
	}
	p.strays, p.strayBytes = p.strays[:0], 0
}

// doubted says whether others may have freed blocks that their caches hold.
func (p *Pool) doubted() bool { return p.forced || p.leavingCached > 0 }
