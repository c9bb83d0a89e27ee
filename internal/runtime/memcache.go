package runtime

import (
	"fmt"

	"npu/internal/runtime/mempool"
)

// threadCache is the small blocks of one context that a thread has at hand. Malloc and Free of such blocks need neither
// a lock nor the driver: what they do is the thread's own affair. Every few calls the thread goes to the pool, in virtual
// time; there the blocks that it has freed meanwhile wait for the tasks under way, if there are any.
type threadCache struct {
	*mempool.Cache
	ctx     *Context
	mem     *memory
	pool    *mempool.Pool // of mem; another one after a reset of the device
	padding uint64
	end     func(addr uint64)
}

// small says whether a cache may have blocks of n bytes.
func small(n int64) bool { return uint64(n-1) < mempool.CachedMost-2*mempool.Round }

// padded is what the chip's rules make of a small request.
func (c *threadCache) padded(n int64) uint64 {
	return (uint64(n)+mempool.Round-1)&^(mempool.Round-1) + c.padding
}

// findCache makes the cache of the current context, if the thread has one, the one that Malloc and Free look at. It
// stays out of use where calls need more checks than theirs.
func (th *Thread) findCache() {
	th.cache = nil
	for _, c := range th.caches {
		if c.ctx == th.open {
			th.cache = c
		}
	}
}

// newCache gives the thread a cache for the current context, if that can have one. Under Port.Call.
func (th *Thread) newCache() {
	ctx := th.open
	if ctx == nil || ctx.isolated || th.cache != nil {
		return
	}
	m := ctx.dev.memory
	c := &threadCache{ctx: ctx, mem: m, pool: m.pool, padding: uint64(ctx.dev.hw.Chip().PaddingSize)}
	c.Cache = mempool.NewCache(m.cacheTag(ctx), m.user(ctx))
	c.end = func(addr uint64) { m.freeLater(addr, ctx.dev) }
	th.cache = c
	th.caches = append(th.caches, c)
}

// cacheTag is a tag for the blocks of a cache: to the accounts they are the context's.
func (m *memory) cacheTag(ctx *Context) uint32 {
	if n := len(m.spareTags); n > 0 {
		tag := m.spareTags[n-1]
		m.spareTags = m.spareTags[:n-1]
		m.users[tag] = ctx
		return tag
	}
	m.users = append(m.users, ctx)
	return uint32(len(m.users) - 1)
}

// work runs f, which uses the cache with the pool, and brings the accounts in order. Under Port.Call.
func (c *threadCache) work(f func(back mempool.Back)) {
	if c.pool != c.mem.pool {
		return // the device was reset: nothing of it is left
	}
	before := c.pool.InUse()
	m := c.mem
	f(mempool.Back{AtOnce: len(m.uses) == 0 && m.restful(c.ctx.dev), End: c.end})
	c.ctx.bytes += int64(c.pool.InUse() - before)
}

// take is a block of n padded bytes, or 0. Under Port.Call.
func (c *threadCache) take(n uint64) (addr uint64) {
	c.work(func(back mempool.Back) {
		if c.Restock(c.pool, n, back) {
			addr = c.Alloc(n)
		}
	})
	if !c.mem.claim() {
		c.flush()
		return 0
	}
	return addr
}

// flush gives back what the program does not have. Under Port.Call.
func (c *threadCache) flush() {
	c.work(func(back mempool.Back) { c.Flush(c.pool, back) })
	c.mem.claim()
}

// free frees a block of one of the thread's caches. twice: it is, but the program does not have it. Under Port.Call.
func (th *Thread) freeCached(addr uint64) (done, twice bool) {
	for _, c := range th.caches {
		program, own := c.Has(addr)
		if !program && !own || c.pool != c.mem.pool {
			continue
		}
		if program {
			c.work(func(back mempool.Back) { done = c.FreeWith(c.pool, addr, back) })
		}
		return done, own
	}
	return false, false
}

// freed says whether the program has freed a block that a cache of the thread still has. Under Port.Call.
func (th *Thread) freed(p Ptr) bool {
	for _, c := range th.caches {
		if _, own := c.Has(uint64(p)); own && c.pool == c.mem.pool {
			return true
		}
	}
	return false
}

// forget lets a block go from the thread's cache, so that it can be freed in another way than by Free. Under Port.Call.
func (th *Thread) forget(p Ptr) {
	for _, c := range th.caches {
		if c.pool == c.mem.pool {
			c.Forget(c.pool, uint64(p))
		}
	}
}

// flushCaches brings the pools up to date for a call that looks at them. Under Port.Call.
func (th *Thread) flushCaches() {
	for _, c := range th.caches {
		c.flush()
	}
}

// dropCaches ends the thread's caches. Under Port.Call.
func (th *Thread) dropCaches() {
	for _, c := range th.caches {
		c.work(func(back mempool.Back) { c.Close(c.pool, back) })
		c.mem.users[c.Tag()] = nil
		c.mem.spareTags = append(c.mem.spareTags, c.Tag())
		c.mem.claim()
	}
	th.caches, th.cache = nil, nil
}

// strange reports blocks that this thread freed although another one had freed them before. That comes to light only
// here, behind the call that did it.
func (th *Thread) strange() {
	if len(th.caches) == 0 {
		return
	}
	n := 0
	for _, c := range th.caches {
		n += c.Strange()
	}
	if n > 0 {
		_ = th.fail(DriverError, callFree.name, fmt.Sprintf("%d blocks of this thread were freed twice, once by another thread", n), "free each block once")
	}
}
