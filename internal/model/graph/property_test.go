package graph_test

import (
	"fmt"
	"math"
	"testing"

	"npu/internal/model/graph"
	"npu/internal/model/onnx"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"

	"pgregory.net/rapid"
)

// TestOptimize_randomGraphs draws graphs of operators that the passes look for, with values that have several
// readers and weights that have several users, and holds the outputs after the passes against those before.
func TestOptimize_randomGraphs(t *testing.T) {
	for _, op := range []string{"Conv", "FusedConv", "BatchNormalization", "FusedMatMul", "Transpose", "HardSwish", "Pad"} {
		if _, ok := kernels.Lookup(op); !ok {
			t.Skipf("operator %s is not there", op)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		var b *onnx.Builder
		g := convert(t, func(builder *onnx.Builder) {
			b = builder
			draw(rt, b)
		})
		if _, err := graph.Infer(g); err != nil {
			rt.Fatal(err)
		}
		in := ramps(t, g)
		before := g.String()
		// What cancels and is then multiplied carries the rounding of the greatest value on the way.
		top := 0.0
		want, err := graph.Eval(g, in, func(_ *graph.Node, out []*tensor.Tensor) {
			for _, x := range tensor.View[float32](out[0].Data) {
				top = max(top, math.Abs(float64(x)))
			}
		})
		if err != nil {
			rt.Fatal(err)
		}
		stats, err := graph.Optimize(g, graph.Options{CopyConstants: rapid.Bool().Draw(rt, "copy")})
		if err != nil {
			rt.Fatal(err)
		}
		if err := graph.CheckTypes(g); err != nil {
			rt.Fatal(err)
		}
		got, err := graph.Eval(g, in, nil)
		if err != nil {
			rt.Fatal(err)
		}
		for i := range want {
			if err := closeTo(got[i], want[i], 0, 1e-4*top); err != nil {
				rt.Fatalf("output %d: %v\nbefore\n%s\nafter\n%s\n%v", i, err, before, g, stats)
			}
		}
		// A second run finds nothing to do but what finish puts back.
		text := g.String()
		if _, err := graph.Optimize(g, graph.Options{}); err != nil {
			rt.Fatal(err)
		}
		if again := g.String(); again != text {
			rt.Fatalf("not a fixed point:\n%s\nthen\n%s", text, again)
		}
	})
}

// draw adds nodes on values of shape 1x3x3x3, which every permutation of the last three dimensions keeps.
func draw(t *rapid.T, b *onnx.Builder) {
	b.Input("x", tensor.Float32, "1,3,3,3")
	b.Input("small", tensor.Float32, "1,3,1,1")
	b.Floats("full", tensor.Shape{3, 3, 1, 1})
	b.Floats("padded", tensor.Shape{3, 3, 3, 3})
	b.Floats("depthwise", tensor.Shape{3, 1, 3, 3})
	b.Floats("channel", tensor.Shape{3, 1, 1}, 1.5, -0.5, 2)
	b.Floats("row", tensor.Shape{3}, 0.5, 1.5, -1)
	b.Floats("var", tensor.Shape{3}, 1, 2, 3)
	b.Floats("square", tensor.Shape{3, 3})
	for name, v := range map[string]float32{"zero": 0, "one": 1, "three": 3, "six": 6, "half": 0.5} {
		b.Scalar(name, v)
	}
	b.Ints("flat", 1, 27)
	b.Ints("around", 0, 0, 1, 1, 0, 0, 1, 1)
	b.Ints("back", 1, 3, 3, 3)
	values := []string{"x"}
	pick := func(label string) string { return rapid.SampledFrom(values).Draw(t, label) }
	same := attrs{"pads": []int64{1, 1, 1, 1}}
	n := rapid.IntRange(1, 14).Draw(t, "nodes")
	for i := range n {
		v := values[len(values)-1] // chains are what passes look for
		if rapid.IntRange(0, 3).Draw(t, "jump") == 0 {
			v = pick("from")
		}
		out := fmt.Sprintf("v%d", i)
		k := rapid.SampledFrom([]string{"zero", "one", "three", "six", "half", "channel", "row"}).Draw(t, "constant")
		switch op := rapid.SampledFrom([]string{"Relu", "Sigmoid", "Identity", "HardSigmoid", "Clip", "Neg", "Mul", "Add", "Sub", "Div", "sum", "product", "conv", "same", "depthwise", "pad", "norm", "Transpose", "views", "MatMul", "gate", "swish", "excite"}).Draw(t, "op"); op {
		case "Relu", "Sigmoid", "Identity", "Neg":
			b.Node(op, v, out, nil)
		case "HardSigmoid":
			b.Node(op, v, out, attrs{"alpha": float32(1. / 6)})
		case "Clip":
			b.Node(op, v+" zero six", out, nil)
		case "Mul", "Add":
			if rapid.Bool().Draw(t, "swap") {
				b.Node(op, k+" "+v, out, nil)
			} else {
				b.Node(op, v+" "+k, out, nil)
			}
		case "Sub":
			b.Node(op, v+" "+k, out, nil)
		case "Div":
			b.Node(op, v+" "+rapid.SampledFrom([]string{"six", "three", "channel", "half"}).Draw(t, "divisor"), out, nil)
		case "sum":
			b.Node("Add", v+" "+pick("other"), out, nil)
		case "product":
			b.Node("Sigmoid", pick("other"), out+"g", nil) // bounded, so that values do not explode
			b.Node("Mul", v+" "+out+"g", out, nil)
		case "conv":
			b.Node("Conv", v+" full row", out, nil)
		case "same":
			b.Node("Conv", v+" padded", out, same)
		case "depthwise":
			b.Node("Conv", v+" depthwise row", out, attrs{"pads": []int64{1, 1, 1, 1}, "group": int64(3)})
		case "pad":
			b.Node("Pad", v+" around", out+"p", nil)
			b.Node("Conv", out+"p padded", out, nil)
		case "norm":
			b.Node("BatchNormalization", v+" row var row var", out, nil)
		case "Transpose":
			b.Node(op, v, out, attrs{"perm": rapid.SampledFrom([][]int64{{0, 1, 3, 2}, {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 1, 2, 3}}).Draw(t, "perm")})
		case "views":
			b.Node("Reshape", v+" flat", out+"f", nil)
			b.Node("Reshape", out+"f back", out, nil)
		case "MatMul":
			b.Node(op, v+" square", out, nil)
		case "gate":
			b.Node("Add", v+" three", out+"a", nil)
			b.Node("Clip", out+"a zero six", out+"b", nil)
			b.Node("Div", out+"b six", out, nil)
		case "excite":
			b.Node("Sigmoid", "small", out+"s", nil)
			b.Node("Mul", v+" "+out+"s", out+"m", nil)
			b.Node("Add", out+"m "+v, out, nil)
		case "swish":
			b.Node("HardSigmoid", v, out+"a", attrs{"alpha": float32(1. / 6)})
			b.Node("Mul", v+" "+out+"a", out, nil)
		}
		values = append(values, out)
	}
	b.Output(values[len(values)-1], tensor.Float32, "1,3,3,3")
	if extra := pick("second output"); extra != values[len(values)-1] {
		b.Output(extra, tensor.Float32, "1,3,3,3")
	}
}
