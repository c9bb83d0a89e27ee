package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

// refConv is a convolution by its definition. All spatial lists have three numbers; x is n×c×in, w is m×c/g×kernel.
func refConv(x, w []float64, n, c, m, g int, in, k, s, d, lo, out [3]int) []float64 {
	y := make([]float64, 0, n*m*out[0]*out[1]*out[2])
	for b := range n {
		for oc := range m {
			for p := range out[0] * out[1] * out[2] {
				o := [3]int{p / out[2] / out[1], p / out[2] % out[1], p % out[2]}
				sum := 0.0
				for ic := range c / g {
					for q := range k[0] * k[1] * k[2] {
						kk := [3]int{q / k[2] / k[1], q / k[2] % k[1], q % k[2]}
						at, ok := 0, true
						for e := range 3 {
							i := o[e]*s[e] + kk[e]*d[e] - lo[e]
							ok = ok && i >= 0 && i < in[e]
							at = at*in[e] + i
						}
						if ok {
							ch := b*c + oc/(m/g)*(c/g) + ic
							sum += x[ch*in[0]*in[1]*in[2]+at] * w[(oc*(c/g)+ic)*k[0]*k[1]*k[2]+q]
						}
					}
				}
				y = append(y, sum)
			}
		}
	}
	return y
}

// convCase draws sizes for rank spatial dimensions; the lists are right-aligned in three.
type convCase struct {
	rank                int
	n, c, m, g          int
	in, k, s, d, lo, hi [3]int
}

func drawConv(r *rand.Rand) convCase {
	v := convCase{rank: 1 + r.IntN(3), n: 1 + r.IntN(2), g: 1}
	ones := [3]int{1, 1, 1}
	v.in, v.k, v.s, v.d = ones, ones, ones, ones
	for e := 3 - v.rank; e < 3; e++ {
		v.k[e], v.s[e], v.d[e] = 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(2)
		v.in[e] = 1 + r.IntN(12)
		if v.rank == 2 {
			v.in[e] += r.IntN(12)
		}
		v.lo[e], v.hi[e] = r.IntN(3), r.IntN(3)
		for v.in[e]+v.lo[e]+v.hi[e] < (v.k[e]-1)*v.d[e]+1 {
			v.in[e]++
		}
	}
	v.c, v.m = 1+r.IntN(5), 1+r.IntN(9)
	switch r.IntN(4) {
	case 0:
		v.g = 2
		v.c, v.m = 2*v.c, 2*v.m
	case 1: // depthwise, perhaps with several outputs a channel
		v.g = v.c
		v.m = v.c * (1 + r.IntN(2))
	}
	return v
}

func (v convCase) spatial(l [3]int) []int { return l[3-v.rank:] }

func (v convCase) attrs() Attrs {
	return Attrs{"strides": i64(v.spatial(v.s)...), "dilations": i64(v.spatial(v.d)...), "group": int64(v.g),
		"pads": append(i64(v.spatial(v.lo)...), i64(v.spatial(v.hi)...)...), "kernel_shape": i64(v.spatial(v.k)...)}
}

func (v convCase) out() (o [3]int) {
	for e := range 3 {
		o[e] = (v.in[e]+v.lo[e]+v.hi[e]-(v.k[e]-1)*v.d[e]-1)/v.s[e] + 1
	}
	return o
}

