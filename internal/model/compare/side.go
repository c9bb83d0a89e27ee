package compare

import (
	"fmt"
	"slices"

	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/tensor"
)

// side is one model: its graph with the groups of a compiled file dissolved, so that fused operators stand singly.
type side struct {
	graph  *graph.Graph
	nodes  []*graph.Node // canonical order
	layers []*layer      // what can have a partner, in the same order
	half   bool          // some layer computes in 16 bits or less
	names  map[*graph.Node]string
	origin map[*graph.Node][]string // names of the framework's operators in the kernel
}

// layer is a node that computes something, and what it gave in the free run.
type layer struct {
	node   *graph.Node
	name   string
	origin []string
	data   *tensor.Tensor
	sample []float64
}

// moves are operators that only carry numbers from one place, shape or type to another.
var moves = []string{"Identity", "Cast", "CastLike", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Dropout", "Expand", "Shape"}

func moving(n *graph.Node) bool { return slices.Contains(moves, n.Op) }

func flatten(g *graph.Graph) *side {
	g = graph.Clone(g)
	s := &side{graph: g, names: map[*graph.Node]string{}, origin: map[*graph.Node][]string{}}
	f := flattener{s: s, now: map[*graph.Value]*graph.Value{}}
	nodes := g.Nodes
	g.Nodes = nil
	for _, n := range nodes {
		f.node(n)
	}
	f.values(g.Outputs)
	s.order()
	return s
}

type flattener struct {
	s   *side
	now map[*graph.Value]*graph.Value
}

func (f *flattener) values(list []*graph.Value) {
	for i, v := range list {
		if x := f.now[v]; x != nil {
			list[i] = x
		}
	}
}

// node appends a node, or the body of a group in its place.
func (f *flattener) node(n *graph.Node) {
	body := n.Bodies[graph.GroupBody]
	if n.Op != graph.OpGroup || body == nil {
		f.append(n, n.Name, n.Origin)
		return
	}
	working := 0
	for _, m := range body.Nodes {
		if !moving(m) {
			working++
		}
	}
	for _, m := range body.Nodes {
		name := n.Name
		if working > 1 {
			name += "#" + m.Op
		}
		f.append(m, name, n.Origin)
	}
	f.values(body.Outputs)
	for i, v := range n.Out {
		if v != nil {
			f.now[v] = body.Outputs[i]
		}
	}
}

func (f *flattener) append(n *graph.Node, name string, origin []string) {
	f.inside(n)
	f.s.graph.Nodes = append(f.s.graph.Nodes, n)
	f.s.names[n], f.s.origin[n] = name, origin
}

func (f *flattener) inside(n *graph.Node) {
	f.values(n.In)
	for _, b := range n.Bodies {
		for _, m := range b.Nodes {
			f.inside(m)
		}
		f.values(b.Outputs)
	}
}

// order walks from the outputs to the inputs, operand by operand: two graphs of the same network have the same order,
// however their files list parallel branches.
func (s *side) order() {
	makes := map[*graph.Value]*graph.Node{}
	for _, n := range s.graph.Nodes {
		for _, v := range n.Out {
			if v != nil {
				makes[v] = n
			}
		}
	}
	state := map[*graph.Node]int{} // next operand to look at; done is -1
	var stack []*graph.Node
	push := func(n *graph.Node) {
		if n != nil && state[n] == 0 {
			state[n] = 1
			stack = append(stack, n)
		}
	}
	visit := func(root *graph.Node) {
		for push(root); len(stack) > 0; {
			n := stack[len(stack)-1]
			if k := state[n]; k > 0 && k <= len(n.In) {
				state[n]++
				push(makes[n.In[k-1]])
				continue
			}
			stack = stack[:len(stack)-1]
			if state[n] > 0 {
				state[n] = -1
				s.nodes = append(s.nodes, n)
			}
		}
	}
	for _, v := range s.graph.Outputs {
		visit(makes[v])
	}
	for _, n := range s.graph.Nodes { // values of outer graphs that only branches use
		visit(n)
	}
	for _, n := range s.nodes {
		if !moving(n) && len(n.Out) > 0 && n.Out[0] != nil {
			s.layers = append(s.layers, &layer{node: n, name: s.names[n], origin: s.origin[n]})
		}
	}
}

// eval computes the graph. Inputs go by name, or by position where the names are others; their types are converted.
func (s *side) eval(inputs map[string]*tensor.Tensor, watch func(*graph.Node, []*tensor.Tensor)) error {
	_, err := graph.Eval(s.graph, inputs, watch)
	return err
}

// run is the free run: it keeps what every layer gave.
func (s *side) run(inputs map[string]*tensor.Tensor, name string) error {
	byNode := map[*graph.Node]*layer{}
	for _, l := range s.layers {
		byNode[l.node] = l
	}
	err := s.eval(inputs, func(n *graph.Node, out []*tensor.Tensor) {
		if l := byNode[n]; l != nil {
			l.data = out[0]
			l.sample = sample(l.data)
			s.half = s.half || l.data.DType.Float() && l.data.DType.Bits() < 32
		}
	})
	if err != nil {
		return problem.Mark(problem.Failed, fmt.Errorf("%s: %w", name, err))
	}
	s.layers = slices.DeleteFunc(s.layers, func(l *layer) bool { return l.data == nil })
	return nil
}
