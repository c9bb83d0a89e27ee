package om

import (
	"fmt"
	"slices"
	"strings"

	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// kernelOp is the conversion of one operator that runs as a kernel: its arithmetic is built in body. The first error
// sticks, and makes the operator one that is only timed.
type kernelOp struct {
	s    *scope
	b    *builder
	o    *OpDef
	body *graph.Graph
	err  error
	// notes are kept only if the conversion succeeds.
	notes []string
	loose bool // an operand comes from a smaller gear: result shapes may differ from the descriptor
}

// meaning builds the arithmetic of an operator and returns its outputs, each in the order of its descriptor.
type meaning func(x *kernelOp) []*graph.Value

// kernel converts an operator that runs as one kernel.
func (s *scope) kernel(o *OpDef) ([]val, error) {
	if len(o.Out) == 0 {
		return nil, nil // nothing can depend on it
	}
	x := &kernelOp{s: s, b: s.b, o: o, body: &graph.Graph{Name: o.Name, Opset: opset}}
	for i := range o.Inputs {
		x.loose = x.loose || s.input(o, i).loose
	}
	outs := x.convert()
	if x.err == nil {
		x.err = x.check(outs)
	}
	n := &graph.Node{Name: s.b.unique(o.Name), Op: graph.OpGroup, Origin: o.origins(), Attrs: x.attrs()}
	made := make([]val, len(o.Out))
	if x.err != nil {
		s.b.out.Timed = append(s.b.out.Timed, fmt.Sprintf("%s (%s): %v", o.Name, o.Type, x.err))
		return s.timed(n, o)
	}
	for _, t := range x.notes {
		s.b.note("%s (%s): %s", o.Name, o.Type, t)
	}
	x.body.Outputs = outs
	n.Bodies = map[string]*graph.Graph{graph.GroupBody: x.body}
	n.In = operands(x.body)
	for i, v := range outs {
		out := &graph.Value{Name: outName(n.Name, i), DType: v.DType, Shape: v.Shape, Known: true, Producer: n}
		n.Out = append(n.Out, out)
		made[i] = val{v: out, d: o.Out[i], loose: x.loose}
	}
	s.b.g.Nodes = append(s.b.g.Nodes, n)
	return made, nil
}

// origins are the operators of the network that the kernel computes, by name.
func (o *OpDef) origins() []string {
	if names := o.Attrs.Strs("_datadump_original_op_names"); len(names) > 0 {
		return names
	}
	return []string{o.Name}
}

func outName(node string, i int) string {
	if i == 0 {
		return node
	}
	return fmt.Sprintf("%s:%d", node, i)
}

// attrs are what a group says of its kernel.
func (x *kernelOp) attrs() kernels.Attrs {
	a := kernels.Attrs{"type": x.o.Type}
	if n := x.o.Attrs.Int("tvm_blockdim", 0); n > 0 && n < 1<<16 {
		a["blocks"] = n
	}
	lib := x.o.Attrs.Str("_ge_attr_op_kernel_lib_name")
	if x.o.Type == "FrameworkOp" || strings.Contains(strings.ToLower(lib), "aicpu") {
		a["core"] = "AICPU"
		if t := x.o.Attrs.Str("original_type"); t != "" {
			a["type"] = t
		}
	}
	return a
}

// operands are the values of the graph around a body that it uses.
func operands(body *graph.Graph) []*graph.Value {
	inside, seen := map[*graph.Value]bool{}, map[*graph.Value]bool{}
	var list []*graph.Value
	use := func(v *graph.Value) {
		if v != nil && !inside[v] && !seen[v] {
			seen[v] = true
			list = append(list, v)
		}
	}
	for _, n := range body.Nodes {
		for _, v := range n.In {
			use(v)
		}
		for _, v := range n.Out {
			inside[v] = true
		}
	}
	for _, v := range body.Outputs {
		use(v)
	}
	return list
}

// timed makes the operator one of unknown meaning, with the shapes of the file.
func (s *scope) timed(n *graph.Node, o *OpDef) ([]val, error) {
	for i := range o.Inputs {
		if v := s.input(o, i).v; v != nil && !slices.Contains(n.In, v) {
			n.In = append(n.In, v)
		}
	}
	made := make([]val, len(o.Out))
	for i, d := range o.Out {
		t := dtypeOf(d.DType)
		dims, ok := d.dims()
		if !ok {
			dims = d.Shape
		}
		shape := shapeOf(dims)
		for k := range shape {
			shape[k] = max(shape[k], 1)
		}
		if t.Bits() == 0 {
			t = tensor.Uint8
		}
		if b, err := shape.Bytes(t); err != nil || b > maxMemory {
			return nil, fmt.Errorf("output %d of shape %v is more than any device holds", i, shape)
		}
		v := &graph.Value{Name: outName(n.Name, i), DType: t, Shape: shape, Known: true, Producer: n}
		n.Out = append(n.Out, v)
		made[i] = val{v: v, d: d}
	}
	if len(n.Out) > 0 {
		s.b.g.Nodes = append(s.b.g.Nodes, n)
	}
	return made, nil
}

// convert finds the operator's meaning and applies it.
func (x *kernelOp) convert() []*graph.Value {
	if x.o.Type == "FrameworkOp" {
		return x.framework()
	}
	if names, ok := fusedNames(x.o.kernelName()); ok {
		return x.fused(names)
	}
	f := meanings(x.o.Type)
	if f == nil {
		return x.fail("its meaning is not known")
	}
	return f(x)
}

// check holds what was built against the descriptors of the file.
func (x *kernelOp) check(outs []*graph.Value) error {
	if len(outs) == 0 || len(outs) > len(x.o.Out) {
		return fmt.Errorf("%d results for %d outputs", len(outs), len(x.o.Out))
	}
	for i, v := range outs {
		if v == nil {
			return fmt.Errorf("output %d has no value", i)
		}
		d := x.o.Out[i]
		dims, ok := d.dims()
		if t := dtypeOf(d.DType); t != v.DType {
			return fmt.Errorf("output %d comes out as %v, the file says %v", i, v.DType, t)
		}
		if ok && !x.loose && !fits(v.Shape, shapeOf(dims)) {
			return fmt.Errorf("output %d comes out as %v, the file says %v", i, v.Shape, shapeOf(dims))
		}
	}
	for i := range x.s.used[x.o.Name] {
		if i >= len(outs) {
			return fmt.Errorf("output %d is used, its meaning is not known", i)
		}
	}
	return nil
}

func (x *kernelOp) fail(format string, args ...any) []*graph.Value {
	if x.err == nil {
		x.err = fmt.Errorf(format, args...)
	}
	return nil
}

func (x *kernelOp) note(format string, args ...any) {
	x.notes = append(x.notes, fmt.Sprintf(format, args...))
}

// bad is a value that stands in for one that could not be built.
func (x *kernelOp) bad(err error) *graph.Value {
	if x.err == nil {
		x.err = err
	}
	return &graph.Value{Name: "none", DType: tensor.Float32, Known: true}
}

// emit appends an operator to the body.
func (x *kernelOp) emit(op string, attrs kernels.Attrs, in ...*graph.Value) *graph.Value {
	if x.err != nil {
		return x.bad(x.err)
	}
	v, err := x.b.emit(x.body, x.o.Name+"/"+op, op, attrs, in...)
	if err != nil {
		return x.bad(err)
	}
	return v
}

// connected says that input i arrives from somewhere.
func (x *kernelOp) connected(i int) bool {
	a := x.s.input(x.o, i)
	return a.v != nil || a.d != nil
}

// desc is the descriptor of input i: the operator's own, or the producer's; an empty one where there is neither.
func (x *kernelOp) desc(i int) *TensorDesc {
	if i < len(x.o.In) && !x.o.In[i].unused() {
		return x.o.In[i]
	}
	if d := x.s.input(x.o, i).d; d != nil {
		return d
	}
	return &TensorDesc{}
}

// in is input i in the order of its descriptor.
func (x *kernelOp) in(i int) *graph.Value {
	a := x.s.input(x.o, i)
	if a.v == nil {
		return x.bad(fmt.Errorf("input %d has no value", i))
	}
	if x.err != nil {
		return a.v
	}
	v, err := x.b.feed(x.b.g, x.o.Name+"/view", a, x.desc(i))
	if err != nil {
		return x.bad(fmt.Errorf("input %d: %w", i, err))
	}
	return v
}

// as is input i in another order of its dimensions.
func (x *kernelOp) as(i int, order string) *graph.Value {
	v := x.in(i)
	return x.reorder(v, x.desc(i).order(), order)
}

func (x *kernelOp) reorder(v *graph.Value, from, to string) *graph.Value {
	p := permutation(from, to)
	if p == nil || x.err != nil || len(p) != len(v.Shape) {
		return v
	}
	perm := make([]int64, len(p))
	for i, k := range p {
		perm[i] = int64(k)
	}
	if slices.IsSorted(p) {
		return v
	}
	return x.emit("Transpose", kernels.Attrs{"perm": perm}, v)
}

// origin is input i in its logical order, in which attributes count axes.
func (x *kernelOp) origin(i int) *graph.Value {
	return x.as(i, x.desc(i).originFormat())
}

// result brings a value in logical order into that of output i, and to its type and shape.
func (x *kernelOp) result(v *graph.Value, i int) *graph.Value {
	d := x.o.Out[i]
	return x.finish(x.reorder(v, d.originFormat(), d.order()), i)
}

// finish gives a value that is in the order of output i its type and, where only ones are missing, its shape.
func (x *kernelOp) finish(v *graph.Value, i int) *graph.Value {
	d := x.o.Out[i]
	v = x.cast(v, dtypeOf(d.DType))
	dims, ok := d.dims()
	if !ok || x.loose || x.err != nil {
		return v
	}
	if s := shapeOf(dims); s.Static() && !s.Equal(v.Shape) {
		return x.reshape(v, s)
	}
	return v
}

func (x *kernelOp) reshape(v *graph.Value, s tensor.Shape) *graph.Value {
	if x.err != nil {
		return v
	}
	r, err := x.b.reshape(x.body, x.o.Name+"/Reshape", v, s)
	if err != nil {
		return x.bad(err)
	}
	return r
}

// onnxTypes are the numbers of ONNX for element types.
var onnxTypes = map[tensor.DType]int64{
	tensor.Float32: 1, tensor.Uint8: 2, tensor.Int8: 3, tensor.Uint16: 4, tensor.Int16: 5, tensor.Int32: 6, tensor.Int64: 7, tensor.Bool: 9,
	tensor.Float16: 10, tensor.Float64: 11, tensor.Uint32: 12, tensor.Uint64: 13, tensor.BFloat16: 16,
}

func (x *kernelOp) cast(v *graph.Value, t tensor.DType) *graph.Value {
	if v.DType == t || x.err != nil {
		return v
	}
	n, ok := onnxTypes[t]
	if !ok {
		return x.bad(fmt.Errorf("conversion from %v to %v", v.DType, t))
	}
	if v.Const != nil {
		if c, err := v.Const.As(t); err == nil {
			return constValue(v.Name, c)
		}
	}
	return x.emit("Cast", kernels.Attrs{"to": n}, v)
}

// scalar is a constant of one number in the type of another value.
func (x *kernelOp) scalar(f float32, like *graph.Value) *graph.Value {
	t, err := tensor.ScalarFloat32(f).As(like.DType)
	if err != nil {
		return x.bad(err)
	}
	return constValue("scalar", t)
}

// constInts reads a constant list of integers.
func (x *kernelOp) constInts(i int) ([]int64, bool) {
	v := x.s.input(x.o, i).v
	if v == nil || v.Const == nil {
		return nil, false
	}
	list, err := v.Desc().ConstInts()
	if err != nil {
		return nil, false
	}
	out := make([]int64, len(list))
	for k, n := range list {
		out[k] = int64(n)
	}
	return out, true
}

// listOr reads a list that is an attribute in static operators and a constant input in others.
func (x *kernelOp) listOr(attr string, input int) ([]int64, bool) {
	if a := x.o.Attrs.Get(attr); a != nil {
		switch {
		case a.Kind == AttrNone:
			return []int64{}, true
		case a.Kind == AttrInt, a.Kind == AttrList && a.List != nil:
			return x.o.Attrs.Ints(attr), true
		}
	}
	if input < 0 {
		return nil, false
	}
	return x.constInts(input)
}
