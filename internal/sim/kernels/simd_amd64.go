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

// fmaTile512 is the tile of an inSequence product: 1..8 rows, 1..3 vectors of a panel of 48 columns.
//
//go:noescape
func fmaTile512(rows, vecs, k int, a *float32, lda int, b, c *float32, ldc, add int)

// fmaTile256 has 1..4 rows and a panel of 24 columns.
//
//go:noescape
func fmaTile256(rows, vecs, k int, a *float32, lda int, b, c *float32, ldc, add int)

// quadTile512 is the tile of an inQuads product: one row, a panel of 64 columns.
//
//go:noescape
func quadTile512(k int, a, b, c *float32, add int)

// quadTile256 has a panel of 32 columns.
//
//go:noescape
func quadTile256(k int, a, b, c *float32, add int)

// laneTile512 is the tile of an inLanes product: one row, a panel of 16 columns.
//
//go:noescape
func laneTile512(k int, a, b, c *float32, add int)

// laneTile256 has a panel of 8 columns.
//
//go:noescape
func laneTile256(k int, a, b, c *float32, add int)

//go:noescape
func tapRows512(dst *float32, dststep int, src *float32, srcstep int, offsets *int, weights *float32, taps, vecs, rows int)

//go:noescape
func tapRows256(dst *float32, dststep int, src *float32, srcstep int, offsets *int, weights *float32, taps, vecs, rows int)

// tapRows computes rows of the sums of a depthwise convolution: dst[y·dstStep+i] = Σ w[2t]·src[y·srcStep+offsets[t]+i]
// for i below width, summed over t in the order inQuads. Rows may run over by up to 15 elements on both sides.
func tapRows(dst []float32, dstStep int, src []float32, srcStep int, offsets []int, w []float32, width, rows int) {
	switch {
	case rows == 0:
	case hasAVX512():
		tapRows512(&dst[0], dstStep, &src[0], srcStep, &offsets[0], &w[0], len(offsets), ceilDiv(width, 16), rows)
	case hasAVX2():
		tapRows256(&dst[0], dstStep, &src[0], srcStep, &offsets[0], &w[0], len(offsets), ceilDiv(width, 8), rows)
	default:
		tapRowsPlain(dst, dstStep, src, srcStep, offsets, w, width, rows)
	}
}
