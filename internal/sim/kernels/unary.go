package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// unaryOp describes an element-wise function of one operand of a floating type.
type unaryOp struct {
	ge    string
	instr int // vector instructions an element
	f64   func(float64) float64
	f32   vector                         // nil: f64 element by element
	attrs func(a Attrs) (unaryOp, error) // for functions with parameters; fills f64, f32, ge where it is not empty
	ints  func(t tensor.DType) intFunc   // for operators that take integers too
}

// intFunc is a function over n integer elements at off.
type intFunc func(dst, src []byte, off, n int)

// unaryOps are the element-wise functions of one operand.
func unaryOps() map[string]*Op {
	table := map[string]unaryOp{
		"Abs":        {ge: "Abs", instr: 1, f64: math.Abs, f32: absVector, ints: intUnary("Abs")},
		"Neg":        {ge: "Neg", instr: 1, f64: func(x float64) float64 { return -x }, f32: negVector, ints: intUnary("Neg")},
		"Sign":       {ge: "Sign", instr: 3, f64: sign64, ints: intUnary("Sign")},
		"Sqrt":       {ge: "Sqrt", instr: 2, f64: math.Sqrt, f32: sqrtVec},
		"Reciprocal": {ge: "Reciprocal", instr: 2, f64: func(x float64) float64 { return 1 / x }, f32: reciprocalVector},
		"Exp":        {ge: "Exp", instr: 4, f64: math.Exp, f32: fastExp},
		"Log":        {ge: "Log", instr: 5, f64: math.Log, f32: logVec},
		"Ceil":       {ge: "Ceil", instr: 1, f64: math.Ceil},
		"Floor":      {ge: "Floor", instr: 1, f64: math.Floor},
		"Round":      {ge: "Round", instr: 1, f64: math.RoundToEven},
		"Sin":        {ge: "Sin", instr: 12, f64: math.Sin},
		"Cos":        {ge: "Cos", instr: 12, f64: math.Cos},
		"Tan":        {ge: "Tan", instr: 16, f64: math.Tan},
		"Sinh":       {ge: "Sinh", instr: 8, f64: math.Sinh},
		"Cosh":       {ge: "Cosh", instr: 8, f64: math.Cosh},
		"Asin":       {ge: "Asin", instr: 16, f64: math.Asin},
		"Acos":       {ge: "Acos", instr: 16, f64: math.Acos},
		"Atan":       {ge: "Atan", instr: 16, f64: math.Atan},
		"Asinh":      {ge: "Asinh", instr: 10, f64: math.Asinh},
		"Acosh":      {ge: "Acosh", instr: 10, f64: math.Acosh},
		"Atanh":      {ge: "Atanh", instr: 10, f64: math.Atanh},
		"Erf":        {ge: "Erf", instr: 14, f64: math.Erf, f32: erfVec},
		"Relu":       {ge: "Relu", instr: 1, f64: func(x float64) float64 { return max(x, 0) }, f32: reluVector, ints: intUnary("Relu")},
		"Sigmoid":    {ge: "Sigmoid", instr: 7, f64: sigmoid64, f32: sigmoidVec},
		"Tanh":       {ge: "Tanh", instr: 8, f64: math.Tanh, f32: tanhVec},
		"Softplus":   {ge: "Softplus", instr: 10, f64: softplus64},
		"Softsign":   {ge: "Softsign", instr: 4, f64: func(x float64) float64 { return x / (1 + math.Abs(x)) }, f32: softsignVector},
		"Mish":       {ge: "Mish", instr: 18, f64: mish64},
		"HardSwish": {ge: "HardSwish", instr: 4, f32: hardSwishVector,
			f64: func(x float64) float64 { return x * max(0, min(1, x/6+0.5)) }},
		"Silu":            {ge: "Swish", instr: 8, attrs: swishAttrs},
		"Swish":           {ge: "Swish", instr: 8, attrs: swishAttrs},
		"Gelu":            {ge: "Gelu", instr: 18, attrs: geluAttrs},
		"LeakyRelu":       {ge: "LeakyRelu", instr: 2, attrs: leakyAttrs},
		"Elu":             {ge: "Elu", instr: 6, attrs: eluAttrs},
		"Selu":            {ge: "Selu", instr: 7, attrs: seluAttrs},
		"Celu":            {ge: "Celu", instr: 7, attrs: celuAttrs},
		"ThresholdedRelu": {ge: "Threshold", instr: 2, attrs: thresholdAttrs},
		"HardSigmoid":     {ge: "HardSigmoid", instr: 4, attrs: hardSigmoidAttrs},
		"Shrink":          {ge: "Shrink", instr: 4, attrs: shrinkAttrs, ints: noInts},
	}
	ops := map[string]*Op{}
	for n, o := range table {
		ops[n] = define(o.infer, o.build)
	}
	return ops
}

