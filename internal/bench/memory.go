package bench

import (
	"npu/internal/runtime"
	"npu/internal/runtime/mempool"
	"npu/internal/trace"
)

const (
	goMake     = "Memory/go-make-256B"
	poolRandom = "Memory/pool-random-32KiB"
	pageable   = "Memory/h2d-pageable-1MiB"
)

// memorySpecs are allocations of device memory: of the pool's bookkeeping alone, and as the runtime's calls, which decide
// in virtual time who gets what.
func memorySpecs() []Spec {
	return []Spec{
		{Name: "Memory/alloc-free-256B", About: "Malloc and Free of a warm small block, by the cache of the thread", Goal: Goal{Partner: goMake}, open: with(nil, mallocPairs(256))},
		{Name: "Memory/alloc-free-2-threads-256B", About: "the same in two threads at once, wall time a pair of each", open: with(nil, twoThreads)},
		{Name: "Memory/alloc-free-3MiB", About: "Malloc and Free of a large block", Goal: Goal{MaxNs: 1000}, open: with(nil, mallocPairs(3<<20))},
		{Name: "Memory/free-in-flight-256B", About: "Malloc and Free while a kernel runs, which every block waits for", open: with(nil, pendingPairs)},
		{Name: "Memory/stream-pool-2MiB", About: "MemPoolMallocAsync and FreeAsync on one stream", open: with(nil, streamPoolPairs)},
		{Name: "Memory/pinned-64KiB", About: "MallocHost and FreeHost, which lock and unlock pages", open: with(nil, pinnedPairs)},
		{Name: "Memory/h2d-pinned-1MiB", About: "Memcpy of 1 MiB of pinned memory to the device", Bytes: 1 << 20, Goal: Goal{Partner: pageable, MaxRatio: 0.9}, open: with(copying, hostCopies(true))},
		{Name: pageable, About: "the same of pageable memory, which goes through pinned memory", Bytes: 1 << 20, open: with(copying, hostCopies(false))},
		{Name: "Memory/cache-pair-256B", About: "a thread's cache in front of the pool alone: one block comes and goes", Goal: Goal{Partner: goMake}, open: plain(cachePairs)},
		{Name: "Memory/pool-pair-256B", About: "the pool alone: one block comes and goes", Goal: Goal{Partner: goMake}, open: plain(poolPairs(256))},
		{Name: "Memory/pool-pair-3MiB", About: "the pool alone: one large block comes and goes", Goal: Goal{MaxNs: 1000}, open: plain(poolPairs(3 << 20))},
		{Name: poolRandom, About: "the pool alone: one of 1,024 blocks of 512 B to 32 KiB is replaced", open: plain(poolMix(6))},
		{Name: "Memory/pool-random-1MiB", About: "the same with blocks up to 1 MiB", Goal: Goal{Partner: poolRandom, MaxNs: 1000}, open: plain(poolMix(11))},
		{Name: goMake, About: "make of 256 bytes in Go", open: plain(goMakes)},
	}
}

// mallocPairs allocates and frees blocks of n bytes through the runtime.
func mallocPairs(n int64) func(r *rig) (func(m *meter) error, error) {
	return func(r *rig) (func(m *meter) error, error) {
		f := func() error {
			for range burst {
				p, err := r.th.Malloc(n)
				if err != nil {
					return err
				}
				if err := r.th.Free(p); err != nil {
					return err
				}
			}
			return nil
		}
		return func(m *meter) error { return r.clock(m, burst, f, nil) }, nil
	}
}

// twoThreads makes pairs of small blocks in two threads of the runtime at once.
func twoThreads(r *rig) (func(m *meter) error, error) {
	const pairs = 50 * burst // the threads are started anew each time
	work := func(th *runtime.Thread) error {
		for range pairs {
			p, err := th.Malloc(256)
			if err != nil {
				return err
			}
			if err := th.Free(p); err != nil {
				return err
			}
		}
		return nil
	}
	f := func() error {
		one, err := r.th.Go(work)
		if err != nil {
			return err
		}
		two, err := r.th.Go(work)
		if err != nil {
			return err
		}
		return r.th.Wait(one, two)
	}
	return func(m *meter) error { return r.clock(m, pairs, f, nil) }, nil
}

func pendingPairs(r *rig) (func(m *meter) error, error) {
	s, err := r.stream(false)
	if err != nil {
		return nil, err
	}
	long, err := r.th.NewKernel("long", trace.KernelAICore, 1, 1e9, nil)
	if err != nil {
		return nil, err
	}
	pairs, err := mallocPairs(256)(r)
	if err != nil {
		return nil, err
	}
	return func(m *meter) error {
		if err := r.th.LaunchKernel(long, nil, s); err != nil {
			return err
		}
		if err := pairs(m); err != nil {
			return err
		}
		return r.sync(s)
	}, nil
}

