// Package errring is the black box of a simulated device: the error ring as the scheduler's firmware writes it into device
// memory (control block, elements with the records of failed cores), and behind it what the host knew at that moment, as
// named sections of text. It encodes and parses. See docs/formats/blackbox.md.
package errring

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"npu/internal/problem"
)

// Layout of the ring.
const (
	Magic       = 0xA55A2020
	Slots       = 10
	ElementSize = 12288
	headSize    = 32 // control block, and head of an element
	coreHead    = 32 // of a core record, before the cores
	coreSize    = 160
	MaxCores    = (ElementSize - headSize - coreHead) / coreSize
	tail        = "NPUBBOX1" // begins the sections behind the ring
	nameSize    = 24
)

// Types of an element.
const (
	AICore      = 0
	AIVector    = 1
	SDMA        = 2
	AICPU       = 3
	SQE         = 9
	WaitTimeout = 10
	CoreTimeout = 14
)

// Core is what an element says of a core.
type Core struct {
	ID, Block               uint32
	Vector                  bool
	Words                   [3]uint64
	PCStart, PC             uint64
	Vec, MTE, IFU, CCU      uint64
	Cube, BIU               uint64
	FIXP0, FIXP1            uint32
	Mask, ParaBase, Reached uint64 // Reached: tiles that were through
	SubError                uint32
}

// Element is one error.
type Element struct {
	Pid          uint64
	Type         uint32
	Serial       uint64
	Device       uint32
	Stream, Task uint32
	Code         uint32 // device code
	Kind, ID     uint64 // of a wait: what it waited for, and its number
	Limit        uint64 // of a wait in ns; of a copy the address that failed
	Blocks       uint32
	Cores        []Core
}

// Section is text that the host added.
type Section struct {
	Name  string
	Lines string
}

// Box is a black box.
type Box struct {
	Pid      uint64
	Total    uint64 // errors so far; the elements are the last ones, oldest first
	Elements []Element
	Sections []Section
}

// Encode gives the bytes of b. More than Slots elements, or MaxCores cores of one, are left out.
func Encode(b *Box) []byte {
	le := binary.LittleEndian
	out := make([]byte, headSize+Slots*ElementSize)
	if n := len(b.Elements); n > Slots {
		b.Elements = b.Elements[n-Slots:]
	}
	first := b.Total - uint64(len(b.Elements))
	le.PutUint32(out, Magic)
	le.PutUint32(out[4:], uint32(first%Slots))
	le.PutUint32(out[8:], uint32(b.Total%Slots))
	le.PutUint32(out[12:], Slots)
	le.PutUint64(out[16:], b.Pid)
	le.PutUint32(out[24:], ElementSize)
	le.PutUint32(out[28:], uint32(len(b.Elements)))
	for i := range b.Elements {
		slot := (first + uint64(i)) % Slots
		b.Elements[i].encode(out[headSize+slot*ElementSize:][:ElementSize])
	}
	out = append(out, tail...)
	out = le.AppendUint32(out, uint32(len(b.Sections)))
	for _, s := range b.Sections {
		var name [nameSize]byte
		copy(name[:], s.Name)
		out = append(out, name[:]...)
		out = le.AppendUint64(out, uint64(len(s.Lines)))
		out = append(out, s.Lines...)
	}
	return out
}

func (e *Element) encode(b []byte) {
	le := binary.LittleEndian
	cores := e.Cores[:min(len(e.Cores), MaxCores)]
	put32 := func(at int, v ...uint32) {
		for i, x := range v {
			le.PutUint32(b[at+4*i:], x)
		}
	}
	put64 := func(at int, v ...uint64) {
		for i, x := range v {
			le.PutUint64(b[at+8*i:], x)
		}
	}
	put64(0, e.Pid)
	put32(8, uint32(coreHead+coreSize*len(cores)), e.Type)
	put64(16, e.Serial)
	p := b[headSize:]
	if e.Type == WaitTimeout || e.Type == SDMA {
		put32(8, 56)
		put64(headSize+32, e.Kind, e.ID, e.Limit)
		cores = nil
	}
	for i, x := range []uint32{e.Device, 0, e.Stream, e.Task, uint32(len(cores)), e.Code, e.Blocks, 0} {
		le.PutUint32(p[4*i:], x)
	}
	for i, c := range cores {
		b = p[coreHead+i*coreSize:]
		kind := uint32(0)
		if c.Vector {
			kind = 1
		}
		put32(0, c.ID, kind)
		put64(8, c.Words[0], c.Words[1], c.Words[2], c.PCStart, c.PC, c.Vec, c.MTE, c.IFU, c.CCU, c.Cube, c.BIU)
		put32(96, c.FIXP0, c.FIXP1)
		put64(104, c.Mask, c.ParaBase, c.Reached)
		put32(128, 0, 0, 0, 0, c.Block, 0, c.SubError)
	}
}

// Sniff says whether a file starts like a black box.
func Sniff(h []byte) bool { return len(h) >= 4 && binary.LittleEndian.Uint32(h) == Magic }

