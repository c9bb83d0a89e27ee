package pmu_test

import (
	"testing"

	"pgregory.net/rapid"

	"npu/internal/sim/cost"
	"npu/internal/sim/kernels"
	"npu/internal/sim/pmu"
	"npu/internal/sim/soc"
	"npu/internal/tensor"
)

// For operators of any shape, in every group and on chips of every generation: pipes fit into the kernel, and the bytes that
// the counters say are those of its tensors.
func TestCount_operators(t *testing.T) {
	var chips []*soc.Chip
	for _, name := range []string{"Ascend910B3", "Ascend310P3", "Ascend910A", "Ascend950DT_9571"} {
		chips = append(chips, chip(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(chips).Draw(t, "chip")
		dim := func(label string, most int) int { return rapid.IntRange(1, most).Draw(t, label) }
		dt := rapid.SampledFrom([]tensor.DType{tensor.Float32, tensor.Float16}).Draw(t, "type")
		a, b, d := dim("a", 300), dim("b", 300), dim("c", 300)
		desc := func(dims ...int) kernels.Desc { return kernels.Desc{DType: dt, Shape: dims} }
		channels, filters := dim("channels", 8), dim("filters", 8)
		op := rapid.SampledFrom([]struct {
			kernels.Spec
			out tensor.Shape
		}{
			{kernels.Spec{Op: "Relu", In: []kernels.Desc{desc(a, b)}}, tensor.Shape{a, b}},
			{kernels.Spec{Op: "Exp", In: []kernels.Desc{desc(a, b)}}, tensor.Shape{a, b}},
			{kernels.Spec{Op: "Add", In: []kernels.Desc{desc(a, b), desc(a, b)}}, tensor.Shape{a, b}},
			{kernels.Spec{Op: "Mul", In: []kernels.Desc{desc(a, b), desc(b)}}, tensor.Shape{a, b}},
			{kernels.Spec{Op: "Softmax", Attrs: kernels.Attrs{"axis": int64(-1)}, In: []kernels.Desc{desc(a, b)}}, tensor.Shape{a, b}},
			{kernels.Spec{Op: "Concat", Attrs: kernels.Attrs{"axis": int64(1)}, In: []kernels.Desc{desc(a, b), desc(a, d)}}, tensor.Shape{a, b + d}},
			{kernels.Spec{Op: "Transpose", Attrs: kernels.Attrs{"perm": []int64{1, 0}}, In: []kernels.Desc{desc(a, b)}}, tensor.Shape{b, a}},
			{kernels.Spec{Op: "MatMul", In: []kernels.Desc{desc(a, b), desc(b, d)}}, tensor.Shape{a, d}},
			{kernels.Spec{Op: "Conv", In: []kernels.Desc{desc(1, channels, a, 20), desc(filters, channels, 1, 1)}}, tensor.Shape{1, filters, a, 20}},
			{kernels.Spec{Op: "GlobalAveragePool", In: []kernels.Desc{desc(1, channels, a, b)}}, tensor.Shape{1, channels, 1, 1}},
		}).Draw(t, "operator")
		s := &op.Spec
		s.Opset, s.Out = 17, make([]kernels.Desc, 1)
		k, err := kernels.Compile(s)
		if err != nil {
			t.Fatal(s.Op, err)
		}
		t.Logf("%s: %+v", s.Op, k.Work)
		read, write := int64(0), bytesOf(kernels.Desc{DType: dt, Shape: op.out})
		for _, in := range s.In {
			read += bytesOf(in)
		}
		account := cost.Estimate(c, k.Core, 0, k.Work)
		for _, group := range pmu.Groups(c) {
			u, err := pmu.New(c, group)
			if err != nil {
				t.Fatal(err)
			}
			n, ok := u.Count(k.Core, account, k.Work)
			if !ok || n.Cycles != account.Cycles.Total {
				t.Fatalf("%s %s: %v, %+v", s.Op, group, ok, n)
			}
			events := u.Events(k.Core)
			if len(events) > pmu.Limit(c) {
				t.Fatalf("%d events at a time", len(events))
			}
			for i, e := range events {
				v := n.Values[i]
				switch e {
				case 0x8, 0x9, 0xa, 0xb, 0xc, 0xd, 0x302, 0x303, 0x416, 0x417, 0x501, 0x301, 0x1, 0x701, 0x202, 0x203, 0x714: // cycles of pipes
					if v < 0 || v > n.Cycles {
						t.Fatalf("%s %s: pipe 0x%x is busy for %d of %d cycles", s.Op, group, e, v, n.Cycles)
					}
				case 0x12, 0x400:
					within(t, s.Op, "read", v*8, read)
				case 0x13, 0x401:
					within(t, s.Op, "written", v*8, write)
				}
			}
		}
	})
}

// within says that a counter of bytes is the size of tensors, up to the piece that it counts in.
func within(t *rapid.T, op, what string, got, want int64) {
	if got < want || got >= want+8 {
		t.Fatalf("%s: %d bytes %s, the tensors have %d", op, got, what, want)
	}
}

func bytesOf(d kernels.Desc) int64 {
	n := int64(d.DType.Size())
	for _, x := range d.Shape {
		n *= int64(x)
	}
	return n
}
