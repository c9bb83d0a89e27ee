package kernels

import "math"

// The plain forms of the vector functions. They say what the functions in assembly compute, operation by operation;
// products are converted so that no compiler fuses them with a sum.

func addVecPlain(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func subVecPlain(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] - b[i]
	}
}

func mulVecPlain(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

func divVecPlain(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] / b[i]
	}
}

// maxVecPlain gives NaN where either operand is.
func maxVecPlain(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i, x := range a {
		m := pick(x > b[i], x, b[i])
		dst[i] = math.Float32frombits(pick(x != x, x, math.Float32frombits(m)))
	}
}

func minVecPlain(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i, x := range a {
		m := pick(x < b[i], x, b[i])
		dst[i] = math.Float32frombits(pick(x != x, x, math.Float32frombits(m)))
	}
}

// atLeast and atMost are limits that NaN passes.
func atLeast(lo, x float32) float32 { return math.Float32frombits(pick(lo > x, lo, x)) }
func atMost(hi, x float32) float32  { return math.Float32frombits(pick(hi < x, hi, x)) }

func biasClampPlain(dst, src []float32, bias, lo, hi float32) {
	for i, x := range src[:len(dst)] {
		dst[i] = atMost(hi, atLeast(lo, x+bias))
	}
}

func scaleShiftPlain(dst, src []float32, scale, shift float32) {
	for i, x := range src[:len(dst)] {
		dst[i] = float32(x*scale) + shift
	}
}

func hardSigmoidPlain(dst, src []float32, scale, shift float32) {
	for i, x := range src[:len(dst)] {
		dst[i] = atLeast(0, atMost(1, float32(x*scale)+shift))
	}
}

func hardSwishPlain(dst, src []float32, scale, shift float32) {
	for i, x := range src[:len(dst)] {
		dst[i] = x * atLeast(0, atMost(1, float32(x*scale)+shift))
	}
}

func normVecPlain(dst, src, scale, bias []float32, mean, factor float32) {
	for i, x := range src[:len(dst)] {
		dst[i] = float32(float32((x-mean)*factor)*scale[i]) + bias[i]
	}
}

func leakyReluPlain(dst, src []float32, alpha float32) {
	for i, x := range src[:len(dst)] {
		dst[i] = math.Float32frombits(pick(x < 0, x*alpha, x))
	}
}

func sigmoidVecPlain(dst, src []float32) {
	for i, x := range src[:len(dst)] {
		dst[i] = sigmoidf(x)
	}
}

func swishPlain(dst, src []float32, scale float32) {
	for i, x := range src[:len(dst)] {
		dst[i] = x * sigmoidf(x*scale)
	}
}

func expShiftedPlain(dst, src []float32, shift float32) {
	for i, x := range src[:len(dst)] {
		dst[i] = expf(x - shift)
	}
}

func tanhVecPlain(dst, src []float32) {
	for i, x := range src[:len(dst)] {
		dst[i] = tanhf(x)
	}
}

func erfVecPlain(dst, src []float32) {
	for i, x := range src[:len(dst)] {
		dst[i] = erff(x)
	}
}

func geluVecPlain(dst, src []float32) {
	for i, x := range src[:len(dst)] {
		dst[i] = geluf(x)
	}
}

func logVecPlain(dst, src []float32) {
	for i, x := range src[:len(dst)] {
		dst[i] = logf(x)
	}
}

func sqrtVecPlain(dst, src []float32) {
	for i, x := range src[:len(dst)] {
		dst[i] = float32(math.Sqrt(float64(x)))
	}
}

func sumLanesPlain(lanes *[16]float32, src []float32) {
	for i, x := range src {
		lanes[i%16] += x
	}
}

func maxLanesPlain(lanes *[16]float32, src []float32) {
	for i, x := range src {
		lanes[i%16] = math.Float32frombits(pick(x > lanes[i%16], x, lanes[i%16]))
	}
}

func squareLanesPlain(lanes *[16]float32, src []float32, shift float32) {
	for i, x := range src {
		d := x - shift
		lanes[i%16] += float32(d * d)
	}
}

// total is the sum of the lanes, in pairs.
func total(l *[16]float32) float32 {
	s0, s1, s2, s3 := l[0]+l[8], l[1]+l[9], l[2]+l[10], l[3]+l[11]
	s4, s5, s6, s7 := l[4]+l[12], l[5]+l[13], l[6]+l[14], l[7]+l[15]
	return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}

// sumOf adds in 16 lanes.
func sumOf(v []float32) float32 {
	var lanes [16]float32
	sumLanes(&lanes, v)
	return total(&lanes)
}

// squares adds the squares of v-m in 16 lanes.
func squares(v []float32, m float32) float32 {
	var lanes [16]float32
	squareLanes(&lanes, v, m)
	return total(&lanes)
}

// maxOf is the greatest element; NaNs are passed over.
func maxOf(v []float32) float32 {
	var lanes [16]float32
	fill(lanes[:], inf(-1))
	maxLanes(&lanes, v)
	top := lanes[0]
	for _, x := range lanes[1:] {
		top = math.Float32frombits(pick(x > top, x, top))
	}
	return top
}

func padRowsPlain(dst []float32, dstStep int, src []float32, srcStep, stride, rows, left, n, right int, pad float32) {
	for r := range rows {
		d := dst[r*dstStep:][:left+n+right]
		fill(d[:left], pad)
		for i := range n {
			d[left+i] = src[r*srcStep+i*stride]
		}
		fill(d[left+n:], pad)
	}
}

func clampRowsPlain(dst []float32, dstStep int, src []float32, srcStep, rows, n int, bias, lo, hi float32) {
	for r := range rows {
		biasClampPlain(dst[r*dstStep:][:n], src[r*srcStep:], bias, lo, hi)
	}
}

func blendRowPlain(dst, a, b, x []float32, w1, w2 float32) {
	n := len(dst)
	for i := range dst {
		v := float32(float32(x[i]*w1) * a[i])
		v += float32(float32(x[n+i]*w1) * a[n+i])
		v += float32(float32(x[i]*w2) * b[i])
		dst[i] = v + float32(float32(x[n+i]*w2)*b[n+i])
	}
}
