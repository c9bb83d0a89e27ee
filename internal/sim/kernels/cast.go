package kernels

import (
	"fmt"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// castOps convert between element types.
func castOps() map[string]*Op {
	return map[string]*Op{
		"Cast":     define(inferCast, buildCast),
		"CastLike": define(inferCast, buildCast),
		"BitCast":  view(define(inferBitCast, buildCopy("Bitcast"))),
	}
}

// castTarget is the type that a Cast, CastLike or BitCast makes.
func castTarget(s *Spec) (tensor.DType, error) {
	if s.Op == "CastLike" {
		return s.Input(1).DType, s.operands(2, 2)
	}
	if err := s.operands(1, 1); err != nil {
		return tensor.Undefined, err
	}
	if name := s.Attrs.Str("to", ""); name != "" { // opset 1 to 5 wrote the name
		return tensor.Undefined, fmt.Errorf("type %q given as text: %w", name, ErrUnsupported)
	}
	return onnxType(s.Attrs.Int("to", 0))
}

func inferCast(s *Spec) error {
	t, err := castTarget(s)
	if err != nil {
		return err
	}
	for _, t := range []tensor.DType{t, s.In[0].DType} {
		if !t.Float() && !t.Int() && t != tensor.Bool {
			return fmt.Errorf("element type %v: %w", t, ErrUnsupported)
		}
	}
	return s.results(Desc{DType: t, Shape: s.In[0].Shape})
}

func inferBitCast(s *Spec) error {
	t, err := castTarget(s)
	if err != nil {
		return err
	}
	if t.Bits() != s.In[0].DType.Bits() {
		return fmt.Errorf("from %v to %v: sizes differ", s.In[0].DType, t)
	}
	return s.results(Desc{DType: t, Shape: s.In[0].Shape})
}

func buildCast(s *Spec) (*Kernel, error) {
	from, to := s.In[0].DType, s.Out[0].DType
	n := s.Out[0].Shape.Count()
	if from == to {
		return s.kernel("Cast", cost.AIV, 1, []int{0}, copyAll(0, s.Out[0].bytes())), nil
	}
	saturate := s.Attrs.Int("saturate", 1) != 0
	if how := s.Attrs.Str("round_mode", "up"); to == tensor.Float8E8M0 && how != "up" {
		mode, ok := map[string]tensor.ScaleRounding{"nearest": tensor.ScaleNearest, "down": tensor.ScaleDown}[how]
		if !ok {
			return nil, fmt.Errorf("round_mode %q, must be up, down or nearest", how)
		}
		return s.kernel("Cast", cost.AIV, 1, []int{0}, castScale(from, n, mode, saturate)), nil
	}
	return s.kernel("Cast", cost.AIV, 1, []int{0}, castLoop(from, to, n, saturate)), nil
}

// castLoop converts n elements in blocks through the wide lane of the source type.
func castLoop(from, to tensor.DType, n int, saturate bool) func(x *Exec) error {
	var one func(dst, src []byte, off, n int)
	switch laneOf(from) {
	case laneF32:
		bufs := newScratch[[blockLen]float32]()
		one = func(dst, src []byte, off, n int) {
			b := bufs.get()
			loadF32(b[:n], from, src, off)
			storeF32(to, dst, off, b[:n], saturate)
			bufs.put(b)
		}
	case laneF64:
		one = func(dst, src []byte, off, n int) {
			storeFloat(to, dst, off, tensor.View[float64](src)[off:off+n], saturate)
		}
	default:
		bufs := newScratch[[blockLen]int64]()
		unsigned := from == tensor.Uint64
		one = func(dst, src []byte, off, n int) {
			b := bufs.get()
			loadI64(b[:n], from, src, off)
			storeI64(to, dst, off, b[:n], unsigned)
			bufs.put(b)
		}
	}
	return parallel((n+blockLen-1)/blockLen, blockLen, func(x *Exec, lo, hi int) {
		for b := lo; b < hi; b++ {
			off := b * blockLen
			one(x.Out[0], x.In[0], off, min(blockLen, n-off))
		}
	})
}

// castScale converts n elements to float8_e8m0 with a rounding of its own.
func castScale(from tensor.DType, n int, mode tensor.ScaleRounding, saturate bool) func(x *Exec) error {
	return parallel(n, 1, func(x *Exec, lo, hi int) {
		var w [1]float64
		for i := lo; i < hi; i++ {
			_ = tensor.DecodeFloats(w[:], from, x.In[0], i) // the range was checked
			x.Out[0][i] = tensor.Float32ToE8M0(float32(w[0]), mode, saturate)
		}
	})
}
