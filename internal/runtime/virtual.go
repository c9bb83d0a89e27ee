package runtime

import (
	"fmt"
	"slices"
	"strings"

	"npu/internal/runtime/mempool"
	"npu/internal/sim"
)

var (
	callPhysical = call{"aclrtMallocPhysical", 5000}
	callReserve  = call{"aclrtReserveMemAddress", 3000}
	callMap      = call{"aclrtMapMem", 5000}
	callAccess   = call{"aclrtMemSetAccess", 3000}
	callUnmap    = call{"aclrtUnmapMem", 3000}
)

// PhysicalMem is memory of a device without an address (aclrtDrvMemHandle).
type PhysicalMem struct {
	d      *Device
	phys   *sim.Physical
	bytes  int64
	budget uint64 // block of the pool that accounts for it; 0 for memory of the host
	users  int    // references of the program; each mapping holds one more of its own
}

// reservation is a range of addresses that were reserved, with what is mapped in it. Under Port.Call.
type reservation struct {
	base  uint64
	bytes int64
	r     *sim.Range
	space *sim.Space
	maps  []mapping
}

type mapping struct {
	off int64
	h   *PhysicalMem
}

func (r *reservation) at(off int64) uint64 { return r.base + uint64(off) }

// MemGranularity is the unit of physical memory in bytes: 2 MiB for huge pages, 1 GiB for huge ones of that size, 4 KiB
// or, recommended, 64 KiB for normal ones (aclrtMemGetAllocationGranularity).
func MemGranularity(p mempool.Policy, recommended bool) int64 {
	switch {
	case p.Page() != 0:
		return int64(p.Page())
	case p.Plain() == mempool.HugeFirst || p.Plain() == mempool.HugeFirstPeer:
		return sim.Page
	case recommended:
		return 64 << 10
	}
	return 4096
}

// PhysicalProps say what physical memory is made of (aclrtPhysicalMemProp).
type PhysicalProps struct {
	Policy mempool.Policy // pages of 1 GiB, or of 2 MiB: normal ones become huge
	Host   bool           // it lies in host memory, and counts as none of the device's
}

// MallocPhysical allocates memory of the current device that has no address yet (aclrtMallocPhysical). n is a multiple
// of 2 MiB.
func (th *Thread) MallocPhysical(n int64) (h *PhysicalMem, err error) {
	return th.MallocPhysicalWith(n, PhysicalProps{})
}

// MallocPhysicalWith is MallocPhysical of memory of a kind; n is a multiple of its pages.
func (th *Thread) MallocPhysicalWith(n int64, props PhysicalProps) (h *PhysicalMem, err error) {
	t := th.begin(callPhysical)
	defer func() { th.end(callPhysical, t, err) }()
	if err = th.forbidden(callPhysical); err != nil {
		return nil, err
	}
	ctx, err := th.context(callPhysical)
	if err != nil {
		return nil, err
	}
	page := int64(max(props.Policy.Page(), sim.Page))
	switch {
	case !props.Policy.Known():
		return nil, th.fail(ACLInvalidParam, callPhysical.name, fmt.Sprintf("policy %d", props.Policy), "give one of the eight policies")
	case page > sim.Page && !managesPages(ctx.dev.hw.Chip().Short):
		return nil, th.fail(NotSupported, callPhysical.name, ctx.dev.hw.Chip().Name+" has no pages of 1 GiB", "use a 2 MiB policy")
	case n <= 0 || n%page != 0:
		return nil, th.fail(InvalidParam, callPhysical.name, fmt.Sprintf("size %d", n), fmt.Sprintf("give a multiple of %d MiB", page>>20))
	}
	h = &PhysicalMem{d: ctx.dev, bytes: n, users: 1}
	var failed error
	ok := false
	err = th.port.Call(func() {
		m := ctx.dev.memory
		if props.Host {
			h.phys, failed = sim.NewPhysical(n)
			ok = true
			return
		}
		m.reclaim()
		if h.budget, ok = m.take(mempool.Request{Bytes: uint64(n), Whole: uint64(page), Table: m.nowhere().id}, ctx); !ok {
			return
		}
		if h.phys, failed = sim.NewPhysical(n); failed != nil {
			m.release(h.budget)
		}
	})
	switch {
	case err != nil:
		return nil, th.blocked(callPhysical.name, nil, err)
	case !ok:
		return nil, th.outOfMemory(ctx.dev, uint64(n), callPhysical)
	case failed != nil:
		return nil, th.keep(&Error{Code: OutOfMemory, Message: messageOf(OutOfMemory), Call: callPhysical.name, Err: failed})
	}
	return h, nil
}

// nowhere is the table of memory that is accounted for but lies elsewhere.
func (m *memory) nowhere() *pageTable {
	if m.elsewhere == nil {
		m.elsewhere = m.newTable()
	}
	return m.elsewhere
}

