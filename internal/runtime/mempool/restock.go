package mempool

import "slices"

const (
	cachedTag = 1 << 31 // says in the pool that a block is a cache's
	farthest  = 32      // places between the home of a block and the one that it has
)

// Back is what becomes of the blocks that came back to a cache.
type Back struct {
	// AtOnce: nothing is under way that may use them, they can be handed out again.
	AtOnce bool
	// End frees a block that is not the cache's, by the pool, when its last user has passed.
	End func(addr uint64)
}

// Restock makes blocks of n bytes ready again: those that came back, and new ones of pool p. It says whether there is
// one now; a cache that has too much already refuses sizes that it does not have.
func (c *Cache) Restock(p *Pool, n uint64, back Back) bool {
	if n == 0 || n%Round != 0 || n > CachedMost || n > p.small {
		return false
	}
	if len(p.strays) > 0 {
		c.collect(p)
	}
	m := c.magazines[n/Round]
	if m != &c.none {
		c.settle(p, m, back)
	}
	full := m == &c.none && len(c.active) >= activeMost || c.known+magazineSize > knownMost
	if full && !c.makeRoom(p, back) {
		return m.nReady > 0
	}
	if m = c.magazines[n/Round]; m == &c.none {
		m = newMagazine(n)
		c.magazines[n/Round] = m
		c.active = append(c.active, m)
	}
	want := m.batch
	if c.ready > readyMost {
		want = 1
	}
	fresh := m.nReady
	for m.nReady < want {
		addr, ok := p.allocSmall(n, c.tag|cachedTag)
		if !ok {
			break
		}
		h, ok := c.enter(addr, n/Round)
		if !ok {
			p.disown(addr, c)
			p.Free(addr)
			break
		}
		m.ready[m.nReady] = h
		m.nReady++
	}
	slices.Reverse(m.ready[fresh:m.nReady]) // the lowest goes first
	m.batch = min(2*m.batch, m.room())
	c.count(m)
	return m.nReady > 0
}

// makeRoom flushes the cache when it is full, but not each time, since that does not always help.
func (c *Cache) makeRoom(p *Pool, back Back) bool {
	if c.full++; c.full%fullTurns != 1 {
		return false
	}
	c.Flush(p, back)
	c.tidy(p)
	return len(c.active) < activeMost && c.known+magazineSize <= knownMost
}

func newMagazine(n uint64) *magazine {
	room := uint(min(magazineSize, max(1, magazineMost/n)))
	return &magazine{first: magazineSize - room, nBack: magazineSize - room, batch: 1, units: n / Round}
}

// room is how many blocks fit into each of the two lists.
func (m *magazine) room() uint { return magazineSize - m.first }

// settle empties m.back.
func (c *Cache) settle(p *Pool, m *magazine, back Back) {
	list := m.back[m.first:m.nBack]
	m.nBack = m.first
	doubted := p.doubted()
	if room := m.room() - m.nReady; back.AtOnce && !doubted && len(list) <= int(room) {
		m.nReady += uint(copy(m.ready[m.nReady:], list))
		list = nil
	}
	for _, h := range list {
		addr := c.table[h].addr()
		if doubted && !c.keeps(p, h, back) {
			continue
		}
		switch {
		case !back.AtOnce:
			c.table[h] = dropped
			p.disown(addr, c)
			back.End(addr)
		case m.nReady < m.room():
			m.ready[m.nReady] = h
			m.nReady++
		default:
			c.release(p, h)
		}
	}
	c.count(m)
}

// count brings Cache.ready up to date.
func (c *Cache) count(m *magazine) {
	c.ready -= m.bytes
	m.bytes = uint64(m.nReady) * m.units * Round
	c.ready += m.bytes
}

// keeps says whether a block that the program gave back is this cache's still. If not, it sees to it.
func (c *Cache) keeps(p *Pool, h uint16, back Back) bool {
	addr := c.table[h].addr()
	b, ok := p.At(addr)
	switch mine := ok && b.Cached && b.Tag == c.tag; {
	case mine && !b.Leaving:
		return true
	case mine:
		c.strange++
		c.table[h] |= handedOut // until collect hears of the free that came first
	case ok && !b.Leaving: // it became another's, see FreeStrays, and this is a free as any
		c.table[h] = dropped
		back.End(addr)
	default:
		c.strange++
		c.table[h] = dropped
	}
	return false
}

// release gives a block back that the program does not have.
func (c *Cache) release(p *Pool, h uint16) {
	addr := c.table[h].addr()
	c.table[h] = dropped
	p.disown(addr, c)
	p.Free(addr)
}

