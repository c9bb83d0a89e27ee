// Package step runs the part of a model that cannot be compiled beforehand: loops, sequences and optionals, and
// operators whose result has a size that depends on data, with everything that needs them (graph.Split). The host walks
// the nodes one after the other. Arithmetic is launched as kernels on the model's stream, compiled for the shapes at hand
// and kept for the next time; where a size or a decision depends on data the host waits and reads it back, as it has to
// on a real device. Arithmetic on a few numbers that the host knows anyway, such as shapes, stays on the host.
//
// It is not a second compiler: kernels and shape rules are those of package kernels, memory and launches those of the
// runtime. A Machine belongs to the Thread that made it and owns no goroutine.
package step

import (
	"cmp"
	"fmt"

	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/runtime"
	"npu/internal/tensor"
)

// Machine is a stepped graph on a device.
type Machine struct {
	th     *runtime.Thread
	stream *runtime.Stream
	g      *graph.Graph
	drop   map[*graph.Node][]*graph.Value // what is used for the last time by a node
	cache  map[*graph.Node]*compiled
	helper map[helperKey]*graph.Node
	consts map[*tensor.Tensor]*Item
	depth  int
}

// maxDepth bounds bodies inside bodies.
const maxDepth = 64

// helperKey names an operator that a control node needs besides its body: a transpose, a split.
type helperKey struct {
	node *graph.Node
	role string
}

// New makes a machine for a graph that graph.Split gave. Kernels go to the stream.
func New(th *runtime.Thread, s *runtime.Stream, g *graph.Graph) *Machine {
	m := &Machine{th: th, stream: s, g: g, drop: map[*graph.Node][]*graph.Value{}, cache: map[*graph.Node]*compiled{},
		helper: map[helperKey]*graph.Node{}, consts: map[*tensor.Tensor]*Item{}}
	m.lastUses(g)
	return m
}

// Run computes the graph's outputs from its inputs, in their order. The outputs are the caller's to Release; the inputs
// stay his. A fault of a kernel may come with a later call, as everywhere.
func (m *Machine) Run(in []*Item) ([]*Item, error) {
	if len(in) != len(m.g.Inputs) {
		return nil, fmt.Errorf("%d inputs, the stepped part has %d", len(in), len(m.g.Inputs))
	}
	return m.body(m.g, nil, in)
}

// Close waits for the stream and gives up kernels, constants and packed weights.
func (m *Machine) Close() error {
	err := m.th.SynchronizeStream(m.stream)
	for _, c := range m.cache {
		for _, f := range c.forms {
			if f.loaded != nil {
				err = cmp.Or(err, m.th.UnloadKernel(f.loaded))
			}
			for _, w := range f.weights {
				m.Release(w)
			}
		}
	}
	for _, it := range m.consts {
		m.Release(it)
	}
	m.cache, m.consts = map[*graph.Node]*compiled{}, map[*tensor.Tensor]*Item{}
	return err
}

// frame holds the values of one graph while it runs; up is that of the graph around it.
type frame struct {
	values map[*graph.Value]*Item
	up     *frame
}

func (f *frame) find(v *graph.Value) *Item {
	for ; f != nil; f = f.up {
		if it, ok := f.values[v]; ok {
			return it
		}
	}
	return nil
}

// body runs a graph with the given inputs in a frame of its own. in is borrowed, the outputs are the caller's.
func (m *Machine) body(g *graph.Graph, up *frame, in []*Item) ([]*Item, error) {
	if m.depth++; m.depth > maxDepth {
		return nil, problem.Failedf("graph %q: bodies inside each other more than %d deep", g.Name, maxDepth)
	}
	defer func() { m.depth-- }()
	f := &frame{values: make(map[*graph.Value]*Item, len(g.Nodes)+len(in)), up: up}
	defer func() {
		for _, it := range f.values {
			m.Release(it)
		}
	}()
	for i, v := range g.Inputs {
		f.values[v] = in[i].retain()
	}
	for _, n := range g.Nodes {
		out, err := m.node(g, n, f)
		if err != nil {
			return nil, fmt.Errorf("node %s (%s): %w", n.Name, n.Op, err)
		}
		for i, v := range n.Out {
			if i >= len(out) {
				break
			}
			if v == nil {
				m.Release(out[i])
				continue
			}
			f.values[v] = out[i]
		}
		for _, v := range m.drop[n] {
			m.Release(f.values[v])
			delete(f.values, v)
		}
	}
	out := make([]*Item, len(g.Outputs))
	for i, v := range g.Outputs {
		it, err := m.value(v, f)
		if err != nil {
			m.releaseAll(out)
			return nil, err
		}
		out[i] = it.retain()
	}
	return out, nil
}

// value finds what a node takes; nil for an operand that is left out.
func (m *Machine) value(v *graph.Value, f *frame) (*Item, error) {
	if v == nil {
		return nil, nil
	}
	if v.Const != nil {
		it := m.consts[v.Const]
		if it == nil {
			it = &Item{DType: v.Const.DType, Shape: v.Const.Shape, host: v.Const.Data, fixed: v.Const, refs: 1}
			m.consts[v.Const] = it
		}
		return it, nil
	}
	it := f.find(v)
	if it == nil {
		return nil, fmt.Errorf("value %s has not been made", v.Name)
	}
	return it, nil
}

// lastUses notes for each node the values of its graph that nobody uses after it.
func (m *Machine) lastUses(g *graph.Graph) {
	own := map[*graph.Value]bool{}
	for _, v := range g.Inputs {
		own[v] = true
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			own[v] = v != nil
		}
	}
	for _, v := range g.Outputs {
		own[v] = false
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := g.Nodes[i]
		last := func(v *graph.Value) {
			if own[v] {
				own[v] = false
				m.drop[n] = append(m.drop[n], v)
			}
		}
		for _, v := range n.Out {
			last(v) // nobody uses it
		}
		for _, v := range n.In {
			last(v)
		}
		for _, b := range n.Bodies {
			eachUse(b, last)
			m.lastUses(b)
		}
	}
}

// eachUse visits every value that a graph takes, in bodies too.
func eachUse(g *graph.Graph, f func(*graph.Value)) {
	for _, n := range g.Nodes {
		for _, v := range n.In {
			f(v)
		}
		for _, b := range n.Bodies {
			eachUse(b, f)
		}
	}
	for _, v := range g.Outputs {
		f(v)
	}
}

// node runs one node; its results are the caller's.
func (m *Machine) node(g *graph.Graph, n *graph.Node, f *frame) ([]*Item, error) {
	in := make([]*Item, len(n.In))
	for i, v := range n.In {
		var err error
		if in[i], err = m.value(v, f); err != nil {
			return nil, err
		}
	}
	switch n.Op {
	case "If":
		return m.branch(n, f, in)
	case "Loop":
		return m.loop(n, f, in)
	case "Scan":
		return m.scan(g, n, f, in)
	case "SequenceMap":
		return m.sequenceMap(n, f, in)
	case graph.OpFault:
		return nil, problem.Failedf("fault: %s", n.Attrs.Str("reason", ""))
	}
	if graph.IsStepped(n.Op) {
		return m.sequence(n, in)
	}
	if n.Op == "Identity" && len(in) == 1 && in[0] != nil {
		return []*Item{in[0].retain()}, nil
	}
	for i, it := range in {
		if it != nil && it.Kind != graph.Tensor {
			return nil, problem.Failedf("input %d is a %v, must be a tensor", i, it.Kind)
		}
	}
	return m.kernel(g.Opset, n, in)
}
