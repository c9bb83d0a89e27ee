// Package kprint decodes what kernels print on the device: printf, DumpTensor, assert, time stamps. Two forms: the
// legacy workspace (one block a core, back to back) and the ring form that the host drains to one file a core. It
// works on memory that the caller holds and keeps references into it.
package kprint

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"npu/internal/blackbox/elem"
)

const (
	legacyMagic = 0x5AA5BCCD
	ringMagic   = 0xAE86
	maxItems    = 1 << 20
)

// Dump is everything in a workspace or file.
type Dump struct {
	Ring     bool
	Blocks   []Block
	Problems []Problem
}

// Problem is damage at an offset.
type Problem struct {
	Offset int64
	Text   string
}

// Block is what one core wrote.
type Block struct {
	Offset   int64
	Core     int
	Unit     string // AIC, AIV, SIMT; empty if the form does not say (legacy)
	Count    int    // blocks of the workspace
	Full     bool   // the block was full: later records are lost
	DumpAddr uint64
	Items    []Item
}

// Item is one record. Kind is printf, assert, tensor, time, meta.
type Item struct {
	Kind      string
	Offset    int64
	BlockIdx  int       // -1 unknown
	Text      string    // printf, assert
	BlockXYZ  [3]uint32 // SIMT
	Thread    [3]uint32
	SIMT      bool
	Tensor    *Tensor
	TimeID    uint32
	Cycle, PC uint64
	EntryPC   uint64
	CoreType  int // meta: 0 mix, 1 AIC, 2 AIV
	BlockDim  int // meta
}

// Tensor is the data of a DumpTensor.
type Tensor struct {
	Addr, BufferID uint32
	DType          elem.Type
	Desc           uint32 // the user's number
	Position       string
	Shape          []int // from the shape record before it; nil if there was none
	Data           []byte
	DataOffset     int64
}

var positions = [...]string{"GM", "UB", "L1", "L0A", "L0B", "L0C", "BIAS", "FIXBUF", "REG"}

// Sniff says whether b starts with a block of either form.
func Sniff(b []byte) bool {
	return len(b) >= 32 && binary.LittleEndian.Uint32(b[16:]) == legacyMagic && binary.LittleEndian.Uint32(b) >= 32 ||
		len(b) >= 56 && binary.LittleEndian.Uint16(b[16:]) == ringMagic && binary.LittleEndian.Uint16(b[18:]) <= 2 &&
			binary.LittleEndian.Uint32(b[12:]) < binary.LittleEndian.Uint32(b)
}

// SniffWorkspace looks for a block at the start and, since cores that printed nothing leave theirs untouched, at every
// MiB.
func SniffWorkspace(b []byte) bool {
	for at := 0; at+32 <= len(b); at += 1 << 20 {
		if Sniff(b[at:]) {
			return true
		}
	}
	return false
}

// Parse decodes b.
func Parse(b []byte) *Dump {
	d := &Dump{}
	if len(b) >= 56 && binary.LittleEndian.Uint16(b[16:]) == ringMagic && binary.LittleEndian.Uint32(b[16:]) != legacyMagic {
		d.Ring = true
		d.ring(b)
		return d
	}
	d.legacy(b)
	return d
}

func (d *Dump) problem(at int64, format string, args ...any) {
	if len(d.Problems) < 1000 {
		d.Problems = append(d.Problems, Problem{at, fmt.Sprintf(format, args...)})
	}
}

