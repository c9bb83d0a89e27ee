package kernels

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

// steadyCase is an operator whose runs are examined for allocations and for independence from the number of threads.
type steadyCase struct {
	op    string
	attrs Attrs
	in    []*tensor.Tensor
	outs  int
}

func steadyCases(t *testing.T) []steadyCase {
	r := rand.New(rand.NewPCG(5, 6))
	f := func(dt tensor.DType, shape ...int) *tensor.Tensor { return randomTensor(t, r, dt, shape...) }
	var cases []steadyCase
	for _, dt := range []tensor.DType{tensor.Float32, tensor.Float16} {
		big := []int{8, 24, 40, 40}
		x := f(dt, big...)
		for _, op := range []string{"Relu", "Sigmoid", "Exp", "Gelu", "HardSwish", "Clip", "Abs", "Identity"} {
			cases = append(cases, steadyCase{op, nil, []*tensor.Tensor{x}, 1}, steadyCase{op, nil, []*tensor.Tensor{f(dt, 7, 5)}, 1})
		}
		for _, op := range []string{"Add", "Sub", "Mul", "Div", "Pow", "Less", "PRelu", "Max"} {
			for _, shape := range [][]int{big, {}, {24, 1, 1}, {40}} {
				cases = append(cases, steadyCase{op, nil, []*tensor.Tensor{x, f(dt, shape...)}, 1})
			}
		}
		cases = append(cases,
			steadyCase{"Sum", nil, []*tensor.Tensor{x, x, f(dt, 40)}, 1},
			steadyCase{"Where", nil, []*tensor.Tensor{f(tensor.Bool, big...), x, f(dt)}, 1},
			steadyCase{"Cast", Attrs{"to": int64(6)}, []*tensor.Tensor{x}, 1},
			steadyCase{"Cast", Attrs{"to": int64(10)}, []*tensor.Tensor{x}, 1},
			steadyCase{"Cast", Attrs{"to": int64(17)}, []*tensor.Tensor{f(tensor.Float64, 100)}, 1},
			steadyCase{"Transpose", Attrs{"perm": []int64{0, 2, 3, 1}}, []*tensor.Tensor{x}, 1},
			steadyCase{"Slice", nil, []*tensor.Tensor{x, intList(t, 1, 39), intList(t, 7, -100), intList(t, 0, 3), intList(t, 2, -1)}, 1},
			steadyCase{"Concat", Attrs{"axis": int64(1)}, []*tensor.Tensor{x, x, x}, 1},
			steadyCase{"Split", Attrs{"axis": int64(1)}, []*tensor.Tensor{x}, 3},
			steadyCase{"Pad", Attrs{"mode": "reflect"}, []*tensor.Tensor{x, intList(t, 0, 0, 2, 3, 0, 0, 1, 4)}, 1},
			steadyCase{"Pad", nil, []*tensor.Tensor{x, intList(t, 0, 0, 2, 3, 0, 0, 1, 4)}, 1},
			steadyCase{"Expand", nil, []*tensor.Tensor{f(dt, 24, 1, 40), intList(t, 8, 24, 40, 40)}, 1},
			steadyCase{"Gather", Attrs{"axis": int64(2)}, []*tensor.Tensor{x, intList(t, 5, 3, -1, 0)}, 1},
			steadyCase{"ScatterND", Attrs{"reduction": "add"}, []*tensor.Tensor{x, toTensor(t, tensor.Int64, array{[]int{2, 1}, []float64{1, 1}}), f(dt, 2, 24, 40, 40)}, 1},
			steadyCase{"ReduceMean", Attrs{"axes": []int64{2, 3}}, []*tensor.Tensor{x}, 1},
			steadyCase{"ReduceSum", nil, []*tensor.Tensor{x, intList(t, 0, 2)}, 1},
			steadyCase{"ReduceMax", Attrs{"axes": []int64{1}}, []*tensor.Tensor{x}, 1},
			steadyCase{"ReduceLogSumExp", Attrs{"axes": []int64{3}}, []*tensor.Tensor{x}, 1},
			steadyCase{"ArgMax", Attrs{"axis": int64(1)}, []*tensor.Tensor{x}, 1},
			steadyCase{"CumSum", nil, []*tensor.Tensor{x, intList(t, 1)}, 1},
			steadyCase{"TopK", nil, []*tensor.Tensor{f(dt, 4, 500), intList(t, 10)}, 2},
			steadyCase{"Unique", nil, []*tensor.Tensor{f(dt, 400)}, 4},
			steadyCase{"NonZero", nil, []*tensor.Tensor{f(dt, 40, 30)}, 1},
			steadyCase{"OneHot", nil, []*tensor.Tensor{f(tensor.Int64, 100), intList(t, 10), f(dt, 2)}, 1},
			steadyCase{"Range", nil, []*tensor.Tensor{toTensor(t, dt, array{[]int{}, []float64{1}}), toTensor(t, dt, array{[]int{}, []float64{90}}), toTensor(t, dt, array{[]int{}, []float64{0.5}})}, 1},
			steadyCase{"Einsum", Attrs{"equation": "abc,cd->abd"}, []*tensor.Tensor{f(dt, 8, 30, 20), f(dt, 20, 30)}, 1},
			steadyCase{"QuantizeLinear", Attrs{"axis": int64(1)}, []*tensor.Tensor{x, f(dt, 24), f(tensor.Int8, 24)}, 1},
			steadyCase{"QuantizeLinear", nil, []*tensor.Tensor{f(dt, 9, 31), f(dt), f(tensor.Uint4)}, 1},
			steadyCase{"DequantizeLinear", Attrs{"axis": int64(0), "block_size": int64(4)}, []*tensor.Tensor{f(tensor.Uint8, 16, 30), f(dt, 4, 30), f(tensor.Uint8, 4, 30)}, 1},
			steadyCase{"Attention", Attrs{"is_causal": int64(1)}, []*tensor.Tensor{f(dt, 2, 4, 20, 16), f(dt, 2, 2, 20, 16), f(dt, 2, 2, 20, 8)}, 3},
			steadyCase{"SwiGLU", nil, []*tensor.Tensor{x, x}, 1},
			steadyCase{"GridSample", nil, []*tensor.Tensor{f(dt, 2, 3, 9, 8), f(dt, 2, 5, 4, 2)}, 1},
			steadyCase{"Bernoulli", nil, []*tensor.Tensor{f(dt, 1000)}, 1},
			steadyCase{"DFT", nil, []*tensor.Tensor{f(dt, 3, 20, 1)}, 1},
			steadyCase{"LpNormalization", nil, []*tensor.Tensor{f(dt, 30, 20)}, 1},
		)
	}
	for _, u := range []tensor.DType{tensor.Uint8, tensor.Int8} {
		one, place := f(tensor.Float32), f(u)
		cases = append(cases,
			steadyCase{"MaxPool", Attrs{"kernel_shape": []int64{3, 3}}, []*tensor.Tensor{f(u, 2, 6, 30, 31)}, 1},
			steadyCase{"Transpose", Attrs{"perm": []int64{0, 2, 3, 1}}, []*tensor.Tensor{f(u, 2, 6, 30, 31)}, 1},
			steadyCase{"DynamicQuantizeLinear", nil, []*tensor.Tensor{f(tensor.Float32, 900)}, 3},
			steadyCase{"QLinearMatMul", nil, []*tensor.Tensor{f(u, 60, 50), one, place, f(u, 50, 40), one, place, one, place}, 1},
			steadyCase{"QLinearConv", nil, []*tensor.Tensor{f(u, 2, 6, 30, 31), one, place, f(u, 8, 6, 3, 3), one, place, one, place, f(tensor.Int32, 8)}, 1},
			steadyCase{"MatMulInteger", nil, []*tensor.Tensor{f(u, 3, 60, 50), f(tensor.Int8, 50, 40), f(u), f(tensor.Int8)}, 1},
			steadyCase{"ConvInteger", Attrs{"pads": []int64{1, 1, 1, 1}, "strides": []int64{2, 1}}, []*tensor.Tensor{f(u, 2, 6, 30, 31), f(tensor.Int8, 8, 6, 3, 3), f(u)}, 1},
		)
	}
	return cases
}

