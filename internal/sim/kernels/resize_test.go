package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

// refResize evaluates one output element by the operator's definition: dimension by dimension, in float64.
type refResize struct {
	mode, coord, nearest string
	scale                []float64
	in, out              []int
	exclude              bool
	v                    []float64
}

func (z *refResize) at(d, off int, pos []int) float64 {
	if d == len(z.in) {
		return z.v[off]
	}
	in, o := float64(z.in[d]), float64(pos[d])
	var x float64
	switch z.coord {
	case "half_pixel":
		x = (o+0.5)/z.scale[d] - 0.5
	case "half_pixel_symmetric":
		x = in/2*(1-float64(z.out[d])/(z.scale[d]*in)) + (o+0.5)/z.scale[d] - 0.5
	case "pytorch_half_pixel":
		if z.out[d] > 1 {
			x = (o+0.5)/z.scale[d] - 0.5
		}
	case "align_corners":
		if z.out[d] > 1 {
			x = o * (in - 1) / (z.scale[d]*in - 1)
		}
	case "asymmetric":
		x = o / z.scale[d]
	case "tf_half_pixel_for_nn":
		x = (o + 0.5) / z.scale[d]
	}
	read := func(i int) float64 {
		return z.at(d+1, off*z.in[d]+min(max(i, 0), z.in[d]-1), pos)
	}
	f := math.Floor(x)
	frac := x - f
	switch z.mode {
	case "nearest":
		switch {
		case z.nearest == "ceil", z.nearest == "round_prefer_ceil" && frac >= 0.5, z.nearest == "round_prefer_floor" && frac > 0.5:
			return read(int(math.Ceil(x)))
		}
		return read(int(f))
	case "linear":
		return read(int(f))*(1-frac) + read(int(f)+1)*frac
	}
	const a = -0.5
	w := []float64{
		((a*(frac+1)-5*a)*(frac+1)+8*a)*(frac+1) - 4*a, ((a+2)*frac-(a+3))*frac*frac + 1,
		((a+2)*(1-frac)-(a+3))*(1-frac)*(1-frac) + 1, ((a*(2-frac)-5*a)*(2-frac)+8*a)*(2-frac) - 4*a,
	}
	sum, total := 0.0, 0.0
	for k := range w {
		i := int(f) - 1 + k
		if z.exclude && (i < 0 || i >= z.in[d]) {
			continue
		}
		sum, total = sum+w[k]*read(i), total+w[k]
	}
	if z.exclude {
		sum /= total
	}
	return sum
}

func TestResize_againstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 13))
	coords := []string{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"}
	for i := range 300 {
		z := &refResize{mode: []string{"nearest", "linear", "cubic"}[i%3], coord: coords[r.IntN(len(coords))],
			nearest: []string{"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"}[r.IntN(4)], exclude: r.IntN(2) == 0}
		rank := 1 + r.IntN(5)
		scales, sizes := []float32{}, []int{}
		for range rank {
			n, f := 1+r.IntN(6), []float32{1, 1, 2, 0.5, 1.5, 4, 0.75}[r.IntN(7)]
			for int(f*float32(n)) < 1 {
				n++
			}
			z.in, z.out = append(z.in, n), append(z.out, int(f*float32(n)))
			scales, sizes = append(scales, f), append(sizes, z.out[len(z.out)-1])
			z.scale = append(z.scale, float64(f))
		}
		dt := []tensor.DType{tensor.Float32, tensor.Float16, tensor.Float32}[r.IntN(3)]
		if z.mode == "nearest" && r.IntN(2) == 0 {
			dt = []tensor.DType{tensor.Uint8, tensor.Int32, tensor.Int64}[r.IntN(3)]
		}
		at := Attrs{"mode": z.mode, "coordinate_transformation_mode": z.coord, "nearest_mode": z.nearest, "cubic_coeff_a": float32(-0.5)}
		if z.exclude {
			at["exclude_outside"] = int64(1)
		}
		x := random(r, dt, z.in...)
		c := trial{op: "Resize", attrs: at, in: []*tensor.Tensor{x, nil, floats(scales...), nil}, konst: []bool{false, true, true, true}}
		if r.IntN(3) == 0 && z.mode != "nearest" && z.coord != "align_corners" { // ties of the nearest mode need exact scales
			c.in[2], c.in[3] = nil, ints(sizes...)
			for d := range z.scale {
				z.scale[d] = float64(float32(sizes[d]) / float32(z.in[d]))
			}
		}
		if z.coord == "align_corners" && z.mode == "nearest" {
			continue // ties depend on the rounding of the quotient
		}
		z.v = numbers(x)
		want := make([]float64, tensor.Shape(z.out).Count())
		for o := range want {
			pos, rest := make([]int, rank), o
			for d := rank - 1; d >= 0; d-- {
				pos[d], rest = rest%z.out[d], rest/z.out[d]
			}
			want[o] = z.at(0, 0, pos)
		}
		c.near(t, c.run(t)[0], want)
	}
}

