package work_test

import (
	"strings"
	"testing"

	"npu/internal/sim/cost"
	"npu/internal/sim/cost/work"
	"npu/internal/tensor"
)

// list reads "float16 4,8 ND; ..." as operands.
func list(t *testing.T, s string) (out []work.Operand) {
	t.Helper()
	for one := range strings.SplitSeq(s, ";") {
		f := strings.Fields(one)
		if len(f) == 0 {
			continue
		}
		dt, err := tensor.ParseDType(f[0])
		if err != nil {
			t.Fatal(err)
		}
		shape, err := tensor.ParseShape(f[1])
		if err != nil {
			t.Fatal(err)
		}
		n := int64(shape.Count())
		out = append(out, work.Operand{Shape: shape, DType: dt, Format: f[2], Count: n, Bytes: n * int64(dt.Size())})
	}
	return out
}

// Matrix products, by hand: M, N, K, batch, and which operand is transposed.
func TestOf_matrix(t *testing.T) {
	for _, c := range []struct {
		typ, in, out         string
		m, n, k, batch       int64
		transA, transB, zero bool
	}{
		{typ: "MatMulV2", in: "float16 4,8 ND; float16 8,16 ND", out: "float16 4,16 ND", m: 4, n: 16, k: 8, batch: 1},
		{typ: "MatMulV3", in: "float16 64,40 ND; float16 96,40 ND", out: "float16 64,96 ND", m: 64, n: 96, k: 40, batch: 1, transB: true},
		{typ: "MatMulV3", in: "float16 40,64 ND; float16 40,128 ND", out: "float16 64,128 ND", m: 64, n: 128, k: 40, batch: 1, transA: true},
		{typ: "BatchMatMul", in: "float16 12,64,32 ND; float16 12,32,96 ND", out: "float16 12,64,96 ND", m: 64, n: 96, k: 32, batch: 12},
		{typ: "BatchMatMulV2", in: "float16 2,64,32 ND; float16 32,96 ND", out: "float16 2,64,96 ND", m: 128, n: 96, k: 32, batch: 1},
		// FRACTAL_NZ: columns/16, rows/16, 16, 16
		{typ: "MatMulV2", in: "float16 2,4,16,16 FRACTAL_NZ; float16 6,2,16,16 FRACTAL_NZ", out: "float16 6,4,16,16 FRACTAL_NZ", m: 64, n: 96, k: 32, batch: 1},
		// 3×3 convolution, 8 images of 7×7 outputs, 32 to 64 channels
		{typ: "Conv2D", in: "float16 8,2,9,9,16 NC1HWC0; float16 18,4,16,16 FRACTAL_Z", out: "float16 8,4,7,7,16 NC1HWC0", m: 8 * 49, n: 64, k: 9 * 32, batch: 1},
		{typ: "Conv2D", in: "float16 8,32,9,9 NCHW; float16 64,32,3,3 NCHW", out: "float16 8,64,7,7 NCHW", m: 8 * 49, n: 64, k: 9 * 32, batch: 1},
		// its gradients do as many multiplications
		{typ: "Conv2DBackpropFilterD", in: "float16 8,2,9,9,16 NC1HWC0; float16 8,4,7,7,16 NC1HWC0", out: "float32 18,4,16,16 FRACTAL_Z", m: 9 * 32, n: 64, k: 8 * 49, batch: 1, transA: true},
		{typ: "Conv2DBackpropInput", in: "int32 4 ND; float16 18,4,16,16 FRACTAL_Z; float16 8,4,7,7,16 NC1HWC0", out: "float16 8,2,9,9,16 NC1HWC0", m: 8 * 49, n: 9 * 32, k: 64, batch: 1},
		// 16 heads of 128, 4096 tokens, a causal mask: half of the keys on average; keys and values have 8 heads
		{typ: "FlashAttentionScore", in: "bfloat16 4096,1,2048 ND; bfloat16 4096,1,1024 ND; bfloat16 4096,1,1024 ND; bool 2048,2048 ND",
			out: "float32 1,16,4096,8 ND; float32 1,16,4096,8 ND; bfloat16 4096,1,2048 ND", m: 4096, n: 2048, k: 2 * 2048, batch: 1},
		{typ: "FlashAttentionScore", in: "float16 2,16,512,64 ND; float16 2,16,512,64 ND; float16 2,16,512,64 ND", out: "float16 2,16,512,64 ND", m: 512, n: 512, k: 2 * 1024, batch: 2},
		{typ: "MatMul", in: "float16 4,8 ND", out: "float16 4,16 ND", zero: true},
		{typ: "Conv2D", in: "float16 4,8 ND; float16 4 ND", out: "float16 4,16 ND", zero: true},
	} {
		w, err := work.Of(c.typ, list(t, c.in), list(t, c.out))
		if c.zero {
			if err == nil {
				t.Errorf("%s %s: no error, %+v", c.typ, c.in, w)
			}
			continue
		}
		if err != nil || w.M != c.m || w.N != c.n || w.K != c.k || w.Batch != c.batch || w.TransA != c.transA || w.TransB != c.transB {
			t.Errorf("%s %s: %v %+v", c.typ, c.in, err, w)
		}
	}
}

