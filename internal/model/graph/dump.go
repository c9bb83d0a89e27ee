package graph

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// String is the text form: one line a node, in execution order, branches indented. It is for people and for tests;
// nothing reads it.
func (g *Graph) String() string {
	var b strings.Builder
	d := dumper{w: &b, names: map[*Value]string{}, taken: map[string]int{}}
	d.graph(g, "")
	return b.String()
}

type dumper struct {
	w     *strings.Builder
	names map[*Value]string
	taken map[string]int
}

func (d *dumper) graph(g *Graph, indent string) {
	fmt.Fprintf(d.w, "%sgraph %s(", indent, g.Name)
	for i, v := range g.Inputs {
		if i > 0 {
			d.w.WriteString(", ")
		}
		d.w.WriteString(d.name(v) + " " + Type(v))
	}
	d.w.WriteString(")\n")
	for _, n := range g.Nodes {
		d.node(n, indent+"  ")
	}
	fmt.Fprintf(d.w, "%s  return %s\n", indent, d.list(g.Outputs))
}

func (d *dumper) node(n *Node, indent string) {
	var outs []string
	for _, v := range n.Out {
		if v == nil {
			outs = append(outs, "_")
			continue
		}
		outs = append(outs, d.name(v)+" "+Type(v))
	}
	fmt.Fprintf(d.w, "%s%s = %s(%s)%s\n", indent, strings.Join(outs, ", "), n.Op, d.list(n.In), attrText(n.Attrs))
	for _, name := range slices.Sorted(maps.Keys(n.Bodies)) {
		fmt.Fprintf(d.w, "%s  %s:\n", indent, name)
		d.graph(n.Bodies[name], indent+"  ")
	}
}

func (d *dumper) list(vs []*Value) string {
	s := make([]string, len(vs))
	for i, v := range vs {
		s[i] = d.name(v)
	}
	return strings.Join(s, ", ")
}

// name gives each value a name of its own; small constants are shown by value.
func (d *dumper) name(v *Value) string {
	if v == nil {
		return "_"
	}
	if v.Const != nil {
		if s, ok := small(v.Const); ok {
			return s
		}
	}
	s, ok := d.names[v]
	if !ok {
		s = v.Name
		if d.taken[v.Name]++; d.taken[v.Name] > 1 {
			s += "#" + strconv.Itoa(d.taken[v.Name])
		}
		d.names[v] = s
	}
	if v.Const != nil {
		return s + ":" + Type(v)
	}
	return s
}

// Type is the value's type in words: float32[1x3x224x224], ? for what is not known, float32[batch,3,H,W] with symbols.
func Type(v *Value) string {
	if !v.Known {
		return v.DType.String() + "[unknown]"
	}
	if len(v.Shape) == 0 {
		return v.DType.String() + "[]"
	}
	dims, sep := make([]string, len(v.Shape)), "x"
	for i, n := range v.Shape {
		switch {
		case n >= 0:
			dims[i] = strconv.Itoa(n)
		case v.symbol(i) != "":
			dims[i], sep = v.symbol(i), ","
		default:
			dims[i] = "?"
		}
	}
	return v.DType.String() + "[" + strings.Join(dims, sep) + "]"
}

// small writes constants of up to eight numbers.
func small(t *tensor.Tensor) (string, bool) {
	n, err := t.Shape.Elements()
	if err != nil || n > 8 {
		return "", false
	}
	var s string
	switch t.DType {
	case tensor.Float32:
		s = fmt.Sprint(tensor.View[float32](t.Data))
	case tensor.Int64:
		s = fmt.Sprint(tensor.View[int64](t.Data))
	case tensor.Int32:
		s = fmt.Sprint(tensor.View[int32](t.Data))
	case tensor.Bool:
		s = fmt.Sprint(tensor.View[uint8](t.Data))
	default:
		return "", false
	}
	if len(t.Shape) == 0 {
		s = strings.Trim(s, "[]")
	}
	return s, true
}

func attrText(a kernels.Attrs) string {
	if len(a) == 0 {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		var s string
		switch v := a[name].(type) {
		case string:
			s = strconv.Quote(v)
		case *tensor.Tensor:
			var ok bool
			if s, ok = small(v); !ok {
				s = v.String()
			}
		default:
			s = fmt.Sprint(v)
		}
		parts = append(parts, name+"="+s)
	}
	return " {" + strings.Join(parts, " ") + "}"
}
