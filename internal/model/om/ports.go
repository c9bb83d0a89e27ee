package om

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"npu/internal/tensor"
)

// Port is an input or output as the user of a model sees it.
type Port struct {
	Name   string
	DType  string
	Shape  []int64 // -1 where a gear decides
	Format string
	Bytes  int64 // of the largest gear; -1: not known
	AIPP   string
}

// gearInput is the name of the extra input that selects a gear. Callers set it through the runtime, not as a tensor.
const gearInput = "ascend_mbatch_shape_data"

// root is the group that callers see.
func (m *Model) root() *Group {
	if len(m.Groups) == 0 {
		return nil
	}
	return m.Groups[0]
}

// rootGraph is the graph that callers see, nil where there is none.
func (m *Model) rootGraph() *GraphDef {
	if g := m.root(); g != nil && g.Def != nil && len(g.Def.Graphs) > 0 {
		return g.Def.Graphs[0]
	}
	return nil
}

// isData says that an operator is an input of its graph.
func isData(o *OpDef) bool {
	switch o.Type {
	case "Data", "AippData", "RefData", "AnnData":
		return true
	}
	return false
}

// dataOps are the inputs of a graph in their order: by index, in old files by position.
func dataOps(g *GraphDef) []*OpDef {
	var list []*OpDef
	for _, o := range g.Ops {
		if isData(o) {
			list = append(list, o)
		}
	}
	order := func(o *OpDef) int64 { return o.Attrs.Int("index", 0) }
	if slices.ContainsFunc(list, func(o *OpDef) bool { return o.Attrs.Has("index") }) {
		slices.SortStableFunc(list, func(a, b *OpDef) int { return cmp.Compare(order(a), order(b)) })
	}
	return list
}

// netOutput is the operator whose inputs are the outputs of a graph.
func netOutput(g *GraphDef) *OpDef {
	for _, o := range g.Ops {
		if o.Type == "NetOutput" {
			return o
		}
	}
	return nil
}

// source splits "name:index" at the last colon; index -1 is a control edge.
func source(s string) (name string, index int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i <= 0 {
		return "", 0, false
	}
	n, neg := 0, false
	digits := s[i+1:]
	if strings.HasPrefix(digits, "-") {
		neg, digits = true, digits[1:]
	}
	if digits == "" || len(digits) > 6 {
		return "", 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return "", 0, false
		}
		n = 10*n + int(c-'0')
	}
	if neg {
		n = -n
	}
	return s[:i], n, true
}

// Inputs are the inputs in their order, the one that selects gears among them.
func (m *Model) Inputs() []Port {
	g := m.rootGraph()
	if g == nil {
		return nil
	}
	io := m.root().IO
	var out []Port
	for i, o := range dataOps(g) {
		p := Port{Name: o.Name, Bytes: -1}
		if m.Ours() && len(o.Out) > 0 && o.Out[0].Name != "" {
			p.Name = o.Out[0].Name
		}
		if len(o.Out) > 0 {
			p.describe(o.Out[0])
		}
		if len(o.In) > 0 && (len(o.In[0].Shape) > 0 || p.Shape == nil) {
			d := o.In[0]
			if p.DType == "" {
				p.describe(d)
			}
			if d.Size > 0 {
				p.Bytes = d.Size
			}
		}
		if io != nil && i < len(io.Inputs) && io.Inputs[i].Name == p.Name {
			p.declare(&io.Inputs[i])
		}
		if dims := m.gearDims(o); dims != nil {
			p.Shape = dims
		} else if a := aippOf(o); a != nil && len(p.Shape) == 4 {
			p.Shape = a.dims(p.Shape[0], p.Shape)
			if n, err := shapeOf(p.Shape).Elements(); err == nil {
				p.Bytes = int64(n)
			}
		}
		p.AIPP = aippText(o)
		out = append(out, p)
	}
	return out
}

// Outputs are the outputs in their order.
func (m *Model) Outputs() []Port {
	g := m.rootGraph()
	if g == nil {
		return nil
	}
	net := netOutput(g)
	if net == nil {
		return nil
	}
	io := m.root().IO
	names := m.outputNames(net)
	var out []Port
	for i, d := range net.In {
		if i >= len(names) || d.unused() {
			continue
		}
		p := Port{Name: names[i], Bytes: -1}
		p.describe(d)
		if io != nil && i < len(io.Outputs) {
			p.declare(&io.Outputs[i])
		}
		out = append(out, p)
	}
	return out
}

