package om

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

const (
	kernelMagic = 0x5D776EFD
	customMagic = 0x4B43534B
	tilingMagic = 0xDD776EFE
)

// Kernel is one binary of a kernel store.
type Kernel struct {
	Name   string
	Data   []byte
	ELF    bool
	offset int
}

// HostLib is a shared object for the host (SO_BINS).
type HostLib struct {
	Name, Vendor string
	Kind         uint16 // 0 space registry, 1 op master device, 2 autofuse, 3 custom op
	Bytes        int
}

// store reads items of {magic, name length, binary length, name, binary} until the partition ends.
func store(p *Partition, magic uint32) ([]Kernel, error) {
	var out []Kernel
	b := p.Data
	for pos := 0; pos < len(b); {
		fail := func(format string, args ...any) ([]Kernel, error) {
			return out, fmt.Errorf("%v: item %d: offset %#x: %s", p.Type, len(out), p.Offset+pos, fmt.Sprintf(format, args...))
		}
		rest := b[pos:]
		if len(rest) < 12 {
			return fail("%d bytes left over", len(rest))
		}
		le := binary.LittleEndian
		if m := le.Uint32(rest); m != magic {
			return fail("magic is %#x, expected %#x", m, magic)
		}
		name, size := uint64(le.Uint32(rest[4:])), uint64(le.Uint32(rest[8:]))
		if left := uint64(len(rest) - 12); name > left || size > left-name {
			return fail("a name of %d and a binary of %d bytes, %d are left (file truncated?)", name, size, left)
		}
		bin := rest[12+name : 12+name+size]
		out = append(out, Kernel{Name: string(rest[12 : 12+name]), Data: bin, ELF: bytes.HasPrefix(bin, []byte("\x7fELF")), offset: p.Offset + pos})
		pos += 12 + int(name) + int(size)
	}
	return out, nil
}

// appendKernel writes one item.
func appendKernel(to []byte, name string, bin []byte) []byte {
	le := binary.LittleEndian
	to = le.AppendUint32(to, kernelMagic)
	to = le.AppendUint32(to, uint32(len(name)))
	to = le.AppendUint32(to, uint32(len(bin)))
	return append(append(to, name...), bin...)
}

// hostLibs reads SO_BINS.
func hostLibs(p *Partition) ([]HostLib, error) {
	b := p.Data
	fail := func(pos int, format string, args ...any) ([]HostLib, error) {
		return nil, fmt.Errorf("%v: offset %#x: %s", p.Type, p.Offset+pos, fmt.Sprintf(format, args...))
	}
	le := binary.LittleEndian
	if len(b) < 4 {
		return fail(0, "%d bytes, the count needs 4", len(b))
	}
	n := int64(le.Uint32(b))
	var out []HostLib
	pos := 4
	for i := int64(0); i < n; i++ {
		rest := b[pos:]
		if len(rest) < 16 {
			return fail(pos, "%d libraries are announced, the partition ends after %d", n, i)
		}
		if m := le.Uint32(rest); m != kernelMagic {
			return fail(pos, "magic is %#x, expected %#x", m, kernelMagic)
		}
		name, vendor, size := uint64(le.Uint16(rest[4:])), uint64(le.Uint32(rest[8:])), uint64(le.Uint32(rest[12:]))
		left := uint64(len(rest) - 16)
		if size == 0 || name > left || vendor > left-name || size > left-name-vendor {
			return fail(pos, "library %d: names of %d and %d bytes and a binary of %d, %d are left", i, name, vendor, size, left)
		}
		out = append(out, HostLib{Name: string(rest[16 : 16+name]), Vendor: string(rest[16+name : 16+name+vendor]), Kind: le.Uint16(rest[6:]), Bytes: int(size)})
		pos += 16 + int(name+vendor+size)
	}
	if pos != len(b) {
		return fail(pos, "%d bytes after the last library", len(b)-pos)
	}
	return out, nil
}

// tilings counts the entries of TILING_DATA.
func tilings(p *Partition) (int, error) {
	b := p.Data
	fail := func(pos int, format string, args ...any) (int, error) {
		return 0, fmt.Errorf("%v: offset %#x: %s", p.Type, p.Offset+pos, fmt.Sprintf(format, args...))
	}
	if len(b) == 0 {
		return 0, nil
	}
	le := binary.LittleEndian
	if len(b) < 12 {
		return fail(0, "%d bytes, the head needs 12", len(b))
	}
	if m := le.Uint32(b); m != tilingMagic {
		return fail(0, "magic is %#x, expected %#x", m, tilingMagic)
	}
	size := uint64(le.Uint32(b[8:]))
	if size > uint64(len(b)-12) {
		return fail(8, "%d bytes of entries, %d are left", size, len(b)-12)
	}
	n := 0
	for pos, end := 12, 12+int(size); pos < end; {
		if end-pos < 5 {
			return fail(pos, "%d bytes left over", end-pos)
		}
		l := uint64(le.Uint32(b[pos+1:]))
		if l > uint64(end-pos-5) {
			return fail(pos, "an entry of %d bytes, %d are left", l, end-pos-5)
		}
		if b[pos] == 0 {
			n++
		}
		pos += 5 + int(l)
	}
	return n, nil
}