func TestConv_againstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for i := range 250 {
		v := drawConv(r)
		dt := []tensor.DType{tensor.Float32, tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float64}[r.IntN(5)]
		c := trial{op: "Conv", attrs: v.attrs(), konst: []bool{false, i%2 == 0}}
		x := random(r, dt, append([]int{v.n, v.c}, v.spatial(v.in)...)...)
		w := random(r, dt, append([]int{v.m, v.c / v.g}, v.spatial(v.k)...)...)
		c.in = []*tensor.Tensor{x, w}
		out := v.out()
		want := refConv(numbers(x), numbers(w), v.n, v.c, v.m, v.g, v.in, v.k, v.s, v.d, v.lo, out)
		pixels := out[0] * out[1] * out[2]
		if r.IntN(2) == 0 {
			c.in = append(c.in, random(r, dt, v.m))
			b := numbers(c.in[2])
			for j := range want {
				want[j] += b[j/pixels%v.m]
			}
		}
		if r.IntN(2) == 0 {
			c.op = "FusedConv"
			someActivation(r, c.attrs)
			if r.IntN(2) == 0 {
				z := random(r, dt, append([]int{v.n, v.m}, v.spatial(out)...)...)
				if len(c.in) == 2 {
					c.in = append(c.in, nil)
				}
				c.in = append(c.in, z)
				for j, q := range numbers(z) {
					want[j] += q
				}
			}
			for j := range want {
				want[j] = refAct(c.attrs, want[j])
			}
		}
		c.near(t, c.run(t)[0], want)
	}
}

func TestConv_typicalLayers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, v := range []convCase{
		{2, 1, 70, 90, 1, [3]int{1, 29, 31}, [3]int{1, 3, 3}, [3]int{1, 1, 1}, [3]int{1, 1, 1}, [3]int{0, 1, 1}, [3]int{0, 1, 1}},
		{2, 2, 400, 20, 1, [3]int{1, 9, 15}, [3]int{1, 1, 1}, [3]int{1, 1, 1}, [3]int{1, 1, 1}, [3]int{}, [3]int{}},
		{2, 1, 3, 32, 1, [3]int{1, 65, 65}, [3]int{1, 7, 7}, [3]int{1, 2, 2}, [3]int{1, 1, 1}, [3]int{0, 3, 3}, [3]int{0, 3, 3}},
		{2, 1, 64, 64, 64, [3]int{1, 33, 40}, [3]int{1, 3, 3}, [3]int{1, 2, 2}, [3]int{1, 1, 1}, [3]int{0, 1, 1}, [3]int{0, 1, 1}},
		{2, 1, 33, 33, 33, [3]int{1, 20, 20}, [3]int{1, 5, 5}, [3]int{1, 1, 1}, [3]int{1, 1, 1}, [3]int{0, 2, 2}, [3]int{0, 2, 2}},
		{2, 3, 40, 700, 1, [3]int{1, 5, 5}, [3]int{1, 5, 5}, [3]int{1, 1, 1}, [3]int{1, 1, 1}, [3]int{}, [3]int{}},
		{1, 1, 512, 8, 1, [3]int{1, 1, 100}, [3]int{1, 1, 9}, [3]int{1, 1, 4}, [3]int{1, 1, 3}, [3]int{0, 0, 24}, [3]int{}},
	} {
		x := random(r, tensor.Float32, append([]int{v.n, v.c}, v.spatial(v.in)...)...)
		w := random(r, tensor.Float32, append([]int{v.m, v.c / v.g}, v.spatial(v.k)...)...)
		want := refConv(numbers(x), numbers(w), v.n, v.c, v.m, v.g, v.in, v.k, v.s, v.d, v.lo, v.out())
		for _, konst := range []bool{false, true} {
			c := trial{op: "Conv", attrs: v.attrs(), konst: []bool{false, konst}, in: []*tensor.Tensor{x, w}}
			c.near(t, c.run(t)[0], want)
		}
	}
}

