package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

// TestHostileAttributes gives the operators of this family attributes and shapes that no model has: they may refuse
// them, and must not panic, hang or compile something whose run panics.
func TestHostileAttributes(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 14))
	number := func() int {
		wild := []int{0, 1, 2, 3, 5, 1, 1, 2, -1, -2, 1 << 20, 1 << 31, 1 << 40, math.MaxInt, math.MinInt, math.MaxInt32}
		return wild[r.IntN(len(wild))]
	}
	list := func(n int) []int64 {
		v := make([]int64, n)
		for i := range v {
			v[i] = int64(1 + r.IntN(2))
			if r.IntN(6) == 0 {
				v[i] = int64(number())
			}
		}
		return v
	}
	names := []string{"kernel_shape", "strides", "dilations", "pads", "output_padding", "output_shape", "axes"}
	numbers := []string{"group", "ceil_mode", "axis", "num_groups", "size", "hidden_size", "layout", "p", "transA", "transB", "storage_order", "count_include_pad", "stash_type"}
	ops := []string{"Conv", "FusedConv", "ConvTranspose", "MatMul", "FusedMatMul", "Gemm", "MaxPool", "AveragePool", "LpPool", "GlobalMaxPool",
		"GlobalAveragePool", "BatchNormalization", "InstanceNormalization", "GroupNormalization", "LayerNormalization", "RMSNormalization",
		"LRN", "Softmax", "Hardmax", "LSTM", "GRU", "RNN", "Resize", "Upsample"}
	ran := map[string]int{}
	for range 60_000 {
		s := &Spec{Op: ops[r.IntN(len(ops))], Opset: 6 + r.IntN(18), Attrs: Attrs{}, Out: make([]Desc, 1)}
		rank := 1 + r.IntN(5)
		if r.IntN(3) > 0 {
			rank = 4
		}
		for _, n := range names {
			if r.IntN(4) == 0 {
				l := rank - 2
				if n == "pads" {
					l *= 2
				}
				s.Attrs[n] = list(max(0, l))
			}
		}
		for _, n := range numbers {
			if r.IntN(5) == 0 {
				s.Attrs[n] = int64(number())
			}
		}
		s.Attrs["auto_pad"] = []string{"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", "X"}[r.IntN(5)]
		s.Attrs["mode"] = []string{"nearest", "linear", "cubic"}[r.IntN(3)]
		for range 1 + r.IntN(5) {
			d := Desc{DType: tensor.Float32}
			switch r.IntN(12) {
			case 0:
				d = Desc{}
			case 1:
				d.DType = tensor.Int64
			}
			for range rank {
				n := 1 + r.IntN(3)
				if r.IntN(15) == 0 {
					n = max(-1, number())
				}
				d.Shape = append(d.Shape, n)
			}
			if r.IntN(3) == 0 {
				d.Shape = tensor.Shape{1 + r.IntN(4)}
			}
			if n, err := d.Shape.Bytes(d.DType); err == nil && n < 1<<12 && !d.Absent() && r.IntN(2) == 0 {
				d.Const = &tensor.Tensor{DType: d.DType, Shape: d.Shape, Data: make([]byte, n)}
				for i := range d.Const.Data {
					d.Const.Data[i] = byte(r.IntN(256) * r.IntN(2))
				}
			}
			s.In = append(s.In, d)
		}
		if Infer(s) != nil {
			continue
		}
		k, err := Compile(s)
		if err != nil {
			continue
		}
		x := &Exec{}
		size := k.Workspace
		for _, d := range append(append([]Desc{}, s.In...), s.Out...) {
			size += d.bytes()
		}
		if size < 0 || size > 1<<20 || k.Work.VectorOps > 1<<22 {
			continue
		}
		for _, d := range s.In {
			x.In = append(x.In, make([]byte, d.bytes()))
		}
		for _, w := range k.Weights {
			src := x.In[w.Input]
			x.In[w.Input] = make([]byte, w.Bytes)
			w.Pack(x.In[w.Input], src)
		}
		for _, d := range s.Out {
			x.Out = append(x.Out, make([]byte, d.bytes()))
		}
		x.Workspace = make([]byte, k.Workspace)
		if err := k.Run(x); err == nil {
			ran[s.Op]++
		}
	}
	t.Logf("ran: %v", ran)
	if len(ran) < 15 {
		t.Errorf("only these operators ran: %v", ran)
	}
}
