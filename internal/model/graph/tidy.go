package graph

import (
	"maps"
	"slices"
	"strconv"

	"npu/internal/sim/kernels"
)

// bodies lists a node's branches in a fixed order.
func (n *Node) bodies() []*Graph {
	if len(n.Bodies) == 0 {
		return nil
	}
	out := make([]*Graph, 0, len(n.Bodies))
	for _, name := range slices.Sorted(maps.Keys(n.Bodies)) {
		out = append(out, n.Bodies[name])
	}
	return out
}

// RemoveDead drops nodes whose outputs nobody wants, and optional outputs that nobody reads; it returns how many
// nodes went.
func RemoveDead(g *Graph) int {
	live := map[*Value]bool{}
	return removeDead(g, live)
}

func removeDead(g *Graph, live map[*Value]bool) int {
	for _, v := range g.Outputs {
		live[v] = true
	}
	dead := 0
	kept := make([]*Node, 0, len(g.Nodes))
	for _, n := range slices.Backward(g.Nodes) {
		wanted := n.Op == OpFault || IsCollective(n.Op)
		for i, v := range n.Out {
			switch {
			case v == nil:
			case live[v]:
				wanted = true
			case i > 0 && optionalOutputs(n.Op):
				n.Out[i] = nil
			}
		}
		if !wanted {
			dead++
			continue
		}
		for len(n.Out) > 1 && n.Out[len(n.Out)-1] == nil {
			n.Out = n.Out[:len(n.Out)-1]
		}
		for _, b := range n.bodies() {
			dead += removeDead(b, live)
		}
		for _, v := range n.In {
			if v != nil {
				live[v] = true
			}
		}
		kept = append(kept, n)
	}
	slices.Reverse(kept)
	g.Nodes = kept
	return dead
}

// optionalOutputs names operators whose outputs after the first may be left out.
func optionalOutputs(op string) bool {
	switch op {
	case "Dropout", "MaxPool", "BatchNormalization", "LayerNormalization", "LSTM", "GRU", "RNN":
		return true
	}
	return false
}

// seal makes every output of a graph, and of each branch, the output of a node of that graph, each a value of its
// own: an input, a constant, an outer value or a value wanted twice goes through Identity.
func seal(g *Graph) {
	own := map[*Value]bool{}
	for _, n := range g.Nodes {
		for _, b := range n.bodies() {
			seal(b)
		}
		for _, v := range n.Out {
			if v != nil {
				own[v] = true
			}
		}
	}
	for i, v := range g.Outputs {
		if own[v] {
			own[v] = false
			continue
		}
		n := &Node{Name: v.Name + "/output", Op: "Identity", In: []*Value{v}, Attrs: kernels.Attrs{}}
		o := &Value{Name: v.Name, DType: v.DType, Shape: v.Shape, Known: v.Known, Producer: n}
		n.Out = []*Value{o}
		n.Origin = []string{n.Name}
		g.Nodes = append(g.Nodes, n)
		g.Outputs[i] = o
	}
}

// outputNames keeps the interface's names while passes replace the values behind them.
func outputNames(g *Graph) []string {
	names := make([]string, len(g.Outputs))
	for i, v := range g.Outputs {
		names[i] = v.Name
	}
	return names
}

// finish leaves a graph as Infer and Optimize promise it: nothing dead, outputs sealed and under their names, every
// name unique.
func finish(g *Graph, names []string) {
	RemoveDead(g)
	seal(g)
	for i, v := range g.Outputs {
		v.Name = names[i]
	}
	uniqueNames(g)
}

// register hands out names, each once.
type register map[string]int // name: the last number tried

func (r register) unique(s string) string {
	name := s
	for i := r[s]; r[name] > 0; {
		i++
		name = s + "_" + strconv.Itoa(i)
		r[s] = i
	}
	r[name] = 1
	return name
}

// uniqueNames gives values that share a name, and nodes that do (branches that were put into the graph around them),
// names of their own. Inputs and outputs of the model keep theirs.
func uniqueNames(g *Graph) {
	values, nodes := register{}, register{}
	seen := map[*Value]bool{}
	for _, v := range slices.Concat(g.Inputs, g.Outputs) {
		values[v.Name], seen[v] = 1, true
	}
	fix := func(v *Value) {
		if v != nil && !seen[v] {
			seen[v] = true
			v.Name = values.unique(v.Name)
		}
	}
	var walk func(g *Graph)
	walk = func(g *Graph) {
		for _, n := range g.Nodes {
			n.Name = nodes.unique(n.Name)
			for _, v := range n.In {
				fix(v)
			}
			for _, b := range n.bodies() {
				walk(b)
			}
			for _, v := range n.Out {
				fix(v)
			}
		}
	}
	walk(g)
}

// Ops counts the nodes by operator, branches included.
func Ops(g *Graph) map[string]int {
	m := map[string]int{}
	countOps(g, m)
	return m
}

func countOps(g *Graph, m map[string]int) {
	for _, n := range g.Nodes {
		m[n.Op]++
		for _, b := range n.bodies() {
			countOps(b, m)
		}
	}
}
