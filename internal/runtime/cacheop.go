package runtime

import (
	"fmt"

	"npu/internal/sim"
	"npu/internal/trace"
)

var (
	callMallocCached = call{"aclrtMallocCached", 2000}
	callMemFlush     = call{"aclrtMemFlush", 1000}
	callInvalidate   = call{"aclrtMemInvalidate", 1000}
	callCmo          = call{"aclrtCmoAsync", 3000}
	callCmoBarrier   = call{"aclrtCmoWaitBarrier", 1500}
)

// CacheOp is what is done with a range in the device's cache, numbered as aclrtCmoType.
type CacheOp int

// Cache operations.
const (
	CachePrefetch CacheOp = iota
	CacheWriteBack
	CacheInvalidate
	CacheFlush
)

func (o CacheOp) known() bool { return o >= CachePrefetch && o <= CacheFlush }

// MallocCached is Malloc of memory that the host may keep in its cache (aclrtMallocCached). What the host writes then
// needs MemFlush before the device reads it, and what the device writes MemInvalidate before the host does. Host and
// device see one memory here, so that programs that forget it still work.
func (th *Thread) MallocCached(n int64) (Ptr, error) {
	return th.malloc(n, MallocConfig{}, callMallocCached)
}

// MemFlush writes the host's cache of n bytes at p back (aclrtMemFlush).
func (th *Thread) MemFlush(p Ptr, n int64) error { return th.hostCache(p, n, callMemFlush) }

// MemInvalidate forgets the host's cache of n bytes at p (aclrtMemInvalidate).
func (th *Thread) MemInvalidate(p Ptr, n int64) error { return th.hostCache(p, n, callInvalidate) }

func (th *Thread) hostCache(p Ptr, n int64, c call) (err error) {
	t := th.begin(c)
	defer func() { th.end(c, t, err) }()
	switch {
	case p == 0:
		return th.fail(ACLInvalidParam, c.name, "pointer is null", "")
	case n <= 0:
		return th.fail(ACLInvalidParam, c.name, fmt.Sprintf("size %d", n), "")
	}
	if _, err = th.context(c); err != nil {
		return err
	}
	return th.deviceRange(p, n, c)
}

// deviceRange checks that n bytes at p lie in one block of device memory.
func (th *Thread) deviceRange(p Ptr, n int64, c call) error {
	b, ok := th.containing(p)
	if !ok || b.Leaving || uint64(n) > b.Addr+b.Room-uint64(p) {
		return th.fail(InvalidParam, c.name, fmt.Sprintf("%d bytes at 0x%x lie in no block of device memory", n, uint64(p)), "")
	}
	return nil
}

// Cache prefetches n bytes of device memory into the device's cache in stream order, writes them back, or drops them
// (aclrtCmoAsync). It takes a DMA engine for as long as a copy of the bytes inside the device; since the cost model knows
// no contents of the cache, a prefetch makes no later task shorter.
func (th *Thread) Cache(p Ptr, n int64, op CacheOp, s *Stream) error {
	s, err := th.use(s, callCmo)
	if err != nil {
		return err
	}
	switch {
	case p == 0:
		return th.fail(ACLInvalidParam, callCmo.name, "pointer is null", "")
	case n <= 0:
		return th.fail(ACLInvalidParam, callCmo.name, fmt.Sprintf("size %d", n), "")
	case !op.known():
		return th.fail(ACLInvalidParam, callCmo.name, fmt.Sprintf("operation %d", op), "give 0 to 3")
	}
	if d, ok := th.rt.where(p, n); !ok || d == nil {
		return th.fail(InvalidParam, callCmo.name, fmt.Sprintf("%d bytes at 0x%x are not device memory", n, uint64(p)), "")
	}
	if err := th.reach(s.dev, p, p, callCmo); err != nil {
		return err
	}
	return th.submit(s, &sim.Task{Kind: trace.CacheOp, Engine: trace.EngineDMA, A: uint64(p), B: uint64(op), C: uint64(n)}, nil, callCmo)
}

