package plan

import "sort"

// place gives every buffer its offset. Weights lie one after the other. Features are placed the largest first, each at
// the lowest offset that is free for its whole life.
func (c *compiler) place() {
	m := &c.p.Memory
	var order []int
	for i := range c.p.Buffers {
		b := &c.p.Buffers[i]
		switch b.Region {
		case Weights:
			b.Offset = m.WeightBytes
			m.WeightBytes += padded(b.Bytes)
		case Features:
			order = append(order, i)
		}
	}
	bs := c.p.Buffers
	sort.SliceStable(order, func(x, y int) bool { return bs[order[x]].Bytes > bs[order[y]].Bytes })
	var placed []int // by offset
	for _, i := range order {
		b := &bs[i]
		size := padded(b.Bytes)
		at := int64(0)
		for _, j := range placed {
			o := &bs[j]
			if o.last < b.first || b.last < o.first {
				continue
			}
			if at+size <= o.Offset {
				break
			}
			at = max(at, o.Offset+padded(o.Bytes))
		}
		b.Offset = at
		m.FeatureBytes = max(m.FeatureBytes, at+size)
		k := sort.Search(len(placed), func(k int) bool { return bs[placed[k]].Offset > at })
		placed = append(placed, 0)
		copy(placed[k+1:], placed[k:])
		placed[k] = i
	}
	m.LowerBound = c.lowerBound(order)
}

// lowerBound is the largest sum of bytes that are alive at once.
func (c *compiler) lowerBound(features []int) int64 {
	delta := make([]int64, c.step+2)
	for _, i := range features {
		b := &c.p.Buffers[i]
		delta[b.first] += padded(b.Bytes)
		delta[b.last+1] -= padded(b.Bytes)
	}
	var now, most int64
	for _, d := range delta {
		now += d
		most = max(most, now)
	}
	return most
}
