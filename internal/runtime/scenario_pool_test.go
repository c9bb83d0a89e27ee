package runtime

import (
	"errors"
	"fmt"
	"testing"

	"npu/internal/runtime/mempool"
	"npu/internal/sim"
	"npu/internal/trace"
)

const page = int64(sim.Page)

func TestM15_virtualMemory(t *testing.T) {
	r := newRig(t, Config{})
	va := must[Ptr](t)(r.ReserveAddress(2*page, 0))
	var h [2]*PhysicalMem
	for i := range h {
		h[i] = must[*PhysicalMem](t)(r.MallocPhysical(page))
	}
	add := func(p Ptr) error {
		err := r.LaunchKernel(r.add, []uint64{uint64(p), 5}, nil)
		if err == nil {
			err = r.SynchronizeStream(nil)
		}
		return err
	}
	r.code("not mapped", add(va), AICoreException)
	r.code("other size", r.MapMemory(va, 2*page, h[0]), InvalidParam)
	r.ok(r.MapMemory(va, page, h[0]), r.MapNoAccess(va+Ptr(page), page, h[1]))
	r.code("mapped twice", r.MapMemory(va, page, h[1]), InvalidParam)
	r.ok(add(va))
	err := add(va + Ptr(page))
	r.code("without rights", err, AICoreException)
	if f := (*sim.Fault)(nil); !errors.As(err, &f) || Ptr(f.Addr) != va+Ptr(page) {
		t.Errorf("fault %v does not name 0x%x", err, uint64(va)+uint64(page))
	}
	r.code("rights of half a mapping", r.SetAccess(va+Ptr(page), page/2, sim.ReadWrite), InvalidParam)
	r.ok(r.SetAccess(va+Ptr(page), page, sim.Read))
	r.code("write with the right to read", add(va+Ptr(page)), AICoreException)
	r.ok(r.SetAccess(va+Ptr(page), page, sim.ReadWrite), add(va+Ptr(page)))
	// One access across both blocks.
	r.ok(r.Memset(va+Ptr(page)-8, 0, 16), r.Memcpy(r.counter, va+Ptr(page)-4, 8))
	base, size, err := r.AddressRange(va + Ptr(page) + 100)
	r.ok(err)
	if base != va+Ptr(page) || size != page {
		t.Errorf("range 0x%x of %d", uint64(base), size)
	}
	again := must[*PhysicalMem](t)(r.RetainAllocation(va))
	if again != h[0] {
		t.Error("another handle")
	}
	r.code("release while mapped", r.ReleaseAddress(va), InvalidParam)
	r.ok(r.FreePhysical(h[0]), r.FreePhysical(again))
	r.code("free once too often", r.FreePhysical(h[0]), InvalidHandle)
	r.ok(add(va)) // freed while mapped: it lives until it is unmapped
	r.ok(r.UnmapMemory(va), r.UnmapMemory(va+Ptr(page)), r.FreePhysical(h[1]))
	r.code("after unmapping", add(va), AICoreException)
	r.code("unmap twice", r.UnmapMemory(va), InvalidParam)
	r.ok(r.ReleaseAddress(va))
	r.code("release twice", r.ReleaseAddress(va), InvalidParam)
	if g := MemGranularity(0, false); g != page {
		t.Errorf("granularity %d", g)
	}
	_, err = r.MallocPhysical(100)
	r.code("odd size", err, InvalidParam)
	_, err = r.ReserveAddress(page, 0x1000)
	r.code("address out of range", err, InvalidParam)
	wish := must[Ptr](t)(r.ReserveAddress(page, Ptr(20)<<40))
	_, err = r.ReserveAddress(page, wish)
	r.code("address in use", err, InvalidParam)
	r.ok(r.ReleaseAddress(wish))
	r.clean()
}

