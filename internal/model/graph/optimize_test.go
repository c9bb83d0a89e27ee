package graph_test

import (
	"strings"
	"testing"

	"npu/internal/model/graph"
	"npu/internal/model/onnx"
	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// passCase is a small graph that a pass rewrites; its text before and after is in testdata/passes/NAME.txt.
type passCase struct {
	name  string
	needs string // operators that must be there
	build func(b *onnx.Builder)
}

var passCases = []passCase{
	{"identity", "Relu Slice Pad", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,6")
		b.Ints("zero", 0, 0)
		b.Ints("end", 9, 9)
		b.Ints("pads", 0, 0, 0, 0)
		b.Node("Identity", "x", "a", nil)
		b.Node("Relu", "a", "b", nil)
		b.Node("Cast", "b", "c", attrs{"to": int64(1)})
		b.Node("Slice", "c zero end", "d", nil)
		b.Node("Pad", "d pads", "e", nil)
		b.Node("Transpose", "e", "f", attrs{"perm": []int64{0, 1}})
		b.Node("Concat", "f", "h", attrs{"axis": int64(0)})
		b.Node("Dropout", "h", "y", nil)
		b.Output("y", tensor.Float32, "2,6")
	}},
	{"identity-output", "Identity", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "4")
		b.Floats("w", tensor.Shape{4})
		b.Node("Identity", "x", "y", nil)
		b.Node("Identity", "w", "z", nil)
		b.Output("y", tensor.Float32, "4")
		b.Output("z", tensor.Float32, "4")
	}},
	{"neutral", "Mul Add", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,3")
		b.Scalar("one", 1)
		b.Scalar("zero", 0)
		b.Node("Mul", "one x", "a", nil)
		b.Node("Add", "a zero", "b", nil)
		b.Node("Relu", "b", "y", nil)
		b.Output("y", tensor.Float32, "2,3")
	}},
	{"views", "Reshape Squeeze Unsqueeze Flatten", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,3,4")
		b.Ints("s", 1, -1)
		b.Ints("axes", 0)
		b.Node("Reshape", "x s", "a", nil)
		b.Node("Squeeze", "a axes", "b", nil)
		b.Node("Unsqueeze", "b axes", "c", nil)
		b.Node("Flatten", "c", "d", attrs{"axis": int64(2)})
		b.Node("Relu", "d", "y", nil)
		b.Output("y", tensor.Float32, "24,1")
	}},
	{"transposes", "Transpose", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,3,4,5")
		b.Node("Transpose", "x", "a", attrs{"perm": []int64{0, 2, 3, 1}})
		b.Node("Transpose", "a", "b", attrs{"perm": []int64{0, 3, 1, 2}})
		b.Node("Relu", "b", "c", nil)
		b.Node("Transpose", "c", "d", attrs{"perm": []int64{1, 0, 2, 3}})
		b.Node("Transpose", "d", "y", attrs{"perm": []int64{2, 0, 1, 3}})
		b.Output("y", tensor.Float32, "4,3,2,5")
	}},
	{"transpose-ones", "Transpose", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "1,6,1,5")
		b.Node("Transpose", "x", "a", attrs{"perm": []int64{1, 0, 3, 2}})
		b.Node("Relu", "a", "y", nil)
		b.Output("y", tensor.Float32, "6,1,5,1")
	}},
	{"common", "Sigmoid Add", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "4")
		b.Scalar("k1", 2)
		b.Scalar("k2", 2)
		b.Node("Mul", "x k1", "a", nil)
		b.Node("Mul", "x k2", "b", nil)
		b.Node("Sigmoid", "a", "c", nil)
		b.Node("Sigmoid", "b", "d", nil)
		b.Node("Add", "c d", "y", nil)
		b.Output("y", tensor.Float32, "4")
	}},
	{"batch-norm", "Conv BatchNormalization FusedConv", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "1,4,5,5")
		b.Floats("w", tensor.Shape{6, 2, 3, 3})
		b.Floats("scale", tensor.Shape{6}, 1, 2, .5, -1, .25, 3)
		b.Floats("shift", tensor.Shape{6}, 0, 1, 2, 3, 4, 5)
		b.Floats("mean", tensor.Shape{6}, .1, .2, .3, .4, .5, .6)
		b.Floats("var", tensor.Shape{6}, 1, 2, 3, 4, 5, 6)
		b.Node("Conv", "x w", "c", attrs{"group": int64(2), "pads": []int64{1, 1, 1, 1}})
		b.Node("BatchNormalization", "c scale shift mean var", "n", attrs{"epsilon": float32(1e-3)})
		b.Node("Relu", "n", "y", nil)
		b.Output("y", tensor.Float32, "1,6,5,5")
	}},
	{"batch-norm-transposed", "ConvTranspose BatchNormalization", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "1,4,3,3")
		b.Floats("w", tensor.Shape{4, 3, 2, 2})
		b.Floats("b", tensor.Shape{6})
		b.Floats("scale", tensor.Shape{6}, 1, 2, .5, -1, .25, 3)
		b.Floats("shift", tensor.Shape{6}, 0, 1, 2, 3, 4, 5)
		b.Floats("mean", tensor.Shape{6}, .1, .2, .3, .4, .5, .6)
		b.Floats("var", tensor.Shape{6}, 1, 2, 3, 4, 5, 6)
		b.Node("ConvTranspose", "x w b", "c", attrs{"group": int64(2), "strides": []int64{2, 2}})
		b.Node("BatchNormalization", "c scale shift mean var", "y", nil)
		b.Output("y", tensor.Float32, "1,6,6,6")
	}},
	{"batch-norm-alone", "BatchNormalization", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "1,2,2,2")
		b.Floats("scale", tensor.Shape{2}, 1, 2)
		b.Floats("shift", tensor.Shape{2}, 0, 1)
		b.Floats("mean", tensor.Shape{2}, .1, .2)
		b.Floats("var", tensor.Shape{2}, 1, 2)
		b.Node("BatchNormalization", "x scale shift mean var", "y", nil)
		b.Output("y", tensor.Float32, "1,2,2,2")
	}},
	{"conv-scale", "Conv FusedConv", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "1,2,4,4")
		b.Floats("w", tensor.Shape{3, 2, 1, 1})
		b.Floats("b", tensor.Shape{3})
		b.Floats("k", tensor.Shape{1, 3, 1, 1}, 2, 3, 4)
		b.Floats("a", tensor.Shape{3, 1, 1}, 1, -1, 2)
		b.Scalar("two", 2)
		b.Node("Conv", "x w b", "c", nil)
		b.Node("Mul", "k c", "d", nil)
		b.Node("Sub", "d a", "e", nil)
		b.Node("Div", "e two", "f", nil)
		b.Node("LeakyRelu", "f", "y", attrs{"alpha": float32(0.2)})
		b.Output("y", tensor.Float32, "1,3,4,4")
	}},
	{"shared-weight", "Conv BatchNormalization FusedConv", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "1,2,3,3")
		b.Floats("w", tensor.Shape{2, 2, 1, 1})
		b.Floats("k", tensor.Shape{2, 1, 1}, 2, 3)
		b.Node("Conv", "x w", "a", nil)
		b.Node("Mul", "a k", "b", nil)
		b.Node("Conv", "b w", "y", nil)
		b.Output("y", tensor.Float32, "1,2,3,3")
	}},
	{"conv-input", "Conv FusedConv", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "1,4,5,5")
		b.Floats("w", tensor.Shape{6, 2, 1, 1})
		b.Floats("w3", tensor.Shape{4, 6, 3, 3})
		b.Floats("s", tensor.Shape{4, 1, 1}, 2, -3, 4, .5)
		b.Floats("t", tensor.Shape{4, 1, 1}, 1, 2, 3, 4)
		b.Floats("u", tensor.Shape{1}, .7)
		b.Floats("v", tensor.Shape{1}, .3)
		b.Node("Mul", "x s", "a", nil)
		b.Node("Add", "t a", "b", nil)
		b.Node("Conv", "b w", "c", attrs{"group": int64(2)})
		b.Node("Relu", "c", "d", nil)
		b.Node("Mul", "d u", "e", nil)
		b.Node("Add", "e v", "f", nil)
		b.Node("Conv", "f w3", "y", attrs{"pads": []int64{1, 1, 1, 1}})
		b.Output("y", tensor.Float32, "1,4,5,5")
	}},
	{"arithmetic", "Pow Div Mul", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,3")
		b.Scalar("two", 2)
		b.Scalar("half", 0.5)
		b.Floats("ten", tensor.Shape{1}, 10)
		b.Node("Pow", "x two", "a", nil)
		b.Node("Pow", "a half", "b", nil)
		b.Node("Mul", "ten b", "c", nil)
		b.Node("Div", "c two", "y", nil)
		b.Output("y", tensor.Float32, "2,3")
	}},
	{"shortcut", "Mul Add", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "1,4,4,4")
		b.Input("g", tensor.Float32, "1,4,1,1")
		b.Node("Mul", "g x", "m", nil)
		b.Node("Add", "x m", "a", nil)
		b.Scalar("two", 2)
		b.Node("Sub", "a two", "y", nil)
		b.Output("y", tensor.Float32, "1,4,4,4")
	}},
	{"conv-pad", "Conv Pad", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "1,2,4,5")
		b.Floats("w", tensor.Shape{3, 2, 3, 3})
		b.Ints("pads", 0, 0, 0, 1, 0, 0, 2, 3)
		b.Node("Pad", "x pads", "p", nil)
		b.Node("Conv", "p w", "y", attrs{"pads": []int64{1, 0, 0, 0}, "strides": []int64{2, 2}})
		b.Output("y", tensor.Float32, "1,3,3,4")
	}},
	{"conv-pad-channels", "Conv Pad", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "1,1,4,5")
		b.Floats("w", tensor.Shape{3, 2, 3, 3})
		b.Ints("pads", 0, 1, 0, 0, 0, 0, 0, 0)
		b.Node("Pad", "x pads", "p", nil)
		b.Node("Conv", "p w", "y", nil)
		b.Output("y", tensor.Float32, "1,3,2,3")
	}},
	{"residual", "Conv FusedConv", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "1,2,3,3")
		b.Floats("w", tensor.Shape{2, 2, 3, 3})
		b.Node("Relu", "x", "r", nil)
		b.Node("Conv", "r w", "a", attrs{"pads": []int64{1, 1, 1, 1}})
		b.Node("Add", "r a", "b", nil)
		b.Node("Clip", "b lo hi", "y", nil)
		b.Scalar("lo", 0)
		b.Scalar("hi", 6)
		b.Output("y", tensor.Float32, "1,2,3,3")
	}},
	{"residual-broadcast", "Conv FusedConv", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "1,2,3,3")
		b.Input("z", tensor.Float32, "1,2,1,1")
		b.Floats("w", tensor.Shape{2, 2, 1, 1})
		b.Node("Conv", "x w", "a", nil)
		b.Node("Add", "a z", "y", nil)
		b.Output("y", tensor.Float32, "1,2,3,3")
	}},
	{"conv-two-readers", "Conv FusedConv", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "1,2,3,3")
		b.Floats("w", tensor.Shape{2, 2, 1, 1})
		b.Node("Conv", "x w", "a", nil)
		b.Node("Relu", "a", "b", nil)
		b.Node("Sub", "a b", "y", nil)
		b.Output("y", tensor.Float32, "1,2,3,3")
	}},
	{"hard-swish", "HardSwish HardSigmoid", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,8")
		b.Scalar("three", 3)
		b.Scalar("lo", 0)
		b.Scalar("six", 6)
		b.Scalar("sixth", 0.16666667)
		b.Node("Add", "x three", "a", nil)
		b.Node("Clip", "a lo six", "b", nil)
		b.Node("Mul", "x b", "c", nil)
		b.Node("Div", "c six", "d", nil) // HardSwish
		b.Node("HardSigmoid", "d", "e", attrs{"alpha": float32(1. / 6)})
		b.Node("Mul", "e d", "f", nil) // HardSwish
		b.Node("Add", "three f", "h", nil)
		b.Node("Clip", "h lo six", "i", nil)
		b.Node("Mul", "i sixth", "y", nil) // HardSigmoid
		b.Output("y", tensor.Float32, "2,8")
	}},
	{"silu", "Silu Sigmoid", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,8")
		b.Node("Sigmoid", "x", "a", nil)
		b.Node("Mul", "a x", "y", nil)
		b.Output("y", tensor.Float32, "2,8")
	}},
	{"gelu", "Gelu Erf", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,8")
		b.Scalar("root", 1.4142135)
		b.Scalar("inverse", 0.70710677)
		b.Scalar("one", 1)
		b.Scalar("half", 0.5)
		b.Node("Div", "x root", "a", nil)
		b.Node("Erf", "a", "b", nil)
		b.Node("Add", "b one", "c", nil)
		b.Node("Mul", "x c", "d", nil)
		b.Node("Mul", "d half", "e", nil)
		b.Node("Mul", "e half", "f", nil) // the same in another order
		b.Node("Mul", "inverse e", "f2", nil)
		b.Node("Erf", "f2", "h", nil)
		b.Node("Add", "one h", "i", nil)
		b.Node("Mul", "i f", "y", nil)
		b.Output("y", tensor.Float32, "2,8")
	}},
	{"layer-norm", "LayerNormalization ReduceMean", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,3,8")
		b.Floats("gamma", tensor.Shape{8})
		b.Floats("beta", tensor.Shape{1, 1, 8})
		b.Scalar("eps", 1e-5)
		b.Scalar("two", 2)
		mean := attrs{"axes": []int64{-1}}
		b.Node("ReduceMean", "x", "m", mean)
		b.Node("Sub", "x m", "d", nil)
		b.Node("Pow", "d two", "p", nil)
		b.Node("ReduceMean", "p", "v", mean)
		b.Node("Add", "v eps", "ve", nil)
		b.Node("Sqrt", "ve", "s", nil)
		b.Node("Div", "d s", "n", nil)
		b.Node("Mul", "n gamma", "ng", nil)
		b.Node("Add", "beta ng", "y", nil)
		b.Output("y", tensor.Float32, "2,3,8")
	}},
	{"matmul", "MatMul FusedMatMul Gelu", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,3,4")
		b.Floats("w", tensor.Shape{4, 5})
		b.Floats("b", tensor.Shape{5})
		b.Input("z", tensor.Float32, "2,3,5")
		b.Node("MatMul", "x w", "m", nil)
		b.Node("Add", "b m", "a", nil)
		b.Node("Add", "a z", "c", nil)
		b.Node("Relu", "c", "y", nil)
		b.Output("y", tensor.Float32, "2,3,5")
	}},
	{"matmul-scale", "MatMul FusedMatMul", func(b *onnx.Builder) {
		b.Input("q", tensor.Float32, "1,2,3,4")
		b.Input("k", tensor.Float32, "1,2,3,4")
		b.Input("mask", tensor.Float32, "1,1,1,3")
		b.Scalar("root", 8)
		b.Node("Transpose", "k", "kt", attrs{"perm": []int64{0, 1, 3, 2}})
		b.Node("MatMul", "q kt", "s", nil)
		b.Node("Div", "s root", "d", nil)
		b.Node("Add", "d mask", "y", nil)
		b.Output("y", tensor.Float32, "1,2,3,3")
	}},
	{"matmul-factor", "MatMul FusedMatMul", func(b *onnx.Builder) {
		b.Input("q", tensor.Float32, "2,3,4")
		b.Input("k", tensor.Float32, "2,4,5")
		b.Scalar("s", 0.25)
		b.Node("Mul", "s q", "sq", nil)
		b.Node("MatMul", "sq k", "y", nil)
		b.Output("y", tensor.Float32, "2,3,5")
	}},
	{"gemm", "Gemm FusedMatMul", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "4,2")
		b.Floats("w", tensor.Shape{5, 4})
		b.Floats("c", tensor.Shape{1, 5})
		b.Node("Gemm", "x w c", "m", attrs{"transA": int64(1), "transB": int64(1), "alpha": float32(0.5)})
		b.Node("Tanh", "m", "y", nil)
		b.Output("y", tensor.Float32, "2,5")
	}},
	{"gemm-stays", "Gemm FusedMatMul", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,4")
		b.Floats("w", tensor.Shape{4, 5})
		b.Input("c", tensor.Float32, "2,1")
		b.Node("Gemm", "x w c", "y", nil)
		b.Output("y", tensor.Float32, "2,5")
	}},
}