// maxCacheBarriers is how many operations one wait can name.
const maxCacheBarriers = 6

// CacheBarrier names a cache operation that a stream can wait for.
type CacheBarrier struct {
	Op CacheOp
	ID uint32 // from 1
}

// CacheWithBarrier is Cache of an operation that WaitCacheBarriers can name by its id (aclrtCmoAsyncWithBarrier). The
// latest operation of an id counts. A prefetch takes no barrier.
func (th *Thread) CacheWithBarrier(p Ptr, n int64, b CacheBarrier, s *Stream) error {
	if err := th.checkBarrier(b); err != nil {
		return err
	}
	s, err := th.use(s, callCmo)
	if err != nil {
		return err
	}
	if err := th.Cache(p, n, b.Op, s); err != nil {
		return err
	}
	e := s.ctx.barrier(b)
	if e == nil {
		made, err := th.CreateEventExWithFlag(EventSync)
		if err != nil {
			return err
		}
		e = s.ctx.setBarrier(b, made)
		if e != made {
			if err := th.DestroyEvent(made); err != nil {
				return err
			}
		}
	}
	return th.RecordEvent(e, s)
}

// WaitCacheBarriers makes stream s wait for cache operations of its context, six at most (aclrtCmoWaitBarrier).
func (th *Thread) WaitCacheBarriers(list []CacheBarrier, s *Stream) error {
	s, err := th.use(s, callCmoBarrier)
	if err != nil {
		return err
	}
	if len(list) == 0 || len(list) > maxCacheBarriers {
		return th.fail(ACLInvalidParam, callCmoBarrier.name, fmt.Sprintf("%d barriers", len(list)), "give one to six")
	}
	for _, b := range list {
		if err := th.checkBarrier(b); err != nil {
			return err
		}
		if s.ctx.barrier(b) == nil {
			return th.fail(InvalidParam, callCmoBarrier.name, fmt.Sprintf("no operation %d has the barrier %d", b.Op, b.ID), "give the id of an operation of this context")
		}
	}
	for _, b := range list {
		if err := th.WaitEvent(s, s.ctx.barrier(b)); err != nil {
			return err
		}
	}
	return nil
}

func (th *Thread) checkBarrier(b CacheBarrier) error {
	if !b.Op.known() || b.Op == CachePrefetch || b.ID == 0 {
		return th.fail(ACLInvalidParam, callCmoBarrier.name, fmt.Sprintf("operation %d with the barrier %d", b.Op, b.ID), "give a write-back, invalidation or flush, and an id from 1 on")
	}
	return nil
}

// barrierEvent is the event that is recorded behind the latest operation of a barrier.
type barrierEvent struct {
	barrier CacheBarrier
	event   *Event
}

// barrier is the event behind a cache barrier of the context, or nil.
func (c *Context) barrier(b CacheBarrier) *Event {
	c.barrierMu.Lock()
	defer c.barrierMu.Unlock()
	for _, x := range c.barriers {
		if x.barrier == b {
			return x.event
		}
	}
	return nil
}

// setBarrier keeps e for a barrier, if no other thread was faster, and returns the one that counts.
func (c *Context) setBarrier(b CacheBarrier, e *Event) *Event {
	c.barrierMu.Lock()
	defer c.barrierMu.Unlock()
	for _, x := range c.barriers {
		if x.barrier == b {
			return x.event
		}
	}
	c.barriers = append(c.barriers, barrierEvent{b, e})
	return e
}

// dropBarriers destroys the events behind the context's barriers.
func (th *Thread) dropBarriers(c *Context) error {
	c.barrierMu.Lock()
	list := c.barriers
	c.barriers = nil
	c.barrierMu.Unlock()
	var first error
	for _, x := range list {
		if err := th.DestroyEvent(x.event); err != nil && first == nil {
			first = err
		}
	}
	return first
}
