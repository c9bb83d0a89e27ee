package mempool

import (
	"testing"

	"pgregory.net/rapid"
)

// held is a block that the program has, and by which cache; -1 for none.
type held struct {
	addr, bytes uint64
	cache       int
}

// cacheModel is three threads' caches in front of a pool, and a naive picture of what the program has.
type cacheModel struct {
	t      *rapid.T
	p      *Pool
	caches []*Cache
	have   []held
	late   []uint64 // freed, but a task uses them
	under  []held   // freed since the tasks began
	busy   bool
	forced bool
	owed   int // frees of blocks that the program did not have and that were accepted, to be reported by Strange
	told   int
}

func (m *cacheModel) back() Back {
	return Back{AtOnce: !m.busy, End: func(a uint64) {
		if m.busy {
			if _, ok := m.p.Leave(a); !ok {
				m.t.Fatalf("0x%x does not leave", a)
			}
			m.late = append(m.late, a)
		} else if _, ok := m.p.FreeLive(a); !ok {
			m.t.Fatalf("0x%x is not in use", a)
		}
	}}
}

func (m *cacheModel) alloc(k int, n uint64) {
	c := m.caches[k]
	a := c.Alloc(n)
	if a == 0 && c.Restock(m.p, n, m.back()) {
		a = c.Alloc(n)
	}
	by := k
	if a == 0 {
		by = -1
		var ok bool
		if a, ok = m.p.Alloc(Request{Bytes: n}); !ok {
			return
		}
	}
	for _, h := range m.have {
		if a < h.addr+h.bytes && h.addr < a+n {
			m.t.Fatalf("cache %d: 0x%x of %d bytes overlaps 0x%x of %d", k, a, n, h.addr, h.bytes)
		}
	}
	for _, h := range m.under {
		if a < h.addr+h.bytes && h.addr < a+n {
			m.t.Fatalf("cache %d: 0x%x of %d bytes lies in 0x%x of %d, which a task uses", k, a, n, h.addr, h.bytes)
		}
	}
	if a%slotAlign != 0 {
		m.t.Fatalf("0x%x", a)
	}
	if b, ok := m.p.At(a); !ok || b.Bytes != n || b.Leaving {
		m.t.Fatalf("the pool has %+v at 0x%x of %d bytes", b, a, n)
	}
	m.have = append(m.have, held{a, n, by})
}

// free frees block i in thread k.
func (m *cacheModel) free(i, k int) {
	h := m.have[i]
	m.have[i] = m.have[len(m.have)-1]
	m.have = m.have[:len(m.have)-1]
	if m.busy {
		m.under = append(m.under, h)
	}
	c := m.caches[k]
	if c.Free(h.addr) || c.FreeWith(m.p, h.addr, m.back()) {
		if h.cache != k && !m.forced {
			m.t.Fatalf("cache %d takes 0x%x, which is cache %d's", k, h.addr, h.cache)
		}
		return
	}
	if h.cache == k {
		if b, ok := m.p.At(h.addr); ok && b.Cached {
			m.t.Fatalf("cache %d does not know its 0x%x", k, h.addr)
		}
	}
	m.poolFree(h.addr)
}

func (m *cacheModel) poolFree(a uint64) {
	if m.busy {
		if _, ok := m.p.Leave(a); !ok {
			m.t.Fatalf("0x%x is not in use", a)
		}
		m.late = append(m.late, a)
	} else if _, ok := m.p.FreeLive(a); !ok {
		m.t.Fatalf("0x%x is not in use", a)
	}
}

// again frees a block in thread k that the program does not have.
func (m *cacheModel) again(a uint64, k int) {
	for _, h := range m.have {
		if h.addr == a {
			return
		}
	}
	c := m.caches[k]
	if c.Free(a) || c.FreeWith(m.p, a, m.back()) {
		m.owed++ // another one freed it first
		return
	}
	if _, own := c.Has(a); own {
		return // and says so
	}
	if !m.busy {
		if b, ok := m.p.FreeLive(a); ok {
			if !b.Cached {
				m.t.Fatalf("0x%x is free, but the pool has %+v", a, b)
			}
			m.owed++ // it is another cache's, which tells, if it has not handed it out again
			for _, c := range m.caches {
				if c.tag == b.Tag {
					c.Flush(m.p, m.back())
				}
			}
		}
	}
}

