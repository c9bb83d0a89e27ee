package kernels

import (
	"fmt"
	"math"
)

// This file holds the transcendental functions of the vector unit in float32, and the activation that a fused
// operator applies to its result. The polynomials are minimax fits; each function is within about 2e-7 relative of
// the exact value (sigmoid: absolute) and has no data-dependent branch, so that a vector form computes the same steps.

// fastExp computes dst[i] = exp(src[i]); dst may be src.
func fastExp(dst, src []float32) { expShifted(dst, src, 0) }

// expf is exp(x): x = n·ln2 + r, a polynomial in r, and 2^n in two factors so that results near the ends of the
// range (denormal, overflow) come out right.
func expf(x float32) float32 {
	const (
		magic = 3 << 22 // adding it rounds to an integer in the low bits
		ln2hi = 0.693359375
		ln2lo = -2.12194440e-4
	)
	x = atMost(89, atLeast(-105, x))
	t := float32(x*math.Log2E) + magic
	n := int32(math.Float32bits(t)) - 0x4b400000
	t -= magic
	r := x - float32(t*ln2hi) - float32(t*ln2lo)
	q := polynomial(r, 1.3814598646784506e-3, 8.368716879735234e-3, 4.166838804531284e-2, 0.16666520631709414, 0.49999993447796487)
	p := float32(q*r*r) + r + 1
	h := n >> 1
	return p * math.Float32frombits(uint32(h+127)<<23) * math.Float32frombits(uint32(n-h+127)<<23)
}

// sigmoidf is 1/(1+exp(-x)) as an odd rational function plus one half, the one that Eigen and ONNX Runtime use (see
// order for why the bits matter). It is within about 1.5e-7 of the exact value, absolute: far below zero, where the
// two parts cancel, it is a small multiple of 2^-25.
func sigmoidf(x float32) float32 {
	x = atMost(18, atLeast(-18, x))
	u := x * x
	p := fma32(u, 4.37031012579801e-11, 1.15627324459942e-07)
	p = fma32(u, p, 6.08574864600143e-05)
	p = fma32(u, p, 8.51377133304701e-03)
	p = fma32(u, p, 2.48287947061529e-01)
	q := fma32(u, 6.10247389755681e-13, 5.76102136993427e-09)
	q = fma32(u, q, 6.29106785017040e-06)
	q = fma32(u, q, 1.70198817374094e-03)
	q = fma32(u, q, 1.16817656904453e-01)
	q = fma32(u, q, 9.93151921023180e-01)
	return atLeast(0, float32(x*p)/q+0.5)
}

// tanhf is tanh(x): an odd polynomial near zero, else 1-2/(exp(2|x|)+1).
func tanhf(x float32) float32 {
	const sign = 1 << 31
	bits := math.Float32bits(x)
	a := math.Float32frombits(bits &^ sign)
	big := 1 - 2/(expf(2*a)+1)
	u := a * a
	t := polynomial(u, -5.895158262305532e-3, 2.0795971811381916e-2, -5.3783830314922905e-2, 0.13331924126973033, -0.33333298002112094)
	small := a + float32(a*u*t)
	return math.Float32frombits(pick(a < 0.6, small, big) | bits&sign)
}

// erff is erf(x): an odd polynomial below 1, else 1-exp of a polynomial.
func erff(x float32) float32 {
	const sign = 1 << 31
	bits := math.Float32bits(x)
	a := math.Float32frombits(bits &^ sign)
	u := a * a
	small := a * polynomial(u, 7.853861087990986e-5, -8.010193533390573e-4, 5.188327673638822e-3, -2.685381192784346e-2,
		0.11283585148404807, -0.37612625824212953, 1.1283791657266713)
	e := polynomial(atMost(4, a), 1.9150392675216534e-4, -2.9995386736285257e-3, 2.205198947369372e-2, -0.10356687574014703,
		-0.6376000570951103, -1.1274260754280574, -2.5644823698498876e-4)
	big := 1 - expf(e)
	return math.Float32frombits(pick(a < 1, small, big) | bits&sign)
}

