package om

import (
	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/tensor"
)

// Built is a graph made of a file, for one gear.
type Built struct {
	Graph *graph.Graph
	// Notes say what had to be inferred, each with the operator's name.
	Notes []string
	// Timed names operators whose meaning is not known, with the reason: the model can be timed, not computed.
	Timed []string
}

// Build converts.
func (m *Model) Build(shapes map[string]tensor.Shape) (*Built, error) {
	return nil, problem.Failedf("not yet")
}