func streamPoolPairs(r *rig) (func(m *meter) error, error) {
	s, err := r.stream(false)
	if err != nil {
		return nil, err
	}
	p, err := r.th.CreatePool(0)
	if err != nil {
		return nil, err
	}
	if err := r.th.SetPoolAttribute(p, runtime.PoolReleaseThreshold, 1<<30); err != nil {
		return nil, err
	}
	f := func() error {
		for range burst {
			a, err := r.th.PoolMalloc(p, mempool.Segment, s)
			if err != nil {
				return err
			}
			if err := r.th.PoolFree(a, s); err != nil {
				return err
			}
		}
		return nil
	}
	return func(m *meter) error { return r.clock(m, burst, f, nil) }, nil
}

func pinnedPairs(r *rig) (func(m *meter) error, error) {
	const n = 20 // each is several system calls
	f := func() error {
		for range n {
			h, err := r.th.MallocHost(64 << 10)
			if err != nil {
				return err
			}
			if err := r.th.FreeHost(h); err != nil {
				return err
			}
		}
		return nil
	}
	return func(m *meter) error { return r.clock(m, n, f, nil) }, nil
}

// copying makes the device move bytes.
func copying(c *runtime.Config) { c.TimingOnly = false }

// hostCopies copies 1 MiB to the device, synchronously.
func hostCopies(pinned bool) func(r *rig) (func(m *meter) error, error) {
	return func(r *rig) (func(m *meter) error, error) {
		const n, copies = 1 << 20, 20
		dev, err := r.th.Malloc(n)
		if err != nil {
			return nil, err
		}
		src := runtime.Pageable(make([]byte, n))
		if pinned {
			h, err := r.th.MallocHost(n)
			if err != nil {
				return nil, err
			}
			src = runtime.At(h.Addr)
		}
		f := func() error {
			for range copies {
				if err := r.th.CopyMemory(runtime.At(dev), n, src, n, runtime.CopyHostToDevice); err != nil {
					return err
				}
			}
			return nil
		}
		return func(m *meter) error { return r.clock(m, copies, f, nil) }, nil
	}
}

// newPool is a pool of 64 GiB of addresses; nothing of it is touched.
func newPool() *mempool.Pool { return mempool.New(mempool.Config{Base: 1 << 40, Size: 64 << 30}) }

// cachePairs takes a block of 256 bytes from a thread's cache and gives it back.
func cachePairs() func(m *meter) error {
	const size = 256 + mempool.Round
	p := newPool()
	c := mempool.NewCache(1, 0)
	back := mempool.Back{AtOnce: true}
	f := func() error {
		for range burst {
			a := c.Alloc(size)
			if a == 0 {
				c.Restock(p, size, back)
				a = c.Alloc(size)
			}
			if !c.Free(a) {
				c.FreeWith(p, a, back)
			}
		}
		return nil
	}
	return func(m *meter) error {
		m.ops = burst
		return m.run(f)
	}
}

func poolPairs(n uint64) func() func(m *meter) error {
	return func() func(m *meter) error {
		p := newPool()
		f := func() error {
			for range burst {
				a, _ := p.Alloc(mempool.Request{Bytes: n})
				p.Free(a)
			}
			return nil
		}
		return func(m *meter) error {
			m.ops = burst
			return m.run(f)
		}
	}
}

// poolMix replaces one of 1,024 live blocks, of sizes that are a power of two, of which there are doublings, and a bit.
func poolMix(doublings uint64) func() func(m *meter) error {
	return func() func(m *meter) error {
		p := newPool()
		x := uint64(1)
		next := func() uint64 {
			x = x*6364136223846793005 + 1442695040888963407
			return x >> 33
		}
		draw := func() uint64 { return 512<<(next()%doublings) + next()%512 }
		var live [1024]uint64
		for i := range live {
			live[i], _ = p.Alloc(mempool.Request{Bytes: draw()})
		}
		f := func() error {
			for range burst {
				i := next() % uint64(len(live))
				p.Free(live[i])
				live[i], _ = p.Alloc(mempool.Request{Bytes: draw()})
			}
			return nil
		}
		return func(m *meter) error {
			m.ops = burst
			return m.run(f)
		}
	}
}

func goMakes() func(m *meter) error {
	var keep [16][]byte
	f := func() error {
		for i := range burst {
			keep[i&15] = make([]byte, 256)
		}
		return nil
	}
	return func(m *meter) error {
		m.ops = burst
		return m.run(f)
	}
}
