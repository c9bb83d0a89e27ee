package runtime

import (
	"fmt"

	"npu/internal/runtime/mempool"
)

// Ptr is an address on a device's bus: device memory, or host memory that devices reach.
type Ptr uint64

// MallocConfig says what a block of device memory is made for (aclrtMallocWithCfg, aclrtMallocAlign32).
type MallocConfig struct {
	Policy  mempool.Policy
	Align32 bool // no padding behind the end
}

// Malloc allocates device memory of the current context's device (aclrtMalloc). The size is rounded up to 32 bytes
// and padded by the chip's tail padding; addresses are multiples of 64, those of blocks beyond 16 KiB of 2048. The
// content is not initialised.
func (th *Thread) Malloc(n int64) (Ptr, error) {
	if c := th.cache; c != nil && small(n) && !c.ctx.destroyed.Load() {
		if a := c.Alloc(c.padded(n)); a != 0 {
			th.port.Spend(callMalloc.ns)
			return Ptr(a), nil
		}
	}
	return th.malloc(n, MallocConfig{}, callMalloc)
}

// MallocWith is Malloc with a policy, and into a variable as the C call has it.
func (th *Thread) MallocWith(p *Ptr, n int64, c MallocConfig) (err error) {
	if p == nil {
		return th.fail(ACLInvalidParam, callMalloc.name, "the pointer for the address is null", "give a place for the result")
	}
	*p, err = th.malloc(n, c, callMalloc)
	return err
}

// memoryCall is the request of a Malloc or Free, with the functions that carry it out. A thread keeps one, so that
// these calls allocate no Go memory.
type memoryCall struct {
	th      *Thread
	ctx     *Context
	request mempool.Request
	cached  bool // the thread's cache may serve it
	addr    uint64
	ok      bool
	alloc   func()
	free    func()
}

func (th *Thread) memoryCalls() *memoryCall {
	m := th.mem
	if m == nil {
		m = &memoryCall{th: th}
		m.alloc, m.free = m.doAlloc, m.doFree
		th.mem = m
	}
	return m
}

func (th *Thread) malloc(n int64, cfg MallocConfig, c call) (p Ptr, err error) {
	t := th.begin(c)
	defer func() { th.end(c, t, err) }()
	if err = th.forbidden(c); err != nil {
		return 0, err
	}
	if n <= 0 {
		return 0, th.fail(ACLInvalidParam, c.name, fmt.Sprintf("size %d", n), "ask for at least one byte")
	}
	ctx, err := th.context(c)
	if err != nil {
		return 0, err
	}
	m := th.memoryCalls()
	m.ctx = ctx
	if m.request, err = th.padded(uint64(n), cfg, ctx, c); err != nil {
		return 0, err
	}
	m.cached = cfg == (MallocConfig{}) && small(n) && th.open == ctx
	if err = th.port.Call(m.alloc); err != nil {
		return 0, th.blocked(c.name, nil, err)
	}
	th.strange()
	if !m.ok {
		return 0, th.outOfMemory(ctx.dev, m.request.Bytes, c)
	}
	return Ptr(m.addr), nil
}

// padded is what the chip's rules make of a request.
func (th *Thread) padded(n uint64, cfg MallocConfig, ctx *Context, c call) (mempool.Request, error) {
	chip := ctx.dev.hw.Chip()
	padding := chip.PaddingSize
	if cfg.Align32 || cfg.Policy.Page() == 1<<30 {
		padding = 0
	}
	switch {
	case !cfg.Policy.Known():
		return mempool.Request{}, th.fail(ACLInvalidParam, c.name, fmt.Sprintf("policy %d", cfg.Policy), "give one of the eight policies, and at most one bandwidth beside it")
	case cfg.Policy.Page() == 1<<30 && !managesPages(chip.Short):
		return mempool.Request{}, th.fail(NotSupported, c.name, chip.Name+" has no pages of 1 GiB", "use a 2 MiB policy")
	case n > 1<<62:
		return mempool.Request{}, th.fail(OutOfMemory, c.name, fmt.Sprintf("asked for %d bytes", n), "")
	}
	return mempool.Request{Bytes: mempool.Padded(n, padding), Whole: cfg.Policy.Page(), Table: ctx.pages.id}, nil
}

// managesPages says whether the chip has 1 GiB pages and managed memory: the A2 and A3 generations.
func managesPages(short string) bool { return short == "Ascend910B" || short == "Ascend910_93" }

func (m *memoryCall) doAlloc() {
	mem := m.ctx.dev.memory
	if len(mem.frees.batches) > 0 {
		mem.reclaimSome()
	}
	if m.cached {
		m.th.newCache()
		if c := m.th.cache; c != nil {
			if m.addr = c.take(m.request.Bytes); m.addr != 0 {
				m.ok = true
				return
			}
		}
	}
	if m.addr, m.ok = mem.take(m.request, m.ctx); !m.ok {
		// Once more, after a look at everything, and when caches and pools have given back what is idle.
		m.th.flushCaches()
		mem.reclaim()
		mem.pool.FreeStrays(mem.settle)
		mem.trimPools()
		m.addr, m.ok = mem.take(m.request, m.ctx)
	}
}

func (m *memoryCall) doFree() {
	var twice bool
	if m.ok, twice = m.th.freeCached(m.addr); m.ok || twice {
		return
	}
	for _, d := range m.th.rt.devices {
		if m.ok = d.memory.free(m.addr, d); m.ok {
			return
		}
	}
}