// legacy walks the blocks. A block without the magic is a core that printed nothing: blocks are then 1 MiB apart.
func (d *Dump) legacy(b []byte) {
	le := binary.LittleEndian
	for at := 0; at+32 <= len(b) && len(d.Blocks) < 4096; {
		h := b[at:]
		if le.Uint32(h[16:]) != legacyMagic {
			at += 1 << 20
			continue
		}
		total, remain := int64(le.Uint32(h)), int64(le.Uint32(h[12:]))
		blk := Block{Offset: int64(at), Core: int(le.Uint32(h[4:])), Count: int(le.Uint32(h[8:])), DumpAddr: le.Uint64(h[24:]), Full: le.Uint32(h[20:]) == 7}
		used := total - 32 - remain
		switch {
		case total < 32:
			d.problem(int64(at), "block of core %d says %d bytes, its head alone has 32", blk.Core, total)
			at += 1 << 20
			continue
		case used < 0:
			d.problem(int64(at)+12, "block of core %d says %d bytes are left of %d", blk.Core, remain, total)
			used = total - 32
		}
		if rest := int64(len(b)-at) - 32; used > rest {
			d.problem(int64(at), "block of core %d holds %d bytes of records, %d are in the file", blk.Core, used, rest)
			used = rest
		}
		d.records(&blk, b[at+32:at+32+int(used)], int64(at)+32, false)
		d.Blocks = append(d.Blocks, blk)
		at += int(min(total, int64(len(b)-at)))
	}
}

// ring decodes the file of one core, or several blocks of a workspace in the ring form.
func (d *Dump) ring(b []byte) {
	le := binary.LittleEndian
	for at := 0; at+56 <= len(b) && len(d.Blocks) < 4096; {
		h := b[at:]
		if le.Uint16(h[16:]) != ringMagic {
			return
		}
		blk := Block{Offset: int64(at), Core: int(le.Uint32(h[4:])), Count: int(le.Uint32(h[8:])), DumpAddr: le.Uint64(h[24:])}
		blk.Unit = "unknown"
		if f := le.Uint16(h[18:]); f < 3 {
			blk.Unit = [...]string{"AIC", "AIV", "SIMT"}[f]
		}
		length := int(le.Uint32(h))
		body := h[56:]
		// In device memory a block has its full length and starts with a read-info record; a drained file holds the
		// records only and ends with them.
		inMemory := len(body) >= 24 && le.Uint32(body) == 9 && le.Uint32(body[4:]) == 16
		if inMemory && length >= 56+24 && length <= len(h) {
			body = h[56:length]
		}
		d.records(&blk, body, int64(at)+56, true)
		d.Blocks = append(d.Blocks, blk)
		if !inMemory || length < 56 {
			return
		}
		at += length
	}
}

// records walks type-length-value records.
func (d *Dump) records(blk *Block, b []byte, base int64, ring bool) {
	le := binary.LittleEndian
	var shape []int
	for at := 0; at+8 <= len(b) && len(blk.Items) < maxItems; {
		kind, n := le.Uint32(b[at:]), int64(le.Uint32(b[at+4:]))
		off := base + int64(at)
		if kind == 0 && n == 0 { // unused rest
			return
		}
		v := b[at+8:]
		if n > int64(len(v)) {
			d.problem(off, "record of type %d says %d bytes, %d are left", kind, n, len(v))
			n = int64(len(v))
			if kind != 2 { // of a tensor the elements that are there can still be shown
				return
			}
		}
		v = v[:n]
		at += 8 + int(n)
		it := Item{Offset: off, BlockIdx: -1}
		var err string
		switch kind {
		case 1, 4:
			err = it.text(v, kind == 4, ring, false)
		case 0xF0F00F0F, 0xF0E00F0E, 7:
			err = it.text(v, kind == 0xF0E00F0E, true, true)
		case 2:
			err = it.tensor(v, shape, ring, off+8)
			shape = nil
		case 3:
			shape = shapeOf(v)
			continue
		case 5:
			if len(v) >= 3 {
				it.Kind, it.BlockDim, it.CoreType = "meta", int(le.Uint16(v)), int(v[2])
			} else {
				err = "meta record is too short"
			}
		case 6:
			err = it.time(v, ring)
		case 8, 9, 10, 0xF0A55A0F: // ring bookkeeping, padding, wait marks
			continue
		default:
			if n == 0 {
				d.problem(off, "record of unknown type %d without length: the rest of the block is not read", kind)
				return
			}
			d.problem(off, "record of unknown type %d, %d bytes skipped", kind, n)
			continue
		}
		if err != "" {
			d.problem(off, "%s", err)
			continue
		}
		blk.Items = append(blk.Items, it)
	}
}

