package graph

import "npu/internal/sim/kernels"

// foldPad gives the zeros that a Pad puts around the image to the convolution after it.
func foldPad(r *rewriter, n *Node) bool {
	if n.Op != "Conv" && n.Op != "FusedConv" || len(n.In[0].Shape) < 3 {
		return false
	}
	if mode := n.Attrs.Str("auto_pad", "NOTSET"); mode != "NOTSET" && mode != "VALID" {
		return false
	}
	pad := r.maker(n.In[0], "Pad")
	if pad == nil || pad.Attrs.Str("mode", "constant") != "constant" || !padsZero(pad) {
		return false
	}
	around, ok := pad.pads()
	rank := len(n.In[0].Shape)
	if !ok || len(around) != 2*rank {
		return false
	}
	image := rank - 2
	pads := make([]int64, 2*image)
	for i, p := range n.Attrs.Ints("pads") {
		if i < len(pads) {
			pads[i] = int64(p)
		}
	}
	for side := range 2 {
		for d, p := range around[side*rank : (side+1)*rank] {
			if p < 0 || d < 2 && p != 0 {
				return false
			}
			if d >= 2 {
				pads[side*image+d-2] += int64(p)
			}
		}
	}
	in := operands(n.In, len(n.In))
	in[0] = pad.In[0]
	return r.absorb(n, n.Op, in, with(n.Attrs, kernels.Attrs{"pads": pads, "auto_pad": "NOTSET"}), pad)
}

// padsZero says that what a Pad puts around is zero.
func padsZero(pad *Node) bool {
	if len(pad.In) > 2 && pad.In[2] != nil {
		v, ok := scalar(pad.In[2])
		return ok && v == 0
	}
	return pad.Attrs.Float("value", 0) == 0
}

// pads are the constant pads of a Pad over all dimensions, begins before ends.
func (n *Node) pads() ([]int, bool) {
	if len(n.In) > 3 && n.In[3] != nil {
		return nil, false // for some axes only
	}
	if len(n.In) > 1 && n.In[1] != nil {
		list, err := n.In[1].Desc().ConstInts()
		return list, err == nil
	}
	list := n.Attrs.Ints("pads")
	return list, list != nil
}
