package compare

import (
	"slices"

	"npu/internal/model/graph"
)

// segment is what a pair of layers stands for: on each side the layer and the nodes before it that have no partner.
type segment struct{ a, b []*graph.Node }

func (c *comparison) segments() map[*layer]segment {
	stop := map[*graph.Node]bool{}
	for _, p := range c.pairs {
		stop[p.a.node], stop[p.b.node] = true, true
	}
	out := map[*layer]segment{}
	am, bm := makers(c.a), makers(c.b)
	for _, p := range c.pairs {
		out[p.b] = segment{a: chain(p.a.node, am, stop), b: chain(p.b.node, bm, stop)}
	}
	return out
}

func makers(s *side) map[*graph.Value]*graph.Node {
	m := map[*graph.Value]*graph.Node{}
	for _, n := range s.nodes {
		for _, v := range n.Out {
			if v != nil {
				m[v] = n
			}
		}
	}
	return m
}

// chain lists the nodes of a segment, inputs first.
func chain(end *graph.Node, maker map[*graph.Value]*graph.Node, stop map[*graph.Node]bool) []*graph.Node {
	list := []*graph.Node{end}
	for i := 0; i < len(list); i++ {
		for _, v := range list[i].In {
			if m := maker[v]; m != nil && !stop[m] && !slices.Contains(list, m) {
				list = append(list, m)
			}
		}
	}
	slices.Reverse(list)
	return list
}

func only(list []*graph.Node, keep func(*graph.Node) bool) []*graph.Node {
	return slices.DeleteFunc(slices.Clone(list), func(n *graph.Node) bool { return !keep(n) })
}
