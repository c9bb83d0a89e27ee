package plan

import (
	"cmp"
	"slices"
	"sort"
)

// place gives every buffer its offset. Weights lie one after the other. Features are placed the largest first, each at
// the lowest offset that is free for its whole life.
func (c *compiler) place() {
	m := &c.p.Memory
	for i := range c.p.Buffers {
		if b := &c.p.Buffers[i]; b.Region == Weights {
			b.Offset = m.WeightBytes
			m.WeightBytes += padded(b.Bytes)
		}
	}
	order := c.p.features()
	bs := c.p.Buffers
	m.LowerBound = c.lowerBound(order)
	m.FeatureBytes = c.p.pack(order, m.LowerBound, func(i, j int) bool { return bs[i].last >= bs[j].first && bs[j].last >= bs[i].first })
}

// features are the buffers of that region, the largest first.
func (p *Plan) features() []int {
	var order []int
	for i := range p.Buffers {
		if p.Buffers[i].Region == Features {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(x, y int) bool { return p.Buffers[order[x]].Bytes > p.Buffers[order[y]].Bytes })
	return order
}

// packWork bounds the looks at pairs of buffers while a better placement is sought.
const packWork = 20_000_000

// pack places buffers. As long as that takes more than the lower bound, the buffer that sticks out is placed before all
// others the next time; the best placement counts. It begins with the largest buffer first and, if that does not lead to
// the bound, with the one first that meets the most bytes.
func (p *Plan) pack(order []int, bound int64, meet func(i, j int) bool) int64 {
	at := make([]int64, len(p.Buffers))
	best := int64(-1)
	tries := min(400, packWork/max(1, len(order)*len(order)))
	run := func(order []int) {
		for n := 0; n <= tries && (best < 0 || best > bound); n++ {
			if total := p.fit(order, meet); best < 0 || total < best {
				best = total
				for _, i := range order {
					at[i] = p.Buffers[i].Offset
				}
			}
			if len(order) < 2 {
				return
			}
			top := 0
			for k, i := range order {
				if b, t := &p.Buffers[i], &p.Buffers[order[top]]; b.Offset+padded(b.Bytes) > t.Offset+padded(t.Bytes) {
					top = k
				}
			}
			i := order[top]
			copy(order[1:top+1], order[:top])
			order[0] = i
		}
	}
	run(slices.Clone(order))
	if best > bound && tries > 0 {
		met := make([]int64, len(p.Buffers))
		for _, i := range order {
			for _, j := range order {
				if meet(i, j) {
					met[i] += padded(p.Buffers[j].Bytes)
				}
			}
		}
		other := slices.Clone(order)
		slices.SortStableFunc(other, func(i, j int) int { return cmp.Compare(met[j], met[i]) })
		run(other)
	}
	for _, i := range order {
		p.Buffers[i].Offset = at[i]
	}
	return best
}

// fit places buffers in that order, each at the lowest offset that is free of those which are in use together with it,
// and returns the room that they take.
func (p *Plan) fit(order []int, meet func(i, j int) bool) (total int64) {
	bs := p.Buffers
	var placed []int // by offset
	for _, i := range order {
		b := &bs[i]
		size := padded(b.Bytes)
		at := int64(0)
		for _, j := range placed {
			if !meet(i, j) {
				continue
			}
			if at+size <= bs[j].Offset {
				break
			}
			at = max(at, bs[j].Offset+padded(bs[j].Bytes))
		}
		b.Offset = at
		total = max(total, at+size)
		k := sort.Search(len(placed), func(k int) bool { return bs[placed[k]].Offset > at })
		placed = append(placed, 0)
		copy(placed[k+1:], placed[k:])
		placed[k] = i
	}
	return total
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
