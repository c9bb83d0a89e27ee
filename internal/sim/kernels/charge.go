package kernels

import (
	"npu/internal/sim/cost"
	"npu/internal/sim/cost/work"
)

// charge makes the work of a kernel that moves data or goes through the vector unit what the class of its type says of
// these operands. It is the rule by which measured kernels are read, so that constants fitted to them hold here. Matrix
// products and what has no class of its own know their work better themselves.
func (k *Kernel) charge(s *Spec) {
	if k.Core == cost.AICPU || k.Work.M > 0 {
		return
	}
	switch cost.LookupOperator(k.Type).Class {
	case cost.Matmul, cost.Convolution, cost.Attention, cost.Communication, cost.Other:
		return
	}
	w, err := work.Of(k.Type, operands(s.In), operands(s.Out))
	if err != nil { // operands without elements: nothing is done
		return
	}
	w.Type, w.VectorOps, w.ScalarOps, w.WeightBytes = k.Work.Type, k.Work.VectorOps, k.Work.ScalarOps, k.Work.WeightBytes
	k.Work = w
}

// operands are those that are there.
func operands(list []Desc) (out []work.Operand) {
	for _, d := range list {
		if !d.Absent() {
			n := d.Shape.Count()
			out = append(out, work.Operand{Shape: d.Shape, DType: d.DType, Format: d.Format.String(), Count: int64(n), Bytes: int64(d.bytes())})
		}
	}
	return out
}
