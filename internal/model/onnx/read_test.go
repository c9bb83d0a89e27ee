package onnx

import (
	"testing"

	"npu/internal/model/graph"
)

func TestRead_realModels(t *testing.T) {
	for _, c := range realCases(t) {
		t.Run(c.name, func(t *testing.T) {
			m, err := Read(c.model)
			if err != nil {
				t.Fatal(err)
			}
			g, err := m.Graph()
			if err != nil {
				t.Fatal(err)
			}
			if err := graph.Check(g); err != nil {
				t.Fatal(err)
			}
			if len(m.Inputs) != len(c.Inputs) || len(m.Outputs) != len(c.Outputs) {
				t.Fatalf("%d inputs and %d outputs, the case has %d and %d", len(m.Inputs), len(m.Outputs), len(c.Inputs), len(c.Outputs))
			}
			for i, in := range c.Inputs {
				if m.Inputs[i].Name != in.Name || m.Inputs[i].DType.String() != in.DType {
					t.Errorf("input %d is %q %v, the case says %q %s", i, m.Inputs[i].Name, m.Inputs[i].DType, in.Name, in.DType)
				}
				t.Log(graph.Type(g.Inputs[i]), in.Shape)
			}
			if m.WeightBytes > m.Bytes || m.WeightBytes < m.Bytes/3 {
				t.Errorf("%d bytes of weights in a file of %d", m.WeightBytes, m.Bytes)
			}
			t.Log(m.IRVersion, m.Opsets, m.Producer, m.Metadata, m.Ops)
		})
	}
}