func TestM16_releaseThreshold(t *testing.T) {
	for _, keep := range []bool{false, true} {
		r := newRig(t, Config{})
		s := r.stream()
		p := must[*StreamPool](t)(r.CreatePool(0))
		if keep {
			r.ok(r.SetPoolAttribute(p, PoolReleaseThreshold, 1<<30))
		}
		attr := func(a PoolAttr) uint64 { return must[uint64](t)(r.PoolAttribute(p, a)) }
		var first Ptr
		mapped := r.stats().Allocs
		for i := range 1000 {
			b := must[Ptr](t)(r.PoolMalloc(p, 3*page-5, s))
			r.ok(r.MemsetAsync(b, 1, 64, s), r.PoolFree(b, s), r.SynchronizeStream(s))
			if i == 0 {
				first, mapped = b, r.stats().Allocs
			}
			switch have := attr(PoolReservedCurrent); {
			case !keep && have != 0:
				t.Fatalf("turn %d: %d bytes reserved after the synchronise", i, have)
			case keep && (have != uint64(3*page) || b != first || r.stats().Allocs != mapped):
				t.Fatalf("turn %d: %d bytes reserved, block 0x%x", i, have, uint64(b))
			}
		}
		if attr(PoolReservedHighWater) != uint64(3*page) || attr(PoolUsedHighWater) != uint64(3*page) || attr(PoolUsedCurrent) != 0 {
			t.Errorf("high water: reserved %d, used %d", attr(PoolReservedHighWater), attr(PoolUsedHighWater))
		}
		r.ok(r.SetPoolAttribute(p, PoolUsedHighWater, 0))
		if attr(PoolUsedHighWater) != 0 {
			t.Error("the mark is not reset")
		}
		r.ok(r.DestroyPool(p), r.DestroyStream(s))
		r.clean()
	}
}

// Each way in which a stream may take what another one freed, alone.
func TestM17_reuseRules(t *testing.T) {
	for _, c := range []struct {
		name                     string
		attr                     PoolAttr // the only switch that is on; 0: none
		sameStream, event, after bool     // allocate on the freeing stream; behind an event; when the free is passed
		want                     bool
	}{
		{name: "same stream at once", sameStream: true, want: true},
		{name: "other stream, nothing known"},
		{name: "other stream, all passed, no switch", after: true},
		{name: "other stream behind an event, no switch", event: true},
		{name: "follow events", attr: ReuseFollowEvents, event: true, want: true},
		{name: "follow events without one", attr: ReuseFollowEvents},
		{name: "opportunistic too early", attr: ReuseOpportunistic},
		{name: "opportunistic", attr: ReuseOpportunistic, after: true, want: true},
		{name: "internal wait", attr: ReuseInternalWaits, want: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Config{})
			s1, s2 := r.stream(), r.stream()
			p := must[*StreamPool](t)(r.CreatePool(0))
			r.ok(r.SetPoolAttribute(p, PoolReleaseThreshold, 1<<30))
			for a := ReuseFollowEvents; a <= ReuseInternalWaits; a++ {
				v := uint64(0)
				if a == c.attr {
					v = 1
				}
				r.ok(r.SetPoolAttribute(p, a, v))
			}
			b := must[Ptr](t)(r.PoolMalloc(p, page, s1))
			r.ok(r.LaunchKernel(r.long, nil, s1), r.PoolFree(b, s1))
			to := s2
			if c.sameStream {
				to = s1
			}
			e := must[*Event](t)(r.CreateEvent())
			if c.event {
				r.ok(r.RecordEvent(e, s1), r.WaitEvent(s2, e))
			}
			if c.after {
				r.Work(60 * ms)
			}
			again := must[Ptr](t)(r.PoolMalloc(p, page, to))
			if (again == b) != c.want {
				t.Errorf("block 0x%x after 0x%x, want reuse %v", uint64(again), uint64(b), c.want)
			}
			if c.attr == ReuseInternalWaits {
				r.ok(r.LaunchKernel(r.tiny, nil, s2), r.SynchronizeStream(s2))
				if r.Clock() < 50*ms {
					t.Errorf("the second stream did not wait for the first one: %d", r.Clock())
				}
			}
			r.ok(r.PoolFree(again, to), r.SynchronizeDevice(), r.DestroyEvent(e), r.DestroyPool(p), r.DestroyStream(s1), r.DestroyStream(s2))
			r.clean()
		})
	}
}