// collect takes note of the blocks of this cache that others have freed.
func (c *Cache) collect(p *Pool) {
	p.strays = slices.DeleteFunc(p.strays, func(addr uint64) bool {
		if b, _ := p.At(addr); b.Tag != c.tag {
			return false
		}
		p.stay(addr)
		if h, ok := c.find(addr); ok && c.table[h]&handedOut != 0 {
			c.release(p, uint16(h))
		} else {
			c.strange++ // it is not the program's
		}
		return true
	})
}

// enter puts a block of the pool into the table and returns its place. false: that would be too far from its home.
func (c *Cache) enter(addr, units uint64) (uint16, bool) {
	at, found := uint64(0), false
	h := home(addr)
	for d := 0; c.table[h] != 0; d++ {
		if c.table[h].addr() == addr { // see FreeStrays
			at, found = h, true
			break
		}
		if c.table[h] == dropped && !found {
			at, found = h, true
		}
		if d == farthest {
			break
		}
		h = (h + 1) % cachedBlocks
	}
	switch {
	case found:
		h = at
	case c.table[h] != 0:
		return 0, false
	default:
		c.known++
	}
	c.table[h] = cached(addr | units<<unitShift)
	return uint16(h), true
}

// find is the place of a block in the table.
func (c *Cache) find(addr uint64) (uint64, bool) {
	if addr == 0 || addr%slotAlign != 0 {
		return 0, false
	}
	for h := home(addr); c.table[h] != 0; h = (h + 1) % cachedBlocks {
		if c.table[h].addr() == addr {
			return h, true
		}
	}
	return 0, false
}

// Has says whether the program has a block of this cache that begins at addr; own, whether the cache itself has it.
func (c *Cache) Has(addr uint64) (program, own bool) {
	h, ok := c.find(addr)
	if !ok {
		return false, false
	}
	program = c.table[h]&handedOut != 0
	return program, !program
}

// FreeWith is Free in all cases where the program has the block; false: it does not.
func (c *Cache) FreeWith(p *Pool, addr uint64, back Back) bool {
	if len(p.strays) > 0 {
		c.collect(p)
	}
	h, ok := c.find(addr)
	if !ok || c.table[h]&handedOut == 0 {
		return false
	}
	m := c.magazines[c.table[h].units()]
	if m.nBack == magazineSize {
		c.settle(p, m, back)
	}
	m.back[m.nBack] = uint16(h)
	m.nBack++
	c.table[h] ^= handedOut
	return true
}

// Forget makes a plain block of the pool of one that the program has; it is freed by the pool.
func (c *Cache) Forget(p *Pool, addr uint64) {
	if h, ok := c.find(addr); ok && c.table[h]&handedOut != 0 {
		c.table[h] = dropped
		p.disown(addr, c)
	}
}

// Flush gives everything back that the program does not have.
func (c *Cache) Flush(p *Pool, back Back) {
	c.collect(p)
	for _, m := range c.active {
		c.settle(p, m, back)
		for _, h := range m.ready[:m.nReady] {
			c.release(p, h)
		}
		m.nReady = 0
		c.count(m)
	}
}

// Close is Flush, and makes plain blocks of the pool of those that the program has. The cache is not used any more.
func (c *Cache) Close(p *Pool, back Back) {
	c.Flush(p, back)
	for i, b := range c.table {
		if b&handedOut != 0 {
			p.disown(b.addr(), c)
		}
		c.table[i] = 0
	}
}

// tidy makes the table anew of the blocks that the program has, and puts away the magazines of sizes of which it has
// none. The magazines are empty.
func (c *Cache) tidy(p *Pool) {
	var have []cached
	var used [cachedSizes]bool
	for _, b := range c.table {
		if b&handedOut != 0 {
			have = append(have, b)
			used[b.units()] = true
		}
	}
	clear(c.table[:])
	c.known = 0
	for _, b := range have {
		if h, ok := c.enter(b.addr(), b.units()); ok {
			c.table[h] |= handedOut
		} else {
			p.disown(b.addr(), c)
		}
	}
	c.active = slices.DeleteFunc(c.active, func(m *magazine) bool {
		if !used[m.units] {
			c.magazines[m.units] = &c.none
		}
		return !used[m.units]
	})
}

// Strange is how many blocks came back since the last call although others had freed them: the program frees twice. They
// are not touched.
func (c *Cache) Strange() int {
	n := c.strange
	c.strange = 0
	return n
}
