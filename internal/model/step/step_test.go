package step_test

import (
	"strings"
	"testing"

	"npu/internal/model"
	"npu/internal/model/graph"
	"npu/internal/model/onnx"
	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/sim/soc"
	"npu/internal/tensor"
)

// run builds a model, runs it in both modes on the inputs and compares the modes; it gives the outputs by name.
func run(t *testing.T, build func(b *onnx.Builder), inputs map[string]*tensor.Tensor, iterations int) (map[string][]float64, error) {
	t.Helper()
	chip, err := soc.Lookup("Ascend910B3")
	if err != nil {
		t.Fatal(err)
	}
	var first map[string][]float64
	for _, mode := range []model.Mode{model.Sunk, model.Eager} {
		b := onnx.NewBuilder("test", 13)
		build(b)
		file, err := b.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		shapes := map[string]tensor.Shape{}
		for n, v := range inputs {
			shapes[n] = v.Shape
		}
		m, err := model.OpenBytes("test", file, model.Options{Shapes: shapes})
		if err != nil {
			return nil, err
		}
		res, err := m.Run(t.Context(), model.RunOptions{Chip: chip, Mode: mode, Loop: model.HostLoop, Iterations: iterations, Threads: 1, Inputs: inputs})
		if err != nil {
			return nil, err
		}
		got := map[string][]float64{}
		for i, x := range res.Outputs {
			if got[res.Names[i]], err = tensor.Floats(x); err != nil {
				t.Fatal(err)
			}
		}
		if first == nil {
			first = got
			continue
		}
		for n, v := range got {
			if !equal(v, first[n]) {
				t.Errorf("%s is %v in mode %s, %v in the other", n, v, mode, first[n])
			}
		}
	}
	return first, nil
}

func equal(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func floats(t *testing.T, shape tensor.Shape, v ...float32) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromFloat32s(shape, v)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestRun_loopGrows: a state that grows with each turn, a row of each turn, and a condition that the body makes.
func TestRun_loopGrows(t *testing.T) {
	build := func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2")
		b.Input("n", tensor.Int64, "")
		body := &onnx.Builder{}
		body.Input("i", tensor.Int64, "")
		body.Input("c", tensor.Bool, "")
		body.Input("s", tensor.Float32, "k")
		body.Node("Concat", "s x", "s2", kernels.Attrs{"axis": int64(0)})
		body.Node("ReduceSum", "s2", "row", kernels.Attrs{"keepdims": int64(0)})
		body.Node("Less", "row limit", "c2", nil)
		body.Scalar("limit", 20)
		body.Output("c2", tensor.Bool, "")
		body.Output("s2", tensor.Float32, "k2")
		body.Output("row", tensor.Float32, "")
		b.Node("Loop", "n - x", "last rows", kernels.Attrs{"body": body})
		b.Node("Relu", "rows", "y", nil)
		b.Output("last", tensor.Float32, "k")
		b.Output("y", tensor.Float32, "n")
	}
	for _, c := range []struct {
		n    int64
		rows []float64
		last int
	}{{0, []float64{}, 2}, {2, []float64{6, 9}, 6}, {50, []float64{6, 9, 12, 15, 18, 21}, 14}} {
		n := tensor.ScalarInt64(c.n)
		got, err := run(t, build, map[string]*tensor.Tensor{"x": floats(t, tensor.Shape{2}, 1, 2), "n": n}, 3)
		if err != nil {
			t.Fatal(err)
		}
		if !equal(got["y"], c.rows) || len(got["last"]) != c.last {
			t.Errorf("%d turns: rows %v and %d values, want %v and %d", c.n, got["y"], len(got["last"]), c.rows, c.last)
		}
	}
}

