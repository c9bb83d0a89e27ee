package cost

import "math/bits"

// ceiling is where counts saturate: far beyond any kernel, low enough that sums over cores and pipes cannot overflow.
const ceiling = 1 << 48

// count clamps a caller's figure into what the model computes with.
func count(n int64) int64 { return min(max(n, 0), ceiling) }

// mulDiv is ceil(a·b/c) without overflow; c must be positive.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	lo, carry := bits.Add64(lo, uint64(c-1), 0)
	hi += carry
	if hi >= uint64(c) {
		return ceiling
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, ceiling))
}

func mul(a, b int64) int64 { return mulDiv(a, b, 1) }

func ceilDiv(a, b int64) int64 { return mulDiv(a, 1, b) }

// share is the part of the longest block when x is spread over at most n blocks, none smaller than grain.
func share(x, grain, n int64) int64 { return min(x, max(grain, ceilDiv(x, n))) }

// parts is over how many blocks share spreads x.
func parts(x, grain, n int64) int64 { return min(max(ceilDiv(x, max(grain, 1)), 1), n) }
