package graph

import (
	"slices"

	"npu/internal/tensor"
)

// foldInput folds Mul and Add by one constant a channel, or one for all, before a convolution into its filters and
// bias. A sum before a convolution that pads would reach into the padding; there x·s+b becomes (x+b/s)·s, and the
// factor goes into the filters.
func foldInput(r *rewriter, n *Node) bool {
	if n.Op != "Conv" && n.Op != "FusedConv" || len(n.In) < 2 || floatConst(n.In[1]) == nil || len(n.In[0].Shape) < 3 {
		return false
	}
	if len(n.In) > 2 && n.In[2] != nil && floatConst(n.In[2]) == nil {
		return false
	}
	if mul, x, s := r.byChannel(n.In[0], "Mul"); mul != nil {
		return r.scaleInput(n, x, s, mul)
	}
	add, x, b := r.byChannel(n.In[0], "Add")
	if add == nil {
		return false
	}
	if unpadded(n) {
		return r.shiftInput(n, x, b, add)
	}
	mul, x, s := r.byChannel(x, "Mul")
	if mul == nil {
		return false
	}
	// A factor near zero would drown x in b/s.
	const most = 16
	shift := make([]float32, len(s))
	for i := range s {
		if !(max(b[i], -b[i]) <= most*max(s[i], -s[i])) || s[i] == 0 {
			return false
		}
		shift[i] = b[i] / s[i]
	}
	k := channelConst(mul.Name+"/shift", shift, len(x.Shape))
	return r.fuse(add, "Add", []*Value{x, k}, nil, mul) && r.scaleInput(n, add.Out[0], s)
}

// channelConst is a constant that adds one number a channel to a tensor of the rank; one element if all are the same.
func channelConst(name string, v []float32, rank int) *Value {
	if !slices.ContainsFunc(v, func(x float32) bool { return x != v[0] }) {
		return floats(name, v[:min(1, len(v))])
	}
	shape := make(tensor.Shape, rank-1)
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = len(v)
	return constant(name, &tensor.Tensor{DType: tensor.Float32, Shape: shape, Data: tensor.Bytes(v)})
}

// byChannel is the Mul or Add that makes v for one reader from x and a constant by channel.
func (r *rewriter) byChannel(v *Value, op string) (n *Node, x *Value, k []float32) {
	if n = r.maker(v, op); n == nil {
		return nil, nil, nil
	}
	c, x := either(n, func(v *Value) bool { return floatConst(v) != nil })
	if c == nil || !x.Shape.Equal(v.Shape) || len(v.Shape) < 2 {
		return nil, nil, nil
	}
	k, ok := perChannel(c, v.Shape)
	if !ok {
		return nil, nil, nil
	}
	return n, x, k
}

// unpadded says that a convolution reads nothing but its input.
func unpadded(n *Node) bool {
	switch n.Attrs.Str("auto_pad", "NOTSET") {
	case "NOTSET", "VALID":
	default:
		return false
	}
	return !slices.ContainsFunc(n.Attrs.Ints("pads"), func(p int) bool { return p != 0 })
}

// channels calls f for each filter row that belongs to one output and one input channel.
func channels(conv *Node, filter *Value, f func(out, in int, row []float32)) {
	w, shape := floatConst(filter), filter.Shape
	outs := max(1, shape[0]/max(1, conv.Attrs.Int("group", 1)))
	per := len(w) / max(1, shape[0]*shape[1])
	for o := range shape[0] {
		for i := range shape[1] {
			at := (o*shape[1] + i) * per
			f(o, o/outs*shape[1]+i, w[at:at+per])
		}
	}
}

// scaleInput makes n read x, whose channels n's filters then multiply by s.
func (r *rewriter) scaleInput(n *Node, x *Value, s []float32, parts ...*Node) bool {
	filter := r.mutable(n.In[1])
	in := slices.Clone(n.In)
	in[0], in[1] = x, filter
	if !r.absorb(n, n.Op, in, n.Attrs, parts...) {
		return false
	}
	channels(n, filter, func(_, i int, row []float32) {
		for j := range row {
			row[j] *= s[i]
		}
	})
	return true
}

// shiftInput makes n, which does not pad, read x; its bias adds what the filters made of b.
func (r *rewriter) shiftInput(n *Node, x *Value, b []float32, parts ...*Node) bool {
	sum := make([]float64, n.In[1].Shape[0])
	channels(n, n.In[1], func(o, i int, row []float32) {
		for _, w := range row {
			sum[o] += float64(w) * float64(b[i])
		}
	})
	bias := make([]float32, len(sum))
	if len(n.In) > 2 && n.In[2] != nil {
		copy(bias, floatConst(n.In[2]))
	}
	for o := range bias {
		bias[o] += float32(sum[o])
	}
	in := operands(n.In, max(3, len(n.In)))
	in[0], in[2] = x, floats(n.Name+"/bias", bias)
	return r.absorb(n, n.Op, in, n.Attrs, parts...)
}
