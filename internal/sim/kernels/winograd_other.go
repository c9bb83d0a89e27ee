//go:build !amd64

package kernels

func winogradIn(dst []float32, dstPlane int, src []float32, srcStep, rows, n int) {
	winogradInPlain(dst, dstPlane, src, srcStep, rows, n)
}

func winogradOut(dst []float32, dstStep int, src []float32, srcPlane, rows, n, width int, bias, lo, hi float32) {
	winogradOutPlain(dst, dstStep, src, srcPlane, rows, n, width, bias, lo, hi)
}

func panelTile(cols, k int, a, b []float32, ldb int, c []float32, ldc int) {
	panelTilePlain(cols, k, a, b, ldb, c, ldc)
}

func winogradInDown(dst []float32, dstStep int, src []float32, srcStep, rows, n int) {
	winogradInDownPlain(dst, dstStep, src, srcStep, rows, n)
}

func winogradInAlong(dst []float32, dstPlane int, src []float32, srcStep, rows, n int) {
	winogradInAlongPlain(dst, dstPlane, src, srcStep, rows, n)
}

func winogradOutDown(dst []float32, dstStep int, src []float32, srcPlane, n int) {
	winogradOutDownPlain(dst, dstStep, src, srcPlane, n)
}

func winogradOutAlong(dst []float32, dstStep int, src []float32, srcStep, rows, n, width int, bias, lo, hi float32) {
	winogradOutAlongPlain(dst, dstStep, src, srcStep, rows, n, width, bias, lo, hi)
}
