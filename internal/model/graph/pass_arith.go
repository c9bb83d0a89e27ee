package graph

import (
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// simplify replaces arithmetic by cheaper or more common arithmetic: x^2 by x·x, x^½ by a square root, a division by
// one number by a product, a difference with one by a sum, two products with one number by one, and x+x·g with a
// small g (a squeeze-and-excite block with a shortcut) by x·(g+1).
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
	case "Sub":
		if k, ok := scalar(n.In[1]); ok {
			return r.fuse(n, "Add", []*Value{n.In[0], one(n.In[1], -k)}, kernels.Attrs{})
		}
	case "Add":
		return r.shortcut(n)
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

// shortcut turns x+x·g into x·(g+1) where g is much smaller than x.
func (r *rewriter) shortcut(n *Node) bool {
	const smaller = 8
	for i, x := range n.In {
		mul := r.maker(n.In[1-i], "Mul")
		if mul == nil || n.In[0] == n.In[1] {
			continue
		}
		same, g := either(mul, func(v *Value) bool { return v == x })
		if same == nil || g == x || g.Shape.Count()*smaller > x.Shape.Count() || !x.Shape.Equal(n.Out[0].Shape) {
			continue
		}
		// The product's node computes g+1 now; its old result has no other reader.
		t := &Value{Name: mul.Out[0].Name, DType: g.DType, Shape: g.Shape, Known: true, Producer: mul}
		old := mul.Out[0]
		mul.Out = []*Value{t}
		if !r.fuse(mul, "Add", []*Value{g, floats(mul.Name+"/one", []float32{1})}, kernels.Attrs{}) {
			mul.Out = []*Value{old}
			return false
		}
		r.uses[old], r.uses[t] = 0, 0
		return r.absorb(n, "Mul", []*Value{x, t}, kernels.Attrs{})
	}
	return false
}

// one is a constant of v's shape with the only element x.
func one(v *Value, x float32) *Value {
	return constant(v.Name, &tensor.Tensor{DType: tensor.Float32, Shape: v.Shape, Data: tensor.Bytes([]float32{x})})
}