func (o unaryOp) infer(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	types := floating
	if o.ints != nil {
		types = numeric
	}
	if err := wantType(s.In[0].DType, types); err != nil {
		return err
	}
	if o.attrs != nil {
		if _, err := o.attrs(s.Attrs); err != nil {
			return err
		}
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: s.In[0].Shape})
}

func (o unaryOp) build(s *Spec) (*Kernel, error) {
	if o.attrs != nil {
		p, err := o.attrs(s.Attrs)
		if err != nil {
			return nil, err
		}
		o.f64, o.f32 = p.f64, p.f32
		if p.ge != "" {
			o.ge = p.ge
		}
	}
	t, n := s.In[0].DType, s.Out[0].Shape.Count()
	var run func(x *Exec) error
	if integral(t) {
		f := o.ints(t)
		if f == nil {
			f = intThrough(t, o.f64)
		}
		run = parallel(n, 1, func(x *Exec, lo, hi int) { f(x.Out[0], x.In[0], lo, hi-lo) })
	} else {
		if o.f32 == nil {
			o.f32 = each(o.f64)
		}
		run = floatMap(t, n, o.instr, o.f32, o.f64)
	}
	return s.kernel(o.ge, cost.AIV, o.instr, []int{0}, run), nil
}

// floatMap applies a function to n elements of a floating type.
func floatMap(t tensor.DType, n, instr int, f32 vector, f64 func(float64) float64) func(x *Exec) error {
	weight := max(1, instr/2)
	switch t {
	case tensor.Float32:
		return parallel(n, weight, func(x *Exec, lo, hi int) {
			f32(tensor.View[float32](x.Out[0])[lo:hi], tensor.View[float32](x.In[0])[lo:hi])
		})
	case tensor.Float64:
		return parallel(n, weight, func(x *Exec, lo, hi int) {
			d := tensor.View[float64](x.Out[0])[lo:hi]
			for i, v := range tensor.View[float64](x.In[0])[lo:hi] {
				d[i] = f64(v)
			}
		})
	}
	pool := newScratch[[blockLen]float32]()
	return parallel(n, weight, func(x *Exec, lo, hi int) {
		b := pool.get()
		for at := lo; at < hi; at += blockLen {
			v := b[:min(blockLen, hi-at)]
			loadF32(v, t, x.In[0], at)
			f32(v, v)
			storeF32(t, x.Out[0], at, v, false)
		}
		pool.put(b)
	})
}

// noInts sends integers through float64.
func noInts(tensor.DType) intFunc { return nil }

func intThrough(t tensor.DType, f func(float64) float64) intFunc {
	return func(dst, src []byte, off, n int) {
		var v [1]float64
		for i := off; i < off+n; i++ {
			v[0] = f(element(t, src, i))
			storeFloat(t, dst, i, v[:], false)
		}
	}
}

