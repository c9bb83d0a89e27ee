package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

func TestPool_againstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for i := range 300 {
		v := drawConv(r)
		op := []string{"MaxPool", "AveragePool", "LpPool"}[i%3]
		ceil, include := r.IntN(2) == 1, r.IntN(2) == 1
		at := v.attrs()
		delete(at, "group")
		p := 1 + r.IntN(3)
		at["p"], at["ceil_mode"], at["count_include_pad"] = int64(p), int64(0), int64(0)
		for e := range 3 {
			v.lo[e], v.hi[e] = min(v.lo[e], (v.k[e]-1)*v.d[e]), min(v.hi[e], (v.k[e]-1)*v.d[e])
			v.in[e] = max(v.in[e], (v.k[e]-1)*v.d[e]+1)
		}
		at["pads"] = append(i64(v.spatial(v.lo)...), i64(v.spatial(v.hi)...)...)
		out := v.out()
		if ceil {
			at["ceil_mode"] = int64(1)
			for e := range 3 {
				for out[e]*v.s[e]+(v.k[e]-1)*v.d[e]+1 < v.in[e]+v.lo[e]+v.hi[e]+v.s[e] && out[e]*v.s[e] < v.in[e]+v.lo[e] {
					out[e]++ // one more window reaches new padded input and starts inside
				}
			}
		}
		if include {
			at["count_include_pad"] = int64(1)
		}
		dt := []tensor.DType{tensor.Float32, tensor.Float16, tensor.Float64}[r.IntN(3)]
		if op == "MaxPool" && r.IntN(3) == 0 {
			dt = []tensor.DType{tensor.Int8, tensor.Uint8}[r.IntN(2)]
		}
		byColumn := r.IntN(2)
		at["storage_order"] = int64(byColumn)
		x := random(r, dt, append([]int{v.n, v.c}, v.spatial(v.in)...)...)
		xv, area := numbers(x), volume(v.in)
		var want, indices []float64
		for plane := range v.n * v.c {
			for o := range volume(out) {
				pos := [3]int{o / out[2] / out[1], o / out[2] % out[1], o % out[2]}
				best, bestAt, sum, n := math.Inf(-1), 0, 0.0, 0
				for q := range volume(v.k) {
					kk := [3]int{q / v.k[2] / v.k[1], q / v.k[2] % v.k[1], q % v.k[2]}
					off, inside, padded := 0, true, true
					var ii [3]int
					for e := range 3 {
						ii[e] = pos[e]*v.s[e] + kk[e]*v.d[e] - v.lo[e]
						inside = inside && ii[e] >= 0 && ii[e] < v.in[e]
						padded = padded && ii[e] < v.in[e]+v.hi[e]
						off = off*v.in[e] + ii[e]
					}
					if inside {
						e := xv[plane*area+off]
						if e > best {
							best, bestAt = e, off
							if byColumn == 1 {
								bestAt = (ii[2]*v.in[1]+ii[1])*v.in[0] + ii[0]
							}
						}
						if op == "LpPool" {
							e = math.Pow(math.Abs(e), float64(p))
						}
						sum += e
					}
					if inside || include && padded {
						n++
					}
				}
				switch op {
				case "MaxPool":
					want, indices = append(want, best), append(indices, float64(plane*area+bestAt))
				case "AveragePool":
					want = append(want, sum/float64(max(n, 1)))
				default:
					want = append(want, math.Pow(sum, 1/float64(p)))
				}
			}
		}
		c := trial{op: op, attrs: at, in: []*tensor.Tensor{x}, outs: 1}
		if op == "MaxPool" {
			c.outs = 2
		}
		got := c.run(t)
		c.near(t, got[0], want)
		if op == "MaxPool" {
			c.near(t, got[1], indices)
		}
	}
}

