package om

import (
	"os"
	"path/filepath"
	"testing"

	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// realFiles is the folder of third-party models, or the test is skipped.
func realFiles(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skip("no go.mod above the test")
		}
		dir = up
	}
	dir = filepath.Join(dir, "..", "shared", "data", "om")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no real .om files at ../shared/data/om")
	}
	return dir
}

func readReal(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(realFiles(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parseReal(t testing.TB, name string) *Model {
	t.Helper()
	m, err := Parse(readReal(t, name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

// sampleGraph is a small convolution, its bias and a Relu, with an If that captures a value.
func sampleGraph(batch int) *graph.Graph {
	f := func(name string, s tensor.Shape) *graph.Value {
		return &graph.Value{Name: name, DType: tensor.Float32, Shape: s, Known: true}
	}
	weights := func(name string, s tensor.Shape) *graph.Value {
		t, _ := tensor.New(tensor.Float32, s)
		for i := range tensor.View[float32](t.Data) {
			tensor.View[float32](t.Data)[i] = float32(i%7) - 3
		}
		v := f(name, s)
		v.Const = t
		return v
	}
	x := f("x:0", tensor.Shape{batch, 3, 6, 6})
	conv := &graph.Node{Name: "conv", Op: "FusedConv", Attrs: kernels.Attrs{"activation": "Relu", "pads": []int64{1, 1, 1, 1}, "group": int64(1)}, Origin: []string{"conv", "relu"}}
	y := f("y", tensor.Shape{batch, 4, 6, 6})
	y.Producer = conv
	conv.In, conv.Out = []*graph.Value{x, weights("w", tensor.Shape{4, 3, 3, 3}), weights("b", tensor.Shape{4})}, []*graph.Value{y}
	cond := &graph.Value{Name: "c", DType: tensor.Bool, Shape: tensor.Shape{}, Known: true}
	branch := func(name, op string) *graph.Graph {
		n := &graph.Node{Name: name, Op: op, In: []*graph.Value{y}, Attrs: kernels.Attrs{}, Origin: []string{name}}
		v := f(name+":out", y.Shape)
		v.Producer = n
		n.Out = []*graph.Value{v}
		return &graph.Graph{Name: name, Opset: opset, Nodes: []*graph.Node{n}, Outputs: []*graph.Value{v}}
	}
	br := &graph.Node{Name: "if", Op: "If", In: []*graph.Value{cond}, Attrs: kernels.Attrs{}, Origin: []string{"if"},
		Bodies: map[string]*graph.Graph{"then_branch": branch("then", "Neg"), "else_branch": branch("else", "Abs")}}
	z := f("z:1", y.Shape)
	z.Producer = br
	br.Out = []*graph.Value{z}
	return &graph.Graph{Name: "sample", Opset: opset, Inputs: []*graph.Value{x, cond}, Outputs: []*graph.Value{z}, Nodes: []*graph.Node{conv, br}}
}

// sampleProgram places the sample by hand: what a plan says is not this package's business.
func sampleProgram(batches ...int) *Program {
	p := &Program{Name: "sample", Soc: "Ascend910B3", Command: "sample.onnx", Dims: map[string][]int64{}}
	if len(batches) == 0 {
		batches = []int{1}
	} else {
		p.Flag = 1
		p.Dims["x:0"] = []int64{-1, 3, 6, 6}
	}
	for _, n := range batches {
		g := Gear{Graph: sampleGraph(n), Features: 1024, Ports: 2048, Inputs: []int64{1024, 1536}, Outputs: []int64{2048},
			Nodes: map[string]Placed{"conv": {Type: "Conv2D", Inputs: []int64{1024, 0, 0}, Outputs: []int64{0}, Blocks: 2}}}
		if p.Flag != 0 {
			g.Value = []int64{int64(n)}
		}
		g.Tasks = []PlannedTask{{Type: TaskKernel, Node: "conv", Args: []int64{1024, -1, 0}}, {Type: TaskLabelSwitch, Node: "if"}, {Type: TaskLabelSet, Node: "if"}}
		p.Gears = append(p.Gears, g)
	}
	return p
}

func sample(t testing.TB, batches ...int) []byte {
	t.Helper()
	b, err := Write(sampleProgram(batches...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
