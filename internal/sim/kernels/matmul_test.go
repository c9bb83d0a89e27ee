package kernels

import (
	"errors"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

// refMatMul multiplies with NumPy's rules, batch index by batch index.
func refMatMul(a, b *tensor.Tensor, transA, transB bool) ([]float64, tensor.Shape) {
	as, bs := a.Shape, b.Shape
	if len(as) == 1 {
		as = tensor.Shape{1, as[0]}
	}
	if len(bs) == 1 {
		bs = tensor.Shape{bs[0], 1}
	}
	m, k := ends(as, transA)
	_, n := ends(bs, transB)
	batch, err := tensor.Broadcast(as[:len(as)-2], bs[:len(bs)-2])
	if err != nil {
		panic(err)
	}
	av, bv := numbers(a), numbers(b)
	pick := func(own tensor.Shape, index int) int {
		off, stride := 0, 1
		for d := len(batch) - 1; d >= 0; d-- {
			i := index % batch[d]
			index /= batch[d]
			if j := d - (len(batch) - len(own)); j >= 0 {
				off += i % own[j] * stride
				stride *= own[j]
			}
		}
		return off
	}
	var out []float64
	for g := range batch.Count() {
		ao, bo := pick(as[:len(as)-2], g)*m*k, pick(bs[:len(bs)-2], g)*k*n
		for i := range m {
			for j := range n {
				sum := 0.0
				for l := range k {
					x, y := ao+i*k+l, bo+l*n+j
					if transA {
						x = ao + l*m + i
					}
					if transB {
						y = bo + j*k + l
					}
					sum += av[x] * bv[y]
				}
				out = append(out, sum)
			}
		}
	}
	return out, append(batch.Clone(), m, n)
}

func TestMatMul_shapes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	shapes := []struct{ a, b tensor.Shape }{
		{tensor.Shape{3, 4}, tensor.Shape{4, 5}}, {tensor.Shape{4}, tensor.Shape{4}}, {tensor.Shape{4}, tensor.Shape{4, 3}},
		{tensor.Shape{2, 3, 4}, tensor.Shape{4}}, {tensor.Shape{4}, tensor.Shape{2, 4, 3}}, {tensor.Shape{1, 7}, tensor.Shape{7, 1}},
		{tensor.Shape{2, 1, 3, 4}, tensor.Shape{3, 4, 5}}, {tensor.Shape{2, 3, 9, 4}, tensor.Shape{1, 4, 5}}, {tensor.Shape{1, 9, 4}, tensor.Shape{6, 4, 2}},
		{tensor.Shape{130, 700}, tensor.Shape{700, 90}}, {tensor.Shape{2, 200, 64}, tensor.Shape{2, 64, 200}}, {tensor.Shape{1, 1000}, tensor.Shape{1000, 333}},
		{tensor.Shape{600, 31}, tensor.Shape{31, 600}}, {tensor.Shape{3, 0}, tensor.Shape{0, 2}},
	}
	types := []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float64, tensor.Int32, tensor.Uint64}
	for i, s := range shapes {
		for n, konst := range [][]bool{{}, {true}, {false, true}, {true, true}} {
			c := trial{op: "MatMul", in: []*tensor.Tensor{random(r, types[(i+n)%len(types)], s.a...), random(r, types[(i+n)%len(types)], s.b...)}, konst: konst}
			want, _ := refMatMul(c.in[0], c.in[1], false, false)
			c.near(t, c.run(t)[0], want)
		}
	}
}

func TestFusedMatMul_everyEpilogue(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 120 {
		m, k, n := 1+r.IntN(40), 1+r.IntN(40), 1+r.IntN(40)
		types := []tensor.DType{tensor.Float32, tensor.Float32, tensor.Float16, tensor.Float64}
		dt := types[r.IntN(len(types))]
		transA, transB := r.IntN(2), r.IntN(2)
		at := Attrs{"transA": int64(transA), "transB": int64(transB), "alpha": float32(0.5 + float32(r.IntN(2))/2)}
		someActivation(r, at)
		as, bs := tensor.Shape{m, k}, tensor.Shape{k, n}
		if transA == 1 {
			as = tensor.Shape{k, m}
		}
		if transB == 1 {
			bs = tensor.Shape{n, k}
		}
		if r.IntN(2) == 0 {
			as = append(tensor.Shape{3}, as...)
		}
		if r.IntN(3) == 0 {
			bs = append(tensor.Shape{2, 1}, bs...)
		}
		c := trial{op: "FusedMatMul", attrs: at, konst: []bool{false, r.IntN(2) == 0},
			in: []*tensor.Tensor{random(r, dt, as...), random(r, dt, bs...), nil, nil}}
		want, shape := refMatMul(c.in[0], c.in[1], transA == 1, transB == 1)
		if r.IntN(2) == 0 {
			c.in[2] = random(r, dt, n)
		}
		if r.IntN(2) == 0 {
			c.in[3] = random(r, dt, shape...)
		}
		bias, z := numbers(c.in[2]), numbers(c.in[3])
		for i := range want {
			want[i] *= float64(at.Float("alpha", 1))
			if bias != nil {
				want[i] += bias[i%n]
			}
			if z != nil {
				want[i] += z[i]
			}
			want[i] = refAct(at, want[i])
		}
		c.near(t, c.run(t)[0], want)
	}
}

