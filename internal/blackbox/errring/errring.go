// Package errring is the black box of a simulated device: the error ring as the scheduler's firmware writes it into device
// memory (control block, elements with the records of failed cores), and behind it what the host knew at that moment, as
// named sections of text. It encodes and parses. See docs/formats/blackbox.md.
package errring

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"npu/internal/blackbox/aicore"
	"npu/internal/problem"
)

// Layout of the ring.
const (
	Magic    = 0xA55A2020
	headSize = 32 // control block, and head of an element
	coreHead = 32 // of a core record, before the cores
	coreSize = 160
	coreWide = 224        // of the 950
	tail     = "NPUBBOX1" // begins the sections behind the ring
	nameSize = 24
)

// Form is how large the ring of a chip is. Its sizes tell the chip's family.
type Form struct {
	Family aicore.Family
	Slots  int
	Size   int // bytes of an element
	core   int // of the record of a core
}

// FormOf is the form of a family's ring: 10 elements of 4 KiB on the 310, 310P and 910, 10 of 12 KiB on the 910B and A3, 30
// of 47 KiB on the 950.
func FormOf(f aicore.Family) Form {
	switch f {
	case aicore.Legacy:
		return Form{aicore.Legacy, 10, 4096, coreSize}
	case aicore.V200, aicore.V300:
		return Form{aicore.V200, 30, 48128, coreWide}
	}
	return Form{aicore.V100, 10, 12288, coreSize}
}

// formOfSize is the form with elements of that size.
func formOfSize(size uint64) Form {
	for _, f := range []aicore.Family{aicore.Legacy, aicore.V200} {
		if x := FormOf(f); uint64(x.Size) == size {
			return x
		}
	}
	return FormOf(aicore.V100)
}

// MaxCores is how many cores an element has room for.
func (f Form) MaxCores() int { return (f.Size - headSize - coreHead) / f.core }

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
	aicore.Raised           // error words or, on the 950, codes; info words
	PCStart, PC             uint64
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
	// Raw is the record of an element of a real device's ring, whose arrangement is not public: only Pid, Type and
	// Serial are known then.
	Raw []byte
}

// Section is text that the host added.
type Section struct {
	Name  string
	Lines string
}

// Box is a black box.
type Box struct {
	Family   aicore.Family // of the chip; it decides the form of the ring
	Pid      uint64
	Total    uint64 // errors so far; the elements are the last ones, oldest first
	Elements []Element
	Sections []Section
}

