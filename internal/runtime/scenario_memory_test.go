package runtime

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"npu/internal/runtime/mempool"
	"npu/internal/sim"
	"npu/internal/sim/soc"
	"npu/internal/trace"
)

func chipOf(t testing.TB, name string) *soc.Chip {
	t.Helper()
	c, err := soc.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (r *rig) stats() mempool.Stats {
	r.t.Helper()
	return must[mempool.Stats](r.t)(r.MemoryStats())
}

func TestM01_sizesAndAddresses(t *testing.T) {
	for _, c := range []struct {
		chip          string
		plain, align3 [4]int64
	}{
		{"Ascend910B3", [4]int64{64, 64, 96, 160}, [4]int64{32, 32, 64, 128}},
		{"Ascend310P3", [4]int64{64, 64, 96, 160}, [4]int64{32, 32, 64, 128}},
		{firstOf(t, "Ascend950"), [4]int64{32, 32, 64, 128}, [4]int64{32, 32, 64, 128}},
	} {
		r := newRig(t, Config{Chip: chipOf(t, c.chip)})
		for i, n := range []int64{1, 32, 33, 100} {
			for _, align32 := range []bool{false, true} {
				want := c.plain[i]
				if align32 {
					want = c.align3[i]
				}
				var p Ptr
				r.ok(r.MallocWith(&p, n, MallocConfig{Align32: align32}))
				base, size, err := r.AddressRange(p + Ptr(want-1))
				r.ok(err)
				if size != want || base != p || p%64 != 0 {
					t.Errorf("%s: %d bytes (Align32 %v) became %d at 0x%x, want %d", c.chip, n, align32, size, uint64(p), want)
				}
				r.ok(r.Free(p))
			}
		}
		r.clean()
	}
}

// firstOf is the first chip of a generation.
func firstOf(t testing.TB, short string) string {
	t.Helper()
	for _, c := range soc.All() {
		if c.Short == short {
			return c.Name
		}
	}
	t.Fatalf("no chip of %s", short)
	return ""
}

func TestM02_nullAndZero(t *testing.T) {
	r := newRig(t, Config{})
	_, err := r.Malloc(0)
	r.code("no bytes", err, ACLInvalidParam)
	r.code("null pointer for the result", r.MallocWith(nil, 8, MallocConfig{}), ACLInvalidParam)
	r.code("free null", r.Free(0), ACLInvalidParam)
	_, err = r.MallocHost(0)
	r.code("no bytes of host memory", err, ACLInvalidParam)
	r.code("free null host memory", r.FreeHost(HostMem{}), ACLInvalidParam)
	var p Ptr
	r.code("unknown policy", r.MallocWith(&p, 8, MallocConfig{Policy: 9}), ACLInvalidParam)
	r.clean()
}

func TestM03_noContext(t *testing.T) {
	r := newRig(t, Config{})
	th := r.rt.Attach()
	defer th.Detach()
	_, err := th.Malloc(8)
	r.code("malloc", err, ContextNull)
}

func TestM04_outOfMemory(t *testing.T) {
	r := newRig(t, Config{MemoryBytes: 64 << 20})
	free, total, _, err := r.MemInfo()
	r.ok(err)
	_, err = r.Malloc(free + 1)
	r.code("more than free", err, OutOfMemory)
	for _, part := range []string{fmt.Sprint(mempool.Padded(uint64(free)+1, 32)), fmt.Sprintf("%d of %d free", free, total), "reserved", "largest free block"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("message %q does not say %q", err, part)
		}
	}
	p := must[Ptr](t)(r.Malloc(8 << 20))
	r.ok(r.Free(p))
	// Fill it up, fail, free, and it serves again.
	var list []Ptr
	for {
		p, err := r.Malloc(3 << 20)
		if err != nil {
			r.code("full", err, OutOfMemory)
			break
		}
		list = append(list, p)
	}
	if len(list) < 15 {
		t.Errorf("only %d blocks of 3 MiB in 62 MiB", len(list))
	}
	for _, p := range list {
		r.ok(r.Free(p))
	}
	r.ok(r.Free(must[Ptr](t)(r.Malloc(40 << 20))))
	r.clean()
}

