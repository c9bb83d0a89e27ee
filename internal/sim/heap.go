package sim

// item is a pending event of the simulation. key orders events of one instant: kind in the top four bits, then the
// queue or port it belongs to. Never arrival order, so that outcomes do not depend on it.
type item struct {
	t   int64
	key uint64
}

// Kinds of events, in the order in which they happen at one instant.
const (
	evBlocksEnd = uint64(iota) << 60 // a group of blocks, or a copy, ends
	evStep                           // a queue looks at its head descriptor
	evWaitLimit                      // a wait on the device takes too long
	evTimeout                        // a host wait expires
	evRequest                        // a host request arrives
)

// heap is a 4-ary min-heap: shallower than a binary one, and the four children share a cache line.
type heap []item

func (a item) before(b item) bool { return a.t < b.t || a.t == b.t && a.key < b.key }

func (h *heap) push(e item) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 {
		p := (i - 1) >> 2
		if !e.before(s[p]) {
			break
		}
		s[i] = s[p]
		i = p
	}
	s[i] = e
	*h = s
}

func (h *heap) pop() item {
	s := *h
	top := s[0]
	n := len(s) - 1
	e := s[n]
	s = s[:n]
	*h = s
	if n == 0 {
		return top
	}
	i := 0
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		m := c
		for j := c + 1; j < min(c+4, n); j++ {
			if s[j].before(s[m]) {
				m = j
			}
		}
		if !s[m].before(e) {
			break
		}
		s[i] = s[m]
		i = m
	}
	s[i] = e
	return top
}
