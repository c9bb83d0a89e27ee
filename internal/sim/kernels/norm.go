package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

func normOps() map[string]*Op {
	return map[string]*Op{
		"BatchNormalization":    define(inferNorm, buildBatchNorm),
		"InstanceNormalization": define(inferNorm, buildGroupNorm),
		"GroupNormalization":    define(inferNorm, buildGroupNorm),
		"LRN":                   define(inferNorm, buildLRN),
		"LayerNormalization":    define(inferLayerNorm, buildLayerNorm),
		"RMSNormalization":      define(inferLayerNorm, buildLayerNorm),
	}
}

// inferNorm is the shape rule of normalisations over N×C×…: the result has the input's shape.
func inferNorm(s *Spec) error {
	params := map[string]int{"BatchNormalization": 4, "InstanceNormalization": 2, "GroupNormalization": 2, "LRN": 0}[s.Op]
	if err := s.operands(1+params, 1+params); err != nil {
		return err
	}
	x := s.In[0].Shape
	if len(x) < 2 && !(s.Op == "BatchNormalization" && len(x) == 1) {
		return fmt.Errorf("input of shape %v has no channels", x)
	}
	for i, d := range s.In {
		if !floating(d.DType) {
			return fmt.Errorf("input %d of type %v: %w", i, d.DType, ErrUnsupported)
		}
		if i > 0 && len(d.Shape) != 1 {
			return fmt.Errorf("input %d has shape %v, must be a list", i, d.Shape)
		}
	}
	if s.Op == "BatchNormalization" {
		if s.Attrs.Int("training_mode", 0) != 0 {
			y := Desc{DType: s.In[0].DType, Shape: x.Clone()}
			return s.results(y, Desc{DType: s.In[3].DType, Shape: s.In[3].Shape}, Desc{DType: s.In[4].DType, Shape: s.In[4].Shape})
		}
		if s.Opset < 9 && s.Attrs.Int("spatial", 1) == 0 {
			return fmt.Errorf("spatial 0: %w", ErrUnsupported)
		}
		if len(s.Out) > 1 {
			return fmt.Errorf("statistics as results: %w", ErrUnsupported)
		}
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: x.Clone()})
}

// channelsOf splits N×C×spatial.
func channelsOf(x tensor.Shape) (n, c, area int) {
	if len(x) == 1 {
		return x[0], 1, 1
	}
	return x[0], x[1], x[2:].Count()
}

// lengths checks that parameters from operand 1 on have n elements.
func (s *Spec) lengths(n int) error {
	for i := 1; i < len(s.In); i++ {
		if d := s.In[i]; !d.Absent() && d.Shape.Count() != n {
			return fmt.Errorf("input %d has shape %v, must have %d elements", i, d.Shape, n)
		}
	}
	return nil
}

// buildBatchNorm folds the four parameters into a scale and an offset for each channel at the start of a run.
func buildBatchNorm(s *Spec) (*Kernel, error) {
	n, c, area := channelsOf(s.In[0].Shape)
	if err := s.lengths(c); err != nil {
		return nil, err
	}
	eps := float64(s.Attrs.Float("epsilon", 1e-5))
	if s.Attrs.Int("training_mode", 0) != 0 {
		return buildBatchNormTraining(s, n, c, area, eps)
	}
	types := [5]tensor.DType{}
	for i := range types {
		types[i] = s.In[i].DType
	}
	k := s.vector("BNInferenceD", 2*float64(n)*float64(c)*float64(area))
	k.Workspace = 8 * c
	rows, width := n*c, area
	if area == 1 {
		rows, width = n, c
	}
	part := func(x *Exec, _, lo, hi int) {
		f := tensor.View[float32](x.Workspace)[:2*c]
		src, dst := newVec(types[0], x.In[0]), newVec(types[0], x.Out[0])
		var buf [blockLen]float32
		for r := lo; r < hi; r++ {
			if area > 1 && src.f != nil && dst.f != nil {
				scaleShift(dst.f[r*width:][:width], src.f[r*width:][:width], f[r%c], f[c+r%c])
				continue
			}
			for i := 0; i < width; i += blockLen {
				v := buf[:min(blockLen, width-i)]
				src.load(v, r*width+i, 1)
				if area == 1 {
					scale, offset := f[i:][:len(v)], f[c+i:][:len(v)]
					for j := range v {
						v[j] = float32(v[j]*scale[j]) + offset[j]
					}
				} else {
					scale, offset := f[r%c], f[c+r%c]
					scaleShift(v, v, scale, offset)
				}
				dst.store(r*width+i, 1, v)
			}
		}
	}
	grain := ceilDiv(grainElements, max(1, width))
	return s.guard(k, func(x *Exec) error {
		f := tensor.View[float32](x.Workspace)[:2*c]
		scale, bias, mean, variance := newVec(types[1], x.In[1]), newVec(types[2], x.In[2]), newVec(types[3], x.In[3]), newVec(types[4], x.In[4])
		for i := range c {
			a := float64(scale.at(i)) / math.Sqrt(float64(variance.at(i))+eps)
			f[i], f[c+i] = float32(a), float32(float64(bias.at(i))-float64(mean.at(i))*a)
		}
		x.each(rows, grain, part)
		return nil
	}), nil
}

