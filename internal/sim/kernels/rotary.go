package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// rotaryOps are what language models do around attention: turn positions into angles, keep a cache of keys, gate.
func rotaryOps() map[string]*Op {
	return map[string]*Op{
		"RotaryEmbedding": define(inferRotary, buildRotary),
		"TensorScatter":   define(inferTensorScatter, buildTensorScatter),
		"SwiGLU":          define(inferSwiGLU, buildSwiGLU),
	}
}

func inferRotary(s *Spec) error {
	if err := s.operands(3, 4); err != nil {
		return err
	}
	if err := wantType(s.In[0].DType, floating); err != nil {
		return err
	}
	if n := len(s.In[0].Shape); n != 4 && !(n == 3 && s.Attrs.Int("num_heads", 0) > 0) {
		return fmt.Errorf("input of shape %v, must have rank 4, or rank 3 with num_heads", s.In[0].Shape)
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: s.In[0].Shape})
}

// buildRotary turns pairs of values by the angle of their position; what lies behind rotary_embedding_dim stays.
func buildRotary(s *Spec) (*Kernel, error) {
	x := s.In[0].Shape
	batch, heads, steps := x[0], s.Attrs.Int("num_heads", 0), x[1]
	flat := len(x) == 3
	size := 0
	if flat {
		size = x[2] / heads
		if size*heads != x[2] {
			return nil, fmt.Errorf("num_heads %d does not divide %d", heads, x[2])
		}
	} else {
		heads, steps, size = x[1], x[2], x[3]
	}
	turned := s.Attrs.Int("rotary_embedding_dim", 0)
	if turned == 0 {
		turned = size
	}
	if turned < 0 || turned > size || turned%2 != 0 {
		return nil, fmt.Errorf("rotary_embedding_dim %d of %d", turned, size)
	}
	half, interleaved := turned/2, s.Attrs.Int("interleaved", 0) != 0
	rows := batch * steps
	hasPlaces := !s.Input(3).Absent()
	for _, i := range []int{1, 2} {
		c := s.In[i].Shape
		ok := len(c) == 3 && c[0] == batch && c[1] == steps && c[2] == half
		if hasPlaces {
			rows = c[:len(c)-min(1, len(c))].Count()
			ok = len(c) == 2 && c[1] == half && s.In[3].Shape.Count() == batch*steps
		}
		if !ok || !c.Equal(s.In[1].Shape) {
			return nil, fmt.Errorf("cos %v and sin %v for %d values of %d×%d places", s.In[1].Shape, s.In[2].Shape, turned, batch, steps)
		}
	}
	return s.wide("RotaryMul", cost.AIV, 4*int64(x.Count()), 0, func(w *wide) error {
		for u := range batch * steps * heads {
			b, h, t := u/(steps*heads), u/steps%heads, u%steps
			at := u * size
			if flat {
				at = ((b*steps+t)*heads + h) * size
			}
			place := b*steps + t
			if hasPlaces {
				p := w.in[3][place]
				if p < 0 || p >= float64(rows) {
					return fmt.Errorf("position %d is %g, the cache has %d", place, p, rows)
				}
				place = int(p)
			}
			in, out := w.in[0][at:][:size], w.out[0][at:][:size]
			copy(out[turned:], in[turned:])
			for i := range half {
				c, sn := w.in[1][place*half+i], w.in[2][place*half+i]
				j, k := i, half+i
				if interleaved {
					j, k = 2*i, 2*i+1
				}
				out[j], out[k] = c*in[j]-sn*in[k], sn*in[j]+c*in[k]
			}
		}
		return nil
	})
}

