package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

// TestQuantize_againstDefinition: every way through QuantizeLinear and back gives what the definition says, element by
// element, ties and ends included.
func TestQuantize_againstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const rows, width = 5, 700
	for _, dt := range []tensor.DType{tensor.Int8, tensor.Uint8, tensor.Int16, tensor.Uint16, tensor.Int4, tensor.Uint4, tensor.Int2, tensor.Uint2} {
		lo, hi := bounds(dt)
		for _, perRow := range []bool{false, true} {
			x := make([]float32, rows*width)
			scales, zeros := make([]float32, rows), make([]float64, rows)
			for i := range scales {
				scales[i] = []float32{0.5, 0.25, 1, 2, 0.125}[i]
				zeros[i] = float64(int(lo) + r.IntN(int(hi-lo)+1))
			}
			for i := range x {
				k := float32(r.IntN(3*int(hi-lo))) - 1.5*(hi-lo)
				x[i] = (k + []float32{0, 0.5, 0.25}[i%3]) * scales[i/width]
			}
			x[0], x[1], x[2] = float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))
			n := rows
			if !perRow {
				n = 1
			}
			in := []*tensor.Tensor{floatTensor(t, tensor.Shape{rows, width}, x), floatTensor(t, listOrScalar(n, perRow), scales[:n]), typed(t, dt, listOrScalar(n, perRow), zeros[:n])}
			attrs := Attrs{"axis": int64(0)}
			q := runSpec(t, "QuantizeLinear", attrs, in)
			got, err := tensor.Floats(q)
			if err != nil {
				t.Fatal(err)
			}
			back, err := tensor.Floats(runSpec(t, "DequantizeLinear", attrs, []*tensor.Tensor{q, in[1], in[2]}))
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range x {
				p := 0
				if perRow {
					p = i / width
				}
				want := math.RoundToEven(float64(f / scales[p]))
				if f != f {
					want = 0
				}
				want = min(max(want+zeros[p], float64(lo)), float64(hi))
				if got[i] != want {
					t.Fatalf("%v, per row %v: %g with scale %g and zero point %g gives %g, want %g", dt, perRow, f, scales[p], zeros[p], got[i], want)
				}
				if want := (want - zeros[p]) * float64(scales[p]); back[i] != want {
					t.Fatalf("%v, per row %v: %g comes back as %g, want %g", dt, perRow, got[i], back[i], want)
				}
			}
		}
	}
}

func listOrScalar(n int, list bool) tensor.Shape {
	if list {
		return tensor.Shape{n}
	}
	return tensor.Shape{}
}

func floatTensor(t *testing.T, s tensor.Shape, v []float32) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromFloat32s(s, v)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func typed(t *testing.T, dt tensor.DType, s tensor.Shape, v []float64) *tensor.Tensor {
	t.Helper()
	x, err := tensor.New(dt, s)
	if err == nil {
		err = tensor.EncodeFloats(x.Data, dt, 0, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// runSpec computes one operator of one result.
func runSpec(t *testing.T, op string, attrs Attrs, in []*tensor.Tensor) *tensor.Tensor {
	t.Helper()
	s := &Spec{Op: op, Opset: 21, Attrs: attrs, Out: make([]Desc, 1)}
	x := &Exec{}
	for _, v := range in {
		s.In, x.In = append(s.In, Desc{DType: v.DType, Shape: v.Shape}), append(x.In, v.Data)
	}
	if err := Infer(s); err != nil {
		t.Fatal(err)
	}
	k, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	out, err := tensor.New(s.Out[0].DType, s.Out[0].Shape)
	if err != nil {
		t.Fatal(err)
	}
	x.Out, x.Workspace = [][]byte{out.Data}, make([]byte, k.Workspace)
	if err := k.Run(x); err != nil {
		t.Fatal(err)
	}
	return out
}
