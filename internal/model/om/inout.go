package om

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// InOut is the partition MODEL_INOUT_INFO.
type InOut struct {
	Inputs, Outputs []InOutTensor
	Batches         []int64
	ImageSizes      [][]int64
	Dims            [][]int64
	DynamicShapes   []string
	ShapeOrder      []string
}

// InOutTensor is an input or output as the user sees it.
type InOutTensor struct {
	Name   string
	Bytes  uint64
	Format int32
	DType  int32 // memory numbering
	Dims   []int64
	DimsV2 []int64 // shape before static AIPP
	Range  []int64 // pairs
}

// Types of the entries.
const (
	ioInputs = iota
	ioOutputs
	ioBatches
	ioImages
	ioDims
	ioShapes
	ioOrder
)

func decodeInOut(p *Partition) (*InOut, error) {
	io := &InOut{}
	c := &cursor{b: p.Data, off: p.Offset}
	for c.left() > 0 {
		t, size := c.u32(), c.u32()
		e := c.take(int64(size), "entry")
		if c.err != nil {
			return nil, c.err
		}
		switch t {
		case ioInputs:
			io.Inputs = e.tensors()
		case ioOutputs:
			io.Outputs = e.tensors()
		case ioBatches:
			io.Batches = e.longs(8 * int64(e.u32()))
		case ioImages:
			io.ImageSizes = e.lists()
		case ioDims:
			io.Dims = e.lists()
		case ioShapes:
			io.DynamicShapes = e.texts()
		case ioOrder:
			io.ShapeOrder = e.texts()
		}
		if e.err != nil {
			return nil, e.err
		}
	}
	return io, nil
}

// cursor reads little-endian values; the first error sticks.
type cursor struct {
	b   []byte
	pos int
	off int // of b[0] in the file
	err error
}

func (c *cursor) left() int { return len(c.b) - c.pos }

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%v: offset %#x: %s", InOutInfo, c.off+c.pos, fmt.Sprintf(format, args...))
	}
}

func (c *cursor) u32() uint32 {
	if c.err != nil || c.left() < 4 {
		c.fail("ends inside a number")
		return 0
	}
	c.pos += 4
	return binary.LittleEndian.Uint32(c.b[c.pos-4:])
}

func (c *cursor) u64() uint64 {
	lo := uint64(c.u32())
	return lo | uint64(c.u32())<<32
}

func (c *cursor) take(n int64, what string) *cursor {
	if c.err != nil || n < 0 || n > int64(c.left()) {
		c.fail("%s of %d bytes, %d are left", what, n, c.left())
		return &cursor{err: c.err}
	}
	e := &cursor{b: c.b[c.pos : c.pos+int(n)], off: c.off + c.pos}
	c.pos += int(n)
	return e
}

// longs reads n bytes as 64-bit integers.
func (c *cursor) longs(n int64) []int64 {
	if n%8 != 0 {
		c.fail("%d bytes are no whole number of 64-bit integers", n)
	}
	e := c.take(n, "list")
	if c.err != nil {
		return nil
	}
	out := make([]int64, n/8)
	for i := range out {
		out[i] = int64(e.u64())
	}
	return out
}

func (c *cursor) text(n int64) string {
	e := c.take(n, "text")
	if !utf8.Valid(e.b) {
		c.fail("text is not UTF-8")
	}
	return string(e.b)
}

func (c *cursor) tensors() []InOutTensor {
	var out []InOutTensor
	n := int64(c.u32())
	if n*32 > int64(c.left()) {
		c.fail("%d tensors need %d bytes, %d are left", n, n*32, c.left())
	}
	for range n {
		if c.err != nil {
			return out
		}
		var t InOutTensor
		t.Bytes, t.Format, t.DType = c.u64(), int32(c.u32()), int32(c.u32())
		name, dims, dims2, ranges := c.u32(), c.u32(), c.u32(), c.u32()
		t.Name = c.text(int64(name))
		t.Dims, t.DimsV2, t.Range = c.longs(int64(dims)), c.longs(int64(dims2)), c.longs(int64(ranges))
		out = append(out, t)
	}
	return out
}

// lengths reads the counts in front of a list of lists.
func (c *cursor) lengths() []uint32 {
	n := int64(c.u32())
	if n*4 > int64(c.left()) {
		c.fail("%d lengths need %d bytes, %d are left", n, n*4, c.left())
		return nil
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = c.u32()
	}
	return out
}

func (c *cursor) lists() [][]int64 {
	var out [][]int64
	for _, n := range c.lengths() {
		out = append(out, c.longs(8*int64(n)))
	}
	return out
}

func (c *cursor) texts() []string {
	var out []string
	for _, n := range c.lengths() {
		out = append(out, c.text(int64(n)))
	}
	return out
}

// append writes the partition.
func (io *InOut) append(to []byte) []byte {
	le := binary.LittleEndian
	entry := func(t uint32, body []byte) {
		to = le.AppendUint32(to, t)
		to = le.AppendUint32(to, uint32(len(body)))
		to = append(to, body...)
	}
	entry(ioInputs, appendTensors(io.Inputs))
	entry(ioOutputs, appendTensors(io.Outputs))
	if len(io.Batches) > 0 {
		entry(ioBatches, appendLongs(le.AppendUint32(nil, uint32(len(io.Batches))), io.Batches))
	}
	for _, l := range []struct {
		t    uint32
		list [][]int64
	}{{ioImages, io.ImageSizes}, {ioDims, io.Dims}} {
		if len(l.list) == 0 {
			continue
		}
		b := le.AppendUint32(nil, uint32(len(l.list)))
		for _, d := range l.list {
			b = le.AppendUint32(b, uint32(len(d)))
		}
		for _, d := range l.list {
			b = appendLongs(b, d)
		}
		entry(l.t, b)
	}
	for _, l := range []struct {
		t    uint32
		list []string
	}{{ioShapes, io.DynamicShapes}, {ioOrder, io.ShapeOrder}} {
		if len(l.list) == 0 {
			continue
		}
		b := le.AppendUint32(nil, uint32(len(l.list)))
		for _, s := range l.list {
			b = le.AppendUint32(b, uint32(len(s)))
		}
		for _, s := range l.list {
			b = append(b, s...)
		}
		entry(l.t, b)
	}
	return to
}

func appendLongs(to []byte, v []int64) []byte {
	for _, x := range v {
		to = binary.LittleEndian.AppendUint64(to, uint64(x))
	}
	return to
}

func appendTensors(list []InOutTensor) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(len(list)))
	for _, t := range list {
		b = le.AppendUint64(b, t.Bytes)
		b = le.AppendUint32(b, uint32(t.Format))
		b = le.AppendUint32(b, uint32(t.DType))
		for _, n := range []int{len(t.Name), 8 * len(t.Dims), 8 * len(t.DimsV2), 8 * len(t.Range)} {
			b = le.AppendUint32(b, uint32(n))
		}
		b = append(b, t.Name...)
		b = appendLongs(appendLongs(appendLongs(b, t.Dims), t.DimsV2), t.Range)
	}
	return b
}