func TestGlobalPool_againstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, shape := range [][]int{{2, 3, 7, 9}, {1, 5, 1000}, {2, 2, 3, 4, 5}, {3, 1, 1, 1}, {1, 1, 40, 40}} {
		for _, dt := range []tensor.DType{tensor.Float32, tensor.BFloat16} {
			x := random(r, dt, shape...)
			v := numbers(x)
			planes := shape[0] * shape[1]
			area := len(v) / planes
			var top, mean, lp []float64
			for p := range planes {
				m, s, q := math.Inf(-1), 0.0, 0.0
				for _, e := range v[p*area:][:area] {
					m, s, q = math.Max(m, e), s+e, q+e*e
				}
				top, mean, lp = append(top, m), append(mean, s/float64(area)), append(lp, math.Sqrt(q))
			}
			for op, want := range map[string][]float64{"GlobalMaxPool": top, "GlobalAveragePool": mean, "GlobalLpPool": lp} {
				c := trial{op: op, in: []*tensor.Tensor{x}}
				c.near(t, c.run(t)[0], want)
			}
		}
	}
}

func TestPool_inferAndReject(t *testing.T) {
	x := func(s ...int) []Desc { return []Desc{{DType: tensor.Float32, Shape: s}} }
	for _, c := range []struct {
		name string
		op   string
		in   []Desc
		at   Attrs
		want tensor.Shape // nil: an error
	}{
		{"plain", "MaxPool", x(1, 2, 8, 8), Attrs{"kernel_shape": i64(2, 2), "strides": i64(2, 2)}, tensor.Shape{1, 2, 4, 4}},
		{"unknown", "MaxPool", x(-1, 2, -1, 8), Attrs{"kernel_shape": i64(2, 2)}, tensor.Shape{-1, 2, -1, 7}},
		{"ceil drops a window behind the input", "MaxPool", x(1, 1, 2, 2), Attrs{"kernel_shape": i64(1, 1), "strides": i64(2, 2), "ceil_mode": int64(1)}, tensor.Shape{1, 1, 1, 1}},
		{"same lower", "AveragePool", x(1, 1, 5, 5), Attrs{"kernel_shape": i64(3, 3), "strides": i64(2, 2), "auto_pad": "SAME_LOWER"}, tensor.Shape{1, 1, 3, 3}},
		{"global", "GlobalAveragePool", x(-1, 7, -1, 3), nil, tensor.Shape{-1, 7, 1, 1}},
		{"global of nothing", "GlobalMaxPool", x(1, 7, 0, 3), nil, nil},
		{"no kernel", "MaxPool", x(1, 2, 8, 8), nil, nil},
		{"zero kernel", "MaxPool", x(1, 2, 8, 8), Attrs{"kernel_shape": i64(0, 2)}, nil},
		{"negative kernel", "MaxPool", x(1, 2, 8, 8), Attrs{"kernel_shape": i64(-1, 2)}, nil},
		{"wide pad", "MaxPool", x(1, 2, 8, 8), Attrs{"kernel_shape": i64(2, 2), "pads": i64(2, 0, 0, 0)}, nil},
		{"p", "LpPool", x(1, 2, 8, 8), Attrs{"kernel_shape": i64(2, 2), "p": int64(0)}, nil},
		{"rank", "MaxPool", x(1, 2), Attrs{"kernel_shape": i64(2, 2)}, nil},
	} {
		s := &Spec{Op: c.op, Opset: 19, In: c.in, Attrs: c.at, Out: make([]Desc, 1)}
		err := Infer(s)
		if c.want == nil && err == nil {
			t.Errorf("%s: no error, shape %v", c.name, s.Out[0].Shape)
		}
		if c.want != nil && (err != nil || !s.Out[0].Shape.Equal(c.want)) {
			t.Errorf("%s: %v, %v, want %v", c.name, s.Out[0].Shape, err, c.want)
		}
	}
}

func BenchmarkMaxPool(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	benchTrial(b, trial{op: "MaxPool", attrs: Attrs{"kernel_shape": i64(3, 3), "strides": i64(2, 2), "pads": i64(1, 1, 1, 1)},
		in: []*tensor.Tensor{random(r, tensor.Float32, 1, 64, 112, 112)}})
}