// FreePhysical drops a reference to physical memory; it lives until it is unmapped as well (aclrtFreePhysical).
func (th *Thread) FreePhysical(h *PhysicalMem) error {
	c := call{name: "aclrtFreePhysical"}
	if h == nil {
		return th.fail(ACLInvalidParam, c.name, "handle is null", "")
	}
	gone := false
	err := th.port.Call(func() {
		if gone = h.users == 0; !gone {
			h.users--
			h.drop()
		}
	})
	if err == nil && gone {
		return th.fail(InvalidHandle, c.name, "the memory is freed already", "")
	}
	return th.blocked(c.name, nil, err)
}

// drop takes one reference away. Under Port.Call.
func (h *PhysicalMem) drop() {
	if h.phys.Drop() && h.budget != 0 {
		h.d.memory.release(h.budget)
	}
}

// Where virtual addresses may lie.
const (
	virtualBase = uint64(16) << 40
	virtualEnd  = uint64(24) << 40
)

// ReserveAddress reserves n bytes of addresses of the current context (aclrtReserveMemAddress), at want if that is not 0:
// then it must lie in 16 to 24 TiB, be a multiple of 2 MiB, or of 1 GiB from 1 GiB on, and be free.
func (th *Thread) ReserveAddress(n int64, want Ptr) (p Ptr, err error) {
	t := th.begin(callReserve)
	defer func() { th.end(callReserve, t, err) }()
	ctx, err := th.context(callReserve)
	if err != nil {
		return 0, err
	}
	align := uint64(sim.Page)
	if n >= 1<<30 {
		align = 1 << 30
	}
	switch chip := ctx.dev.hw.Chip(); {
	case n <= 0:
		return 0, th.fail(InvalidParam, callReserve.name, fmt.Sprintf("size %d", n), "ask for at least one byte")
	case want != 0 && strings.HasPrefix(chip.Short, "Ascend950"):
		return 0, th.fail(NotSupported, callReserve.name, fmt.Sprintf("address 0x%x: %s takes no wish", uint64(want), chip.Name), "give 0")
	case want != 0 && (uint64(want)%align != 0 || uint64(want) < virtualBase || uint64(n) > virtualEnd-min(uint64(want), virtualEnd)):
		return 0, th.fail(InvalidParam, callReserve.name, fmt.Sprintf("address 0x%x for %d bytes", uint64(want), n), "give a multiple of 2 MiB (1 GiB from 1 GiB on) between 16 and 24 TiB")
	}
	size := (n + sim.Page - 1) &^ (sim.Page - 1)
	var failed error
	taken := false
	err = th.port.Call(func() {
		m := ctx.dev.memory
		at := uint64(want)
		if at == 0 {
			at = (m.virtualAt() + align - 1) &^ (align - 1)
		}
		if taken = th.rt.addressTaken(at, uint64(size)) || at+uint64(size) > virtualEnd; taken {
			return
		}
		r := &reservation{base: at, bytes: size, space: ctx.pages.space}
		if r.r, failed = r.space.Reserve(at, size); failed == nil {
			m.virtual = append(m.virtual, r)
			p = Ptr(at)
		}
	})
	switch {
	case err != nil:
		return 0, th.blocked(callReserve.name, nil, err)
	case taken:
		return 0, th.fail(InvalidParam, callReserve.name, fmt.Sprintf("address 0x%x: not free for %d bytes", uint64(want), size), "choose another one, or 0")
	case failed != nil:
		return 0, th.keep(&Error{Code: OutOfMemory, Message: messageOf(OutOfMemory), Call: callReserve.name, Err: failed})
	}
	return p, nil
}

// virtualAt is an address behind all reservations of this device; each device has 64 GiB of its own from 16 TiB on.
func (m *memory) virtualAt() uint64 {
	at := virtualBase + uint64(m.hw.ID())<<36
	for _, r := range m.virtual {
		if r.base>>36 == at>>36 || r.base >= at && r.base < at+1<<36 {
			at = max(at, r.base+uint64(r.bytes)+sim.Page)
		}
	}
	return at
}

// addressTaken says whether something of this process lies in a range of addresses. Under Port.Call.
func (rt *Runtime) addressTaken(at, n uint64) bool {
	for _, d := range rt.devices {
		base, size := d.hw.Memory()
		if at < base+uint64(size) && base < at+n {
			return true
		}
		for _, r := range d.memory.virtual {
			if at < r.base+uint64(r.bytes) && r.base < at+n {
				return true
			}
		}
	}
	return false
}

// reserved is the reservation that holds an address, with the offset in it. Under Port.Call.
func (rt *Runtime) reserved(p Ptr) (*reservation, int64) {
	for _, d := range rt.devices {
		for _, r := range d.memory.virtual {
			if off := uint64(p) - r.base; off < uint64(r.bytes) {
				return r, int64(off)
			}
		}
	}
	return nil, 0
}

// MapMemory maps physical memory at a reserved address, for reading and writing (aclrtMapMem). n is the size of h.
func (th *Thread) MapMemory(p Ptr, n int64, h *PhysicalMem) error {
	return th.mapMemory(p, n, h, sim.ReadWrite)
}

// MapNoAccess maps physical memory without any right (aclrtMemMapNoAccess); SetAccess gives rights.
func (th *Thread) MapNoAccess(p Ptr, n int64, h *PhysicalMem) error {
	return th.mapMemory(p, n, h, sim.NoAccess)
}

