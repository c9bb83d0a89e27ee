package demo_test

import (
	"slices"
	"strings"
	"testing"

	"npu/internal/demo"
	"npu/internal/model/graph"
	"npu/internal/model/onnx"
	"npu/internal/tensor"
)

// load is the embedded network, inferred.
func load(t *testing.T) (*onnx.Model, *graph.Graph) {
	t.Helper()
	m, err := onnx.Parse(demo.Model(), "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.Graph()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := graph.Bind(g, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := graph.Infer(g); err != nil {
		t.Fatal(err)
	}
	if err := graph.CheckTypes(g); err != nil {
		t.Fatal(err)
	}
	return m, g
}

func TestModel_isSmallAndOwn(t *testing.T) {
	file := demo.Model()
	if len(file) > 300_000 || len(file) < 60_000 {
		t.Errorf("the model has %d bytes, want 60 to 300 kB", len(file))
	}
	clear(file)
	if slices.Equal(file, demo.Model()) {
		t.Error("Model gave its own memory away")
	}
}

func TestModel_face(t *testing.T) {
	m, g := load(t)
	if len(m.Inputs) != 1 || m.Inputs[0].Name != demo.Input || m.Inputs[0].Shape().String() != "1x1x28x28" {
		t.Errorf("inputs are %v", m.Inputs)
	}
	if len(m.Outputs) != 1 || m.Outputs[0].Name != demo.Output || m.Outputs[0].Shape().String() != "1x10" {
		t.Errorf("outputs are %v", m.Outputs)
	}
	for _, p := range m.Metadata {
		if p.Key == "classes" && p.Value != strings.Join(demo.Classes(), " ") {
			t.Errorf("the model's classes are %s", p.Value)
		}
	}
	want := map[string]int{
		"Conv": 6, "BatchNormalization": 6, "Relu": 4, "HardSigmoid": 2, "Mul": 2, "MaxPool": 1, "Add": 1,
		"GlobalAveragePool": 1, "Flatten": 1, "Gemm": 1, "Softmax": 1,
	}
	if got := graph.Ops(g); !equal(got, want) {
		t.Errorf("operators are %v, want %v", got, want)
	}
	if _, err := graph.Optimize(g, graph.Options{}); err != nil {
		t.Fatal(err)
	}
	want = map[string]int{"FusedConv": 6, "MaxPool": 1, "GlobalAveragePool": 1, "Flatten": 1, "FusedMatMul": 1, "Softmax": 1}
	if got := graph.Ops(g); !equal(got, want) {
		t.Errorf("optimised operators are %v, want %v", got, want)
	}
}

func equal(a, b map[string]int) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

func TestSamples_areReadRight(t *testing.T) {
	_, plain := load(t)
	_, fused := load(t)
	if _, err := graph.Optimize(fused, graph.Options{}); err != nil {
		t.Fatal(err)
	}
	samples := demo.Samples()
	if len(samples) != len(demo.Classes()) {
		t.Fatalf("%d samples, want one a class", len(samples))
	}
	for i, s := range samples {
		if s.Label != i || s.Image.DType != tensor.Float32 || !s.Image.Shape.Equal(tensor.Shape{1, 1, 28, 28}) {
			t.Errorf("sample %d is %s: label %d, %v", i, s.Name, s.Label, s.Image)
			continue
		}
		var outs [2]*tensor.Tensor
		for j, g := range []*graph.Graph{plain, fused} {
			out, err := graph.Eval(g, map[string]*tensor.Tensor{demo.Input: s.Image}, nil)
			if err != nil {
				t.Fatal(err)
			}
			outs[j] = out[0]
			label, p, err := demo.Answer(out[0])
			if err != nil {
				t.Fatal(err)
			}
			if label != s.Label || p < 0.8 || p > 0.99 {
				t.Errorf("%s is read as %s with %.3f", s.Name, demo.Classes()[label], p)
			}
		}
		d, err := tensor.Compare(outs[1], outs[0], tensor.Tolerance{ATol: 1e-5, RTol: 1e-4})
		if err != nil || !d.Equal() {
			t.Errorf("%s: optimised output differs: %+v, %v", s.Name, d, err)
		}
	}
}

func TestSamples_areFresh(t *testing.T) {
	first := demo.Samples()[3].Image
	clear(first.Data)
	if slices.Equal(first.Data, demo.Samples()[3].Image.Data) {
		t.Error("Samples gave its own memory away")
	}
}

func TestAnswer(t *testing.T) {
	v := []float32{0.05, 0.1, 0.05, 0.5, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05}
	good, err := tensor.FromFloat32s(tensor.Shape{1, 10}, v)
	if err != nil {
		t.Fatal(err)
	}
	if label, p, err := demo.Answer(good); err != nil || label != 3 || p != 0.5 {
		t.Errorf("got %d with %v, %v", label, p, err)
	}
	for _, bad := range []*tensor.Tensor{
		{DType: tensor.Float32, Shape: tensor.Shape{1, 9}, Data: make([]byte, 36)},
		{DType: tensor.Int32, Shape: tensor.Shape{1, 10}, Data: make([]byte, 40)},
		{DType: tensor.Float32, Shape: tensor.Shape{1, 10}},
	} {
		if _, _, err := demo.Answer(bad); err == nil {
			t.Errorf("no error for %v", bad)
		}
	}
}
