package graph

import (
	"math"

	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// foldBatchNorm folds a BatchNormalization into the convolution before it: scaled filters and a new bias. One that
// stands alone stays; its kernel is a scale and a shift.
func foldBatchNorm(r *rewriter, n *Node) bool {
	if n.Op != "BatchNormalization" || len(n.In) != 5 || n.Attrs.Int("training_mode", 0) != 0 {
		return false
	}
	for _, v := range n.Out[1:] {
		if v != nil && r.uses[v] > 0 {
			return false
		}
	}
	conv := r.plainConv(n.In[0])
	if conv == nil {
		return false
	}
	scale, shift, mean, variance := floatConst(n.In[1]), floatConst(n.In[2]), floatConst(n.In[3]), floatConst(n.In[4])
	c := conv.Out[0].Shape[1]
	if len(scale) != c || len(shift) != c || len(mean) != c || len(variance) != c {
		return false
	}
	eps := n.Attrs.Float("epsilon", 1e-5)
	mul, add := make([]float32, c), make([]float32, c)
	for i := range mul {
		k := float64(scale[i]) / math.Sqrt(float64(variance[i])+float64(eps))
		mul[i] = float32(k)
		add[i] = float32(float64(shift[i]) - k*float64(mean[i]))
	}
	return r.scaleConv(n, conv, mul, add)
}

// foldScale folds Mul, Div, Add and Sub by one constant a channel, or one for all, into the convolution before.
func foldScale(r *rewriter, n *Node) bool {
	switch n.Op {
	case "Mul", "Div", "Add", "Sub":
	default:
		return false
	}
	x, k := n.In[0], n.In[1]
	if floatConst(k) == nil && (n.Op == "Mul" || n.Op == "Add") {
		x, k = k, x
	}
	conv := r.plainConv(x)
	if conv == nil || floatConst(k) == nil || !x.Shape.Equal(n.Out[0].Shape) {
		return false
	}
	v, ok := perChannel(k, x.Shape)
	if !ok {
		return false
	}
	mul, add := make([]float32, len(v)), make([]float32, len(v))
	for i, f := range v {
		mul[i] = 1
		switch n.Op {
		case "Mul":
			mul[i] = f
		case "Div":
			mul[i] = 1 / f
		case "Add":
			add[i] = f
		case "Sub":
			add[i] = -f
		}
	}
	return r.scaleConv(n, conv, mul, add)
}

// perChannel spreads a constant that broadcasts along the channels (dimension 1) of a shape to one number a channel.
func perChannel(k *Value, shape tensor.Shape) ([]float32, bool) {
	f := floatConst(k)
	c := shape[1]
	lead := len(shape) - len(k.Shape)
	if lead < 0 {
		return nil, false
	}
	for i, d := range k.Shape {
		if d != 1 && lead+i != 1 {
			return nil, false
		}
	}
	switch len(f) {
	case c:
		return f, true
	case 1:
		out := make([]float32, c)
		for i := range out {
			out[i] = f[0]
		}
		return out, true
	}
	return nil, false
}

// plainConv is the convolution that makes v for one reader, with constant float32 filters and no activation yet.
func (r *rewriter) plainConv(v *Value) *Node {
	n := r.maker(v, "Conv", "ConvTranspose", "FusedConv")
	if n == nil || len(n.In) < 2 || len(n.In) > 3 || n.Attrs.Str("activation", "") != "" || len(v.Shape) < 3 || len(n.Out) != 1 {
		return nil
	}
	if floatConst(n.In[1]) == nil || n.In[1].DType != tensor.Float32 || v.DType != tensor.Float32 || n.In[1].Format != tensor.ND {
		return nil
	}
	if len(n.In) == 3 && n.In[2] != nil && floatConst(n.In[2]) == nil {
		return nil
	}
	return n
}

// scaleConv replaces last, which computes conv·mul+add by channel, by the convolution with scaled filters and bias.
func (r *rewriter) scaleConv(last, conv *Node, mul, add []float32) bool {
	c := len(mul)
	filter := conv.In[1]
	identity := true
	for _, k := range mul {
		identity = identity && k == 1
	}
	if !identity {
		filter = r.mutable(filter)
	}
	bias := make([]float32, c)
	if len(conv.In) == 3 && conv.In[2] != nil {
		copy(bias, floatConst(conv.In[2]))
	}
	for i := range bias {
		bias[i] = bias[i]*mul[i] + add[i]
	}
	in := []*Value{conv.In[0], filter, floats(conv.Name+"/bias", bias)}
	if !r.fuse(last, conv.Op, in, conv.Attrs, conv) {
		return false
	}
	if !identity {
		scaleFilter(conv, filter, mul)
	}
	return true
}

// scaleFilter multiplies the filters of each output channel: the first dimension of a Conv's (M, C/group, ...); the
// second of a ConvTranspose's (C, M/group, ...), whose first goes over the groups.
func scaleFilter(conv *Node, filter *Value, mul []float32) {
	w := floatConst(filter)
	shape := filter.Shape
	if conv.Op != "ConvTranspose" {
		per := len(w) / max(1, shape[0])
		for o, k := range mul {
			row := w[o*per : (o+1)*per]
			for i := range row {
				row[i] *= k
			}
		}
		return
	}
	group := max(1, conv.Attrs.Int("group", 1))
	per := len(w) / max(1, shape[0]*shape[1])
	for c := range shape[0] {
		g := c / max(1, shape[0]/group)
		for m := range shape[1] {
			k := mul[g*shape[1]+m]
			row := w[(c*shape[1]+m)*per : (c*shape[1]+m+1)*per]
			for i := range row {
				row[i] *= k
			}
		}
	}
}

// fuseLayerNorm finds (x-mean)/sqrt(var+eps)·gamma+beta over the last dimension.
func fuseLayerNorm(r *rewriter, n *Node) bool {
	if n.Op != "Add" {
		return false
	}
	isConst := func(v *Value) bool { return floatConst(v) != nil }
	beta, scaled := either(n, isConst)
	mul := r.maker(scaled, "Mul")
	if beta == nil || mul == nil {
		return false
	}
	gamma, normed := either(mul, isConst)
	div := r.maker(normed, "Div")
	if gamma == nil || div == nil {
		return false
	}
	root := r.maker(div.In[1], "Sqrt")
	x, mean, sub := centred(div.In[0])
	if root == nil || x == nil {
		return false
	}
	plus := r.maker(root.In[0], "Add")
	if plus == nil {
		return false
	}
	epsilon, variance := either(plus, func(v *Value) bool { _, ok := scalar(v); return ok })
	moment := r.maker(variance, "ReduceMean")
	if epsilon == nil || moment == nil || !lastMean(moment) {
		return false
	}
	square := r.maker(moment.In[0], "Pow", "Mul")
	if square == nil {
		return false
	}
	if two, ok := scalar(square.In[1]); square.Op == "Pow" && !(ok && two == 2) || square.Op == "Mul" && square.In[1] != square.In[0] {
		return false
	}
	if y, _, _ := centred(square.In[0]); y != x {
		return false
	}
	c := x.Shape[len(x.Shape)-1]
	eps, _ := scalar(epsilon)
	g, b := flat(gamma, c), flat(beta, c)
	if g == nil || b == nil {
		return false
	}
	attrs := kernels.Attrs{"axis": int64(-1), "epsilon": eps}
	return r.fuse(n, "LayerNormalization", []*Value{x, g, b}, attrs, mean, sub, square, moment, plus, root, div, mul)
}

// centred is the x of v = x - mean(x) over the last dimension, with the two nodes.
func centred(v *Value) (x *Value, mean, sub *Node) {
	if sub = v.madeBy("Sub"); sub == nil {
		return nil, nil, nil
	}
	mean = sub.In[1].madeBy("ReduceMean")
	if mean == nil || !lastMean(mean) || mean.In[0] != sub.In[0] {
		return nil, nil, nil
	}
	return sub.In[0], mean, sub
}

// lastMean says that a ReduceMean is over the last dimension, which stays with size 1.
func lastMean(n *Node) bool {
	if n.Attrs.Int("keepdims", 1) != 1 {
		return false
	}
	axes := n.Attrs.Ints("axes")
	if axes == nil && len(n.In) > 1 && n.In[1] != nil {
		axes, _ = n.In[1].Desc().ConstInts()
	}
	rank := len(n.In[0].Shape)
	return rank > 0 && len(axes) == 1 && (axes[0] == -1 || axes[0] == rank-1)
}

// flat is a constant vector of n elements that broadcasts along the last dimension, as a tensor of rank 1; nil if it
// is something else.
func flat(v *Value, n int) *Value {
	if len(floatConst(v)) != n || len(v.Shape) == 0 || v.Shape[len(v.Shape)-1] != n {
		return nil
	}
	if len(v.Shape) == 1 {
		return v
	}
	t := *v.Const
	t.Shape = tensor.Shape{n}
	return constant(v.Name, &t)
}
