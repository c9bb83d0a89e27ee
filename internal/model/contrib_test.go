package model

import (
	"math"
	"testing"

	"npu/internal/model/onnx"
	"npu/internal/sim/kernels"
	"npu/internal/sim/soc"
	"npu/internal/tensor"
)

// TestContrib holds operators of ONNX Runtime, and an Einsum of three operands, against their definition.
func TestContrib(t *testing.T) {
	x := []float64{-2, -0.5, 0.25, 1, 3, -1}
	gelu := func(v float64) float64 { return v / 2 * (1 + math.Erf(v/math.Sqrt2)) }
	norm := func(v []float64) []float64 { // rows of three
		out := make([]float64, len(v))
		for r := 0; r < len(v); r += 3 {
			mean, square := (v[r]+v[r+1]+v[r+2])/3, 0.0
			for i := range 3 {
				square += (v[r+i] - mean) * (v[r+i] - mean) / 3
			}
			for i := range 3 {
				out[r+i] = (v[r+i] - mean) / math.Sqrt(square+1e-5)
			}
		}
		return out
	}
	each := func(f func(float64) float64) []float64 {
		out := make([]float64, len(x))
		for i, v := range x {
			out[i] = f(v)
		}
		return out
	}
	quant := func(v, scale float64) float64 { return math.RoundToEven(v/scale) * scale } // zero point 128, nothing saturates
	for _, c := range []struct {
		op, in string
		attrs  kernels.Attrs
		want   []float64
	}{
		{"com.microsoft.Gelu", "x", nil, each(gelu)},
		{"com.microsoft.BiasGelu", "x b", nil, each(func(v float64) float64 { return gelu(v + 0.5) })},
		{"com.microsoft.QuickGelu", "x", kernels.Attrs{"alpha": float32(2)}, each(func(v float64) float64 { return v / (1 + math.Exp(-2*v)) })},
		{"com.microsoft.SkipLayerNormalization", "x x one", kernels.Attrs{"epsilon": float32(1e-5)}, norm(each(func(v float64) float64 { return 2 * v }))},
		{"com.microsoft.FusedMatMul", "x w", kernels.Attrs{"alpha": float32(0.5), "transB": int64(1)}, []float64{0.5 * (-2 + -0.5 + 0.25), 0.5 * (1 + 3 - 1)}},
		{"Einsum", "x w w", kernels.Attrs{"equation": "ij,kj,kl->il"}, []float64{-2.25, -2.25, -2.25, 3, 3, 3}},
	} {
		got := contribOutput(t, c.op, c.in, c.attrs, x)
		for i := range c.want {
			if math.Abs(got[i]-c.want[i]) > 1e-5 {
				t.Errorf("%s gives %v, want %v", c.op, got, c.want)
				break
			}
		}
	}
	got := contribOutput(t, "com.microsoft.QLinearAdd", "xq s z xq s z s2 z", nil, x)
	for i, v := range x {
		if want := quant(2*quant(v, 0.03), 0.06); math.Abs(got[i]-want) > 1e-6 {
			t.Errorf("QLinearAdd of %v gives %v, want %v", v, got[i], want)
		}
	}
}

// contribOutput runs one operator on x, 2×3; a quantised result is brought back.
func contribOutput(t *testing.T, op, in string, attrs kernels.Attrs, x []float64) []float64 {
	t.Helper()
	b := onnx.NewBuilder("contrib", 13)
	b.Input("x", tensor.Float32, "2,3")
	b.Scalar("b", 0.5)
	b.Floats("one", tensor.Shape{3}, 1, 1, 1)
	b.Floats("w", tensor.Shape{1, 3}, 1, 1, 1)
	b.Scalar("s", 0.03)
	b.Scalar("s2", 0.06)
	b.Initializer("z", &tensor.Tensor{DType: tensor.Uint8, Data: []byte{128}})
	b.Node("QuantizeLinear", "x s z", "xq", nil)
	b.Node(op, in, "y", attrs)
	out := "y"
	if op == "com.microsoft.QLinearAdd" {
		out = "d"
		b.Node("DequantizeLinear", "y s2 z", out, nil)
	}
	b.Output(out, tensor.Float32, "2,k")
	file, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	m, err := OpenBytes("contrib", file, Options{})
	if err != nil {
		t.Fatalf("%s: %v", op, err)
	}
	chip, err := soc.Lookup("Ascend910B3")
	if err != nil {
		t.Fatal(err)
	}
	f64, err := tensor.FromFloat64s(tensor.Shape{2, 3}, x)
	if err != nil {
		t.Fatal(err)
	}
	f32, err := f64.As(tensor.Float32)
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Run(t.Context(), RunOptions{Chip: chip, Mode: Sunk, Loop: HostLoop, Iterations: 1, Threads: 1, Inputs: map[string]*tensor.Tensor{"x": f32}})
	if err != nil {
		t.Fatalf("%s: %v", op, err)
	}
	got, err := tensor.Floats(res.Outputs[0])
	if err != nil {
		t.Fatal(err)
	}
	return got
}
