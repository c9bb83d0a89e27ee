package kernels

import (
	"fmt"
	"math"
	"slices"

	"npu/internal/tensor"
)

func inferLayerNorm(s *Spec) error {
	most := 3
	if s.Op == "RMSNormalization" {
		most = 2
	}
	if err := s.operands(2, most); err != nil {
		return err
	}
	for i, d := range s.In {
		if !d.Absent() && !floating(d.DType) {
			return fmt.Errorf("input %d of type %v: %w", i, d.DType, ErrUnsupported)
		}
	}
	x := s.In[0]
	a, err := axis(s.Attrs.Int("axis", -1), len(x.Shape))
	if err != nil {
		return err
	}
	y := Desc{DType: x.DType, Shape: x.Shape.Clone()}
	if most == 2 {
		return s.results(y)
	}
	stats := append(x.Shape[:a].Clone(), slices.Repeat(tensor.Shape{1}, len(x.Shape)-a)...)
	t := tensor.Float32
	switch n := s.Attrs.Int("stash_type", 1); n {
	case 1:
	case 16:
		t = tensor.BFloat16
	case 11:
		t = tensor.Float64
	default:
		return fmt.Errorf("stash_type %d: %w", n, ErrUnsupported)
	}
	return s.results(y, Desc{DType: t, Shape: stats}, Desc{DType: t, Shape: stats.Clone()})
}

// layerNorm normalises the inner n elements of each of outer rows.
type layerNorm struct {
	outer, n int
	eps      float64
	rms      bool
	types    [3]tensor.DType // x, scale, bias (undefined: none)
	stats    tensor.DType
	steps    [2]int // element step of scale and bias: 0 for a single value
}

func buildLayerNorm(s *Spec) (*Kernel, error) {
	x := s.In[0].Shape
	a, err := axis(s.Attrs.Int("axis", -1), len(x))
	if err != nil {
		return nil, err
	}
	l := &layerNorm{outer: x[:a].Count(), n: x[a:].Count(), eps: float64(s.Attrs.Float("epsilon", 1e-5)), rms: s.Op == "RMSNormalization"}
	if l.n == 0 {
		return nil, fmt.Errorf("input of shape %v has nothing to normalise", x)
	}
	for i := range 3 {
		d := s.Input(i)
		if l.types[i] = d.DType; i == 0 || d.Absent() {
			continue
		}
		p := d.Shape
		for len(p) > len(x)-a && p[0] == 1 {
			p = p[1:]
		}
		switch {
		case p.Count() == 1:
		case p.Count() == l.n && len(p) <= len(x)-a:
			l.steps[i-1] = 1
		default:
			return nil, fmt.Errorf("input %d of shape %v for rows of shape %v: %w", i, d.Shape, x[a:], ErrUnsupported)
		}
	}
	if len(s.Out) > 1 {
		l.stats = s.Out[1].DType
	}
	ge := "LayerNorm"
	if l.rms {
		ge = "RmsNorm"
	}
	k := s.vector(ge, 7*float64(x.Count()))
	part, grain := l.rows, ceilDiv(grainElements/2, l.n)
	return s.guard(k, func(x *Exec) error { x.each(l.outer, grain, part); return nil }), nil
}

func (l *layerNorm) rows(x *Exec, _, lo, hi int) {
	src, dst := newVec(l.types[0], x.In[0]), newVec(l.types[0], x.Out[0])
	scale := newVec(l.types[1], x.In[1])
	var bias vec
	if l.types[2] != tensor.Undefined {
		bias = newVec(l.types[2], x.In[2])
	}
	plain := src.f != nil && scale.f != nil && bias.f != nil && l.steps == [2]int{1, 1} // one pass does it all
	var buf, param [blockLen]float32
	for r := lo; r < hi; r++ {
		mean, variance := 0.0, 0.0
		if l.rms {
			for i := 0; i < l.n; i += blockLen {
				variance += float64(squares(src.run(buf[:], r*l.n+i, min(blockLen, l.n-i)), 0))
			}
			variance /= float64(l.n)
		} else {
			mean, variance = moments(src, r*l.n, l.n, buf[:])
		}
		inv := 1 / math.Sqrt(variance+l.eps)
		if plain {
			normVec(dst.f[r*l.n:][:l.n], src.f[r*l.n:], scale.f, bias.f, float32(mean), float32(inv))
		}
		for i := 0; i < l.n && !plain; i += blockLen {
			v := buf[:min(blockLen, l.n-i)]
			src.load(v, r*l.n+i, 1)
			p := param[:len(v)]
			scale.load(p, i*l.steps[0], l.steps[0])
			m, f := float32(mean), float32(inv)
			biasClamp(v, v, -m, inf(-1), inf(1))
			scaleShift(v, v, f, negativeZero())
			mulVec(v, v, p)
			if l.types[2] != tensor.Undefined {
				bias.load(p, i*l.steps[1], l.steps[1])
				addVec(v, v, p)
			}
			dst.store(r*l.n+i, 1, v)
		}
		if x.wanted(1) {
			newVec(l.stats, x.Out[1]).store(r, 1, []float32{float32(mean)})
		}
		if x.wanted(2) {
			newVec(l.stats, x.Out[2]).store(r, 1, []float32{float32(inv)})
		}
	}
}
