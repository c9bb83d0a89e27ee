// Package corewrite writes core files of AI cores: the form that package coredump reads, from the state of simulated
// cores. Section data is packed, the section table stands 16-aligned at the end. See docs/formats/core.md.
package corewrite

import (
	"encoding/binary"
	"fmt"
	"io"

	"npu/internal/blackbox/aicore"
)

// Section types: 0x80000000 + n.
const (
	secGlobal = 0x80000001 + iota
	secLocal
	secRegs
	secDevTable
	secAuxGlobal
	secAuxLocal
	secHostObject
	secFileObject
	secFileJSON
	secKernelInfo
)

// Types of global memory, as in tensor dumps.
const (
	Input        = 2
	Output       = 3
	Workspace    = 4
	Arguments    = 101
	Stack        = 102
	KernelObject = 103
)

// Types of local memory.
const (
	L0A = 1 + iota
	L0B
	L0C
	UB
	L1
)

// Region is a piece of global memory; Data nil says that it could not be read.
type Region struct {
	Type  uint16
	Addr  uint64
	Size  uint64
	Shape []uint64 // at most 25 dimensions; more are left out
	Data  []byte
}

// Register is a register of up to 16 bytes, of up to 32 on the 950.
type Register struct {
	Addr  uint64
	Value []byte
}

// Local is a local memory of a core.
type Local struct {
	Type uint32
	Data []byte
}

// Core is a core that was stopped for the dump.
type Core struct {
	Vector    bool
	ID        int // among the cores of its kind
	Registers []Register
	Locals    []Local
}

// Core910B is the number of the device type 910B and A3.
const Core910B = 5

// File is what a core file holds.
type File struct {
	Device, DevType uint32
	Kernel          string
	KernelJSON      []byte
	Regions         []Region
	Cores           []Core
}

// number is a core's number in section names: vector cores are counted behind the AI cores.
func (f *File) number(c *Core) int {
	if c.Vector {
		family, _ := aicore.FamilyOfDevType(f.DevType)
		return c.ID + aicore.VectorBase(family)
	}
	return c.ID
}

// entry is the size of a register's entry.
func (f *File) entry() int {
	if family, _ := aicore.FamilyOfDevType(f.DevType); family == aicore.V200 || family == aicore.V300 {
		return 48
	}
	return 32
}

// section is one on its way into the file.
type section struct {
	name       string
	kind       uint32
	addr, size uint64
	link, info uint32
	entry      uint64
	data       []byte // shorter than size: zeros follow
}

// Write writes f.
func Write(w io.Writer, f *File) error {
	secs := f.sections()
	names := []byte{0}
	at := uint64(64)
	var table []byte
	offsets := make([]uint64, len(secs))
	nameAt := make([]uint32, len(secs))
	for i := range secs {
		nameAt[i] = uint32(len(names))
		names = append(append(names, secs[i].name...), 0)
	}
	last := &secs[len(secs)-1]
	last.data, last.size = names, uint64(len(names))
	for i, s := range secs {
		offsets[i] = at
		at += s.size
	}
	end := (at + 15) &^ 15
	le := binary.LittleEndian
	head := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	head = le.AppendUint16(head, 4)
	head = le.AppendUint16(head, 0x1029)
	head = le.AppendUint32(head, 1)
	head = append(head, make([]byte, 16)...) // entry, program headers
	head = le.AppendUint64(head, end)
	head = le.AppendUint32(head, 0)
	for _, v := range []uint16{64, 0, 0, 64, uint16(len(secs) + 1), uint16(len(secs))} {
		head = le.AppendUint16(head, v)
	}
	null := make([]byte, 64)
	le.PutUint64(null[24:], 64)
	table = append(table, null...)
	for i, s := range secs {
		table = le.AppendUint32(table, nameAt[i])
		table = le.AppendUint32(table, s.kind)
		for _, v := range []uint64{0, s.addr, offsets[i], s.size} {
			table = le.AppendUint64(table, v)
		}
		table = le.AppendUint32(table, s.link)
		table = le.AppendUint32(table, s.info)
		table = le.AppendUint64(table, 0)
		table = le.AppendUint64(table, s.entry)
	}
	out := counted{w: w}
	out.put(head)
	for _, s := range secs {
		out.put(s.data[:min(uint64(len(s.data)), s.size)])
		out.zeros(int64(s.size) - int64(len(s.data)))
	}
	out.zeros(int64(end - at))
	out.put(table)
	return out.err
}

