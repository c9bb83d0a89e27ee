package kernels

//go:noescape
func maxRows1x512(dst *float32, dststep int, src *float32, srcstep, rows, n int, taps *int, count int)

//go:noescape
func maxRows1x256(dst *float32, dststep int, src *float32, srcstep, rows, n int, taps *int, count int)

//go:noescape
func maxRows2x512(dst *float32, dststep int, src *float32, srcstep, rows, n int, taps *int, count int)

//go:noescape
func maxRows2x256(dst *float32, dststep int, src *float32, srcstep, rows, n int, taps *int, count int)

//go:noescape
func sumRows1x512(dst *float32, dststep int, src *float32, srcstep, rows, n int, taps *int, count int, div *float32, divstep int)

//go:noescape
func sumRows1x256(dst *float32, dststep int, src *float32, srcstep, rows, n int, taps *int, count int, div *float32, divstep int)

//go:noescape
func sumRows2x512(dst *float32, dststep int, src *float32, srcstep, rows, n int, taps *int, count int, div *float32, divstep int)

//go:noescape
func sumRows2x256(dst *float32, dststep int, src *float32, srcstep, rows, n int, taps *int, count int, div *float32, divstep int)

// poolRows is poolRowsPlain; it may read rowSlack elements behind the last one that it needs.
func poolRows(dst []float32, dstStep int, src []float32, srcStep, stride, rows, n int, taps []int, div []float32, divStep int) {
	switch wide := hasAVX512(); {
	case rows == 0 || n == 0:
	case !wide && !hasAVX2():
		poolRowsPlain(dst, dstStep, src, srcStep, stride, rows, n, taps, div, divStep)
	case div == nil && stride == 1 && wide:
		maxRows1x512(&dst[0], dstStep, &src[0], srcStep, rows, n, &taps[0], len(taps))
	case div == nil && stride == 1:
		maxRows1x256(&dst[0], dstStep, &src[0], srcStep, rows, n, &taps[0], len(taps))
	case div == nil && wide:
		maxRows2x512(&dst[0], dstStep, &src[0], srcStep, rows, n, &taps[0], len(taps))
	case div == nil:
		maxRows2x256(&dst[0], dstStep, &src[0], srcStep, rows, n, &taps[0], len(taps))
	case stride == 1 && wide:
		sumRows1x512(&dst[0], dstStep, &src[0], srcStep, rows, n, &taps[0], len(taps), &div[0], divStep)
	case stride == 1:
		sumRows1x256(&dst[0], dstStep, &src[0], srcStep, rows, n, &taps[0], len(taps), &div[0], divStep)
	case wide:
		sumRows2x512(&dst[0], dstStep, &src[0], srcStep, rows, n, &taps[0], len(taps), &div[0], divStep)
	default:
		sumRows2x256(&dst[0], dstStep, &src[0], srcStep, rows, n, &taps[0], len(taps), &div[0], divStep)
	}
}

//go:noescape
func depthRows1x512(dst *float32, dststep int, src *float32, srcstep, rows, n int, taps *int, weights *float32, count int, bias, lo, hi float32)

//go:noescape
func depthRows1x256(dst *float32, dststep int, src *float32, srcstep, rows, n int, taps *int, weights *float32, count int, bias, lo, hi float32)

//go:noescape
func depthRows2x512(dst *float32, dststep int, src *float32, srcstep, rows, n int, taps *int, weights *float32, count int, bias, lo, hi float32)

//go:noescape
func depthRows2x256(dst *float32, dststep int, src *float32, srcstep, rows, n int, taps *int, weights *float32, count int, bias, lo, hi float32)

// depthRows is depthRowsPlain; it may read rowSlack elements behind the last one that it needs.
func depthRows(dst []float32, dstStep int, src []float32, srcStep, stride, rows, n int, taps []int, weights []float32, bias, lo, hi float32) {
	switch wide := hasAVX512(); {
	case rows == 0 || n == 0:
	case !wide && !hasAVX2():
		depthRowsPlain(dst, dstStep, src, srcStep, stride, rows, n, taps, weights, bias, lo, hi)
	case stride == 1 && wide:
		depthRows1x512(&dst[0], dstStep, &src[0], srcStep, rows, n, &taps[0], &weights[0], len(taps), bias, lo, hi)
	case stride == 1:
		depthRows1x256(&dst[0], dstStep, &src[0], srcStep, rows, n, &taps[0], &weights[0], len(taps), bias, lo, hi)
	case wide:
		depthRows2x512(&dst[0], dstStep, &src[0], srcStep, rows, n, &taps[0], &weights[0], len(taps), bias, lo, hi)
	default:
		depthRows2x256(&dst[0], dstStep, &src[0], srcStep, rows, n, &taps[0], &weights[0], len(taps), bias, lo, hi)
	}
}
