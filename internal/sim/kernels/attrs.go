package kernels

import (
	"fmt"

	"npu/internal/tensor"
)

// Attrs are an operator's attributes by name. Values are int64, float32, string, []int64, []float32, []string or
// *tensor.Tensor.
type Attrs map[string]any

// Int reads an integer attribute.
func (a Attrs) Int(name string, def int) int {
	if v, ok := a[name].(int64); ok {
		return int(v)
	}
	return def
}

// Float reads a floating-point attribute.
func (a Attrs) Float(name string, def float32) float32 {
	switch v := a[name].(type) {
	case float32:
		return v
	case int64:
		return float32(v)
	}
	return def
}

// Str reads a string attribute.
func (a Attrs) Str(name, def string) string {
	if v, ok := a[name].(string); ok {
		return v
	}
	return def
}

// Ints reads a list of integers; nil when it is not there.
func (a Attrs) Ints(name string) []int {
	v, ok := a[name].([]int64)
	if !ok {
		return nil
	}
	out := make([]int, len(v))
	for i, x := range v {
		out[i] = int(x)
	}
	return out
}

// Has says whether the attribute is there.
func (a Attrs) Has(name string) bool { _, ok := a[name]; return ok }

// Tensor reads a tensor attribute; nil when it is not there.
func (a Attrs) Tensor(name string) *tensor.Tensor {
	t, _ := a[name].(*tensor.Tensor)
	return t
}

// ErrNotKnown says that the value of an operand is needed and not known at compile time: with it the operator might
// be compiled. It is an ErrUnsupported too.
var ErrNotKnown = fmt.Errorf("value is not known at compile time: %w", ErrUnsupported)

// ConstInts reads a constant integer operand (int32 or int64) as a list.
func (d Desc) ConstInts() ([]int, error) {
	if d.Const == nil {
		return nil, ErrNotKnown
	}
	switch d.Const.DType {
	case tensor.Int64:
		v := tensor.View[int64](d.Const.Data)
		out := make([]int, len(v))
		for i, x := range v {
			out[i] = int(x)
		}
		return out, nil
	case tensor.Int32:
		v := tensor.View[int32](d.Const.Data)
		out := make([]int, len(v))
		for i, x := range v {
			out[i] = int(x)
		}
		return out, nil
	}
	return nil, fmt.Errorf("expected int64 or int32, got %v", d.Const.DType)
}
