package runtime

import (
	"slices"
	"testing"

	"npu/internal/runtime/mempool"
	"npu/internal/trace"
)

// Advice is kept for each page; a range whose pages differ says so.
func TestManaged_advice(t *testing.T) {
	r := newRig(t, Config{Devices: 2})
	m := must[HostMem](t)(r.AllocManaged(3*page, 1))
	second := m.Addr + Ptr(page)
	r.ok(r.Advise(m.Addr, 3*page, SetReadMostly, 0), r.Advise(second, 1, SetPreferredLocation, 1))
	r.ok(r.Advise(second, page, SetAccessedBy, 1), r.Advise(second, page, SetAccessedBy, AtHost), r.Advise(second, page, SetAccessedBy, 1))
	one := must[ManagedRange](t)(r.ManagedRangeOf(second, page))
	if !one.ReadMostly || one.Preferred != 1 || !slices.Equal(one.AccessedBy, []int{AtHost, 1}) || one.Prefetched != Nowhere {
		t.Errorf("the second page: %+v", one)
	}
	all := must[ManagedRange](t)(r.ManagedRangeOf(m.Addr, 3*page))
	if x := all.Mixed; x.ReadMostly || !x.Preferred || !x.AccessedBy || x.Prefetched {
		t.Errorf("all pages: %+v", all)
	}
	r.ok(r.Advise(second, page, UnsetPreferredLocation, 0), r.Advise(second, page, UnsetAccessedBy, 1), r.Advise(second, page, UnsetAccessedBy, AtHost), r.Advise(second, page, UnsetReadMostly, 0))
	one = must[ManagedRange](t)(r.ManagedRangeOf(second, page))
	if one.ReadMostly || one.Preferred != Nowhere || len(one.AccessedBy) != 0 {
		t.Errorf("taken back: %+v", one)
	}
	r.code("advice 6", r.Advise(second, page, 6, 0), ACLInvalidParam)
	r.code("device 2", r.Advise(second, page, SetAccessedBy, 2), InvalidParam)
	r.code("beyond the end", r.Advise(second, 2*page+1, SetReadMostly, 0), InvalidParam)
	r.code("other memory", r.Advise(64, 64, SetReadMostly, 0), InvalidParam)
	_, err := r.ManagedRangeOf(m.Addr, 0)
	r.code("no bytes", err, InvalidParam)
	r.ok(r.Free(m.Addr)) // as aclrtFree does
	r.code("twice", r.Free(m.Addr), DriverError)
}