// TestRun_knownTurns: a loop that turns a known number of times is compiled, and says the same as one that is stepped.
func TestRun_knownTurns(t *testing.T) {
	build := func(known bool) func(b *onnx.Builder) {
		return func(b *onnx.Builder) {
			b.Input("x", tensor.Float32, "2")
			if known {
				b.Initializer("n", tensor.ScalarInt64(3))
			} else {
				b.Input("n", tensor.Int64, "")
			}
			body := &onnx.Builder{}
			body.Input("i", tensor.Int64, "")
			body.Input("c", tensor.Bool, "")
			body.Input("s", tensor.Float32, "2")
			body.Node("Cast", "i", "f", kernels.Attrs{"to": int64(1)})
			body.Node("Mul", "s f", "m", nil)
			body.Node("Add", "m x", "s2", nil)
			body.Node("Identity", "c", "c2", nil)
			body.Output("c2", tensor.Bool, "")
			body.Output("s2", tensor.Float32, "2")
			body.Output("m", tensor.Float32, "2")
			b.Node("Loop", "n - x", "y rows", kernels.Attrs{"body": body})
			b.Output("y", tensor.Float32, "2")
			b.Output("rows", tensor.Float32, "3,2")
		}
	}
	x := floats(t, tensor.Shape{2}, 1, -2)
	known, err := run(t, build(true), map[string]*tensor.Tensor{"x": x}, 1)
	if err != nil {
		t.Fatal(err)
	}
	stepped, err := run(t, build(false), map[string]*tensor.Tensor{"x": x, "n": tensor.ScalarInt64(3)}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{5, -10}; !equal(known["y"], want) || !equal(stepped["y"], want) {
		t.Errorf("%v unrolled and %v stepped, want %v", known["y"], stepped["y"], want)
	}
	if want := []float64{0, 0, 1, -2, 4, -8}; !equal(known["rows"], want) || !equal(stepped["rows"], want) {
		t.Errorf("rows %v unrolled and %v stepped, want %v", known["rows"], stepped["rows"], want)
	}
}

// TestRun_dataSizes: what NonZero finds, and what is made of it, follows the data.
func TestRun_dataSizes(t *testing.T) {
	build := func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "6")
		b.Node("Abs", "x", "a", nil)
		b.Node("NonZero", "a", "at", nil)
		b.Node("Transpose", "at", "places", nil)
		b.Node("GatherND", "x places", "v", nil)
		b.Node("Shape", "v", "n", nil)
		b.Node("Exp", "v", "e", nil)
		b.Node("Sub", "e e", "zero", nil)
		b.Output("v", tensor.Float32, "k")
		b.Output("n", tensor.Int64, "1")
		b.Output("zero", tensor.Float32, "k")
	}
	for _, v := range [][]float32{{0, 1, 0, -2, 3, 0}, {0, 0, 0, 0, 0, 0}, {1, 2, 3, 4, 5, 6}} {
		var want []float64
		for _, x := range v {
			if x != 0 {
				want = append(want, float64(x))
			}
		}
		got, err := run(t, build, map[string]*tensor.Tensor{"x": floats(t, tensor.Shape{6}, v...)}, 2)
		if err != nil {
			t.Fatal(err)
		}
		if !equal(got["v"], want) || got["n"][0] != float64(len(want)) || len(got["zero"]) != len(want) {
			t.Errorf("%v gives %v, %v and %v", v, got["v"], got["n"], got["zero"])
		}
	}
}

// TestRun_sequences: a sequence is made, changed and joined.
func TestRun_sequences(t *testing.T) {
	got, err := run(t, func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,5")
		b.Ints("parts", 2, 3)
		b.Initializer("first", tensor.ScalarInt64(0))
		b.Initializer("last", tensor.ScalarInt64(-1))
		b.Node("SplitToSequence", "x parts", "s", kernels.Attrs{"axis": int64(1)})
		b.Node("SequenceAt", "s last", "b", nil)
		b.Node("SequenceInsert", "s b first", "s2", nil)
		b.Node("SequenceLength", "s2", "n", nil)
		b.Node("SequenceErase", "s2 last", "s3", nil)
		b.Node("ConcatFromSequence", "s3", "y", kernels.Attrs{"axis": int64(1)})
		b.Output("y", tensor.Float32, "2,k")
		b.Output("n", tensor.Int64, "")
	}, map[string]*tensor.Tensor{"x": floats(t, tensor.Shape{2, 5}, 0, 1, 2, 3, 4, 10, 11, 12, 13, 14)}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{2, 3, 4, 0, 1, 12, 13, 14, 10, 11}; !equal(got["y"], want) || got["n"][0] != 3 {
		t.Errorf("%v, length %v; want %v and 3", got["y"], got["n"], want)
	}
}

