package coredump

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"npu/internal/blackbox/aicore"
)

var memoryNames = map[uint32]string{1: "L0A", 2: "L0B", 3: "L0C", 4: "UB", 5: "L1", 10: "DCACHE", 11: "ICACHE", 101: "REGISTER", 102: "REGISTER_DIRECT"}

// cores reads registers and local memories. The core's number is the end of the section name.
func (f *File) cores(secs []section) {
	for i := range secs {
		s := secs[i]
		if s.kind != secRegs && s.kind != secAuxLocal {
			continue
		}
		dot := strings.LastIndexByte(s.name, '.')
		n, err := strconv.Atoi(s.name[dot+1:])
		if err != nil || n < 0 || n > 1<<16 {
			f.problem(s.headerAt, "section %q names no core", s.name)
			continue
		}
		c := f.coreOf(n)
		if c == nil {
			continue
		}
		if s.kind == secRegs {
			f.registers(c, s)
		} else {
			f.locals(c, s, secs)
		}
	}
	slices.SortFunc(f.Cores, func(a, b *Core) int { return cmp.Compare(a.Number, b.Number) })
	for _, c := range f.Cores {
		f.judge(c)
	}
}

func (f *File) coreOf(n int) *Core {
	for _, c := range f.Cores {
		if c.Number == n {
			return c
		}
	}
	if len(f.Cores) >= 1024 {
		return nil
	}
	c := &Core{Number: n}
	c.Type, c.ID = f.coreName(n)
	f.Cores = append(f.Cores, c)
	return c
}

func (f *File) registers(c *Core, s section) {
	le := binary.LittleEndian
	entry := int(s.entry)
	if entry != 32 && entry != 48 {
		f.problem(s.headerAt+56, "registers of %s %d have entries of %d bytes, 32 or 48 expected", c.Type, c.ID, entry)
		entry = 32
		if f.Family == aicore.V200 || f.Family == aicore.V300 {
			entry = 48
		}
	}
	b := f.small(s)
	if len(b)%entry != 0 {
		f.problem(int64(s.off), "registers of %s %d: %d bytes are no multiple of %d", c.Type, c.ID, len(b), entry)
	}
	for i := 0; i+entry <= len(b); i += entry {
		e := b[i : i+entry]
		size := min(int(e[15]), entry-16)
		r := Register{Addr: le.Uint64(e), Invalid: e[8] != 0, Value: e[16 : 16+size]}
		r.Name = aicore.RegisterName(f.Family, r.Addr)
		c.Registers = append(c.Registers, r)
	}
}

func (f *File) locals(c *Core, s section, secs []section) {
	le := binary.LittleEndian
	b := f.small(s)
	for i := 0; i+24 <= len(b) && len(c.Locals) < 4096; i += 24 {
		e := b[i:]
		l := Local{Size: le.Uint64(e), Global: -1}
		kind := le.Uint32(e[16:])
		l.Memory = memoryNames[kind]
		if l.Memory == "" {
			l.Memory = fmt.Sprintf("unknown(%d)", kind)
		}
		at := int64(s.off) + int64(i)
		if si := int(le.Uint32(e[8:])); si > 0 && si < len(secs) && secs[si].kind == secLocal {
			l.Offset, l.Have = int64(secs[si].off), min(secs[si].size, l.Size)
		} else {
			f.problem(at+8, "%s of %s %d names section %d, which holds no local memory", l.Memory, c.Type, c.ID, si)
		}
		if kind == 10 || kind == 11 {
			if g, ok := f.bySec[int(le.Uint32(e[12:]))]; ok {
				l.Global = g
			}
		}
		c.Locals = append(c.Locals, l)
	}
}

// Uint is the register's value as a number (its low eight bytes).
func (r Register) Uint() uint64 {
	var b [8]byte
	copy(b[:], r.Value)
	return binary.LittleEndian.Uint64(b[:])
}

