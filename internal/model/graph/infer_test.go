package graph_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"npu/internal/model/graph"
	"npu/internal/model/onnx"
	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

func TestBind(t *testing.T) {
	model := func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "batch,3,H,W")
		b.Input("y", tensor.Float32, "batch,3,H,W")
		b.Input("k", tensor.Float32, "3,1,1")
		b.Node("Add", "x y", "s", nil)
		b.Node("Mul", "s k", "z", nil)
		b.Output("z", tensor.Float32, "batch,3,H,W")
	}
	cases := []struct {
		name   string
		shapes map[string]tensor.Shape
		want   string // shape of y after, or words of the usage error
		note   string
	}{
		{"symbols spread", map[string]tensor.Shape{"x": {2, 3, 4, 5}}, "float32[2x3x4x5]", ""},
		{"unknown name", map[string]tensor.Shape{"q": {1}}, `no input "q": the model has "x" float32[batch,3,H,W], "y"`, ""},
		{"rank", map[string]tensor.Shape{"x": {3, 4, 5}}, "has 3 dimensions, the model declares float32[batch,3,H,W]", ""},
		{"missing", nil, `--shape x=1x3xNxN`, ""},
		{"contradiction", map[string]tensor.Shape{"x": {2, 3, 4, 5}, "y": {2, 3, 4, 6}}, `dimension W is 6 here and 5 in "x"`, ""},
		{"huge", map[string]tensor.Shape{"x": {1, 3, 1 << 30, 1 << 30}}, "more than any device holds", ""},
		{"overflow", map[string]tensor.Shape{"x": {1 << 40, 3, 1 << 40, 1 << 40}}, "more than any device holds", ""},
		{"unknown dimension", map[string]tensor.Shape{"x": {1, 3, -1, 5}}, "unknown dimension", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := convert(t, model)
			_, err := graph.Bind(g, c.shapes)
			if err == nil {
				if got := graph.Type(g.Inputs[1]); got != c.want {
					t.Errorf("y is %s, want %s", got, c.want)
				}
				return
			}
			if problem.ClassOf(err) != problem.Usage || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want usage error with %q", err, c.want)
			}
		})
	}
}

func TestBind_batchOfOne(t *testing.T) {
	g := convert(t, func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "N,3")
		b.Node("Relu", "x", "y", nil)
		b.Output("y", tensor.Float32, "N,3")
	})
	notes, err := graph.Bind(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], `"x": dimension 0 (N) set to 1`) {
		t.Errorf("notes %q", notes)
	}
	if !g.Inputs[0].Shape.Equal(tensor.Shape{1, 3}) {
		t.Errorf("x is %v", g.Inputs[0].Shape)
	}
}

// A size other than the declared one is tried, and the node that refuses is named.
func TestInfer_otherSizeOfStaticInput(t *testing.T) {
	model := func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,4")
		b.Floats("w", tensor.Shape{4, 3})
		b.Node("MatMul", "x w", "y", nil)
		b.Output("y", tensor.Float32, "2,3")
	}
	g := convert(t, model)
	infer(t, g, map[string]tensor.Shape{"x": {5, 4}})
	if got := graph.Type(g.Outputs[0]); got != "float32[5x3]" {
		t.Errorf("output %s", got)
	}
	g = convert(t, model)
	if _, err := graph.Bind(g, map[string]tensor.Shape{"x": {2, 5}}); err != nil {
		t.Fatal(err)
	}
	_, err := graph.Infer(g)
	if problem.ClassOf(err) != problem.Usage || !strings.Contains(err.Error(), "MatMul_0") {
		t.Errorf("%v; want a usage error that names MatMul_0", err)
	}
}

func TestInfer_damagedShapes(t *testing.T) {
	g := convert(t, func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,4")
		b.Floats("w", tensor.Shape{3, 3})
		b.Node("MatMul", "x w", "y", nil)
		b.Output("y", tensor.Float32, "2,3")
	})
	_, err := graph.Infer(g)
	if problem.ClassOf(err) != problem.Damaged || err == nil {
		t.Errorf("%v; want damaged", err)
	}
}

