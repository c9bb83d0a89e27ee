package runtime

import (
	"fmt"
	"slices"
	"sync"

	"npu/internal/runtime/mempool"
	"npu/internal/sim"
)

// Codes of registered host memory.
const (
	HostRegistered   Code = 507910
	HostUnregistered Code = 507911
)

var (
	callRegister   = call{"aclrtHostRegister", 5000}
	callUnregister = call{"aclrtHostUnregister", 3000}
)

// HostMem is host memory that devices reach: DMA and kernels at Addr, the program at Bytes.
type HostMem struct {
	Addr  Ptr
	Bytes []byte
}

// registeredBase is where registered memory gets its addresses.
const (
	registeredBase = uint64(0x7800_0000_0000)
	hostPage       = 4096
)

// hostPool is the process's host memory that devices reach.
type hostPool struct {
	mu         sync.Mutex
	m          *sim.Machine
	pool       *mempool.Pool
	locked     map[uint64]int64 // blocks whose pages are locked
	stats      PinnedStats
	registered []registered
	next       uint64 // address of the next registered block
	managed    managedMem
	order      streamOrder // of the pools of all devices
}

// registered is memory of the program.
type registered struct {
	addr   uint64
	mem    []byte
	locked bool
}

// PinnedStats count the page-locked host memory.
type PinnedStats struct {
	Bytes     int64 // in use
	Locked    int64 // of which really locked
	Fallbacks int64 // blocks that the system's limit forbade to lock
	Reason    string
}

func newHostPool(m *sim.Machine) *hostPool {
	base, size := m.HostWindow()
	return &hostPool{
		m: m, pool: mempool.New(mempool.Config{Base: base, Size: uint64(size), Granule: hostPage, NoSlabs: true}),
		locked: map[uint64]int64{}, next: registeredBase, managed: newManagedMem(),
	}
}

// MallocHost allocates page-locked host memory (aclrtMallocHost). Where the system's limit (ulimit -l) forbids to lock
// it, it is used unlocked, which PinnedStats counts: everything but its residence is the same.
func (th *Thread) MallocHost(n int64) (h HostMem, err error) {
	t := th.begin(callMallocHost)
	defer func() { th.end(callMallocHost, t, err) }()
	if n <= 0 {
		return HostMem{}, th.fail(ACLInvalidParam, callMallocHost.name, fmt.Sprintf("size %d", n), "ask for at least one byte")
	}
	h, ok := th.rt.hostMem.take(n)
	if !ok {
		return HostMem{}, th.fail(OutOfMemory, callMallocHost.name, fmt.Sprintf("asked for %d bytes of host memory", n), "free host memory")
	}
	return h, nil
}

// FreeHost gives page-locked memory back (aclrtFreeHost). No copy may be under way.
func (th *Thread) FreeHost(h HostMem) (err error) {
	t := th.begin(callFreeHost)
	defer func() { th.end(callFreeHost, t, err) }()
	if h.Addr == 0 {
		return th.fail(ACLInvalidParam, callFreeHost.name, "pointer is null", "")
	}
	if !th.rt.hostMem.give(h) {
		return th.fail(DriverError, callFreeHost.name, fmt.Sprintf("0x%x is not the start of a host block in use", uint64(h.Addr)), "")
	}
	return nil
}

// take allocates and locks n bytes.
func (p *hostPool) take(n int64) (HostMem, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	addr, ok := p.pool.Alloc(mempool.Request{Bytes: uint64(n)})
	if !ok {
		return HostMem{}, false
	}
	b, _ := p.pool.At(addr)
	p.stats.Bytes += int64(b.Room)
	if err := p.m.LockHost(addr, int64(b.Room)); err != nil {
		p.fellBack(err)
	} else {
		p.locked[addr] = int64(b.Room)
		p.stats.Locked += int64(b.Room)
	}
	return HostMem{Addr: Ptr(addr), Bytes: p.m.HostBytes(addr, int(n))}, true
}

// fellBack notes that memory could not be locked.
func (p *hostPool) fellBack(err error) {
	p.stats.Fallbacks++
	p.stats.Reason = err.Error()
}

func (p *hostPool) give(h HostMem) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, ok := p.pool.Free(uint64(h.Addr))
	if !ok {
		return false
	}
	p.stats.Bytes -= int64(b.Room)
	if n, ok := p.locked[b.Addr]; ok {
		p.m.UnlockHost(b.Addr, n)
		p.stats.Locked -= n
		delete(p.locked, b.Addr)
	}
	return true
}

// containing is the pinned block that an address lies in.
func (p *hostPool) containing(a Ptr) (mempool.Block, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pool.Containing(uint64(a))
}

// PinnedStats are the counters of page-locked host memory.
func (rt *Runtime) PinnedStats() PinnedStats {
	rt.hostMem.mu.Lock()
	defer rt.hostMem.mu.Unlock()
	return rt.hostMem.stats
}

