package runtime

import (
	"fmt"
	"sync"

	"npu/internal/runtime/mempool"
	"npu/internal/sim"
)

// Ptr is an address on a device's bus: device memory, or pinned host memory.
type Ptr uint64

// Malloc allocates device memory of the current context's device (aclrtMalloc). The size is rounded up to 32 bytes
// and padded by the chip's tail padding; addresses are multiples of 512. The content is not initialised.
func (th *Thread) Malloc(n int64) (p Ptr, err error) {
	t := th.begin(callMalloc)
	defer func() { th.end(callMalloc, t, err) }()
	if err = th.forbidden(callMalloc); err != nil {
		return 0, err
	}
	if n <= 0 {
		return 0, th.fail(ACLInvalidParam, callMalloc.name, fmt.Sprintf("size %d", n), "ask for at least one byte")
	}
	ctx, err := th.context(callMalloc)
	if err != nil {
		return 0, err
	}
	d := ctx.dev
	size := mempool.Padded(uint64(n), d.hw.Chip().PaddingSize)
	ok := false
	err = th.port.Call(func() {
		d.memory.reclaim()
		var a uint64
		a, ok = d.memory.alloc(size, ctx, ctx.pages)
		p = Ptr(a)
	})
	if err != nil {
		return 0, th.blocked(callMalloc.name, nil, err)
	}
	if !ok {
		return 0, th.outOfMemory(d, size, callMalloc)
	}
	return p, nil
}

// outOfMemory is the error of a request that found no room.
func (th *Thread) outOfMemory(d *Device, size uint64, c call) error {
	var st mempool.Stats
	if err := th.port.Call(func() { st = d.memory.pool.Stats() }); err != nil {
		return th.blocked(c.name, nil, err)
	}
	return th.fail(OutOfMemory, c.name,
		fmt.Sprintf("asked for %d bytes on device %d: %d of %d free (%d wait for tasks under way), %d reserved, largest free block %d",
			size, d.id, st.Total-st.InUse, st.Total, st.Leaving, st.Reserved, st.LargestFree),
		"free memory, or choose a chip with more (npu soc list)")
}

// Free gives device memory back (aclrtFree). The block is reused only after every task that was submitted to this
// device before has passed.
func (th *Thread) Free(p Ptr) (err error) {
	t := th.begin(callFree)
	defer func() { th.end(callFree, t, err) }()
	if p == 0 {
		return th.fail(ACLInvalidParam, callFree.name, "pointer is null", "")
	}
	if err = th.forbidden(callFree); err != nil {
		return err
	}
	var known bool
	err = th.port.Call(func() {
		for _, d := range th.rt.devices {
			if known = d.memory.freeLater(uint64(p), d); known {
				return
			}
		}
	})
	if err == nil && !known {
		return th.fail(DriverError, callFree.name, fmt.Sprintf("0x%x is not the start of a block in use", uint64(p)), "")
	}
	return th.blocked(callFree.name, nil, err)
}

// MemInfo is the free and total memory of the current device in bytes, and the most that was ever in use
// (aclrtGetMemInfo).
func (th *Thread) MemInfo() (free, total, peak int64, err error) {
	t := th.begin(callMemInfo)
	defer func() { th.end(callMemInfo, t, err) }()
	ctx, err := th.context(callMemInfo)
	if err != nil {
		return 0, 0, 0, err
	}
	err = th.port.Call(func() {
		ctx.dev.memory.reclaim()
		s := ctx.dev.memory.pool.Stats()
		free, total, peak = int64(s.Total-s.InUse), int64(s.Total), int64(s.Peak)
	})
	return free, total, peak, th.blocked(callMemInfo.name, nil, err)
}

// HostMem is page-locked host memory: DMA reaches it at Addr, the program at Bytes.
type HostMem struct {
	Addr  Ptr
	Bytes []byte
}

// hostPool is the process's pinned host memory.
type hostPool struct {
	mu   sync.Mutex
	m    *sim.Machine
	pool *mempool.Pool
}

func newHostPool(m *sim.Machine) *hostPool {
	base, size := m.HostWindow()
	return &hostPool{m: m, pool: mempool.New(mempool.Config{Base: base, Size: uint64(size), Granule: 4096, NoSlabs: true})}
}

// MallocHost allocates page-locked host memory (aclrtMallocHost).
func (th *Thread) MallocHost(n int64) (h HostMem, err error) {
	t := th.begin(callMallocHost)
	defer func() { th.end(callMallocHost, t, err) }()
	if n <= 0 {
		return HostMem{}, th.fail(ACLInvalidParam, callMallocHost.name, fmt.Sprintf("size %d", n), "ask for at least one byte")
	}
	p := th.rt.hostMem
	p.mu.Lock()
	addr, ok := p.pool.Alloc(mempool.Request{Bytes: uint64(n)})
	p.mu.Unlock()
	if !ok {
		return HostMem{}, th.fail(OutOfMemory, callMallocHost.name, fmt.Sprintf("asked for %d bytes of host memory", n), "free host memory")
	}
	return HostMem{Addr: Ptr(addr), Bytes: p.m.HostBytes(addr, int(n))}, nil
}

// FreeHost gives page-locked memory back (aclrtFreeHost). No copy may be under way.
func (th *Thread) FreeHost(h HostMem) (err error) {
	t := th.begin(callFreeHost)
	defer func() { th.end(callFreeHost, t, err) }()
	p := th.rt.hostMem
	p.mu.Lock()
	_, ok := p.pool.Free(uint64(h.Addr))
	p.mu.Unlock()
	if !ok {
		return th.fail(DriverError, callFreeHost.name, fmt.Sprintf("0x%x is not the start of a host block in use", uint64(h.Addr)), "")
	}
	return nil
}
