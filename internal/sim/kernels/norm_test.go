package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

func TestSoftmax_againstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	shapes := [][]int{{3, 7}, {2, 3, 4}, {1, 1000}, {2, 5, 3, 300}, {4}, {2, 1, 2}, {3, 129, 140}}
	for i := range 120 {
		shape := shapes[i%len(shapes)]
		op := []string{"Softmax", "LogSoftmax", "Hardmax"}[r.IntN(3)]
		opset := []int{11, 13}[r.IntN(2)]
		a := r.IntN(len(shape))
		dt := []tensor.DType{tensor.Float32, tensor.Float32, tensor.Float16, tensor.BFloat16}[r.IntN(4)]
		x := random(r, dt, shape...)
		v := numbers(x)
		n, inner := shape[a], tensor.Shape(shape[a+1:]).Count()
		if opset < 13 {
			n, inner = n*inner, 1
		}
		want := make([]float64, len(v))
		for o := range len(v) / n / inner {
			for c := range inner {
				at := func(k int) int { return (o*n+k)*inner + c }
				top, sum := 0, 0.0
				for k := range n {
					if v[at(k)] > v[at(top)] {
						top = k
					}
					sum += math.Exp(v[at(k)])
				}
				for k := range n {
					switch op {
					case "Softmax":
						want[at(k)] = math.Exp(v[at(k)]) / sum
					case "LogSoftmax":
						want[at(k)] = v[at(k)] - math.Log(sum)
					}
				}
				if op == "Hardmax" {
					want[at(top)] = 1
				}
			}
		}
		if r.IntN(2) == 0 && opset >= 13 {
			a -= len(shape)
		}
		c := trial{op: op, opset: opset, attrs: Attrs{"axis": int64(a)}, in: []*tensor.Tensor{x}}
		c.near(t, c.run(t)[0], want)
	}
}

func TestSoftmax_largeAndMasked(t *testing.T) {
	inf := float32(math.Inf(-1))
	c := trial{op: "Softmax", in: []*tensor.Tensor{floats(10000, 10001, inf, 9999)}}
	e := 1 + math.Exp(-1) + math.Exp(-2)
	c.near(t, c.run(t)[0], []float64{math.Exp(-1) / e, 1 / e, 0, math.Exp(-2) / e})
}

// refMoments are mean and variance of the elements that pick selects.
func refMoments(v []float64) (mean, variance float64) {
	for _, e := range v {
		mean += e / float64(len(v))
	}
	for _, e := range v {
		variance += (e - mean) * (e - mean) / float64(len(v))
	}
	return mean, variance
}

func TestNorm_againstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	for i := range 160 {
		groups := 1 + r.IntN(3)
		n, c := 1+r.IntN(3), groups*(1+r.IntN(4))
		shape := []int{n, c, 1 + r.IntN(30), 1 + r.IntN(30)}[:2+r.IntN(3)]
		dt := []tensor.DType{tensor.Float32, tensor.Float32, tensor.Float16}[r.IntN(3)]
		x := random(r, dt, shape...)
		v := numbers(x)
		area := len(v) / n / c
		eps := 0.01
		at := Attrs{"epsilon": float32(eps)}
		scale, bias := random(r, dt, c), random(r, dt, c)
		sv, bv := numbers(scale), numbers(bias)
		want := make([]float64, len(v))
		tr := trial{attrs: at, in: []*tensor.Tensor{x, scale, bias}, konst: []bool{false, true, true}}
		switch i % 4 {
		case 0:
			tr.op = "BatchNormalization"
			mean, variance := random(r, dt, c), random(r, dt, c)
			vv := numbers(variance)
			for j := range vv {
				vv[j] = math.Abs(vv[j])
			}
			setNumbers(variance, vv)
			tr.in = append(tr.in, mean, variance)
			for j := range v {
				ch := j / area % c
				want[j] = sv[ch]*(v[j]-numbers(mean)[ch])/math.Sqrt(vv[ch]+eps) + bv[ch]
			}
		case 1:
			tr.op, groups = "InstanceNormalization", c
			fallthrough
		case 2:
			if tr.op == "" {
				tr.op = "GroupNormalization"
				at["num_groups"] = int64(groups)
			}
			perGroup := tr.op == "GroupNormalization" && r.IntN(2) == 0
			if perGroup {
				tr.opset = 18
				tr.in[1], tr.in[2] = random(r, dt, groups), random(r, dt, groups)
				sv, bv = numbers(tr.in[1]), numbers(tr.in[2])
			}
			size := c / groups * area
			for j := range v {
				m, s := refMoments(v[j/size*size:][:size])
				p := j / area % c
				if perGroup {
					p = j / size % groups
				}
				want[j] = sv[p]*(v[j]-m)/math.Sqrt(s+eps) + bv[p]
			}
		case 3:
			tr.op, tr.in = "LRN", tr.in[:1]
			size := 1 + r.IntN(5)
			beta := []float32{0.75, 0.5}[r.IntN(2)]
			tr.attrs = Attrs{"size": int64(size), "alpha": float32(0.5), "beta": beta, "bias": float32(2)}
			for j := range v {
				ch, sum := j/area%c, 0.0
				for q := ch - (size-1)/2; q <= ch+size/2; q++ {
					if q >= 0 && q < c {
						sum += v[j+(q-ch)*area] * v[j+(q-ch)*area]
					}
				}
				want[j] = v[j] / math.Pow(2+0.5/float64(size)*sum, float64(beta))
			}
		}
		tr.near(t, tr.run(t)[0], want)
	}
}

