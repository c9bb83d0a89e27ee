package onnx

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// where is a place in the message tree, for errors: graph.node[3].attribute[0].
type where struct {
	up   *where
	name string
	idx  int // -1: no list
}

func (w *where) String() string {
	var parts []string
	for ; w != nil; w = w.up {
		s := w.name
		if w.idx >= 0 {
			s += "[" + strconv.Itoa(w.idx) + "]"
		}
		parts = append(parts, s)
	}
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	if len(parts) == 0 {
		return "model"
	}
	return strings.Join(parts, ".")
}

// message walks the fields of one protobuf message: file[pos:end].
type message struct {
	file     []byte
	pos, end int
	at       *where
}

// field is one field of a message: val for the number types, file[lo:hi] for the length-delimited one.
type field struct {
	num    protowire.Number
	typ    protowire.Type
	off    int // of the tag in the file
	val    uint64
	lo, hi int
}

// next reads a field; false at the end of the message.
func (m *message) next(f *field) (bool, error) {
	if m.pos == m.end {
		return false, nil
	}
	*f = field{off: m.pos}
	var n int
	f.num, f.typ, n = protowire.ConsumeTag(m.file[m.pos:m.end])
	if n < 0 {
		return false, m.broken(f.off, "no field tag here")
	}
	m.pos += n
	rest := m.file[m.pos:m.end]
	switch f.typ {
	case protowire.VarintType:
		f.val, n = protowire.ConsumeVarint(rest)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(rest)
		f.val = uint64(v)
	case protowire.Fixed64Type:
		f.val, n = protowire.ConsumeFixed64(rest)
	case protowire.BytesType:
		var size uint64
		size, n = protowire.ConsumeVarint(rest)
		if n < 0 {
			break
		}
		if left := uint64(len(rest) - n); size > left {
			return false, m.broken(f.off, fmt.Sprintf("field %d says %d bytes, %d left (file truncated?)", f.num, size, left))
		}
		f.lo = m.pos + n
		f.hi = f.lo + int(size)
		n += int(size)
	default:
		return false, m.broken(f.off, fmt.Sprintf("field %d has wire type %d, which ONNX does not use", f.num, f.typ))
	}
	if n < 0 {
		return false, m.broken(f.off, fmt.Sprintf("field %d ends inside its value (file truncated?)", f.num))
	}
	m.pos += n
	return true, nil
}

func (m *message) broken(off int, text string) error {
	return fmt.Errorf("%v: offset %#x: %s", m.at, off, text)
}

// sub opens a field as a message.
func (m *message) sub(f *field, at *where) (*message, error) {
	if f.typ != protowire.BytesType {
		return nil, m.wrongType(f)
	}
	return &message{file: m.file, pos: f.lo, end: f.hi, at: at}, nil
}

func (m *message) wrongType(f *field) error {
	return m.broken(f.off, fmt.Sprintf("field %d has wire type %d, not the one of the ONNX format", f.num, f.typ))
}

func (m *message) str(f *field) (string, error) {
	if f.typ != protowire.BytesType {
		return "", m.wrongType(f)
	}
	return string(m.file[f.lo:f.hi]), nil
}

func (m *message) bytes(f *field) ([]byte, error) {
	if f.typ != protowire.BytesType {
		return nil, m.wrongType(f)
	}
	return m.file[f.lo:f.hi:f.hi], nil
}

func (m *message) int(f *field) (int64, error) {
	if f.typ != protowire.VarintType {
		return 0, m.wrongType(f)
	}
	return int64(f.val), nil
}

func (m *message) fixed32(f *field) (uint32, error) {
	if f.typ != protowire.Fixed32Type {
		return 0, m.wrongType(f)
	}
	return uint32(f.val), nil
}

// varints calls add for each number of a repeated field, packed or not.
func (m *message) varints(f *field, add func(uint64)) error {
	if f.typ == protowire.VarintType {
		add(f.val)
		return nil
	}
	if f.typ != protowire.BytesType {
		return m.wrongType(f)
	}
	for p := f.lo; p < f.hi; {
		v, n := protowire.ConsumeVarint(m.file[p:f.hi])
		if n < 0 {
			return m.broken(p, fmt.Sprintf("field %d ends inside a packed number", f.num))
		}
		add(v)
		p += n
	}
	return nil
}

// fixed appends the little-endian bytes of a repeated field of width 4 or 8, packed or not. The first packed run is
// returned without a copy.
func (m *message) fixed(f *field, width int, have []byte) ([]byte, error) {
	switch {
	case f.typ == protowire.BytesType:
		run := m.file[f.lo:f.hi:f.hi]
		if len(run)%width != 0 {
			return nil, m.broken(f.off, fmt.Sprintf("field %d: %d bytes are no whole number of %d-byte values", f.num, len(run), width))
		}
		if len(have) == 0 {
			return run, nil
		}
		return append(have, run...), nil
	case f.typ == protowire.Fixed32Type && width == 4:
		return protowire.AppendFixed32(have, uint32(f.val)), nil
	case f.typ == protowire.Fixed64Type && width == 8:
		return protowire.AppendFixed64(have, f.val), nil
	}
	return nil, m.wrongType(f)
}
