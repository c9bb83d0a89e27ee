//go:build !amd64 && !arm64

package kernels

// Machines without element-wise functions in assembly run the plain ones.

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