// Every unsupported operator is named once with its nodes, dead ones and their followers are not.
func TestInfer_unsupported(t *testing.T) {
	g := convert(t, func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2")
		b.Node("Foo", "x", "a", nil)
		b.Node("my.domain.Bar", "a", "b", nil)
		b.Node("Relu", "b", "c", nil)
		b.Node("Foo", "c", "d", nil)
		b.Node("Add", "d x", "y", nil)
		b.Node("Dead", "b", "e", nil)
		b.Output("y", tensor.Float32, "2")
	})
	_, err := graph.Infer(g)
	want := "operator Foo (nodes Foo_0, Foo_3); operator my.domain.Bar (nodes my.domain.Bar_1): not supported"
	if err == nil || err.Error() != want || problem.ClassOf(err) != problem.Failed || !errors.Is(err, kernels.ErrUnsupported) {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// Shape arithmetic is folded away.
func TestInfer_folds(t *testing.T) {
	g := convert(t, func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,3,4")
		b.Ints("one", 1)
		b.Ints("minus", -1)
		b.Node("Shape", "x", "s", attrs{"start": int64(0), "end": int64(-1)})
		b.Node("Mul", "s s", "ss", nil)
		b.Node("Concat", "minus ss", "t", attrs{"axis": int64(0)})
		b.Node("Size", "x", "n", nil)
		b.Node("Cast", "n", "nf", attrs{"to": int64(1)})
		b.Node("Add", "x nf", "xs", nil)
		b.Node("Reshape", "xs t", "y", attrs{})
		b.Output("y", tensor.Float32, "a,b,c")
		b.Input("unused", tensor.Float32, "1")
	})
	_, err := graph.Bind(g, nil)
	if err == nil {
		_, err = graph.Infer(g)
	}
	// 24 elements do not fill ? x 4 x 9: the Reshape must say so.
	if err == nil || !strings.Contains(err.Error(), "Reshape_6") {
		t.Fatalf("%v; want an error at Reshape_6", err)
	}

	g = convert(t, func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,3,4")
		b.Ints("minus", -1)
		b.Node("Shape", "x", "s", attrs{"end": int64(1)})
		b.Node("Concat", "s minus", "t", attrs{"axis": int64(0)})
		b.Node("Reshape", "x t", "r", nil)
		b.Node("Size", "x", "n", nil)
		b.Node("Cast", "n", "nf", attrs{"to": int64(1)})
		b.Node("Mul", "r nf", "y", nil)
		b.Output("y", tensor.Float32, "a,b")
	})
	infer(t, g, nil)
	golden(t, "infer/folds.txt", g.String())
}

// A result far larger than its inputs stays a node.
func TestInfer_keepsLargeResults(t *testing.T) {
	if _, ok := kernels.Lookup("Expand"); !ok {
		t.Skip("operator Expand is not there")
	}
	g := convert(t, func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "1000,1000")
		b.Scalar("k", 2)
		b.Ints("s", 1000, 1000)
		b.Node("Expand", "k s", "e", nil)
		b.Node("Add", "x e", "y", nil)
		b.Output("y", tensor.Float32, "1000,1000")
	})
	infer(t, g, nil)
	if graph.Ops(g)["Expand"] != 1 {
		t.Errorf("a scalar was folded into 4 MB: %v", graph.Ops(g))
	}
}

// What becomes a weight is kept whatever its size, with all that makes it, and up to a limit.
func TestInfer_keepsWeights(t *testing.T) {
	for _, c := range []struct {
		name, shape string
		dims        []int64
		left        map[string]int
	}{
		{"convolution", "256,64,9,9", []int64{256, 64, 9, 9}, map[string]int{"Conv": 1}},
		{"more than a gibibyte", "65536,64,9,9", []int64{65536, 64, 9, 9}, map[string]int{"Conv": 1, "Expand": 1, "Mul": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := convert(t, func(b *onnx.Builder) {
				b.Input("x", tensor.Float32, "1,64,9,9")
				b.Scalar("k", 2)
				b.Scalar("half", 0.5)
				b.Ints("s", c.dims...)
				b.Node("Expand", "k s", "e", nil)
				b.Node("Mul", "e half", "w", nil)
				b.Node("Conv", "x w", "y", nil)
				b.Output("y", tensor.Float32, "a,b,c,d")
			})
			infer(t, g, nil)
			if got := graph.Ops(g); !maps.Equal(got, c.left) {
				t.Fatalf("left %v, want %v", got, c.left)
			}
			if w := g.Nodes[len(g.Nodes)-1].In[1].Const; w != nil && tensor.View[float32](w.Data)[7] != 1 {
				t.Error("the weight has another value than its nodes give")
			}
		})
	}
}