// TestRun_faults: what goes wrong while stepping is an error that names the node, never a panic.
func TestRun_faults(t *testing.T) {
	loop := func(names string, fill func(body *onnx.Builder)) func(b *onnx.Builder) {
		return func(b *onnx.Builder) {
			b.Input("x", tensor.Float32, "2")
			body := &onnx.Builder{}
			fill(body)
			b.Input("n", tensor.Int64, "")
			b.Node("Loop", "n - x", names, kernels.Attrs{"body": body})
			b.Output(strings.Fields(names)[0], tensor.Float32, "k")
		}
	}
	inputs := func(body *onnx.Builder) {
		body.Input("i", tensor.Int64, "")
		body.Input("c", tensor.Bool, "")
		body.Input("s", tensor.Float32, "k")
	}
	for _, c := range []struct {
		name  string
		loop  bool
		build func(b *onnx.Builder)
		want  string
	}{
		{"body of other inputs", true, loop("y", func(body *onnx.Builder) { body.Input("i", tensor.Int64, ""); body.Output("i", tensor.Int64, "") }), "does not fit"},
		{"condition is no bool", true, loop("y", func(body *onnx.Builder) {
			inputs(body)
			body.Output("s", tensor.Float32, "k")
			body.Output("s", tensor.Float32, "k")
		}), "not one bool"},
		{"rows of other shapes", true, loop("y rows", func(body *onnx.Builder) {
			inputs(body)
			body.Node("Concat", "s s", "s2", kernels.Attrs{"axis": int64(0)})
			body.Output("c", tensor.Bool, "")
			body.Output("s2", tensor.Float32, "k")
			body.Output("s2", tensor.Float32, "k")
		}), "iteration 1"},
		{"shapes that do not fit", true, loop("y", func(body *onnx.Builder) {
			inputs(body)
			body.Floats("w", tensor.Shape{3}, 1, 2, 3)
			body.Node("Add", "s w", "s2", nil)
			body.Output("c", tensor.Bool, "")
			body.Output("s2", tensor.Float32, "k")
		}), "broadcast"},
		{"tensor as sequence", false, func(b *onnx.Builder) {
			b.Input("x", tensor.Float32, "2")
			b.Node("SequenceLength", "x", "y", nil)
			b.Output("y", tensor.Int64, "")
		}, "no sequence"},
		{"sequence as tensor", false, func(b *onnx.Builder) {
			b.Input("x", tensor.Float32, "2")
			b.Node("SequenceConstruct", "x x", "s", nil)
			b.Node("Relu", "s", "y", nil)
			b.Output("y", tensor.Float32, "2")
		}, "must be a tensor"},
		{"position outside", false, func(b *onnx.Builder) {
			b.Input("x", tensor.Float32, "2")
			b.Initializer("at", tensor.ScalarInt64(2))
			b.Node("SequenceConstruct", "x x", "s", nil)
			b.Node("SequenceAt", "s at", "y", nil)
			b.Output("y", tensor.Float32, "2")
		}, "position 2"},
		{"operator that nobody has", true, loop("y", func(body *onnx.Builder) {
			inputs(body)
			body.Node("StringSplit", "s", "s2", nil)
			body.Output("c", tensor.Bool, "")
			body.Output("s2", tensor.Float32, "k")
		}), "StringSplit"},
	} {
		in := map[string]*tensor.Tensor{"x": floats(t, tensor.Shape{2}, 1, 2)}
		if c.loop {
			in["n"] = tensor.ScalarInt64(3)
		}
		_, err := run(t, c.build, in, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) || problem.ClassOf(err) != problem.Failed {
			t.Errorf("%s: %v, want a failure with %q", c.name, err, c.want)
		}
	}
}

// TestRun_memoryReturns: what stepping allocates comes back, however often it runs.
func TestRun_memoryReturns(t *testing.T) {
	chip, err := soc.Lookup("Ascend910B3")
	if err != nil {
		t.Fatal(err)
	}
	peak := func(n int) int64 {
		b := onnx.NewBuilder("test", 13)
		b.Input("x", tensor.Float32, "64,64")
		b.Node("NonZero", "x", "at", nil)
		b.Node("Transpose", "at", "p", nil)
		b.Node("GatherND", "x p", "v", nil)
		b.Node("Exp", "v", "y", nil)
		b.Output("y", tensor.Float32, "k")
		file, err := b.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		m, err := model.OpenBytes("test", file, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if m.Rest == nil || len(m.Rest.Nodes) != 4 {
			t.Fatalf("the stepped part is %v", m.Rest)
		}
		res, err := m.Run(t.Context(), model.RunOptions{Chip: chip, Mode: model.Sunk, Loop: model.HostLoop, Iterations: n, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		return res.PeakHBM
	}
	if few, many := peak(20), peak(200); many > few {
		t.Errorf("200 executions need %d bytes, 20 need %d", many, few)
	}
}

// TestSplit: a graph without late nodes stays whole.
func TestSplit_nothingLate(t *testing.T) {
	v := &graph.Value{Name: "x", DType: tensor.Float32, Known: true, Shape: tensor.Shape{2}}
	if r := graph.Split(&graph.Graph{Inputs: []*graph.Value{v}, Outputs: []*graph.Value{v}}); r != nil {
		t.Errorf("the rest is %v", r)
	}
}