// buildBatchNormTraining normalises with the statistics of the batch itself and moves the running ones towards them.
func buildBatchNormTraining(s *Spec, n, c, area int, eps float64) (*Kernel, error) {
	keep := float64(s.Attrs.Float("momentum", 0.9))
	total := float64(n * area)
	return s.wide("BatchNorm", cost.AIV, 8*int64(n)*int64(c)*int64(area), 0, func(w *wide) error {
		for ch := range c {
			mean, square := 0.0, 0.0
			each := func(f func(i int)) {
				for u := range n * area {
					f((u/area*c+ch)*area + u%area)
				}
			}
			each(func(i int) { mean += w.in[0][i] / total })
			each(func(i int) { d := w.in[0][i] - mean; square += d * d / total })
			scale := w.in[1][ch] / math.Sqrt(square+eps)
			each(func(i int) { w.out[0][i] = (w.in[0][i]-mean)*scale + w.in[2][ch] })
			if w.out[1] != nil {
				w.out[1][ch] = w.in[3][ch]*keep + mean*(1-keep)
			}
			if w.out[2] != nil {
				w.out[2][ch] = w.in[4][ch]*keep + square*(1-keep)
			}
		}
		return nil
	})
}

// buildGroupNorm normalises groups of adjacent channels; an instance is a group of one channel.
func buildGroupNorm(s *Spec) (*Kernel, error) {
	n, c, area := channelsOf(s.In[0].Shape)
	groups, ge := c, "InstanceNorm"
	params := c
	if s.Op == "GroupNormalization" {
		groups, ge = s.Attrs.Int("num_groups", 0), "GroupNorm"
		if groups < 1 || c%groups != 0 {
			return nil, fmt.Errorf("num_groups %d does not divide %d channels", groups, c)
		}
		if s.Opset < 21 {
			params = groups
		}
	}
	if err := s.lengths(params); err != nil {
		return nil, err
	}
	if c == 0 {
		return nil, fmt.Errorf("input of shape %v has no channels", s.In[0].Shape)
	}
	eps := float64(s.Attrs.Float("epsilon", 1e-5))
	t, st, bt := s.In[0].DType, s.In[1].DType, s.In[2].DType
	size := c / groups * area // elements of a group
	part := func(x *Exec, _, lo, hi int) {
		src, dst := newVec(t, x.In[0]), newVec(t, x.Out[0])
		scale, bias := newVec(st, x.In[1]), newVec(bt, x.In[2])
		var buf [blockLen]float32
		for r := lo; r < hi; r++ {
			mean, variance := moments(src, r*size, size, buf[:])
			inv := 1 / math.Sqrt(variance+eps)
			for ch := range c / groups {
				p := r%groups*(c/groups) + ch
				if params != c {
					p = r % groups
				}
				a := float64(scale.at(p)) * inv
				affine(dst, src, r*size+ch*area, area, float32(mean), float32(a), bias.at(p), buf[:])
			}
		}
	}
	k := s.vector(ge, 6*float64(n)*float64(c)*float64(area))
	grain := ceilDiv(grainElements/2, max(1, size))
	return s.guard(k, func(x *Exec) error { x.each(n*groups, grain, part); return nil }), nil
}

// moments are the mean and the variance of n adjacent elements, in two passes.
func moments(src vec, off, n int, buf []float32) (mean, variance float64) {
	for i := 0; i < n; i += len(buf) {
		mean += float64(sumOf(src.run(buf, off+i, min(len(buf), n-i))))
	}
	mean /= float64(n)
	m := float32(mean)
	for i := 0; i < n; i += len(buf) {
		variance += float64(squares(src.run(buf, off+i, min(len(buf), n-i)), m))
	}
	return mean, variance / float64(n)
}

// affine stores (v-mean)·scale + bias for n adjacent elements.
func affine(dst, src vec, off, n int, mean, scale, bias float32, buf []float32) {
	for i := 0; i < n; i += len(buf) {
		v := buf[:min(len(buf), n-i)]
		src.load(v, off+i, 1)
		for j := range v {
			v[j] = (v[j]-mean)*scale + bias
		}
		dst.store(off+i, 1, v)
	}
}

// buildLRN divides by a power of the squares of neighbouring channels.
func buildLRN(s *Spec) (*Kernel, error) {
	n, c, area := channelsOf(s.In[0].Shape)
	size := s.Attrs.Int("size", 0)
	if size < 1 || size > maxKernel {
		return nil, fmt.Errorf("size %d: want 1 to %d", size, maxKernel)
	}
	alpha, beta, bias := s.Attrs.Float("alpha", 1e-4)/float32(size), float64(s.Attrs.Float("beta", 0.75)), s.Attrs.Float("bias", 1)
	t := s.In[0].DType
	part := func(x *Exec, _, lo, hi int) {
		src, dst := newVec(t, x.In[0]), newVec(t, x.Out[0])
		var sumBuf, buf [blockLen]float32
		for r := lo; r < hi; r++ {
			ch := r % c
			first, last := max(0, ch-(size-1)/2), min(c-1, ch+size/2)
			for i := 0; i < area; i += blockLen {
				m := min(blockLen, area-i)
				sum := sumBuf[:m]
				clear(sum)
				for q := first; q <= last; q++ {
					for j, v := range src.run(buf[:], (r-ch+q)*area+i, m) {
						sum[j] += v * v
					}
				}
				v := buf[:m]
				src.load(v, r*area+i, 1)
				for j := range v {
					d := float64(bias + alpha*sum[j])
					if beta == 0.75 {
						q := math.Sqrt(d)
						v[j] /= float32(q * math.Sqrt(q))
					} else {
						v[j] /= float32(math.Pow(d, beta))
					}
				}
				dst.store(r*area+i, 1, v)
			}
		}
	}
	k := s.vector("LRN", float64(size+8)*float64(n)*float64(c)*float64(area))
	grain := ceilDiv(grainElements/4, max(1, area))
	return s.guard(k, func(x *Exec) error { x.each(n*c, grain, part); return nil }), nil
}