func TestM18_poolMistakes(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	p := must[*StreamPool](t)(r.CreatePool(64 << 20))
	a, b := must[Ptr](t)(r.PoolMalloc(p, page, s)), must[Ptr](t)(r.PoolMalloc(p, page, s))
	r.ok(r.PoolFree(a, s))
	r.code("free twice", r.PoolFree(a, s), Internal)
	r.code("trim below what is used", r.TrimPool(p, page/2), InvalidParam)
	r.code("trim above the size", r.TrimPool(p, 65<<20), InvalidParam)
	r.code("set a current value", r.SetPoolAttribute(p, PoolUsedCurrent, 0), InvalidParam)
	r.code("set a mark to 5", r.SetPoolAttribute(p, PoolUsedHighWater, 5), InvalidParam)
	r.code("threshold above the size", r.SetPoolAttribute(p, PoolReleaseThreshold, 65<<20), InvalidParam)
	_, err := r.PoolMalloc(p, 64<<20, s)
	r.code("more than the pool", err, OutOfMemory)
	_, err = r.CreatePool(1 << 50)
	r.code("more than the device", err, InvalidParam)
	r.ok(r.TrimPool(p, page))
	if v := must[uint64](t)(r.PoolAttribute(p, PoolReservedCurrent)); v != uint64(page) {
		t.Errorf("%d bytes are reserved after the trim", v)
	}
	plain := must[Ptr](t)(r.Malloc(100))
	r.ok(r.LaunchKernel(r.long, nil, s), r.PoolFree(plain, s)) // memory of no pool is freed in stream order
	if st := r.stats(); st.Leaving == 0 {
		t.Error("the block was freed before the kernel's end")
	}
	r.ok(r.SynchronizeStream(s))
	forced := must[Ptr](t)(r.PoolMalloc(p, page, s))
	r.ok(r.Free(forced)) // the plain free takes a pool's block by force
	r.ok(r.DestroyPool(p))
	r.code("free after destroy", r.PoolFree(b, s), Internal)
	r.code("destroy twice", r.DestroyPool(p), InvalidHandle)
	_, err = r.PoolMalloc(p, page, s)
	r.code("malloc after destroy", err, InvalidHandle)
	r.ok(r.SynchronizeStream(s), r.DestroyStream(s))
	r.clean()
}

// A recorded use, and an event, let a block go before unrelated work is over.
func TestFree_narrowedByUseAndEvent(t *testing.T) {
	r := newRig(t, Config{})
	busy, user := r.stream(), r.stream()
	e := must[*Event](t)(r.CreateEvent())
	r.ok(r.LaunchKernel(r.long, nil, busy))
	a, b, c := must[Ptr](t)(r.Malloc(64)), must[Ptr](t)(r.Malloc(64)), must[Ptr](t)(r.Malloc(64))
	short := must[*Kernel](t)(r.NewKernel("short", trace.KernelAICore, 1, 5*ms, nil))
	r.ok(r.LaunchKernel(short, nil, user), r.RecordEvent(e, user))
	r.ok(r.RecordUse(a, user), r.Free(a), r.FreeAfter(b, e), r.Free(c))
	if left := r.stats().Leaving; left != 3*96 {
		t.Errorf("%d bytes wait, want three blocks", left)
	}
	r.ok(r.SynchronizeStream(user))
	if left := r.stats().Leaving; left != 96 {
		t.Errorf("%d bytes wait behind the short kernel, want one block", left)
	}
	r.ok(r.SynchronizeStream(busy))
	if left := r.stats().Leaving; left != 0 {
		t.Errorf("%d bytes wait at the end", left)
	}
	r.ok(r.DestroyEvent(e), r.DestroyStream(busy), r.DestroyStream(user))
	r.clean()
}

