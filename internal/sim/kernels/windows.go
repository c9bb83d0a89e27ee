package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// windowOps make the constants of signal processing from a few numbers.
func windowOps() map[string]*Op {
	ops := map[string]*Op{"MelWeightMatrix": define(inferMel, buildMel)}
	// a window is a sum of cosines: c0 - c1·cos(2πk/n) + c2·cos(4πk/n)
	for name, c := range map[string][3]float64{
		"HannWindow": {0.5, 0.5, 0}, "HammingWindow": {25.0 / 46, 21.0 / 46, 0}, "BlackmanWindow": {0.42, 0.5, 0.08},
	} {
		ops[name] = define(inferWindow, buildWindow(c))
	}
	return ops
}

// outType is the type of a result that an attribute names.
func (s *Spec) outType(attr string) (tensor.DType, error) {
	t, err := onnxType(s.Attrs.Int(attr, 1))
	if err == nil {
		err = wantType(t, numeric)
	}
	return t, err
}

func inferWindow(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	if n, err := s.In[0].length(); !isIndex(s.In[0].DType) || err != nil || n >= 0 && n != 1 {
		return fmt.Errorf("size is %v %v, must be one int64 or int32", s.In[0].DType, s.In[0].Shape)
	}
	t, err := s.outType("output_datatype")
	if err != nil {
		return err
	}
	n := -1
	if s.In[0].Const != nil {
		v, err := s.values(0)
		if err != nil {
			return err
		}
		if n = v[0]; n < 0 || n > maxPad {
			return fmt.Errorf("size %d, must be 0 to %d", n, maxPad)
		}
	}
	return s.results(Desc{DType: t, Shape: tensor.Shape{n}})
}

func buildWindow(c [3]float64) builder {
	return func(s *Spec) (*Kernel, error) {
		n := s.Out[0].Shape[0]
		turn := float64(n)
		if s.Attrs.Int("periodic", 1) == 0 {
			turn--
		}
		return s.wide("Window", cost.AIV, 16*int64(n), 0, func(w *wide) error {
			if int(w.in[0][0]) != n {
				return otherCount(int(w.in[0][0]), n)
			}
			for k := range w.out[0] {
				a := 2 * math.Pi * float64(k) / turn
				w.out[0][k] = c[0] - c[1]*math.Cos(a) + c[2]*math.Cos(2*a)
			}
			return nil
		})
	}
}

func inferMel(s *Spec) error {
	if err := s.operands(5, 5); err != nil {
		return err
	}
	out := tensor.Shape{-1, -1}
	for i := range 5 {
		if n, err := s.In[i].length(); err != nil || n >= 0 && n != 1 || i < 3 != isIndex(s.In[i].DType) {
			return fmt.Errorf("input %d is %v %v, must be one number", i, s.In[i].DType, s.In[i].Shape)
		}
		if i > 1 || s.In[i].Const == nil {
			continue
		}
		v, err := s.values(i)
		if err != nil {
			return err
		}
		if v[0] < 0 || v[0] > maxPad {
			return fmt.Errorf("input %d is %d", i, v[0])
		}
		out[1-i] = v[0]
		if i == 1 {
			out[0] = v[0]/2 + 1
		}
	}
	t, err := s.outType("output_datatype")
	if err != nil {
		return err
	}
	return s.results(Desc{DType: t, Shape: out})
}

func buildMel(s *Spec) (*Kernel, error) {
	rows, bins := s.Out[0].Shape[0], s.Out[0].Shape[1]
	return s.wide("MelWeightMatrix", cost.AICPU, int64(rows)*int64(bins), 0, func(w *wide) error {
		length, rate := w.in[1][0], w.in[2][0]
		if int(w.in[0][0]) != bins || int(length)/2+1 != rows || rate <= 0 {
			return fmt.Errorf("%g mel bins of %g points at %g Hz, compiled for %d and %d", w.in[0][0], length, rate, bins, rows)
		}
		mel := func(hz float64) float64 { return 2595 * math.Log10(1+hz/700) }
		lo, hi := mel(w.in[3][0]), mel(w.in[4][0])
		edge := func(i int) int { // the row where triangle i begins
			m := lo + float64(i)*(hi-lo)/float64(bins+2)
			hz := 700 * (math.Pow(10, m/2595) - 1)
			return int(math.Floor((length + 1) * hz / rate))
		}
		for b := range bins {
			first, middle, last := edge(b), edge(b+1), edge(b+2)
			if middle == first && middle >= 0 && middle < rows {
				w.out[0][middle*bins+b] = 1
			}
			for r := max(first, 0); r < min(middle+1, rows) && middle > first; r++ {
				w.out[0][r*bins+b] = float64(r-first) / float64(middle-first)
			}
			for r := max(middle, 0); r < min(last, rows) && last > middle; r++ {
				w.out[0][r*bins+b] = float64(last-r) / float64(last-middle)
			}
		}
		return nil
	})
}
