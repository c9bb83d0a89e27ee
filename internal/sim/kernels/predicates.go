package kernels

import (
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// predicateOps are the functions of one operand over truth values and bits.
func predicateOps() map[string]*Op {
	return map[string]*Op{
		"Not":        define(inferPredicate(isBool, true), buildNot),
		"BitwiseNot": define(inferPredicate(integral, false), buildBitwiseNot),
		"IsNaN":      define(inferPredicate(anyFloat, true), buildClass("IsNan", isNaN)),
		"IsInf":      define(inferPredicate(anyFloat, true), buildClass("IsInf", isInf)),
	}
}

func isBool(t tensor.DType) bool { return t == tensor.Bool }

func anyFloat(t tensor.DType) bool { return t.Float() }

func inferPredicate(types func(tensor.DType) bool, truth bool) rule {
	return func(s *Spec) error {
		if err := s.operands(1, 1); err != nil {
			return err
		}
		t := s.In[0].DType
		if err := wantType(t, types); err != nil {
			return err
		}
		if truth {
			t = tensor.Bool
		}
		return s.results(Desc{DType: t, Shape: s.In[0].Shape})
	}
}

func buildNot(s *Spec) (*Kernel, error) {
	n := s.Out[0].Shape.Count()
	return s.kernel("LogicalNot", cost.AIV, 1, []int{0}, parallel(n, 1, func(x *Exec, lo, hi int) {
		d := x.Out[0][lo:hi]
		for i, v := range x.In[0][lo:hi] {
			d[i] = bit(v == 0)
		}
	})), nil
}

func buildBitwiseNot(s *Spec) (*Kernel, error) {
	n := s.Out[0].bytes()
	return s.kernel("Invert", cost.AIV, 1, []int{0}, parallel(n, 1, func(x *Exec, lo, hi int) {
		d := x.Out[0][lo:hi]
		for i, v := range x.In[0][lo:hi] {
			d[i] = ^v
		}
	})), nil
}

func isNaN(Attrs) func(float64) bool { return math.IsNaN }

func isInf(a Attrs) func(float64) bool {
	neg, pos := a.Int("detect_negative", 1) != 0, a.Int("detect_positive", 1) != 0
	return func(x float64) bool { return pos && math.IsInf(x, 1) || neg && math.IsInf(x, -1) }
}

// buildClass tests each element of a floating type.
func buildClass(ge string, test func(Attrs) func(float64) bool) builder {
	return func(s *Spec) (*Kernel, error) {
		t, n, f := s.In[0].DType, s.Out[0].Shape.Count(), test(s.Attrs)
		pool := newScratch[[blockLen]float64]()
		return s.kernel(ge, cost.AIV, 2, []int{0}, parallel(n, 2, func(x *Exec, lo, hi int) {
			b := pool.get()
			for at := lo; at < hi; at += blockLen {
				v := b[:min(blockLen, hi-at)]
				loadF64(v, t, x.In[0], at)
				for i, e := range v {
					x.Out[0][at+i] = bit(f(e))
				}
			}
			pool.put(b)
		})), nil
	}
}
