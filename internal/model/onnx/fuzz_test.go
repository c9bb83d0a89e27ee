package onnx

import (
	"errors"
	"testing"

	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// FuzzParse: no input may panic or hang, every refusal is damaged or unsupported, and what is read is a valid graph
// that can be inferred or refused.
func FuzzParse(f *testing.F) {
	f.Add(sample(f))
	f.Add([]byte{})
	f.Add(model(rawNodeOf("A", "c", "a"), rawNodeOf("B", "a", "c"), output("c")))
	f.Add(append(model(rawNodeOf("f.F", "", "y"), output("y")), functionOf("F", 17, "", "y", rawNodeOf("Neg", "", "y"))...))
	f.Add(model(init2(appendVarint(nil, tensorType, 7), dims(2), appendMessage(nil, tensorInt64s, []byte{1, 2})), output("w")))
	b := NewBuilder("conv", 17)
	b.Input("x", tensor.Float32, "1,2,4,4")
	b.Floats("w", tensor.Shape{2, 2, 3, 3})
	b.Node("Conv", "x w", "c", attrs{"pads": []int64{1, 1, 1, 1}})
	b.Node("Shape", "c", "s", nil)
	b.Node("Reshape", "c s", "r", nil)
	b.Node("Add", "r x", "a", nil)
	b.Node("Relu", "a", "y", nil)
	b.Output("y", tensor.Float32, "1,2,4,4")
	conv, err := b.Bytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(conv)
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := Parse(file, "")
		if err != nil {
			refused(t, err)
			return
		}
		g, err := m.Graph()
		if err != nil {
			refused(t, err)
			return
		}
		if err := graph.Check(g); err != nil {
			t.Fatalf("%v\n%s", err, g)
		}
		shapes := map[string]tensor.Shape{}
		for _, v := range g.Inputs {
			s := v.Shape.Clone()
			for i, n := range s {
				if n < 0 || n > 8 {
					s[i] = 3
				}
			}
			shapes[v.Name] = s
		}
		if _, err := graph.Bind(g, shapes); err != nil {
			return
		}
		if _, err := graph.Infer(g); err != nil {
			return
		}
		if _, err := graph.Optimize(g, graph.Options{}); err != nil {
			t.Fatalf("%v\n%s", err, g)
		}
		if err := graph.CheckTypes(g); err != nil {
			t.Fatalf("%v\n%s", err, g)
		}
	})
}

func refused(t *testing.T, err error) {
	t.Helper()
	if problem.ClassOf(err) != problem.Damaged && !errors.Is(err, kernels.ErrUnsupported) {
		t.Fatalf("%v is neither damaged nor unsupported", err)
	}
}