// Allocating and freeing a small block needs no memory of Go's.
func TestMalloc_allocatesNothing(t *testing.T) {
	r := newRig(t, Config{})
	pair := func() {
		p, err := r.Malloc(256)
		if err == nil {
			err = r.Free(p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(1000, pair); n != 0 {
		t.Errorf("%v allocations for a pair", n)
	}
	s := r.stream()
	r.ok(r.LaunchKernel(r.long, nil, s))
	for range 2000 {
		pair()
	}
	if left := r.stats().Leaving; left < 2000*288 || left > 2256*288 { // the thread had some at hand
		t.Errorf("%d bytes wait for the kernel", left)
	}
	r.ok(r.SynchronizeStream(s), r.DestroyStream(s))
	r.clean()
}

// Neither do the calls of stream-ordered pools, also when they cut blocks and join them again; and what is known of
// events and streams ends with them.
func TestPool_allocatesNothing(t *testing.T) {
	r := newRig(t, Config{})
	p := must[*StreamPool](t)(r.CreatePool(0))
	r.ok(r.SetPoolAttribute(p, PoolReleaseThreshold, 1<<30))
	a, b := r.stream(), r.stream()
	e := must[*Event](t)(r.CreateEvent())
	turn := func() {
		big, err := r.PoolMalloc(p, 4*page, a)
		if err == nil {
			err = r.PoolFree(big, a)
		}
		one, err1 := r.PoolMalloc(p, page, a)
		two, err2 := r.PoolMalloc(p, 2*page, a)
		for _, x := range []error{err, err1, err2, r.PoolFree(one, a), r.RecordEvent(e, a), r.PoolFree(two, a), r.WaitEvent(b, e)} {
			if x != nil {
				t.Fatal(x)
			}
		}
	}
	turn()
	if n := testing.AllocsPerRun(200, turn); n != 0 {
		t.Errorf("%v allocations for three pairs", n)
	}
	order := &r.rt.hostMem.order
	if len(order.events) != 1 || len(order.ahead) != 1 {
		t.Errorf("order of %d events and %d streams is known, want one each", len(order.events), len(order.ahead))
	}
	r.ok(r.SynchronizeDevice(), r.DestroyEvent(e), r.DestroyStream(a), r.DestroyStream(b), r.DestroyPool(p))
	if len(order.events)+len(order.ahead) != 0 {
		t.Errorf("%d events and %d streams are remembered", len(order.events), len(order.ahead))
	}
	r.clean()
}

// Physical memory of the kinds that there are, and reservations at a wished address.
func TestVirtual_kinds(t *testing.T) {
	r := newRig(t, Config{})
	start := r.stats().InUse
	host := must[*PhysicalMem](t)(r.MallocPhysicalWith(page, PhysicalProps{Host: true}))
	if now := r.stats().InUse; now != start {
		t.Errorf("memory of the host takes %d bytes of the device", now-start)
	}
	va := must[Ptr](t)(r.ReserveAddress(page, 18<<40))
	r.ok(r.MapMemory(va, page, host), r.Memset(va, 3, page))
	var b [8]byte
	r.ok(r.MemcpyToHost(b[:], va+Ptr(page)-8))
	if b[7] != 3 || va != 18<<40 {
		t.Errorf("0x%x holds %v", uint64(va), b)
	}
	r.ok(r.UnmapMemory(va), r.FreePhysical(host), r.ReleaseAddress(va))
	for _, c := range []struct {
		n    int64
		p    PhysicalProps
		code Code
	}{
		{page, PhysicalProps{Policy: mempool.Huge1GOnly}, InvalidParam},
		{page / 2, PhysicalProps{Policy: mempool.NormalOnly}, InvalidParam},
		{page, PhysicalProps{Policy: 99}, ACLInvalidParam},
	} {
		_, err := r.MallocPhysicalWith(c.n, c.p)
		r.code(fmt.Sprint(c), err, c.code)
	}
	big := must[*PhysicalMem](t)(r.MallocPhysicalWith(1<<30, PhysicalProps{Policy: mempool.Huge1GOnly}))
	r.ok(r.FreePhysical(big))
	r.clean()
	a := newRig(t, Config{Chip: chipOf(t, firstOf(t, "Ascend950"))})
	_, err := a.ReserveAddress(page, 18<<40)
	a.code("a wish on the 950", err, NotSupported)
}
