package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

// refRNN is the recurrent operators by their definition, one sequence and one hidden unit at a time, layout 0.
type refRNN struct {
	op                string
	x, w, r, b        []float64
	h0, c0, p         []float64
	lens              []int
	steps, batch      int
	input, hidden     int
	dirs              int
	reverse           bool
	clip              float64
	coupled, linear   bool
	y, yh, yc         []float64
	sigmoid, tanh, gg func(float64) float64
}

func (n *refRNN) gates() int { return map[string]int{"LSTM": 4, "GRU": 3, "RNN": 1}[n.op] }

// pre is gate g of unit u before its activation; hv is the state that R sees.
func (n *refRNN) pre(d, g, u int, x, hv []float64, withX, withH bool) (sum float64) {
	row := (d*n.gates()+g)*n.hidden + u
	if withX {
		for i := range n.input {
			sum += x[i] * n.w[row*n.input+i]
		}
		if n.b != nil {
			sum += n.b[2*d*n.gates()*n.hidden+g*n.hidden+u]
		}
	}
	if withH {
		for i := range n.hidden {
			sum += hv[i] * n.r[row*n.hidden+i]
		}
		if n.b != nil {
			sum += n.b[(2*d+1)*n.gates()*n.hidden+g*n.hidden+u]
		}
	}
	return sum
}

func (n *refRNN) limit(v float64) float64 {
	if n.clip > 0 {
		return math.Max(-n.clip, math.Min(n.clip, v))
	}
	return v
}

func (n *refRNN) run() {
	H := n.hidden
	n.y = make([]float64, n.steps*n.dirs*n.batch*H)
	n.yh, n.yc = make([]float64, n.dirs*n.batch*H), make([]float64, n.dirs*n.batch*H)
	for d := range n.dirs {
		for b := range n.batch {
			h, c := make([]float64, H), make([]float64, H)
			if n.h0 != nil {
				copy(h, n.h0[(d*n.batch+b)*H:][:H])
			}
			if n.c0 != nil {
				copy(c, n.c0[(d*n.batch+b)*H:][:H])
			}
			for s := range n.lens[b] {
				t := s
				if n.reverse || d == 1 {
					t = n.lens[b] - 1 - s
				}
				x := n.x[(t*n.batch+b)*n.input:][:n.input]
				next := make([]float64, H)
				for u := range H {
					switch n.op {
					case "RNN":
						next[u] = n.tanh(n.limit(n.pre(d, 0, u, x, h, true, true)))
					case "GRU":
						z := n.sigmoid(n.limit(n.pre(d, 0, u, x, h, true, true)))
						var cand float64
						if n.linear {
							r := n.sigmoid(n.limit(n.pre(d, 1, u, x, h, true, true)))
							cand = n.pre(d, 2, u, x, nil, true, false) + r*n.pre(d, 2, u, nil, h, false, true)
						} else {
							rh := make([]float64, H)
							for v := range H {
								rh[v] = h[v] * n.sigmoid(n.limit(n.pre(d, 1, v, x, h, true, true)))
							}
							cand = n.pre(d, 2, u, x, rh, true, true)
						}
						next[u] = (1-z)*n.tanh(n.limit(cand)) + z*h[u]
					case "LSTM":
						peep := func(k int, v float64) float64 {
							if n.p == nil {
								return 0
							}
							return n.p[(d*3+k)*H+u] * v
						}
						i := n.sigmoid(n.limit(n.pre(d, 0, u, x, h, true, true) + peep(0, c[u])))
						f := n.sigmoid(n.limit(n.pre(d, 2, u, x, h, true, true) + peep(2, c[u])))
						if n.coupled {
							f = 1 - i
						}
						c[u] = f*c[u] + i*n.tanh(n.limit(n.pre(d, 3, u, x, h, true, true)))
						o := n.sigmoid(n.limit(n.pre(d, 1, u, x, h, true, true) + peep(1, c[u])))
						next[u] = o * n.gg(n.limit(c[u]))
					}
				}
				copy(h, next)
				copy(n.y[((t*n.dirs+d)*n.batch+b)*H:], h)
			}
			copy(n.yh[(d*n.batch+b)*H:], h)
			copy(n.yc[(d*n.batch+b)*H:], c)
		}
	}
}

