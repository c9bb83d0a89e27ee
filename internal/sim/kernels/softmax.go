package kernels

import (
	"math"

	"npu/internal/tensor"
)

func softmaxOps() map[string]*Op {
	return map[string]*Op{
		"Softmax":    define(inferSoftmax, buildSoftmax),
		"LogSoftmax": define(inferSoftmax, buildSoftmax),
		"Hardmax":    define(inferSoftmax, buildSoftmax),
	}
}

// softmax normalises along an axis of n elements that lie inner apart.
type softmax struct {
	outer, n, inner int
	log, hard       bool
	dtype           tensor.DType
}

func inferSoftmax(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	if err := wantType(s.In[0].DType, floating); err != nil {
		return err
	}
	if _, err := softmaxAxis(s); err != nil {
		return err
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: s.In[0].Shape.Clone()})
}

// softmaxAxis is the axis; before opset 13 its default is 1 and everything from it on counts as one axis.
func softmaxAxis(s *Spec) (int, error) {
	rank := len(s.In[0].Shape)
	if s.Opset >= 13 {
		if rank == 0 && s.Attrs.Int("axis", -1) == -1 {
			return 0, nil
		}
		return axis(s.Attrs.Int("axis", -1), rank)
	}
	a := s.Attrs.Int("axis", 1)
	if a == rank {
		return a, nil
	}
	return axis(a, rank)
}

func buildSoftmax(s *Spec) (*Kernel, error) {
	a, err := softmaxAxis(s)
	if err != nil {
		return nil, err
	}
	x := s.In[0].Shape
	f := &softmax{outer: 1, n: 1, inner: 1, log: s.Op == "LogSoftmax", hard: s.Op == "Hardmax", dtype: s.In[0].DType}
	for i, d := range x {
		switch {
		case i < a:
			f.outer *= d
		case i == a || s.Opset < 13:
			f.n *= d
		default:
			f.inner *= d
		}
	}
	if f.n == 0 || f.inner == 0 {
		f.outer = 0
	}
	ge := map[string]string{"Softmax": "SoftmaxV2", "LogSoftmax": "LogSoftmaxV2", "Hardmax": "HardMax"}[s.Op]
	k := s.vector(ge, 8*float64(x.Count()))
	if f.inner == 1 {
		k.Workspace = 4 * f.n * min(maxParts, f.outer)
		part, grain := f.rows, ceilDiv(grainElements/4, max(1, f.n))
		return s.guard(k, func(x *Exec) error { x.each(f.outer, grain, part); return nil }), nil
	}
	tiles := f.outer * ceilDiv(f.inner, softmaxTile)
	part, grain := f.columns, ceilDiv(grainElements/4, max(1, f.n*min(f.inner, softmaxTile)))
	return s.guard(k, func(x *Exec) error { x.each(tiles, grain, part); return nil }), nil
}

// rows normalises adjacent elements.
func (f *softmax) rows(x *Exec, part, lo, hi int) {
	src, dst := newVec(f.dtype, x.In[0]), newVec(f.dtype, x.Out[0])
	row := tensor.View[float32](x.Workspace[4*f.n*part:])[:f.n]
	for r := lo; r < hi; r++ {
		src.load(row, r*f.n, 1)
		if f.hard {
			at := 0
			for i, v := range row {
				if v > row[at] {
					at = i
				}
			}
			clear(row)
			row[at] = 1
			dst.store(r*f.n, 1, row)
			continue
		}
		top := maxOf(row)
		if f.log {
			biasClamp(row, row, -top, inf(-1), inf(1))
			sum := float32(0)
			for _, v := range row {
				sum += expf(v)
			}
			l := float32(math.Log(float64(sum)))
			for i := range row {
				row[i] -= l
			}
		} else {
			expShifted(row, row, top)
			scaleShift(row, row, 1/sumOf(row), negativeZero())
		}
		dst.store(r*f.n, 1, row)
	}
}

// softmaxTile is how many columns are normalised together when the axis is not the last one.
const softmaxTile = 128

// columns normalises tiles of columns.
func (f *softmax) columns(x *Exec, _, lo, hi int) {
	src, dst := newVec(f.dtype, x.In[0]), newVec(f.dtype, x.Out[0])
	var tops, sums, lines [softmaxTile]float32
	var at [softmaxTile]int32
	tiles := ceilDiv(f.inner, softmaxTile)
	for t := lo; t < hi; t++ {
		c := t % tiles * softmaxTile
		n := min(softmaxTile, f.inner-c)
		base := t/tiles*f.n*f.inner + c
		top, sum, line := tops[:n], sums[:n], lines[:n]
		for i := range top {
			top[i], sum[i], at[i] = float32(math.Inf(-1)), 0, 0
		}
		for k := range f.n {
			src.load(line, base+k*f.inner, 1)
			for i, v := range line {
				if v > top[i] {
					at[i] = int32(k)
				}
				top[i] = max(top[i], v)
			}
		}
		if !f.hard {
			for k := range f.n {
				f.shifted(line, src, base+k*f.inner, top)
				fastExp(line, line)
				for i, v := range line {
					sum[i] += v
				}
			}
		}
		for i, v := range sum {
			if f.log {
				top[i] += float32(math.Log(float64(v)))
			} else {
				sum[i] = 1 / v
			}
		}
		for k := range f.n {
			if f.hard {
				for i := range line {
					line[i] = 0
					if at[i] == int32(k) {
						line[i] = 1
					}
				}
			} else {
				f.shifted(line, src, base+k*f.inner, top)
				if !f.log {
					fastExp(line, line)
					for i := range line {
						line[i] *= sum[i]
					}
				}
			}
			dst.store(base+k*f.inner, 1, line)
		}
	}
}

func (f *softmax) shifted(line []float32, src vec, off int, top []float32) {
	src.load(line, off, 1)
	for i := range line {
		line[i] -= top[i]
	}
}