// A prefetch moves the pages that are not there yet, over the bus, in stream order.
func TestManaged_prefetch(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	m := must[HostMem](t)(r.AllocManaged(70*page, 1))
	m.Bytes[5] = 7
	r.ok(r.Prefetch(m.Addr, page, 0, 0, s))                // one page
	r.ok(r.Prefetch(m.Addr+100, 2*page, 0, 0, s))          // three pages, one of them there
	r.ok(r.Prefetch(m.Addr, 2*page, 0, 0, s))              // nothing
	r.ok(r.Prefetch(m.Addr, 70*page, AtHost, 0, s))        // three pages back
	r.ok(r.Prefetch(m.Addr+Ptr(6*page), 64*page, 0, 0, s)) // 128 MiB are two tasks
	items := []ManagedItem{{m.Addr, page}, {m.Addr + Ptr(page), page}, {m.Addr + Ptr(69*page), page}}
	r.ok(r.PrefetchBatch(items, []int{0, AtHost}, []int{0, 2}, 0, s))
	if x := must[ManagedRange](t)(r.ManagedRangeOf(m.Addr, page)); x.Prefetched != 0 {
		t.Errorf("prefetched to %d", x.Prefetched)
	}
	r.code("flags", r.Prefetch(m.Addr, page, 0, 1, s), InvalidParam)
	r.code("device 1", r.Prefetch(m.Addr, page, 1, 0, s), InvalidParam)
	r.code("elsewhere", r.Prefetch(64, page, 0, 0, s), InvalidParam)
	for name, x := range map[string][]int{"not from 0": {1}, "two of one": {0, 1}, "none": nil} {
		r.code(name, r.PrefetchBatch(items, []int{0}, x, 0, s), InvalidParam)
	}
	r.code("falling", r.PrefetchBatch(items, []int{0, 0}, []int{0, 0}, 0, s), InvalidParam)
	r.ok(r.SynchronizeStream(s), r.FreeManaged(m), r.DestroyStream(s))
	type move struct {
		dir   trace.Dir
		pages int64
	}
	var got []move
	for _, k := range r.trace().Tasks.All() {
		if k.Kind == trace.Memcpy {
			got = append(got, move{k.Dir, k.Bytes / page})
		}
	}
	want := []move{{trace.HostToDevice, 1}, {trace.HostToDevice, 2}, {trace.DeviceToHost, 3}, {trace.HostToDevice, 32}, {trace.HostToDevice, 32}, {trace.HostToDevice, 1}, {trace.HostToDevice, 1}, {trace.DeviceToHost, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("moved %v, want %v", got, want)
	}
}

// Addresses of managed memory come back, so that a process does not run out of its 3 TiB.
func TestManaged_addresses(t *testing.T) {
	r := newRig(t, Config{})
	first := must[HostMem](t)(r.AllocManaged(page, 1))
	r.ok(r.FreeManaged(first))
	again := must[HostMem](t)(r.AllocManaged(page, 1))
	if again.Addr != first.Addr {
		t.Errorf("0x%x, then 0x%x", uint64(first.Addr), uint64(again.Addr))
	}
	_, err := r.AllocManaged(4<<40, 1)
	r.code("4 TiB", err, OutOfMemory)
	r.ok(r.FreeManaged(again))
}

// The device has a pool of its own, which nobody can destroy.
func TestPool_default(t *testing.T) {
	r := newRig(t, Config{})
	p := must[*StreamPool](t)(r.DefaultPool())
	if again := must[*StreamPool](t)(r.DefaultPool()); again != p {
		t.Error("two default pools")
	}
	r.code("destroy", r.DestroyPool(p), InvalidParam)
	a := must[Ptr](t)(r.PoolMalloc(p, page, nil))
	r.ok(r.PoolFree(a, nil), r.SynchronizeStream(nil))
	r.clean()
}

// Hints go with a policy as long as they do not contradict each other.
func TestMalloc_hints(t *testing.T) {
	r := newRig(t, Config{})
	for _, hint := range []mempool.Policy{mempool.LowBandwidth, mempool.HighBandwidth, mempool.HostReadOnly, mempool.HighBandwidth | mempool.HostReadOnly} {
		var p Ptr
		r.ok(r.MallocWith(&p, 1, MallocConfig{Policy: mempool.HugeOnly | hint}))
		if p%Ptr(page) != 0 {
			t.Errorf("hint 0x%x: 0x%x is no huge page", hint, uint64(p))
		}
		r.ok(r.Free(p))
	}
	var p Ptr
	r.code("both bandwidths", r.MallocWith(&p, 1, MallocConfig{Policy: mempool.LowBandwidth | mempool.HighBandwidth}), ACLInvalidParam)
	r.code("an unknown bit", r.MallocWith(&p, 1, MallocConfig{Policy: 1 << 9}), ACLInvalidParam)
	r.clean()
}

// An asynchronous copy from host to host is refused.
func TestMemcpyAsync_hostToHost(t *testing.T) {
	r := newRig(t, Config{})
	a, b := must[HostMem](t)(r.MallocHost(4096)), must[HostMem](t)(r.MallocHost(4096))
	a.Bytes[9] = 9
	r.code("asynchronous", r.MemcpyAsync(b.Addr, a.Addr, 4096, nil), NotSupported)
	r.ok(r.Memcpy(b.Addr, a.Addr, 4096))
	if b.Bytes[9] != 9 {
		t.Error("the synchronous copy brought something else")
	}
	r.ok(r.FreeHost(a), r.FreeHost(b))
	r.clean()
}
