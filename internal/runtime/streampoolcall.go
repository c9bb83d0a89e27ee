package runtime

import (
	"fmt"

	"npu/internal/sim"
)

// poolCall is the request of a PoolMalloc, a PoolFree, or of a record or wait that the pools hear of, with the functions
// that carry it out. A thread keeps one, so that these calls allocate no Go memory.
type poolCall struct {
	th                            *Thread
	pool                          *StreamPool
	stream                        *Stream
	event                         *Event
	size                          uint64
	at                            uint64 // position in the stream behind which the block is free
	addr                          Ptr
	wait                          *Stream // that the other one must wait for
	code                          Code    // of what is wrong
	bad                           string
	alloc, free, recorded, waited func()
}

func (th *Thread) poolCalls() *poolCall {
	if th.pooled == nil {
		c := &poolCall{th: th}
		order := &th.rt.hostMem.order
		c.alloc, c.free = c.doAlloc, c.doFree
		c.recorded = func() { order.recorded(c.event, c.stream, c.at) }
		c.waited = func() { order.waited(c.event, c.stream) }
		th.pooled = c
	}
	return th.pooled
}

// PoolMalloc takes n bytes, rounded up to 2 MiB, for tasks of stream s from here on (aclrtMemPoolMallocAsync).
func (th *Thread) PoolMalloc(p *StreamPool, n int64, s *Stream) (addr Ptr, err error) {
	s, err = th.use(s, callPoolMalloc)
	if err != nil {
		return 0, err
	}
	if n <= 0 {
		return 0, th.fail(ACLInvalidParam, callPoolMalloc.name, fmt.Sprintf("size %d", n), "ask for at least one byte")
	}
	if p == nil {
		return 0, th.fail(ACLInvalidParam, callPoolMalloc.name, "pool is null", "")
	}
	t := th.begin(callPoolMalloc)
	defer func() { th.end(callPoolMalloc, t, err) }()
	if err = th.forbidden(callPoolMalloc); err != nil {
		return 0, err
	}
	c := th.poolCalls()
	c.pool, c.stream, c.size = p, s, (uint64(n)+sim.Page-1)&^(sim.Page-1)
	if err = c.run(c.alloc, callPoolMalloc, ""); err != nil {
		return 0, err
	}
	addr = c.addr
	if o := c.wait; o != nil {
		if err = th.waitFor(o, s); err != nil {
			_ = th.PoolFree(addr, s) // the stream's own error comes first
			return 0, err
		}
	}
	return addr, nil
}

// run carries a request out.
func (c *poolCall) run(f func(), in call, hint string) error {
	c.code, c.bad, c.wait = 0, "", nil
	if err := c.th.port.Call(f); err != nil {
		return c.th.blocked(in.name, nil, err)
	}
	if c.code != 0 {
		return c.th.fail(c.code, in.name, c.bad, hint)
	}
	return nil
}

func (c *poolCall) doAlloc() {
	p, s := c.pool, c.stream
	switch {
	case p.destroyed:
		c.code, c.bad = InvalidHandle, "the pool is destroyed"
		return
	case s.dev != p.d:
		c.code, c.bad = InvalidParam, fmt.Sprintf("the pool is of device %d, the stream of device %d", p.d.id, s.dev.id)
		return
	}
	b := p.idle(c.size, s, c.th.rt)
	if b == nil && p.switches[ReuseInternalWaits] {
		if b = p.best(c.size, func(b *poolBlock) bool { return b.by == c.th && b.freed.open.Load() == c.th.ctx }); b != nil {
			c.wait = b.freed
		}
	}
	if b == nil {
		b = p.grow(c.size, s)
	}
	if b == nil {
		c.code = OutOfMemory
		c.bad = fmt.Sprintf("asked for %d bytes: the pool has %d of %d in use, the device's largest free block is %d", c.size, p.used, p.size, p.d.memory.pool.Stats().LargestFree)
		return
	}
	p.split(b, c.size)
	b.busy = true
	p.used += b.bytes
	p.usedH = max(p.usedH, p.used)
	c.addr = Ptr(b.addr)
}

// waitFor makes stream s wait for what is on stream o by now.
func (th *Thread) waitFor(o, s *Stream) error {
	e, err := th.CreateEventExWithFlag(EventSync)
	if err != nil {
		return err
	}
	if err = th.RecordEvent(e, o); err == nil {
		err = th.WaitEvent(s, e)
	}
	if e := th.DestroyEvent(e); err == nil {
		err = e
	}
	return err
}

// PoolFree gives a block back in the order of stream s (aclrtMemPoolFreeAsync). Memory that is of no pool is freed when
// what is on the stream by now has passed.
func (th *Thread) PoolFree(addr Ptr, s *Stream) (err error) {
	s, err = th.use(s, callPoolFree)
	if err != nil {
		return err
	}
	if addr == 0 {
		return th.fail(ACLInvalidParam, callPoolFree.name, "pointer is null", "")
	}
	t := th.begin(callPoolFree)
	defer func() { th.end(callPoolFree, t, err) }()
	c := th.poolCalls()
	c.stream, c.addr, c.at = s, addr, s.q.Submitted()
	return c.run(c.free, callPoolFree, "free each block once")
}

func (c *poolCall) doFree() {
	a := uint64(c.addr)
	for _, d := range c.th.rt.devices {
		for _, p := range d.memory.pools {
			b := p.block(a)
			switch {
			case b == nil:
				continue
			case b.busy:
				p.release(b, c.stream, c.at, c.th)
			default:
				c.code, c.bad = Internal, fmt.Sprintf("0x%x is freed already", a)
			}
			return
		}
		if _, known := d.memory.pool.At(a); known && !c.th.freed(c.addr) {
			c.th.forget(c.addr)
			if d.memory.freeBehind(a, c.stream.q, c.at) {
				return
			}
		}
	}
	c.code, c.bad = Internal, fmt.Sprintf("0x%x is no block of a pool", a)
}

// freeBehind frees a block when a queue has passed a position.
func (m *memory) freeBehind(addr uint64, q *sim.Queue, pos uint64) bool {
	if _, ok := m.pool.Leave(addr); !ok {
		return false
	}
	f := m.frees.batch()
	f.addrs = append(f.addrs, addr)
	f.after = append(f.after, ringPosition{q, pos})
	m.frees.add(f)
	m.reclaim()
	return true
}
