package tensor

import (
	"errors"
	"fmt"
)

// FromFloat32s copies row-major values into a float32 tensor.
func FromFloat32s(s Shape, v []float32) (*Tensor, error) { return of(Float32, s, v) }

// FromFloat64s copies row-major values into a float64 tensor.
func FromFloat64s(s Shape, v []float64) (*Tensor, error) { return of(Float64, s, v) }

// FromInt64s copies row-major values into an int64 tensor.
func FromInt64s(s Shape, v []int64) (*Tensor, error) { return of(Int64, s, v) }

// FromInt32s copies row-major values into an int32 tensor.
func FromInt32s(s Shape, v []int32) (*Tensor, error) { return of(Int32, s, v) }

// FromUint8s copies row-major values into a uint8 tensor.
func FromUint8s(s Shape, v []uint8) (*Tensor, error) { return of(Uint8, s, v) }

// FromBools copies row-major values into a bool tensor.
func FromBools(s Shape, v []bool) (*Tensor, error) {
	b := make([]uint8, len(v))
	for i, x := range v {
		if x {
			b[i] = 1
		}
	}
	return of(Bool, s, b)
}

// ScalarFloat32 is a tensor of rank 0.
func ScalarFloat32(v float32) *Tensor {
	return &Tensor{DType: Float32, Shape: Shape{}, Data: append([]byte(nil), Bytes([]float32{v})...)}
}

// ScalarInt64 is a tensor of rank 0.
func ScalarInt64(v int64) *Tensor {
	return &Tensor{DType: Int64, Shape: Shape{}, Data: append([]byte(nil), Bytes([]int64{v})...)}
}

func of[T Number](t DType, s Shape, v []T) (*Tensor, error) {
	n, err := s.Elements()
	if err != nil {
		return nil, err
	}
	if n != len(v) {
		return nil, fmt.Errorf("%d values for shape %v, which has %d", len(v), s, n)
	}
	return &Tensor{DType: t, Shape: s.Clone(), Data: append([]byte(nil), Bytes(v)...)}, nil
}

// Reshape is a view of the same memory under another shape with the same number of elements; one dimension of s may
// be -1 and is then inferred. Only row-major tensors (ND, NCHW, NHWC) can be reshaped; the result is ND.
func (t *Tensor) Reshape(s Shape) (*Tensor, error) {
	if t.Format > NHWC {
		return nil, fmt.Errorf("reshape of a %v tensor: convert it to ND first", t.Format)
	}
	have, err := t.Shape.Elements()
	if err != nil {
		return nil, err
	}
	out := s.Clone()
	infer := -1
	for i, d := range out {
		if d >= 0 {
			continue
		}
		if d != -1 || infer >= 0 {
			return nil, fmt.Errorf("reshape of %v to %v: at most one dimension may be -1", t.Shape, s)
		}
		infer, out[i] = i, 1
	}
	n, err := out.Elements()
	if err != nil {
		return nil, err
	}
	if infer >= 0 && n > 0 {
		out[infer] = have / n
		n *= have / n
	}
	if n != have || infer >= 0 && out.Count() == 0 && have != 0 {
		return nil, fmt.Errorf("reshape of %v to %v: %d elements do not fit", t.Shape, s, have)
	}
	return &Tensor{DType: t.DType, Shape: out, Data: t.Data}, nil
}

// Clone copies the tensor with its memory.
func (t *Tensor) Clone() *Tensor {
	c := *t
	c.Shape, c.Data = t.Shape.Clone(), append([]byte(nil), t.Data...)
	return &c
}

// As converts the elements to another numeric type in the same order: exactly where the target can hold the value,
// else rounded to nearest even (floats, too large becomes infinity or the format's NaN) or towards zero and
// clamped (integers, NaN becomes 0). Integers pass through float64, which is exact up to 2^53.
func (t *Tensor) As(to DType) (*Tensor, error) {
	if to == t.DType {
		return t.Clone(), nil
	}
	out := &Tensor{DType: to, Format: t.Format, Shape: t.Shape.Clone()}
	if perElement(to) != perElement(t.DType) {
		return nil, fmt.Errorf("no conversion from %v to %v", t.DType, to)
	}
	if t.Format > NHWC && C0(to) != C0(t.DType) {
		return nil, fmt.Errorf("no conversion from %v to %v in %v: convert the tensor to ND first", t.DType, to, t.Format)
	}
	stored, err := StorageShape(t.Format, t.Shape, to)
	if err != nil {
		return nil, err
	}
	n, err := stored.Bytes(to)
	if err != nil {
		return nil, err
	}
	if have, err := t.numbers(); err != nil || have != stored.Count()*perElement(to) {
		return nil, errors.Join(err, fmt.Errorf("no conversion from %v of %v to %v", t, t.Format, to))
	}
	out.Data = make([]byte, n)
	err = t.EachFloats(func(at int, v []float64) error {
		return EncodeFloats(out.Data, to, at, v)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