func TestM05_hugePages(t *testing.T) {
	r := newRig(t, Config{})
	before, _, err := r.MemInfoOf(MemHBMHuge)
	r.ok(err)
	var p, q Ptr
	r.ok(r.MallocWith(&p, 1, MallocConfig{Policy: mempool.HugeOnly}))
	after, _, err := r.MemInfoOf(MemHBMHuge)
	r.ok(err)
	if before-after != 2<<20 || p%(2<<20) != 0 {
		t.Errorf("huge pages: %d bytes free before, %d after, block at 0x%x", before, after, uint64(p))
	}
	r.ok(r.MallocWith(&q, 1, MallocConfig{Policy: mempool.Huge1GOnly}))
	giant, _, err := r.MemInfoOf(MemHBMHuge)
	r.ok(err)
	if after-giant != 1<<30 || q%(1<<30) != 0 {
		t.Errorf("1 GiB page: %d bytes free before, %d after, at 0x%x", after, giant, uint64(q))
	}
	r.ok(r.Free(p), r.Free(q))
	r.clean()
	a := newRig(t, Config{Chip: chipOf(t, "Ascend310P3")})
	a.code("1 GiB page on a chip without", a.MallocWith(&p, 1, MallocConfig{Policy: mempool.Huge1GOnly}), NotSupported)
}

func TestM06_copyArguments(t *testing.T) {
	r := newRig(t, Config{})
	p := must[Ptr](t)(r.Malloc(64))
	q := must[Ptr](t)(r.Malloc(64))
	r.code("n > max", r.CopyMemory(At(p), 8, At(q), 9, CopyDefault), InvalidParam)
	r.code("no bytes and no pointers", r.CopyMemory(Mem{}, 0, Mem{}, 0, CopyDefault), 0)
	r.code("same place", r.CopyMemory(At(p), 64, At(p), 64, CopyDefault), 0)
	r.code("null", r.CopyMemory(At(p), 64, Mem{}, 8, CopyDefault), ACLInvalidParam)
	r.code("kind 6", r.CopyMemory(At(p), 64, At(q), 8, CopyInnerDevice), ACLInvalidParam)
	r.code("async n > max", r.CopyMemoryAsync(At(p), 8, At(q), 9, CopyDefault, nil), InvalidParam)
	r.code("device kind between unregistered memory", r.CopyMemory(Pageable(make([]byte, 8)), 8, Pageable(make([]byte, 8)), 8, CopyDeviceToDevice), InvalidParam)
	r.code("set n > max", r.FillMemory(At(p), 8, 1, 9), InvalidParam)
	r.code("set of nothing", r.FillMemory(Mem{}, 0, 1, 0), 0)
	r.ok(r.Free(p), r.Free(q))
	r.clean()
}

func TestM07_directionIsCorrected(t *testing.T) {
	r := newRig(t, Config{})
	p := must[Ptr](t)(r.Malloc(64))
	pinned := must[HostMem](t)(r.MallocHost(64))
	in, out := []byte("the direction does not matter..."), make([]byte, 32)
	for _, kind := range []CopyKind{CopyHostToHost, CopyHostToDevice, CopyDeviceToHost, CopyDeviceToDevice, CopyDefault} {
		clear(out)
		r.ok(r.FillMemory(At(p), 64, 0, 64))
		r.ok(r.CopyMemory(At(p), 64, Pageable(in), 32, kind))
		r.ok(r.CopyMemory(At(pinned.Addr), 64, At(p), 32, kind))
		r.ok(r.CopyMemory(Pageable(out), 32, At(p), 32, kind))
		if !bytes.Equal(in, out) || !bytes.Equal(in, pinned.Bytes[:32]) {
			t.Errorf("kind %d: %q, pinned %q", kind, out, pinned.Bytes[:32])
		}
	}
	r.ok(r.Free(p), r.FreeHost(pinned))
	r.clean()
}

