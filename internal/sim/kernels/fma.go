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
	s := float64(a)*float64(b) + float64(c)
	if u := math.Float64bits(s); u&(1<<29-1) == 1<<28 || u<<1-1 < 897<<53-1 {
		return fmaToOdd(a, b, c)
	}
	return float32(s)
}

// fmaToOdd rounds the exact sum to the neighbour with an odd last bit first.
func fmaToOdd(a, b, c float32) float32 {
	p, d := float64(a)*float64(b), float64(c)
	s := p + d
	t := s - p
	rest := (p - (s - t)) + (d - t)
	u := math.Float64bits(s)
	if rest == 0 || rest != rest || u&1 != 0 {
		return float32(s)
	}
	if (rest > 0) == (s > 0) {
		return float32(math.Float64frombits(u + 1))
	}
	return float32(math.Float64frombits(u - 1))
}
