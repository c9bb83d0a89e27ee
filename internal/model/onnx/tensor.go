package onnx

import (
	"encoding/binary"
	"fmt"

	"npu/internal/tensor"

	"google.golang.org/protobuf/encoding/protowire"
)

// tensorFields are the data fields of a TensorProto before they are interpreted.
type tensorFields struct {
	elem     int64
	dims     tensor.Shape
	raw      []byte
	hasRaw   bool
	floats   []byte // little-endian float32
	doubles  []byte
	ints     [][2]int // runs of varints in the file: int32_data, int64_data or uint64_data
	strings  int
	external []Property
	location int64
}

// tensor reads a TensorProto. raw_data and packed floats are slices of the file; other forms are decoded into memory
// that their own size in the file bounds.
func (d *decoder) tensor(up *message, f *field, at *where) (rawTensor, error) {
	off := f.off
	var r rawTensor
	msg, err := up.sub(f, at)
	if err != nil {
		return r, err
	}
	var t tensorFields
	var single []byte // varints that were not packed
	for {
		ok, err := msg.next(f)
		if err != nil {
			return r, err
		}
		if !ok {
			break
		}
		switch f.num {
		case tensorDims:
			err = msg.varints(f, func(v uint64) {
				if len(t.dims) <= maxRank {
					t.dims = append(t.dims, int(int64(v)))
				}
			})
		case tensorType:
			t.elem, err = msg.int(f)
		case tensorName:
			r.name, err = msg.str(f)
		case tensorRaw:
			t.hasRaw = true
			t.raw, err = msg.bytes(f)
		case tensorFloats:
			t.floats, err = msg.fixed(f, 4, t.floats)
		case tensorDoubles:
			t.doubles, err = msg.fixed(f, 8, t.doubles)
		case tensorInt32s, tensorInt64s, tensorUint64s:
			if f.typ == protowire.VarintType {
				single = protowire.AppendVarint(single, f.val)
			} else if f.typ == protowire.BytesType {
				t.ints = append(t.ints, [2]int{f.lo, f.hi})
			} else {
				err = msg.wrongType(f)
			}
		case tensorStrings:
			t.strings++
		case tensorExternal:
			var p Property
			if p, err = d.entry(msg, f, &where{at, "external_data", len(t.external)}); err == nil {
				t.external = append(t.external, p)
			}
		case tensorLocation:
			t.location, err = msg.int(f)
		}
		if err != nil {
			return r, err
		}
	}
	if r.t, err = d.interpret(&t, single); err != nil {
		return r, fmt.Errorf("%v %q: offset %#x: %w", at, r.name, off, err)
	}
	d.m.WeightBytes += len(r.t.Data)
	return r, nil
}

// interpret checks the declared shape against the data and picks the field that holds them. Nothing is allocated
// for a shape before the data are known to be there.
func (d *decoder) interpret(t *tensorFields, single []byte) (*tensor.Tensor, error) {
	dt, err := elemType(t.elem)
	if err != nil {
		return nil, err
	}
	if dt == tensor.Undefined {
		return nil, fmt.Errorf("no element type")
	}
	if len(t.dims) > maxRank {
		return nil, fmt.Errorf("more than %d dimensions", maxRank)
	}
	out := &tensor.Tensor{DType: dt, Shape: t.dims}
	for _, n := range t.dims {
		if n < 0 {
			return nil, fmt.Errorf("dimension %d in the shape of a constant", n)
		}
	}
	count, err := t.dims.Elements()
	if err != nil {
		return nil, err
	}
	want, err := t.dims.Bytes(dt)
	if err != nil {
		return nil, err
	}
	if dt == tensor.String {
		if t.strings != count {
			return nil, fmt.Errorf("shape %v needs %d strings, there are %d", t.dims, count, t.strings)
		}
		return out, nil
	}
	source := "raw_data"
	switch {
	case t.location == 1:
		out.Data, err = d.external(t.external, want)
		return out, err
	case t.hasRaw:
		out.Data = t.raw
	case len(t.floats) > 0 && (dt == tensor.Float32 || dt == tensor.Complex64):
		source, out.Data = "float_data", t.floats
	case len(t.doubles) > 0 && (dt == tensor.Float64 || dt == tensor.Complex128):
		source, out.Data = "double_data", t.doubles
	case len(t.ints) > 0 || len(single) > 0:
		source = "integer data"
		if dt == tensor.Float32 || dt == tensor.Float64 || dt == tensor.Complex64 || dt == tensor.Complex128 {
			return nil, fmt.Errorf("%v in a field of integers", dt)
		}
		out.Data, err = d.widen(t.ints, single, dt, want)
		if err != nil {
			return nil, err
		}
	}
	if len(out.Data) != want {
		return nil, fmt.Errorf("shape %v of %v needs %d bytes, %s has %d", t.dims, dt, want, source, len(out.Data))
	}
	return out, nil
}

// widen decodes varints into little-endian elements of the type.
func (d *decoder) widen(runs [][2]int, single []byte, dt tensor.DType, want int) ([]byte, error) {
	size := max(dt.Size(), 1) // a number holds a byte of int4 or int2
	n := countVarints(single)
	for _, r := range runs {
		n += countVarints(d.b[r[0]:r[1]])
	}
	if n*size != want {
		return nil, fmt.Errorf("%d numbers for %d bytes of %v", n, want, dt)
	}
	out := make([]byte, 0, want)
	put := func(b []byte) error {
		for len(b) > 0 {
			v, k := protowire.ConsumeVarint(b)
			if k < 0 {
				return fmt.Errorf("a number ends early")
			}
			b = b[k:]
			switch size {
			case 1:
				out = append(out, byte(v))
			case 2:
				out = binary.LittleEndian.AppendUint16(out, uint16(v))
			case 4:
				out = binary.LittleEndian.AppendUint32(out, uint32(v))
			default:
				out = binary.LittleEndian.AppendUint64(out, v)
			}
		}
		return nil
	}
	for _, r := range runs {
		if err := put(d.b[r[0]:r[1]]); err != nil {
			return nil, err
		}
	}
	return out, put(single)
}