// load compiles a case and makes its memory.
func (c *steadyCase) load(t *testing.T, w *Workers) (*Kernel, *Exec) {
	s := &Spec{Op: c.op, Opset: 13, Attrs: c.attrs, Out: make([]Desc, c.outs)}
	if c.op == "ScatterND" {
		s.Opset = 18
	}
	x := &Exec{Workers: w}
	for _, in := range c.in {
		s.In = append(s.In, Desc{DType: in.DType, Shape: in.Shape, Const: in})
		x.In = append(x.In, in.Data)
	}
	if err := Infer(s); err != nil {
		t.Fatal(err)
	}
	k, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range s.Out {
		n, _ := d.Shape.Bytes(d.DType)
		x.Out = append(x.Out, make([]byte, n))
	}
	x.Workspace = make([]byte, k.Workspace)
	return k, x
}

func (c *steadyCase) String() string { return fmt.Sprint(c.op, c.attrs, c.in) }

func TestRun_steadyStateAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector drops pooled memory at random")
	}
	w := NewWorkers(2)
	defer w.Close()
	for _, c := range steadyCases(t) {
		k, x := c.load(t, w)
		run := func() {
			if err := k.Run(x); err != nil {
				t.Fatal(err)
			}
		}
		run()
		if n := allocations(5, run); n > 0 {
			t.Errorf("%v: %g allocations a run", &c, n)
		}
	}
}

// allocations is how often f allocates, in the best of three tries: a collection of garbage in between empties the pools.
func allocations(runs int, f func()) float64 {
	n := testing.AllocsPerRun(runs, f)
	for range 2 {
		if n > 0 {
			n = min(n, testing.AllocsPerRun(runs, f))
		}
	}
	return n
}

func TestRun_sameBitsForAnyNumberOfThreads(t *testing.T) {
	sets := map[int]*Workers{}
	counts := []int{1, 2, 3, 5}
	if testing.Short() {
		counts = []int{3}
	}
	for _, n := range counts {
		sets[n] = NewWorkers(n)
		defer sets[n].Close()
	}
	for _, c := range steadyCases(t) {
		k, alone := c.load(t, nil)
		if err := k.Run(alone); err != nil {
			t.Fatal(err)
		}
		for n, w := range sets {
			x := *alone
			x.Workers, x.Out = w, nil
			for _, o := range alone.Out {
				x.Out = append(x.Out, bytes.Repeat([]byte{0xcd}, len(o)))
			}
			if err := k.Run(&x); err != nil {
				t.Fatal(err)
			}
			for i := range x.Out {
				if !bytes.Equal(x.Out[i], alone.Out[i]) {
					t.Errorf("%v: result %d of %d threads differs", &c, i, n)
				}
			}
		}
	}
}

func BenchmarkKernels(b *testing.B) {
	t := &testing.T{}
	for _, c := range steadyCases(t) {
		if c.in[0].DType != tensor.Float32 || c.in[0].Shape.Count() < 10000 {
			continue
		}
		k, x := c.load(t, nil)
		name := c.op
		for _, in := range c.in[1:] {
			name += fmt.Sprint("_", in.Shape)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := k.Run(x); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x.Out[0])/4), "ns/element")
		})
	}
}
