package runtime

import (
	"fmt"

	"npu/internal/runtime/mempool"
)

// MemInfo is the free and total memory of the current device in bytes, and the most that was ever in use
// (aclrtGetMemInfo).
func (th *Thread) MemInfo() (free, total, peak int64, err error) {
	s, err := th.MemoryStats()
	if free = int64(s.Total - s.InUse); err == nil {
		free = min(free, th.ctx.dev.memory.left()) // other processes hold some
	}
	return free, int64(s.Total), int64(s.Peak), err
}

// MemAttr is a kind of memory, numbered as aclrtMemAttr.
type MemAttr int

// Kinds of memory: by chip, by page, and by reach. A 2 MiB page serves huge or normal blocks, whichever come first: the
// kinds share one memory here, which on the device have budgets of their own.
const (
	MemDDR MemAttr = iota
	MemHBM
	MemDDRHuge
	MemDDRNormal
	MemHBMHuge
	MemHBMNormal
	MemDDRPeerHuge
	MemDDRPeerNormal
	MemHBMPeerHuge
	MemHBMPeerNormal
	MemHBMHuge1G
	MemHBMPeerHuge1G
	MemNormal
	MemHuge
	MemHuge1G
	MemPeerNormal
	MemPeerHuge
	MemPeerHuge1G
	memAttrs
)

// MemInfoOf is free and total memory of a kind, in bytes; a kind that the chip does not have is 0 of 0
// (aclrtGetMemInfo).
func (th *Thread) MemInfoOf(a MemAttr) (free, total int64, err error) {
	if a < 0 || a >= memAttrs {
		return 0, 0, th.fail(ACLInvalidParam, callMemInfo.name, fmt.Sprintf("attribute %d", a), "")
	}
	s, err := th.MemoryStats()
	if err != nil {
		return 0, 0, err
	}
	switch a {
	case MemDDRHuge, MemHBMHuge, MemDDRPeerHuge, MemHBMPeerHuge, MemHuge, MemPeerHuge:
		return int64(s.FreePages), int64(s.Total), nil
	case MemHBMHuge1G, MemHBMPeerHuge1G, MemHuge1G, MemPeerHuge1G:
		if !managesPages(th.ctx.dev.hw.Chip().Short) {
			return 0, 0, nil
		}
		return int64(s.FreePages &^ (1<<30 - 1)), int64(s.Total &^ (1<<30 - 1)), nil
	}
	return int64(s.Total - s.InUse), int64(s.Total), nil
}

// MemoryStats are the counters of the current device's memory.
func (th *Thread) MemoryStats() (s mempool.Stats, err error) {
	t := th.begin(callMemInfo)
	defer func() { th.end(callMemInfo, t, err) }()
	ctx, err := th.context(callMemInfo)
	if err != nil {
		return s, err
	}
	err = th.port.Call(func() {
		th.flushCaches()
		ctx.dev.memory.reclaim()
		s = ctx.dev.memory.pool.Stats()
	})
	return s, th.blocked(callMemInfo.name, nil, err)
}

// MemoryMap says how the current device's memory is used, a 2 MiB page each.
func (th *Thread) MemoryMap() (list []mempool.SegmentUse, err error) {
	ctx, err := th.context(callMemInfo)
	if err != nil {
		return nil, err
	}
	err = th.port.Call(func() {
		th.flushCaches()
		ctx.dev.memory.reclaim()
		list = ctx.dev.memory.pool.Map()
	})
	return list, th.blocked(callMemInfo.name, nil, err)
}

// SetMemoryThreshold keeps up to so many bytes of idle pages of the current device mapped; TrimMemory gives idle pages
// back until no more than keep bytes are reserved, and says how many are.
func (th *Thread) SetMemoryThreshold(bytes uint64) error {
	return th.onMemory(func(m *memory) { m.pool.SetThreshold(bytes) })
}

// TrimMemory is described with SetMemoryThreshold.
func (th *Thread) TrimMemory(keep uint64) (reserved uint64, err error) {
	err = th.onMemory(func(m *memory) {
		m.reclaim()
		m.trimPools()
		reserved = m.pool.Trim(keep)
	})
	return reserved, err
}

// onMemory runs f on the current device's memory.
func (th *Thread) onMemory(f func(m *memory)) error {
	ctx, err := th.context(callMemInfo)
	if err != nil {
		return err
	}
	return th.blocked(callMemInfo.name, nil, th.port.Call(func() {
		th.flushCaches()
		f(ctx.dev.memory)
	}))
}

// AddressRange is the block that p lies in: of device memory, pinned host memory or a mapping (aclrtMemGetAddressRange).
func (th *Thread) AddressRange(p Ptr) (base Ptr, bytes int64, err error) {
	c := call{name: "aclrtMemGetAddressRange"}
	if b, ok := th.containing(p); ok && !b.Leaving {
		return Ptr(b.Addr), int64(b.Bytes), nil
	}
	if b, ok := th.rt.hostMem.containing(p); ok {
		return Ptr(b.Addr), int64(b.Bytes), nil
	}
	found := false
	err = th.port.Call(func() {
		for _, d := range th.rt.devices {
			for _, r := range d.memory.virtual {
				for _, m := range r.maps {
					if off := uint64(p) - r.at(m.off); off < uint64(m.h.bytes) {
						base, bytes, found = Ptr(r.at(m.off)), m.h.bytes, true
					}
				}
			}
		}
	})
	if err == nil && !found {
		return 0, 0, th.fail(InvalidParam, c.name, fmt.Sprintf("0x%x lies in no block", uint64(p)), "")
	}
	return base, bytes, th.blocked(c.name, nil, err)
}

// Location is where memory lies, numbered as aclrtMemLocationType.
type Location int

// Locations.
const (
	OnHost Location = iota
	OnDevice
	Unregistered
	Managed
)

// PointerAttributes says where p lies, and on which device; -1 for none (aclrtPointerGetAttributes).
func (th *Thread) PointerAttributes(p Ptr) (at Location, device int, err error) {
	d, ok := th.rt.where(p, 1)
	switch {
	case !ok:
		return Unregistered, -1, nil
	case d != nil:
		return OnDevice, d.id, nil
	case isManaged(p):
		return Managed, -1, nil
	}
	return OnHost, -1, nil
}