func TestLayerNorm_againstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	for i := range 80 {
		shape := []int{1 + r.IntN(4), 1 + r.IntN(5), 1 + r.IntN(700)}
		a := r.IntN(3)
		n := tensor.Shape(shape[a:]).Count()
		dt := []tensor.DType{tensor.Float32, tensor.Float32, tensor.BFloat16}[r.IntN(3)]
		x, scale := random(r, dt, shape...), random(r, dt, shape[a:]...)
		v, sv := numbers(x), numbers(scale)
		c := trial{op: "LayerNormalization", attrs: Attrs{"axis": int64(a), "epsilon": float32(0.01)}, in: []*tensor.Tensor{x, scale}, outs: 3}
		bv := make([]float64, n)
		if i%2 == 0 {
			c.op, c.outs = "RMSNormalization", 1
		} else if r.IntN(2) == 0 {
			c.in = append(c.in, random(r, dt, shape[a:]...))
			bv = numbers(c.in[2])
		}
		want, means, invs := make([]float64, len(v)), []float64{}, []float64{}
		for o := range len(v) / n {
			m, s := refMoments(v[o*n:][:n])
			if i%2 == 0 {
				m, s = 0, s+m*m
			}
			inv := 1 / math.Sqrt(s+0.01)
			means, invs = append(means, m), append(invs, inv)
			for j := range n {
				want[o*n+j] = (v[o*n+j]-m)*inv*sv[j] + bv[j]
			}
		}
		got := c.run(t)
		c.near(t, got[0], want)
		if c.outs == 3 {
			c.near(t, got[1], means)
			c.near(t, got[2], invs)
		}
	}
}

func TestNorm_inferAndReject(t *testing.T) {
	f := func(s ...int) Desc { return Desc{DType: tensor.Float32, Shape: s} }
	for _, c := range []struct {
		name string
		op   string
		in   []Desc
		at   Attrs
		ok   bool
	}{
		{"unknown", "BatchNormalization", []Desc{f(-1, -1, -1), f(-1), f(3), f(3), f(3)}, nil, true},
		{"training", "BatchNormalization", []Desc{f(1, 3, 4), f(3), f(3), f(3), f(3)}, Attrs{"training_mode": int64(1)}, true},
		{"few operands", "BatchNormalization", []Desc{f(1, 3, 4), f(3), f(3)}, nil, false},
		{"axis", "LayerNormalization", []Desc{f(1, 3), f(3)}, Attrs{"axis": int64(2)}, false},
		{"softmax axis", "Softmax", []Desc{f(1, 3)}, Attrs{"axis": int64(-3)}, false},
		{"scalar softmax", "Softmax", []Desc{f()}, nil, true},
		{"integers", "Softmax", []Desc{{DType: tensor.Int32, Shape: tensor.Shape{3}}}, nil, false},
	} {
		s := &Spec{Op: c.op, Opset: 15, In: c.in, Attrs: c.at, Out: make([]Desc, 1)}
		if err := Infer(s); (err == nil) != c.ok {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
	for _, c := range []trial{
		{op: "LRN", in: []*tensor.Tensor{random(rand.New(rand.NewPCG(1, 1)), tensor.Float32, 1, 2, 3)}, attrs: Attrs{"size": int64(0)}},
		{op: "GroupNormalization", in: []*tensor.Tensor{floats(1), floats(1), floats(1)}, attrs: Attrs{"num_groups": int64(0)}},
	} {
		if _, _, _, err := c.prepare(); err == nil {
			t.Errorf("%v: no error", c)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	x := random(r, tensor.Float32, 128, 768)
	b.Run("Softmax 128x768", func(b *testing.B) { benchTrial(b, trial{op: "Softmax", in: []*tensor.Tensor{x}}) })
	b.Run("LayerNormalization 128x768", func(b *testing.B) {
		benchTrial(b, trial{op: "LayerNormalization", in: []*tensor.Tensor{x, random(r, tensor.Float32, 768)}})
	})
}
