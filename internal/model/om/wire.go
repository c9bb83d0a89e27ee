package om

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxNesting bounds messages inside messages.
const maxNesting = 100

// errBudget is what a file gets that holds more messages than bytes could reasonably describe.
var errBudget = errors.New("more messages than the size of the partition allows")

// wire is one protobuf message: b, which begins at offset off of the file. The budget is shared by all messages of a
// partition and bounds what their decoded form can cost.
type wire struct {
	b      []byte
	off    int
	depth  int
	budget *int
}

// newWire opens the outermost message of a partition.
func newWire(b []byte, off int) wire {
	n := 1024 + len(b)/8
	return wire{b: b, off: off, budget: &n}
}

// field is one field: val for the number types, sub for the length-delimited one.
type field struct {
	num protowire.Number
	typ protowire.Type
	off int // of the tag in the file
	val uint64
	wire
}

// each calls f for every field of the message.
func (w wire) each(f func(x *field) error) error {
	var x field
	for pos := 0; pos < len(w.b); {
		rest := w.b[pos:]
		x = field{off: w.off + pos}
		num, typ, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return fmt.Errorf("offset %#x: no field tag here", x.off)
		}
		x.num, x.typ = num, typ
		rest = rest[n:]
		var m int
		switch typ {
		case protowire.VarintType:
			x.val, m = protowire.ConsumeVarint(rest)
		case protowire.Fixed32Type:
			var v uint32
			v, m = protowire.ConsumeFixed32(rest)
			x.val = uint64(v)
		case protowire.Fixed64Type:
			x.val, m = protowire.ConsumeFixed64(rest)
		case protowire.BytesType:
			var size uint64
			if size, m = protowire.ConsumeVarint(rest); m < 0 {
				break
			}
			if left := uint64(len(rest) - m); size > left {
				return fmt.Errorf("offset %#x: field %d says %d bytes, %d left (file truncated?)", x.off, num, size, left)
			}
			end := m + int(size)
			x.wire = wire{b: rest[m:end:end], off: x.off + n + m, depth: w.depth + 1, budget: w.budget}
			m = end
		default:
			return fmt.Errorf("offset %#x: field %d has wire type %d, which is not used", x.off, num, typ)
		}
		if m < 0 {
			return fmt.Errorf("offset %#x: field %d ends inside its value (file truncated?)", x.off, num)
		}
		if err := f(&x); err != nil {
			return err
		}
		pos += n + m
	}
	return nil
}

func (x *field) wrong() error {
	return fmt.Errorf("offset %#x: field %d has wire type %d, not the one of the format", x.off, x.num, x.typ)
}

// message opens a field as a message and pays for it: more for those whose decoded form is large.
func (x *field) message(price int) (wire, error) {
	switch {
	case x.typ != protowire.BytesType:
		return wire{}, x.wrong()
	case x.depth > maxNesting:
		return wire{}, fmt.Errorf("offset %#x: messages are nested more than %d deep", x.off, maxNesting)
	}
	if *x.budget -= price; *x.budget < 0 {
		return wire{}, fmt.Errorf("offset %#x: %w", x.off, errBudget)
	}
	return x.wire, nil
}

func (x *field) bytes(to *[]byte) error {
	if x.typ != protowire.BytesType {
		return x.wrong()
	}
	*to = x.b
	return nil
}

func (x *field) str(to *string) error {
	if x.typ != protowire.BytesType {
		return x.wrong()
	}
	*to = string(x.b)
	return nil
}

func (x *field) strs(to *[]string) error {
	if x.typ != protowire.BytesType {
		return x.wrong()
	}
	*to = append(*to, string(x.b))
	return nil
}

func (x *field) int(to *int64) error {
	if x.typ != protowire.VarintType {
		return x.wrong()
	}
	*to = int64(x.val)
	return nil
}

func (x *field) uint(to *uint64) error {
	if x.typ != protowire.VarintType {
		return x.wrong()
	}
	*to = x.val
	return nil
}

func (x *field) u32(to *uint32) error {
	if x.typ != protowire.VarintType {
		return x.wrong()
	}
	*to = uint32(x.val)
	return nil
}

func (x *field) bool(to *bool) error {
	if x.typ != protowire.VarintType {
		return x.wrong()
	}
	*to = x.val != 0
	return nil
}

func (x *field) float(to *float32) error {
	if x.typ != protowire.Fixed32Type {
		return x.wrong()
	}
	*to = math.Float32frombits(uint32(x.val))
	return nil
}

// varints appends a repeated number, packed or not.
func (x *field) varints(add func(uint64)) error {
	if x.typ == protowire.VarintType {
		add(x.val)
		return nil
	}
	if x.typ != protowire.BytesType {
		return x.wrong()
	}
	for b := x.b; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return fmt.Errorf("offset %#x: field %d ends inside a packed number", x.off, x.num)
		}
		add(v)
		b = b[n:]
	}
	return nil
}

func (x *field) ints(to *[]int64) error {
	return x.varints(func(v uint64) { *to = append(*to, int64(v)) })
}

func (x *field) bools(to *[]bool) error {
	return x.varints(func(v uint64) { *to = append(*to, v != 0) })
}

func (x *field) floats(to *[]float32) error {
	if x.typ == protowire.Fixed32Type {
		*to = append(*to, math.Float32frombits(uint32(x.val)))
		return nil
	}
	if x.typ != protowire.BytesType || len(x.b)%4 != 0 {
		return x.wrong()
	}
	for b := x.b; len(b) > 0; b = b[4:] {
		v, _ := protowire.ConsumeFixed32(b)
		*to = append(*to, math.Float32frombits(v))
	}
	return nil
}