func TestUpsample_oldForms(t *testing.T) {
	x := &tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{1, 1, 2, 2}, Data: tensor.Bytes([]float32{1, 2, 3, 4})}
	want := []float64{1, 1, 2, 2, 3, 3, 4, 4}
	for _, c := range []trial{
		{op: "Upsample", opset: 7, attrs: Attrs{"scales": []float32{1, 1, 1, 2}}, in: []*tensor.Tensor{x}},
		{op: "Upsample", opset: 9, in: []*tensor.Tensor{x, floats(1, 1, 1, 2)}, konst: []bool{false, true}},
		{op: "Resize", opset: 10, in: []*tensor.Tensor{x, floats(1, 1, 1, 2)}, konst: []bool{false, true}},
	} {
		c.near(t, c.run(t)[0], want)
	}
}

func TestResize_inferAndReject(t *testing.T) {
	x := Desc{DType: tensor.Float32, Shape: tensor.Shape{1, 3, -1, 8}}
	konst := func(t *tensor.Tensor) Desc { return Desc{DType: t.DType, Shape: t.Shape, Const: t} }
	for _, c := range []struct {
		name string
		in   []Desc
		at   Attrs
		want tensor.Shape
	}{
		{"scales", []Desc{x, {}, konst(floats(1, 1, 2, 2))}, nil, tensor.Shape{1, 3, -1, 16}},
		{"unknown scales", []Desc{x, {}, {DType: tensor.Float32, Shape: tensor.Shape{4}}}, nil, tensor.Shape{-1, -1, -1, -1}},
		{"sizes", []Desc{x, {}, konst(floats()), konst(ints(1, 3, 5, 4))}, nil, tensor.Shape{1, 3, 5, 4}},
		{"axes", []Desc{x, {}, {}, konst(ints(4))}, Attrs{"axes": i64(-1)}, tensor.Shape{1, 3, -1, 4}},
		{"aspect of an unknown", []Desc{x, {}, {}, konst(ints(7, 4))}, Attrs{"axes": i64(2, 3), "keep_aspect_ratio_policy": "not_larger"}, tensor.Shape{1, 3, -1, -1}},
		{"zero scale", []Desc{x, {}, konst(floats(1, 1, 0, 2))}, nil, nil},
		{"endless scale", []Desc{x, {}, konst(floats(1, 1, 1, float32(math.Inf(1))))}, nil, nil},
		{"no number", []Desc{x, {}, konst(floats(1, 1, 1, float32(math.NaN())))}, nil, nil},
		{"negative size", []Desc{x, {}, {}, konst(ints(1, 3, -5, 4))}, nil, nil},
		{"huge size", []Desc{x, {}, {}, konst(ints(1, 3, math.MaxInt, 4))}, nil, nil},
		{"short list", []Desc{x, {}, konst(floats(2, 2))}, nil, nil},
		{"both", []Desc{x, {}, konst(floats(1, 1, 2, 2)), konst(ints(1, 3, 5, 4))}, nil, nil},
		{"neither", []Desc{x}, nil, nil},
		{"mode", []Desc{x, {}, konst(floats(1, 1, 2, 2))}, Attrs{"mode": "area"}, nil},
		{"axis", []Desc{x, {}, konst(floats(2))}, Attrs{"axes": i64(4)}, nil},
		{"no roi", []Desc{x, {}, konst(floats(1, 1, 2, 2))}, Attrs{"coordinate_transformation_mode": "tf_crop_and_resize"}, nil},
	} {
		s := &Spec{Op: "Resize", Opset: 18, In: c.in, Attrs: c.at, Out: make([]Desc, 1)}
		err := Infer(s)
		if c.want == nil && err == nil {
			t.Errorf("%s: no error, shape %v", c.name, s.Out[0].Shape)
		}
		if c.want != nil && (err != nil || !s.Out[0].Shape.Equal(c.want)) {
			t.Errorf("%s: %v, %v, want %v", c.name, s.Out[0].Shape, err, c.want)
		}
	}
}

func BenchmarkResize(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, mode := range []string{"nearest", "linear"} {
		b.Run(mode+" 96x20x28 x2", func(b *testing.B) {
			benchTrial(b, trial{op: "Resize", attrs: Attrs{"mode": mode, "coordinate_transformation_mode": "asymmetric"}, konst: []bool{false, true, true},
				in: []*tensor.Tensor{random(r, tensor.Float32, 1, 96, 20, 28), nil, floats(1, 1, 2, 2)}})
		})
	}
}
