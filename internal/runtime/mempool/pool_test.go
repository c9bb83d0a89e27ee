package mempool

import (
	"testing"

	"pgregory.net/rapid"
)

// shadow is the naive picture of a pool: blocks, and who has mapped what.
type shadow struct {
	t     *rapid.T
	live  map[uint64]Block
	pages map[uint64]uint32 // mapped segments and their table
}

func (s *shadow) Map(addr, bytes uint64, table uint32) {
	for a := addr; a < addr+bytes; a += Segment {
		if old, ok := s.pages[a]; ok {
			s.t.Fatalf("segment %#x of table %d is mapped for table %d", a, old, table)
		}
		s.pages[a] = table
	}
}

func (s *shadow) Unmap(addr, bytes uint64, table uint32) {
	for a := addr; a < addr+bytes; a += Segment {
		if old, ok := s.pages[a]; !ok || old != table {
			s.t.Fatalf("segment %#x of table %d is unmapped for table %d", a, old, table)
		}
		delete(s.pages, a)
	}
}

// place checks a new block against all others.
func (s *shadow) place(b Block, r Request) {
	if b.Bytes != max(r.Bytes, 1) || b.Room < b.Bytes || b.Tag != r.Tag || b.Table != r.Table {
		s.t.Fatalf("request %+v became %+v", r, b)
	}
	if align := max(r.Align, slotAlign, r.Whole); b.Addr%align != 0 || b.Bytes > maxSlot && b.Addr%512 != 0 {
		s.t.Fatalf("request %+v lies at %#x", r, b.Addr)
	}
	for _, o := range s.live {
		if b.Addr < o.Addr+o.Room && o.Addr < b.Addr+b.Room {
			s.t.Fatalf("block %+v overlaps %+v", b, o)
		}
		if b.Table != o.Table && b.Addr/Segment <= (o.Addr+o.Room-1)/Segment && o.Addr/Segment <= (b.Addr+b.Room-1)/Segment {
			s.t.Fatalf("blocks of two tables share a page: %+v, %+v", b, o)
		}
	}
	for a := b.Addr &^ (Segment - 1); a < b.Addr+b.Room; a += Segment {
		if t, ok := s.pages[a]; !ok || t != b.Table {
			s.t.Fatalf("page %#x of block %+v is not mapped for it", a, b)
		}
	}
	s.live[b.Addr] = b
}

func sizes(t *rapid.T) uint64 {
	return rapid.Uint64Range(1, uint64(1)<<rapid.IntRange(1, 24).Draw(t, "log")).Draw(t, "bytes")
}

// Blocks never overlap, are aligned, lie in the range on mapped pages; freeing everything leaves one free block.
func TestPool_properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const base, size = 1 << 40, 96 << 20
		s := &shadow{t: t, live: map[uint64]Block{}, pages: map[uint64]uint32{}}
		granule := uint64(2048) << rapid.IntRange(0, 1).Draw(t, "granule")
		p := New(Config{Base: base, Size: size, Granule: granule, NoSlabs: rapid.Bool().Draw(t, "no slabs"), Pages: s})
		var order []uint64
		inUse := uint64(0)
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1, 2, 3:
				if len(order) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(order)-1).Draw(t, "which")
				a := order[i]
				order = append(order[:i], order[i+1:]...)
				want := s.live[a]
				if rapid.Bool().Draw(t, "leave first") {
					if _, ok := p.Leave(a); !ok {
						t.Fatalf("block %#x cannot leave", a)
					}
					if _, ok := p.Leave(a); ok {
						t.Fatalf("block %#x left twice", a)
					}
					want.Leaving = true
				}
				if b, ok := p.At(a + 64); ok && s.live[a+64].Room == 0 {
					t.Fatalf("inside of a block taken for its start: %+v", b)
				}
				if b, ok := p.Free(a); !ok || b != want {
					t.Fatalf("block %#x freed as %+v, want %+v", a, b, want)
				}
				if _, ok := p.Free(a); ok {
					t.Fatalf("block %#x was freed twice", a)
				}
				delete(s.live, a)
				inUse -= want.Bytes
			case 4:
				p.SetThreshold(rapid.Uint64Range(0, 16).Draw(t, "threshold") * Segment)
			case 5:
				keep := rapid.Uint64Range(0, 16).Draw(t, "keep") * Segment
				if left := p.Trim(keep); left > keep && p.Stats().Cached > 0 {
					t.Fatalf("trim to %d left %d with %d idle", keep, left, p.Stats().Cached)
				}
			default:
				r := Request{Bytes: sizes(t), Tag: rapid.Uint32Range(0, 1<<31-1).Draw(t, "tag")}
				switch rapid.IntRange(0, 9).Draw(t, "kind") {
				case 0:
					r.Table = rapid.Uint32Range(1, 2).Draw(t, "table")
				case 1:
					r.Whole = Segment
				case 2:
					r.Align = 64 << rapid.IntRange(0, 16).Draw(t, "align")
				}
				free := p.Stats().LargestFree
				a, ok := p.Alloc(r)
				if !ok {
					if free >= 128<<10 && free >= r.Bytes && r.Align <= 64 && r.Whole == 0 && r.Table == 0 {
						t.Fatalf("no room for %+v with a free block of %d", r, free)
					}
					continue
				}
				b, ok := p.At(a)
				if !ok || a < base || a+b.Room > base+size {
					t.Fatalf("block %#x of %+v: %+v", a, r, b)
				}
				s.place(b, r)
				order = append(order, a)
				inUse += b.Bytes
			}
			st := p.Stats()
			if st.InUse != inUse || st.Blocks != uint64(len(order)) || st.Reserved != uint64(len(s.pages))*Segment || st.Reserved < st.Cached {
				t.Fatalf("%+v; want %d bytes in %d blocks, %d segments", st, inUse, len(order), len(s.pages))
			}
		}
		seen := 0
		p.All(func(b Block) bool {
			seen++
			if s.live[b.Addr] != b {
				t.Fatalf("list has %+v, want %+v", b, s.live[b.Addr])
			}
			if c, ok := p.Containing(b.Addr + b.Bytes - 1); !ok || c != b {
				t.Fatalf("end of %+v lies in %+v", b, c)
			}
			return true
		})
		if seen != len(order) {
			t.Fatalf("list has %d blocks, want %d", seen, len(order))
		}
		for _, a := range order {
			p.Free(a)
		}
		p.SetThreshold(0)
		p.Trim(0)
		if st := p.Stats(); st.InUse != 0 || st.Reserved != 0 || st.Room != 0 || st.LargestFree != size || len(s.pages) != 0 {
			t.Fatalf("after freeing everything: %+v", st)
		}
	})
}

