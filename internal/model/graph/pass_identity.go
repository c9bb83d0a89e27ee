package graph

import (
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// dropIdentity removes operators that give back their input: Identity, Dropout at inference, and those whose operands
// make them do nothing (a Cast to the same type, a Pad by zero, a Slice of everything, a sum of one, x+0, x*1).
func dropIdentity(r *rewriter, n *Node) bool {
	if n.hasBodies() {
		return false
	}
	for _, v := range n.Out[1:] {
		if v != nil && r.uses[v] > 0 {
			return false
		}
	}
	out := n.Out[0]
	same := func(v *Value) bool { return v != nil && v.DType == out.DType && v.Shape.Equal(out.Shape) }
	v := n.In[0]
	if !same(v) || !givesBack(n) {
		if v = neutral(n); !same(v) {
			return false
		}
	}
	return r.forward(n, v)
}

// sumOfTwo makes a Sum of two operands the Add that the other passes look for.
func sumOfTwo(r *rewriter, n *Node) bool {
	return n.Op == "Sum" && len(n.In) == 2 && r.fuse(n, "Add", n.In, nil)
}

// givesBack says that the first output is the first input, given that their types and shapes agree.
func givesBack(n *Node) bool {
	if op, ok := kernels.Lookup(n.Op); ok && op.View {
		return true
	}
	switch n.Op {
	case "Dropout":
		return len(n.In) < 3 || n.In[2] == nil || n.In[2].Const != nil && len(n.In[2].Const.Data) == 1 && n.In[2].Const.Data[0] == 0
	case "Cast", "CastLike", "Expand", "Tile":
		return true // of equal types and shapes
	case "Slice":
		return n.steps()
	case "Pad":
		return n.padsNothing()
	case "Transpose":
		for i, p := range n.perm() {
			if p != i {
				return false
			}
		}
		return true
	case "Concat", "Sum", "Max", "Min", "Mean":
		return len(n.In) == 1
	}
	return false
}

// steps says that a Slice goes forward one by one; with an output of the input's shape it then takes everything.
func (n *Node) steps() bool {
	if len(n.In) < 5 || n.In[4] == nil {
		return true
	}
	list, err := n.In[4].Desc().ConstInts()
	if err != nil {
		return false
	}
	for _, s := range list {
		if s != 1 {
			return false
		}
	}
	return true
}

// padsNothing says that every pad is zero: with the input's shape kept, one side could still be cut and the other
// padded.
func (n *Node) padsNothing() bool {
	pads, ok := n.pads()
	if !ok {
		return false
	}
	for _, p := range pads {
		if p != 0 {
			return false
		}
	}
	return true
}

// perm is the permutation of a Transpose; the default reverses.
func (n *Node) perm() []int {
	if p := n.Attrs.Ints("perm"); p != nil {
		return p
	}
	p := make([]int, len(n.In[0].Shape))
	for i := range p {
		p[i] = len(p) - 1 - i
	}
	return p
}

// neutral is the operand that an arithmetic node gives back because the other one is 0 or 1.
func neutral(n *Node) *Value {
	if len(n.In) != 2 || n.In[1] == nil || n.Out[0].DType != tensor.Float32 {
		return nil
	}
	all := func(v *Value, want float32) bool {
		f := floatConst(v)
		if len(f) == 0 || len(f) > 1<<16 {
			return false
		}
		for _, x := range f {
			if x != want {
				return false
			}
		}
		return true
	}
	switch {
	case n.Op == "Add" && all(n.In[1], 0), n.Op == "Sub" && all(n.In[1], 0), n.Op == "Mul" && all(n.In[1], 1), n.Op == "Div" && all(n.In[1], 1):
		return n.In[0]
	case n.Op == "Add" && all(n.In[0], 0), n.Op == "Mul" && all(n.In[0], 1):
		return n.In[1]
	}
	return nil
}
