package om

import (
	"fmt"
	"slices"
	"strings"

	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// Stored layouts only say where elements lie in memory. A tensor of the file becomes a dense value in one of two
// orders: a row-major layout keeps its own, a fractal one (NC1HWC0, FRACTAL_Z) stands for NCHW (OIHW, NCDHW) when the
// tensor has so many dimensions, else for its logical shape. TransData then is a transposition or nothing.

// order is the order of dimensions that a descriptor's value has; "ND" where they have no names.
func (d *TensorDesc) order() string {
	name, _ := d.layout()
	origin := d.originFormat()
	dims, _ := d.originShape()
	if d.rowMajor() {
		if name == "ND" || name == "" {
			if len(origin) == len(d.Shape) && named(origin) {
				return origin
			}
			return "ND"
		}
		if len(name) != len(d.Shape) {
			return "ND"
		}
		return name
	}
	if strings.HasPrefix(name, "FRACTAL_NZ") || len(dims) != len(origin) || !named(origin) {
		return origin
	}
	switch len(dims) {
	case 4:
		return "NCHW"
	case 5:
		return "NCDHW"
	}
	return origin
}

// named says that an order names its dimensions.
func named(order string) bool {
	sorted := []byte(order)
	slices.Sort(sorted)
	return string(sorted) == "CHNW" || string(sorted) == "CDHNW"
}

// dims is the shape of a descriptor's value; false where the file does not say it.
func (d *TensorDesc) dims() ([]int64, bool) {
	if d.rowMajor() {
		return d.Shape, true
	}
	dims, ok := d.originShape()
	if !ok {
		return nil, false
	}
	return permute(dims, permutation(d.originFormat(), d.order())), true
}

// permutation is the Transpose that turns one order into another; nil where nothing moves or the orders have no names
// in common.
func permutation(from, to string) []int {
	if from == to || len(from) != len(to) || !named(from) || !named(to) {
		return nil
	}
	p := make([]int, len(to))
	for i := range to {
		k := strings.IndexByte(from, to[i])
		if k < 0 {
			return nil
		}
		p[i] = k
	}
	return p
}

func permute(dims []int64, p []int) []int64 {
	if p == nil || len(p) != len(dims) {
		return dims
	}
	out := make([]int64, len(dims))
	for i, k := range p {
		out[i] = dims[k]
	}
	return out
}

// emit appends an operator to g and returns its first output.
func (b *builder) emit(g *graph.Graph, name, op string, attrs kernels.Attrs, in ...*graph.Value) (*graph.Value, error) {
	out, err := b.emitN(g, name, op, attrs, 1, in...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

func (b *builder) emitN(g *graph.Graph, name, op string, attrs kernels.Attrs, outs int, in ...*graph.Value) ([]*graph.Value, error) {
	if attrs == nil {
		attrs = kernels.Attrs{}
	}
	n := &graph.Node{Name: b.unique(name), Op: op, In: in, Attrs: attrs, Origin: []string{name}, Out: make([]*graph.Value, outs)}
	spec := graph.Spec(&graph.Graph{Opset: opset}, &graph.Node{Op: op, In: in, Attrs: attrs})
	spec.Out = make([]kernels.Desc, outs)
	if err := kernels.Infer(spec); err != nil {
		return nil, err
	}
	for i, d := range spec.Out {
		if !d.Shape.Static() {
			return nil, fmt.Errorf("%s: the shape of its result depends on data", op)
		}
		v := &graph.Value{Name: n.Name, DType: d.DType, Shape: d.Shape.Clone(), Known: true, Producer: n}
		if i > 0 {
			v.Name = fmt.Sprintf("%s:%d", n.Name, i)
		}
		n.Out[i] = v
	}
	g.Nodes = append(g.Nodes, n)
	return n.Out, nil
}

// constValue is a constant value of the graph.
func constValue(name string, t *tensor.Tensor) *graph.Value {
	return &graph.Value{Name: name, DType: t.DType, Shape: t.Shape, Known: true, Const: t}
}

// ints is a constant list of 64-bit integers.
func ints(v ...int64) *graph.Value {
	t, err := tensor.FromInt64s(tensor.Shape{len(v)}, v)
	if err != nil {
		return nil // the length is that of the list
	}
	return constValue("list", t)
}

// feed brings a tensor into the form that a consumer's descriptor describes: another order of the same dimensions, or
// another shape of the same elements (views that the compiler removed).
func (b *builder) feed(g *graph.Graph, name string, a val, want *TensorDesc) (*graph.Value, error) {
	if a.v == nil || want == nil || a.d == want {
		return a.v, nil
	}
	from, to := a.d.order(), want.order()
	wantDims, ok := want.dims()
	if !ok {
		return nil, fmt.Errorf("the logical shape of %s is not in the file", want)
	}
	if a.loose {
		if p := permutation(from, to); p != nil && len(p) == len(a.v.Shape) {
			return b.transpose(g, name, a.v, p)
		}
		if len(a.v.Shape) == len(wantDims) || slices.Contains(wantDims, -1) {
			return a.v, nil
		}
		if len(wantDims) == 0 {
			return a.v, nil
		}
		return b.reshapeLoose(g, name, a.v, wantDims)
	}
	shape := shapeOf(wantDims)
	if !shape.Static() {
		return a.v, nil
	}
	origin, _ := a.d.originShape()
	wantOrigin, _ := want.originShape()
	if slices.Equal(origin, wantOrigin) || a.v.Shape.Equal(shape) && permutation(from, to) == nil {
		if p := permutation(from, to); p != nil && len(p) == len(a.v.Shape) {
			return b.transpose(g, name, a.v, p)
		}
		if a.v.Shape.Equal(shape) {
			return a.v, nil
		}
	}
	// A view: in the logical order of both.
	v := a.v
	var err error
	if p := permutation(from, a.d.originFormat()); p != nil && len(p) == len(v.Shape) {
		if v, err = b.transpose(g, name, v, p); err != nil {
			return nil, err
		}
	}
	p := permutation(want.originFormat(), to)
	logical := shape
	if p != nil && len(p) == len(shape) {
		logical = shapeOf(permute(wantDims, permutation(to, want.originFormat())))
	}
	if v, err = b.reshape(g, name, v, logical); err != nil {
		return nil, err
	}
	if p != nil && len(p) == len(v.Shape) {
		return b.transpose(g, name, v, p)
	}
	return v, nil
}

func (b *builder) transpose(g *graph.Graph, name string, v *graph.Value, p []int) (*graph.Value, error) {
	perm := make([]int64, len(p))
	moved := false
	for i, k := range p {
		perm[i] = int64(k)
		moved = moved || i != k
	}
	if !moved {
		return v, nil
	}
	return b.emit(g, name, "Transpose", kernels.Attrs{"perm": perm}, v)
}

func (b *builder) reshape(g *graph.Graph, name string, v *graph.Value, s tensor.Shape) (*graph.Value, error) {
	if v.Shape.Equal(s) {
		return v, nil
	}
	have, err := v.Shape.Elements()
	if err != nil {
		return nil, err
	}
	if want, err := s.Elements(); err != nil || want != have {
		return nil, fmt.Errorf("shape %v cannot be seen as %v", v.Shape, s)
	}
	if v.Const != nil {
		t := *v.Const
		t.Shape = s
		return constValue(v.Name, &t), nil
	}
	list := make([]int64, len(s))
	for i, n := range s {
		list[i] = int64(n)
	}
	return b.emit(g, name, "Reshape", kernels.Attrs{"allowzero": int64(1)}, v, ints(list...))
}

// reshapeLoose reshapes a tensor of a smaller gear: its leading dimension takes what is left.
func (b *builder) reshapeLoose(g *graph.Graph, name string, v *graph.Value, dims []int64) (*graph.Value, error) {
	have, err := v.Shape.Elements()
	if err != nil {
		return nil, err
	}
	s := shapeOf(dims)
	rest := 1
	for _, n := range s[1:] {
		rest *= max(n, 1)
	}
	if rest == 0 || have%rest != 0 {
		return nil, fmt.Errorf("shape %v cannot be seen as %v", v.Shape, s)
	}
	s[0] = have / rest
	return b.reshape(g, name, v, s)
}

// alias says that an operator only changes the shape and has no kernel.
func alias(o *OpDef) bool {
	switch o.Type {
	case "Reshape", "Squeeze", "SqueezeV2", "SqueezeV3", "Unsqueeze", "UnsqueezeV2", "UnsqueezeV3", "ExpandDims", "Flatten", "FlattenV2", "Identity", "ReFormat", "MemcpyAsync",
		"MemcpyAddrAsync", "PlaceHolder", "End", "Dropout", "ReadVariableOp":
		return true
	}
	return false
}

// alias passes a tensor on under the shape of the operator's output.
func (s *scope) alias(o *OpDef) ([]val, error) {
	a := s.input(o, 0)
	if a.v == nil || len(o.Out) == 0 {
		return nil, fmt.Errorf("it is connected to nothing")
	}
	b := s.b
	if len(o.In) > 0 {
		v, err := b.feed(b.g, o.Name, a, o.In[0])
		if err != nil {
			return nil, err
		}
		a = val{v: v, d: o.In[0], loose: a.loose, aipp: a.aipp}
	}
	v, err := b.feed(b.g, o.Name, a, o.Out[0])
	if err != nil {
		return nil, err
	}
	out := make([]val, len(o.Out))
	out[0] = val{v: v, d: o.Out[0], loose: a.loose, aipp: a.aipp}
	return out, nil
}

// shapeOp computes operators that ask only for a shape.
func (s *scope) shapeOp(o *OpDef) ([]val, bool) {
	a := s.input(o, 0)
	if a.v == nil || len(o.Out) == 0 {
		return nil, false
	}
	dims := a.v.Shape
	if p := permutation(a.d.order(), a.d.originFormat()); p != nil && len(p) == len(dims) {
		list := make([]int64, len(dims))
		for i, n := range dims {
			list[i] = int64(n)
		}
		dims = shapeOf(permute(list, p))
	}
	var list []int64
	shape := tensor.Shape{}
	switch o.Type {
	case "Rank":
		list = []int64{int64(len(dims))}
	case "Size":
		list = []int64{int64(dims.Count())}
	default:
		for _, n := range dims {
			list = append(list, int64(n))
		}
		shape = tensor.Shape{len(list)}
	}
	t, err := tensor.FromInt64s(shape, list)
	if err != nil {
		return nil, false
	}
	if want, ok := o.Out[0].dims(); !ok || !fits(shape, shapeOf(want)) {
		return nil, false // the file says something else about it
	}
	if want := dtypeOf(o.Out[0].DType); want != tensor.Int64 {
		if t, err = t.As(want); err != nil || !want.Int() {
			return nil, false
		}
	}
	out := make([]val, len(o.Out))
	out[0] = val{v: constValue(o.Name, t), d: o.Out[0]}
	return out, true
}