func TestM08_pageableAsyncIsSynchronous(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	p := must[Ptr](t)(r.Malloc(64))
	host := bytes.Repeat([]byte{1}, 64)
	r.ok(r.LaunchKernel(r.long, nil, s))
	r.ok(r.CopyMemoryAsync(At(p), 64, Pageable(host), 64, CopyHostToDevice, s))
	if c := r.Clock(); c < 50*ms {
		t.Errorf("the call returned at %d, before the kernel ended", c)
	}
	clear(host)
	r.ok(r.SynchronizeStream(s))
	out := make([]byte, 64)
	r.ok(r.MemcpyToHost(out, p))
	if out[0] != 1 || out[63] != 1 {
		t.Errorf("the device has %d", out[0])
	}
	r.ok(r.Free(p), r.DestroyStream(s))
	r.clean()
}

// What the checker would say of the host's write belongs to the checker.
func TestM09_pinnedAsyncReturnsAtOnce(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	p := must[Ptr](t)(r.Malloc(64))
	h := must[HostMem](t)(r.MallocHost(64))
	r.ok(r.LaunchKernel(r.long, nil, s))
	r.ok(r.CopyMemoryAsync(At(p), 64, Pageable(h.Bytes), 64, CopyHostToDevice, s)) // the slice is found to be pinned
	if c := r.Clock(); c > 10*ms {
		t.Errorf("the call returned at %d", c)
	}
	r.ok(r.SynchronizeStream(s), r.FreeHost(h), r.Free(p), r.DestroyStream(s))
	r.clean()
}

func TestM10_synchronousCopyWaitsForNoStream(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	r.ok(r.LaunchKernel(r.long, nil, s), r.inc(s))
	if v := r.value(); v != 0 {
		t.Errorf("the copy waited: %d", v)
	}
	r.ok(r.SynchronizeStream(s), r.DestroyStream(s))
}

func TestM11_freeWhileInUse(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	p := must[Ptr](t)(r.Malloc(64))
	slow := must[*Kernel](t)(r.NewKernel("slow", trace.KernelAICore, 1, 50*ms, nil))
	r.ok(r.LaunchKernel(slow, []uint64{uint64(p)}, s), r.Free(p))
	q := must[Ptr](t)(r.Malloc(64))
	if q == p {
		t.Errorf("the block 0x%x is handed out while a kernel uses it", uint64(p))
	}
	r.ok(r.SynchronizeStream(s), r.Free(q))
	r.stats() // which sends what the thread keeps to the pool, and that hands out the lowest block
	if again := must[Ptr](t)(r.Malloc(64)); again != p {
		t.Errorf("after the kernel's end 0x%x is handed out, not 0x%x", uint64(again), uint64(p))
	} else {
		r.ok(r.SetStrictFree(true))
		r.ok(r.LaunchKernel(slow, []uint64{uint64(again) + 8}, s))
		r.ok(r.Free(again))
		if now := must[Ptr](t)(r.Malloc(64)); now != again {
			t.Errorf("strict: 0x%x is handed out, not 0x%x", uint64(now), uint64(again))
		} else {
			r.ok(r.Memset(now, 7, 64), r.SynchronizeStream(s), r.Free(now))
		}
	}
	found, err := r.Misuses()
	r.ok(err)
	if len(found) != 1 {
		t.Fatalf("%d uses after free are reported, want 1: %v", len(found), found)
	}
	m := found[0]
	if m.Addr != p || m.Stream != s.ID() || !strings.Contains(m.FreedAt, "TestM11") || !strings.Contains(m.UsedAt, "TestM11") || m.FreedAt == m.UsedAt {
		t.Errorf("report: %v", m)
	}
	r.ok(r.DestroyStream(s))
	r.clean()
}

func TestM12_wrongFrees(t *testing.T) {
	r := newRig(t, Config{})
	for _, n := range []int64{64, 100 << 10, 5 << 20} {
		p := must[Ptr](t)(r.Malloc(n))
		before := r.stats()
		err := r.Free(p + 64)
		r.code("inside", err, DriverError)
		if !strings.Contains(err.Error(), "inside the block") && n > 64 {
			t.Errorf("message %v", err)
		}
		if after := r.stats(); after != before {
			t.Errorf("a wrong free changed %+v to %+v", before, after)
		}
		r.ok(r.Free(p))
		r.code("twice", r.Free(p), DriverError)
	}
	s := r.stream()
	p := must[Ptr](t)(r.Malloc(64))
	r.ok(r.LaunchKernel(r.long, nil, s), r.Free(p))
	err := r.Free(p)
	r.code("twice while it waits", err, DriverError)
	if !strings.Contains(err.Error(), "freed already") {
		t.Errorf("message %v", err)
	}
	r.code("no device memory", r.Free(0x1234), DriverError)
	r.ok(r.SynchronizeStream(s), r.DestroyStream(s))
	r.clean()
}