func (m *cacheModel) settle() {
	for _, a := range m.late {
		if _, ok := m.p.Free(a); !ok {
			m.t.Fatalf("0x%x left and is not there", a)
		}
	}
	m.late, m.under, m.busy = nil, nil, false
}

// Blocks of caches never overlap, whoever frees them and however often, and all come back.
func TestCache_properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &cacheModel{t: t, p: New(Config{Base: 1 << 40, Size: 8 * Segment})}
		for k := range 3 {
			m.caches = append(m.caches, NewCache(uint32(k+1), 9))
		}
		cache := rapid.IntRange(0, 2)
		size := rapid.Custom(func(t *rapid.T) uint64 {
			return Padded(rapid.Uint64Range(1, 64<<rapid.IntRange(0, 9).Draw(t, "log")).Draw(t, "n"), Round)
		})
		few := rapid.SampledFrom([]uint64{64, 288, 4128})
		double := rapid.Bool().Draw(t, "free twice")
		var gone []uint64
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			k := cache.Draw(t, "cache")
			switch op := rapid.IntRange(0, 19).Draw(t, "op"); {
			case op < 9:
				n := few.Draw(t, "size")
				if op == 0 {
					n = size.Draw(t, "any size")
				}
				for range rapid.IntRange(1, 40).Draw(t, "times") {
					m.alloc(k, n)
				}
			case op < 15 && len(m.have) > 0:
				for range rapid.IntRange(1, 40).Draw(t, "times") {
					if len(m.have) == 0 {
						break
					}
					i := rapid.IntRange(0, len(m.have)-1).Draw(t, "block")
					by := m.have[i].cache
					if op == 14 || by < 0 {
						by = k
					}
					gone = append(gone, m.have[i].addr)
					m.free(i, by)
				}
			case op == 15:
				m.caches[k].Flush(m.p, m.back())
			case op == 16:
				m.busy = true
			case op == 17:
				m.settle()
			case op == 18 && double && len(gone) > 0:
				m.again(rapid.SampledFrom(gone).Draw(t, "freed"), k)
			case op == 19 && !double:
				m.p.FreeStrays(func(Block) {})
				m.forced = true
			}
		}
		m.settle()
		for len(m.have) > 0 {
			m.free(0, max(m.have[0].cache, 0))
		}
		for _, c := range m.caches {
			c.Flush(m.p, m.back())
			m.told += c.Strange()
			c.Close(m.p, m.back())
		}
		s := m.p.Stats()
		if s.InUse != 0 || s.Blocks != 0 || s.Leaving != 0 {
			t.Fatalf("at the end %+v", s)
		}
		if m.told != m.owed {
			t.Fatalf("%d frees too many, %d reported", m.owed, m.told)
		}
	})
}