// intUnary are the integer forms of Abs, Neg, Sign and Relu.
func intUnary(op string) func(tensor.DType) intFunc {
	return func(t tensor.DType) intFunc {
		switch t {
		case tensor.Int8:
			return intLoop[int8](op)
		case tensor.Int16:
			return intLoop[int16](op)
		case tensor.Int32:
			return intLoop[int32](op)
		case tensor.Int64:
			return intLoop[int64](op)
		case tensor.Uint8:
			return intLoop[uint8](op)
		case tensor.Uint16:
			return intLoop[uint16](op)
		case tensor.Uint32:
			return intLoop[uint32](op)
		}
		return intLoop[uint64](op)
	}
}

func intLoop[T integer](op string) intFunc {
	f := func(x T) T { // Abs; that of the least number is itself
		if x < 0 {
			return -x
		}
		return x
	}
	switch op {
	case "Neg":
		f = func(x T) T { return -x }
	case "Sign":
		f = func(x T) T {
			switch {
			case x > 0:
				return 1
			case x < 0:
				x = 0
				return x - 1
			}
			return 0
		}
	case "Relu":
		f = func(x T) T { return max(x, 0) }
	}
	return func(dst, src []byte, off, n int) {
		d := tensor.View[T](dst)[off : off+n]
		for i, v := range tensor.View[T](src)[off : off+n] {
			d[i] = f(v)
		}
	}
}

func swishAttrs(a Attrs) (unaryOp, error) {
	k := a.Float("alpha", 1)
	return unaryOp{f32: swishVector(k), f64: func(x float64) float64 { return x * sigmoid64(float64(k)*x) }}, nil
}

func geluAttrs(a Attrs) (unaryOp, error) {
	switch m := a.Str("approximate", "none"); m {
	case "none":
		return unaryOp{f32: geluVec, f64: gelu64}, nil
	case "tanh":
		return unaryOp{ge: "GeluV2", f32: geluTanhVector, f64: geluTanh64}, nil
	default:
		return unaryOp{}, fmt.Errorf("approximate %q, must be none or tanh", m)
	}
}

func leakyAttrs(a Attrs) (unaryOp, error) {
	k := a.Float("alpha", 0.01)
	return unaryOp{f32: leakyVector(k), f64: func(x float64) float64 {
		if x < 0 {
			return x * float64(k)
		}
		return x
	}}, nil
}

func eluAttrs(a Attrs) (unaryOp, error) {
	k := a.Float("alpha", 1)
	return unaryOp{f32: eluVector(k, 1, 1), f64: elu64(float64(k), 1, 1)}, nil
}

func seluAttrs(a Attrs) (unaryOp, error) {
	k, g := a.Float("alpha", 1.67326319217681884765625), a.Float("gamma", 1.05070102214813232421875)
	return unaryOp{f32: eluVector(k, g, 1), f64: elu64(float64(k), float64(g), 1)}, nil
}

func celuAttrs(a Attrs) (unaryOp, error) {
	k := a.Float("alpha", 1)
	if k == 0 {
		return unaryOp{}, fmt.Errorf("alpha is 0")
	}
	return unaryOp{f32: eluVector(k, 1, 1/k), f64: elu64(float64(k), 1, 1/float64(k))}, nil
}

func thresholdAttrs(a Attrs) (unaryOp, error) {
	k := float64(a.Float("alpha", 1))
	f := func(x float64) float64 {
		if x > k {
			return x
		}
		return 0
	}
	return unaryOp{f32: each(f), f64: f}, nil
}

func hardSigmoidAttrs(a Attrs) (unaryOp, error) {
	k, b := a.Float("alpha", 0.2), a.Float("beta", 0.5)
	return unaryOp{f32: hardSigmoidVector(k, b), f64: func(x float64) float64 {
		return max(0, min(1, float64(k)*x+float64(b)))
	}}, nil
}

func shrinkAttrs(a Attrs) (unaryOp, error) {
	lambd, bias := float64(a.Float("lambd", 0.5)), float64(a.Float("bias", 0))
	f := func(x float64) float64 {
		switch {
		case x < -lambd:
			return x + bias
		case x > lambd:
			return x - bias
		}
		return 0
	}
	return unaryOp{f32: each(f), f64: f}, nil
}
