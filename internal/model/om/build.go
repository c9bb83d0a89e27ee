package om

import (
	"errors"
	"fmt"
	"slices"

	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// opset is the version of ai.onnx that the operators of a converted graph follow.
const opset = 17

// Built is a graph made of a file, for one gear.
type Built struct {
	Graph *graph.Graph
	// Notes say what had to be inferred, each with the operator's name.
	Notes []string
	// Timed names operators whose meaning is not known, with the reason: the model can be timed, not computed.
	Timed []string
}

// builder converts the graphs of one file.
type builder struct {
	m      *Model
	graphs map[string]*GraphDef
	g      *graph.Graph
	out    *Built
	gear   int // -1: the model has none
	gears  *Gears
	depth  int
	names  map[string]int
	// trans are the flags of matrix products that shapes settled: where shapes do not, the file's habit does.
	trans *bool
}

// val is a tensor of the file: the value that stands for it, in the order that the descriptor's layout stands for
// (see order in values.go), and that descriptor. The shape of a loose one may differ from its descriptor's: it comes
// from a gear smaller than the largest.
type val struct {
	v     *graph.Value
	d     *TensorDesc
	loose bool
	aipp  *aipp
}

// Build converts the model for the gear that the given input shapes name (none: the largest). Shapes that the file was
// not compiled for are problem.Usage. What cannot be computed does not fail: it is in Timed.
func (m *Model) Build(shapes map[string]tensor.Shape) (*Built, error) {
	switch {
	case m.Header.Type == TypeFlow:
		return nil, problem.Failedf("this is a flow model of %d models, which a scheduler of its own connects: run the models inside one by one", len(m.Nested))
	case m.Header.Type == TypeBundle:
		return nil, problem.Failedf("this is a bundle of %d models: run the models inside one by one", len(m.Nested))
	case m.Header.Type == TypeLite:
		return nil, problem.Failedf("this is an executable for small chips (lite), whose operators are not stored")
	case m.rootGraph() == nil:
		return nil, problem.Failedf("the file holds no graph")
	}
	if m.Ours() {
		return m.restore(shapes)
	}
	b := &builder{m: m, graphs: map[string]*GraphDef{}, gear: -1, names: map[string]int{}, out: &Built{}}
	for _, g := range m.Groups {
		for _, gr := range g.Def.Graphs {
			if b.graphs[gr.Name] == nil {
				b.graphs[gr.Name] = gr
			}
		}
	}
	root := m.rootGraph()
	b.g = &graph.Graph{Name: m.Groups[0].Name, Opset: opset}
	b.out.Graph = b.g
	args, err := b.inputs(root, shapes)
	if err != nil {
		return nil, err
	}
	outs, err := b.graph(root, m.root(), args)
	if err != nil {
		return nil, problem.Mark(problem.Failed, err)
	}
	return b.out, b.outputs(root, outs)
}

// inputs makes the inputs of the model and checks the shapes that were asked for.
func (b *builder) inputs(root *GraphDef, shapes map[string]tensor.Shape) (map[*OpDef]val, error) {
	if b.gears = b.m.Gears(); b.gears != nil {
		var err error
		if b.gear, err = b.gears.pick(shapes); err != nil {
			return nil, err
		}
	}
	args := map[*OpDef]val{}
	ports := b.m.Inputs()
	known := map[string]bool{}
	for i, o := range dataOps(root) {
		p := ports[i]
		known[p.Name] = true
		a := val{aipp: aippOf(o)}
		if len(o.Out) > 0 {
			a.d = o.Out[0]
		} else if len(o.In) > 0 {
			a.d = o.In[0]
		}
		if p.Name == gearInput && b.gears != nil {
			args[o] = a
			continue
		}
		if a.d == nil {
			return nil, problem.Failedf("input %q has no descriptor", p.Name)
		}
		shape, want := p.Shape, shapes[p.Name]
		if b.gears != nil {
			for k := range b.gears.inputs {
				if q := &b.gears.inputs[k]; q.name == p.Name {
					shape, want = q.shape(b.gears.Values[b.gear]), nil
					a.loose = !slices.Equal(shape, a.d.Shape)
				}
			}
		}
		s := shapeOf(shape)
		if want != nil {
			if !fits(want, s) {
				return nil, problem.Usagef("input %q: the model was compiled for shape %v, not %v", p.Name, s, want)
			}
			a.loose = a.loose || !want.Equal(s) // a shape that is the file's own says nothing new
			s = want
		}
		if !s.Static() {
			s = s.Clone()
			for k := range s {
				s[k] = max(s[k], 1)
			}
			a.loose = true
			b.note("input %q: its dynamic dimensions set to 1, shape %v: give another with --shape", p.Name, s)
		}
		t := dtypeOf(a.d.DType)
		if t.Bits() == 0 {
			return nil, problem.Failedf("input %q has type %s, which this program does not have", p.Name, typeName(a.d.DType))
		}
		v := &graph.Value{Name: p.Name, DType: t, Shape: s, Known: true}
		b.g.Inputs = append(b.g.Inputs, v)
		var err error
		if a.v, err = b.unpack(v, a.d); err != nil {
			return nil, problem.Failedf("input %q: %w", p.Name, err)
		}
		args[o] = a
	}
	for name := range shapes {
		if !known[name] {
			var have []string
			for _, v := range b.g.Inputs {
				have = append(have, v.Name)
			}
			return nil, problem.Usagef("no input %q: the model has %v", name, have)
		}
	}
	return args, nil
}

// fits says that a shape agrees with one that may have unknown dimensions.
func fits(s, with tensor.Shape) bool {
	if len(s) != len(with) || !s.Static() {
		return false
	}
	for i := range s {
		if with[i] >= 0 && with[i] != s[i] {
			return false
		}
	}
	return true
}

// outputs names the outputs. Their memory is in the order of the descriptor; stored layouts are laid out again.
func (b *builder) outputs(root *GraphDef, outs []val) error {
	names := b.m.outputNames(netOutput(root))
	for i, o := range outs {
		if o.v == nil {
			return problem.Failedf("output %d is connected to nothing", i)
		}
		name := fmt.Sprintf("output_%d", i)
		if i < len(names) {
			name = names[i]
		}
		stored, err := b.pack(o.v, o.d)
		if err != nil {
			return problem.Failedf("output %q: %w", name, err)
		}
		o.v = stored
		n := &graph.Node{Name: name + "/output", Op: "Identity", In: []*graph.Value{o.v}, Attrs: kernels.Attrs{}, Origin: []string{name}}
		v := &graph.Value{Name: name, DType: o.v.DType, Shape: o.v.Shape, Known: true, Producer: n}
		n.Out = []*graph.Value{v}
		b.g.Nodes = append(b.g.Nodes, n)
		b.g.Outputs = append(b.g.Outputs, v)
	}
	return nil
}

func (b *builder) note(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if !slices.Contains(b.out.Notes, s) {
		b.out.Notes = append(b.out.Notes, s)
	}
}

// scope is one graph during its conversion.
type scope struct {
	b    *builder
	def  *GraphDef
	grp  *Group           // whose weights and kernels the operators use
	made map[string][]val // outputs by operator
	used map[string]map[int]bool
}

// maxInline bounds subgraphs inside subgraphs.
const maxInline = 16

// graph converts one graph, whose inputs are args, into b.g and returns what its NetOutput takes.
func (b *builder) graph(def *GraphDef, grp *Group, args map[*OpDef]val) ([]val, error) {
	if b.depth++; b.depth > maxInline {
		return nil, errors.New("subgraphs are nested too deep")
	}
	defer func() { b.depth-- }()
	ops, err := order(def)
	if err != nil {
		return nil, err
	}
	ops = b.wanted(def, ops)
	s := &scope{b: b, def: def, grp: grp, made: map[string][]val{}, used: map[string]map[int]bool{}}
	for _, o := range ops {
		for _, in := range o.Inputs {
			if name, n, ok := source(in); ok && n >= 0 {
				if s.used[name] == nil {
					s.used[name] = map[int]bool{}
				}
				s.used[name][n] = true
			}
		}
	}
	var outs []val
	for _, o := range def.Ops {
		if branching(o.Type) && !(b.gear >= 0 && o.Type == "StreamSwitch") {
			b.out.Timed = append(b.out.Timed, fmt.Sprintf("%s (%s): its branches depend on data", o.Name, o.Type))
		}
	}
	for _, o := range ops {
		if isData(o) {
			s.made[o.Name] = []val{args[o]}
			continue
		}
		if o.Type == "NetOutput" {
			for i := range o.Inputs {
				v := s.input(o, i)
				if v.v == nil && v.d == nil {
					continue
				}
				if i < len(o.In) && v.v != nil && !v.loose {
					w, err := b.feed(b.g, o.Name+"/view", v, o.In[i])
					if err != nil {
						return nil, fmt.Errorf("output %d: %w", i, err)
					}
					v.v, v.d = w, o.In[i]
				}
				outs = append(outs, v)
			}
			continue
		}
		made, err := s.op(o)
		if err != nil {
			return nil, fmt.Errorf("operator %q (%s): %w", o.Name, o.Type, err)
		}
		s.made[o.Name] = made
	}
	return outs, nil
}

// input is what arrives at anchor i of an operator, with the producer's descriptor.
func (s *scope) input(o *OpDef, i int) val {
	if i >= len(o.Inputs) {
		return val{}
	}
	name, n, ok := source(o.Inputs[i])
	if !ok || n < 0 || n >= len(s.made[name]) {
		return val{}
	}
	return s.made[name][n]
}

// op converts one operator.
func (s *scope) op(o *OpDef) ([]val, error) {
	switch o.Type {
	case "Const", "Constant":
		return s.constant(o), nil
	case "MemSet", "AtomicAddrClean", "Send", "Recv", "SendNotify", "RecvNotify", "StreamActive", "StreamSwitchN", "StreamSwitch", "StreamMerge", "NoOp", "LabelSet",
		"LabelGotoEx", "LabelGoto":
		return make([]val, len(o.Out)), nil
	case "Merge", "RefMerge":
		if s.b.gear >= 0 {
			return s.merge(o), nil
		}
	case "Case", "StatelessCase":
		if s.b.gear >= 0 && s.b.gear < len(o.Subgraphs) {
			return s.call(o, o.Subgraphs[s.b.gear])
		}
	case "PartitionedCall", "StatefulPartitionedCall":
		if len(o.Subgraphs) > 0 {
			return s.call(o, o.Subgraphs[0])
		}
	case "Rank", "Shape", "Size":
		if v, ok := s.shapeOp(o); ok {
			return v, nil
		}
	}
	if graph.IsCollective(o.Type) {
		v, err := s.communicate(o)
		if err == nil || len(o.Out) == 0 {
			return v, err
		}
		s.b.out.Timed = append(s.b.out.Timed, fmt.Sprintf("%s (%s): %v", o.Name, o.Type, err))
		return s.timed(&graph.Node{Name: s.b.unique(o.Name), Op: graph.OpGroup, Origin: o.origins(), Attrs: kernels.Attrs{"type": o.Type}}, o)
	}
	if alias(o) {
		if v, err := s.alias(o); err == nil {
			return v, nil
		}
	}
	return s.kernel(o)
}

// unique makes names of nodes and values distinct.
func (b *builder) unique(name string) string {
	b.names[name]++
	if n := b.names[name]; n > 1 {
		return fmt.Sprintf("%s#%d", name, n)
	}
	return name
}
