//go:build !amd64

package kernels

// Machines without functions for rows in assembly run the plain ones.

func padRows(dst []float32, dstStep int, src []float32, srcStep, stride, rows, left, n, right int, pad float32) {
	padRowsPlain(dst, dstStep, src, srcStep, stride, rows, left, n, right, pad)
}

func clampRows(dst []float32, dstStep int, src []float32, srcStep, rows, n int, bias, lo, hi float32) {
	clampRowsPlain(dst, dstStep, src, srcStep, rows, n, bias, lo, hi)
}

func blendRow(dst, a, b, x []float32, w1, w2 float32) { blendRowPlain(dst, a, b, x, w1, w2) }

func turnBlocks([]float32, int, []float32, int, int, int) (r, c int) { return 0, 0 }

func fastAcross() []acrossMicro { return nil }

func poolRows(dst []float32, dstStep int, src []float32, srcStep, stride, rows, n int, taps []int, div []float32, divStep int) {
	poolRowsPlain(dst, dstStep, src, srcStep, stride, rows, n, taps, div, divStep)
}

func depthRows(dst []float32, dstStep int, src []float32, srcStep, stride, rows, n int, taps []int, weights []float32, bias, lo, hi float32) {
	depthRowsPlain(dst, dstStep, src, srcStep, stride, rows, n, taps, weights, bias, lo, hi)
}
