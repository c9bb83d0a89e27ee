package tensor

import "math"

// Micro-scaling and FNUZ formats are small enough to be tables: the values of the non-negative codes, in order. A code's
// parity is the parity of its mantissa, so that ties to even are ties to the even code.

// e4m3fnuz has bias 8, e5m2fnuz bias 16; both have one zero, and 0x80 is their NaN. e2m1 has neither NaN nor infinity.
var (
	e4m3fnuz = microTable(128, 3, 8)
	e5m2fnuz = microTable(128, 2, 16)
	e2m1     = microTable(8, 1, 1)
)

// microTable lists the values of n codes with that many bits of mantissa and that exponent bias.
func microTable(n, mantissa, bias int) []float32 {
	t := make([]float32, n)
	for code := range t {
		m, e := code&(1<<mantissa-1), code>>mantissa
		if e == 0 {
			e = 1
		} else {
			m |= 1 << mantissa
		}
		t[code] = float32(math.Ldexp(float64(m), e-bias-mantissa))
	}
	return t
}

// nearest is the code of the value nearest to f, which is not negative; len(t) where f lies half a unit or more above the
// largest.
func nearest(t []float32, f float32) int {
	last := len(t) - 1
	if f >= t[last] {
		if over := float64(f) - float64(t[last]); over > 0 && over >= (float64(t[last])-float64(t[last-1]))/2 {
			return len(t)
		}
		return last
	}
	lo, hi := 0, last // t[lo] <= f < t[hi]
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; t[mid] <= f {
			lo = mid
		} else {
			hi = mid
		}
	}
	below, above := float64(f)-float64(t[lo]), float64(t[hi])-float64(f)
	if above < below || above == below && lo&1 == 1 {
		return hi
	}
	return lo
}

// E4M3FNUZToFloat32 widens float8_e4m3fnuz.
func E4M3FNUZToFloat32(b uint8) float32 { return fromFNUZ(e4m3fnuz, b) }

// E5M2FNUZToFloat32 widens float8_e5m2fnuz.
func E5M2FNUZToFloat32(b uint8) float32 { return fromFNUZ(e5m2fnuz, b) }

func fromFNUZ(t []float32, b uint8) float32 {
	switch {
	case b == 0x80:
		return float32(math.NaN())
	case b > 0x80:
		return -t[b&0x7f]
	}
	return t[b]
}

// Float32ToE4M3FNUZ rounds to float8_e4m3fnuz, ties to even. What rounds beyond 240 becomes NaN, or ±240 with saturate;
// infinity stays NaN only without saturate.
func Float32ToE4M3FNUZ(f float32, saturate bool) uint8 { return toFNUZ(e4m3fnuz, f, saturate) }

// Float32ToE5M2FNUZ rounds to float8_e5m2fnuz, ties to even; its largest value is 57344.
func Float32ToE5M2FNUZ(f float32, saturate bool) uint8 { return toFNUZ(e5m2fnuz, f, saturate) }

func toFNUZ(t []float32, f float32, saturate bool) uint8 {
	if f != f {
		return 0x80
	}
	code := nearest(t, max(f, -f))
	if code == len(t) {
		if !saturate {
			return 0x80
		}
		code--
	}
	if math.Signbit(float64(f)) && code > 0 {
		code |= 0x80
	}
	return uint8(code)
}

// E2M1ToFloat32 widens the low four bits as float4_e2m1.
func E2M1ToFloat32(b uint8) float32 {
	if b&8 != 0 {
		return float32(math.Copysign(float64(e2m1[b&7]), -1))
	}
	return e2m1[b&7]
}

// Float32ToE2M1 rounds to float4_e2m1, ties to even; what lies beyond 6 becomes ±6, NaN becomes negative zero.
func Float32ToE2M1(f float32) uint8 {
	if f != f {
		return 8
	}
	code := min(nearest(e2m1, max(f, -f)), len(e2m1)-1)
	if math.Signbit(float64(f)) {
		code |= 8
	}
	return uint8(code)
}

// ScaleRounding is how a number between two powers of two becomes a float8_e8m0.
type ScaleRounding uint8

// Roundings of Float32ToE8M0.
const (
	ScaleNearest ScaleRounding = iota // ties upwards
	ScaleUp
	ScaleDown
)

// E8M0ToFloat32 widens float8_e8m0: two to the power of b-127; 0xff is NaN.
func E8M0ToFloat32(b uint8) float32 {
	if b == 0xff {
		return float32(math.NaN())
	}
	return float32(math.Ldexp(1, int(b)-127))
}

// Float32ToE8M0 is the power of two by |f|: the format has no sign. What lies beyond 2^127 becomes NaN, or 2^127 with
// saturate; what lies below 2^-127, zero included, becomes 2^-127.
func Float32ToE8M0(f float32, how ScaleRounding, saturate bool) uint8 {
	if f != f {
		return 0xff
	}
	if f == 0 {
		return 0
	}
	e, beyond := 255, math.IsInf(float64(f), 0)
	if !beyond {
		var m float64
		m, e = math.Frexp(math.Abs(float64(f))) // m in [0.5, 1)
		e += 126
		if how == ScaleUp && m > 0.5 || how == ScaleNearest && m >= 0.75 {
			e++
		}
	}
	if e > 254 {
		if !saturate {
			return 0xff
		}
		e = 254
	}
	return uint8(max(e, 0))
}