// What else kernels read, write and walk, by hand.
func TestOf_movement(t *testing.T) {
	for _, c := range []struct {
		typ, in, out                string
		read, write, elements, runs int64
		cold                        bool
	}{
		{typ: "Add", in: "float32 4,256 ND; float32 256 ND", out: "float32 4,256 ND", read: 5 * 1024, write: 4096, elements: 1024},
		{typ: "Mul", in: "float32 512,1 ND; float32 64 ND", out: "float32 512,64 ND", read: 2304, write: 4 * 512 * 64, elements: 512 * 64, runs: 512},
		{typ: "Mul", in: "float32 2097152 ND; float32 1 ND", out: "float32 2097152 ND", read: 4*2097152 + 4, write: 4 * 2097152, elements: 2097152, cold: true},
		{typ: "Slice", in: "float16 64,8,512 ND; int64 3 ND; int64 3 ND", out: "float16 64,8,128 ND", read: 2 * 65536, write: 2 * 65536, elements: 65536, runs: 512},
		{typ: "ConcatD", in: "float16 64,8,256 ND; float16 64,8,128 ND", out: "float16 64,8,384 ND", read: 2 * 64 * 8 * 384, write: 2 * 64 * 8 * 384, elements: 64 * 8 * 384, runs: 1024},
		{typ: "ConcatD", in: "float16 8,4 ND; float16 8,4 ND", out: "float16 16,4 ND", read: 128, write: 128, elements: 64},
		{typ: "Transpose", in: "float16 4,3,100,512 ND; int32 4 ND", out: "float16 100,4,3,512 ND", read: 2*4*3*100*512 + 16, write: 2 * 4 * 3 * 100 * 512, elements: 4 * 3 * 100 * 512, runs: 1200},
		{typ: "Transpose", in: "float16 100,48 ND; int32 2 ND", out: "float16 48,100 ND", read: 9600 + 8, write: 9600, elements: 4800, runs: 100},
		{typ: "GatherV2", in: "float16 1000,64 ND; int64 1,16 ND; int64 1 ND", out: "float16 1,16,64 ND", read: 2048 + 128 + 8, write: 2048, elements: 1024, runs: 16},
		{typ: "ZerosLike", in: "float32 64,64 ND", out: "float32 64,64 ND", read: 0, write: 16384, elements: 4096},
		{typ: "ReduceSumD", in: "float32 64,64 ND", out: "float32 64 ND", read: 16384, write: 256, elements: 4096},
		{typ: "ApplyAdamWV2", in: "float32 64 ND; float32 64 ND; float32 64 ND; float32 64 ND; int64 1 ND", out: "", read: 1032, write: 776, elements: 64},
		{typ: "Unheard", in: "float32 64 ND", out: "float32 64 ND", read: 256, write: 256, elements: 64},
	} {
		w, err := work.Of(c.typ, list(t, c.in), list(t, c.out))
		if err != nil || w.ReadBytes != c.read || w.WriteBytes != c.write || w.Elements != c.elements || w.Runs != c.runs || w.Cold != c.cold || w.Type != c.typ {
			t.Errorf("%s %s: %v %+v", c.typ, c.in, err, w)
		}
		if op := cost.LookupOperator(c.typ); w.VectorOps < w.Elements*op.Instr {
			t.Errorf("%s: %d vector operations", c.typ, w.VectorOps)
		}
	}
	if _, err := work.Of("Add", nil, nil); err == nil {
		t.Error("no error for no operands")
	}
}
