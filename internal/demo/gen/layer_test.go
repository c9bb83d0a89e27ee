package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

func fill(r *rand.Rand, v []float32) {
	for i := range v {
		v[i] = 4*r.Float32() - 2
	}
}

func TestProducts_againstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{1, 1, 1}, {3, 4, 5}, {2, 9, panelWidth + 3}, {5, 7, 2*panelWidth + 1}} {
		m, k, n := s[0], s[1], s[2]
		a, b, c := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
		fill(r, a)
		fill(r, b)
		fill(r, c)
		wantC, wantA := make([]float64, m*n), make([]float64, m*k)
		for i := range m {
			for p := range k {
				wantA[i*k+p] = float64(a[i*k+p])
				for j := range n {
					wantC[i*n+j] += float64(a[i*k+p]) * float64(b[p*n+j])
					wantA[i*k+p] += float64(c[i*n+j]) * float64(b[p*n+j])
				}
			}
			for j := range n {
				wantC[i*n+j] += float64(c[i*n+j])
			}
		}
		gotC, gotA := append([]float32(nil), c...), append([]float32(nil), a...)
		addProduct(gotC, a, b, m, k, n)
		addOuter(gotA, c, b, m, k, n)
		near(t, "addProduct", gotC, wantC, 1e-4)
		near(t, "addOuter", gotA, wantA, 1e-2)
	}
}

func near(t *testing.T, name string, got []float32, want []float64, tolerance float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(float64(got[i])-want[i]) <= tolerance) {
			t.Errorf("%s: element %d is %v, want %v", name, i, got[i], want[i])
			return
		}
	}
}

func TestExp(t *testing.T) {
	for x := float32(-79.9); x <= 0; x += 0.0371 {
		want := math.Exp(float64(x))
		if got := float64(exp(x)); math.Abs(got-want) > 1e-7*want {
			t.Errorf("exp(%v) is %v, want %v", x, got, want)
		}
	}
	if exp(0) != 1 || exp(-1000) > 1e-30 {
		t.Errorf("exp(0) is %v, exp(-1000) is %v", exp(0), exp(-1000))
	}
}

// Each layer's gradients are held against what the output really does when one input moves a little: the loss is a
// random weighting of the outputs.
func TestGradients(t *testing.T) {
	const batch = 2
	in := func() *maps { return newMaps(3, batch, 6, 6) }
	for name, build := range map[string]func() (layer, []*maps){
		"3x3 stride 2": func() (layer, []*maps) { x := in(); return newConv(x, 5, 3, 2, false), []*maps{x} },
		"3x3":          func() (layer, []*maps) { x := in(); return newConv(x, 4, 3, 1, false), []*maps{x} },
		"1x1 bias":     func() (layer, []*maps) { x := in(); return newConv(x, 2, 1, 1, true), []*maps{x} },
		"depthwise":    func() (layer, []*maps) { x := in(); return newDepthwise(x), []*maps{x} },
		"norm":         func() (layer, []*maps) { x := in(); return newNorm(x), []*maps{x} },
		"relu":         func() (layer, []*maps) { x := in(); return &rectify{x, x.like()}, []*maps{x} },
		"hard swish":   func() (layer, []*maps) { x := in(); return &hardSwish{x, x.like()}, []*maps{x} },
		"sum":          func() (layer, []*maps) { x, y := in(), in(); return &sum{x, y, x.like()}, []*maps{x, y} },
		"average":      func() (layer, []*maps) { x := in(); return &average{x, newMaps(3, batch, 1, 1)}, []*maps{x} },
		"halve": func() (layer, []*maps) {
			x := in()
			out := newMaps(3, batch, 3, 3)
			return &halve{x, out, make([]int, len(out.v))}, []*maps{x}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			l, inputs := build()
			var values, gradients [][]float32
			for _, m := range inputs {
				values, gradients = append(values, m.v), append(gradients, m.d)
			}
			for _, p := range l.params() {
				values, gradients = append(values, p.v), append(gradients, p.d)
			}
			for _, v := range values {
				fill(r, v)
			}
			weights := make([]float32, len(l.output().v))
			fill(r, weights)
			loss := func() float64 {
				l.forward(true)
				s := 0.0
				for i, w := range weights {
					s += float64(w) * float64(l.output().v[i])
				}
				return s
			}
			loss()
			copy(l.output().d, weights)
			l.backward()
			const h = 1e-2
			for k, v := range values {
				off := 0
				for i := range v {
					was := v[i]
					v[i] = was + h
					up := loss()
					v[i] = was - h
					down := loss()
					v[i] = was
					want := (up - down) / (2 * h)
					if math.Abs(float64(gradients[k][i])-want) > 2e-2*(1+math.Abs(want)) {
						off++
					}
				}
				// Where a kink lies within h the quotient means nothing: a few of hundreds may be there.
				if off > len(v)/20 {
					t.Errorf("array %d: %d of %d gradients are wrong", k, off, len(v))
				}
			}
		})
	}
}

// A convolution by its definition.
func TestConv_againstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	x := newMaps(2, 3, 7, 5)
	fill(r, x.v)
	l := newConv(x, 4, 3, 2, true)
	fill(r, l.w.v)
	fill(r, l.bias.v)
	l.forward(false)
	out := l.out
	if out.c != 4 || out.n != 3 || out.h != 4 || out.w != 3 {
		t.Fatalf("output is %d×%d×%d×%d", out.c, out.n, out.h, out.w)
	}
	var want []float64
	for c := range out.c {
		for n := range out.n {
			for y := range out.h {
				for i := range out.w {
					s := float64(l.bias.v[c])
					for tap, w := range l.w.v[c*18:][:18] {
						iy, ix := 2*y+tap/3%3-1, 2*i+tap%3-1
						if iy >= 0 && iy < x.h && ix >= 0 && ix < x.w {
							s += float64(w) * float64(x.v[((tap/9*x.n+n)*x.h+iy)*x.w+ix])
						}
					}
					want = append(want, s)
				}
			}
		}
	}
	near(t, "conv", out.v, want, 1e-4)
}
