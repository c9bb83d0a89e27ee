package om

import (
	"fmt"

	"npu/internal/tensor"
)

// constant makes the value of a Const. One in a layout that is not known has no value: what uses it is only timed.
func (s *scope) constant(o *OpDef) []val {
	out := make([]val, max(len(o.Out), 1))
	t := weightOf(o)
	if t == nil || t.Desc == nil {
		return out
	}
	d := t.Desc
	if len(o.Out) > 0 {
		d = o.Out[0]
		if len(d.Shape) == 0 && len(t.Desc.Shape) > 0 {
			d = t.Desc
		}
	}
	out[0] = val{d: d}
	stored, err := s.grp.weight(t)
	if err == nil {
		var x *tensor.Tensor
		if x, err = dense(d, stored); err == nil {
			out[0].v = constValue(o.Name, x)
			return out
		}
	}
	s.b.note("%s: constant of unknown form: %v", o.Name, err)
	return out
}

// dense brings stored elements into the order of the descriptor's value.
func dense(d *TensorDesc, stored []byte) (*tensor.Tensor, error) {
	t := dtypeOf(d.DType)
	if t.Bits() == 0 {
		return nil, fmt.Errorf("element type %s", typeName(d.DType))
	}
	dims, ok := d.dims()
	if !ok {
		return nil, fmt.Errorf("no logical shape of layout %s", d.Layout)
	}
	shape := shapeOf(dims)
	n, err := shape.Bytes(t)
	if err != nil {
		return nil, err
	}
	name, groups := d.layout()
	if d.rowMajor() {
		if len(stored) < n {
			return nil, fmt.Errorf("%d bytes stored, %v of %v needs %d", len(stored), shape, t, n)
		}
		return &tensor.Tensor{DType: t, Shape: shape, Data: stored[:n:n]}, nil
	}
	if len(d.Shape) == 0 {
		return nil, fmt.Errorf("layout %s without a stored shape", d.Layout)
	}
	have, err := shapeOf(d.Shape).Bytes(t)
	if err != nil || len(stored) < have {
		return nil, fmt.Errorf("%d bytes stored, %v of %v needs %d", len(stored), shapeOf(d.Shape), t, have)
	}
	if n > have {
		return nil, fmt.Errorf("%v of %v does not fit the stored %v", shape, t, shapeOf(d.Shape))
	}
	out, err := tensor.New(t, shape)
	if err != nil {
		return nil, err
	}
	stored = stored[:have]
	l := tensor.Layout{C0: int(d.Shape[len(d.Shape)-1]), Groups: groups}
	switch name {
	case "NC1HWC0":
		l.Format = tensor.NC1HWC0
	case "FRACTAL_Z", "FRACTAL_Z_G":
		l.Format = tensor.FractalZ
		if len(shape) == 2 { // a matrix kept as a 1x1 filter
			shape = tensor.Shape{shape[0], shape[1], 1, 1}
		}
	case "FRACTAL_NZ":
		l.Format = tensor.FractalNZ
	case "FRACTAL_Z_C04":
		return out, unpackC04(out, stored, d.Shape)
	case "C1HWNCoC0":
		return out, unpackDepthwise(out, stored, d.Shape)
	default:
		return nil, fmt.Errorf("layout %s", d.Layout)
	}
	if err := l.Unpack(out.Data, stored, shape, t); err != nil {
		return nil, fmt.Errorf("layout %s: %w", d.Layout, err)
	}
	return out, nil
}

// unpackC04 reads a filter of at most four input channels: [KH·KW·4/16, N1, 16, 16], four channels to a position.
func unpackC04(out *tensor.Tensor, stored []byte, dims []int64) error {
	s, size := out.Shape, out.DType.Size()
	if len(s) != 4 || s[1] > 4 || len(dims) != 4 {
		return fmt.Errorf("FRACTAL_Z_C04 of shape %v", s)
	}
	n1, c0 := int(dims[1]), int(dims[3])
	at := 0
	for o := range s[0] {
		for i := range s[1] {
			for p := range s[2] * s[3] {
				k := p*4 + i
				from := (((k/c0)*n1+o/16)*16+o%16)*c0 + k%c0
				if from < 0 || (from+1)*size > len(stored) {
					return fmt.Errorf("FRACTAL_Z_C04 of shape %v in %v", s, dims)
				}
				copy(out.Data[at*size:(at+1)*size], stored[from*size:])
				at++
			}
		}
	}
	return nil
}

// unpackDepthwise reads the filter of a depthwise convolution, [C1, KH, KW, N, Co, C0] with the channels on a
// diagonal, as N,C,KH,KW.
func unpackDepthwise(out *tensor.Tensor, stored []byte, dims []int64) error {
	s, size := out.Shape, out.DType.Size()
	if len(s) != 4 || len(dims) != 6 {
		return fmt.Errorf("C1HWNCoC0 of shape %v", s)
	}
	kh, kw, n, co, c0 := int(dims[1]), int(dims[2]), int(dims[3]), int(dims[4]), int(dims[5])
	if s[0] != n || s[2] != kh || s[3] != kw || co != c0 || c0 == 0 {
		return fmt.Errorf("C1HWNCoC0 of shape %v in %v", s, dims)
	}
	at := 0
	for o := range s[0] {
		for c := range s[1] {
			for h := range kh {
				for w := range kw {
					from := (((((c/c0)*kh+h)*kw+w)*n+o)*co+c%c0)*c0 + c%c0
					if (from+1)*size > len(stored) {
						return fmt.Errorf("C1HWNCoC0 of shape %v in %v", s, dims)
					}
					copy(out.Data[at*size:(at+1)*size], stored[from*size:])
					at++
				}
			}
		}
	}
	return nil
}
