package compare

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/model"
	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// network is a small model: a convolution, an activation, a transposition, a resize, another convolution.
type network struct {
	g *graph.Graph
	t *testing.T
}

func (n *network) constant(name string, s tensor.Shape, f func(i int) float64) *graph.Value {
	x, err := tensor.New(tensor.Float32, s)
	if err != nil {
		n.t.Fatal(err)
	}
	for i := range s.Count() {
		if err := tensor.EncodeFloats(x.Data, x.DType, i, []float64{f(i)}); err != nil {
			n.t.Fatal(err)
		}
	}
	return &graph.Value{Name: name, DType: x.DType, Shape: s, Known: true, Const: x}
}

func (n *network) node(op string, at kernels.Attrs, in ...*graph.Value) *graph.Value {
	if at == nil {
		at = kernels.Attrs{}
	}
	name := fmt.Sprintf("%s_%d", op, len(n.g.Nodes))
	out := &graph.Value{Name: name + ":0"}
	x := &graph.Node{Name: name, Op: op, In: in, Out: []*graph.Value{out}, Attrs: at, Origin: []string{name}}
	out.Producer = x
	n.g.Nodes = append(n.g.Nodes, x)
	return out
}

func small(t *testing.T, change func(*graph.Graph)) *model.Model {
	t.Helper()
	in := &graph.Value{Name: "x", DType: tensor.Float32, Shape: tensor.Shape{1, 3, 6, 6}, Known: true}
	n := &network{t: t, g: &graph.Graph{Name: "small", Opset: 17, Inputs: []*graph.Value{in}}}
	w := func(i int) float64 { return math.Sin(float64(7*i + 1)) }
	v := n.node("Conv", kernels.Attrs{"pads": []int64{1, 1, 1, 1}}, in, n.constant("w0", tensor.Shape{4, 3, 3, 3}, w), n.constant("b0", tensor.Shape{4}, w))
	v = n.node("LeakyRelu", nil, v)
	v = n.node("Transpose", kernels.Attrs{"perm": []int64{0, 1, 2, 3}}, v)
	v = n.node("Resize", kernels.Attrs{"mode": "linear"}, v, nil, n.constant("scales", tensor.Shape{4}, func(i int) float64 { return []float64{1, 1, 2, 2}[i] }))
	v = n.node("Conv", nil, v, n.constant("w1", tensor.Shape{2, 4, 1, 1}, w))
	n.g.Outputs = []*graph.Value{v}
	if change != nil {
		change(n.g)
	}
	if _, err := graph.Infer(n.g); err != nil {
		t.Fatal(err)
	}
	return &model.Model{Name: "small", Path: "small.onnx", Graph: n.g}
}

