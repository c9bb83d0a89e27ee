//go:build !amd64

package kernels

// Machines without functions in assembly run the plain ones.

func addVec(dst, a, b []float32)                          { addVecPlain(dst, a, b) }
func subVec(dst, a, b []float32)                          { subVecPlain(dst, a, b) }
func mulVec(dst, a, b []float32)                          { mulVecPlain(dst, a, b) }
func divVec(dst, a, b []float32)                          { divVecPlain(dst, a, b) }
func maxVec(dst, a, b []float32)                          { maxVecPlain(dst, a, b) }
func minVec(dst, a, b []float32)                          { minVecPlain(dst, a, b) }
func biasClamp(dst, src []float32, bias, lo, hi float32)  { biasClampPlain(dst, src, bias, lo, hi) }
func scaleShift(dst, src []float32, scale, shift float32) { scaleShiftPlain(dst, src, scale, shift) }
func normVec(dst, src, scale, bias []float32, mean, factor float32) {
	normVecPlain(dst, src, scale, bias, mean, factor)
}
func hardSigmoid(dst, src []float32, scale, shift float32) { hardSigmoidPlain(dst, src, scale, shift) }
func hardSwish(dst, src []float32, scale, shift float32)   { hardSwishPlain(dst, src, scale, shift) }
func leakyRelu(dst, src []float32, alpha float32)          { leakyReluPlain(dst, src, alpha) }
func swish(dst, src []float32, scale float32)              { swishPlain(dst, src, scale) }
func expShifted(dst, src []float32, shift float32)         { expShiftedPlain(dst, src, shift) }
func sigmoidVec(dst, src []float32)                        { sigmoidVecPlain(dst, src) }
func tanhVec(dst, src []float32)                           { tanhVecPlain(dst, src) }
func logVec(dst, src []float32)                            { logVecPlain(dst, src) }
func sqrtVec(dst, src []float32)                           { sqrtVecPlain(dst, src) }
func erfVec(dst, src []float32)                            { erfVecPlain(dst, src) }
func geluVec(dst, src []float32)                           { geluVecPlain(dst, src) }
func sumLanes(lanes *[16]float32, src []float32)           { sumLanesPlain(lanes, src) }
func maxLanes(lanes *[16]float32, src []float32)           { maxLanesPlain(lanes, src) }
func squareLanes(lanes *[16]float32, src []float32, shift float32) {
	squareLanesPlain(lanes, src, shift)
}

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
