package tensor

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// NPYOptions are forms of the file other than the usual one.
type NPYOptions struct {
	Version   int  // 1, 2 or 3; 0: 1
	Fortran   bool // column-major data
	BigEndian bool
}

// WriteNPY writes the tensor in NumPy's .npy format: version 1.0, C order, little endian, data at a multiple of 64
// bytes. Fractal formats are written as the logical shape. Types that NumPy lacks are widened without loss, as the
// vendor's dump converter does: bfloat16 and the smaller floats to float32, int2 and int4 to int8, uint2 and uint4 to uint8.
func WriteNPY(w io.Writer, t *Tensor) error { return WriteNPYAs(w, t, NPYOptions{}) }

// WriteNPYAs is WriteNPY in another form.
func WriteNPYAs(w io.Writer, t *Tensor, o NPYOptions) error {
	t, err := forNumPy(t)
	if err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	shape := t.Shape
	if o.Fortran && len(shape) > 1 {
		rev := &Tensor{DType: t.DType, Shape: shape, Data: t.Data}
		axes := make([]int, len(shape))
		for i := range axes {
			axes[i] = len(axes) - 1 - i
		}
		if t, err = permute(rev, ND, axes...); err != nil {
			return fmt.Errorf("npy: %w", err)
		}
	}
	data := t.Data
	if o.BigEndian {
		data = append([]byte(nil), data...)
		swapBytes(data, wordSize(t.DType))
	}
	head, err := npyHead(t.DType, shape, o)
	if err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// forNumPy brings a tensor into row-major memory of a type that NumPy has.
func forNumPy(t *Tensor) (*Tensor, error) {
	if !t.Format.RowMajor() {
		c, err := Convert(t, ND)
		if err != nil {
			return nil, err
		}
		t = c
	}
	if err := checkBytes(t); err != nil {
		return nil, err
	}
	switch t.DType {
	case BFloat16, Float8E4M3, Float8E5M2, Float8E4M3FNUZ, Float8E5M2FNUZ, Float8E8M0, Float4E2M1:
		return t.As(Float32)
	case Int2, Int4:
		return t.As(Int8)
	case Uint2, Uint4:
		return t.As(Uint8)
	}
	if toDescr(t.DType) == "" {
		return nil, fmt.Errorf("%v tensors cannot be written", t.DType)
	}
	return t, nil
}

func npyHead(t DType, s Shape, o NPYOptions) ([]byte, error) {
	var b strings.Builder
	descr := toDescr(t)
	if o.BigEndian && descr[0] == '<' {
		descr = ">" + descr[1:]
	}
	fortran := "False"
	if o.Fortran {
		fortran = "True"
	}
	b.WriteString("{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': (")
	for i, d := range s {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(d))
		if len(s) == 1 || i < len(s)-1 {
			b.WriteByte(',')
		}
	}
	b.WriteString("), }")
	version, fixed := max(o.Version, 1), 10
	if version > 3 {
		return nil, fmt.Errorf("no version %d", version)
	}
	if version > 1 {
		fixed = 12
	}
	for (fixed+b.Len()+1)%64 != 0 {
		b.WriteByte(' ')
	}
	b.WriteByte('\n')
	head := append([]byte(npyMagic), byte(version), 0)
	if version == 1 {
		if b.Len() > 0xffff {
			return nil, fmt.Errorf("shape %v is too long for version 1", s)
		}
		head = binary.LittleEndian.AppendUint16(head, uint16(b.Len()))
	} else {
		head = binary.LittleEndian.AppendUint32(head, uint32(b.Len()))
	}
	return append(head, b.String()...), nil
}
