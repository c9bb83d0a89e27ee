package graph

import (
	"maps"
	"slices"

	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// rewriter is the state of one run of one pass: who uses what, and what stands for values that went.
type rewriter struct {
	g       *Graph // the one that is walked now
	opt     Options
	uses    map[*Value]int
	sub     map[*Value]*Value
	buffers map[*byte]int // constants by the start of their memory
	seen    map[string]*Value
	gone    map[*Node]bool // replaced, no longer a user of its inputs
	changes int
}

func newRewriter(g *Graph, opt Options) *rewriter {
	r := &rewriter{g: g, opt: opt, uses: map[*Value]int{}, sub: map[*Value]*Value{}, buffers: map[*byte]int{}, seen: map[string]*Value{}, gone: map[*Node]bool{}}
	r.count(g)
	for v := range r.uses {
		if v.Const != nil && len(v.Const.Data) > 0 {
			r.buffers[&v.Const.Data[0]]++
		}
	}
	return r
}

func (r *rewriter) count(g *Graph) {
	for _, n := range g.Nodes {
		for _, v := range n.In {
			if v != nil {
				r.uses[v]++
			}
		}
		for _, b := range n.bodies() {
			r.count(b)
		}
	}
	for _, v := range g.Outputs {
		r.uses[v]++
	}
}

// walk visits the nodes in order, branches before the node that has them.
func (r *rewriter) walk(g *Graph, visit func(*rewriter, *Node) bool) {
	outer := r.g
	for _, n := range g.Nodes {
		for i, v := range n.In {
			n.In[i] = r.now(v)
		}
		for _, b := range n.bodies() {
			r.walk(b, visit)
		}
		r.g = g
		if n.complete() && visit(r, n) {
			r.changes++
		}
	}
	for i, v := range g.Outputs {
		g.Outputs[i] = r.now(v)
	}
	r.g = outer
}

// complete says that a node has the operands that the passes count on: a first input and output, and both inputs of
// the arithmetic ones.
func (n *Node) complete() bool {
	if len(n.In) == 0 || n.In[0] == nil || len(n.Out) == 0 || n.Out[0] == nil {
		return false
	}
	switch n.Op {
	case "Add", "Sub", "Mul", "Div", "Pow", "MatMul":
		return len(n.In) == 2 && n.In[1] != nil
	}
	return true
}

func (r *rewriter) now(v *Value) *Value {
	for {
		s, ok := r.sub[v]
		if !ok {
			return v
		}
		v = s
	}
}

// forward lets v stand for the only output of n, which then is dead.
func (r *rewriter) forward(n *Node, v *Value) bool {
	out := n.Out[0]
	r.sub[out] = v
	r.uses[v] += r.uses[out]
	r.uses[out] = 0
	r.release(n)
	return true
}

// release takes back the uses of a node that nobody needs any more.
func (r *rewriter) release(n *Node) {
	if r.gone[n] || len(n.Bodies) > 0 {
		return
	}
	for _, v := range n.Out {
		if v != nil && r.uses[v] > 0 {
			return
		}
	}
	r.gone[n] = true
	for _, v := range n.In {
		if v != nil {
			r.uses[v]--
		}
	}
}

// maker is the node that makes v if it is one of the operators and nobody else uses v.
func (r *rewriter) maker(v *Value, ops ...string) *Node {
	if v == nil || r.uses[v] != 1 {
		return nil
	}
	return v.madeBy(ops...)
}

// madeBy is the node that makes v if it is one of the operators.
func (v *Value) madeBy(ops ...string) *Node {
	n := v.Producer
	if n == nil || !n.complete() || n.Out[0] != v || !slices.Contains(ops, n.Op) {
		return nil
	}
	return n
}

// fuse turns n, the last node of a pattern, into another operator that takes the place of parts too, provided that
// package kernels has the operator and its shape rule gives n's output. The first of parts gives the name.
func (r *rewriter) fuse(n *Node, op string, in []*Value, attrs kernels.Attrs, parts ...*Node) bool {
	if _, ok := kernels.Lookup(op); !ok {
		return false
	}
	c := &Node{Op: op, In: in, Out: n.Out[:1], Attrs: attrs}
	s := Spec(r.g, c)
	s.Out = make([]kernels.Desc, 1)
	if err := kernels.Infer(s); err != nil || s.Out[0].DType != n.Out[0].DType || !s.Out[0].Shape.Equal(n.Out[0].Shape) {
		return false
	}
	for _, v := range n.In {
		if v != nil {
			r.uses[v]--
		}
	}
	for _, v := range in {
		if v != nil {
			r.uses[v]++
		}
	}
	var origin []string
	for _, p := range append(parts, n) {
		for _, o := range p.Origin {
			if !slices.Contains(origin, o) {
				origin = append(origin, o)
			}
		}
	}
	for _, p := range slices.Backward(parts) {
		r.release(p)
	}
	if len(parts) > 0 {
		n.Name = parts[0].Name
	}
	n.Op, n.In, n.Attrs, n.Origin = op, in, attrs, origin
	n.Out = n.Out[:1]
	return true
}

// absorb is fuse for a node that keeps its name and takes in parts before it.
func (r *rewriter) absorb(n *Node, op string, in []*Value, attrs kernels.Attrs, parts ...*Node) bool {
	own := &Node{Name: n.Name, Origin: n.Origin}
	return r.fuse(n, op, in, attrs, slices.Insert(slices.Clone(parts), 0, own)...)
}

// mutable is the constant of v with bytes that the caller may change, and the value that holds it: v itself where
// nobody else sees its memory, else a copy.
func (r *rewriter) mutable(v *Value) *Value {
	t := v.Const
	if !r.opt.CopyConstants && r.uses[v] == 1 && (len(t.Data) == 0 || r.buffers[&t.Data[0]] == 1) {
		return v
	}
	c := *t
	c.Data = slices.Clone(t.Data)
	return constant(v.Name, &c)
}

func constant(name string, t *tensor.Tensor) *Value {
	return &Value{Name: name, DType: t.DType, Shape: t.Shape, Known: true, Format: t.Format, Const: t}
}

func floats(name string, v []float32) *Value {
	return constant(name, &tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{len(v)}, Data: tensor.Bytes(v)})
}

