package graph

import (
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// Constants are folded up to foldBytes a result, and up to foldGrowth times the inputs beyond smallFold: a Tile or
// ConstantOfShape of a large shape costs less when it runs than when it is kept.
const (
	foldBytes  = 64 << 20
	smallFold  = 64 << 10
	foldGrowth = 2
)

// staticShape says that a node asks only for the shape of its input.
func staticShape(n *Node) bool {
	return (n.Op == "Shape" || n.Op == "Size") && len(n.In) == 1 && n.In[0] != nil && len(n.Out) == 1
}

// shapeOf turns Shape or Size of a static input into a constant.
func shapeOf(n *Node) bool {
	in, out := n.In[0], n.Out[0]
	if out == nil || !in.Known || !in.Shape.Static() {
		return false
	}
	if n.Op == "Size" {
		c, err := in.Shape.Elements()
		if err != nil {
			return false
		}
		out.become(&tensor.Tensor{DType: tensor.Int64, Data: tensor.Bytes([]int64{int64(c)})})
		return true
	}
	rank := len(in.Shape)
	clamp := func(i int) int {
		if i < 0 {
			i += rank
		}
		return min(max(i, 0), rank)
	}
	lo, hi := clamp(n.Attrs.Int("start", 0)), clamp(n.Attrs.Int("end", rank))
	dims := []int64{}
	for i := lo; i < hi; i++ {
		dims = append(dims, int64(in.Shape[i]))
	}
	out.become(&tensor.Tensor{DType: tensor.Int64, Shape: tensor.Shape{len(dims)}, Data: tensor.Bytes(dims)})
	return true
}

// become makes the value a constant.
func (v *Value) become(t *tensor.Tensor) {
	v.DType, v.Shape, v.Known, v.Format, v.Const, v.Producer = t.DType, t.Shape, true, t.Format, t, nil
}

// fold evaluates a node of constants; false where it stays. Results of operators that only change the shape share
// the memory of their input.
func fold(n *Node, g *Graph) bool {
	if n.hasBodies() || len(n.In) == 0 {
		return false
	}
	in := 0
	for _, v := range n.In {
		if v == nil {
			continue
		}
		if v.Const == nil {
			return false
		}
		in += len(v.Const.Data)
	}
	out := 0
	for _, v := range n.Out {
		if v == nil {
			continue
		}
		b, err := v.Shape.Bytes(v.DType)
		if err != nil || v.DType == tensor.String {
			return false
		}
		out += b
	}
	if op, ok := kernels.Lookup(n.Op); ok && op.View {
		out = 0
	}
	if out > foldBytes || out > max(smallFold, foldGrowth*in) {
		return false
	}
	args := make([]*tensor.Tensor, len(n.In))
	for i, v := range n.In {
		if v != nil {
			args[i] = v.Const
		}
	}
	res, err := run(g, n, args)
	if err != nil {
		return false
	}
	for i, v := range n.Out {
		if v != nil {
			v.become(res[i])
		}
	}
	return true
}
