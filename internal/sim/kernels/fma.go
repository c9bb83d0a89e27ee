//go:build !arm64

package kernels

import "math"

// fma32 is a·b+c rounded once, what the vector units do for every element of a product, so that a machine without
// them computes the same bits.
//
// The product of two float32 is exact in float64 and the sum is rounded to 53 bits. Rounding that to float32 rounds
// twice, which shows only where the first rounding hit the middle between two float32 (or the result is denormal);
// there the sum is rounded to odd first, which keeps on which side of the middle it was.
func fma32(a, b, c float32) float32 {
	p, d := float64(a)*float64(b), float64(c)
	s := p + d
	u := math.Float64bits(s)
	const lowBits, middle, least = 1<<29 - 1, 1 << 28, 897 << 52
	if u&lowBits == middle || u<<1-1 < least<<1-1 {
		return float32(roundToOdd(p, d, s))
	}
	return float32(s)
}

// roundToOdd turns s, the sum of p and d rounded to nearest, into the sum rounded to the neighbour with an odd last
// bit where it is not exact.
func roundToOdd(p, d, s float64) float64 {
	t := s - p
	rest := (p - (s - t)) + (d - t)
	if rest == 0 || rest != rest {
		return s
	}
	u := math.Float64bits(s)
	if u&1 != 0 {
		return s
	}
	if (rest > 0) == (s > 0) {
		return math.Float64frombits(u + 1)
	}
	return math.Float64frombits(u - 1)
}