// Problem is damage at an offset.
type Problem struct {
	Offset int64
	Text   string
}

// Parse reads a black box, or a bare ring. What can be read of a damaged one is returned with the damage.
func Parse(b []byte) (*Box, []Problem, error) {
	le := binary.LittleEndian
	if len(b) < headSize || !Sniff(b) {
		return nil, nil, problem.Damagedf("offset 0: no error ring (magic 0x%x and %d bytes expected)", Magic, headSize)
	}
	x := &Box{Pid: le.Uint64(b[16:])}
	var bad []Problem
	size, slots, used := uint64(le.Uint32(b[24:])), uint64(le.Uint32(b[12:])), uint64(le.Uint32(b[28:]))
	if size < headSize || size > 1<<20 || slots == 0 || slots > 64 || used > slots {
		return x, []Problem{{12, fmt.Sprintf("a ring of %d elements of %d bytes, %d used", slots, size, used)}}, nil
	}
	head := uint64(le.Uint32(b[4:]))
	for i := range used {
		at := headSize + (head+i)%slots*size
		if at+size > uint64(len(b)) {
			bad = append(bad, Problem{int64(at), "the element is not in the file (file cut short)"})
			continue
		}
		e, text := decode(b[at : at+size])
		if text != "" {
			bad = append(bad, Problem{int64(at), text})
		}
		x.Elements = append(x.Elements, e)
		x.Total = max(x.Total, e.Serial)
	}
	at := headSize + slots*size
	if at > uint64(len(b)) {
		return x, append(bad, Problem{int64(len(b)), fmt.Sprintf("the ring ends at 0x%x, the file here", at)}), nil
	}
	more, err := sections(b[at:], x)
	if err != "" {
		bad = append(bad, Problem{int64(at) + more, err})
	}
	return x, bad, nil
}

// sections reads what follows the ring; the offset and the words are of the damage.
func sections(b []byte, x *Box) (int64, string) {
	if len(b) == 0 {
		return 0, "" // a bare ring
	}
	le := binary.LittleEndian
	if len(b) < len(tail)+4 || !bytes.HasPrefix(b, []byte(tail)) {
		return 0, "no sections follow the ring"
	}
	n := le.Uint32(b[len(tail):])
	at := len(tail) + 4
	for i := range n {
		if len(b)-at < nameSize+8 {
			return int64(at), fmt.Sprintf("section %d of %d is not in the file (file cut short)", i+1, n)
		}
		name := string(bytes.TrimRight(b[at:at+nameSize], "\x00"))
		size := le.Uint64(b[at+nameSize:])
		at += nameSize + 8
		have := min(size, uint64(len(b)-at))
		x.Sections = append(x.Sections, Section{name, string(b[at : at+int(have)])})
		at += int(have)
		if have < size {
			return int64(at), fmt.Sprintf("section %q has %d of its %d bytes (file cut short)", name, have, size)
		}
	}
	return 0, ""
}

func decode(b []byte) (Element, string) {
	le := binary.LittleEndian
	e := Element{Pid: le.Uint64(b), Type: le.Uint32(b[12:]), Serial: le.Uint64(b[16:])}
	p := b[headSize:]
	if n := uint64(le.Uint32(b[8:])); n < coreHead || n > uint64(len(p)) {
		return e, fmt.Sprintf("the element says %d bytes", n)
	} else {
		p = p[:n]
	}
	e.Device, e.Stream, e.Task, e.Code, e.Blocks = le.Uint32(p), le.Uint32(p[8:]), le.Uint32(p[12:]), le.Uint32(p[20:]), le.Uint32(p[24:])
	if e.Type == WaitTimeout || e.Type == SDMA {
		if len(p) < 56 {
			return e, "the record of a wait is cut short"
		}
		e.Kind, e.ID, e.Limit = le.Uint64(p[32:]), le.Uint64(p[40:]), le.Uint64(p[48:])
		return e, ""
	}
	n := int(le.Uint32(p[16:]))
	for i := range n {
		at := coreHead + i*coreSize
		if at+coreSize > len(p) {
			return e, fmt.Sprintf("%d cores, the record has room for %d", n, i)
		}
		c := p[at:]
		u := func(k int) uint64 { return le.Uint64(c[8+8*k:]) }
		e.Cores = append(e.Cores, Core{ID: le.Uint32(c), Vector: le.Uint32(c[4:]) == 1, Words: [3]uint64{u(0), u(1), u(2)}, PCStart: u(3), PC: u(4),
			Vec: u(5), MTE: u(6), IFU: u(7), CCU: u(8), Cube: u(9), BIU: u(10), FIXP0: le.Uint32(c[96:]), FIXP1: le.Uint32(c[100:]),
			Mask: u(12), ParaBase: u(13), Reached: u(14), Block: le.Uint32(c[144:]), SubError: le.Uint32(c[152:])})
	}
	return e, ""
}
