package tensor

import "math"

// Conversions between float32 and the 16-bit types. Widening is exact and keeps NaN payloads; narrowing rounds to the
// nearest value, ties to even, turns what is too large into infinity and makes NaNs quiet.

// HalfToFloat32 widens an IEEE binary16 pattern.
func HalfToFloat32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	if h&0x7c00 == 0x7c00 {
		return math.Float32frombits(sign | 0x7f800000 | uint32(h&0x3ff)<<13)
	}
	// The pattern read as a float32 is too small by the difference of the biases; the product is exact, and makes
	// subnormals normal.
	f := math.Float32frombits(uint32(h&0x7fff)<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(f) | sign)
}

// Float32ToHalf rounds to IEEE binary16.
func Float32ToHalf(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00 | uint16(b>>13&0x1ff)
	case b >= 0x47800000: // 65536
		return sign | 0x7c00
	case b < 0x38800000: // 2^-14: subnormal, whose unit 2^-24 is the last place of numbers in [0.5, 1)
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000)
	}
	return sign | uint16((b-0x38000000+0xfff+b>>13&1)>>13)
}

// BFloat16ToFloat32 widens a bfloat16 pattern (the upper half of a float32).
func BFloat16ToFloat32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// Float32ToBFloat16 rounds to bfloat16.
func Float32ToBFloat16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// HalfToFloat32s widens len(dst) elements. Like its siblings it panics when src is shorter, and never allocates.
func HalfToFloat32s(dst []float32, src []uint16) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = HalfToFloat32(src[i])
	}
}

// Float32ToHalfs rounds len(dst) elements.
func Float32ToHalfs(dst []uint16, src []float32) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = Float32ToHalf(src[i])
	}
}

// BFloat16ToFloat32s widens len(dst) elements.
func BFloat16ToFloat32s(dst []float32, src []uint16) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = BFloat16ToFloat32(src[i])
	}
}

// Float32ToBFloat16s rounds len(dst) elements.
func Float32ToBFloat16s(dst []uint16, src []float32) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = Float32ToBFloat16(src[i])
	}
}