func TestOptimize_passes(t *testing.T) {
	for _, c := range passCases {
		t.Run(c.name, func(t *testing.T) {
			for _, op := range strings.Fields(c.needs) {
				if _, ok := kernels.Lookup(op); !ok {
					t.Skipf("operator %s is not there", op)
				}
			}
			g := convert(t, c.build)
			infer(t, g, nil)
			in := ramps(t, g)
			text := g.String()
			want := eval(t, g, in)
			if _, err := graph.Optimize(g, graph.Options{}); err != nil {
				t.Fatal(err)
			}
			if err := graph.CheckTypes(g); err != nil {
				t.Fatal(err)
			}
			same(t, eval(t, g, in), want, 2e-6)
			golden(t, "passes/"+c.name+".txt", text+"\n"+g.String())
		})
	}
}

// The bytes of a weight are changed in place, unless the caller wants them kept.
func TestOptimize_weightsInPlace(t *testing.T) {
	for _, keep := range []bool{false, true} {
		g := convert(t, func(b *onnx.Builder) {
			b.Input("x", tensor.Float32, "1,1,2,2")
			b.Floats("w", tensor.Shape{1, 1, 1, 1}, 3)
			b.Scalar("k", 2)
			b.Node("Conv", "x w", "a", nil)
			b.Node("Mul", "a k", "y", nil)
			b.Output("y", tensor.Float32, "1,1,2,2")
		})
		if _, ok := kernels.Lookup("Conv"); !ok {
			t.Skip("operator Conv is not there")
		}
		infer(t, g, nil)
		w := tensor.View[float32](g.Nodes[0].In[1].Const.Data)
		if _, err := graph.Optimize(g, graph.Options{CopyConstants: keep}); err != nil {
			t.Fatal(err)
		}
		want := float32(6)
		if keep {
			want = 3
		}
		if w[0] != want {
			t.Errorf("CopyConstants %v: the file's weight is %g, want %g", keep, w[0], want)
		}
		if got := tensor.View[float32](g.Nodes[0].In[1].Const.Data)[0]; got != 6 {
			t.Errorf("CopyConstants %v: the folded weight is %g, want 6", keep, got)
		}
	}
}