func (p *Port) describe(d *TensorDesc) {
	p.DType, p.Format, p.Shape = typeName(d.DType), d.Layout, d.Shape
	if p.Shape == nil || len(p.Shape) == 1 && p.Shape[0] == unknownRank {
		p.Shape = []int64{}
	}
	if n, err := shapeOf(p.Shape).Bytes(dtypeOf(d.DType)); err == nil && dtypeOf(d.DType).Bits() > 0 {
		p.Bytes = int64(n)
	}
}

func (p *Port) declare(t *InOutTensor) {
	p.DType, p.Format, p.Bytes = memoryName(int64(t.DType)), formatName(int64(t.Format)), int64(t.Bytes)
	if t.Dims != nil {
		p.Shape = t.Dims
	}
}

// outputNames names the outputs: by the name the user gave ("node:0:name" or "name:0"), else after their source. An
// index at the end stays only where names would be equal without it.
func (m *Model) outputNames(net *OpDef) []string {
	if m.Ours() && m.named(net) {
		names := make([]string, len(net.In))
		for i, d := range net.In {
			names[i] = d.Name
		}
		return names
	}
	given := m.root().Def.Attrs.Strs("attr_model_out_nodes_name")
	var full []string
	for i, s := range net.Inputs {
		name, index, ok := source(s)
		if ok && index < 0 {
			continue
		}
		switch {
		case i < len(given) && given[i] != "":
			full = append(full, given[i])
		case ok:
			full = append(full, fmt.Sprintf("output_%d_%s_%d", i, name, index))
		default:
			full = append(full, fmt.Sprintf("output_%d", i))
		}
	}
	short := make([]string, len(full))
	seen := map[string]int{}
	for i, s := range full {
		short[i] = userName(s)
		seen[short[i]]++
	}
	for i := range short {
		if seen[short[i]] > 1 {
			short[i] = full[i]
		}
	}
	return short
}

// named says that the descriptors of the outputs carry their names.
func (m *Model) named(net *OpDef) bool {
	return len(net.In) == len(net.Inputs) && !slices.ContainsFunc(net.In, func(d *TensorDesc) bool { return d.Name == "" })
}

// userName is the last part of "node:index:name", or what stands before the index of "name:index".
func userName(s string) string {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s
	}
	if _, _, ok := source(s); ok {
		return s[:i]
	}
	head := s[:i]
	if _, _, ok := source(head); ok && i+1 < len(s) {
		return s[i+1:]
	}
	return s
}

// RunInput is an input that a run must be given.
type RunInput struct {
	Name string
	// Sizes are the shapes that gears allow by their bytes; nil where the shape is fixed.
	Sizes map[int64]tensor.Shape
	free  bool // dynamic without gears
}

// Dynamic says that the input has no fixed shape.
func (r *RunInput) Dynamic() bool { return r.Sizes != nil || r.free }

// RunInputs are the inputs without the one that selects a gear.
func (m *Model) RunInputs() []RunInput {
	gears := m.Gears()
	var out []RunInput
	for _, p := range m.Inputs() {
		if p.Name == gearInput && gears != nil {
			continue
		}
		r := RunInput{Name: p.Name, free: slices.Contains(p.Shape, -1)}
		if gears != nil {
			for i := range gears.inputs {
				if gears.inputs[i].name == p.Name {
					r.Sizes = gears.sizes(i, p.DType)
				}
			}
		}
		out = append(out, r)
	}
	return out
}

// sizes are the shapes of input i by their bytes.
func (g *Gears) sizes(i int, dtype string) map[int64]tensor.Shape {
	out := map[int64]tensor.Shape{}
	t, err := tensor.ParseDType(dtype)
	if err != nil {
		return out
	}
	for _, v := range g.Values {
		s := shapeOf(g.inputs[i].shape(v))
		if n, err := s.Bytes(t); err == nil {
			out[int64(n)] = s
		}
	}
	return out
}
