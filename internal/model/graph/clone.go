package graph

import (
	"maps"
	"slices"
)

// Clone copies a graph with its values, nodes and branches, so that it can be bound to other shapes (one clone a gear)
// or optimized beside the original. The bytes of constants are shared: of graphs that share them, only the last one
// may be optimized without Options.CopyConstants.
func Clone(g *Graph) *Graph {
	c := cloner{values: map[*Value]*Value{}}
	return c.graph(g)
}

type cloner struct{ values map[*Value]*Value }

func (c *cloner) graph(g *Graph) *Graph {
	out := *g
	out.Inputs = c.list(g.Inputs)
	out.Nodes = make([]*Node, len(g.Nodes))
	for i, n := range g.Nodes {
		out.Nodes[i] = c.node(n)
	}
	out.Outputs = c.list(g.Outputs)
	return &out
}

func (c *cloner) node(n *Node) *Node {
	out := *n
	out.In = c.list(n.In)
	out.Attrs = maps.Clone(n.Attrs)
	out.Origin = slices.Clone(n.Origin)
	if n.Bodies != nil {
		out.Bodies = make(map[string]*Graph, len(n.Bodies))
		for _, name := range slices.Sorted(maps.Keys(n.Bodies)) {
			out.Bodies[name] = c.graph(n.Bodies[name])
		}
	}
	out.Out = c.list(n.Out)
	for _, v := range out.Out {
		if v != nil {
			v.Producer = &out
		}
	}
	return &out
}

func (c *cloner) list(vs []*Value) []*Value {
	out := make([]*Value, len(vs))
	for i, v := range vs {
		if v == nil {
			continue
		}
		if c.values[v] == nil {
			d := *v
			d.Shape = v.Shape.Clone()
			d.Symbols = slices.Clone(v.Symbols)
			c.values[v] = &d
		}
		out[i] = c.values[v]
	}
	return out
}
