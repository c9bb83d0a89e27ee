package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
)

// hardNumbers draws numbers of all sizes, with zeros, infinities, NaN and denormals among them.
func hardNumbers(r *rand.Rand, n int) []float32 {
	special := []float32{0, negativeZero(), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), math.MaxFloat32,
		math.SmallestNonzeroFloat32, -1e-40, 1, -1, 18, -18, 89, -105, 0.6, 4}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64() * math.Exp2(float64(r.IntN(16)-8)))
		if r.IntN(20) == 0 {
			v[i] = special[r.IntN(len(special))]
		}
	}
	return v
}

func sameBits(a, b []float32) int {
	for i, x := range a {
		if math.Float32bits(x) != math.Float32bits(b[i]) && !(x != x && b[i] != b[i]) {
			return i
		}
	}
	return -1
}

// TestVectors_paths compares the bits of the machine's path with those of the plain Go, for lengths around the ends of
// vectors. Run it with GODEBUG=cpu.avx512f=off for the path of AVX2.
func TestVectors_paths(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for _, c := range []struct {
		name        string
		fast, plain func(dst, a, b []float32)
	}{
		{"add", addVec, addVecPlain}, {"sub", subVec, subVecPlain}, {"mul", mulVec, mulVecPlain}, {"div", divVec, divVecPlain},
		{"max", maxVec, maxVecPlain}, {"min", minVec, minVecPlain},
		{"biasClamp", func(d, a, b []float32) { biasClamp(d, a, b[0], -1, 2) }, func(d, a, b []float32) { biasClampPlain(d, a, b[0], -1, 2) }},
		{"relu", func(d, a, b []float32) { activation{kind: actRelu}.apply(d, a) },
			func(d, a, b []float32) { biasClampPlain(d, a, negativeZero(), 0, float32(math.Inf(1))) }},
		{"scaleShift", func(d, a, b []float32) { scaleShift(d, a, b[0], b[1]) }, func(d, a, b []float32) { scaleShiftPlain(d, a, b[0], b[1]) }},
		{"norm", func(d, a, b []float32) { normVec(d, a, b, a, b[0], b[1]) }, func(d, a, b []float32) { normVecPlain(d, a, b, a, b[0], b[1]) }},
		{"hardSigmoid", func(d, a, b []float32) { hardSigmoid(d, a, 0.2, 0.5) }, func(d, a, b []float32) { hardSigmoidPlain(d, a, 0.2, 0.5) }},
		{"hardSwish", func(d, a, b []float32) { hardSwish(d, a, 1./6, 0.5) }, func(d, a, b []float32) { hardSwishPlain(d, a, 1./6, 0.5) }},
		{"leakyRelu", func(d, a, b []float32) { leakyRelu(d, a, 0.1) }, func(d, a, b []float32) { leakyReluPlain(d, a, 0.1) }},
		{"sigmoid", func(d, a, b []float32) { sigmoidVec(d, a) }, func(d, a, b []float32) { sigmoidVecPlain(d, a) }},
		{"swish", func(d, a, b []float32) { swish(d, a, 1.7) }, func(d, a, b []float32) { swishPlain(d, a, 1.7) }},
		{"exp", func(d, a, b []float32) { expShifted(d, a, 3) }, func(d, a, b []float32) { expShiftedPlain(d, a, 3) }},
		{"tanh", func(d, a, b []float32) { tanhVec(d, a) }, func(d, a, b []float32) { tanhVecPlain(d, a) }},
		{"erf", func(d, a, b []float32) { erfVec(d, a) }, func(d, a, b []float32) { erfVecPlain(d, a) }},
		{"gelu", func(d, a, b []float32) { geluVec(d, a) }, func(d, a, b []float32) { geluVecPlain(d, a) }},
		{"log", func(d, a, b []float32) { logVec(d, a) }, func(d, a, b []float32) { logVecPlain(d, a) }},
		{"sqrt", func(d, a, b []float32) { sqrtVec(d, a) }, func(d, a, b []float32) { sqrtVecPlain(d, a) }},
		{"sum", func(d, a, b []float32) { reduceInto(d, a, sumLanes) }, func(d, a, b []float32) { reduceInto(d, a, sumLanesPlain) }},
		{"max", func(d, a, b []float32) { reduceInto(d, a, maxLanes) }, func(d, a, b []float32) { reduceInto(d, a, maxLanesPlain) }},
		{"squares", func(d, a, b []float32) {
			reduceInto(d, a, func(l *[16]float32, v []float32) { squareLanes(l, v, 0.3) })
		},
			func(d, a, b []float32) {
				reduceInto(d, a, func(l *[16]float32, v []float32) { squareLanesPlain(l, v, 0.3) })
			}},
	} {
		for _, n := range []int{0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 20_000} {
			a, b := hardNumbers(r, n+2), hardNumbers(r, n+2)
			got, want := make([]float32, n+20), make([]float32, n+20)
			c.fast(got[:n], a[:n+min(n, 2)], b)
			c.plain(want[:n], a[:n+min(n, 2)], b)
			if i := sameBits(got, want); i >= 0 {
				t.Errorf("%s of %d elements: element %d of %v, %v is %x, want %x", c.name, n, i, a[i], b[i], got[i], want[i])
				break
			}
		}
	}
}

