package kernels

import "golang.org/x/sys/cpu"

// The functions in assembly are written by asmgen, in two forms: those whose names end in 512 are for AVX-512, those
// in 256 for AVX2 with FMA. All compute the bits of the plain Go form, which runs where neither is there.

func hasAVX512() bool { return cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512DQ }
func hasAVX2() bool   { return cpu.X86.HasAVX2 && cpu.X86.HasFMA }

// wholeVectors says which form this machine runs, and on how many of n elements: the narrow one takes whole vectors.
func wholeVectors(n int) (wide bool, whole int) {
	switch {
	case hasAVX512():
		return true, n
	case hasAVX2():
		return false, n &^ 7
	}
	return false, 0
}

// wholeLanes is wholeVectors for reductions to 16 lanes.
func wholeLanes(n int) (wide bool, whole int) {
	if !hasAVX512() && !hasAVX2() {
		return false, 0
	}
	return hasAVX512(), n &^ 15
}

// fmaTile512 is the tile of an inSequence product: 1..8 rows, 1..3 vectors of 16 columns.
//
//go:noescape
func fmaTile512(rows, vecs, k int, a *float32, lda int, b *float32, offsets *int, c *float32, ldc, add int)

// fmaTile256 has 1..4 rows and 1..3 vectors of 8 columns.
//
//go:noescape
func fmaTile256(rows, vecs, k int, a *float32, lda int, b *float32, offsets *int, c *float32, ldc, add int)

// quadRow512 is the tile of an inQuads product: one row of any number of vectors of 16 columns.
//
//go:noescape
func quadRow512(vecs, k int, a, b *float32, offsets *int, c *float32, add int)

// quadRow256 has vectors of 8 columns.
//
//go:noescape
func quadRow256(vecs, k int, a, b *float32, offsets *int, c *float32, add int)

// laneTile512 is the tile of an inLanes product: one row of 16 columns.
//
//go:noescape
func laneTile512(k int, a, b *float32, offsets *int, c *float32, add int)

// laneTile256 has 8 columns.
//
//go:noescape
func laneTile256(k int, a, b *float32, offsets *int, c *float32, add int)

//go:noescape
func everySecond512(dst, src *float32, n int)

//go:noescape
func everySecond256(dst, src *float32, n int)

// everySecond computes dst[i] = src[2i].
func everySecond(dst, src []float32) {
	n := min(len(dst), len(src)/2) // the functions in assembly read pairs
	switch {
	case hasAVX512():
		if n &^= 15; n > 0 {
			everySecond512(&dst[0], &src[0], n)
		}
	case hasAVX2():
		if n &^= 7; n > 0 {
			everySecond256(&dst[0], &src[0], n)
		}
	default:
		n = 0
	}
	everySecondPlain(dst[n:], src[min(2*n, len(src)):])
}