// sections lists all but the null section; the last one is for the names. A section's number is its place plus one.
func (f *File) sections() []section {
	le := binary.LittleEndian
	var out []section
	auxAt := uint32(len(f.Regions) + 1)
	var aux []byte
	for i, r := range f.Regions {
		out = append(out, section{name: ".ascend.global", kind: secGlobal, addr: r.Addr, size: r.Size, link: auxAt, info: uint32(i), data: r.Data})
		e := make([]byte, 232)
		le.PutUint64(e, r.Addr)
		le.PutUint64(e[8:], r.Size)
		if r.Data == nil {
			le.PutUint64(e[8:], r.Size|1<<63)
		}
		le.PutUint32(e[16:], uint32(i+1))
		le.PutUint16(e[20:], r.Type)
		if len(r.Shape) <= 25 {
			le.PutUint32(e[24:], uint32(len(r.Shape)))
			for k, d := range r.Shape {
				le.PutUint64(e[32+8*k:], d)
			}
		}
		aux = append(aux, e...)
	}
	blob := func(name string, kind uint32, b []byte) {
		out = append(out, section{name: name, kind: kind, size: uint64(len(b)), data: b})
	}
	blob(".ascend.auxinfo.global", secAuxGlobal, aux)
	out[len(out)-1].entry = 232
	var bitmaps [4]uint64
	for i := range f.Cores {
		c := &f.Cores[i]
		n, entry := f.number(c), f.entry()
		word := c.ID / 64 % 2
		if c.Vector {
			word += 2
		}
		bitmaps[word] |= 1 << (c.ID % 64)
		var regs []byte
		for _, r := range c.Registers {
			e := make([]byte, entry)
			le.PutUint64(e, r.Addr)
			e[15] = byte(copy(e[16:], r.Value))
			regs = append(regs, e...)
		}
		blob(fmt.Sprintf(".ascend.regs.%d", n), secRegs, regs)
		out[len(out)-1].entry = uint64(entry)
		if len(c.Locals) == 0 {
			continue
		}
		list := uint32(len(out) + len(c.Locals) + 1)
		var infos []byte
		for k, l := range c.Locals {
			blob(fmt.Sprintf(".ascend.local.%d", n), secLocal, l.Data)
			out[len(out)-1].link, out[len(out)-1].info = list, uint32(k)
			infos = le.AppendUint64(infos, uint64(len(l.Data)))
			infos = le.AppendUint32(infos, uint32(len(out)))
			infos = le.AppendUint32(infos, 0)
			infos = le.AppendUint32(infos, l.Type)
			infos = le.AppendUint32(infos, 0)
		}
		blob(fmt.Sprintf(".ascend.auxinfo.local.%d", n), secAuxLocal, infos)
		out[len(out)-1].entry = 24
	}
	var dev []byte
	for _, b := range bitmaps {
		dev = le.AppendUint64(dev, b)
	}
	dev = le.AppendUint32(dev, f.Device)
	dev = le.AppendUint32(dev, f.DevType)
	blob(".ascend.devtbl", secDevTable, dev)
	if len(f.KernelJSON) > 0 {
		blob(".ascend.file_kernel_json", secFileJSON, f.KernelJSON)
	}
	blob(".ascend.kernel_info", secKernelInfo, append(le.AppendUint32(nil, uint32(len(f.Kernel))), f.Kernel...))
	return append(out, section{name: ".shstrtab", kind: 3})
}

// counted keeps the first error.
type counted struct {
	w   io.Writer
	err error
}

func (c *counted) put(b []byte) {
	if c.err == nil && len(b) > 0 {
		_, c.err = c.w.Write(b)
	}
}

func (c *counted) zeros(n int64) {
	var zero [4096]byte
	for ; n > 0; n -= int64(len(zero)) {
		c.put(zero[:min(n, int64(len(zero)))])
	}
}
