package graph

import (
	"slices"

	"npu/internal/sim/kernels"
)

// fuseConv gives a convolution the residual that is added to its result, and then the activation: FusedConv has the
// inputs X, W, B?, Z? and computes act(conv(X, W) + B + Z).
func fuseConv(r *rewriter, n *Node) bool {
	if n.Op == "Add" {
		for i, v := range n.In {
			conv, z := r.openConv(v, 3), n.In[1-i]
			if conv == nil || z.DType != n.Out[0].DType || !z.Shape.Equal(n.Out[0].Shape) || !v.Shape.Equal(n.Out[0].Shape) {
				continue
			}
			in := append(operands(conv.In, 3), z)
			if r.fuse(n, "FusedConv", in, conv.Attrs, conv) {
				return true
			}
		}
		return false
	}
	act, ok := activation(n)
	if !ok {
		return false
	}
	conv := r.openConv(n.In[0], 4)
	return conv != nil && r.fuse(n, "FusedConv", conv.In, with(conv.Attrs, act), conv)
}

// openConv is the convolution that makes v for one reader, without an activation and with at most max inputs.
func (r *rewriter) openConv(v *Value, inputs int) *Node {
	n := r.maker(v, "Conv", "FusedConv")
	if n == nil || n.Attrs.Str("activation", "") != "" || len(n.In) > inputs {
		return nil
	}
	return n
}

// operands are the first n inputs, nil where there are fewer.
func operands(in []*Value, n int) []*Value {
	out := make([]*Value, n, n+1)
	copy(out, in)
	return out
}

// activation turns a node into the attributes that a fused operator takes for it.
func activation(n *Node) (kernels.Attrs, bool) {
	if len(n.Out) != 1 {
		return nil, false
	}
	a := kernels.Attrs{"activation": n.Op}
	switch n.Op {
	case "Relu", "Sigmoid", "Tanh", "HardSwish", "Silu":
	case "LeakyRelu":
		a["act_alpha"] = n.Attrs.Float("alpha", 0.01)
	case "HardSigmoid":
		a["act_alpha"], a["act_beta"] = n.Attrs.Float("alpha", 0.2), n.Attrs.Float("beta", 0.5)
	case "Clip":
		lo, hi, ok := bounds(n)
		if !ok {
			return nil, false
		}
		a["act_min"], a["act_max"] = lo, hi
	default:
		return nil, false
	}
	return a, true
}

// allowWinograd says to the kernel that a convolution of 3×3 windows may be summed in another order, by Winograd's way.
// The kernel decides where that pays.
func allowWinograd(r *rewriter, n *Node) bool {
	if n.Op != "Conv" && n.Op != "FusedConv" || len(n.In) < 2 || floatConst(n.In[1]) == nil || n.Attrs.Int("winograd", 0) != 0 {
		return false
	}
	more := func(v int) bool { return v != 1 }
	if s := n.In[1].Shape; len(s) != 4 || s[2] != 3 || s[3] != 3 || n.Attrs.Int("group", 1) != 1 ||
		slices.ContainsFunc(n.Attrs.Ints("strides"), more) || slices.ContainsFunc(n.Attrs.Ints("dilations"), more) {
		return false
	}
	n.Attrs = with(n.Attrs, kernels.Attrs{"winograd": int64(1)})
	return true
}