// pageAligned is n bytes of ordinary memory at a page's start.
func pageAligned(n int) []byte {
	b := make([]byte, n+4096)
	off := (4096 - addressOf(b)%4096) % 4096
	return b[off : off+uint64(n) : off+uint64(n)]
}

func TestM13_registerHost(t *testing.T) {
	r := newRig(t, Config{})
	mem := pageAligned(3 * 4096)
	p := must[Ptr](t)(r.RegisterHost(mem, RegisterMapped))
	_, err := r.RegisterHost(mem, RegisterMapped)
	r.code("twice", err, HostRegistered)
	_, err = r.RegisterHost(mem[4096:8192], RegisterMapped)
	r.code("a part", err, HostRegistered)
	r.code("unknown", r.UnregisterHost(pageAligned(4096)), HostUnregistered)
	_, err = r.RegisterHost(pageAligned(8192)[16:4096+16], RegisterMapped)
	r.code("unaligned", err, InvalidParam)
	_, err = r.RegisterHost(pageAligned(4096)[:100], RegisterMapped)
	r.code("odd size", err, InvalidParam)
	if q := must[Ptr](t)(r.HostDevicePointer(mem[4096:])); q != p+4096 {
		t.Errorf("the second page has address 0x%x, the first 0x%x", uint64(q), uint64(p))
	}
	at := func(p Ptr) Location {
		l, _, err := r.PointerAttributes(p)
		r.ok(err)
		return l
	}
	if at(p) != OnHost || at(r.counter) != OnDevice || at(0x1234) != Unregistered {
		t.Errorf("locations %v, %v, %v", at(p), at(r.counter), at(0x1234))
	}
	r.ok(r.UnregisterHost(mem))
	r.code("unregister twice", r.UnregisterHost(mem), HostUnregistered)
	_, err = r.HostDevicePointer(mem)
	r.code("pointer afterwards", err, HostUnregistered)
	r.code("copy afterwards", r.Memcpy(r.counter, p, 8), InvalidParam)
	h := must[HostMem](t)(r.MallocHost(4096))
	_, err = r.RegisterHost(h.Bytes, RegisterMapped|RegisterPinned)
	r.code("pinned memory once more", err, InvalidParam)
	r.ok(r.FreeHost(h))
	if s := r.rt.PinnedStats(); s.Bytes > leastStage || s.Locked > s.Bytes {
		t.Errorf("pinned memory left: %+v", s)
	}
}

// vectorAdd adds n 16-bit words.
func vectorAdd(n int) func(c *sim.Call) *sim.Fault {
	return func(c *sim.Call) *sim.Fault {
		args, f := c.Space.Resolve(c.Args, 24, sim.Read)
		if f != nil {
			return f
		}
		var m [3][]byte
		for i := range m {
			want := sim.Read
			if i == 2 {
				want = sim.ReadWrite
			}
			if m[i], f = c.Space.Resolve(binary.LittleEndian.Uint64(args[8*i:]), 2*n, want); f != nil {
				return f
			}
		}
		for i := 0; i < 2*n; i += 2 {
			binary.LittleEndian.PutUint16(m[2][i:], binary.LittleEndian.Uint16(m[0][i:])+binary.LittleEndian.Uint16(m[1][i:]))
		}
		return nil
	}
}

