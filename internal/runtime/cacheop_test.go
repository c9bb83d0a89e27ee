package runtime

import (
	"testing"

	"npu/internal/trace"
)

// Cache operations are tasks of their stream, and take as long as a copy of the bytes inside the device.
func TestCache_operations(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	p := must[Ptr](t)(r.Malloc(1 << 20))
	q := must[Ptr](t)(r.Malloc(1 << 20))
	r.ok(r.MemcpyAsync(q, p, 1<<20, s))
	for op := CachePrefetch; op <= CacheFlush; op++ {
		r.ok(r.Cache(p, 1<<20, op, s))
	}
	r.ok(r.SynchronizeStream(s))
	var none Ptr
	r.code("null", r.Cache(none, 64, CachePrefetch, s), ACLInvalidParam)
	r.code("no bytes", r.Cache(p, 0, CachePrefetch, s), ACLInvalidParam)
	r.code("operation 4", r.Cache(p, 64, 4, s), ACLInvalidParam)
	r.code("operation -1", r.Cache(p, 64, -1, s), ACLInvalidParam)
	h := must[HostMem](t)(r.MallocHost(4096))
	r.code("host memory", r.Cache(h.Addr, 64, CachePrefetch, s), InvalidParam)
	r.code("no memory", r.Cache(1<<40, 64, CachePrefetch, s), InvalidParam)
	r.ok(r.Free(p), r.Free(q), r.FreeHost(h), r.DestroyStream(s))
	r.clean()
	var copied int64
	ops, end := 0, int64(0)
	for _, k := range r.trace().Tasks.All() {
		switch k.Kind {
		case trace.Memcpy:
			copied = k.End - k.Start
		case trace.CacheOp:
			ops++
			if k.End-k.Start != copied || k.Bytes != 1<<20 || k.Engine != trace.EngineDMA || k.Start < end {
				t.Errorf("%v of %d bytes from %d to %d on %v; a copy takes %d", k.Kind, k.Bytes, k.Start, k.End, k.Engine, copied)
			}
			end = k.End
		}
	}
	if ops != 4 || copied == 0 {
		t.Errorf("%d operations in the trace, a copy of %d ns", ops, copied)
	}
}

// An operation on memory that is gone is a fault of its task.
func TestCache_unmapped(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	p := must[Ptr](t)(r.Malloc(4 << 20))
	r.ok(r.Free(p))
	r.ok(r.Cache(p+Ptr(page), 64, CachePrefetch, s)) // a page that was the block's alone
	if r.SynchronizeStream(s) == nil {
		t.Error("a prefetch of an unmapped page went well")
	}
	r.ok(r.DestroyStream(s))
}

// A stream waits for a cache operation of another one by its barrier.
func TestCache_barriers(t *testing.T) {
	r := newRig(t, Config{})
	a, b := r.stream(), r.stream()
	p := must[Ptr](t)(r.Malloc(64 << 20))
	one, two := CacheBarrier{CacheInvalidate, 1}, CacheBarrier{CacheWriteBack, 1}
	r.code("nobody has it", r.WaitCacheBarriers([]CacheBarrier{one}, b), InvalidParam)
	r.ok(r.LaunchKernel(r.long, nil, a), r.CacheWithBarrier(p, 64<<20, one, a), r.CacheWithBarrier(p, 64, two, a), r.CacheWithBarrier(p, 64, one, a))
	r.ok(r.WaitCacheBarriers([]CacheBarrier{one, two}, b), r.inc(b), r.SynchronizeDevice())
	for name, list := range map[string][]CacheBarrier{
		"none": nil, "seven": make([]CacheBarrier, 7), "of a prefetch": {{CachePrefetch, 1}}, "without an id": {{CacheFlush, 0}},
	} {
		r.code(name, r.WaitCacheBarriers(list, b), ACLInvalidParam)
	}
	r.code("a prefetch with a barrier", r.CacheWithBarrier(p, 64, CacheBarrier{CachePrefetch, 1}, a), ACLInvalidParam)
	ctx := must[*Context](t)(r.CurrentContext())
	r.ok(r.dropBarriers(ctx)) // as the end of the context does
	id := b.ID()
	r.ok(r.Free(p), r.DestroyStream(a), r.DestroyStream(b))
	r.clean()
	last, start := int64(0), int64(0)
	for _, k := range r.trace().Tasks.All() {
		if k.Kind == trace.CacheOp {
			last = max(last, k.End)
		}
		if k.Kind.Kernel() && k.Stream == id {
			start = k.Start
		}
	}
	if last == 0 || start < last {
		t.Errorf("the kernel starts at %d, the operations end at %d", start, last)
	}
}

// Memory that the host caches, and the calls that keep it in order.
func TestMallocCached(t *testing.T) {
	r := newRig(t, Config{})
	p := must[Ptr](t)(r.MallocCached(100))
	if _, n, err := r.AddressRange(p); err != nil || n != 160 {
		t.Errorf("100 bytes became %d: %v", n, err)
	}
	r.ok(r.MemFlush(p, 100), r.MemInvalidate(p+32, 64))
	for name, f := range map[string]func(Ptr, int64) error{"flush": r.MemFlush, "invalidate": r.MemInvalidate} {
		r.code(name+" of null", f(0, 10), ACLInvalidParam)
		r.code(name+" of nothing", f(p, 0), ACLInvalidParam)
		r.code(name+" beyond the end", f(p, 1000), InvalidParam)
		r.code(name+" elsewhere", f(64, 64), InvalidParam)
	}
	_, err := r.MallocCached(0)
	r.code("no bytes", err, ACLInvalidParam)
	r.ok(r.Free(p))
	r.clean()
}