// outOfMemory is the error of a request that found no room.
func (th *Thread) outOfMemory(d *Device, size uint64, c call) error {
	var st mempool.Stats
	if err := th.port.Call(func() { st = d.memory.pool.Stats() }); err != nil {
		return th.blocked(c.name, nil, err)
	}
	return th.fail(OutOfMemory, c.name,
		fmt.Sprintf("asked for %d bytes on device %d: %d of %d free (%d more wait for tasks under way), %d reserved, largest free block %d",
			size, d.id, st.Total-st.InUse, st.Total, st.Leaving, st.Reserved, st.LargestFree),
		"free memory, or choose a chip with more (npu soc list)")
}

// Free gives device memory back (aclrtFree). The block is reused only after every task that was submitted to this
// device before has passed, or, where uses were recorded, those of the recorded streams. See SetStrictFree for what the
// real runtime does.
func (th *Thread) Free(p Ptr) error {
	if c := th.cache; c != nil && !c.ctx.destroyed.Load() && c.Free(uint64(p)) {
		th.port.Spend(callFree.ns)
		return nil
	}
	return th.free(p)
}

// free is Free in every case.
func (th *Thread) free(p Ptr) (err error) {
	t := th.begin(callFree)
	defer func() { th.end(callFree, t, err) }()
	if p == 0 {
		return th.fail(ACLInvalidParam, callFree.name, "pointer is null", "")
	}
	if err = th.forbidden(callFree); err != nil {
		return err
	}
	if isManaged(p) {
		return th.FreeManaged(HostMem{Addr: p})
	}
	m := th.memoryCalls()
	m.addr = uint64(p)
	if err = th.port.Call(m.free); err != nil {
		return th.blocked(callFree.name, nil, err)
	}
	th.strange()
	if !m.ok {
		return th.unknownBlock(p, callFree)
	}
	return nil
}

// unknownBlock is the error of a pointer that is not the start of a block in use.
func (th *Thread) unknownBlock(p Ptr, c call) error {
	detail := fmt.Sprintf("0x%x is not the start of a block in use", uint64(p))
	if b, ok := th.containing(p); ok {
		switch {
		case Ptr(b.Addr) != p:
			detail = fmt.Sprintf("0x%x lies inside the block 0x%x of %d bytes", uint64(p), b.Addr, b.Bytes)
		case b.Leaving:
			detail = fmt.Sprintf("the block 0x%x of %d bytes is freed already and waits for tasks under way", b.Addr, b.Bytes)
		}
	}
	return th.fail(DriverError, c.name, detail, "free each block once, by the address that it was allocated at")
}

// containing is the block of device memory that p lies in.
func (th *Thread) containing(p Ptr) (b mempool.Block, ok bool) {
	_ = th.port.Call(func() { // an interrupt is reported where the caller waits
		th.flushCaches()
		for _, d := range th.rt.devices {
			if b, ok = d.memory.pool.Containing(uint64(p)); ok {
				return
			}
		}
	})
	return b, ok
}

// FreeWithDevSync waits for the current device and frees then (aclrtFreeWithDevSync).
func (th *Thread) FreeWithDevSync(p Ptr) error {
	if p == 0 {
		return th.fail(ACLInvalidParam, "aclrtFreeWithDevSync", "pointer is null", "")
	}
	if err := th.SynchronizeDevice(); err != nil {
		return err
	}
	return th.Free(p)
}

// FreeAfter gives device memory back as soon as the event's latest record is reached, whatever else is under way: the
// program knows that nothing behind the record uses the block.
func (th *Thread) FreeAfter(p Ptr, e *Event) (err error) {
	t := th.begin(callFree)
	defer func() { th.end(callFree, t, err) }()
	if p == 0 {
		return th.fail(ACLInvalidParam, callFree.name, "pointer is null", "")
	}
	if err = th.event(e, callFree); err != nil {
		return err
	}
	hw, gen := e.hw.Load(), e.gen.Load()
	if hw == nil {
		return th.Free(p) // complete, or never recorded: then the streams decide
	}
	ok := false
	err = th.port.Call(func() {
		if th.freed(p) {
			return
		}
		th.forget(p)
		for _, d := range th.rt.devices {
			if ok = d.memory.freeAt(uint64(p), hw, gen); ok {
				return
			}
		}
	})
	if err == nil && !ok {
		return th.unknownBlock(p, callFree)
	}
	return th.blocked(callFree.name, nil, err)
}

// RecordUse says that stream s uses the block p, nil being the default stream. A free of the block then waits for what
// is under way on the streams that were named, and for no others (record_stream of the frameworks).
func (th *Thread) RecordUse(p Ptr, s *Stream) error {
	ctx, err := th.context(callFree)
	if err != nil {
		return err
	}
	if s == nil {
		s = ctx.stream
	}
	ok := false
	err = th.port.Call(func() {
		for _, d := range th.rt.devices {
			if b, known := d.memory.pool.At(uint64(p)); known && !b.Leaving && !th.freed(p) {
				ok = true
				d.memory.recordUse(uint64(p), s)
				return
			}
		}
	})
	if err == nil && !ok {
		return th.unknownBlock(p, call{name: "record use"})
	}
	return th.blocked("record use", nil, err)
}
