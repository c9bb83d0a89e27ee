package graph

import (
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// simplify replaces arithmetic by cheaper arithmetic: x^2 by x·x, x^½ by a square root, a division by one number by a
// product, two products with one number by one.
func simplify(r *rewriter, n *Node) bool {
	if n.Out[0].DType != tensor.Float32 {
		return false
	}
	switch n.Op {
	case "Pow":
		k, ok := scalar(n.In[1])
		if !ok || !n.In[0].Shape.Equal(n.Out[0].Shape) {
			return false
		}
		switch k {
		case 2:
			return r.fuse(n, "Mul", []*Value{n.In[0], n.In[0]}, kernels.Attrs{})
		case 0.5:
			return r.fuse(n, "Sqrt", []*Value{n.In[0]}, kernels.Attrs{})
		}
	case "Div":
		if k, ok := scalar(n.In[1]); ok && k != 0 {
			return r.fuse(n, "Mul", []*Value{n.In[0], one(n.In[1], 1/k)}, kernels.Attrs{})
		}
	case "Mul":
		isScalar := func(v *Value) bool { _, ok := scalar(v); return ok }
		k, x := either(n, isScalar)
		if k == nil || !x.Shape.Equal(n.Out[0].Shape) {
			return false
		}
		first := r.maker(x, "Mul")
		if first == nil {
			return false
		}
		l, y := either(first, isScalar)
		if l == nil || !y.Shape.Equal(n.Out[0].Shape) {
			return false
		}
		a, _ := scalar(k)
		b, _ := scalar(l)
		return r.fuse(n, "Mul", []*Value{y, one(k, a*b)}, kernels.Attrs{}, first)
	}
	return false
}

// one is a constant of v's shape with the only element x.
func one(v *Value, x float32) *Value {
	return constant(v.Name, &tensor.Tensor{DType: tensor.Float32, Shape: v.Shape, Data: tensor.Bytes([]float32{x})})
}
