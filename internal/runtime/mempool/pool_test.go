package mempool

import (
	"testing"

	"pgregory.net/rapid"
)

// Blocks never overlap, are aligned, lie in the range; freeing everything leaves one free block.
func TestPool_properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const base, size = 1 << 40, 1 << 22
		p := New(base, size)
		live := map[uint64]uint64{}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			if len(live) > 0 && rapid.Bool().Draw(t, "free") {
				keys := make([]uint64, 0, len(live))
				for a := range live {
					keys = append(keys, a)
				}
				a := keys[rapid.IntRange(0, len(keys)-1).Draw(t, "which")]
				if _, ok := p.Free(a); !ok {
					t.Fatalf("block %#x is not known", a)
				}
				if _, ok := p.Free(a); ok {
					t.Fatalf("block %#x was freed twice", a)
				}
				delete(live, a)
				continue
			}
			n := rapid.Uint64Range(1, 1<<18).Draw(t, "bytes")
			align := uint64(1) << rapid.IntRange(0, 16).Draw(t, "align")
			a, ok := p.Alloc(n, align)
			if !ok {
				if p.Stats().LargestFree >= n+align+Align {
					t.Fatalf("no room for %d (align %d) with a free block of %d", n, align, p.Stats().LargestFree)
				}
				continue
			}
			if a%max(align, Align) != 0 || a < base || a+n > base+size {
				t.Fatalf("block %#x of %d bytes, align %d", a, n, align)
			}
			for b, m := range live {
				if a < b+m && b < a+n {
					t.Fatalf("block %#x+%d overlaps %#x+%d", a, n, b, m)
				}
			}
			live[a] = n
		}
		for a := range live {
			p.Free(a)
		}
		if s := p.Stats(); s.InUse != 0 || s.LargestFree != size {
			t.Fatalf("after freeing everything: %+v", s)
		}
	})
}
