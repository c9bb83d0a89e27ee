package kernels

//go:noescape
func winogradInDown512(dst *float32, dststep int, src *float32, srcstep, rows, n int)

//go:noescape
func winogradInAlong512(dst *float32, dstplane int, src *float32, srcstep, rows, n int)

//go:noescape
func winogradOutDown512(dst *float32, dststep int, src *float32, srcplane, n int)

//go:noescape
func winogradOutAlong512(dst *float32, dststep int, src *float32, srcstep, rows, n, width int, bias, lo, hi float32)

//go:noescape
func winogradInDown256(dst *float32, dststep int, src *float32, srcstep, rows, n int)

//go:noescape
func winogradInAlong256(dst *float32, dstplane int, src *float32, srcstep, rows, n int)

//go:noescape
func winogradOutDown256(dst *float32, dststep int, src *float32, srcplane, n int)

//go:noescape
func winogradOutAlong256(dst *float32, dststep int, src *float32, srcstep, rows, n, width int, bias, lo, hi float32)

// winogradInDown transforms columns. It may read and write as much as whole vectors of a row take.
func winogradInDown(dst []float32, dstStep int, src []float32, srcStep, rows, n int) {
	switch {
	case rows == 0 || n == 0:
	case hasAVX512():
		winogradInDown512(&dst[0], dstStep, &src[0], srcStep, rows, n)
	case hasAVX2():
		winogradInDown256(&dst[0], dstStep, &src[0], srcStep, rows, n)
	default:
		winogradInDownPlain(dst, dstStep, src, srcStep, rows, n)
	}
}

// winogradInAlong transforms rows. It may read and write as much as whole vectors of tiles take; a row's surplus lies
// where the next row goes.
func winogradInAlong(dst []float32, dstPlane int, src []float32, srcStep, rows, n int) {
	switch {
	case rows == 0 || n == 0:
	case hasAVX512():
		winogradInAlong512(&dst[0], dstPlane, &src[0], srcStep, rows, n)
	case hasAVX2():
		winogradInAlong256(&dst[0], dstPlane, &src[0], srcStep, rows, n)
	default:
		winogradInAlongPlain(dst, dstPlane, src, srcStep, rows, n)
	}
}

// winogradOutDown transforms columns back. It may read and write as much as whole vectors of tiles take.
func winogradOutDown(dst []float32, dstStep int, src []float32, srcPlane, n int) {
	switch {
	case n == 0:
	case hasAVX512():
		winogradOutDown512(&dst[0], dstStep, &src[0], srcPlane, n)
	case hasAVX2():
		winogradOutDown256(&dst[0], dstStep, &src[0], srcPlane, n)
	default:
		winogradOutDownPlain(dst, dstStep, src, srcPlane, n)
	}
}

// winogradOutAlong transforms rows back. It may read as much as whole vectors of tiles take.
func winogradOutAlong(dst []float32, dstStep int, src []float32, srcStep, rows, n, width int, bias, lo, hi float32) {
	switch {
	case rows == 0 || width == 0:
	case hasAVX512():
		winogradOutAlong512(&dst[0], dstStep, &src[0], srcStep, rows, n, width, bias, lo, hi)
	case hasAVX2():
		winogradOutAlong256(&dst[0], dstStep, &src[0], srcStep, rows, n, width, bias, lo, hi)
	default:
		winogradOutAlongPlain(dst, dstStep, src, srcStep, rows, n, width, bias, lo, hi)
	}
}
