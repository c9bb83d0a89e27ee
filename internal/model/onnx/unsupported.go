package onnx

import (
	"fmt"

	"npu/internal/problem"
	"npu/internal/sim/kernels"
)

// unsupportedf marks what ONNX allows and this tool does not do: the work fails, the file is not damaged.
func unsupportedf(format string, args ...any) error {
	return problem.Failedf("%s: %w", fmt.Sprintf(format, args...), kernels.ErrUnsupported)
}
