package compare

import (
	"maps"
	"slices"

	"npu/internal/model/graph"
	"npu/internal/tensor"
)

// slide moves a partner down its chain to where the values meet: a fused layer looks, by name and operator, like the
// first of the operators that it stands for.
func (c *comparison) slide() {
	used := map[*graph.Node]bool{}
	for _, p := range c.pairs {
		used[p.a.node], used[p.b.node] = true, true
	}
	belowA, belowB := c.a.below(used), c.b.below(used)
	for i := range c.pairs {
		p := &c.pairs[i]
		free := measured(p.a, p.b)
		if free <= c.limit(*p) {
			continue
		}
		try := func(x, y *layer) {
			if used[x.node] && x != p.a || used[y.node] && y != p.b {
				return
			}
			if d := measured(x, y); d <= c.limit(pair{x, y}) && d < free/3 {
				used[p.a.node], used[p.b.node] = false, false
				p.a, p.b, free = x, y, d
				used[p.a.node], used[p.b.node] = true, true
			}
		}
		a, b := p.a, p.b
		for _, y := range belowB(b) {
			try(a, y)
		}
		for _, x := range belowA(a) {
			try(x, b)
		}
	}
}

// measured is the error between what two layers gave in the free run.
func measured(a, b *layer) float64 {
	if !sameElements(a.data.Shape, b.data.Shape) {
		return 2
	}
	d, _, _ := distance(a.data, b.data)
	return d
}

// below gives the layers without a partner that a layer's numbers run through next.
func (s *side) below(used map[*graph.Node]bool) func(*layer) []*layer {
	readers := map[*graph.Value][]*graph.Node{}
	byNode := map[*graph.Node]*layer{}
	for _, n := range s.nodes {
		for _, v := range n.In {
			if v != nil {
				readers[v] = append(readers[v], n)
			}
		}
	}
	for _, l := range s.layers {
		byNode[l.node] = l
	}
	return func(l *layer) []*layer {
		var out []*layer
		queue, seen := []*graph.Node{l.node}, map[*graph.Node]bool{}
		for len(queue) > 0 && len(seen) < 32 {
			n := queue[0]
			queue = queue[1:]
			for _, v := range n.Out {
				for _, r := range readers[v] {
					if used[r] || seen[r] || v == nil {
						continue
					}
					seen[r] = true
					queue = append(queue, r)
					if x := byNode[r]; x != nil {
						out = append(out, x)
					}
				}
			}
		}
		return out
	}
}

// settle runs the second model with forced inputs, and takes pairs apart that were none: layers that are built
// differently and differ, while what comes after them does not. Compilers move scales from one operator into the next.
func (c *comparison) settle(inputs map[string]*tensor.Tensor) error {
	if err := c.force(inputs); err != nil {
		return err
	}
	segs := c.segments()
	suspect := func(p pair) bool {
		return c.local[p.b].err > c.limit(p) && !alikeBuilt(segs[p.b])
	}
	all := c.pairs
	c.pairs = slices.DeleteFunc(slices.Clone(all), suspect)
	if len(c.pairs) == len(all) {
		return nil
	}
	kept := map[*layer]bool{}
	for _, p := range c.pairs {
		kept[p.b] = true
	}
	before := maps.Clone(c.local)
	if err := c.force(inputs); err != nil {
		return err
	}
	inside := map[*graph.Node]bool{} // of b: in a segment that is right without the pair
	wrong := map[*graph.Node]bool{}
	for l, s := range c.segments() {
		for _, n := range s.b {
			inside[n] = true
			if c.local[l].err > c.limit(pair{l, l}) && before[l].err <= c.local[l].err*1.01 {
				wrong[n] = true
			}
		}
	}
	c.pairs = slices.DeleteFunc(slices.Clone(all), func(p pair) bool {
		return !kept[p.b] && inside[p.b.node] && !wrong[p.b.node]
	})
	return c.force(inputs)
}

// alikeBuilt says that both sides of a segment are one operator of the same kind with as many operands.
func alikeBuilt(s segment) bool {
	works := func(n *graph.Node) bool { return !moving(n) }
	a, b := only(s.a, works), only(s.b, works)
	if len(a) != 1 || len(b) != 1 || family(a[0]) != family(b[0]) {
		return false
	}
	return operands(a[0]) == operands(b[0])
}

func operands(n *graph.Node) int {
	k := 0
	for _, v := range n.In {
		if v != nil {
			k++
		}
	}
	return k
}
