// Package coredump reads the core files of AI cores (exception dump of level "detail"): an ELF file without program
// headers whose sections hold global memory, local memories, registers and the kernel. Section data is packed without
// alignment, so everything is copied out by offset; nothing of a section table is trusted. See docs/formats/core.md.
package coredump

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"

	"npu/internal/blackbox/adump"
	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/kobject"
	"npu/internal/problem"
)

// Section types: 0x80000000 + n.
const (
	secGlobal = 0x80000000 + 1 + iota
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

const (
	maxSections = 1 << 16
	maxSmall    = 64 << 20 // sections that are read whole: tables, kernel objects
)

// Problem is damage at an offset of the file.
type Problem struct {
	Offset int64
	Text   string
}

// Core is one AI core.
type Core struct {
	Number    int // as in the section names
	Type      string
	ID        int
	Registers []Register
	Locals    []Local
	// What the error registers say; empty for a core that reported nothing.
	Words  aicore.Words
	Codes  []int
	Infos  aicore.Infos
	PC     uint64
	HasPC  bool
	Fixed  []aicore.PC
	Bits   []aicore.Bit
	Double []string // registers that occur twice with different values
}

// Register is one register; Value is little-endian.
type Register struct {
	Addr    uint64
	Name    string
	Value   []byte
	Invalid bool
}

// Region is a piece of global memory.
type Region struct {
	Index      int
	Type       int // DfxTensorType
	Addr, Size uint64
	Unreadable bool
	Core       int // for stacks; -1 otherwise
	Shape      []uint64
	Offset     int64 // data in the file
	Have       uint64
	Name       string // "input 2", "stack of AIV 6"
}

// Local is a local memory of a core, or its cached copy of a global region.
type Local struct {
	Memory string // L0A, UB, ..., DCACHE, ICACHE
	Size   uint64
	Offset int64
	Have   uint64
	Global int // index into Regions for cached copies; -1
}

// File is a parsed core file.
type File struct {
	r        io.ReaderAt
	Size     int64
	Sections int
	Device   uint32
	DevType  uint32
	Family   aicore.Family
	Chip     string
	Stopped  [4]uint64 // bitmaps of cores: AIC 0, 1, AIV 0, 1
	Kernel   string
	KernelJSON,
	HostObject,
	FileObject []byte
	Cores    []*Core
	Regions  []Region
	Problems []Problem
	bySec    map[int]int // ELF section → region
}

type section struct {
	name              string
	kind              uint32
	addr, off, size   uint64
	link, info        uint32
	entry             uint64
	headerAt          int64
	nameOff, trueSize uint64
}

// Sniff says whether a file starts like a core file.
func Sniff(head []byte) bool {
	return len(head) >= 20 && string(head[:4]) == "\x7fELF" && binary.LittleEndian.Uint16(head[16:]) == 4 && binary.LittleEndian.Uint16(head[18:]) == kobject.Machine
}

// Parse reads a core file. What can be read is returned; only a file that is no core file at all is an error.
func Parse(r io.ReaderAt, size int64) (*File, error) {
	var h [64]byte
	n, err := r.ReadAt(h[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read core file: %w", err)
	}
	if n < 20 || !Sniff(h[:n]) {
		return nil, problem.Damagedf("offset 0: no AI-core core file (ELF type 4, machine 0x%x expected)", kobject.Machine)
	}
	f := &File{r: r, Size: size, bySec: map[int]int{}}
	if n < 64 {
		f.problem(0, "the ELF header has %d of its 64 bytes", n)
		return f, nil
	}
	secs := f.sections(h[:])
	f.tables(secs)
	f.memory(secs)
	f.cores(secs)
	return f, nil
}

func (f *File) problem(at int64, format string, args ...any) {
	if len(f.Problems) < 200 {
		f.Problems = append(f.Problems, Problem{at, fmt.Sprintf(format, args...)})
	}
}

// sections reads the table at the end of the file; without it (file cut short) nothing can be found.
func (f *File) sections(h []byte) []section {
	le := binary.LittleEndian
	off, entry, num, names := le.Uint64(h[40:]), int(le.Uint16(h[58:])), int(le.Uint16(h[60:])), int(le.Uint16(h[62:]))
	if entry < 64 || off > uint64(f.Size) {
		f.problem(40, "the section table is at 0x%x, the file has 0x%x bytes (file cut short): no section can be found", off, f.Size)
		return nil
	}
	if num == 0 { // more than 65,280: the first section holds the number
		var s [64]byte
		if _, err := f.r.ReadAt(s[:], int64(off)); err == nil {
			num = int(min(le.Uint64(s[32:]), maxSections))
		}
	}
	if need := uint64(num) * uint64(entry); need > uint64(f.Size)-off {
		have := (uint64(f.Size) - off) / uint64(entry)
		f.problem(int64(off), "the section table says %d sections, %d fit into the file", num, have)
		num = int(have)
	}
	num = min(num, maxSections)
	b := make([]byte, num*entry)
	if _, err := f.r.ReadAt(b, int64(off)); err != nil && !errors.Is(err, io.EOF) {
		f.problem(int64(off), "the section table cannot be read: %v", err)
		return nil
	}
	out := make([]section, num)
	for i := range out {
		s := b[i*entry:]
		out[i] = section{nameOff: uint64(le.Uint32(s)), kind: le.Uint32(s[4:]), addr: le.Uint64(s[16:]), off: le.Uint64(s[24:]),
			size: le.Uint64(s[32:]), link: le.Uint32(s[40:]), info: le.Uint32(s[44:]), entry: le.Uint64(s[56:]), headerAt: int64(off) + int64(i*entry)}
		f.clip(&out[i], i)
	}
	f.Sections = num
	if names < num {
		tab := f.small(out[names])
		for i := range out {
			if o := out[i].nameOff; o < uint64(len(tab)) {
				out[i].name = cstring(tab[o:])
			}
		}
	}
	return out
}

// clip keeps a section inside the file.
func (f *File) clip(s *section, i int) {
	s.trueSize = s.size
	if s.kind == 0 {
		s.size, s.trueSize = 0, 0
		return
	}
	if s.off > uint64(f.Size) || s.size > uint64(f.Size)-s.off {
		have := uint64(0)
		if s.off < uint64(f.Size) {
			have = uint64(f.Size) - s.off
		}
		f.problem(s.headerAt, "section %d says 0x%x bytes at 0x%x, 0x%x are in the file", i, s.size, s.off, have)
		s.size = have
		s.off = min(s.off, uint64(f.Size))
	}
}

func cstring(b []byte) string {
	if i := strings.IndexByte(string(b), 0); i >= 0 {
		b = b[:i]
	}
	return strings.ToValidUTF8(string(b), "?")
}

// small reads a whole section.
func (f *File) small(s section) []byte {
	n := min(s.size, maxSmall)
	b := make([]byte, n)
	k, err := f.r.ReadAt(b, int64(s.off))
	if err != nil && !errors.Is(err, io.EOF) {
		f.problem(int64(s.off), "section %s cannot be read: %v", s.name, err)
	}
	return b[:k]
}

func (f *File) tables(secs []section) {
	le := binary.LittleEndian
	for _, s := range secs {
		switch s.kind {
		case secDevTable:
			b := f.small(s)
			if len(b) < 40 {
				f.problem(int64(s.off), "device table has %d of its 40 bytes", len(b))
				continue
			}
			for i := range f.Stopped {
				f.Stopped[i] = le.Uint64(b[8*i:])
			}
			f.Device, f.DevType = le.Uint32(b[32:]), le.Uint32(b[36:])
			f.Family, f.Chip = aicore.FamilyOfDevType(f.DevType)
		case secKernelInfo:
			b := f.small(s)
			if len(b) < 4 {
				continue
			}
			n := min(uint64(le.Uint32(b)), uint64(len(b)-4))
			f.Kernel = cstring(b[4 : 4+n])
		case secHostObject:
			f.HostObject = f.small(s)
		case secFileObject:
			f.FileObject = f.small(s)
		case secFileJSON:
			f.KernelJSON = f.small(s)
		}
	}
}

// memory reads the list of global regions.
func (f *File) memory(secs []section) {
	le := binary.LittleEndian
	for _, s := range secs {
		if s.kind != secAuxGlobal {
			continue
		}
		b := f.small(s)
		if len(b)%232 != 0 {
			f.problem(int64(s.off), "list of global memory has %d bytes, no multiple of 232", len(b))
		}
		for i := 0; i+232 <= len(b) && len(f.Regions) < maxSections; i += 232 {
			e := b[i:]
			r := Region{Index: len(f.Regions), Addr: le.Uint64(e), Size: le.Uint64(e[8:]), Type: int(le.Uint16(e[20:])), Core: -1}
			r.Unreadable = r.Size>>63 != 0
			r.Size &= 1<<63 - 1
			at := int64(s.off) + int64(i)
			if r.Type == 102 || r.Type == 104 {
				r.Core = int(le.Uint16(e[24:]))
			} else if d := le.Uint32(e[24:]); d <= 25 {
				for k := range d {
					r.Shape = append(r.Shape, le.Uint64(e[32+8*k:]))
				}
			} else {
				f.problem(at+24, "region 0x%x says %d dimensions", r.Addr, d)
			}
			si := int(le.Uint32(e[16:]))
			if si > 0 && si < len(secs) && secs[si].kind == secGlobal {
				r.Offset, r.Have = int64(secs[si].off), min(secs[si].size, r.Size)
				f.bySec[si] = r.Index
				if r.Have < r.Size {
					f.problem(r.Offset, "region 0x%x has 0x%x of its 0x%x bytes", r.Addr, r.Have, r.Size)
				}
			} else {
				f.problem(at+16, "region 0x%x names section %d, which holds no global memory", r.Addr, si)
			}
			f.Regions = append(f.Regions, r)
		}
	}
	count := map[int]int{}
	for i := range f.Regions {
		r := &f.Regions[i]
		r.Name = adump.TensorType(r.Type)
		if r.Core >= 0 {
			t, id := f.coreName(r.Core)
			r.Name = fmt.Sprintf("%s of %s %d", r.Name, t, id)
		} else if r.Type != 101 && r.Type != 103 && r.Type != 7 {
			r.Name = fmt.Sprintf("%s %d", r.Name, count[r.Type])
		}
		count[r.Type]++
	}
}

// coreName splits the number of a section name: vector cores are counted behind the AI cores.
func (f *File) coreName(n int) (string, int) {
	if base := aicore.VectorBase(f.Family); n >= base {
		return "AIV", n - base
	}
	return "AIC", n
}

// Named lists the regions in the form that aicore.Locate takes: arguments and stacks.
func (f *File) Named() []aicore.Region {
	var out []aicore.Region
	for _, r := range f.Regions {
		out = append(out, aicore.Region{Name: r.Name, Addr: r.Addr, Size: r.Size, Unreadable: r.Unreadable})
	}
	return out
}

// Text is the region of the kernel's code on the device.
func (f *File) Text() (Region, bool) {
	for _, r := range f.Regions {
		if r.Type == 103 {
			return r, true
		}
	}
	return Region{}, false
}

// StoppedCores counts the cores in the bitmaps.
func (f *File) StoppedCores() (aic, aiv int) {
	return bits.OnesCount64(f.Stopped[0]) + bits.OnesCount64(f.Stopped[1]), bits.OnesCount64(f.Stopped[2]) + bits.OnesCount64(f.Stopped[3])
}