func ints(name string, v []int) *Value {
	d := make([]int64, len(v))
	for i, x := range v {
		d[i] = int64(x)
	}
	return constant(name, &tensor.Tensor{DType: tensor.Int64, Shape: tensor.Shape{len(v)}, Data: tensor.Bytes(d)})
}

// floatConst is the value of a float32 constant; nil for everything else.
func floatConst(v *Value) []float32 {
	if v == nil || v.Const == nil || v.DType != tensor.Float32 {
		return nil
	}
	return tensor.View[float32](v.Const.Data)
}

// scalar is the value of a float32 constant of one element.
func scalar(v *Value) (float32, bool) {
	if f := floatConst(v); len(f) == 1 {
		return f[0], true
	}
	return 0, false
}

// either returns the operand of a two-input node that pick accepts, and the other one.
func either(n *Node, pick func(*Value) bool) (this, other *Value) {
	if len(n.In) != 2 || n.In[0] == nil || n.In[1] == nil {
		return nil, nil
	}
	for i, v := range n.In {
		if pick(v) {
			return v, n.In[1-i]
		}
	}
	return nil, nil
}

// near compares with the constants of formulas, which exporters round differently.
func near(a, b float32) bool {
	d := a - b
	return max(d, -d) <= 1e-4*max(b, -b)
}

// with copies attributes and sets some.
func with(a kernels.Attrs, set kernels.Attrs) kernels.Attrs {
	c := kernels.Attrs{}
	maps.Copy(c, a)
	maps.Copy(c, set)
	return c
}