func inferTensorScatter(s *Spec) error {
	if err := s.operands(2, 3); err != nil {
		return err
	}
	cache, update := s.In[0], s.In[1]
	if len(cache.Shape) != len(update.Shape) || len(cache.Shape) < 2 || cache.DType != update.DType {
		return fmt.Errorf("cache %v %v with update %v %v", cache.DType, cache.Shape, update.DType, update.Shape)
	}
	at, err := axis(s.Attrs.Int("axis", -2), len(cache.Shape))
	if err != nil {
		return err
	}
	if at == 0 {
		return fmt.Errorf("axis 0 is the batch")
	}
	for i, n := range update.Shape {
		if c := cache.Shape[i]; n >= 0 && c >= 0 && (i != at && n != c || n > c) {
			return fmt.Errorf("update %v for a cache of %v along axis %d", update.Shape, cache.Shape, at)
		}
	}
	if d := s.Input(2); !d.Absent() && (d.DType != tensor.Int64 || len(d.Shape) != 1) {
		return fmt.Errorf("write_indices are %v %v, must be a list of int64", d.DType, d.Shape)
	}
	switch m := s.Attrs.Str("mode", "linear"); m {
	case "linear", "circular":
	default:
		return fmt.Errorf("mode %q, must be linear or circular", m)
	}
	return s.results(Desc{DType: cache.DType, Shape: cache.Shape})
}

func buildTensorScatter(s *Spec) (*Kernel, error) {
	size, err := wholeBytes(s.In[0].DType)
	if err != nil {
		return nil, err
	}
	x, u := s.In[0].Shape, s.In[1].Shape
	at, _ := axis(s.Attrs.Int("axis", -2), len(x)) // inferTensorScatter checked it
	if d := s.Input(2); !d.Absent() && d.Shape[0] != x[0] {
		return nil, fmt.Errorf("%d write_indices for a batch of %d", d.Shape[0], x[0])
	}
	hasPlaces, circular := !s.Input(2).Absent(), s.Attrs.Str("mode", "linear") == "circular"
	outer, row := x[1:at].Count(), x[at+1:].Count()*size
	long, short := x[at], u[at]
	all3 := all(len(s.In))
	k := s.kernel("ScatterUpdate", cost.AIV, 1, all3, func(x *Exec) error {
		copy(x.Out[0], x.In[0])
		for b := range u[0] {
			first := 0
			if hasPlaces {
				first = readIndex(tensor.Int64, x.In[2], b)
			}
			if first < 0 || !circular && first+short > long || circular && first >= max(1, long) {
				return fmt.Errorf("write index %d is %d, for %d places in a cache of %d", b, first, short, long)
			}
			for o := range outer {
				for i := range short {
					to := (first + i) % long
					copy(x.Out[0][((b*outer+o)*long+to)*row:][:row], x.In[1][((b*outer+o)*short+i)*row:])
				}
			}
		}
		return nil
	})
	return k, nil
}

func inferSwiGLU(s *Spec) error {
	if err := s.operands(2, 2); err != nil {
		return err
	}
	if err := s.sameType(0, 1); err != nil {
		return err
	}
	if err := wantType(s.In[0].DType, floating); err != nil {
		return err
	}
	shape, err := broadcast(s.In[0].Shape, s.In[1].Shape)
	if err != nil {
		return err
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: shape})
}

// buildSwiGLU computes a·sigmoid(alpha·a)·b.
func buildSwiGLU(s *Spec) (*Kernel, error) {
	if !s.In[0].Shape.Equal(s.In[1].Shape) {
		return nil, fmt.Errorf("shapes %v and %v differ: %w", s.In[0].Shape, s.In[1].Shape, ErrUnsupported)
	}
	t, alpha := s.In[0].DType, float64(s.Attrs.Float("alpha", 1))
	type buffers struct{ a, b [blockLen]float64 }
	pool := newScratch[buffers]()
	n := s.Out[0].Shape.Count()
	return s.kernel("SwiGlu", cost.AIV, 8, []int{0, 1}, parallel(ceilDiv(n, blockLen), 4*blockLen, func(x *Exec, lo, hi int) {
		f := pool.get()
		for u := lo; u < hi; u++ {
			at := u * blockLen
			a, b := f.a[:min(blockLen, n-at)], f.b[:min(blockLen, n-at)]
			loadF64(a, t, x.In[0], at)
			loadF64(b, t, x.In[1], at)
			for i, v := range a {
				a[i] = v / (1 + math.Exp(-alpha*v)) * b[i]
			}
			storeFloat(t, x.Out[0], at, a, false)
		}
		pool.put(f)
	})), nil
}
