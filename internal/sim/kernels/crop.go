package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// cropOps are the rest of the small ones: crop or pad around the centre, determinant, normalisation by a norm.
func cropOps() map[string]*Op {
	return map[string]*Op{
		"CenterCropPad":             define(inferCenterCrop, buildCenterCrop),
		"Det":                       define(inferDet, buildDet),
		"LpNormalization":           define(inferLpNorm, buildLpNorm),
		"MeanVarianceNormalization": define(inferLpNorm, buildMVN),
	}
}

func inferCenterCrop(s *Spec) error {
	if err := s.operands(2, 2); err != nil {
		return err
	}
	x := s.In[0].Shape
	axes := s.Attrs.Ints("axes")
	if axes == nil {
		axes = all(len(x))
	}
	set, err := axisSet(axes, len(x))
	if err != nil {
		return err
	}
	if n, err := s.In[1].length(); !isIndex(s.In[1].DType) || err != nil || n >= 0 && n != len(axes) {
		return fmt.Errorf("shape is %v %v for %d axes", s.In[1].DType, s.In[1].Shape, len(axes))
	}
	out := x.Clone()
	for i := range out {
		if set[i] {
			out[i] = -1
		}
	}
	if s.In[1].Const != nil {
		want, err := s.values(1)
		if err != nil {
			return err
		}
		for i, a := range axes {
			a, _ := axis(a, len(x)) // axisSet checked it
			if out[a] = want[i]; want[i] < 0 {
				return fmt.Errorf("shape %v", want)
			}
		}
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: out})
}

func buildCenterCrop(s *Spec) (*Kernel, error) {
	size, err := wholeBytes(s.In[0].DType)
	if err != nil {
		return nil, err
	}
	in, out := s.In[0].Shape, s.Out[0].Shape
	rank := len(in)
	if rank == 0 {
		return s.kernel("CenterCropPad", cost.AIV, 1, []int{0}, copyAll(0, size)), nil
	}
	from, to, n := make([]int, rank), make([]int, rank), make([]int, rank) // where the common part begins in both, and its length
	for i := range rank {
		if n[i] = min(in[i], out[i]); in[i] > out[i] {
			from[i] = (in[i] - out[i]) / 2
		} else {
			to[i] = (out[i] - in[i]) / 2
		}
	}
	src, dst := in.Strides(), tensor.Shape(out).Strides()
	rows, width := tensor.Shape(n[:rank-1]).Count(), n[rank-1]*size
	return s.kernel("CenterCropPad", cost.AIV, 1, []int{0}, func(x *Exec) error {
		clear(x.Out[0][:out.Count()*size])
		for r := range rows {
			a, b, rest := from[rank-1], to[rank-1], r
			for d := rank - 2; d >= 0; d-- {
				a += (from[d] + rest%n[d]) * src[d]
				b += (to[d] + rest%n[d]) * dst[d]
				rest /= n[d]
			}
			copy(x.Out[0][b*size:][:width], x.In[0][a*size:])
		}
		return nil
	}), nil
}

func inferDet(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	x := s.In[0].Shape
	if n := len(x); n < 2 || x[n-1] >= 0 && x[n-2] >= 0 && x[n-1] != x[n-2] {
		return fmt.Errorf("input of shape %v, must be square matrices", x)
	}
	if err := wantType(s.In[0].DType, floating); err != nil {
		return err
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: x[:len(x)-2].Clone()})
}

func buildDet(s *Spec) (*Kernel, error) {
	x := s.In[0].Shape
	n, matrices := x[len(x)-1], x[:len(x)-2].Count()
	ops := int64(matrices) * int64(n) * int64(n) * int64(n)
	return s.wide("MatrixDeterminant", cost.AICPU, ops, 0, func(w *wide) error {
		for u := range matrices {
			w.out[0][u] = determinant(w.in[0][u*n*n:][:n*n], n)
		}
		return nil
	})
}

// determinant eliminates with the largest pivot of each column; it destroys m.
func determinant(m []float64, n int) float64 {
	det := 1.0
	for c := range n {
		p := c
		for r := c + 1; r < n; r++ {
			if math.Abs(m[r*n+c]) > math.Abs(m[p*n+c]) {
				p = r
			}
		}
		if m[p*n+c] == 0 {
			return 0
		}
		if p != c {
			det = -det
			for k := range n {
				m[p*n+k], m[c*n+k] = m[c*n+k], m[p*n+k]
			}
		}
		det *= m[c*n+c]
		for r := c + 1; r < n; r++ {
			f := m[r*n+c] / m[c*n+c]
			for k := c; k < n; k++ {
				m[r*n+k] -= f * m[c*n+k]
			}
		}
	}
	return det
}

func inferLpNorm(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	if err := wantType(s.In[0].DType, floating); err != nil {
		return err
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: s.In[0].Shape})
}

func buildLpNorm(s *Spec) (*Kernel, error) {
	x, p := s.In[0].Shape, s.Attrs.Int("p", 2)
	at, err := axis(s.Attrs.Int("axis", -1), len(x))
	if err != nil {
		return nil, err
	}
	if p != 1 && p != 2 {
		return nil, fmt.Errorf("p %d, must be 1 or 2", p)
	}
	n, inner := x[at], x[at+1:].Count()
	return s.wide("LpNormV2", cost.AIV, 6*int64(x.Count()), 0, func(w *wide) error {
		for u := range x[:at].Count() * inner {
			first, norm := u/inner*n*inner+u%inner, 0.0
			for k := range n {
				v := w.in[0][first+k*inner]
				if p == 1 {
					norm += math.Abs(v)
				} else {
					norm += v * v
				}
			}
			if p == 2 {
				norm = math.Sqrt(norm)
			}
			for k := range n {
				if at := first + k*inner; norm != 0 {
					w.out[0][at] = w.in[0][at] / norm
				}
			}
		}
		return nil
	})
}

// buildMVN brings the elements along some axes to mean 0 and variance 1.
func buildMVN(s *Spec) (*Kernel, error) {
	x, axes := s.In[0].Shape, s.Attrs.Ints("axes")
	if axes == nil {
		axes = []int{0, 2, 3}
	}
	set, err := axisSet(axes, len(x))
	if err != nil {
		return nil, err
	}
	kept := x.Clone() // the shape of the statistics
	for i := range kept {
		if set[i] {
			kept[i] = 1
		}
	}
	step, groups := kept.Strides(), kept.Count()
	for i := range step {
		if set[i] {
			step[i] = 0
		}
	}
	group := func(e int) int { // the statistics that element e belongs to
		g := 0
		for d := len(x) - 1; d >= 0; d-- {
			g += e % x[d] * step[d]
			e /= x[d]
		}
		return g
	}
	n := float64(x.Count() / max(1, groups))
	return s.wide("MVNV2", cost.AIV, 8*int64(x.Count()), 2*groups, func(w *wide) error {
		mean, square := w.tmp[:groups], w.tmp[groups:]
		clear(w.tmp)
		for e, v := range w.in[0] {
			mean[group(e)] += v / n
		}
		for e, v := range w.in[0] {
			d := v - mean[group(e)]
			square[group(e)] += d * d / n
		}
		for e, v := range w.in[0] {
			g := group(e)
			w.out[0][e] = (v - mean[g]) / (math.Sqrt(square[g]) + 1e-9)
		}
		return nil
	})
}
