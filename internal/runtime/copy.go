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
	return th.submit(s, copyTask(dst, src, n, dir), nil, callMemcpyAsync)
}

func copyTask(dst, src Ptr, n int64, dir trace.Dir) sim.Task {
	return sim.Task{Kind: trace.Memcpy, Engine: trace.EngineDMA, Dir: dir, A: uint64(dst), B: uint64(src), C: uint64(n)}
}

// MemcpyFromHost copies pageable host memory to the device. With a stream it is the asynchronous call on pageable
// memory: the stream is synchronised, then the copy is made, and the memory can be changed at once
// (aclrtMemcpy, aclrtMemcpyAsync with pageable memory).
func (th *Thread) MemcpyFromHost(dst Ptr, src []byte) error {
	return th.copySync(callMemcpy, int64(len(src)), func(stage HostMem) sim.Task {
		copy(stage.Bytes, src)
		return copyTask(dst, stage.Addr, int64(len(src)), trace.HostToDevice)
	}, nil)
}

// MemcpyToHost copies device memory to pageable host memory (aclrtMemcpy). It waits for no stream.
func (th *Thread) MemcpyToHost(dst []byte, src Ptr) error {
	return th.copySync(callMemcpy, int64(len(dst)), func(stage HostMem) sim.Task {
		return copyTask(stage.Addr, src, int64(len(dst)), trace.DeviceToHost)
	}, func(stage HostMem) { copy(dst, stage.Bytes) })
}

// Memcpy copies between device memory and pinned host memory and returns when it is done. It orders with no stream
// (aclrtMemcpy).
func (th *Thread) Memcpy(dst, src Ptr, n int64) error {
	if n == 0 || dst == src {
		return nil
	}
	dir, ok := th.rt.direction(dst, src, n)
	if !ok || n < 0 {
		return th.fail(InvalidParam, callMemcpy.name, fmt.Sprintf("%d bytes from 0x%x to 0x%x leave the memory of the devices", n, uint64(src), uint64(dst)), "")
	}
	return th.copySync(callMemcpy, 0, func(HostMem) sim.Task { return copyTask(dst, src, n, dir) }, nil)
}

// Memset fills device memory and returns when it is done (aclrtMemset).
func (th *Thread) Memset(dst Ptr, value byte, n int64) error {
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
	return th.submit(s, sim.Task{Kind: trace.Memset, Engine: trace.EngineDMA, A: uint64(dst), B: uint64(value), C: uint64(n)}, nil, callMemsetAsync)
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
	ctx, err := th.context(c)
	if err != nil {
		return err
	}
	var h HostMem
	if stage > 0 {
		if h, err = th.MallocHost(stage); err != nil {
			return err
		}
		defer func() { _ = th.FreeHost(h) }() // ours: it is known to be in use
	}
	if th.copyQ == nil || th.copyQ.dev != ctx.dev || th.copyQ.destroyed {
		s := &Stream{dev: ctx.dev, ctx: ctx}
		var code Code
		if err := th.port.Call(func() { code = s.make(StreamConfig{Name: "synchronous copies", quiet: true}) }); err != nil {
			return th.blocked(c.name, nil, err)
		}
		if code != 0 {
			return th.fail(code, c.name, "no stream left for synchronous copies", "")
		}
		th.copyQ = s
	}
	th.task = task(h)
	if _, err := th.port.Submit(th.copyQ.q, &th.task, nil, syncEntry); err != nil {
		return th.blocked(c.name, nil, err)
	}
	o, err := th.port.WaitQueue(th.copyQ.q, sim.Everything, 0, c.ns)
	if err = th.blocked(c.name, o.Fault, err); err == nil && done != nil {
		done(h)
	}
	return err
}
