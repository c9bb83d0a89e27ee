package onnx

import (
	"fmt"
	"math"

	"npu/internal/tensor"
)

// valueInfo reads a ValueInfoProto with its TypeProto.
func (d *decoder) valueInfo(up *message, f *field, at *where) (ValueInfo, error) {
	off := f.off
	var v ValueInfo
	msg, err := up.sub(f, at)
	if err != nil {
		return v, err
	}
	for {
		ok, err := msg.next(f)
		if err != nil {
			return v, err
		}
		if !ok {
			break
		}
		switch f.num {
		case valueName:
			v.Name, err = msg.str(f)
		case valueType:
			err = d.typeProto(msg, f, &where{at, "type", -1}, &v)
		}
		if err != nil {
			return v, err
		}
	}
	if v.Name == "" {
		return v, up.broken(off, fmt.Sprintf("%v has no name", at))
	}
	return v, nil
}

func (d *decoder) typeProto(up *message, f *field, at *where, v *ValueInfo) error {
	msg, err := up.sub(f, at)
	if err != nil {
		return err
	}
	for {
		ok, err := msg.next(f)
		if err != nil || !ok {
			return err
		}
		switch f.num {
		case typeTensor:
			v.Kind = "tensor"
			err = d.tensorType(msg, f, &where{at, "tensor_type", -1}, v)
		case typeSequence:
			v.Kind = "sequence"
			err = d.elements(msg, f, &where{at, "sequence_type", -1}, v)
		case typeMap:
			v.Kind = "map"
		case typeSparse:
			v.Kind = "sparse_tensor"
		case typeOptional:
			v.Kind = "optional"
			err = d.elements(msg, f, &where{at, "optional_type", -1}, v)
		}
		if err != nil {
			return err
		}
	}
}

// elements reads what a sequence or an optional is made of: its element type; the shapes may differ.
func (d *decoder) elements(up *message, f *field, at *where, v *ValueInfo) error {
	if d.types++; d.types > maxDepth {
		return up.broken(f.off, fmt.Sprintf("%v: types are inside each other more than %d deep", at, maxDepth))
	}
	defer func() { d.types-- }()
	msg, err := up.sub(f, at)
	if err != nil {
		return err
	}
	for {
		ok, err := msg.next(f)
		if err != nil || !ok {
			return err
		}
		if f.num == typeElements {
			var inner ValueInfo
			if err := d.typeProto(msg, f, &where{at, "elem_type", -1}, &inner); err != nil {
				return err
			}
			v.DType = inner.DType
		}
	}
}

func (d *decoder) tensorType(up *message, f *field, at *where, v *ValueInfo) error {
	msg, err := up.sub(f, at)
	if err != nil {
		return err
	}
	for {
		ok, err := msg.next(f)
		if err != nil || !ok {
			return err
		}
		switch f.num {
		case tensorTypeElem:
			n, err := msg.int(f)
			if err != nil {
				return err
			}
			if v.DType, err = elemType(n); err != nil {
				return fmt.Errorf("%v: %w", at, err)
			}
		case tensorTypeShape:
			v.Known = true
			v.Dims, err = d.shape(msg, f, &where{at, "shape", -1})
		}
		if err != nil {
			return err
		}
	}
}

func (d *decoder) shape(up *message, f *field, at *where) ([]Dim, error) {
	msg, err := up.sub(f, at)
	if err != nil {
		return nil, err
	}
	dims := []Dim{}
	for {
		ok, err := msg.next(f)
		if err != nil || !ok {
			return dims, err
		}
		if f.num != shapeDim {
			continue
		}
		if len(dims) == maxRank {
			return nil, msg.broken(f.off, fmt.Sprintf("more than %d dimensions", maxRank))
		}
		dim, err := d.dim(msg, f, &where{at, "dim", len(dims)})
		if err != nil {
			return nil, err
		}
		dims = append(dims, dim)
	}
}

// dim reads one dimension. Negative and absent sizes are symbols without a name: exporters write both.
func (d *decoder) dim(up *message, f *field, at *where) (Dim, error) {
	dim := Dim{Size: -1}
	msg, err := up.sub(f, at)
	if err != nil {
		return dim, err
	}
	for {
		ok, err := msg.next(f)
		if err != nil || !ok {
			return dim, err
		}
		switch f.num {
		case dimValue:
			n, err := msg.int(f)
			if err != nil {
				return dim, err
			}
			if n > math.MaxInt32*1024 {
				return dim, msg.broken(f.off, fmt.Sprintf("dimension %d is out of reason", n))
			}
			dim.Size = int(max(n, -1))
		case dimParam:
			if dim.Symbol, err = msg.str(f); err != nil {
				return dim, err
			}
		}
	}
}

// elemType turns TensorProto.DataType into a type. 0 (undefined) is let through: an input may not say.
func elemType(n int64) (tensor.DType, error) {
	if n == 0 {
		return tensor.Undefined, nil
	}
	if t, ok := elemTypes[n]; ok {
		return t, nil
	}
	return 0, fmt.Errorf("element type %d is none of ONNX", n)
}