// Encode gives the bytes of b. More elements than the ring has slots, or more cores of one than it has room for, are left
// out.
func Encode(b *Box) []byte {
	le := binary.LittleEndian
	form := FormOf(b.Family)
	slots, size := uint64(form.Slots), uint64(form.Size)
	out := make([]byte, headSize+slots*size)
	if n := len(b.Elements); n > form.Slots {
		b.Elements = b.Elements[n-form.Slots:]
	}
	first := b.Total - uint64(len(b.Elements))
	le.PutUint32(out, Magic)
	le.PutUint32(out[4:], uint32(first%slots))
	le.PutUint32(out[8:], uint32(b.Total%slots))
	le.PutUint32(out[12:], uint32(slots))
	le.PutUint64(out[16:], b.Pid)
	le.PutUint32(out[24:], uint32(size))
	le.PutUint32(out[28:], uint32(len(b.Elements)))
	for i := range b.Elements {
		slot := (first + uint64(i)) % slots
		b.Elements[i].encode(out[headSize+slot*size:][:size], form)
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

func (e *Element) encode(b []byte, form Form) {
	le := binary.LittleEndian
	cores := e.Cores[:min(len(e.Cores), form.MaxCores())]
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
	put32(8, uint32(coreHead+form.core*len(cores)), e.Type)
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
		b = p[coreHead+i*form.core:]
		kind := uint32(0)
		if c.Vector {
			kind = 1
		}
		put32(0, c.ID, kind)
		in, words := &c.Infos, codeWords(c.Codes)
		if form.Family != aicore.V200 {
			copy(words[:], c.Words[:])
		}
		put64(8, words[0], words[1], words[2], c.PCStart, c.PC, in.Vec, in.MTE, in.IFU, in.CCU, in.Cube, in.BIU)
		put32(96, in.FIXP0, in.FIXP1)
		put64(104, c.Mask, c.ParaBase, c.Reached)
		put32(128, 0, 0, 0, 0, c.Block, 0, c.SubError)
		if form.Family == aicore.V200 {
			put64(160, in.SC, in.SU, in.L1, uint64(in.VecT02), words[3], words[4], words[5])
		}
	}
}

// codeWords are the codes of the 950, 0 to 383, as bits.
func codeWords(codes []int) (w [6]uint64) {
	for _, c := range codes {
		if c >= 0 && c < 384 {
			w[c/64] |= 1 << (c % 64)
		}
	}
	return w
}

// codesOf is the inverse of codeWords.
func codesOf(w [6]uint64) (codes []int) {
	for c := range 384 {
		if w[c/64]>>(c%64)&1 != 0 {
			codes = append(codes, c)
		}
	}
	return codes
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
	form := formOfSize(uint64(le.Uint32(b[24:])))
	x := &Box{Family: form.Family, Pid: le.Uint64(b[16:])}
	var bad []Problem
	size, slots, used := uint64(le.Uint32(b[24:])), uint64(le.Uint32(b[12:])), uint64(le.Uint32(b[28:]))
	if size < headSize || size > 1<<20 || slots == 0 || slots > 64 || used > slots {
		return x, []Problem{{12, fmt.Sprintf("a ring of %d elements of %d bytes, %d used", slots, size, used)}}, nil
	}
	head := uint64(le.Uint32(b[4:]))
	foreign := used == 0 && head < slots && uint64(le.Uint32(b[8:])) < slots // a real ring counts its errors by its ends alone
	if foreign {
		used = (uint64(le.Uint32(b[8:])) + slots - head) % slots
	}
	for i := range used {
		at := headSize + (head+i)%slots*size
		if at+size > uint64(len(b)) {
			bad = append(bad, Problem{int64(at), "the element is not in the file (file cut short)"})
			continue
		}
		e, text := Element{}, ""
		if foreign {
			e, text = decodeRaw(b[at : at+size])
		} else {
			e, text = decode(b[at:at+size], form)
		}
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

// decodeRaw reads the head of an element of a real ring.
func decodeRaw(b []byte) (Element, string) {
	le := binary.LittleEndian
	e := Element{Pid: le.Uint64(b), Type: le.Uint32(b[12:]), Serial: le.Uint64(b[16:]), Raw: []byte{}}
	n := uint64(le.Uint32(b[8:]))
	if n > uint64(len(b)-headSize) {
		return e, fmt.Sprintf("the element says %d bytes", n)
	}
	e.Raw = b[headSize : headSize+n]
	return e, ""
}

func decode(b []byte, form Form) (Element, string) {
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
		at := coreHead + i*form.core
		if at+form.core > len(p) {
			return e, fmt.Sprintf("%d cores, the record has room for %d", n, i)
		}
		c := p[at:]
		u := func(k int) uint64 { return le.Uint64(c[8+8*k:]) }
		x := Core{ID: le.Uint32(c), Vector: le.Uint32(c[4:]) == 1, PCStart: u(3), PC: u(4), Mask: u(12), ParaBase: u(13), Reached: u(14),
			Block: le.Uint32(c[144:]), SubError: le.Uint32(c[152:])}
		x.Words = aicore.Words{u(0), u(1), u(2)}
		x.Infos = aicore.Infos{Vec: u(5), MTE: u(6), IFU: u(7), CCU: u(8), Cube: u(9), BIU: u(10), FIXP0: le.Uint32(c[96:]), FIXP1: le.Uint32(c[100:])}
		if form.Family == aicore.V200 {
			x.Codes, x.Words = codesOf([6]uint64{u(0), u(1), u(2), u(23), u(24), u(25)}), aicore.Words{}
			x.Infos.SC, x.Infos.SU, x.Infos.L1 = u(19), u(20), u(21)
			x.Infos.VecT02, x.Infos.HasVecT02 = uint32(u(22)), true
		}
		e.Cores = append(e.Cores, x)
	}
	return e, ""
}