// RegisterFlags say what host memory is registered for, numbered as those of aclrtHostRegisterV2.
type RegisterFlags uint32

// Flags of registration.
const (
	RegisterMapped   RegisterFlags = 2 // devices reach it
	RegisterIOMemory RegisterFlags = 4
	RegisterReadOnly RegisterFlags = 8
	RegisterPinned   RegisterFlags = 0x10000000 // its pages are locked
	registerFlags                  = RegisterMapped | RegisterIOMemory | RegisterReadOnly | RegisterPinned
)

// RegisterHost gives memory of the program an address on the bus, so that copies and kernels reach it without a copy
// (aclrtHostRegisterV2). Address and length are multiples of 4096: 107000 otherwise, 507910 for memory that is
// registered already.
func (th *Thread) RegisterHost(mem []byte, flags RegisterFlags) (p Ptr, err error) {
	t := th.begin(callRegister)
	defer func() { th.end(callRegister, t, err) }()
	if len(mem) == 0 {
		return 0, th.fail(ACLInvalidParam, callRegister.name, "no memory", "")
	}
	if flags == 0 || flags&^registerFlags != 0 {
		return 0, th.fail(InvalidParam, callRegister.name, fmt.Sprintf("flags 0x%x", uint32(flags)), "give MAPPED 2, IOMEMORY 4, READONLY 8 or PINNED 0x10000000")
	}
	if addressOf(mem)%hostPage != 0 || len(mem)%hostPage != 0 {
		return 0, th.fail(InvalidParam, callRegister.name, fmt.Sprintf("%d bytes at 0x%x", len(mem), addressOf(mem)), "align the address and the size to 4096")
	}
	h := th.rt.hostMem
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.registered {
		if addressOf(mem) < addressOf(r.mem)+uint64(len(r.mem)) && addressOf(r.mem) < addressOf(mem)+uint64(len(mem)) {
			return 0, th.fail(HostRegistered, callRegister.name, fmt.Sprintf("%d bytes at 0x%x are registered already", len(r.mem), addressOf(r.mem)), "unregister them first")
		}
	}
	if base, size := h.m.HostWindow(); addressOf(mem)-addressOf(h.m.HostBytes(base, int(size))) < uint64(size) && flags&RegisterPinned != 0 {
		return 0, th.fail(InvalidParam, callRegister.name, "the memory is pinned by the runtime", "it has an address already")
	}
	r := registered{addr: h.next, mem: mem}
	if flags&RegisterPinned != 0 {
		if err := sim.LockBytes(mem); err != nil {
			h.fellBack(err)
		} else {
			r.locked = true
			h.stats.Locked += int64(len(mem))
		}
	}
	h.stats.Bytes += int64(len(mem))
	h.next += (uint64(len(mem))+sim.Page-1)&^(sim.Page-1) + sim.Page
	h.registered = append(h.registered, r)
	h.m.AddHost(r.addr, mem)
	return Ptr(r.addr), nil
}

// UnregisterHost takes the address away; no task may use it any more (aclrtHostUnregister).
func (th *Thread) UnregisterHost(mem []byte) (err error) {
	t := th.begin(callUnregister)
	defer func() { th.end(callUnregister, t, err) }()
	h := th.rt.hostMem
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.registered, func(r registered) bool { return len(mem) > 0 && addressOf(r.mem) == addressOf(mem) })
	if i < 0 {
		return th.fail(HostUnregistered, callUnregister.name, "the memory is not registered", "give the slice that was registered")
	}
	r := h.registered[i]
	h.registered = slices.Delete(h.registered, i, i+1)
	h.m.DropHost(r.addr)
	h.stats.Bytes -= int64(len(r.mem))
	if r.locked {
		sim.UnlockBytes(r.mem)
		h.stats.Locked -= int64(len(r.mem))
	}
	return nil
}

// HostDevicePointer is the bus address of registered or pinned host memory (aclrtHostGetDevicePointer).
func (th *Thread) HostDevicePointer(mem []byte) (Ptr, error) {
	if len(mem) > 0 {
		if p, ok := th.rt.hostMem.pointer(mem); ok {
			return p, nil
		}
	}
	return 0, th.fail(HostUnregistered, "aclrtHostGetDevicePointer", "the memory is not registered", "register it with RegisterMapped")
}

// pointer is the bus address of host memory, if it has one.
func (h *hostPool) pointer(mem []byte) (Ptr, bool) {
	a := addressOf(mem)
	base, size := h.m.HostWindow()
	if off := a - addressOf(h.m.HostBytes(base, int(size))); off < uint64(size) {
		return Ptr(base + off), true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.registered {
		if off := a - addressOf(r.mem); off < uint64(len(r.mem)) && uint64(len(mem)) <= uint64(len(r.mem))-off {
			return Ptr(r.addr + off), true
		}
	}
	return 0, false
}