func shapeOf(v []byte) []int {
	le := binary.LittleEndian
	if len(v) < 4 {
		return nil
	}
	dims := int(min(le.Uint32(v), 8))
	if len(v) < 4+4*dims {
		return nil
	}
	out := make([]int, dims)
	for i := range out {
		out[i] = int(le.Uint32(v[4+4*i:]))
	}
	return out
}

func (it *Item) tensor(v []byte, shape []int, ring bool, off int64) string {
	le := binary.LittleEndian
	head := 24
	if ring {
		head = 64
	}
	if len(v) < head {
		return "tensor record is shorter than its head"
	}
	t := &Tensor{Addr: le.Uint32(v), DType: elem.GE(int(le.Uint32(v[4:]))), Desc: le.Uint32(v[8:]), BufferID: le.Uint32(v[12:]), Shape: shape}
	pos, size := int(le.Uint32(v[16:])), le.Uint32(v[20:])
	if ring {
		pos, it.BlockIdx = int(le.Uint16(v[16:])), int(le.Uint16(v[18:]))
		if own := shapeOf(v[20:60]); len(own) > 0 {
			t.Shape = own
		}
		size = le.Uint32(v[60:])
	}
	t.Position = fmt.Sprintf("unknown(%d)", pos)
	if pos < len(positions) {
		t.Position = positions[pos]
	}
	t.Data, t.DataOffset = v[head:], off+int64(head)
	if size > 0 && int64(size) <= int64(len(t.Data)) {
		t.Data = t.Data[:size]
	}
	it.Kind, it.Tensor = "tensor", t
	return ""
}

func (it *Item) time(v []byte, ring bool) string {
	le := binary.LittleEndian
	if len(v) < 24 {
		return "time record is too short"
	}
	it.Kind, it.TimeID = "time", le.Uint32(v)
	it.Cycle, it.PC = le.Uint64(v[8:]), le.Uint64(v[16:])
	if ring {
		it.BlockIdx = int(le.Uint16(v[4:]))
		if len(v) >= 32 {
			it.EntryPC = le.Uint64(v[24:])
		}
	}
	return ""
}

// text formats a printf or assert record. Offsets count from the value, behind the block index or SIMT head.
func (it *Item) text(v []byte, assert, ring, simt bool) string {
	le := binary.LittleEndian
	switch {
	case simt:
		if len(v) < 40 {
			return "SIMT record is shorter than its head"
		}
		for i := range 3 {
			it.BlockXYZ[i], it.Thread[i] = le.Uint32(v[4*i:]), le.Uint32(v[12+4*i:])
		}
		it.SIMT = true
		v = v[40:]
	case ring:
		if len(v) < 8 {
			return "print record is shorter than its head"
		}
		it.BlockIdx = int(le.Uint32(v))
		v = v[8:]
	}
	it.Kind = "printf"
	if assert {
		it.Kind = "assert"
	}
	if len(v) < 8 {
		return "print record has no format"
	}
	at := le.Uint64(v)
	if at < 8 || at >= uint64(len(v)) {
		return fmt.Sprintf("format string at %d is outside the record of %d bytes", at, len(v))
	}
	it.Text = format(cstring(v[at:]), v[:min(int(at)&^7, len(v))], v)
	return ""
}

func cstring(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// TimeName names the ids that the compiler and the libraries use; others are the user's.
func TimeName(id uint32) string {
	switch {
	case id <= 5:
		return [...]string{"kernel start", "MC2 context", "workspace", "init dump", "FFTS address", "clear workspace"}[id]
	case id == 0x30:
		return "TPipe"
	case id == 0x31:
		return "buffer"
	case id >= 0x60 && id <= 0x66:
		return fmt.Sprintf("matmul step %d", id-0x60)
	case id >= 0x90 && id <= 0x92:
		return fmt.Sprintf("tiling step %d", id-0x90)
	}
	return ""
}