func (th *Thread) mapMemory(p Ptr, n int64, h *PhysicalMem, rights sim.Access) error {
	return th.onReservation(p, callMap, func(r *reservation, off int64) string {
		switch {
		case h == nil || h.users == 0:
			return "the physical memory is freed"
		case n != h.bytes:
			return fmt.Sprintf("size %d for physical memory of %d bytes", n, h.bytes)
		case off%sim.Page != 0 || off+n > r.bytes:
			return fmt.Sprintf("%d bytes at 0x%x leave the reserved range, or do not begin at a multiple of 2 MiB", n, uint64(p))
		}
		for _, m := range r.maps {
			if off < m.off+m.h.bytes && m.off < off+n {
				return fmt.Sprintf("something is mapped at 0x%x", r.at(m.off))
			}
			if m.h.d != h.d {
				return fmt.Sprintf("memory of device %d is mapped in the range, this is of device %d", m.h.d.id, h.d.id)
			}
		}
		if err := r.r.Map(off, h.phys, rights); err != nil {
			return err.Error()
		}
		h.phys.Retain()
		r.maps = append(r.maps, mapping{off, h})
		return ""
	})
}

// SetAccess changes the rights of a mapping; p and n are exactly those of its mapping (aclrtMemSetAccess).
func (th *Thread) SetAccess(p Ptr, n int64, rights sim.Access) error {
	return th.onReservation(p, callAccess, func(r *reservation, off int64) string {
		if rights != sim.NoAccess && rights != sim.Read && rights != sim.ReadWrite {
			return fmt.Sprintf("rights %d: give 0 (none), 1 (read) or 3 (read and write)", rights)
		}
		for _, m := range r.maps {
			if m.off == off && m.h.bytes == n {
				r.r.Protect(off, n, rights)
				return ""
			}
		}
		return fmt.Sprintf("%d bytes at 0x%x are not what was mapped", n, uint64(p))
	})
}

// UnmapMemory takes a mapping away (aclrtUnmapMem).
func (th *Thread) UnmapMemory(p Ptr) error {
	return th.onReservation(p, callUnmap, func(r *reservation, off int64) string {
		i := slices.IndexFunc(r.maps, func(m mapping) bool { return m.off == off })
		if i < 0 {
			return fmt.Sprintf("no mapping begins at 0x%x", uint64(p))
		}
		if err := r.unmap(i); err != nil {
			return err.Error()
		}
		return ""
	})
}

func (r *reservation) unmap(i int) error {
	m := r.maps[i]
	if err := r.r.Unmap(m.off, m.h.bytes); err != nil {
		return err
	}
	r.maps = slices.Delete(r.maps, i, i+1)
	m.h.drop()
	return nil
}

// ReleaseAddress gives a reserved range back; nothing may be mapped in it (aclrtReleaseMemAddress).
func (th *Thread) ReleaseAddress(p Ptr) error {
	return th.onReservation(p, callReserve, func(r *reservation, off int64) string {
		switch {
		case off != 0:
			return fmt.Sprintf("0x%x is not the start of the range", uint64(p))
		case len(r.maps) > 0:
			return fmt.Sprintf("%d mappings are left in the range, the first at 0x%x", len(r.maps), r.at(r.maps[0].off))
		}
		for _, d := range th.rt.devices {
			d.memory.virtual = slices.DeleteFunc(d.memory.virtual, func(x *reservation) bool { return x == r })
		}
		r.space.Release(r.r)
		return ""
	})
}

// RetainAllocation is the physical memory behind a mapped address, with one more reference
// (aclrtMemRetainAllocationHandle).
func (th *Thread) RetainAllocation(p Ptr) (h *PhysicalMem, err error) {
	err = th.onReservation(p, callMap, func(r *reservation, off int64) string {
		for _, m := range r.maps {
			if off >= m.off && off < m.off+m.h.bytes {
				h = m.h
				h.users++
				h.phys.Retain()
				return ""
			}
		}
		return fmt.Sprintf("nothing is mapped at 0x%x", uint64(p))
	})
	return h, err
}

// onReservation runs f on the reservation that holds p; f says what is wrong.
func (th *Thread) onReservation(p Ptr, c call, f func(r *reservation, off int64) string) (err error) {
	t := th.begin(c)
	defer func() { th.end(c, t, err) }()
	if err = th.forbidden(c); err != nil {
		return err
	}
	bad := ""
	err = th.port.Call(func() {
		r, off := th.rt.reserved(p)
		if r == nil {
			bad = fmt.Sprintf("0x%x lies in no reserved range", uint64(p))
			return
		}
		bad = f(r, off)
	})
	if err == nil && bad != "" {
		return th.fail(InvalidParam, c.name, bad, "")
	}
	return th.blocked(c.name, nil, err)
}

// endVirtual takes all mappings and reservations of the device away.
func (m *memory) endVirtual() {
	for _, r := range m.virtual {
		for len(r.maps) > 0 {
			if r.unmap(0) != nil {
				return // the address space is in disorder: the process's end cleans up
			}
		}
		r.space.Release(r.r)
	}
	m.virtual = nil
	m.elsewhere = nil
}
