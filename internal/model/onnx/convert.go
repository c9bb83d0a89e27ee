package onnx

import (
	"fmt"
	"strings"

	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// Graph converts the model: nodes in execution order, initializers and Constant nodes as constant values,
// model-local functions inlined, branches as bodies that use outer values directly. Names that nobody defines, values
// that two nodes define and cycles are problem.Damaged; inputs that are maps or sparse tensors and functions that cannot be
// inlined are problem.Failed. Operators are not looked up here: graph.Infer reports the unsupported ones together.
//
// The constants of the graph are the file's bytes; the passes of package graph may change them in place. Convert a
// model once.
func (m *Model) Graph() (*graph.Graph, error) {
	c := &converter{m: m, free: map[*rawGraph][]string{}}
	g := &graph.Graph{Name: m.GraphName, Opset: m.Opset()}
	if err := c.graph(m.graph, &scope{}, g, nil); err != nil {
		return nil, err
	}
	return g, nil
}

type converter struct {
	m     *Model
	size  int // nodes and operands made so far; functions may multiply them
	calls int // functions inside each other now
	free  map[*rawGraph][]string
}

// scope holds the values by name that a graph defines; up is the graph around it. The scope of a function has no up.
type scope struct {
	up     *scope
	values map[string]*graph.Value
	prefix string // of node and value names, inside functions
	place  string // for errors
	attrs  map[string]rawAttr
}

func (s *scope) find(name string) *graph.Value {
	for ; s != nil; s = s.up {
		if v := s.values[name]; v != nil {
			return v
		}
	}
	return nil
}

// attr finds the value of an attribute of the function around.
func (s *scope) attr(name string) (rawAttr, bool) {
	for ; s != nil; s = s.up {
		if a, ok := s.attrs[name]; ok {
			return a, true
		}
	}
	return rawAttr{}, false
}

func (s *scope) define(v *graph.Value, name string) error {
	if s.values == nil {
		s.values = map[string]*graph.Value{}
	}
	if s.values[name] != nil {
		return problem.Damagedf("value %q is defined twice%s (names must be unique)", name, s.place)
	}
	s.values[name] = v
	return nil
}

// graph converts one graph or branch into out; place is where the branch hangs, innermost first.
func (c *converter) graph(r *rawGraph, sc *scope, out *graph.Graph, place []string) error {
	if len(place) > 0 {
		sc.place = " in " + strings.Join(place, " of ")
	}
	for _, t := range r.initializers {
		if err := sc.define(constant(sc.prefix+t.name, t.t), t.name); err != nil {
			return err
		}
	}
	for _, in := range r.inputs {
		if v := sc.values[in.Name]; v != nil && v.Const != nil {
			continue // an initializer gives it
		}
		v, err := declared(in, sc)
		if err != nil {
			return err
		}
		if err := sc.define(v, in.Name); err != nil {
			return err
		}
		out.Inputs = append(out.Inputs, v)
	}
	if err := c.list(r.nodes, sc, out); err != nil {
		return err
	}
	for _, o := range r.outputs {
		v := sc.find(o.Name)
		if v == nil {
			return problem.Damagedf("output %q%s: no node makes it", o.Name, sc.place)
		}
		if len(place) > 0 && v.Producer != nil && v.DType == tensor.Undefined && o.Kind == "tensor" {
			v.DType, v.Shape, v.Known = o.DType, o.Shape(), o.Known // what a loop that never turns has to go by
		}
		out.Outputs = append(out.Outputs, v)
	}
	if len(r.outputs) == 0 {
		return problem.Damagedf("graph %q%s has no outputs", r.name, sc.place)
	}
	return nil
}

func constant(name string, t *tensor.Tensor) *graph.Value {
	return &graph.Value{Name: name, DType: t.DType, Shape: t.Shape, Known: true, Const: t}
}

func declared(in ValueInfo, sc *scope) (*graph.Value, error) {
	if sc.up == nil && (in.Kind == "" || in.Kind == "tensor" && in.DType == tensor.Undefined) {
		return nil, problem.Damagedf("input %q has no element type", in.Name)
	}
	v := &graph.Value{Name: sc.prefix + in.Name, DType: in.DType, Known: in.Known}
	switch in.Kind {
	case "tensor", "":
	case "sequence":
		v.Kind = graph.Sequence
		return v, nil
	case "optional":
		v.Kind = graph.Optional
		return v, nil
	default:
		return nil, unsupportedf("input %q%s is of kind %q", in.Name, sc.place, in.Kind)
	}
	if in.Known {
		v.Shape = in.Shape()
		for i, d := range in.Dims {
			if d.Size < 0 {
				if v.Symbols == nil {
					v.Symbols = make([]string, len(in.Dims))
				}
				v.Symbols[i] = d.Symbol
			}
		}
	}
	return v, nil
}

// list converts nodes after sorting them.
func (c *converter) list(nodes []*rawNode, sc *scope, out *graph.Graph) error {
	order, err := c.sort(nodes, sc)
	if err != nil {
		return err
	}
	for _, n := range order {
		if c.size += 1 + len(n.in) + len(n.out) + len(n.attrs); c.size > 1<<16+16*c.m.Bytes {
			return problem.Damagedf("node %s%s: the functions unfold to far more nodes than a file of %d bytes should have", n.title(), sc.place, c.m.Bytes)
		}
		if f := c.m.functions[n.function]; f != nil {
			err = c.call(f, n, sc, out)
		} else {
			err = c.node(n, sc, out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *converter) node(n *rawNode, sc *scope, out *graph.Graph) error {
	if n.op == "Constant" {
		return c.constant(n, sc)
	}
	g := &graph.Node{Name: sc.prefix + n.title(), Op: n.op, Attrs: kernels.Attrs{}}
	g.Origin = []string{g.Name}
	for _, name := range n.in {
		var v *graph.Value
		if name != "" {
			if v = sc.find(name); v == nil {
				return problem.Damagedf("node %s uses value %q, which nothing defines%s", n.title(), name, sc.place)
			}
		}
		g.In = append(g.In, v)
	}
	for _, name := range n.out {
		if name == "" {
			g.Out = append(g.Out, nil)
			continue
		}
		v := &graph.Value{Name: sc.prefix + name, Producer: g}
		if err := sc.define(v, name); err != nil {
			return fmt.Errorf("node %s: %w", n.title(), err)
		}
		g.Out = append(g.Out, v)
	}
	for _, a := range n.attrs {
		a, ok := sc.resolve(a)
		if !ok {
			continue
		}
		if g.Attrs.Has(a.name) || g.Bodies[a.name] != nil {
			return problem.Damagedf("node %s has attribute %q twice", n.title(), a.name)
		}
		if a.graph == nil {
			g.Attrs[a.name] = a.value
			continue
		}
		body := &graph.Graph{Name: a.graph.name, Opset: out.Opset}
		inner := &scope{up: sc, prefix: sc.prefix}
		if err := c.graph(a.graph, inner, body, []string{a.name, n.title()}); err != nil {
			return err
		}
		if g.Bodies == nil {
			g.Bodies = map[string]*graph.Graph{}
		}
		g.Bodies[a.name] = body
	}
	if n.op == "If" && (g.Bodies["then_branch"] == nil || g.Bodies["else_branch"] == nil) {
		return problem.Damagedf("node %s: If without then_branch and else_branch", n.title())
	}
	out.Nodes = append(out.Nodes, g)
	return nil
}

// resolve replaces a reference to an attribute of the function around; false where the caller did not give it.
func (s *scope) resolve(a rawAttr) (rawAttr, bool) {
	if a.ref == "" {
		return a, true
	}
	given, ok := s.attr(a.ref)
	given.name = a.name
	return given, ok
}

// title names the node for people: its own name, or its operator and first output.
func (n *rawNode) title() string {
	if n.name != "" {
		return n.name
	}
	for _, o := range n.out {
		if o != "" {
			return n.op + "(" + o + ")"
		}
	}
	return fmt.Sprintf("%s@%#x", n.op, n.off)
}

// constant turns a Constant node into a constant value.
func (c *converter) constant(n *rawNode, sc *scope) error {
	if len(n.out) != 1 || n.out[0] == "" || len(n.attrs) != 1 {
		return problem.Damagedf("node %s: a Constant has one output and one attribute, here %d and %d", n.title(), len(n.out), len(n.attrs))
	}
	a, ok := sc.resolve(n.attrs[0])
	if !ok {
		return problem.Damagedf("node %s: its value is attribute %q of the function, which the caller does not give", n.title(), n.attrs[0].ref)
	}
	var t *tensor.Tensor
	switch v := a.value.(type) {
	case *tensor.Tensor:
		t = v
	case float32:
		t = &tensor.Tensor{DType: tensor.Float32, Data: tensor.Bytes([]float32{v})}
	case int64:
		t = &tensor.Tensor{DType: tensor.Int64, Data: tensor.Bytes([]int64{v})}
	case []float32:
		t = &tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{len(v)}, Data: tensor.Bytes(v)}
	case []int64:
		t = &tensor.Tensor{DType: tensor.Int64, Shape: tensor.Shape{len(v)}, Data: tensor.Bytes(v)}
	default:
		return unsupportedf("node %s: Constant with attribute %q", n.title(), a.name)
	}
	return sc.define(constant(sc.prefix+n.out[0], t), n.out[0])
}