// logf is log(x): a fraction between √½ and √2 by a polynomial, plus the exponent times log(2) in two parts.
func logf(x float32) float32 {
	const (
		rootHalf = 0x3f3504f3
		least    = 1 << 23 // of normal numbers
	)
	less := float32(0)
	y := x
	if x < math.Float32frombits(least) {
		y, less = x*(1<<23), 23
	}
	bits := math.Float32bits(y)
	n := int32(bits-rootHalf) >> 23
	e := float32(n) - less
	m := math.Float32frombits(bits-uint32(n)<<23) - 1
	p := polynomial(m, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
		2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	u := float32(m * m)
	p = float32(float32(p*m)*u) + float32(e*-2.12194440e-4)
	p -= float32(u * 0.5)
	p = m + p + float32(e*0.693359375)
	switch {
	case x != x || x < 0:
		return float32(math.NaN())
	case x == 0:
		return inf(-1)
	case x > math.MaxFloat32:
		return x
	}
	return p
}

// geluf is x·(1+erf(x/√2))/2.
func geluf(x float32) float32 { return 0.5 * x * (1 + erff(x*(1/math.Sqrt2))) }

// polynomial is c[0]·xⁿ + … + c[n] by Horner's rule, every step rounded twice.
func polynomial(x float32, c ...float32) float32 {
	y := c[0]
	for _, k := range c[1:] {
		y = float32(y*x) + k
	}
	return y
}

// pick selects the bits of a or b without a branch.
func pick(first bool, a, b float32) uint32 {
	x, y := math.Float32bits(a), math.Float32bits(b)
	if first {
		y = x
	}
	return y
}

// actKind names what a fused operator does to its result.
type actKind uint8

const (
	actNone actKind = iota
	actRelu
	actLeakyRelu
	actClip
	actSigmoid
	actHardSigmoid
	actHardSwish
	actSilu
	actTanh
	actGelu
)

// activation is a parsed "activation" attribute with its parameters (act_alpha, act_beta, act_min, act_max).
type activation struct {
	kind actKind
	a, b float32
}

// parseActivation reads the activation of a fused operator. Defaults are those of the ONNX operator of that name.
func parseActivation(at Attrs) (activation, error) {
	switch name := at.Str("activation", ""); name {
	case "":
		return activation{}, nil
	case "Relu":
		return activation{kind: actRelu}, nil
	case "LeakyRelu":
		return activation{actLeakyRelu, at.Float("act_alpha", 0.01), 0}, nil
	case "Clip":
		return activation{actClip, at.Float("act_min", -math.MaxFloat32), at.Float("act_max", math.MaxFloat32)}, nil
	case "Sigmoid":
		return activation{kind: actSigmoid}, nil
	case "HardSigmoid":
		return activation{actHardSigmoid, at.Float("act_alpha", 0.2), at.Float("act_beta", 0.5)}, nil
	case "HardSwish":
		return activation{kind: actHardSwish}, nil
	case "Silu":
		return activation{kind: actSilu}, nil
	case "Tanh":
		return activation{kind: actTanh}, nil
	case "Gelu":
		return activation{kind: actGelu}, nil
	default:
		return activation{}, fmt.Errorf("activation %q: %w", name, ErrUnsupported)
	}
}

// vectorOps is the number of vector instructions an element costs.
func (a activation) vectorOps() int64 {
	return [...]int64{actNone: 0, actRelu: 1, actLeakyRelu: 2, actClip: 2, actSigmoid: 7, actHardSigmoid: 4,
		actHardSwish: 5, actSilu: 8, actTanh: 9, actGelu: 12}[a.kind]
}

// apply computes dst[i] = act(src[i]); dst may be src.
func (a activation) apply(dst, src []float32) {
	if lo, hi, ok := a.clamp(); ok {
		biasClamp(dst, src, negativeZero(), lo, hi)
		return
	}
	switch a.kind {
	case actLeakyRelu:
		leakyRelu(dst, src, a.a)
	case actSigmoid:
		sigmoidVec(dst, src)
	case actHardSigmoid:
		hardSigmoid(dst, src, a.a, a.b)
	case actHardSwish:
		hardSwish(dst, src, 1./6, 0.5)
	case actSilu:
		swish(dst, src, 1)
	case actTanh:
		tanhVec(dst, src)
	case actGelu:
		geluVec(dst, src)
	}
}

// clamp gives the limits of an activation that is nothing but limits, or nothing at all.
func (a activation) clamp() (lo, hi float32, ok bool) {
	lo, hi = inf(-1), inf(1)
	switch a.kind {
	case actNone:
	case actRelu:
		lo = 0
	case actClip:
		lo, hi = a.a, a.b
	default:
		return 0, 0, false
	}
	return lo, hi, true
}

// negativeZero is what can be added to any number and leaves its bits.
func negativeZero() float32 { return float32(math.Copysign(0, -1)) }