func TestGemm_forms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 100 {
		m, k, n := 1+r.IntN(30), 1+r.IntN(400), 1+r.IntN(30)
		dt := []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float64}[r.IntN(3)]
		transA, transB := r.IntN(2), r.IntN(2)
		at := Attrs{"transA": int64(transA), "transB": int64(transB), "alpha": float32(0.25), "beta": float32(1.5)}
		as, bs := tensor.Shape{m, k}, tensor.Shape{k, n}
		if transA == 1 {
			as = tensor.Shape{k, m}
		}
		if transB == 1 {
			bs = tensor.Shape{n, k}
		}
		c := trial{op: "Gemm", attrs: at, konst: []bool{r.IntN(2) == 0, r.IntN(2) == 0, true},
			in: []*tensor.Tensor{random(r, dt, as...), random(r, dt, bs...)}}
		want, _ := refMatMul(c.in[0], c.in[1], transA == 1, transB == 1)
		shapes := []tensor.Shape{nil, {}, {1}, {n}, {1, n}, {m, 1}, {m, n}, {1, 1}}
		cs := shapes[r.IntN(len(shapes))]
		for i := range want {
			want[i] *= 0.25
		}
		if cs != nil {
			c.in = append(c.in, random(r, dt, cs...))
			v := numbers(c.in[2])
			for i := range want {
				row, col := i/n, i%n
				if len(cs) < 2 || cs[0] == 1 {
					row = 0
				}
				w := 1
				if len(cs) > 0 {
					w = cs[len(cs)-1]
				}
				want[i] += 1.5 * v[row*w+col%w]
			}
		}
		c.near(t, c.run(t)[0], want)
	}
}

func TestMatMul_inferAndReject(t *testing.T) {
	f := func(s ...int) Desc { return Desc{DType: tensor.Float32, Shape: s} }
	for _, c := range []struct {
		op   string
		in   []Desc
		want tensor.Shape // nil: an error
	}{
		{"MatMul", []Desc{f(-1, 3, 4), f(4, -1)}, tensor.Shape{-1, 3, -1}},
		{"MatMul", []Desc{f(-1, 1, 3, -1), f(5, 4, 2)}, tensor.Shape{-1, 5, 3, 2}},
		{"MatMul", []Desc{f(3, 4), f(5, 2)}, nil},
		{"MatMul", []Desc{f(), f(5, 2)}, nil},
		{"MatMul", []Desc{f(2, 3, 4), f(3, 4, 5)}, nil},
		{"MatMul", []Desc{f(3, 4)}, nil},
		{"Gemm", []Desc{f(-1, 4), f(4, 7)}, tensor.Shape{-1, 7}},
		{"Gemm", []Desc{f(2, 3, 4), f(4, 7)}, nil},
		{"Gemm", []Desc{f(3, 4), f(3, 7)}, nil},
	} {
		s := &Spec{Op: c.op, Opset: 13, In: c.in, Out: make([]Desc, 1)}
		err := Infer(s)
		if c.want == nil {
			if err == nil {
				t.Errorf("%s %v: no error", c.op, c.in)
			}
			continue
		}
		if err != nil || !s.Out[0].Shape.Equal(c.want) {
			t.Errorf("%s %v: %v, %v, want %v", c.op, c.in, s.Out[0].Shape, err, c.want)
		}
	}
	s := &Spec{Op: "MatMul", In: []Desc{{DType: tensor.Int8, Shape: tensor.Shape{1, 1}}, {DType: tensor.Int8, Shape: tensor.Shape{1, 1}}}, Out: make([]Desc, 1)}
	if _, err := Compile(s); !errors.Is(err, ErrUnsupported) {
		t.Errorf("int8: %v, want %v", err, ErrUnsupported)
	}
}

func benchTrial(b *testing.B, c trial) {
	k, x, _, err := c.prepare()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := k.Run(x); err != nil {
			b.Fatal(err)
		}
	}
	if w := k.Work; w.M > 0 {
		b.ReportMetric(2*float64(w.M*w.N*w.K*w.Batch)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
	}
}

func BenchmarkMatMul(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name    string
		m, k, n int
		konst   bool
	}{
		{"512x512x512", 512, 512, 512, true}, {"128x384x384", 128, 384, 384, true}, {"dynamic 512x512x512", 512, 512, 512, false},
		{"1x1024x1024", 1, 1024, 1024, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			benchTrial(b, trial{op: "MatMul", konst: []bool{false, c.konst},
				in: []*tensor.Tensor{random(r, tensor.Float32, c.m, c.k), random(r, tensor.Float32, c.k, c.n)}})
		})
	}
}