// A block that others freed, and that memory was too short to keep for its cache, may be another cache's when the first
// one hears of a free: then it is freed as any block, and is not the first one's.
func TestCache_freedByForce(t *testing.T) {
	p := New(Config{Base: 1 << 40, Size: 4 * Segment})
	a, b := NewCache(1, 9), NewCache(2, 9)
	back := Back{AtOnce: true, End: func(addr uint64) {
		if _, ok := p.FreeLive(addr); !ok {
			t.Errorf("0x%x is not in use", addr)
		}
	}}
	a.Restock(p, 288, back)
	x := a.Alloc(288)
	if _, ok := p.FreeLive(x); !ok {
		t.Fatal("another thread cannot free a block of a cache")
	}
	if s := p.Stats(); s.InUse != 0 || s.Leaving != 0 || s.Blocks != 0 {
		t.Errorf("freed by another thread: %+v", s)
	}
	p.FreeStrays(func(Block) {})
	b.Restock(p, 288, back)
	if y := b.Alloc(288); y != x {
		t.Fatalf("0x%x is handed out, not 0x%x", y, x)
	}
	if !a.Free(x) { // the program frees the second cache's block in the first one's thread
		t.Fatal("the first cache does not take it")
	}
	a.Restock(p, 288, back)
	if z := a.Alloc(288); z == x {
		t.Errorf("0x%x is the second cache's", z)
	} else if !a.Free(z) {
		t.Error("a block is not taken back")
	}
	a.Flush(p, back)
	b.Flush(p, back)
	if s := p.Stats(); s.InUse != 0 || a.Strange()+b.Strange() != 0 {
		t.Errorf("at the end %+v", s)
	}
}

// A warm pair allocates no Go memory, nor does what comes of it every so many pairs.
func TestCache_noAllocation(t *testing.T) {
	p := New(Config{Base: 1 << 40, Size: 1 << 30})
	c := NewCache(1, 9)
	back := Back{AtOnce: true}
	pair := func() {
		a := c.Alloc(288)
		if a == 0 {
			c.Restock(p, 288, back)
			a = c.Alloc(288)
		}
		if a == 0 || !c.Free(a) {
			t.Fatal("no block")
		}
	}
	for range 1000 {
		pair()
	}
	if n := testing.AllocsPerRun(1000, pair); n != 0 {
		t.Errorf("%v allocations a pair", n)
	}
	if s := p.Stats(); s.Blocks > magazineSize {
		t.Errorf("%d blocks for a pair", s.Blocks)
	}
}

// A cache bounds what it keeps, also when the program asks for all sizes and has many blocks.
func TestCache_bounds(t *testing.T) {
	p := New(Config{Base: 1 << 40, Size: 4 << 30})
	c := NewCache(1, 9)
	back := Back{AtOnce: true}
	var have []uint64
	asked := uint64(0)
	for i := range 20_000 {
		n := Padded(uint64(1+i*37%32_000), Round)
		a := c.Alloc(n)
		if a == 0 && c.Restock(p, n, back) {
			a = c.Alloc(n)
		}
		if a == 0 {
			a, _ = p.Alloc(Request{Bytes: n})
		}
		have = append(have, a)
		asked += n
		if kept := p.Stats().InUse - asked; kept > readyMost+activeMost*32<<10 {
			t.Fatalf("after %d blocks the cache keeps %d bytes", i+1, kept)
		}
	}
	for _, a := range have {
		if !c.Free(a) && !c.FreeWith(p, a, back) {
			if _, ok := p.FreeLive(a); !ok {
				t.Fatalf("0x%x is unknown", a)
			}
		}
	}
	c.Flush(p, back)
	if s := p.Stats(); s.InUse != 0 {
		t.Errorf("%d bytes are left", s.InUse)
	}
}

// An address that is not a block's start is refused, also one that differs from a block's in the bit that marks entries.
func TestCache_wrongAddress(t *testing.T) {
	p := New(Config{Base: 1 << 40, Size: 1 << 30})
	c := NewCache(1, 9)
	back := Back{AtOnce: true}
	for range 40 {
		c.Restock(p, 288, back)
		a := c.Alloc(288)
		for _, wrong := range []uint64{0, a | 1, a + 2, a + 32, a | 1<<48, a | 1<<63, ^uint64(0)} {
			if c.Free(wrong) || c.FreeWith(p, wrong, back) {
				t.Fatalf("0x%x is taken for a block", wrong)
			}
		}
	}
	a := c.Alloc(288)
	if !c.Free(a) || c.Free(a) || c.Free(a|1) || c.FreeWith(p, a, back) {
		t.Fatal("a block is freed twice")
	}
	if program, own := c.Has(a); program || !own {
		t.Error("a freed block is not known")
	}
}