// reduceInto shows as much of the lanes as dst holds.
func reduceInto(dst, src []float32, f func(l *[16]float32, v []float32)) {
	var l [16]float32
	f(&l, src[:len(dst)])
	copy(dst, l[:])
}

func TestRows_paths(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 11))
	for range 2000 {
		rows, left, n, right, stride := 1+r.IntN(4), r.IntN(20), 1+r.IntN(70), r.IntN(20), 1+r.IntN(2)
		step, srcStep := left+n+right+r.IntN(2), n*stride+r.IntN(5)
		src := hardNumbers(r, (rows-1)*srcStep+(n-1)*stride+1)
		got, want := make([]float32, rows*step+spill), make([]float32, rows*step+spill)
		padRows(got, step, src, srcStep, stride, rows, left, n, right, 3)
		padRowsPlain(want, step, src, srcStep, stride, rows, left, n, right, 3)
		for y := range rows {
			if i := sameBits(got[y*step:][:left+n+right], want[y*step:]); i >= 0 {
				t.Fatalf("%d rows of %d+%d+%d, stride %d: element %d of row %d is %x, want %x", rows, left, n, right, stride, i, y, got[y*step+i], want[y*step+i])
			}
		}
		step, srcStep = n+r.IntN(5), n+r.IntN(5)
		src = hardNumbers(r, (rows-1)*srcStep+n)
		got, want = make([]float32, (rows-1)*step+n), make([]float32, (rows-1)*step+n)
		clampRows(got, step, src, srcStep, rows, n, 0.5, -1, 2)
		clampRowsPlain(want, step, src, srcStep, rows, n, 0.5, -1, 2)
		if i := sameBits(got, want); i >= 0 {
			t.Fatalf("%d rows of %d: element %d is %x, want %x", rows, n, i, got[i], want[i])
		}
	}
}

func TestTurn_paths(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 15))
	for range 500 {
		rows, cols := r.IntN(40), r.IntN(40)
		step, srcStep := rows+r.IntN(5), cols+r.IntN(5)
		src := hardNumbers(r, rows*srcStep)
		got, want := make([]float32, cols*step), make([]float32, cols*step)
		turn(got, step, src, srcStep, rows, cols)
		for i := range rows {
			for j := range cols {
				want[j*step+i] = src[i*srcStep+j]
			}
		}
		if i := sameBits(got, want); i >= 0 {
			t.Fatalf("%d×%d: element %d is %x, want %x", rows, cols, i, got[i], want[i])
		}
	}
}

func TestBlendRow_paths(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 13))
	for n := range 70 {
		a, b, x := hardNumbers(r, 2*n), hardNumbers(r, 2*n), hardNumbers(r, 2*n)
		got, want := make([]float32, n+16), make([]float32, n+16)
		blendRow(got[:n], a, b, x, 0.3, 0.7)
		blendRowPlain(want[:n], a, b, x, 0.3, 0.7)
		if i := sameBits(got, want); i >= 0 {
			t.Fatalf("%d elements: element %d is %x, want %x", n, i, got[i], want[i])
		}
	}
}

func BenchmarkVectors(b *testing.B) {
	x, y, z := make([]float32, 4096), make([]float32, 4096), make([]float32, 4096)
	for i := range x {
		x[i], y[i] = float32(i)/400-5, float32(i)
	}
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"add", func() { addVec(z, x, y) }}, {"biasClamp", func() { biasClamp(z, x, 1, 0, 6) }}, {"hardSwish", func() { hardSwish(z, x, 1./6, 0.5) }},
		{"exp", func() { expShifted(z, x, 1) }}, {"sigmoid", func() { sigmoidVec(z, x) }}, {"tanh", func() { tanhVec(z, x) }},
		{"erf", func() { erfVec(z, x) }}, {"gelu", func() { geluVec(z, x) }},
		{"sum", func() { var l [16]float32; sumLanes(&l, x) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/elem")
		})
	}
}