// swap exchanges the first two of the axes of a tensor seen as a×b×rest.
func swap(v []float64, a, b int) []float64 {
	rest := len(v) / (a * b)
	out := make([]float64, len(v))
	for i := range a {
		for j := range b {
			copy(out[(j*a+i)*rest:][:rest], v[(i*b+j)*rest:])
		}
	}
	return out
}

func TestRecurrent_againstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for i := range 150 {
		n := &refRNN{op: []string{"LSTM", "GRU", "RNN"}[i%3], steps: 1 + r.IntN(5), batch: 1 + r.IntN(3), input: 1 + r.IntN(9), hidden: 1 + r.IntN(12), dirs: 1}
		at := Attrs{"hidden_size": int64(n.hidden)}
		switch r.IntN(3) {
		case 0:
			n.reverse, at["direction"] = true, "reverse"
		case 1:
			n.dirs, at["direction"] = 2, "bidirectional"
		}
		sig := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
		n.sigmoid, n.tanh, n.gg = sig, math.Tanh, math.Tanh
		if n.op == "LSTM" && r.IntN(3) == 0 {
			var names []string
			for range n.dirs {
				names = append(names, "HardSigmoid", "Softsign", "Relu")
			}
			at["activations"] = names
			at["activation_alpha"], at["activation_beta"] = []float32{0.25, 0.25}, []float32{0.375, 0.375}
			n.sigmoid = func(x float64) float64 { return math.Max(0, math.Min(1, 0.25*x+0.375)) }
			n.tanh = func(x float64) float64 { return x / (1 + math.Abs(x)) }
			n.gg = func(x float64) float64 { return math.Max(0, x) }
		}
		if r.IntN(3) == 0 {
			n.clip, at["clip"] = 0.5, float32(0.5)
		}
		if n.coupled = r.IntN(3) == 0; n.coupled {
			at["input_forget"] = int64(1)
		}
		if n.linear = r.IntN(2) == 0; n.linear {
			at["linear_before_reset"] = int64(1)
		}
		dt := []tensor.DType{tensor.Float32, tensor.Float32, tensor.Float16}[r.IntN(3)]
		wide := n.gates() * n.hidden
		x, w, rr := random(r, dt, n.steps, n.batch, n.input), random(r, dt, n.dirs, wide, n.input), random(r, dt, n.dirs, wide, n.hidden)
		in := []*tensor.Tensor{x, w, rr, nil, nil, nil}
		state := []int{n.dirs, n.batch, n.hidden}
		if r.IntN(2) == 0 {
			in[3] = random(r, dt, n.dirs, 2*wide)
		}
		for range n.batch {
			n.lens = append(n.lens, n.steps)
		}
		if r.IntN(2) == 0 {
			in[4] = &tensor.Tensor{DType: tensor.Int32, Shape: tensor.Shape{n.batch}}
			for b := range n.lens {
				n.lens[b] = r.IntN(n.steps + 1)
				in[4].Data = append(in[4].Data, tensor.Bytes([]int32{int32(n.lens[b])})...)
			}
		}
		if r.IntN(2) == 0 {
			in[5] = random(r, dt, state...)
		}
		if n.op == "LSTM" {
			in = append(in, nil, nil)
			if r.IntN(2) == 0 {
				in[6] = random(r, dt, state...)
			}
			if r.IntN(2) == 0 {
				in[7] = random(r, dt, n.dirs, 3*n.hidden)
			}
			n.c0, n.p = numbers(in[6]), numbers(in[7])
		}
		n.x, n.w, n.r, n.b, n.h0 = numbers(x), numbers(w), numbers(rr), numbers(in[3]), numbers(in[5])
		n.run()
		c := trial{op: n.op, attrs: at, in: in, konst: []bool{false, r.IntN(2) == 0, r.IntN(2) == 0}, outs: 2}
		if n.op == "LSTM" {
			c.outs = 3
		}
		y, yh, yc := n.y, n.yh, n.yc
		if r.IntN(2) == 0 { // layout 1
			at["layout"] = int64(1)
			in[0] = relaid(x, n.steps, n.batch)
			for _, s := range []int{5, 6} {
				if s < len(in) && in[s] != nil {
					in[s] = relaid(in[s], n.dirs, n.batch)
				}
			}
			y = swap(swapInner(n.y, n.steps, n.dirs, n.batch), n.steps, n.batch)
			yh, yc = swap(yh, n.dirs, n.batch), swap(yc, n.dirs, n.batch)
		}
		out := c.run(t)
		c.near(t, out[0], y)
		c.near(t, out[1], yh)
		if n.op == "LSTM" {
			c.near(t, out[2], yc)
		}
	}
}

