package mempool

import "math/bits"

// Segment is the unit of mapping in bytes: a page of the device.
const Segment = 2 << 20

// maxGranules is how many granules a segment has at most.
const maxGranules = 1024

// segment is what is known of a segment that is shared by several blocks, or in which one begins.
type segment struct {
	used    [maxGranules / 64]uint64
	entries [maxGranules]entry
	named   int // entries that are set
}

// entry says what begins at a granule: a large block, or a slab, which stands at each of its granules.
type entry uint32

const noEntry entry = 0

func blockEntry(i int) entry    { return entry(i+1) << 1 }
func slabEntry(i int) entry     { return entry(i+1)<<1 | 1 }
func (e entry) slab() bool      { return e&1 != 0 }
func (e entry) index() int      { return int(e>>1) - 1 }
func mask(from, to uint) uint64 { return (^uint64(0) << from) & (^uint64(0) >> (64 - to)) }

// mark sets or clears granules [from, to).
func (s *segment) mark(from, to uint, used bool) {
	for from < to {
		w, lo := from/64, from%64
		hi := min(lo+to-from, 64)
		if used {
			s.used[w] |= mask(lo, hi)
		} else {
			s.used[w] &^= mask(lo, hi)
		}
		from += hi - lo
	}
}

// node is the summary of the first n granules; the rest does not exist.
func (s *segment) node(n uint32) node {
	var x node
	run, leading := uint32(0), true
	for w := uint32(0); w < n/64; w++ {
		v := s.used[w]
		if v == 0 {
			run += 64
			continue
		}
		if v == ^uint64(0) {
			if leading {
				x.first, leading = run, false
			}
			x.most, run = max(x.most, run), 0
			continue
		}
		for left := uint32(64); left > 0; {
			free := min(uint32(bits.TrailingZeros64(v)), left)
			run += free
			v >>= free
			if left -= free; left == 0 {
				break
			}
			if leading {
				x.first, leading = run, false
			}
			x.most = max(x.most, run)
			run = 0
			taken := min(uint32(bits.TrailingZeros64(^v)), left)
			v >>= taken
			left -= taken
		}
	}
	if leading {
		return node{n, n, n}
	}
	x.last, x.most = run, max(x.most, run)
	return x
}

// find is the first run of n free granules among the first limit; it must be there.
func (s *segment) find(n, limit uint32) uint32 {
	run := uint32(0)
	for w := uint32(0); w < limit/64; w++ {
		v, at := s.used[w], w*64
		if v == 0 {
			if run += 64; run >= n {
				return at + 64 - run
			}
			continue
		}
		if v == ^uint64(0) {
			run = 0
			continue
		}
		for left := uint32(64); left > 0; {
			free := min(uint32(bits.TrailingZeros64(v)), left)
			if run += free; run >= n {
				return at + 64 - left + free - run
			}
			v >>= free
			if left -= free; left == 0 {
				break
			}
			run = 0
			taken := min(uint32(bits.TrailingZeros64(^v)), left)
			v >>= taken
			left -= taken
		}
	}
	return limit
}
