package om

import (
	"fmt"

	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// Open says that the file holds a graph with open shapes, to be shaped, optimised and planned when it is run.
func (m *Model) Open() bool { return m.Ours() && m.Header.Dynamic == 1 }

// restore makes the graph again that a file of ours was written from, node by node.
func (m *Model) restore(shapes map[string]tensor.Shape) (*Built, error) {
	def := m.rootGraph()
	graphs := map[string]*GraphDef{}
	for _, g := range m.root().Def.Graphs {
		graphs[g.Name] = g
	}
	if g := m.Gears(); g != nil {
		k, err := g.pick(shapes)
		if err != nil {
			return nil, err
		}
		for _, o := range def.Ops {
			if o.Type == "Case" && k < len(o.Subgraphs) {
				def = graphs[o.Subgraphs[k]]
				break
			}
		}
		shapes = nil
	}
	r := &restorer{m: m, graphs: graphs}
	g, err := r.graph(def, nil)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	for name, want := range shapes {
		found := false
		for _, v := range g.Inputs {
			if v.Name == name {
				found = true
				if !v.Shape.Equal(want) {
					return nil, problem.Usagef("input %q: the model was compiled for shape %v, not %v", name, v.Shape, want)
				}
			}
		}
		if !found {
			return nil, problem.Usagef("no input %q in the model", name)
		}
	}
	g.Name = m.root().Name
	return &Built{Graph: g}, nil
}

type restorer struct {
	m      *Model
	graphs map[string]*GraphDef
	depth  int
}

// graph restores one graph; outer are the values that a branch takes from around it, by input of its operator.
func (r *restorer) graph(def *GraphDef, outer []*graph.Value) (*graph.Graph, error) {
	if r.depth++; r.depth > maxInline {
		return nil, fmt.Errorf("subgraphs are nested too deep")
	}
	defer func() { r.depth-- }()
	if def == nil {
		return nil, fmt.Errorf("a subgraph is missing")
	}
	g := &graph.Graph{Name: def.Name, Opset: int(def.Attrs.Int(attrOpset, opset))}
	made := map[string][]*graph.Value{}
	at := func(s string) (*graph.Value, error) {
		name, i, ok := source(s)
		if !ok || i < 0 || i >= len(made[name]) || made[name][i] == nil {
			return nil, fmt.Errorf("%q is made by nothing before it", s)
		}
		return made[name][i], nil
	}
	for _, o := range def.Ops {
		var err error
		switch o.Type {
		case "Data":
			err = r.data(g, o, outer, made)
		case "Const":
			err = r.constant(o, made)
		case "NetOutput":
			err = r.outputs(g, o, at)
		default:
			err = r.node(g, o, at, made)
		}
		if err != nil {
			return nil, fmt.Errorf("operator %q (%s): %w", o.Name, o.Type, err)
		}
	}
	return g, nil
}

// valueOf is the value that a descriptor of ours describes.
func (r *restorer) valueOf(d *TensorDesc, name string) (*graph.Value, error) {
	t := dtypeOf(d.DType)
	s := shapeOf(d.Shape)
	if r.m.Open() {
		v := &graph.Value{Name: name, DType: t, Shape: s, Known: true}
		if len(d.Shape) == 1 && d.Shape[0] == unknownRank {
			v.Shape, v.Known = nil, false
		}
		return v, nil
	}
	if t.Bits() == 0 || !s.Static() {
		return nil, fmt.Errorf("%s is no tensor of known type and shape", d)
	}
	return &graph.Value{Name: name, DType: t, Shape: s, Known: true}, nil
}

func (r *restorer) data(g *graph.Graph, o *OpDef, outer []*graph.Value, made map[string][]*graph.Value) error {
	if outer != nil {
		i := int(o.Attrs.Int("_parent_node_index", -1))
		if i < 0 || i >= len(outer) || outer[i] == nil {
			return fmt.Errorf("it stands for input %d of %d", i, len(outer))
		}
		made[o.Name] = []*graph.Value{outer[i]}
		return nil
	}
	if len(o.Out) != 1 {
		return fmt.Errorf("%d outputs", len(o.Out))
	}
	v, err := r.valueOf(o.Out[0], o.Out[0].Name)
	if err != nil {
		return err
	}
	if list := o.Attrs.Strs(attrSymbols); len(list) == len(v.Shape) {
		v.Symbols = list
	}
	g.Inputs = append(g.Inputs, v)
	made[o.Name] = []*graph.Value{v}
	return nil
}

func (r *restorer) constant(o *OpDef, made map[string][]*graph.Value) error {
	t := weightOf(o)
	if t == nil || t.Desc == nil {
		return fmt.Errorf("no value")
	}
	x, err := r.tensor(t)
	if err != nil {
		return err
	}
	made[o.Name] = []*graph.Value{constValue(t.Desc.Name, x)}
	return nil
}

func (r *restorer) tensor(t *TensorDef) (*tensor.Tensor, error) {
	b, err := r.m.root().weight(t)
	if err != nil {
		return nil, err
	}
	v, err := r.valueOf(t.Desc, "")
	if err != nil {
		return nil, err
	}
	if v.DType.Bits() == 0 || !v.Known {
		return nil, fmt.Errorf("%s is no constant of known type and shape", t.Desc)
	}
	n, err := v.Shape.Bytes(v.DType)
	if err != nil || n > len(b) {
		return nil, fmt.Errorf("%d bytes stored for %s", len(b), t.Desc)
	}
	x := &tensor.Tensor{DType: v.DType, Shape: v.Shape, Data: b[:n:n]}
	if r.m.Open() {
		return x.Clone(), nil // passes change constants in place, and equal ones share their bytes in the file
	}
	return x, nil
}

func (r *restorer) outputs(g *graph.Graph, o *OpDef, at func(string) (*graph.Value, error)) error {
	for _, s := range o.Inputs {
		v, err := at(s)
		if err != nil {
			return err
		}
		g.Outputs = append(g.Outputs, v)
	}
	return nil
}

func (r *restorer) node(g *graph.Graph, o *OpDef, at func(string) (*graph.Value, error), made map[string][]*graph.Value) error {
	op := o.Attrs.Str(attrOp)
	list := o.Attrs.Get(attrAttrs)
	if op == "" || list == nil || list.Func == nil {
		return fmt.Errorf("attributes %s and %s are missing", attrOp, attrAttrs)
	}
	n := &graph.Node{Name: o.Name, Op: op, Attrs: kernels.Attrs{}, Origin: o.Attrs.Strs("_datadump_original_op_names")}
	for i := range list.Func.Attrs {
		kv := &list.Func.Attrs[i]
		v, err := r.attr(&kv.Attr)
		if err != nil {
			return fmt.Errorf("attribute %s: %w", kv.Key, err)
		}
		n.Attrs[kv.Key] = v
	}
	for _, s := range o.Inputs {
		if s == "" {
			n.In = append(n.In, nil)
			continue
		}
		v, err := at(s)
		if err != nil {
			return err
		}
		n.In = append(n.In, v)
	}
	if len(o.Subgraphs) > 0 {
		if err := r.branches(n, o); err != nil {
			return err
		}
	}
	names := o.Attrs.Strs(attrValues)
	for i, d := range o.Out {
		if d.unused() {
			n.Out = append(n.Out, nil)
			continue
		}
		name := o.Name
		if i < len(names) {
			name = names[i]
		}
		v, err := r.valueOf(d, name)
		if err != nil {
			return err
		}
		v.Producer = n
		n.Out = append(n.Out, v)
	}
	made[o.Name] = n.Out
	g.Nodes = append(g.Nodes, n)
	return nil
}

// branches restores the two branches of an If: else first, as their names are sorted.
func (r *restorer) branches(n *graph.Node, o *OpDef) error {
	if n.Op != "If" || len(o.Subgraphs) != 2 || len(n.In) < 1 {
		return fmt.Errorf("%d subgraphs of %s", len(o.Subgraphs), n.Op)
	}
	n.Bodies = map[string]*graph.Graph{}
	for i, name := range []string{"else_branch", "then_branch"} {
		body, err := r.graph(r.graphs[o.Subgraphs[i]], n.In)
		if err != nil {
			return err
		}
		n.Bodies[name] = body
	}
	n.In = n.In[:1]
	return nil
}

func (r *restorer) attr(a *Attr) (any, error) {
	switch a.Kind {
	case AttrInt:
		return a.Int, nil
	case AttrFloat:
		return a.F, nil
	case AttrString:
		return string(a.Data), nil
	case AttrTensor:
		if a.Tensor.Desc != nil {
			return r.tensor(a.Tensor)
		}
	case AttrList:
		switch a.List.Type {
		case listInt:
			return append([]int64{}, a.List.Ints...), nil
		case listFloat:
			return append([]float32{}, a.List.Floats...), nil
		case listString:
			s := make([]string, len(a.List.Strings))
			for i, b := range a.List.Strings {
				s[i] = string(b)
			}
			return s, nil
		}
	}
	return nil, fmt.Errorf("of a kind that this program does not write")
}
