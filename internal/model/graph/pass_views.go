package graph

import "npu/internal/sim/kernels"

// mergeViews makes one Reshape of a chain of operators that only change the shape (Reshape, Squeeze, Unsqueeze,
// Flatten, Identity).
func mergeViews(r *rewriter, n *Node) bool {
	if !isView(n) {
		return false
	}
	prev := n.In[0].Producer
	if prev == nil || !isView(prev) {
		return false
	}
	return r.reshape(n, prev.In[0], prev)
}

// isView says that a node's output is its input's memory in the same type.
func isView(n *Node) bool {
	op, ok := kernels.Lookup(n.Op)
	return ok && op.View && len(n.In) > 0 && n.In[0] != nil && len(n.Out) == 1 && n.Out[0] != nil && n.In[0].DType == n.Out[0].DType
}

// reshape turns n into Reshape of x to the shape that its output has.
func (r *rewriter) reshape(n *Node, x *Value, parts ...*Node) bool {
	out := n.Out[0]
	attrs := kernels.Attrs{}
	for _, d := range out.Shape {
		if d == 0 && r.g.Opset >= 14 {
			attrs["allowzero"] = int64(1)
		}
	}
	return r.fuse(n, "Reshape", []*Value{x, ints(out.Name+"/shape", out.Shape)}, attrs, parts...)
}

// mergeTransposes makes one Transpose of two, and a Reshape of one that only moves dimensions of size 1.
func mergeTransposes(r *rewriter, n *Node) bool {
	if n.Op != "Transpose" {
		return false
	}
	x, perm := n.In[0], n.perm()
	if prev := x.madeBy("Transpose"); prev != nil {
		first := prev.perm()
		joined := make([]int64, len(perm))
		for i, p := range perm {
			joined[i] = int64(first[p])
		}
		return r.fuse(n, "Transpose", []*Value{prev.In[0]}, kernels.Attrs{"perm": joined}, prev)
	}
	last := -1
	for _, p := range perm {
		if x.Shape[p] == 1 {
			continue
		}
		if p < last {
			return false
		}
		last = p
	}
	return r.reshape(n, x)
}