// TestConvTranspose_againstDefinition scatters each input element over its window.
func TestConvTranspose_againstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for i := range 200 {
		v := drawConv(r)
		co := 1 + r.IntN(4) // output channels of a group
		var extra, out [3]int
		ok := true
		for e := range 3 {
			if e >= 3-v.rank && r.IntN(2) == 0 {
				extra[e] = r.IntN(max(v.s[e], v.d[e]))
			}
			out[e] = (v.in[e]-1)*v.s[e] + extra[e] + (v.k[e]-1)*v.d[e] + 1 - v.lo[e] - v.hi[e]
			ok = ok && out[e] > 0
		}
		if !ok {
			continue
		}
		at := v.attrs()
		at["output_padding"] = i64(v.spatial(extra)...)
		dt := []tensor.DType{tensor.Float32, tensor.Float32, tensor.Float16}[r.IntN(3)]
		x := random(r, dt, append([]int{v.n, v.c}, v.spatial(v.in)...)...)
		w := random(r, dt, append([]int{v.c, co}, v.spatial(v.k)...)...)
		b := random(r, dt, co*v.g)
		xv, wv, bv := numbers(x), numbers(w), numbers(b)
		pixels, taps, area := volume(out), volume(v.k), volume(v.in)
		want := make([]float64, v.n*v.g*co*pixels)
		for j := range want {
			want[j] = bv[j/pixels%(co*v.g)]
		}
		for n := range v.n {
			for ic := range v.c {
				g := ic / (v.c / v.g)
				for oc := range co {
					for p := range area {
						for q := range taps {
							pos := [3]int{p / v.in[2] / v.in[1], p / v.in[2] % v.in[1], p % v.in[2]}
							kk := [3]int{q / v.k[2] / v.k[1], q / v.k[2] % v.k[1], q % v.k[2]}
							o, inside := 0, true
							for e := range 3 {
								a := pos[e]*v.s[e] + kk[e]*v.d[e] - v.lo[e]
								inside = inside && a >= 0 && a < out[e]
								o = o*out[e] + a
							}
							if inside {
								want[((n*v.g+g)*co+oc)*pixels+o] += xv[(n*v.c+ic)*area+p] * wv[(ic*co+oc)*taps+q]
							}
						}
					}
				}
			}
		}
		c := trial{op: "ConvTranspose", attrs: at, konst: []bool{false, i%2 == 0}, in: []*tensor.Tensor{x, w, b}}
		c.near(t, c.run(t)[0], want)
	}
}

func TestConv_inferAndReject(t *testing.T) {
	f := func(s ...int) Desc { return Desc{DType: tensor.Float32, Shape: s} }
	x, w := f(1, 4, 9, 9), f(8, 4, 3, 3)
	for _, c := range []struct {
		name string
		op   string
		in   []Desc
		at   Attrs
		want tensor.Shape // nil: an error
	}{
		{"plain", "Conv", []Desc{x, w}, nil, tensor.Shape{1, 8, 7, 7}},
		{"unknown", "Conv", []Desc{f(-1, 4, -1, 9), w}, nil, tensor.Shape{-1, 8, -1, 7}},
		{"unknown weights", "Conv", []Desc{x, f(-1, -1, -1, 3)}, nil, tensor.Shape{1, -1, -1, 7}},
		{"same", "Conv", []Desc{x, w}, Attrs{"auto_pad": "SAME_UPPER", "strides": i64(2, 2)}, tensor.Shape{1, 8, 5, 5}},
		{"valid", "Conv", []Desc{x, w}, Attrs{"auto_pad": "VALID", "strides": i64(2, 2)}, tensor.Shape{1, 8, 4, 4}},
		{"zero stride", "Conv", []Desc{x, w}, Attrs{"strides": i64(0, 1)}, nil},
		{"negative stride", "Conv", []Desc{x, w}, Attrs{"strides": i64(-1, 1)}, nil},
		{"negative pad", "Conv", []Desc{x, w}, Attrs{"pads": i64(-1, 0, 0, 0)}, nil},
		{"huge pad", "Conv", []Desc{x, w}, Attrs{"pads": i64(math.MaxInt64, 0, 0, 0)}, nil},
		{"huge dilation", "Conv", []Desc{x, w}, Attrs{"dilations": i64(math.MaxInt64, 1)}, nil},
		{"short list", "Conv", []Desc{x, w}, Attrs{"strides": i64(1)}, nil},
		{"other kernel", "Conv", []Desc{x, w}, Attrs{"kernel_shape": i64(5, 5)}, nil},
		{"zero kernel", "Conv", []Desc{x, f(8, 4, 0, 3)}, nil, nil},
		{"large kernel", "Conv", []Desc{x, f(8, 4, 10, 3)}, nil, nil},
		{"no group", "Conv", []Desc{x, w}, Attrs{"group": int64(0)}, nil},
		{"channels", "Conv", []Desc{x, f(8, 3, 3, 3)}, nil, nil},
		{"groups", "Conv", []Desc{f(1, 12, 9, 9), w}, Attrs{"group": int64(3)}, nil},
		{"auto_pad", "Conv", []Desc{x, w}, Attrs{"auto_pad": "SAME"}, nil},
		{"bias", "Conv", []Desc{x, w, f(7)}, nil, nil},
		{"rank", "Conv", []Desc{f(1, 4), f(8, 4)}, nil, nil},
		{"four spatial", "Conv", []Desc{f(1, 4, 5, 5, 5, 5), f(8, 4, 1, 1, 1, 1)}, nil, nil},
		{"transposed", "ConvTranspose", []Desc{f(1, 8, -1, 7), w}, Attrs{"strides": i64(2, 2)}, tensor.Shape{1, 4, -1, 15}},
		{"transposed to a shape", "ConvTranspose", []Desc{f(1, 8, 7, 7), w}, Attrs{"strides": i64(2, 2), "output_shape": i64(14, 14)}, tensor.Shape{1, 4, 14, 14}},
		{"transposed away", "ConvTranspose", []Desc{f(1, 8, 1, 1), w}, Attrs{"pads": i64(2, 2, 2, 2)}, nil},
		{"output padding", "ConvTranspose", []Desc{f(1, 8, 1, 1), w}, Attrs{"output_padding": i64(-2, 2)}, nil},
		{"huge stride", "ConvTranspose", []Desc{f(1, 8, 4, 4), w}, Attrs{"strides": i64(math.MaxInt64, 1)}, nil},
	} {
		s := &Spec{Op: c.op, Opset: 13, In: c.in, Attrs: c.at, Out: make([]Desc, 1)}
		err := Infer(s)
		if c.want == nil && err == nil {
			t.Errorf("%s: no error, shape %v", c.name, s.Out[0].Shape)
		}
		if c.want != nil && (err != nil || !s.Out[0].Shape.Equal(c.want)) {
			t.Errorf("%s: %v, %v, want %v", c.name, s.Out[0].Shape, err, c.want)
		}
	}
}