func TestPadded_rules(t *testing.T) {
	for _, c := range []struct{ n, padded, align32 uint64 }{{1, 64, 32}, {32, 64, 32}, {33, 96, 64}, {100, 160, 128}} {
		if a, b := Padded(c.n, 32), Padded(c.n, 0); a != c.padded || b != c.align32 {
			t.Errorf("%d bytes became %d and %d, want %d and %d", c.n, a, b, c.padded, c.align32)
		}
		if want := (c.n + 63) / 32 * 32; Padded(c.n, 32) != want {
			t.Errorf("%d bytes: the runtime's formula gives %d", c.n, want)
		}
	}
}

func TestClass_everySize(t *testing.T) {
	for n := uint64(1); n <= maxSlot; n++ {
		c := classOf(n)
		if s := slotBytes(c); s < n || s%64 != 0 || c > 0 && slotBytes(c-1) >= n {
			t.Fatalf("%d bytes in class %d of %d", n, c, s)
		}
	}
	if c := classOf(maxSlot); c != classes-1 {
		t.Errorf("last class %d of %d", c, classes)
	}
	for c := range classes {
		if n := slabBytes(c) / slotBytes(c); n < 8 || n > 256 {
			t.Errorf("class %d: %d slots", c, n)
		}
	}
}

// A warm pair touches only bookkeeping that exists.
func TestPool_warmPairAllocatesNothing(t *testing.T) {
	p := New(Config{Base: 1 << 40, Size: 1 << 30})
	for _, n := range []uint64{64, 256, 16 << 10, 100 << 10, 5 << 20} {
		if a := testing.AllocsPerRun(1000, func() {
			x, _ := p.Alloc(Request{Bytes: n})
			p.Free(x)
		}); a != 0 {
			t.Errorf("%d bytes: %v allocations", n, a)
		}
	}
}

func BenchmarkPool_pair256(b *testing.B) {
	p := New(Config{Base: 1 << 40, Size: 1 << 36})
	for b.Loop() {
		x, _ := p.Alloc(Request{Bytes: 256})
		p.Free(x)
	}
}

func BenchmarkPool_pair3MiB(b *testing.B) {
	p := New(Config{Base: 1 << 40, Size: 1 << 36})
	for b.Loop() {
		x, _ := p.Alloc(Request{Bytes: 3 << 20})
		p.Free(x)
	}
}

// One free and one allocation of random size among 1,024 live blocks.
func BenchmarkPool_random(b *testing.B) {
	for _, c := range []struct {
		name string
		log  int
	}{{"32KiB", 6}, {"1MiB", 11}} {
		b.Run(c.name, func(b *testing.B) {
			p := New(Config{Base: 1 << 40, Size: 1 << 36})
			x := uint64(1)
			next := func() uint64 { x = x*6364136223846793005 + 1442695040888963407; return x >> 33 }
			var live [1024]uint64
			draw := func() uint64 { return 512<<(next()%uint64(c.log)) + next()%512 }
			for i := range live {
				live[i], _ = p.Alloc(Request{Bytes: draw()})
			}
			for b.Loop() {
				i := next() % 1024
				p.Free(live[i])
				live[i], _ = p.Alloc(Request{Bytes: draw()})
			}
		})
	}
}
