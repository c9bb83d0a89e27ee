package graph

import (
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// fuseMatMul makes FusedMatMul of MatMul and Gemm with what stands around them: it has the inputs A, B, bias?, Z? and
// computes act(alpha·op(A)·op(B) + bias + Z), bias along the last dimension, Z of the result's shape. A MatMul with
// nothing around it stays.
func fuseMatMul(r *rewriter, n *Node) bool {
	switch n.Op {
	case "Gemm":
		return r.gemm(n)
	case "MatMul", "FusedMatMul":
		return r.absorbTranspose(n) || r.absorbFactor(n)
	case "Add":
		return r.matmulAdd(n)
	case "Mul", "Div":
		return r.matmulScale(n)
	}
	act, ok := activation(n)
	if n.Op == "Gelu" && n.Attrs.Str("approximate", "none") == "none" {
		act, ok = kernels.Attrs{"activation": "Gelu"}, true
	}
	if !ok {
		return false
	}
	m := r.openMatMul(n.In[0], 4)
	return m != nil && r.fuse(n, "FusedMatMul", m.In, with(m.Attrs, act), m)
}

// openMatMul is the product that makes v for one reader, without an activation and with at most max inputs.
func (r *rewriter) openMatMul(v *Value, inputs int) *Node {
	n := r.maker(v, "MatMul", "FusedMatMul")
	if n == nil || n.Attrs.Str("activation", "") != "" || len(n.In) > inputs {
		return nil
	}
	return n
}

// gemm rewrites a Gemm whose C is a bias along the columns, a full matrix, or not there.
func (r *rewriter) gemm(n *Node) bool {
	beta := n.Attrs.Float("beta", 1)
	attrs := kernels.Attrs{"transA": int64(n.Attrs.Int("transA", 0)), "transB": int64(n.Attrs.Int("transB", 0)), "alpha": n.Attrs.Float("alpha", 1)}
	in := operands(n.In, 2)
	out := n.Out[0].Shape
	if len(n.In) > 2 && n.In[2] != nil && beta != 0 {
		c := n.In[2]
		switch {
		case beta != 1:
			return false
		case len(c.Shape) == 1 && c.Shape[0] == out[1]:
			in = append(in, c)
		case flat(c, out[1]) != nil && c.Shape.Equal(tensor.Shape{1, out[1]}):
			in = append(in, flat(c, out[1]))
		case c.Shape.Equal(out):
			in = append(in, nil, c)
		default:
			return false
		}
	}
	return r.fuse(n, "FusedMatMul", in, attrs)
}

// matmulAdd takes in an addition: a bias along the last dimension, or a tensor of the result's shape.
func (r *rewriter) matmulAdd(n *Node) bool {
	for i, v := range n.In {
		other := n.In[1-i]
		m := r.openMatMul(v, 3)
		if m == nil || !v.Shape.Equal(n.Out[0].Shape) || len(v.Shape) < 2 || other.DType != v.DType {
			continue
		}
		last := v.Shape[len(v.Shape)-1]
		bias := flat(other, last)
		if len(other.Shape) == 1 && other.Shape[0] == last {
			bias = other
		}
		var in []*Value
		switch {
		case bias != nil && (len(m.In) < 3 || m.In[2] == nil):
			in = append(operands(m.In, 2), bias)
		case other.Shape.Equal(v.Shape):
			in = append(operands(m.In, 3), other)
		default:
			continue
		}
		if r.fuse(n, "FusedMatMul", in, m.Attrs, m) {
			return true
		}
	}
	return false
}

// matmulScale takes in a product with one number, before anything was added.
func (r *rewriter) matmulScale(n *Node) bool {
	v, k := n.In[0], n.In[1]
	if _, ok := scalar(k); !ok && n.Op == "Mul" {
		v, k = k, v
	}
	f, ok := scalar(k)
	m := r.openMatMul(v, 2)
	if !ok || m == nil || v.DType != tensor.Float32 || !v.Shape.Equal(n.Out[0].Shape) {
		return false
	}
	if n.Op == "Div" {
		f = 1 / f
	}
	attrs := with(m.Attrs, kernels.Attrs{"alpha": m.Attrs.Float("alpha", 1) * f})
	return r.fuse(n, "FusedMatMul", operands(m.In, 2), attrs, m)
}

// absorbTranspose reads an operand in its stored order where it is a transpose of the last two dimensions.
func (r *rewriter) absorbTranspose(n *Node) bool {
	for i, flag := range []string{"transA", "transB"} {
		if len(n.In) <= i || n.In[i] == nil {
			continue
		}
		t := r.maker(n.In[i], "Transpose")
		if t == nil || !swapsLast(t.perm()) {
			continue
		}
		in := operands(n.In, len(n.In))
		in[i] = t.In[0]
		attrs := with(n.Attrs, kernels.Attrs{flag: int64(1 - n.Attrs.Int(flag, 0))})
		if r.absorb(n, "FusedMatMul", in, attrs, t) {
			return true
		}
	}
	return false
}

// absorbFactor takes in a product of an operand with one number.
func (r *rewriter) absorbFactor(n *Node) bool {
	for i, v := range n.In[:2] {
		mul := r.maker(v, "Mul")
		if mul == nil || v.DType != tensor.Float32 {
			continue
		}
		k, x := either(mul, func(v *Value) bool { _, ok := scalar(v); return ok })
		if k == nil || !x.Shape.Equal(v.Shape) {
			continue
		}
		f, _ := scalar(k)
		in := operands(n.In, len(n.In))
		in[i] = x
		attrs := with(n.Attrs, kernels.Attrs{"alpha": n.Attrs.Float("alpha", 1) * f})
		if r.absorb(n, "FusedMatMul", in, attrs, mul) {
			return true
		}
	}
	return false
}

func swapsLast(perm []int) bool {
	k := len(perm)
	if k < 2 || perm[k-1] != k-2 || perm[k-2] != k-1 {
		return false
	}
	for i, p := range perm[:k-2] {
		if p != i {
			return false
		}
	}
	return true
}
