package runtime

import (
	"errors"
	"testing"
)

// Blocks go from thread to thread, all come back, and no two are in use at once.
func TestMemcache_betweenThreads(t *testing.T) {
	r := newRig(t, Config{})
	const threads, rounds = 4, 400
	var slots [threads][]Ptr
	var kids []*Child
	for k := range threads {
		kids = append(kids, must[*Child](t)(r.Go(func(th *Thread) error {
			for i := range rounds {
				p, err := th.Malloc(int64(1 + i*97%5000))
				if err != nil {
					return err
				}
				if i%3 == 0 {
					if err := th.Free(p); err != nil {
						return err
					}
					continue
				}
				slots[k] = append(slots[k], p)
			}
			return nil
		})))
	}
	r.ok(r.Wait(kids...))
	seen := map[Ptr]bool{}
	for _, list := range slots {
		for _, p := range list {
			if seen[p] {
				t.Fatalf("0x%x is handed out twice", uint64(p))
			}
			seen[p] = true
		}
	}
	kids = kids[:0]
	for k := range threads {
		kids = append(kids, must[*Child](t)(r.Go(func(th *Thread) error {
			for i, p := range slots[(k+1)%threads] {
				if err := th.Free(p); err != nil {
					return err
				}
				if i%5 == 0 {
					q, err := th.Malloc(100)
					if err != nil {
						return err
					}
					if err := th.Free(q); err != nil {
						return err
					}
				}
			}
			return nil
		})))
	}
	r.ok(r.Wait(kids...))
	r.clean()
}

// A block that a living thread allocated and another one freed counts as free, and can be used when memory runs short.
func TestMemcache_freedByAnother(t *testing.T) {
	r := newRig(t, Config{MemoryBytes: 16 << 20})
	var list []Ptr
	for {
		p, err := r.Malloc(20_000)
		if err != nil {
			r.code("malloc", err, OutOfMemory)
			break
		}
		list = append(list, p)
	}
	before := r.stats()
	kid := must[*Child](t)(r.Go(func(th *Thread) error {
		for _, p := range list {
			if err := th.Free(p); err != nil {
				return err
			}
		}
		if err := th.Free(list[0]); err == nil {
			return errors.New("a block is freed twice")
		}
		s, err := th.MemoryStats()
		if err != nil {
			return err
		}
		if freed := before.InUse - s.InUse; freed < uint64(len(list))*20_000 {
			t.Errorf("%d blocks of 20,000 bytes are free, but only %d bytes", len(list), freed)
		}
		p, err := th.Malloc(10 << 20)
		if err != nil {
			return err
		}
		return th.Free(p)
	}))
	r.ok(r.Wait(kid))
	if err := r.Free(list[1]); err != nil {
		r.code("free", err, DriverError)
	}
	r.stats()
	if r.PeekLastError() == nil {
		t.Error("nothing tells that a block was freed twice")
	}
	r.clean()
}

// What a thread has freed is refused at once in every call that takes a block.
func TestMemcache_freedByItself(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	e := must[*Event](t)(r.CreateEvent())
	for range 50 { // so that the thread has blocks at hand
		r.ok(r.Free(must[Ptr](t)(r.Malloc(64))))
	}
	p := must[Ptr](t)(r.Malloc(64))
	r.ok(r.RecordEvent(e, s), r.Free(p))
	r.code("free", r.Free(p), DriverError)
	r.code("free after", r.FreeAfter(p, e), DriverError)
	r.code("record use", r.RecordUse(p, s), DriverError)
	r.code("pool free", r.PoolFree(p, s), Internal)
	r.code("free inside", r.Free(p+32), DriverError)
	r.code("free beside", r.Free(p|1), DriverError)
	r.ok(r.DestroyEvent(e), r.DestroyStream(s))
	r.clean()
}

// A reset of the device, or the end of the context, ends what threads have at hand.
func TestMemcache_endsWithItsContext(t *testing.T) {
	r := newRig(t, Config{Devices: 2})
	kid := must[*Child](t)(r.Go(func(th *Thread) error {
		if err := th.SetDevice(1); err != nil {
			return err
		}
		for range 100 {
			p, err := th.Malloc(640)
			if err != nil {
				return err
			}
			if err := th.Free(p); err != nil {
				return err
			}
		}
		p, err := th.Malloc(640)
		if err != nil {
			return err
		}
		if err := th.ResetDevice(1); err != nil {
			return err
		}
		if _, err := th.Malloc(640); err == nil {
			return errors.New("malloc works without a context")
		}
		if err := th.SetDevice(1); err != nil {
			return err
		}
		if err := th.Free(p); err == nil {
			return errors.New("a block outlives its device's reset")
		}
		q, err := th.Malloc(640)
		if err != nil {
			return err
		}
		if _, err := th.CreateContext(1); err != nil {
			return err
		}
		s, err := th.MemoryStats()
		if err != nil {
			return err
		}
		if err := th.Free(q); err != nil { // of the other context: memory belongs to the device
			return err
		}
		after, err := th.MemoryStats()
		if err == nil && s.InUse-after.InUse != 672 {
			t.Errorf("%d bytes in use before a free of 672, %d behind it", s.InUse, after.InUse)
		}
		return errors.Join(err, th.ResetDevice(1))
	}))
	r.ok(r.Wait(kid))
	r.clean()
}

// The accounts of a context count what the program has.
func TestMemcache_accounts(t *testing.T) {
	r := newRig(t, Config{})
	ctx := must[*Context](t)(r.CurrentContext())
	start := must[int64](t)(r.Allocated(ctx))
	var list []Ptr
	for i := range 300 {
		list = append(list, must[Ptr](t)(r.Malloc(256)))
		if i%2 == 0 {
			r.ok(r.Free(list[i/2]))
		}
	}
	if n := must[int64](t)(r.Allocated(ctx)) - start; n != 150*288 {
		t.Errorf("150 blocks of 288 bytes are %d bytes", n)
	}
	for _, p := range list[150:] {
		r.ok(r.Free(p))
	}
	if n := must[int64](t)(r.Allocated(ctx)); n != start {
		t.Errorf("%d bytes at the start, %d at the end", start, n)
	}
}
