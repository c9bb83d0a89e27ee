package graph

import (
	"slices"

	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// Constants are folded up to foldBytes a result, and up to foldGrowth times the inputs beyond smallFold: a Tile or
// ConstantOfShape of a large shape costs less when it runs than when it is kept. What becomes the weight of a matrix
// product or a convolution is kept all the same, up to weightBytes a graph: left to run, it would be made and laid out
// anew in every execution.
const (
	foldBytes   = 64 << 20
	smallFold   = 64 << 10
	foldGrowth  = 2
	weightBytes = 1 << 30
)

// weightOf is which operand of an operator is its weight.
var weightOf = map[string]int{"Conv": 1, "ConvTranspose": 1, "Gemm": 1, "MatMul": 1}

// weight folds the nodes that make the weight of n out of constants.
func (w *inferrer) weight(n *Node, g *Graph) {
	i, ok := weightOf[n.Op]
	if !ok || i >= len(n.In) || n.In[i] == nil || n.In[i].Const != nil {
		return
	}
	const deepest = 8 // producers in a row; generated weights have one or two
	w.makeConst(n.In[i], g, deepest)
}

// makeConst folds the producer of v after its inputs were, and takes it from the list.
func (w *inferrer) makeConst(v *Value, g *Graph, depth int) bool {
	n := v.Producer
	if v.Const != nil || n == nil || depth == 0 {
		return v.Const != nil
	}
	at := slices.Index(g.Nodes, n)
	if at < 0 || n.hasBodies() || len(n.In) == 0 {
		return false
	}
	for _, in := range n.In {
		if in != nil && !w.makeConst(in, g, depth-1) {
			return false
		}
	}
	in, out := operandBytes(n.In), operandBytes(n.Out)
	if out < 0 || w.weights+out > weightBytes || !foldNow(n, g) {
		return false
	}
	w.weights += max(0, out-in)
	at = slices.Index(g.Nodes, n) // those before it may have gone
	g.Nodes = slices.Delete(g.Nodes, at, at+1)
	return true
}

// operandBytes is what values take together; -1 where that is not known.
func operandBytes(list []*Value) int {
	sum := 0
	for _, v := range list {
		if v == nil {
			continue
		}
		b, err := v.Shape.Bytes(v.DType)
		if err != nil || !v.Known || v.DType == tensor.String {
			return -1
		}
		sum += b
	}
	return sum
}

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
	for _, v := range n.In {
		if v != nil && v.Const == nil {
			return false
		}
	}
	in, out := operandBytes(n.In), operandBytes(n.Out)
	if out < 0 {
		return false
	}
	if op, ok := kernels.Lookup(n.Op); ok && op.View {
		out = 0
	}
	if out > foldBytes || out > max(smallFold, foldGrowth*in) {
		return false
	}
	return foldNow(n, g)
}

// foldNow evaluates a node of constants, whatever its size; false where that fails.
func foldNow(n *Node, g *Graph) bool {
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
