package om

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// maxCode bounds the machine code that is looked through.
const maxCode = 4 << 20

// codeGeometry reads stride, dilation and padding of a convolution out of its kernel's machine code; nil where that
// says nothing unique. lo is -1 where the padding is not found.
//
// The code loads 64-bit registers in quarters of 16 bits by words with top byte 7: bits 22 and 23 name the quarter,
// 17 to 21 the register, bit 16 keeps the other quarters, bits 0 to 15 are the number. The descriptor of the
// image-to-column load is the value that has the kernel's width in bits 12 to 19 and its height in bits 20 to 27; the
// input's width marks the one with the padding.
func (x *kernelOp) codeGeometry(s sizes) *geometry {
	if s.kernel[0] == 1 && s.kernel[1] == 1 {
		return nil // no such load
	}
	k := x.s.grp.KernelOf(x.o)
	if k == nil || !k.ELF {
		return nil
	}
	var text []byte
	f, err := elf.NewFile(bytes.NewReader(k.Data))
	if err != nil {
		return nil
	}
	for _, sec := range f.Sections {
		if sec.Type != elf.SHT_PROGBITS || sec.Flags&elf.SHF_EXECINSTR == 0 || sec.Offset > uint64(len(k.Data)) || sec.FileSize > uint64(len(k.Data))-sec.Offset {
			continue
		}
		text = append(text, k.Data[sec.Offset:sec.Offset+sec.FileSize]...)
	}
	return readGeometry(text[:min(len(text), maxCode)], s)
}

func readGeometry(text []byte, s sizes) *geometry {
	var regs [32]uint64
	found := map[geometry]int{}
	pads := map[[3]int]int{} // top, left, right
	for ; len(text) >= 4; text = text[4:] {
		w := binary.LittleEndian.Uint32(text)
		if w>>24 != 0x07 {
			continue
		}
		q, r := (w>>22)&3*16, (w>>17)&31
		v := regs[r]
		if w>>16&1 == 0 {
			v = 0
		}
		v = v&^(0xffff<<q) | uint64(w&0xffff)<<q
		regs[r] = v
		field := func(at, bits uint) int { return int(v >> at & (1<<bits - 1)) }
		if field(12, 8) == s.kernel[1] && field(20, 8) == s.kernel[0] {
			g := geometry{stride: [2]int{field(6, 6), field(0, 6)}, dilation: [2]int{field(36, 8), field(28, 8)}}
			if g.stride[0] > 0 && g.stride[1] > 0 && g.dilation[0] > 0 && g.dilation[1] > 0 && g.possible(s) {
				found[g]++
			}
		}
		if field(0, 16) == s.in[1] && field(16, 16) > 0 && field(16, 16) <= s.in[0] {
			pads[[3]int{field(48, 8), field(32, 8), field(40, 8)}]++
		}
	}
	if len(found) != 1 {
		return nil
	}
	for g := range found {
		g.lo = [2]int{-1, -1}
		g.choosePads(s, pads)
		return &g
	}
	return nil
}

// possible says that some padding makes the result's size.
func (g *geometry) possible(s sizes) bool {
	for d := range 2 {
		if _, ok := g.needed(s, d); !ok {
			return false
		}
	}
	return true
}

// choosePads takes the left padding that fits with the right one, and the top padding of the first tile: the largest,
// since tiles further down have none.
func (g *geometry) choosePads(s sizes, pads map[[3]int]int) {
	top, left := -1, -1
	for p := range pads {
		room := s.in[1] + p[1] + p[2] - g.extent(s, 1)
		if p[1] >= g.extent(s, 1) || p[2] >= g.extent(s, 1) || room < 0 || room/g.stride[1]+1 != s.out[1] {
			continue
		}
		if left >= 0 && left != p[1] {
			left = -2 // two that fit
		} else if left != -2 {
			left = p[1]
		}
		if p[0] < g.extent(s, 0) {
			top = max(top, p[0])
		}
	}
	least, ok := g.needed(s, 0)
	if ok && top > least+g.stride[0]-1 {
		top = -1
	}
	g.lo = [2]int{top, max(left, -1)}
}
