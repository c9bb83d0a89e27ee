package kernels

import "math"

// The loops of float32, made of the vector functions. A number that is added, or that limits, is biasClamp's.

func addFloats() binLoops[float32, float32] {
	return commuting(addVec, func(d, a []float32, b float32) { biasClamp(d, a, b, inf(-1), inf(1)) })
}

func subFloats() binLoops[float32, float32] {
	return binLoops[float32, float32]{subVec,
		func(d, a []float32, b float32) { biasClamp(d, a, -b, inf(-1), inf(1)) },
		func(d []float32, a float32, b []float32) { scaleShift(d, b, -1, a) }}
}

func mulFloats() binLoops[float32, float32] {
	return commuting(mulVec, func(d, a []float32, b float32) { scaleShift(d, a, b, negativeZero()) })
}

func divFloats() binLoops[float32, float32] {
	l := apply(func(a, b float32) float32 { return a / b })
	l.vv = divVec
	return l
}

func maxFloats() binLoops[float32, float32] {
	return commuting(maxVec, func(d, a []float32, b float32) {
		if b != b {
			fill(d, b)
			return
		}
		biasClamp(d, a, negativeZero(), b, inf(1))
	})
}

func minFloats() binLoops[float32, float32] {
	return commuting(minVec, func(d, a []float32, b float32) {
		if b != b {
			fill(d, b)
			return
		}
		biasClamp(d, a, negativeZero(), inf(-1), b)
	})
}

func inf(sign int) float32 { return float32(math.Inf(sign)) }
