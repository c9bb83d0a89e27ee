package kernels_test

import (
	"testing"

	"npu/internal/sim/cost"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// Kernels that move data are charged for what they touch, in as many pieces as it lies in.
func TestCharge(t *testing.T) {
	desc := func(dt tensor.DType, dims ...int) kernels.Desc { return kernels.Desc{DType: dt, Shape: dims} }
	ints := func(v ...int64) kernels.Desc {
		c := &tensor.Tensor{DType: tensor.Int64, Shape: tensor.Shape{len(v)}, Data: tensor.Bytes(v)}
		return kernels.Desc{DType: tensor.Int64, Shape: c.Shape, Const: c}
	}
	f32 := tensor.Float32
	for _, c := range []struct {
		op                          string
		attrs                       kernels.Attrs
		in                          []kernels.Desc
		outs                        int
		read, write, elements, runs int64
	}{
		{op: "Slice", in: []kernels.Desc{desc(f32, 64, 8, 512), ints(0), ints(128), ints(2)}, outs: 1, read: 4 << 16, write: 4 << 16, elements: 1 << 16, runs: 512},
		{op: "Concat", attrs: kernels.Attrs{"axis": int64(2)}, in: []kernels.Desc{desc(f32, 4, 8, 256), desc(f32, 4, 8, 128)}, outs: 1, read: 4 * 4 * 8 * 384, write: 4 * 4 * 8 * 384, elements: 4 * 8 * 384, runs: 64},
		{op: "Transpose", attrs: kernels.Attrs{"perm": []int64{1, 0}}, in: []kernels.Desc{desc(f32, 100, 48)}, outs: 1, read: 19200, write: 19200, elements: 4800, runs: 100},
		{op: "Gather", in: []kernels.Desc{desc(f32, 1000, 64), desc(tensor.Int64, 16)}, outs: 1, read: 4096 + 128, write: 4096, elements: 1024, runs: 16},
		{op: "Add", in: []kernels.Desc{desc(f32, 512, 64), desc(f32, 512, 1)}, outs: 1, read: 4*512*64 + 2048, write: 4 * 512 * 64, elements: 512 * 64, runs: 512},
		{op: "Relu", in: []kernels.Desc{desc(f32, 512, 64)}, outs: 1, read: 4 * 512 * 64, write: 4 * 512 * 64, elements: 512 * 64},
	} {
		s := &kernels.Spec{Op: c.op, Opset: 17, Attrs: c.attrs, In: c.in, Out: make([]kernels.Desc, c.outs)}
		k, err := kernels.Compile(s)
		if err != nil {
			t.Fatal(c.op, err)
		}
		w := k.Work
		if w.ReadBytes != c.read || w.WriteBytes != c.write || w.Elements != c.elements || w.Runs != c.runs {
			t.Errorf("%s (%s): reads %d, writes %d, %d elements in %d pieces; want %d, %d, %d, %d", c.op, k.Type, w.ReadBytes, w.WriteBytes, w.Elements, w.Runs, c.read, c.write, c.elements, c.runs)
		}
	}
}

// A product of constants is laid out when the model is loaded, one of activations is transposed on the way.
func TestCharge_transposed(t *testing.T) {
	for _, constant := range []bool{false, true} {
		b := kernels.Desc{DType: tensor.Float32, Shape: tensor.Shape{96, 64}}
		if constant {
			c, err := tensor.New(b.DType, b.Shape)
			if err != nil {
				t.Fatal(err)
			}
			b.Const = c
		}
		s := &kernels.Spec{Op: "Gemm", Opset: 17, Attrs: kernels.Attrs{"transB": int64(1)}, In: []kernels.Desc{{DType: tensor.Float32, Shape: tensor.Shape{32, 64}}, b}, Out: make([]kernels.Desc, 1)}
		k, err := kernels.Compile(s)
		if err != nil {
			t.Fatal(err)
		}
		if k.Core != cost.AIC || k.Work.TransB == constant || k.Work.TransA {
			t.Errorf("constant %v: %+v", constant, k.Work)
		}
	}
}
