package compare

import (
	"math"
	"slices"

	"npu/internal/tensor"
)

// samples is how many numbers of a tensor stand for it while layers are lined up.
const samples = 128

// sample takes numbers at even distances; nil where the type has none.
func sample(t *tensor.Tensor) []float64 {
	n := t.Shape.Count()
	if n == 0 {
		return nil
	}
	k := min(n, samples)
	out := make([]float64, k)
	for i := range out {
		if tensor.DecodeFloats(out[i:i+1], t.DType, t.Data, i*n/k) != nil {
			return nil
		}
	}
	return out
}

// near is how alike two samples are, 0 to 1: the share of one that the other explains.
func near(a, b []float64) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return 0
	}
	var diff, size float64
	for i := range a {
		diff += (a[i] - b[i]) * (a[i] - b[i])
		size += a[i]*a[i] + b[i]*b[i]
	}
	switch {
	case size == 0:
		return 1
	case diff != diff || math.IsInf(diff, 0) || math.IsInf(size, 0):
		return 0
	}
	return max(0, 1-math.Sqrt(diff/size))
}

// sameElements says that the shapes differ by dimensions of one element at most.
func sameElements(a, b tensor.Shape) bool { return slices.Equal(squeezed(a), squeezed(b)) }

func squeezed(s tensor.Shape) tensor.Shape {
	return slices.DeleteFunc(s.Clone(), func(n int) bool { return n == 1 })
}

// distance is the root of the sum of squared differences over that of want. sorted says that the numbers are the same
// ones in another order. Where one side is float16, numbers beyond its range count as its largest; overrun says that there
// were some.
func distance(got, want *tensor.Tensor) (rel float64, sorted, overrun bool) {
	g, w := floats(got), floats(want)
	if g == nil || len(g) != len(w) {
		if slices.Equal(got.Data, want.Data) {
			return 0, false, false
		}
		return math.Inf(1), false, false
	}
	if (got.DType == tensor.Float16) != (want.DType == tensor.Float16) {
		beyond := clamp(g)
		overrun = clamp(w) != beyond
	}
	rel = relative(g, w)
	if rel > 1e-3 && !overrun {
		slices.Sort(g)
		slices.Sort(w)
		again := relative(g, w)
		sorted = again < 1e-3 && again < rel/10
	}
	return rel, sorted, overrun
}

func relative(g, w []float64) float64 {
	var diff, size float64
	for i := range g {
		if g[i] == w[i] || g[i] != g[i] && w[i] != w[i] {
			if !math.IsInf(w[i], 0) && w[i] == w[i] {
				size += w[i] * w[i]
			}
			continue
		}
		d := g[i] - w[i]
		if d != d || math.IsInf(d, 0) {
			diff = math.Inf(1)
			continue
		}
		diff += d * d
		size += w[i] * w[i]
	}
	switch {
	case diff == 0:
		return 0
	case math.IsInf(diff, 0) || size == 0:
		return math.Inf(1)
	}
	return math.Sqrt(diff / size)
}

// clamp brings numbers into the range of float16 and counts those that were outside.
func clamp(v []float64) int {
	const most = 65504
	n := 0
	for i, x := range v {
		if math.Abs(x) > most {
			v[i] = math.Copysign(most, x)
			n++
		}
	}
	return n
}

func floats(t *tensor.Tensor) []float64 {
	out := make([]float64, 0, t.Shape.Count())
	err := t.EachFloats(func(_ int, v []float64) error {
		out = append(out, v...)
		return nil
	})
	if err != nil {
		return nil
	}
	return out
}

// overwrite puts the numbers of src into dst, rounded to its type.
func overwrite(dst, src *tensor.Tensor) error {
	if dst.DType == src.DType {
		copy(dst.Data, src.Data)
		return nil
	}
	return src.EachFloats(func(at int, v []float64) error { return tensor.EncodeFloats(dst.Data, dst.DType, at, v) })
}
