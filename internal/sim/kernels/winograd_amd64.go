package kernels

//go:noescape
func winogradIn512(dst *float32, dstplane int, src *float32, srcstep, rows, n int)

//go:noescape
func winogradIn256(dst *float32, dstplane int, src *float32, srcstep, rows, n int)

//go:noescape
func winogradOut512(dst *float32, dststep int, src *float32, srcplane, rows, n, width int, bias, lo, hi float32)

//go:noescape
func winogradOut256(dst *float32, dststep int, src *float32, srcplane, rows, n, width int, bias, lo, hi float32)

//go:noescape
func panelTile512(vecs, k int, a, b *float32, ldb int, c *float32, ldc int)

//go:noescape
func panelTile256(vecs, k int, a, b *float32, ldb int, c *float32, ldc int)

// winogradIn transforms rows of n tiles. It may read and write as much as whole vectors of spill tiles take; a row's
// surplus lies where the next row goes.
func winogradIn(dst []float32, dstPlane int, src []float32, srcStep, rows, n int) {
	switch {
	case rows == 0 || n == 0:
	case hasAVX512():
		winogradIn512(&dst[0], dstPlane, &src[0], srcStep, rows, n)
	case hasAVX2():
		winogradIn256(&dst[0], dstPlane, &src[0], srcStep, rows, n)
	default:
		winogradInPlain(dst, dstPlane, src, srcStep, rows, n)
	}
}

// winogradOut transforms back to rows of width results. It may read as much as whole vectors of spill tiles take.
func winogradOut(dst []float32, dstStep int, src []float32, srcPlane, rows, n, width int, bias, lo, hi float32) {
	switch {
	case rows == 0 || width == 0:
	case hasAVX512():
		winogradOut512(&dst[0], dstStep, &src[0], srcPlane, rows, n, width, bias, lo, hi)
	case hasAVX2():
		winogradOut256(&dst[0], dstStep, &src[0], srcPlane, rows, n, width, bias, lo, hi)
	default:
		winogradOutPlain(dst, dstStep, src, srcPlane, rows, n, width, bias, lo, hi)
	}
}

// panelTile multiplies a panel of eight rows of A, k after k, with cols columns of B. It may read and write as much as
// whole vectors of spill columns take.
func panelTile(cols, k int, a, b []float32, ldb int, c []float32, ldc int) {
	switch {
	case cols == 0 || k == 0:
	case hasAVX512():
		panelTile512(ceilDiv(cols, 16), k, &a[0], &b[0], ldb, &c[0], ldc)
	case hasAVX2():
		panelTile256(ceilDiv(cols, 8), k, &a[0], &b[0], ldb, &c[0], ldc)
	default:
		panelTilePlain(cols, k, a, b, ldb, c, ldc)
	}
}