// relaid exchanges the first two axes of a tensor.
func relaid(x *tensor.Tensor, a, b int) *tensor.Tensor {
	out := &tensor.Tensor{DType: x.DType, Shape: x.Shape.Clone(), Data: make([]byte, len(x.Data))}
	out.Shape[0], out.Shape[1] = b, a
	setNumbers(out, swap(numbers(x), a, b))
	return out
}

// swapInner exchanges axes 1 and 2 of n×a×b×rest.
func swapInner(v []float64, n, a, b int) []float64 {
	var out []float64
	for i := range n {
		out = append(out, swap(v[i*len(v)/n:(i+1)*len(v)/n], a, b)...)
	}
	return out
}

func TestRecurrent_reject(t *testing.T) {
	f := func(s ...int) Desc { return Desc{DType: tensor.Float32, Shape: s} }
	for _, c := range []struct {
		name string
		in   []Desc
		at   Attrs
	}{
		{"shape of W", []Desc{f(2, 1, 3), f(1, 19, 3), f(1, 20, 5)}, nil},
		{"direction", []Desc{f(2, 1, 3), f(1, 20, 3), f(1, 20, 5)}, Attrs{"direction": "sideways"}},
		{"hidden size", []Desc{f(2, 1, 3), f(1, 20, 3), f(1, 20, 5)}, Attrs{"hidden_size": int64(-7)}},
		{"activations", []Desc{f(2, 1, 3), f(1, 20, 3), f(1, 20, 5)}, Attrs{"activations": []string{"Tanh"}}},
		{"unknown activation", []Desc{f(2, 1, 3), f(1, 20, 3), f(1, 20, 5)}, Attrs{"activations": []string{"Tanh", "Sin", "Tanh"}}},
		{"clip", []Desc{f(2, 1, 3), f(1, 20, 3), f(1, 20, 5)}, Attrs{"clip": float32(-1)}},
		{"rank", []Desc{f(2, 3), f(1, 20, 3), f(1, 20, 5)}, nil},
	} {
		if err := Infer(&Spec{Op: "LSTM", Opset: 14, In: c.in, Attrs: c.at, Out: make([]Desc, 3)}); err == nil {
			t.Errorf("%s: no error", c.name)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	lens := &tensor.Tensor{DType: tensor.Int32, Shape: tensor.Shape{1}, Data: tensor.Bytes([]int32{9})}
	c := trial{op: "LSTM", in: []*tensor.Tensor{random(r, tensor.Float32, 2, 1, 3), random(r, tensor.Float32, 1, 20, 3), random(r, tensor.Float32, 1, 20, 5), nil, lens}}
	k, x, _, err := c.prepare()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Run(x); err == nil {
		t.Error("a sequence longer than the input: no error")
	}
}

func BenchmarkLSTM(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name         string
		steps, batch int
	}{{"128 one step", 1, 1}, {"128 50 steps", 50, 1}, {"128 50 steps batch 8", 50, 8}} {
		b.Run(c.name, func(b *testing.B) {
			benchTrial(b, trial{op: "LSTM", konst: []bool{false, true, true}, outs: 3,
				in: []*tensor.Tensor{random(r, tensor.Float32, c.steps, c.batch, 128), random(r, tensor.Float32, 1, 512, 128), random(r, tensor.Float32, 1, 512, 128)}})
		})
	}
}
