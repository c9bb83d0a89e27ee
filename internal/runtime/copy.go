package runtime

import (
	"fmt"

	"npu/internal/sim"
	"npu/internal/trace"
)

// where finds the memory that an address points to: the device it lies on, or nil for pinned host memory.
func (rt *Runtime) where(p Ptr, n int64) (d *Device, ok bool) {
	if rt.machine.HostBytes(uint64(p), int(n)) != nil {
		return nil, true
	}
	for _, d := range rt.devices {
		if d.hw.Bytes(uint64(p), int(n)) != nil {
			return d, true
		}
	}
	if hw := rt.machine.Reserved(uint64(p)); hw != nil {
		for _, d := range rt.devices {
			if d.hw == hw {
				return d, true
			}
		}
	}
	return nil, false
}

// direction is that of the pointers; the caller's wish does not matter, as on the real runtime.
func (rt *Runtime) direction(dst, src Ptr, n int64) (trace.Dir, bool) {
	d, ok1 := rt.where(dst, n)
	s, ok2 := rt.where(src, n)
	switch {
	case !ok1 || !ok2:
		return 0, false
	case d != nil && s != nil:
		return trace.DeviceToDevice, true
	case d != nil:
		return trace.HostToDevice, true
	case s != nil:
		return trace.DeviceToHost, true
	}
	return trace.HostToHost, true
}

// MemcpyAsync copies n bytes in stream order between device memory and pinned host memory, in any direction
// (aclrtMemcpyAsync).
func (th *Thread) MemcpyAsync(dst, src Ptr, n int64, s *Stream) error {
	s, err := th.use(s, callMemcpyAsync)
	if err != nil || n == 0 || dst == src {
		return err
	}
	if n < 0 {
		return th.fail(InvalidParam, callMemcpyAsync.name, fmt.Sprintf("size %d", n), "")
	}
	dir, ok := th.rt.direction(dst, src, n)
	if !ok {
		return th.fail(InvalidParam, callMemcpyAsync.name, fmt.Sprintf("%d bytes from 0x%x to 0x%x leave the memory of the devices", n, uint64(src), uint64(dst)), "")
	}
	if dir == trace.HostToHost && !isManaged(dst) && !isManaged(src) {
		return th.fail(NotSupported, callMemcpyAsync.name, "an asynchronous copy from host to host", "copy synchronously")
	}
	if err := th.reach(s.dev, dst, src, callMemcpyAsync); err != nil {
		return err
	}
	for limit := taskLimit(dir); n > limit; n -= limit {
		t := copyTask(dst, src, limit, dir)
		if err := th.submit(s, &t, nil, callMemcpyAsync); err != nil {
			return err
		}
		dst, src = dst+Ptr(limit), src+Ptr(limit)
	}
	t := copyTask(dst, src, n, dir)
	return th.submit(s, &t, nil, callMemcpyAsync)
}

func copyTask(dst, src Ptr, n int64, dir trace.Dir) sim.Task {
	return sim.Task{Kind: trace.Memcpy, Engine: trace.EngineDMA, Dir: dir, A: uint64(dst), B: uint64(src), C: uint64(n)}
}

// MemcpyFromHost copies pageable host memory to the device, through pinned memory of the runtime's; src can be changed
// when it returns (aclrtMemcpy). It waits for no stream.
func (th *Thread) MemcpyFromHost(dst Ptr, src []byte) error {
	if err := th.unsafeCall(callMemcpy); err != nil {
		return err
	}
	for len(src) > 0 {
		n := min(len(src), busTask)
		err := th.copySync(callMemcpy, int64(n), func(stage HostMem) sim.Task {
			copy(stage.Bytes, src[:n])
			return copyTask(dst, stage.Addr, int64(n), trace.HostToDevice)
		}, nil)
		if err != nil {
			return err
		}
		dst, src = dst+Ptr(n), src[n:]
	}
	return nil
}

// MemcpyToHost copies device memory to pageable host memory, through pinned memory of the runtime's (aclrtMemcpy). It
// waits for no stream.
func (th *Thread) MemcpyToHost(dst []byte, src Ptr) error {
	if err := th.unsafeCall(callMemcpy); err != nil {
		return err
	}
	for len(dst) > 0 {
		n := min(len(dst), busTask)
		err := th.copySync(callMemcpy, int64(n), func(stage HostMem) sim.Task {
			return copyTask(stage.Addr, src, int64(n), trace.DeviceToHost)
		}, func(stage HostMem) { copy(dst[:n], stage.Bytes) })
		if err != nil {
			return err
		}
		dst, src = dst[n:], src+Ptr(n)
	}
	return nil
}

// Memcpy copies between device memory and pinned host memory and returns when it is done. It orders with no stream
// (aclrtMemcpy).
func (th *Thread) Memcpy(dst, src Ptr, n int64) error {
	if err := th.unsafeCall(callMemcpy); err != nil {
		return err
	}
	if n == 0 || dst == src {
		return nil
	}
	dir, ok := th.rt.direction(dst, src, n)
	if !ok || n < 0 {
		return th.fail(InvalidParam, callMemcpy.name, fmt.Sprintf("%d bytes from 0x%x to 0x%x leave the memory of the devices", n, uint64(src), uint64(dst)), "")
	}
	ctx, err := th.context(callMemcpy)
	if err != nil {
		return err
	}
	if err := th.reach(ctx.dev, dst, src, callMemcpy); err != nil {
		return err
	}
	for limit := taskLimit(dir); n > limit; n -= limit {
		if err := th.copySync(callMemcpy, 0, func(HostMem) sim.Task { return copyTask(dst, src, limit, dir) }, nil); err != nil {
			return err
		}
		dst, src = dst+Ptr(limit), src+Ptr(limit)
	}
	return th.copySync(callMemcpy, 0, func(HostMem) sim.Task { return copyTask(dst, src, n, dir) }, nil)
}

