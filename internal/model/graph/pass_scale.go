package graph

import (
	"math"

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
