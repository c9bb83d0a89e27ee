package tensor

import "math"

// E4M3ToFloat32 widens float8_e4m3fn: bias 7, no infinity, 0x7f and 0xff are NaN.
func E4M3ToFloat32(b uint8) float32 {
	sign := uint32(b&0x80) << 24
	if b&0x7f == 0x7f {
		return math.Float32frombits(sign | 0x7fc00000)
	}
	f := math.Float32frombits(uint32(b&0x7f)<<20) * 0x1p120
	return math.Float32frombits(math.Float32bits(f) | sign)
}

// Float32ToE4M3 rounds to float8_e4m3fn, ties to even. What rounds beyond 448, infinity included, becomes NaN, or
// ±448 with saturate (the default of ONNX Cast).
func Float32ToE4M3(f float32, saturate bool) uint8 {
	b := math.Float32bits(f)
	sign := uint8(b >> 24 & 0x80)
	b &= 0x7fffffff
	var r uint32
	switch {
	case b > 0x7f800000:
		return sign | 0x7f
	case b >= 0x43f00000: // 480
		r = 0x7f
	case b < 0x3c800000: // 2^-6: subnormal, unit 2^-9
		r = math.Float32bits(math.Float32frombits(b)+0x1p14) - math.Float32bits(0x1p14)
	default:
		r = (b - 0x3c000000 + 0x7ffff + b>>20&1) >> 20
	}
	if r >= 0x7f && saturate {
		r = 0x7e
	}
	return sign | uint8(r)
}

// E5M2ToFloat32 widens float8_e5m2, the upper half of a binary16.
func E5M2ToFloat32(b uint8) float32 { return HalfToFloat32(uint16(b) << 8) }

// Float32ToE5M2 rounds to float8_e5m2, ties to even. What rounds beyond 57344, infinity included, becomes infinity,
// or ±57344 with saturate.
func Float32ToE5M2(f float32, saturate bool) uint8 {
	b := math.Float32bits(f)
	sign := uint8(b >> 24 & 0x80)
	b &= 0x7fffffff
	var r uint32
	switch {
	case b > 0x7f800000:
		return sign | 0x7e | uint8(b>>21&1)
	case b >= 0x47800000: // 65536
		r = 0x7c
	case b < 0x38800000: // 2^-14: subnormal, unit 2^-16
		r = math.Float32bits(math.Float32frombits(b)+0x1p7) - math.Float32bits(0x1p7)
	default:
		r = (b - 0x38000000 + 0xfffff + b>>21&1) >> 21
	}
	if r >= 0x7c && saturate {
		r = 0x7b
	}
	return sign | uint8(r)
}

// E4M3ToFloat32s widens len(dst) elements. Like its siblings it panics when src is shorter, and never allocates.
func E4M3ToFloat32s(dst []float32, src []uint8) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = E4M3ToFloat32(src[i])
	}
}

// Float32ToE4M3s rounds len(dst) elements.
func Float32ToE4M3s(dst []uint8, src []float32, saturate bool) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = Float32ToE4M3(src[i], saturate)
	}
}

// E5M2ToFloat32s widens len(dst) elements.
func E5M2ToFloat32s(dst []float32, src []uint8) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = E5M2ToFloat32(src[i])
	}
}

// Float32ToE5M2s rounds len(dst) elements.
func Float32ToE5M2s(dst []uint8, src []float32, saturate bool) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = Float32ToE5M2(src[i], saturate)
	}
}