func input(t *testing.T) map[string]*tensor.Tensor {
	x, err := tensor.New(tensor.Float32, tensor.Shape{1, 3, 6, 6})
	if err == nil {
		err = randomize(x, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*tensor.Tensor{"x": x}
}

func TestKinds(t *testing.T) {
	at := func(i int, name string, v any) func(*graph.Graph) {
		return func(g *graph.Graph) { g.Nodes[i].Attrs[name] = v }
	}
	for _, c := range []struct {
		name, first string
		change      func(*graph.Graph)
		kind        Kind
		detail      string
	}{
		{name: "none"},
		{name: "pads", change: at(0, "pads", []int64{2, 2, 0, 0}), first: "Conv_0", kind: Window, detail: "[1 1 1 1] against [2 2 0 0]"},
		{name: "same pads in other words", change: func(g *graph.Graph) { g.Nodes[0].Attrs = kernels.Attrs{"auto_pad": "SAME_UPPER"} }},
		{name: "slope", change: at(1, "alpha", float32(0.2)), first: "LeakyRelu_1", kind: Activation, detail: "0.2"},
		{name: "layout", change: at(2, "perm", []int64{0, 1, 3, 2}), first: "Resize_3", kind: Layout, detail: "[[0 1 3 2]]"},
		{name: "resize", change: at(3, "coordinate_transformation_mode", "asymmetric"), first: "Resize_3", kind: Resize, detail: "asymmetric"},
		{name: "weights", first: "Conv_4", kind: Weights, detail: "1 of 8 numbers of w1", change: func(g *graph.Graph) {
			if err := tensor.EncodeFloats(g.Nodes[4].In[1].Const.Data, tensor.Float32, 5, []float64{9}); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Models(small(t, nil), small(t, c.change), input(t), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Layers) != 4 {
				t.Errorf("%d layers, expected 4: %+v", len(r.Layers), r.Layers)
			}
			if c.first == "" {
				if r.First != nil || !strings.HasPrefix(r.Verdict, "equal") {
					t.Errorf("%s: %+v", r.Verdict, r.First)
				}
				return
			}
			if r.First == nil || r.First.B != c.first || r.First.Kind != c.kind || !strings.Contains(r.First.Detail, c.detail) {
				t.Fatalf("first %+v, expected %s %s", r.First, c.first, c.kind)
			}
			for _, l := range r.Layers {
				if l.Kind.differs() && l.B != c.first {
					t.Errorf("%s is blamed too: %s", l.B, l.Kind)
				}
			}
		})
	}
}

// A model that the optimiser fused and one in float16 line up with the operators of the file.
func TestFusedAndHalf(t *testing.T) {
	fused := small(t, nil)
	if _, err := graph.Optimize(fused.Graph, graph.Options{CopyConstants: true}); err != nil {
		t.Fatal(err)
	}
	half := small(t, nil)
	if err := graph.Half(half.Graph); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*model.Model{"fused": fused, "half": half} {
		r, err := Models(m, small(t, nil), input(t), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.First != nil || len(r.OnlyA)+len(r.OnlyB) > 0 {
			t.Errorf("%s: %s; only in one %v %v", name, r.Verdict, r.OnlyA, r.OnlyB)
		}
		last := r.Layers[len(r.Layers)-1]
		if name == "half" && last.Kind != Precision || name == "fused" && r.Layers[0].B != "LeakyRelu_1" {
			t.Errorf("%s: %+v", name, r.Layers)
		}
	}
}

func TestAgainst(t *testing.T) {
	m := small(t, nil)
	dumps := func(change func(*graph.Graph)) []Dump { // what a device gave that does something else
		s := flatten(small(t, change).Graph)
		if err := s.run(input(t), "small"); err != nil {
			t.Fatal(err)
		}
		out := []Dump{{Node: "Elsewhere"}}
		for _, l := range s.layers {
			out = append(out, Dump{Node: l.name, File: "dump/" + l.name, Load: func() (*tensor.Tensor, error) { return l.data, nil }})
		}
		return out
	}
	r, err := against(m, input(t), dumps(nil), Options{})
	if err != nil || r.First != nil || len(r.Layers) != 4 || len(r.OnlyB) != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	r, err = against(m, input(t), dumps(func(g *graph.Graph) { g.Nodes[3].Attrs["coordinate_transformation_mode"] = "asymmetric" }), Options{})
	if err != nil || r.First == nil || r.First.A != "Resize_3" || r.First.B != "dump/Resize_3" || !strings.Contains(r.Verdict, "first in Resize_3") {
		t.Fatalf("%+v %v", r, err)
	}
	for _, l := range r.Layers {
		if l.Kind.differs() && l.A != "Resize_3" {
			t.Errorf("%s is blamed too", l.A)
		}
	}
	if _, err := against(m, input(t), dumps(nil)[:1], Options{}); err == nil {
		t.Error("dumps of another model are accepted")
	}
}

func TestWrite(t *testing.T) {
	r, err := Models(small(t, nil), small(t, func(g *graph.Graph) { g.Nodes[0].Attrs["pads"] = []int64{2, 2, 0, 0} }), input(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, markdown := range []bool{false, true} {
		var b bytes.Buffer
		if err := Write(&b, r, markdown); err != nil {
			t.Fatal(err)
		}
		if s := b.String(); !strings.HasPrefix(s, "differs: pad/stride/dilation, first in Conv_0") || strings.Contains(s, "| Conv_4 |") != markdown {
			t.Errorf("markdown %v:\n%s", markdown, s)
		}
	}
}

// A compiled model's scaled and moved constants are no differences.
func TestCompiledOfOurs(t *testing.T) {
	path := data(t, "onnx", "ppocr-v4-rec", "model.onnx")
	if testing.Short() {
		t.Skip("short")
	}
	shapes := map[string]tensor.Shape{"x": {1, 3, 48, 64}}
	a, err := model.Open(filepath.Clean(path), model.Options{Shapes: shapes})
	if err != nil {
		t.Fatal(err)
	}
	b, err := model.Open(path, model.Options{Shapes: shapes, Passes: plain()})
	if err != nil {
		t.Fatal(err)
	}
	in, _, err := values(a, b, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Models(a, b, in, Options{})
	if err != nil || r.First != nil || len(r.Layers) < 50 {
		t.Errorf("%d layers: %s, %v", len(r.Layers), r.Verdict, err)
	}
}
