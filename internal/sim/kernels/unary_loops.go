package kernels

import "math"

// vector is a function over float32 vectors; dst may be src.
type vector func(dst, src []float32)

// each makes a vector function of a float64 function.
func each(f func(float64) float64) vector {
	return func(dst, src []float32) {
		src = src[:len(dst)]
		for i, x := range src {
			dst[i] = float32(f(float64(x)))
		}
	}
}

func absVector(dst, src []float32) {
	src = src[:len(dst)]
	for i, x := range src {
		dst[i] = math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
	}
}

func negVector(dst, src []float32) {
	src = src[:len(dst)]
	for i, x := range src {
		dst[i] = -x
	}
}

func reciprocalVector(dst, src []float32) {
	src = src[:len(dst)]
	for i, x := range src {
		dst[i] = 1 / x
	}
}

func reluVector(dst, src []float32) { activation{kind: actRelu}.apply(dst, src) }

func leakyVector(alpha float32) vector {
	return func(dst, src []float32) { leakyRelu(dst, src, alpha) }
}

func hardSigmoidVector(alpha, beta float32) vector {
	return func(dst, src []float32) { hardSigmoid(dst, src, alpha, beta) }
}

func hardSwishVector(dst, src []float32) { hardSwish(dst, src, 1./6, 0.5) }

// swishVector is x·sigmoid(scale·x).
func swishVector(scale float32) vector {
	return func(dst, src []float32) { swish(dst, src, scale) }
}

func geluTanhVector(dst, src []float32) {
	src = src[:len(dst)]
	for i, x := range src {
		dst[i] = 0.5 * x * (1 + tanhf(0.7978845608028654*(x+0.044715*x*x*x)))
	}
}

func eluVector(alpha, scale, input float32) vector {
	return func(dst, src []float32) {
		src = src[:len(dst)]
		for i, x := range src {
			if x >= 0 {
				dst[i] = scale * x
			} else {
				dst[i] = scale * alpha * float32(math.Expm1(float64(x*input)))
			}
		}
	}
}

func softsignVector(dst, src []float32) {
	src = src[:len(dst)]
	for i, x := range src {
		dst[i] = x / (1 + math.Float32frombits(math.Float32bits(x)&^(1<<31)))
	}
}

// The same functions in float64, for double tensors.

func sign64(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func softplus64(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func sigmoid64(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func mish64(x float64) float64 { return x * math.Tanh(softplus64(x)) }

func gelu64(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }

func geluTanh64(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func elu64(alpha, scale, input float64) func(float64) float64 {
	return func(x float64) float64 {
		if x >= 0 {
			return scale * x
		}
		return scale * alpha * math.Expm1(x*input)
	}
}