func TestConv_account(t *testing.T) {
	f := func(s ...int) Desc { return Desc{DType: tensor.Float16, Shape: s} }
	s := &Spec{Op: "Conv", Opset: 13, Attrs: Attrs{"pads": i64(1, 1, 1, 1), "group": int64(2)}, Out: make([]Desc, 1),
		In: []Desc{f(3, 64, 56, 56), {DType: tensor.Float16, Shape: tensor.Shape{128, 32, 3, 3}, Const: &tensor.Tensor{}}}}
	k, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	w := k.Work
	if w.M != 3136 || w.K != 32*9 || w.N != 64 || w.Batch != 6 || w.MacType != tensor.Float16 || w.WeightBytes != 128*32*9*2 ||
		w.ReadBytes != 3*64*3136*2+w.WeightBytes || w.WriteBytes != 3*128*3136*2 || k.Type != "Conv2D" || k.Blocks != 6*25 {
		t.Errorf("kernel %s of %d blocks: %+v", k.Type, k.Blocks, w)
	}
}

func BenchmarkConv(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name             string
		c, m, g, size, k int
	}{
		{"3x3 64-64 56", 64, 64, 1, 56, 3}, {"1x1 256-256 28", 256, 256, 1, 28, 1}, {"depthwise 3x3 128 56", 128, 128, 128, 56, 3},
		{"3x3 512-512 7", 512, 512, 1, 7, 3},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := c.k / 2
			benchTrial(b, trial{op: "Conv", attrs: Attrs{"pads": i64(p, p, p, p), "group": int64(c.g)}, konst: []bool{false, true},
				in: []*tensor.Tensor{random(r, tensor.Float32, 1, c.c, c.size, c.size), random(r, tensor.Float32, c.m, c.c/c.g, c.k, c.k)}})
		})
	}
}
