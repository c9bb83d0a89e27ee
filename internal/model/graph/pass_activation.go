package graph

import (
	"math"

	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// fuseHardSwish finds the pieces that exporters write for hard-swish, and for its gate:
//
//	clip(x+3, 0, 6)/6                                     HardSigmoid of alpha 1/6, beta 1/2
//	x·HardSigmoid(x; 1/6, 1/2), (x·clip(x+3, 0, 6))/6     HardSwish
func fuseHardSwish(r *rewriter, n *Node) bool {
	switch n.Op {
	case "Div", "Mul":
	default:
		return false
	}
	if n.Op == "Mul" {
		for i, x := range n.In {
			gate := r.maker(n.In[1-i], "HardSigmoid")
			if gate != nil && gate.In[0] == x && near(gate.Attrs.Float("alpha", 0.2), 1./6) && near(gate.Attrs.Float("beta", 0.5), 0.5) {
				return r.fuse(n, "HardSwish", []*Value{x}, kernels.Attrs{}, gate)
			}
		}
	}
	v := sixth(n)
	if v == nil {
		return false
	}
	if x, parts := r.relu6of3(v); x != nil {
		return r.fuse(n, "HardSigmoid", []*Value{x}, kernels.Attrs{"alpha": float32(1. / 6), "beta": float32(0.5)}, parts...)
	}
	mul := r.maker(v, "Mul")
	if mul == nil {
		return false
	}
	for i, x := range mul.In {
		if y, parts := r.relu6of3(mul.In[1-i]); y != nil && y == x {
			return r.fuse(n, "HardSwish", []*Value{x}, kernels.Attrs{}, append(parts, mul)...)
		}
	}
	return false
}

// sixth is the operand that n divides by six.
func sixth(n *Node) *Value {
	if n.Op == "Div" {
		if k, ok := scalar(n.In[1]); ok && k == 6 && n.In[0].Shape.Equal(n.Out[0].Shape) {
			return n.In[0]
		}
		return nil
	}
	k, v := either(n, func(v *Value) bool { k, ok := scalar(v); return ok && near(k, 1./6) })
	if k == nil || !v.Shape.Equal(n.Out[0].Shape) {
		return nil
	}
	return v
}

// relu6of3 is the x of v = clip(x+3, 0, 6), where nobody else reads the pieces.
func (r *rewriter) relu6of3(v *Value) (x *Value, parts []*Node) {
	clip := r.maker(v, "Clip")
	if clip == nil {
		return nil, nil
	}
	if lo, hi, ok := bounds(clip); !ok || lo != 0 || hi != 6 {
		return nil, nil
	}
	add := r.maker(clip.In[0], "Add")
	if add == nil {
		return nil, nil
	}
	three, x := either(add, func(v *Value) bool { k, ok := scalar(v); return ok && k == 3 })
	if three == nil || !x.Shape.Equal(v.Shape) {
		return nil, nil
	}
	return x, []*Node{add, clip}
}

// bounds are the limits of a Clip where they are constant float32.
func bounds(n *Node) (lo, hi float32, ok bool) {
	lo, hi = n.Attrs.Float("min", -math.MaxFloat32), n.Attrs.Float("max", math.MaxFloat32)
	for i, to := range []*float32{&lo, &hi} {
		if len(n.In) <= i+1 || n.In[i+1] == nil {
			continue
		}
		if *to, ok = scalar(n.In[i+1]); !ok {
			return 0, 0, false
		}
	}
	return lo, hi, n.In[0] != nil && n.In[0].DType == tensor.Float32
}

// fuseSilu finds x·sigmoid(x).
func fuseSilu(r *rewriter, n *Node) bool {
	if n.Op != "Mul" {
		return false
	}
	for i, x := range n.In {
		if gate := r.maker(n.In[1-i], "Sigmoid"); gate != nil && gate.In[0] == x {
			return r.fuse(n, "Silu", []*Value{x}, kernels.Attrs{}, gate)
		}
	}
	return false
}

// fuseGelu finds x·(1+erf(x/√2))/2, whatever the order of the two products.
func fuseGelu(r *rewriter, n *Node) bool {
	if n.Op != "Mul" {
		return false
	}
	parts, factors := []*Node{}, []*Value{}
	var collect func(n *Node, depth int)
	collect = func(n *Node, depth int) {
		for _, v := range n.In {
			if m := r.maker(v, "Mul"); m != nil && depth < 2 {
				parts = append(parts, m)
				collect(m, depth+1)
				continue
			}
			factors = append(factors, v)
		}
	}
	collect(n, 0)
	if len(factors) != 3 {
		return false
	}
	var x *Value
	var inner []*Node
	half := false
	var rest *Value
	for _, v := range factors {
		if k, ok := scalar(v); ok && k == 0.5 && !half {
			half = true
		} else if y, p := r.onePlusErf(v); y != nil && x == nil {
			x, inner = y, p
		} else {
			rest = v
		}
	}
	if !half || x == nil || rest != x {
		return false
	}
	return r.fuse(n, "Gelu", []*Value{x}, kernels.Attrs{"approximate": "none"}, append(inner, parts...)...)
}

// onePlusErf is the x of v = 1+erf(x/√2).
func (r *rewriter) onePlusErf(v *Value) (*Value, []*Node) {
	add := r.maker(v, "Add")
	if add == nil {
		return nil, nil
	}
	one, e := either(add, func(v *Value) bool { k, ok := scalar(v); return ok && k == 1 })
	erf := r.maker(e, "Erf")
	if one == nil || erf == nil {
		return nil, nil
	}
	arg := r.maker(erf.In[0], "Div", "Mul")
	if arg == nil {
		return nil, nil
	}
	if arg.Op == "Div" {
		if k, ok := scalar(arg.In[1]); ok && near(k, math.Sqrt2) {
			return arg.In[0], []*Node{arg, erf, add}
		}
		return nil, nil
	}
	if k, x := either(arg, func(v *Value) bool { k, ok := scalar(v); return ok && near(k, math.Sqrt2/2) }); k != nil {
		return x, []*Node{arg, erf, add}
	}
	return nil, nil
}
