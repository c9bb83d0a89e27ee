package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// clipOps is Clip: bounds are attributes up to opset 10 and operands from 11 on. A bound that is left out does not
// bound; if the lower bound is above the upper one, the upper one wins.
func clipOps() map[string]*Op {
	return map[string]*Op{"Clip": define(inferClip, buildClip)}
}

func inferClip(s *Spec) error {
	if err := s.operands(1, 3); err != nil {
		return err
	}
	t := s.In[0].DType
	if err := wantType(t, numeric); err != nil {
		return err
	}
	for i := 1; i < 3; i++ {
		d := s.Input(i)
		if d.Absent() {
			continue
		}
		if d.DType != t {
			return errWant(fmt.Sprintf("bound %d", i), t.String(), d.DType)
		}
		if n, err := d.length(); err != nil || n >= 0 && n != 1 {
			return fmt.Errorf("bound %d has shape %v, must be a scalar", i, d.Shape)
		}
	}
	return s.results(Desc{DType: t, Shape: s.In[0].Shape})
}

func buildClip(s *Spec) (*Kernel, error) {
	t, n := s.In[0].DType, s.Out[0].Shape.Count()
	lo, hi := float64(s.Attrs.Float("min", float32(math.Inf(-1)))), float64(s.Attrs.Float("max", float32(math.Inf(1))))
	hasLo, hasHi := !s.Input(1).Absent() || s.Attrs.Has("min"), !s.Input(2).Absent() || s.Attrs.Has("max")
	ge, instr := "ClipByValue", 2
	switch {
	case hasLo && !hasHi:
		ge, instr = "Maximum", 1
	case hasHi && !hasLo:
		ge, instr = "Minimum", 1
	}
	var run func(x *Exec, from, to int)
	switch t {
	case tensor.Float32:
		run = clipPlain(s, float32(lo), float32(hi))
	case tensor.Float64:
		run = clipPlain(s, lo, hi)
	case tensor.Float16, tensor.BFloat16:
		run = clipHalf(s, float32(lo), float32(hi))
	case tensor.Int8:
		run = clipPlain[int8](s, math.MinInt8, math.MaxInt8)
	case tensor.Int16:
		run = clipPlain[int16](s, math.MinInt16, math.MaxInt16)
	case tensor.Int32:
		run = clipPlain[int32](s, math.MinInt32, math.MaxInt32)
	case tensor.Int64:
		run = clipPlain[int64](s, math.MinInt64, math.MaxInt64)
	case tensor.Uint8:
		run = clipPlain[uint8](s, 0, math.MaxUint8)
	case tensor.Uint16:
		run = clipPlain[uint16](s, 0, math.MaxUint16)
	case tensor.Uint32:
		run = clipPlain[uint32](s, 0, math.MaxUint32)
	case tensor.Uint64:
		run = clipPlain[uint64](s, 0, math.MaxUint64)
	}
	return s.kernel(ge, cost.AIV, instr, all(len(s.In)), parallel(n, 1, run)), nil
}

func clipPlain[T tensor.Number](s *Spec, least, most T) func(x *Exec, from, to int) {
	hasLo, hasHi := !s.Input(1).Absent(), !s.Input(2).Absent()
	return func(x *Exec, from, to int) {
		lo, hi := least, most
		if hasLo {
			lo = tensor.View[T](x.In[1])[0]
		}
		if hasHi {
			hi = tensor.View[T](x.In[2])[0]
		}
		d := tensor.View[T](x.Out[0])[from:to]
		src := tensor.View[T](x.In[0])[from:to]
		src = src[:len(d)]
		for i, v := range src {
			d[i] = min(max(v, lo), hi)
		}
	}
}

func clipHalf(s *Spec, least, most float32) func(x *Exec, from, to int) {
	t, hasLo, hasHi := s.In[0].DType, !s.Input(1).Absent(), !s.Input(2).Absent()
	pool := newScratch[[blockLen + 2]float32]()
	return func(x *Exec, from, to int) {
		buf := pool.get()
		b, bound := buf[:blockLen], buf[blockLen:]
		bound[0], bound[1] = least, most
		if hasLo {
			loadF32(bound[:1], t, x.In[1], 0)
		}
		if hasHi {
			loadF32(bound[1:], t, x.In[2], 0)
		}
		for at := from; at < to; at += blockLen {
			v := b[:min(blockLen, to-at)]
			loadF32(v, t, x.In[0], at)
			for i, e := range v {
				v[i] = min(max(e, bound[0]), bound[1])
			}
			storeF32(t, x.Out[0], at, v, false)
		}
		pool.put(buf)
	}
}