// judge reads the error registers of a core. On the 950 part of them occur twice: first as read from the running
// core, at the end as recorded with the exception; the last one counts, a difference is kept.
func (f *File) judge(c *Core) {
	pc := aicore.PCAddress(f.Family)
	last := map[uint64]int{}
	var order []uint64
	for i, r := range c.Registers {
		if r.Invalid {
			continue
		}
		if r.Addr == pc {
			c.PC, c.HasPC = aicore.Mask48(r.Uint()), true
		}
		if j, ok := last[r.Addr]; ok {
			if !bytes.Equal(c.Registers[j].Value, r.Value) && len(c.Double) < 64 {
				c.Double = append(c.Double, fmt.Sprintf("%s: 0x%x live, 0x%x with the exception", r.Name, c.Registers[j].Uint(), r.Uint()))
			}
		} else {
			order = append(order, r.Addr)
		}
		last[r.Addr] = i
	}
	var named []aicore.RegisterValue
	for _, a := range order {
		r := c.Registers[last[a]]
		if strings.Contains(r.Name, "ERR") && len(r.Value) <= 4 {
			named = append(named, aicore.RegisterValue{Name: r.Name, Value: uint32(r.Uint())})
		}
	}
	c.Words, c.Codes, c.Infos = aicore.Collect(f.Family, named)
	if f.Family == aicore.V200 || f.Family == aicore.V300 {
		for _, n := range c.Codes {
			b, _ := aicore.BitAt(aicore.V200, n)
			c.Bits = append(c.Bits, b)
		}
	} else {
		c.Bits = c.Words.Bits()
	}
	if c.HasPC {
		c.Fixed = aicore.Repair(f.Family, c.PC, c.Bits, c.Infos)
	}
}

// Failed says that the core reported an error itself; others were only stopped.
func (c *Core) Failed() bool { return len(c.Bits) > 0 }

// Where is the program counter to look at: the repaired one if there is one.
func (c *Core) Where() uint64 {
	if len(c.Fixed) > 0 {
		return c.Fixed[0].Value
	}
	return c.PC
}

// Stale compares a cached copy with the region it copies: the offsets of the first differing byte and their number.
// A difference is evidence: a stale line, or a write that was not flushed.
func (f *File) Stale(l Local) (first int64, n int64, err error) {
	first = -1
	if l.Global < 0 {
		return first, 0, nil
	}
	g := f.Regions[l.Global]
	if g.Unreadable {
		return first, 0, nil
	}
	size := min(l.Have, g.Have, maxSmall)
	const piece = 64 << 10
	a, b := make([]byte, min(size, piece)), make([]byte, min(size, piece))
	for at := uint64(0); at < size; at += piece {
		k := min(size-at, piece)
		if _, err := f.r.ReadAt(a[:k], l.Offset+int64(at)); err != nil {
			return first, n, err
		}
		if _, err := f.r.ReadAt(b[:k], g.Offset+int64(at)); err != nil {
			return first, n, err
		}
		if bytes.Equal(a[:k], b[:k]) {
			continue
		}
		for i := range a[:k] {
			if a[i] != b[i] {
				if first < 0 {
					first = int64(at) + int64(i)
				}
				n++
			}
		}
	}
	return first, n, nil
}

// Code reads the words of the kernel's text around an address: the words and the index of the one at the address.
func (f *File) Code(pc uint64, before, after int) (words []uint32, start uint64, at int) {
	t, ok := f.Text()
	if !ok || pc < t.Addr || pc >= t.Addr+t.Have {
		return nil, 0, -1
	}
	start = pc &^ 3
	if back := uint64(4 * before); start-t.Addr > back {
		start -= back
	} else {
		start = t.Addr
	}
	end := min(pc+uint64(4*after)+4, t.Addr+t.Have)
	b := make([]byte, end-start)
	if _, err := f.r.ReadAt(b, t.Offset+int64(start-t.Addr)); err != nil {
		return nil, 0, -1
	}
	at = int((pc - start) / 4)
	for ; len(b) >= 4; b = b[4:] {
		words = append(words, binary.LittleEndian.Uint32(b))
	}
	return words, start, at
}
