package tensor

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var inf, nan = math.Inf(1), math.NaN()

func compareFloats(t *testing.T, got, want []float64, tol Tolerance) *Difference {
	t.Helper()
	a, err := FromFloat64s(Shape{len(got)}, got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := FromFloat64s(Shape{len(want)}, want)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Compare(a, b, tol)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCompare_special(t *testing.T) {
	for _, c := range []struct {
		got, want  []float64
		tol        Tolerance
		mismatches int
		worst      int
		maxAbs     float64
	}{
		{[]float64{1, 2}, []float64{1, 2}, Tolerance{}, 0, 0, 0},
		{[]float64{nan, inf, -inf}, []float64{nan, inf, -inf}, Tolerance{}, 0, 0, 0},
		{[]float64{1, nan}, []float64{1, 2}, Tolerance{RTol: 1e9}, 1, 1, 0},
		{[]float64{9, inf}, []float64{1, -inf}, Tolerance{}, 2, 1, inf},
		{[]float64{inf}, []float64{1e300}, Tolerance{RTol: 1, ATol: 1e308}, 1, 0, inf},
		{[]float64{1e300}, []float64{inf}, Tolerance{RTol: 1}, 1, 0, inf},
		{[]float64{100.5, 1.2}, []float64{100, 1}, Tolerance{RTol: 0.01}, 1, 1, 0.5},
		{[]float64{1.5}, []float64{1}, Tolerance{ATol: 0.5}, 0, 0, 0.5},
		{nil, nil, Tolerance{}, 0, -1, 0},
	} {
		d := compareFloats(t, c.got, c.want, c.tol)
		if d.Mismatches != c.mismatches || d.Worst != c.worst || d.MaxAbs != c.maxAbs || d.Equal() != (c.mismatches == 0) || d.Elements != len(c.got) {
			t.Errorf("%v against %v: %+v", c.got, c.want, d)
		}
	}
	if d := compareFloats(t, []float64{nan, nan, inf}, []float64{nan, 0, -inf}, Tolerance{}); d.NaNs != [2]int{2, 1} || d.Infs != [2]int{1, 1} {
		t.Errorf("%+v", d)
	}
}

// Against the definitions, computed in several passes.
func TestCompare_figures(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	n := 3000
	a, b := make([]float32, n), make([]float32, n)
	for i := range a {
		a[i] = rng.Float32() - 0.5
		b[i] = a[i] + (rng.Float32()-0.5)/100
	}
	x, _ := FromFloat32s(Shape{3, 10, 100}, a)
	y, _ := FromFloat32s(Shape{3, 10, 100}, b)
	var maxAbs, sum, maxRel, dot, aa, bb float64
	worst := 0
	for i := range a {
		p, q := float64(a[i]), float64(b[i])
		d := math.Abs(p - q)
		if d > maxAbs {
			maxAbs, worst = d, i
		}
		sum += d
		maxRel = max(maxRel, d/math.Abs(q))
		dot, aa, bb = dot+p*q, aa+p*p, bb+q*q
	}
	d, err := Compare(x, y, Tolerance{ATol: 1e-3})
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("max abs", d.MaxAbs, maxAbs)
	near("mean abs", d.MeanAbs, sum/float64(n))
	near("max rel", d.MaxRel, maxRel)
	near("cosine", d.Cosine, dot/math.Sqrt(aa*bb))
	if d.Worst != worst || !slices.Equal(d.WorstAt, []int{worst / 1000, worst / 100 % 10, worst % 100}) || d.Got != float64(a[worst]) {
		t.Errorf("worst %d at %v, want %d", d.Worst, d.WorstAt, worst)
	}
	// The same elements in another format and a wider type.
	wide, _ := y.As(Float64)
	nz, err := Convert(wide, FractalNZ)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Compare(x, nz, Tolerance{ATol: 1e-3})
	if err != nil || e.MaxAbs != d.MaxAbs || e.Cosine != d.Cosine || !slices.Equal(e.WorstAt, d.WorstAt) {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestCompare_wideIntegersAndHugeFloats(t *testing.T) {
	a, _ := FromInt64s(Shape{2}, []int64{1<<62 + 1, math.MinInt64})
	b, _ := FromInt64s(Shape{2}, []int64{1 << 62, math.MaxInt64})
	d, err := Compare(a, b, Tolerance{})
	if err != nil || d.Mismatches != 2 || d.Worst != 1 || d.MaxAbs != 0x1p64 {
		t.Errorf("%+v, %v", d, err)
	}
	d = compareFloats(t, []float64{1, 1e300, -1e300}, []float64{1, 1e300, 1e300}, Tolerance{})
	if math.Abs(d.Cosine) > 1e-12 {
		t.Errorf("cosine of orthogonal huge vectors is %v", d.Cosine)
	}
	if d = compareFloats(t, []float64{0, 0}, []float64{0, 1}, Tolerance{}); d.Cosine != 0 {
		t.Errorf("cosine with a zero vector is %v", d.Cosine)
	}
	if d = compareFloats(t, []float64{-1, -2}, []float64{2, 4}, Tolerance{}); d.Cosine != -1 {
		t.Errorf("cosine of opposite vectors is %v", d.Cosine)
	}
}

func TestCompare_refuses(t *testing.T) {
	x, _ := New(Float32, Shape{2, 3})
	y, _ := New(Float32, Shape{3, 2})
	z, _ := New(Complex64, Shape{2, 3})
	short := &Tensor{DType: Float32, Shape: Shape{2, 3}, Data: make([]byte, 23)}
	for _, bad := range []*Tensor{y, z, short, {DType: String, Shape: Shape{2, 3}}} {
		if d, err := Compare(x, bad, Tolerance{}); err == nil {
			t.Errorf("%v: no error but %+v", bad, d)
		}
		if _, err := Compare(bad, x, Tolerance{}); err == nil {
			t.Errorf("%v first: no error", bad)
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	x, _ := New(Float32, Shape{1 << 18})
	b.SetBytes(1 << 20)
	for b.Loop() {
		_, _ = Compare(x, x, Tolerance{})
	}
}