func TestInfer_refusesTerabytes(t *testing.T) {
	g := convert(t, func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "1048576,1")
		b.Input("z", tensor.Float32, "1,1048576")
		b.Node("Add", "x z", "y", nil)
		b.Output("y", tensor.Float32, "a,b")
	})
	_, err := graph.Infer(g)
	if err == nil || !strings.Contains(err.Error(), "Add_0") {
		t.Errorf("%v; want the Add refused", err)
	}
}

// branches builds If(cond) with then x*2, else x+extra; cond is a constant, or an input.
func branches(cond string, extra tensor.Shape) func(b *onnx.Builder) {
	return func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2,3")
		switch cond {
		case "input":
			b.Input("cond", tensor.Bool, "")
		default:
			b.Initializer("cond", &tensor.Tensor{DType: tensor.Bool, Data: []byte{cond[0] - '0'}})
		}
		var then, els onnx.Builder
		then.Scalar("k", 2)
		then.Node("Mul", "x k", "t", nil)
		then.Output("t", tensor.Float32, "2,3")
		els.Floats("k", extra)
		els.Node("Add", "x k", "e", nil)
		els.Output("e", tensor.Float32, "2,3")
		b.Node("If", "cond", "r", attrs{"then_branch": &then, "else_branch": &els})
		b.Node("Relu", "r", "y", nil)
		b.Output("y", tensor.Float32, "2,3")
	}
}

func TestInfer_branches(t *testing.T) {
	for _, c := range []struct {
		name, cond string
		extra      tensor.Shape
	}{
		{"then", "1", tensor.Shape{3}},
		{"then-other-invalid", "1", tensor.Shape{7}}, // not inferred: it cannot be taken
		{"else", "0", tensor.Shape{3}},
		{"run-time", "input", tensor.Shape{3}},
		{"fault", "input", tensor.Shape{7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := convert(t, branches(c.cond, c.extra))
			notes := infer(t, g, nil)
			if (len(notes) > 0) != (c.name == "fault") {
				t.Errorf("notes %q", notes)
			}
			golden(t, "infer/branch-"+c.name+".txt", g.String())
			if _, err := graph.Optimize(g, graph.Options{}); err != nil {
				t.Fatal(err)
			}
			x := ramp(t, tensor.Float32, tensor.Shape{2, 3})
			for _, taken := range []byte{0, 1} {
				in := map[string]*tensor.Tensor{"x": x, "cond": {DType: tensor.Bool, Data: []byte{taken}}}
				out, err := graph.Eval(g, in, nil)
				if c.name == "fault" && taken == 0 {
					if err == nil || !strings.Contains(err.Error(), "else_branch of If_0 cannot run") {
						t.Errorf("the branch that cannot run: %v", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				then := c.cond == "1" || c.cond == "input" && taken == 1
				k := []float32{-0.5, -0.13, 0.24000001}
				for i, v := range tensor.View[float32](x.Data) {
					want := max(0, v+k[i%3])
					if then {
						want = max(0, v*2)
					}
					if got := tensor.View[float32](out[0].Data)[i]; got != want {
						t.Errorf("cond %d: element %d is %g, want %g", taken, i, got, want)
					}
				}
			}
		})
	}
}

// Branches of different shapes are no error until the shape is needed.
func TestInfer_branchShapesDiffer(t *testing.T) {
	g := convert(t, branches("input", tensor.Shape{4, 1, 1}))
	_, err := graph.Infer(g)
	if err == nil || !strings.Contains(err.Error(), "Relu_1") || !strings.Contains(err.Error(), "float32[2x3] in one branch, float32[4x2x3] in the other") {
		t.Errorf("%v; want Relu_1 to ask for the shape", err)
	}
}

// A result whose size depends on data is refused by name, unless nobody wants it.
func TestInfer_sizeDependsOnData(t *testing.T) {
	if _, ok := kernels.Lookup("NonZero"); !ok {
		t.Skip("operator NonZero is not there")
	}
	model := func(out string) func(b *onnx.Builder) {
		return func(b *onnx.Builder) {
			b.Input("x", tensor.Float32, "2,3")
			b.Node("NonZero", "x", "n", nil)
			b.Node("Relu", "x", "y", nil)
			b.Output(out, tensor.Float32, "a,b")
		}
	}
	_, err := graph.Infer(convert(t, model("n")))
	if !errors.Is(err, kernels.ErrUnsupported) || !strings.Contains(err.Error(), "operator NonZero (nodes NonZero_0): the size of n depends on data") {
		t.Errorf("%v", err)
	}
	infer(t, convert(t, model("y")), nil)
}

// A clone takes other shapes, and leaves the original alone.
func TestClone(t *testing.T) {
	g := convert(t, func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "N,3")
		b.Input("cond", tensor.Bool, "")
		var then, els onnx.Builder
		then.Node("Abs", "x", "t", nil)
		then.Output("t", tensor.Float32, "N,3")
		els.Node("Neg", "x", "e", nil)
		els.Output("e", tensor.Float32, "N,3")
		b.Node("If", "cond", "y", attrs{"then_branch": &then, "else_branch": &els})
		b.Output("y", tensor.Float32, "N,3")
	})
	text := g.String()
	for _, n := range []int{1, 5} {
		c := graph.Clone(g)
		if c.String() != text {
			t.Fatalf("the clone is\n%s", c)
		}
		infer(t, c, map[string]tensor.Shape{"x": {n, 3}})
		if got := c.Outputs[0].Shape; got[0] != n {
			t.Errorf("output %v for %d rows", got, n)
		}
	}
	if g.String() != text {
		t.Errorf("the original is now\n%s", g)
	}
}

// Values that go straight through a branch, or that are constants, are copied by a node of the branch.
func TestInfer_branchOutputsAreSealed(t *testing.T) {
	g := convert(t, func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "2")
		b.Input("cond", tensor.Bool, "")
		var then, els onnx.Builder
		then.Output("x", tensor.Float32, "2")
		els.Floats("k", tensor.Shape{2}, 8, 9)
		els.Output("k", tensor.Float32, "2")
		b.Node("If", "cond", "y", attrs{"then_branch": &then, "else_branch": &els})
		b.Output("y", tensor.Float32, "2")
	})
	infer(t, g, nil)
	golden(t, "infer/sealed.txt", g.String())
	out := eval(t, g, map[string]*tensor.Tensor{"x": ramp(t, tensor.Float32, tensor.Shape{2}), "cond": {DType: tensor.Bool, Data: []byte{0}}})
	if got := tensor.View[float32](out[0].Data); got[0] != 8 || got[1] != 9 {
		t.Errorf("else gives %v", got)
	}
}