// reach checks that device d may reach both ends of a copy: its own memory, and that of peers it was given access to.
func (th *Thread) reach(d *Device, dst, src Ptr, c call) error {
	for _, p := range []Ptr{dst, src} {
		if o, _ := th.rt.where(p, 1); o != nil && o != d && !d.peers[o.id].Load() {
			return th.fail(DriverError, c.name, fmt.Sprintf("0x%x lies on device %d, which device %d has no access to", uint64(p), o.id, d.id), "call aclrtDeviceEnablePeerAccess")
		}
	}
	return nil
}

// Memset fills device memory and returns when it is done (aclrtMemset).
func (th *Thread) Memset(dst Ptr, value byte, n int64) error {
	if err := th.unsafeCall(callMemset); err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	return th.copySync(callMemset, 0, func(HostMem) sim.Task {
		return sim.Task{Kind: trace.Memset, Engine: trace.EngineDMA, A: uint64(dst), B: uint64(value), C: uint64(n)}
	}, nil)
}

// MemsetAsync fills device memory in stream order (aclrtMemsetAsync).
func (th *Thread) MemsetAsync(dst Ptr, value byte, n int64, s *Stream) error {
	s, err := th.use(s, callMemsetAsync)
	if err != nil || n == 0 {
		return err
	}
	return th.submit(s, &sim.Task{Kind: trace.Memset, Engine: trace.EngineDMA, A: uint64(dst), B: uint64(value), C: uint64(n)}, nil, callMemsetAsync)
}

// Upload fills device memory from the host: fill writes the bytes, and a copy of that size takes its time on the bus.
// It is how weights get to the device without a second copy of them in host memory (aclrtMemcpy).
func (th *Thread) Upload(dst Ptr, n int64, fill func([]byte)) error {
	d, ok := th.rt.where(dst, n)
	if !ok || d == nil || n <= 0 {
		return th.fail(InvalidParam, callMemcpy.name, fmt.Sprintf("%d bytes at 0x%x are no device memory", n, uint64(dst)), "")
	}
	if n >= 4*sim.Page {
		d.hw.HugePages(uint64(dst)&^(sim.Page-1), n&^(sim.Page-1))
	}
	fill(d.hw.Bytes(uint64(dst), int(n)))
	return th.copySync(callMemcpy, 0, func(HostMem) sim.Task { return copyTask(dst, dst, n, trace.HostToDevice) }, nil)
}

// copySync runs one DMA task on the thread's own hidden queue and waits for it. Pageable memory goes through stage
// bytes of pinned memory.
func (th *Thread) copySync(c call, stage int64, task func(HostMem) sim.Task, done func(HostMem)) (err error) {
	start := th.Clock()
	defer func() { th.end(c, start, err) }()
	if err = th.forbidden(c); err != nil {
		return err
	}
	ctx, err := th.context(c)
	if err != nil {
		return err
	}
	var h HostMem
	if stage > 0 {
		if h, err = th.staging(stage, c); err != nil {
			return err
		}
		if done == nil {
			th.hostCopy(stage) // into the staging memory, before the device can begin
		}
	}
	q, err := th.copyQueue(ctx, c)
	if err != nil {
		return err
	}
	th.task = task(h)
	if _, err := th.port.Submit(q, &th.task, nil, syncEntry); err != nil {
		return th.blocked(c.name, nil, err)
	}
	o, err := th.port.WaitQueue(q, sim.Everything, 0, c.ns)
	if err = th.blocked(c.name, o.Fault, err); err == nil && done != nil {
		done(h)
		th.hostCopy(stage)
	}
	return err
}

// staging is n bytes of the thread's pinned memory for copies of pageable memory.
func (th *Thread) staging(n int64, c call) (HostMem, error) {
	if int64(len(th.stage.Bytes)) < n {
		th.dropStage()
		h, ok := th.rt.hostMem.take(max(n, leastStage))
		if !ok {
			return h, th.fail(OutOfMemory, c.name, fmt.Sprintf("no %d bytes of pinned memory for the copy", n), "free host memory")
		}
		th.stage = h
	}
	return HostMem{Addr: th.stage.Addr, Bytes: th.stage.Bytes[:n]}, nil
}

// leastStage is the size of the smallest staging memory in bytes.
const leastStage = 64 << 10

// dropStage gives the staging memory up; no copy uses it.
func (th *Thread) dropStage() {
	if th.stage.Bytes != nil {
		th.rt.hostMem.give(th.stage)
		th.stage = HostMem{}
	}
}

// copyQueue is the thread's hidden queue for synchronous copies in the address space of ctx. It belongs to no failure
// domain: copies work in a context that has failed.
func (th *Thread) copyQueue(ctx *Context, c call) (*sim.Queue, error) {
	if s := th.copyQ; s != nil && s.dev == ctx.dev && s.ctx.pages == ctx.pages {
		return s.q, nil
	}
	th.dropCopyStream()
	s := &Stream{dev: ctx.dev, ctx: ctx, hidden: true}
	var code Code
	if err := th.port.Call(func() { code = s.make(th, StreamConfig{Name: "synchronous copies"}) }); err != nil {
		return nil, th.blocked(c.name, nil, err)
	}
	if code != 0 {
		return nil, th.fail(code, c.name, "no stream left for synchronous copies", "")
	}
	th.copyQ = s
	return s.q, nil
}

// dropCopyStream gives the hidden queue up; nothing is under way on it.
func (th *Thread) dropCopyStream() {
	if s := th.copyQ; s != nil {
		_ = th.port.Call(s.remove) // an interrupt has been reported where it was met
		th.copyQ = nil
	}
}