func TestOptimize_disable(t *testing.T) {
	build := func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2")
		b.Node("Sigmoid", "x", "a", nil)
		b.Node("Mul", "a x", "y", nil)
		b.Output("y", tensor.Float32, "2")
	}
	g := convert(t, build)
	infer(t, g, nil)
	stats, err := graph.Optimize(g, graph.Options{Disable: []string{"silu"}})
	if err != nil {
		t.Fatal(err)
	}
	if n := graph.Ops(g)["Mul"]; n != 1 {
		t.Errorf("a disabled pass ran: %v", graph.Ops(g))
	}
	for i, s := range stats {
		if s.Name != graph.PassNames()[i] {
			t.Errorf("stat %d is of %q, want %q", i, s.Name, graph.PassNames()[i])
		}
	}
	_, err = graph.Optimize(g, graph.Options{Disable: []string{"nope"}})
	if problem.ClassOf(err) != problem.Usage || err == nil {
		t.Errorf("unknown pass: %v", err)
	}
}

// A model that compares floats for equality keeps its bits: nothing is folded into weights.
func TestOptimize_equality(t *testing.T) {
	for _, equal := range []bool{false, true} {
		g := convert(t, func(b *onnx.Builder) {
			b.Input("x", tensor.Float32, "1,2,4,4")
			b.Floats("w", tensor.Shape{3, 2, 1, 1})
			b.Scalar("k", 0.3)
			b.Node("Conv", "x w", "c", nil)
			b.Node("Mul", "c k", "y", nil)
			b.Output("y", tensor.Float32, "1,3,4,4")
			if equal {
				b.Node("MaxPool", "y", "m", attrs{"kernel_shape": []int64{3, 3}, "pads": []int64{1, 1, 1, 1}})
				b.Node("Equal", "y m", "e", nil)
				b.Output("e", tensor.Bool, "1,3,4,4")
			}
		})
		infer(t, g, nil)
		want := eval(t, g, ramps(t, g))
		if _, err := graph.Optimize(g, graph.Options{}); err != nil {
			t.Fatal(err)
		}
		if left := graph.Ops(g)["Mul"]; left == 0 == equal {
			t.Errorf("equality %v: %d Mul left", equal, left)
		}
		if got := eval(t, g, ramps(t, g)); equal {
			same(t, got, want, 0)
		}
	}
}
