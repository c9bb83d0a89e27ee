package graph

import (
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

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
