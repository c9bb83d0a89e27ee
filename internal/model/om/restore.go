package om

import (
	"npu/internal/problem"
	"npu/internal/tensor"
)

func (m *Model) restore(shapes map[string]tensor.Shape) (*Built, error) {
	return nil, problem.Failedf("not yet")
}
