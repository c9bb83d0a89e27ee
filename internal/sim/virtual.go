package sim

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
)

// Physical is memory without an address: a memory file, so that it can be mapped anywhere and outlives whoever made it.
type Physical struct {
	fd    int
	bytes int64
	refs  int
}

// NewPhysical makes n bytes, a multiple of Page.
func NewPhysical(n int64) (*Physical, error) {
	fd, err := memoryFile(n)
	if err != nil {
		return nil, err
	}
	return &Physical{fd: fd, bytes: n, refs: 1}, nil
}

// Bytes is its size.
func (p *Physical) Bytes() int64 { return p.bytes }

// Retain adds a reference; Drop takes one away and says whether it was the last: the memory is gone then.
func (p *Physical) Retain() { p.refs++ }

// Drop is described with Retain.
func (p *Physical) Drop() bool {
	if p.refs--; p.refs == 0 {
		closeFile(p.fd)
	}
	return p.refs == 0
}

// Range is a reserved range of addresses of an address space, parts of which are mapped to physical memory.
type Range struct {
	base  uint64
	mem   []byte
	table pageTable
}

// Reserve reserves n bytes at base, a multiple of Page, in the space. Call it from Port.Call.
func (s *Space) Reserve(base uint64, n int64) (*Range, error) {
	mem, err := reserveHost(n)
	if err != nil {
		return nil, err
	}
	r := &Range{base: base, mem: mem, table: make(pageTable, n/Page)}
	i, _ := slices.BinarySearchFunc(s.ranges, base, func(r *Range, b uint64) int { return cmp.Compare(r.base, b) })
	s.ranges = slices.Insert(s.ranges, i, r)
	s.dev.m.changeShared(func(l []sharedRange) []sharedRange { return append(l, sharedRange{base: base, mem: mem, dev: s.dev}) })
	return r, nil
}

// Release gives a reserved range back; nothing may be mapped in it. Call it from Port.Call.
func (s *Space) Release(r *Range) {
	s.ranges = slices.DeleteFunc(s.ranges, func(x *Range) bool { return x == r })
	s.dev.m.dropShared(r.base)
	releaseHost(r.mem)
}

// Map maps physical memory at an offset with these rights.
func (r *Range) Map(off int64, p *Physical, rights Access) error {
	if err := place(r.mem[off:off+p.bytes], p.fd); err != nil {
		return fmt.Errorf("mapping %d bytes at 0x%x: %w", p.bytes, r.base+uint64(off), err)
	}
	r.Protect(off, p.bytes, rights)
	return nil
}

// Protect changes the rights of mapped pages.
func (r *Range) Protect(off, n int64, rights Access) {
	r.table.set(int(off/Page), int((off+n)/Page), rights)
}

// Unmap takes a mapping away.
func (r *Range) Unmap(off, n int64) error {
	r.Protect(off, n, NoAccess)
	return vacate(r.mem[off : off+n])
}

// within is the reserved range that an address lies in, or nil.
func (s *Space) within(addr uint64) *Range {
	for _, r := range s.ranges {
		if addr-r.base < uint64(len(r.mem)) {
			return r
		}
	}
	return nil
}

// bytes is memory of the range, nil where it must not be touched.
func (r *Range) bytes(addr uint64, n int, want Access) []byte {
	off := addr - r.base
	if n < 0 || uint64(n) > uint64(len(r.mem))-off {
		return nil
	}
	if n > 0 && !r.table.allows(off, n, want) {
		return nil
	}
	return r.mem[off : off+uint64(n) : off+uint64(n)]
}

// sharedRange is a range of addresses besides the windows: host memory that is registered or managed, and reserved
// ranges of a device.
type sharedRange struct {
	base uint64
	mem  []byte
	dev  *Device // of a reserved range; nil: host memory
}

// others are the ranges of a machine besides its windows, and belong to its window of host memory.
type others struct{ atomic.Pointer[[]sharedRange] }

// close gives the reserved addresses back.
func (o *others) close() {
	if p := o.Swap(nil); p != nil {
		for _, r := range *p {
			if r.dev != nil {
				releaseHost(r.mem)
			}
		}
	}
}

// changeShared replaces the list of ranges; it is read without a lock.
func (m *Machine) changeShared(f func([]sharedRange) []sharedRange) {
	var l []sharedRange
	if p := m.host.others.Load(); p != nil {
		l = slices.Clone(*p)
	}
	l = f(l)
	m.host.others.Store(&l)
}

func (m *Machine) dropShared(base uint64) bool {
	found := false
	m.changeShared(func(l []sharedRange) []sharedRange {
		return slices.DeleteFunc(l, func(r sharedRange) bool {
			found = found || r.base == base
			return r.base == base
		})
	})
	return found
}

// AddHost gives host memory the address base, so that devices reach it. Call it from Port.Call.
func (m *Machine) AddHost(base uint64, mem []byte) {
	m.changeShared(func(l []sharedRange) []sharedRange { return append(l, sharedRange{base: base, mem: mem}) })
}

// DropHost undoes AddHost. Call it from Port.Call.
func (m *Machine) DropHost(base uint64) bool { return m.dropShared(base) }

// sharedBytes is host memory that was added, or nil.
func (m *Machine) sharedBytes(addr uint64, n int) []byte {
	if p := m.host.others.Load(); p != nil {
		for _, r := range *p {
			if off := addr - r.base; r.dev == nil && off < uint64(len(r.mem)) && n >= 0 && uint64(n) <= uint64(len(r.mem))-off {
				return r.mem[off : off+uint64(n) : off+uint64(n)]
			}
		}
	}
	return nil
}

// Reserved is the device on which an address is reserved, or nil. It may be called from any thread.
func (m *Machine) Reserved(addr uint64) *Device {
	if p := m.host.others.Load(); p != nil {
		for _, r := range *p {
			if r.dev != nil && addr-r.base < uint64(len(r.mem)) {
				return r.dev
			}
		}
	}
	return nil
}

// AllocHost reserves n bytes of host memory for managed memory; FreeHost gives them back.
func AllocHost(n int64) ([]byte, error) {
	w, err := newWindow(0, n)
	if err != nil {
		return nil, err
	}
	return w.mem, nil
}

// FreeHost is described with AllocHost.
func FreeHost(b []byte) { (&window{mem: b}).close() }