func TestM14_zeroCopy(t *testing.T) {
	r := newRig(t, Config{})
	const n = 16384
	add := must[*Kernel](t)(r.NewKernel("vector add", trace.KernelAIVector, 8, 1000, vectorAdd(n)))
	var mem [3][]byte
	var args []uint64
	for i := range mem {
		mem[i] = pageAligned(2 * n)
		args = append(args, uint64(must[Ptr](t)(r.RegisterHost(mem[i], RegisterMapped|RegisterPinned))))
	}
	for i := range n {
		binary.LittleEndian.PutUint16(mem[0][2*i:], uint16(i))
		binary.LittleEndian.PutUint16(mem[1][2*i:], uint16(3*i))
	}
	r.ok(r.LaunchKernel(add, args, nil), r.SynchronizeStream(nil))
	for i := range n {
		if v := binary.LittleEndian.Uint16(mem[2][2*i:]); v != uint16(4*i) {
			t.Fatalf("element %d is %d", i, v)
		}
	}
	for _, m := range mem {
		r.ok(r.UnregisterHost(m))
	}
	if x := rowsOf(r.trace(), "vector add"); len(x) != 1 {
		t.Errorf("%d kernels", len(x))
	}
}

func TestM19_managed(t *testing.T) {
	r := newRig(t, Config{})
	m := must[HostMem](t)(r.AllocManaged(100, 1))
	if l, _, _ := r.PointerAttributes(m.Addr); l != Managed || uint64(m.Addr) < 0x90000000000 {
		t.Errorf("location %v at 0x%x", l, uint64(m.Addr))
	}
	binary.LittleEndian.PutUint64(m.Bytes, 40)
	r.ok(r.LaunchKernel(r.add, []uint64{uint64(m.Addr), 2}, nil), r.SynchronizeStream(nil))
	if v := binary.LittleEndian.Uint64(m.Bytes); v != 42 {
		t.Errorf("the host reads %d", v)
	}
	_, err := r.AllocManaged(100, 0)
	r.code("flag 0", err, InvalidParam)
	r.ok(r.FreeManaged(m))
	old := newRig(t, Config{Chip: chipOf(t, firstOf(t, "Ascend910"))})
	_, err = old.AllocManaged(100, 1)
	old.code("on the 910A", err, NotSupported)
}

func TestM20_rowsAndBatches(t *testing.T) {
	r := newRig(t, Config{})
	p := must[Ptr](t)(r.Malloc(4096))
	host := make([]byte, 64)
	for i := range host {
		host[i] = byte(i)
	}
	c := Copy2D{Dst: At(p), DstPitch: 32, Src: Pageable(host), SrcPitch: 16, Width: 10, Height: 4, Kind: CopyHostToDevice}
	bad := c
	bad.Width = 17
	r.code("width > pitch", r.Memcpy2D(bad), InvalidParam)
	bad = c
	bad.Height = 5*1024*1024 + 1
	r.code("too many rows", r.Memcpy2DAsync(bad, nil), InvalidParam)
	bad = c
	bad.Kind = CopyDeviceToDevice
	r.code("inside the device", r.Memcpy2D(bad), InvalidParam)
	r.ok(r.Memcpy2D(c))
	out := make([]byte, 40)
	back := Copy2D{Dst: Pageable(out), DstPitch: 10, Src: At(p), SrcPitch: 32, Width: 10, Height: 4, Kind: CopyDeviceToHost}
	r.ok(r.Memcpy2DAsync(back, nil))
	for i := range out {
		if out[i] != byte(i/10*16+i%10) {
			t.Fatalf("rows came back as %v", out)
		}
	}
	items := []BatchItem{{At(p), 64, Pageable(host[:8]), 8}, {At(p + 64), 64, Pageable(host[8:16]), 8}}
	i, err := r.MemcpyBatch(items, []CopyKind{CopyHostToDevice}, []int{1})
	r.code("first attribute at item 1", err, InvalidParam)
	if i != NoItem {
		t.Errorf("item %d is blamed", i)
	}
	items[1].Limit = 4
	i, err = r.MemcpyBatchAsync(items, []CopyKind{CopyHostToDevice}, []int{0}, nil)
	r.code("second item too large", err, InvalidParam)
	if i != 1 {
		t.Errorf("item %d is blamed", i)
	}
	items[1].Limit = 64
	_, err = r.MemcpyBatch(items, []CopyKind{CopyHostToDevice}, []int{0})
	r.ok(err, r.MemcpyToHost(out[:8], p+64))
	if !bytes.Equal(out[:8], host[8:16]) {
		t.Errorf("the second item holds %v", out[:8])
	}
	r.ok(r.Free(p))
	r.clean()
}
