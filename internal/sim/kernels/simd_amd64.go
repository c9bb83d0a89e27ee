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

// fmaTile512 computes tiles of an inSequence product: 1..8 rows of vectors of 16 columns, three to a tile, of the last
// vector the first tail. how says what happens to a tile before it is stored (see ending); bias goes on by across bytes
// from tile to tile.
//
//go:noescape
func fmaTile512(rows, vecs, k int, a *float32, lda int, b *float32, offsets *int, step int, c *float32, ldc, how, tail int, bias *float32, across int, z *float32, lo, hi float32)

// fmaTile256 has 1..4 rows of vectors of 8 columns.
//
//go:noescape
func fmaTile256(rows, vecs, k int, a *float32, lda int, b *float32, offsets *int, step int, c *float32, ldc, how, tail int, bias *float32, across int, z *float32, lo, hi float32)

// fmaAcross512 computes a tile of an across product: 1..14 rows of 1..32 columns; rows of C have 32. It fetches what ahead
// points to into the cache, 32 bytes for each k.
//
//go:noescape
func fmaAcross512(rows, cols, k int, a *float32, offsets *int, b *float32, ldb int, c *float32, add int, ahead *float32)

// fmaAcross256 has 1..6 rows of 1..16 columns, rows of C 16.
//
//go:noescape
func fmaAcross256(rows, cols, k int, a *float32, offsets *int, b *float32, ldb int, c *float32, add int, ahead *float32)

//go:noescape
func turnRows512(dst *float32, dststep int, src *float32, srcstep, rows, n, how int, bias, z *float32, lo, hi float32)

//go:noescape
func turnRows256(dst *float32, dststep int, src *float32, srcstep, rows, n, how int, bias, z *float32, lo, hi float32)

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
func padRows512(dst *float32, dststep int, src *float32, srcstep, rows, left, n, right int, pad float32)

//go:noescape
func padRows256(dst *float32, dststep int, src *float32, srcstep, rows, left, n, right int, pad float32)

//go:noescape
func padSecond512(dst *float32, dststep int, src *float32, srcstep, rows, left, n, right int, pad float32)

//go:noescape
func padSecond256(dst *float32, dststep int, src *float32, srcstep, rows, left, n, right int, pad float32)

//go:noescape
func clampRows512(dst *float32, dststep int, src *float32, srcstep, rows, n int, bias, lo, hi float32)

//go:noescape
func clampRows256(dst *float32, dststep int, src *float32, srcstep, rows, n int, bias, lo, hi float32)

// padRows copies rows of n elements with left times pad before them and right times behind; dst may be overwritten for
// up to spill-1 elements behind the last row. stride is 1 or 2: src gives every element or every second.
func padRows(dst []float32, dstStep int, src []float32, srcStep, stride, rows, left, n, right int, pad float32) {
	switch {
	case rows == 0 || left+n+right == 0:
	case !hasAVX512() && !hasAVX2() || n == 0:
		padRowsPlain(dst, dstStep, src, srcStep, stride, rows, left, n, right, pad)
	case stride == 1 && hasAVX512():
		padRows512(&dst[0], dstStep, &src[0], srcStep, rows, left, n, right, pad)
	case stride == 1:
		padRows256(&dst[0], dstStep, &src[0], srcStep, rows, left, n, right, pad)
	case hasAVX512():
		padSecond512(&dst[0], dstStep, &src[0], srcStep, rows, left, n, right, pad)
	default:
		padSecond256(&dst[0], dstStep, &src[0], srcStep, rows, left, n, right, pad)
	}
}

// clampRows computes rows of n elements of min(max(src+bias, lo), hi).
func clampRows(dst []float32, dstStep int, src []float32, srcStep, rows, n int, bias, lo, hi float32) {
	switch {
	case rows == 0 || n == 0:
	case hasAVX512():
		clampRows512(&dst[0], dstStep, &src[0], srcStep, rows, n, bias, lo, hi)
	case hasAVX2():
		clampRows256(&dst[0], dstStep, &src[0], srcStep, rows, n, bias, lo, hi)
	default:
		clampRowsPlain(dst, dstStep, src, srcStep, rows, n, bias, lo, hi)
	}
}

//go:noescape
func blendRow512(dst, a, b, x *float32, n int, w1, w2 float32)

//go:noescape
func blendRow256(dst, a, b, x *float32, n int, w1, w2 float32)

// blendRow computes dst[i] = x[i]w1·a[i] + x[n+i]w1·a[n+i] + x[i]w2·b[i] + x[n+i]w2·b[n+i] in this order.
func blendRow(dst, a, b, x []float32, w1, w2 float32) {
	n := len(dst)
	a, b, x = a[:2*n], b[:2*n], x[:2*n]
	switch {
	case n == 0:
	case hasAVX512():
		blendRow512(&dst[0], &a[0], &b[0], &x[0], n, w1, w2)
	case hasAVX2():
		blendRow256(&dst[0], &a[0], &b[0], &x[0], n, w1, w2)
	default:
		blendRowPlain(dst, a, b, x, w1, w2)
	}
}