func TestEval_refusesOtherInputs(t *testing.T) {
	g := convert(t, branches("1", tensor.Shape{3}))
	infer(t, g, nil)
	for _, in := range []map[string]*tensor.Tensor{
		nil,
		{"x": ramp(t, tensor.Float32, tensor.Shape{3, 2})},
		{"x": ramp(t, tensor.Int64, tensor.Shape{2, 3})},
	} {
		if _, err := graph.Eval(g, in, nil); problem.ClassOf(err) != problem.Usage || err == nil {
			t.Errorf("%v: %v", in, err)
		}
	}
}

func TestWriteDOT(t *testing.T) {
	g := convert(t, branches("input", tensor.Shape{3}))
	infer(t, g, nil)
	var b strings.Builder
	if err := graph.WriteDOT(&b, g); err != nil {
		t.Fatal(err)
	}
	golden(t, "infer/branch.dot", b.String())
}

// Check finds what a broken pass leaves behind.
func TestCheck(t *testing.T) {
	fresh := func() *graph.Graph {
		g := convert(t, branches("input", tensor.Shape{3}))
		infer(t, g, nil)
		return g
	}
	for name, harm := range map[string]func(g *graph.Graph){
		"order":         func(g *graph.Graph) { g.Nodes[0], g.Nodes[1] = g.Nodes[1], g.Nodes[0] },
		"twice":         func(g *graph.Graph) { g.Nodes[1].Out = append(g.Nodes[1].Out, g.Nodes[0].Out[0]) },
		"producer":      func(g *graph.Graph) { g.Nodes[1].Out[0].Producer = g.Nodes[0] },
		"output":        func(g *graph.Graph) { g.Outputs[0] = &graph.Value{Name: "nobody's"} },
		"branch leaks":  func(g *graph.Graph) { g.Nodes[1].In[0] = g.Nodes[0].Bodies["then_branch"].Outputs[0] },
		"const made":    func(g *graph.Graph) { g.Nodes[1].Out[0].Const = &tensor.Tensor{} },
		"input made":    func(g *graph.Graph) { g.Inputs[0].Producer = g.Nodes[0] },
		"branch broken": func(g *graph.Graph) { g.Nodes[0].Bodies["else_branch"].Nodes = nil },
	} {
		g := fresh()
		if err := graph.Check(g); err != nil {
			t.Fatal(err)
		}
		harm(g)
		if graph.Check(g) == nil {
			t.Errorf("%s: not found", name)
		}
	}
}
