package sim

import (
	"fmt"
)

// Addresses: each device has its own range, so that a pointer tells where it points; host memory that DMA can reach
// has another.
const (
	deviceBase   = uint64(0x1240_0000_0000)
	deviceStride = uint64(1) << 40
	hostBase     = uint64(0x7000_0000_0000)
	hostWindow   = int64(16) << 30
)

// Page is the granularity of mapping: 2 MiB.
const Page = 2 << 20

// Access is what a mapping allows.
type Access uint8

// Rights of a mapping, numbered as aclrtMemAccessFlags.
const (
	NoAccess  Access = 0
	Read      Access = 1
	ReadWrite Access = 3
)

// Space is an address space on a device: which pages its tasks may touch.
type Space struct {
	dev    *Device
	table  pageTable
	ranges []*Range // reserved ones, by address
}

// pageTable holds for each page how many pages with the same rights follow, so that checking a range is one look-up.
type pageTable []pageEntry

type pageEntry struct {
	run    uint32 // pages from here on, this one included, with the same rights
	rights Access
}

// set gives rights to pages first to end.
func (t pageTable) set(first, end int, rights Access) {
	for i := end - 1; i >= first; i-- {
		t[i] = pageEntry{run: 1, rights: rights}
		if i+1 < len(t) && t[i+1].rights == rights {
			t[i].run += t[i+1].run
		}
	}
	// The pages before see a longer or shorter run now.
	for i := first - 1; i >= 0 && t[i].rights != NoAccess; i-- {
		run := uint32(1)
		if t[i+1].rights == t[i].rights {
			run += t[i+1].run
		}
		if t[i].run == run {
			break
		}
		t[i].run = run
	}
}

// allows says whether n > 0 bytes from an offset can be accessed.
func (t pageTable) allows(off uint64, n int, want Access) bool {
	e := t[off/Page]
	last := (off + uint64(n) - 1) / Page
	return e.rights&want == want && uint64(e.run) > last-off/Page
}

// NewSpace makes an empty address space.
func (d *Device) NewSpace() *Space {
	return &Space{dev: d, table: make(pageTable, (len(d.hbm.mem)+Page-1)/Page)}
}

// Map gives rights to the pages of [addr, addr+n); NoAccess takes them away. addr and n are multiples of Page. Call
// it from Port.Call or before anything runs.
func (s *Space) Map(addr uint64, n int64, rights Access) {
	first := int((addr - s.dev.hbm.base) / Page)
	s.table.set(first, first+int(n/Page), rights)
}

// Resolve gives the memory of n bytes at a device or host address, or the fault that a core's memory unit (MTE)
// raises: 0x26 with the address.
func (s *Space) Resolve(addr uint64, n int, want Access) ([]byte, *Fault) {
	w := s.dev.hbm
	off := addr - w.base
	if off < uint64(len(w.mem)) && n >= 0 && uint64(n) <= uint64(len(w.mem))-off {
		if n == 0 {
			return w.mem[off:off:off], nil
		}
		if s.table.allows(off, n, want) {
			if len(s.dev.poison) > 0 {
				if f := s.dev.broken(addr, n); f != nil {
					return nil, f
				}
			}
			return w.mem[off : off+uint64(n) : off+uint64(n)], nil
		}
	} else if r := s.within(addr); r != nil {
		if b := r.bytes(addr, n, want); b != nil {
			return b, nil
		}
		return nil, &Fault{Code: CodeAICoreException, Addr: addr, HasAddr: true, Detail: fmt.Sprintf("MTE access of %d bytes to a reserved address that is not mapped, or without the right", n)}
	} else if b := s.dev.m.HostBytes(addr, n); b != nil {
		return b, nil
	} else if b := s.dev.peer(addr, n, want); b != nil {
		return b, nil
	}
	return nil, &Fault{Code: CodeAICoreException, Addr: addr, HasAddr: true, Detail: fmt.Sprintf("MTE access of %d bytes to an address that is not mapped", n)}
}

// HostBytes is pinned host memory at an address, or nil.
func (m *Machine) HostBytes(addr uint64, n int) []byte {
	off := addr - m.host.base
	if off >= uint64(len(m.host.mem)) || n < 0 || uint64(n) > uint64(len(m.host.mem))-off {
		return m.sharedBytes(addr, n)
	}
	return m.host.mem[off : off+uint64(n) : off+uint64(n)]
}

// LockHost keeps a part of pinned memory from being paged out. An error says that the system's limit forbids it.
func (m *Machine) LockHost(addr uint64, n int64) error {
	return m.host.lock(int64(addr-m.host.base), n)
}

// UnlockHost undoes LockHost.
func (m *Machine) UnlockHost(addr uint64, n int64) { m.host.unlock(int64(addr-m.host.base), n) }

// HostWindow is the range of addresses of pinned host memory.
func (m *Machine) HostWindow() (base uint64, bytes int64) { return m.host.base, int64(len(m.host.mem)) }

// peer is memory of another device that this one may reach.
func (d *Device) peer(addr uint64, n int, want Access) []byte {
	for _, s := range d.peers {
		if s == nil || s.dev.Bytes(addr, n) == nil {
			continue
		}
		if b, f := s.Resolve(addr, n, want); f == nil {
			return b
		}
	}
	return nil
}

// copyMemory moves the bytes of a Memcpy descriptor. Overlapping ranges behave as memmove.
func (m *Machine) copyMemory(q *Queue, d *Desc) *Fault {
	n := int(d[7])
	src, f := q.space.Resolve(d[6], n, Read)
	if f == nil {
		var dst []byte
		if dst, f = q.space.Resolve(d[5], n, ReadWrite); f == nil {
			copy(dst, src)
			return nil
		}
	}
	f.copying()
	return f
}

func (m *Machine) setMemory(q *Queue, d *Desc) *Fault {
	dst, f := q.space.Resolve(d[5], int(d[7]), ReadWrite)
	if f != nil {
		f.copying()
		return f
	}
	fill(dst, byte(d[6]))
	return nil
}

// cacheMemory is the effect of a cache operation: none, since all caches here are coherent, but the range must be there.
func (m *Machine) cacheMemory(q *Queue, d *Desc) *Fault {
	_, f := q.space.Resolve(d[5], int(d[7]), Read)
	if f != nil {
		f.copying()
	}
	return f
}

// fill sets all bytes of b to v. It copies what it has filled, in pieces that stay in the first-level cache: a loop over
// the bytes takes twenty times as long.
func fill(b []byte, v byte) {
	const piece = 16 << 10
	if len(b) == 0 {
		return
	}
	b[0] = v
	for n := 1; n < len(b); {
		n += copy(b[n:], b[:min(n, piece)])
	}
}
