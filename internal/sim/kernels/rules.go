package kernels

import (
	"fmt"
	"slices"

	"npu/internal/tensor"
)

// maxDim bounds one dimension of a result: hostile attributes must not overflow the index arithmetic.
const maxDim = 1 << 40

// onnxTypes are the element types by their number in ONNX's TensorProto.DataType.
var onnxTypes = [...]tensor.DType{
	1: tensor.Float32, 2: tensor.Uint8, 3: tensor.Int8, 4: tensor.Uint16, 5: tensor.Int16, 6: tensor.Int32,
	7: tensor.Int64, 8: tensor.String, 9: tensor.Bool, 10: tensor.Float16, 11: tensor.Float64, 12: tensor.Uint32,
	13: tensor.Uint64, 14: tensor.Complex64, 15: tensor.Complex128, 16: tensor.BFloat16, 17: tensor.Float8E4M3,
	18: tensor.Float8E4M3FNUZ, 19: tensor.Float8E5M2, 20: tensor.Float8E5M2FNUZ, 21: tensor.Uint4, 22: tensor.Int4,
	23: tensor.Float4E2M1, 24: tensor.Float8E8M0, 25: tensor.Uint2, 26: tensor.Int2,
}

// ElementType is the type of an ONNX number (TensorProto.DataType).
func ElementType(n int) (tensor.DType, error) { return onnxType(n) }

// onnxType reads an element type given by its ONNX number.
func onnxType(n int) (tensor.DType, error) {
	if n <= 0 || n >= len(onnxTypes) || onnxTypes[n] == tensor.Undefined {
		return tensor.Undefined, fmt.Errorf("element type %d: %w", n, ErrUnsupported)
	}
	return onnxTypes[n], nil
}

// operands checks that the first least operands are there and that there are no more than most (-1: any number).
func (s *Spec) operands(least, most int) error {
	if most >= 0 && len(s.In) > most {
		return fmt.Errorf("%d inputs, takes at most %d", len(s.In), most)
	}
	for i := range least {
		if s.Input(i).Absent() {
			return fmt.Errorf("input %d is missing", i)
		}
	}
	return nil
}

// sameType checks that the operands from i on have one element type.
func (s *Spec) sameType(in ...int) error {
	for _, i := range in[1:] {
		if a, b := s.Input(in[0]).DType, s.Input(i).DType; a != b {
			return fmt.Errorf("inputs %d and %d have types %v and %v, must be the same", in[0], i, a, b)
		}
	}
	return nil
}

// results fills Out with the first of the descriptors; when Out is empty the first alone.
func (s *Spec) results(d ...Desc) error {
	if len(s.Out) == 0 {
		s.Out = make([]Desc, 1)
	}
	if len(s.Out) > len(d) {
		return fmt.Errorf("%d outputs asked for, has %d", len(s.Out), len(d))
	}
	for i := range s.Out {
		for _, n := range d[i].Shape {
			if n > maxDim {
				return fmt.Errorf("result shape %v is too large", d[i].Shape)
			}
		}
		s.Out[i] = d[i]
	}
	return nil
}

// axis turns a possibly negative axis into one of [0, rank).
func axis(a, rank int) (int, error) {
	if a < -rank || a >= rank {
		return 0, fmt.Errorf("axis %d is outside of rank %d", a, rank)
	}
	if a < 0 {
		a += rank
	}
	return a, nil
}

// axisSet turns a list of axes into one flag a dimension; a repeated axis is an error.
func axisSet(axes []int, rank int) ([]bool, error) {
	set := make([]bool, rank)
	for _, a := range axes {
		n, err := axis(a, rank)
		if err != nil {
			return nil, err
		}
		if set[n] {
			return nil, fmt.Errorf("axis %d is given twice", a)
		}
		set[n] = true
	}
	return set, nil
}

// listOrInput reads a list that older opsets carry as an attribute and newer ones as operand i. known is false when the
// operand is there and its value is not known; there is false when neither is given.
func (s *Spec) listOrInput(attr string, i int) (list []int, there, known bool, err error) {
	if d := s.Input(i); !d.Absent() {
		if d.Const == nil {
			return nil, true, false, nil
		}
		list, err = d.ConstInts()
		if err != nil {
			err = fmt.Errorf("input %d: %w", i, err)
		}
		return list, true, true, err
	}
	if !s.Attrs.Has(attr) {
		return nil, false, true, nil
	}
	list = s.Attrs.Ints(attr)
	if v, ok := s.Attrs[attr].(int64); ok {
		list = []int{int(v)}
	}
	return list, true, true, nil
}

// length is the number of elements of an operand that holds a list, -1 when it is not known.
func (d Desc) length() (int, error) {
	switch {
	case len(d.Shape) > 1:
		return 0, fmt.Errorf("expected a list, got shape %v", d.Shape)
	case len(d.Shape) == 0:
		return 1, nil
	}
	return d.Shape[0], nil
}

// unknown is a shape of the given rank without a known dimension.
func unknown(rank int) tensor.Shape {
	return slices.Repeat(tensor.Shape{-1}, rank)
}

// broadcast is the NumPy broadcast of shapes with unknown dimensions: against one of known length above 1 an unknown
// one must be that length or 1, otherwise the result is not known.
func broadcast(shapes ...tensor.Shape) (tensor.Shape, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	out := make(tensor.Shape, rank)
	for i := range out {
		d := 1
		for _, s := range shapes {
			j := i - (rank - len(s))
			if j < 0 || s[j] == 1 || s[j] == d {
				continue
			}
			switch {
			case d == 1:
				d = s[j]
			case d == -1:
				d = s[j]
			case s[j] != -1:
				return nil, fmt.Errorf("shapes %v do not broadcast", shapes)
			}
		}
		out[i] = d
	}
	return out, nil
}

// floating, integral and so on are the sets of element types that operators take.
func floating(t tensor.DType) bool {
	return t == tensor.Float32 || t == tensor.Float16 || t == tensor.BFloat16 || t == tensor.Float64
}

func integral(t tensor.DType) bool { return t.Int() && t.Size() > 0 }

func numeric(t tensor.DType) bool { return floating(t) || integral(t) }

// wantType rejects element types that an operator does not compute.
func wantType(t tensor.DType, ok func(tensor.DType) bool) error {
	if !ok(t) {
		return fmt.Errorf("element type %v: %w", t, ErrUnsupported)
	}
	return nil
}

// errWant says that an operand has the wrong type.
func errWant(what, want string, got tensor.DType) error {
	return fmt.Errorf("%s must be %s, is %v", what, want, got)
}

// errEmpty says that there is nothing to choose from along an axis.
func errEmpty(axis int) error { return fmt.Errorf("dimension %d is empty", axis) }
