package kernels

import "math"

// f16Load widens half-precision values; exact.
func f16Load(dst []float32, src []uint16) {
	src = src[:len(dst)]
	for i, h := range src {
		dst[i] = f16to32(h)
	}
}

// f16Store narrows to half precision, to nearest even.
func f16Store(dst []uint16, src []float32) {
	src = src[:len(dst)]
	for i, x := range src {
		dst[i] = f32to16(x)
	}
}

// bf16Load widens bfloat16 values; exact.
func bf16Load(dst []float32, src []uint16) {
	src = src[:len(dst)]
	for i, h := range src {
		dst[i] = math.Float32frombits(uint32(h) << 16)
	}
}

// bf16Store narrows to bfloat16, to nearest even.
func bf16Store(dst []uint16, src []float32) {
	src = src[:len(dst)]
	for i, x := range src {
		u := math.Float32bits(x)
		if x != x {
			dst[i] = uint16(u>>16) | 0x40
			continue
		}
		dst[i] = uint16((u + 0x7fff + u>>16&1) >> 16)
	}
}

// f16to32 shifts the fields into place and lets a multiplication move the exponent, which also takes the denormals.
func f16to32(h uint16) float32 {
	u := math.Float32bits(math.Float32frombits(uint32(h&0x7fff)<<13) * 0x1p112)
	if h&0x7c00 == 0x7c00 {
		u |= 0x7f800000
	}
	return math.Float32frombits(u | uint32(h&0x8000)<<16)
}

func f32to16(x float32) uint16 {
	u := math.Float32bits(x)
	sign := uint16(u >> 16 & 0x8000)
	u &= 0x7fffffff
	switch {
	case u > 0x7f800000:
		return sign | 0x7e00
	case u >= 0x47800000:
		return sign | 0x7c00
	case u < 0x38800000: // denormal: adding 0.5 leaves the rounded fraction in the low bits
		return sign | uint16(math.Float32bits(math.Float32frombits(u)+0.5)-0x3f000000)
	}
	u += 0xfff + u>>13&1
	return sign | uint16((u-0x38000000)>>13)
}

// miniFormat describes a floating-point format below 32 bits: its fraction bits, the exponent of its smallest normal
// number, the code of the largest finite number and that of NaN and of infinity (the NaN code where it has none).
type miniFormat struct {
	frac, minExp int
	top          uint16
	inf, nan     uint16
	sign         uint16
}

func halfFormat() miniFormat   { return miniFormat{10, -14, 0x7bff, 0x7c00, 0x7e00, 0x8000} }
func bfloatFormat() miniFormat { return miniFormat{7, -126, 0x7f7f, 0x7f80, 0x7fc0, 0x8000} }
func e4m3Format() miniFormat   { return miniFormat{3, -6, 0x7e, 0x7f, 0x7f, 0x80} }
func e5m2Format() miniFormat   { return miniFormat{2, -14, 0x7b, 0x7c, 0x7e, 0x80} }

// encode rounds x once, to nearest even. saturate turns what is beyond the largest number, infinity included, into
// the largest number.
func (f miniFormat) encode(x float64, saturate bool) uint16 {
	if x != x {
		return f.nan
	}
	var sign uint16
	if math.Signbit(x) {
		sign, x = f.sign, -x
	}
	over := f.inf
	if saturate {
		over = f.top
	}
	if x > 1e39 {
		return sign | over
	}
	if x == 0 {
		return sign
	}
	e := max(math.Ilogb(x), f.minExp)
	q := math.RoundToEven(math.Ldexp(x, f.frac-e))
	code := int(q) + (e-f.minExp)<<f.frac
	if code > int(f.top) {
		return sign | over
	}
	return sign | uint16(code)
}

// decode is the inverse of encode.
func (f miniFormat) decode(c uint16) float64 {
	s := 1.0
	if c&f.sign != 0 {
		s, c = -1, c&^f.sign
	}
	switch {
	case c > f.top && c == f.inf && f.inf != f.nan:
		return s * math.Inf(1)
	case c > f.top:
		return math.NaN()
	case c>>f.frac == 0:
		return s * math.Ldexp(float64(c), f.minExp-f.frac)
	}
	return s * math.Ldexp(float64(c&(1<<f.frac-1)|1<<f.frac), int(c>>f.frac)-1+f.minExp-f.frac)
}
