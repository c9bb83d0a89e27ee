package graph

import (
	"fmt"
	"strings"

	"npu/internal/tensor"
)

// smallConstant is how large constants are compared by value.
const smallConstant = 256

// mergeCommon lets the first of several equal nodes stand for all: the same operator with the same attributes on the
// same operands. Small constants are the same when their values are.
func mergeCommon(r *rewriter, n *Node) bool {
	for i, v := range n.In {
		if v == nil || v.Const == nil || len(v.Const.Data) > smallConstant || v.DType == tensor.String {
			continue
		}
		key := fmt.Sprintf("const %v %v %x", v.DType, v.Shape, v.Const.Data)
		if first := r.seen[key]; first == nil {
			r.seen[key] = v
		} else if first != v {
			n.In[i] = first
			r.uses[first]++
			r.uses[v]--
		}
	}
	if len(n.Out) != 1 || n.Out[0] == nil || n.hasBodies() || n.Op == OpFault || IsCollective(n.Op) || strings.HasPrefix(n.Op, "Random") || n.Op == "Bernoulli" || n.Op == "Multinomial" {
		return false
	}
	// A node of another branch may not run: equal nodes must be in the same graph.
	var key strings.Builder
	fmt.Fprintf(&key, "%p %s%s", r.g, n.Op, attrKey(n))
	for _, v := range n.In {
		fmt.Fprintf(&key, " %p", v)
	}
	first := r.seen[key.String()]
	if first == nil {
		r.seen[key.String()] = n.Out[0]
		return false
	}
	return r.forward(n, first)
}

// attrKey writes attributes so that different ones differ: tensors by their memory.
func attrKey(n *Node) string {
	s := attrText(n.Attrs)
	for _, a := range n.Attrs {
		if t, ok := a.(*tensor.Tensor); ok && len(t.Data) > 0 {
			s += fmt.Sprintf(" %p", &t.Data[0])
		}
	}
	return s
}
