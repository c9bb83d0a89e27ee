package runtime

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"npu/internal/sim"
	"npu/internal/sim/soc"
	"npu/internal/trace"
)

// bare is a thread that has set no device.
func bare(t testing.TB, c Config) *rig {
	t.Helper()
	c.Chip = chipWith(t, func(*soc.Chip) {})
	rt, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, rt: rt, Thread: rt.Attach(), rec: c.Recorder}
	t.Cleanup(func() { closeOnce(t, rt, r.Thread) })
	return r
}

func TestX01_nothingSet(t *testing.T) {
	r := bare(t, Config{})
	_, err := r.CurrentContext()
	r.code("context", err, ContextNull)
	_, err = r.Device()
	r.code("device", err, ContextNull)
	_, err = r.Malloc(8)
	r.code("malloc", err, ContextNull)
	r.code("synchronise", r.SynchronizeStream(nil), ContextNull)
	_, err = r.CreateStream(StreamConfig{})
	r.code("stream", err, ContextNull)
}

func TestX02_currentContext(t *testing.T) {
	r := newRig(t, Config{})
	c := must[*Context](t)(r.CreateContext(0))
	if got := must[*Context](t)(r.CurrentContext()); got != c {
		t.Error("the new context is not current")
	}
	r.code("set null", r.SetCurrentContext(nil), InvalidParam)
	r.ok(r.DestroyContext(c))
	r.code("set a destroyed one", r.SetCurrentContext(c), InvalidParam)
	_, err := r.CurrentContext()
	r.code("current after destroy", err, ContextNull)
	_, err = r.ContextOf(c.Handle())
	r.code("handle after destroy", err, InvalidHandle)
	r.ok(r.SetDevice(0), r.PushContext(must[*Context](t)(r.CreateContext(0))), r.PopContext())
	r.code("pop too often", r.PopContext(), InvalidParam)
	r.code("destroy null", r.DestroyContext(nil), ACLInvalidParam)
	r.code("destroy twice", r.DestroyContext(c), ContextNull)
}

func TestX03_destroyedElsewhere(t *testing.T) {
	r := newRig(t, Config{})
	c := must[*Context](t)(r.CreateContext(0))
	k := must[*Kernel](t)(r.NewKernel("k", trace.KernelAICore, 1, 100, nil))
	s := r.stream()
	gone := NewChan(1)
	child := must[*Child](t)(r.Go(func(b *Thread) error {
		if err := b.LaunchKernel(k, nil, nil); err != nil {
			return err
		}
		if _, _, err := b.Recv(gone); err != nil {
			return err
		}
		r.code("launch", b.LaunchKernel(k, nil, nil), ContextNull)
		r.code("launch on its stream", b.LaunchKernel(k, nil, s), ContextNull)
		_, err := b.Malloc(8)
		r.code("malloc", err, ContextNull)
		return b.SetDevice(0)
	}))
	r.ok(r.DestroyContext(c), r.Send(gone, nil), r.Wait(child))
	r.ok(r.SetDevice(0))
	r.code("kernel of the destroyed context", r.LaunchKernel(k, nil, nil), InvalidHandle)
	r.clean()
}

func TestX04_destroyPrimary(t *testing.T) {
	r := newRig(t, Config{})
	err := r.DestroyContext(must[*Context](t)(r.CurrentContext()))
	r.code("destroy", err, ContextNull)
	if err == nil || !strings.Contains(err.Error(), "EE1017") {
		t.Errorf("no EE1017 in %v", err)
	}
}

func TestX05_resetCounts(t *testing.T) {
	r := bare(t, Config{})
	r.ok(r.SetDevice(0), r.SetDevice(0), r.ResetDevice(0), r.ResetDevice(0))
	r.code("third reset", r.ResetDevice(0), ContextRelease)
	r.ok(r.SetDevice(0), r.SetDevice(0), r.SetDevice(0), r.ResetDevice(0), r.ResetDeviceForce(0))
	r.code("reset after force", r.ResetDevice(0), ContextRelease)
	r.code("force after force", r.ResetDeviceForce(0), ContextRelease)
	r.code("set after all", r.SetDevice(0), 0)
}

func TestX06_resetWaitsAndFrees(t *testing.T) {
	r := newRig(t, Config{})
	free, total, _, err := r.MemInfo()
	r.ok(err)
	s := r.stream()
	e := must[*Event](t)(r.CreateEvent())
	p := must[Ptr](t)(r.Malloc(64 << 20))
	other := must[*Context](t)(r.CreateContext(0))
	r.ok(r.SetDevice(0), r.ResetDevice(0)) // two sets, one reset
	r.ok(r.LaunchKernel(r.long, nil, s), r.RecordEvent(e, s), r.ResetDevice(0))
	if r.Clock() < 50*ms {
		t.Errorf("reset returned at %d", r.Clock())
	}
	r.code("no context", r.LaunchKernel(r.tiny, nil, nil), ContextNull)
	r.ok(r.SetDevice(0))
	r.code("stream", r.SynchronizeStream(s), InvalidHandle)
	r.code("free", r.Free(p), DriverError)
	r.code("explicit context", r.SetCurrentContext(other), InvalidParam)
	now, total2, _, err := r.MemInfo()
	if r.ok(err); total2 != total || now < free {
		t.Errorf("free memory %d, before %d of %d", now, free, total)
	}
}

func TestX07_visibleDevices(t *testing.T) {
	for _, c := range []struct {
		list    string
		devices int
		bad     bool
	}{{"1,3", 2, false}, {"3,1", 0, true}, {"1, 3", 1, false}, {"1,1", 0, true}, {"", 8, false}, {"9", 0, false}, {"x", 0, false}, {"0,2,junk,5", 2, false}, {"7,8", 1, false}} {
		r := bare(t, Config{Devices: 8, MemoryBytes: 64 << 20, Visible: c.list})
		if got := r.rt.Devices(); got != c.devices {
			t.Errorf("%q: %d devices, want %d", c.list, got, c.devices)
		}
		err := r.SetDevice(0)
		switch {
		case c.bad:
			r.code("set", err, InvalidDevice)
			if err == nil || !strings.Contains(err.Error(), "EE2002") {
				t.Errorf("%q: no EE2002 in %v", c.list, err)
			}
		case c.devices == 0:
			r.code("set", err, InvalidDevice)
		default:
			r.ok(err)
		}
		closeOnce(t, r.rt, r.Thread)
	}
	// Number 1 stands for device 3, and the trace says so.
	rec := trace.NewRecorder()
	r := bare(t, Config{Devices: 4, MemoryBytes: 64 << 20, Visible: "1,3", Recorder: rec})
	r.ok(r.SetDevice(1))
	r.load()
	r.ok(r.LaunchKernel(r.tiny, nil, nil))
	for _, x := range rowsOf(r.trace(), "tiny") {
		if x.Device != 3 {
			t.Errorf("the kernel ran on device %d", x.Device)
		}
	}
}

func TestX08_badDevice(t *testing.T) {
	r := bare(t, Config{Devices: 2, MemoryBytes: 64 << 20})
	for _, id := range []int{99, -1, 2} {
		err := r.SetDevice(id)
		r.code("set", err, InvalidDevice)
		if err == nil || !strings.Contains(err.Error(), "EE1001") || !strings.Contains(err.Error(), "[0, 2)") {
			t.Errorf("no EE1001 with the range in %v", err)
		}
	}
	_, err := r.CreateContext(99)
	r.code("context", err, InvalidDevice)
	r.code("reset", r.ResetDevice(99), InvalidDevice)
}

func TestX09_twoThreadsOneStream(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	s.Share()
	const n = 10_000
	run := func(th *Thread) error {
		for range n {
			if err := th.LaunchKernel(r.add, []uint64{uint64(r.counter), 1}, s); err != nil {
				return err
			}
		}
		return nil
	}
	a, b := must[*Child](t)(r.Go(run)), must[*Child](t)(r.Go(run))
	r.ok(r.Wait(a, b), r.SynchronizeStream(s))
	if v := r.value(); v != 2*n {
		t.Errorf("%d kernels ran, want %d", v, 2*n)
	}
	var last int64
	for i, x := range rowsOf(r.trace(), "add") {
		if x.Submit < last {
			t.Fatalf("kernel %d was submitted at %d, the one before at %d", i, x.Submit, last)
		}
		last = x.Submit
	}
}

func TestX10_peers(t *testing.T) {
	r := newRig(t, Config{Devices: 2, MemoryBytes: 256 << 20})
	if can := must[bool](t)(r.CanAccessPeer(0, 1)); !can {
		t.Error("no access")
	}
	_, err := r.CanAccessPeer(1, 1)
	r.code("the same device", err, InvalidParam)
	src := must[Ptr](t)(r.Malloc(1 << 20))
	r.ok(r.MemcpyFromHost(src, bytes.Repeat([]byte{103}, 1<<20)))
	r.ok(r.SetDevice(1))
	dst := must[Ptr](t)(r.Malloc(1 << 20))
	s := r.stream()
	r.code("without access", r.MemcpyAsync(dst, src, 1<<20, s), DriverError)
	r.code("flags", r.EnablePeerAccess(0, 1), InvalidParam)
	r.ok(r.EnablePeerAccess(0, 0), r.EnablePeerAccess(0, 0), r.SetDevice(0), r.EnablePeerAccess(1, 0), r.SetDevice(1))
	t0 := r.Clock()
	r.ok(r.MemcpyAsync(dst, src, 1<<20, s), r.SynchronizeStream(s))
	if ns := r.Clock() - t0; ns < 10_000 {
		t.Errorf("1 MiB over the link took %d ns", ns)
	}
	out := make([]byte, 1<<20)
	r.ok(r.MemcpyToHost(out, dst))
	if out[0] != 103 || out[len(out)-1] != 103 {
		t.Errorf("copied %d … %d", out[0], out[len(out)-1])
	}
	// An event of one device holds a stream of the other one.
	e := must[*Event](t)(r.CreateEvent())
	r.load()
	r.ok(r.LaunchKernel(r.long, nil, s), r.RecordEvent(e, s), r.SetDevice(0))
	t0 = r.Clock()
	r.ok(r.WaitEvent(nil, e), r.SynchronizeStream(nil))
	if ns := r.Clock() - t0; ns < 40*ms {
		t.Errorf("the wait for the other device's event took %d ns", ns)
	}
	r.ok(r.SetDevice(1), r.DisablePeerAccess(0))
	r.code("after disable", r.MemcpyAsync(dst, src, 1<<20, s), DriverError)
	r.code("synchronous, after disable", r.Memcpy(dst, src, 1<<20), DriverError)
}

// An isolated context reaches what was allocated in it and nothing else, and nobody else reaches that.
func TestContext_isolated(t *testing.T) {
	r := newRig(t, Config{MemoryBytes: 256 << 20})
	shared := r.counter
	iso := must[*Context](t)(r.CreateContextWith(0, ContextConfig{Isolated: true}))
	r.load()
	own := must[Ptr](t)(r.Malloc(8))
	inc := func(p Ptr) error {
		if err := r.LaunchKernel(r.add, []uint64{uint64(p), 1}, nil); err != nil {
			return err
		}
		return r.SynchronizeStream(nil)
	}
	r.ok(r.Memset(own, 0, 8), inc(own))
	r.code("shared memory from the isolated context", inc(shared), AICoreException)
	r.code("copy of shared memory", r.Memcpy(own, shared, 8), SDMAError)
	if n := must[int64](t)(r.Allocated(iso)); n != sim.Page {
		t.Errorf("%d bytes are accounted for, want a page", n)
	}
	r.ok(r.SetDevice(0))
	r.load()
	r.ok(inc(shared))
	r.code("isolated memory from the shared contexts", inc(own), AICoreException)
	r.ok(r.DestroyContext(iso))
	r.code("its memory went with it", r.Free(own), DriverError)
	r.clean()
}

func TestKernel_unload(t *testing.T) {
	r := newRig(t, Config{})
	k := must[*Kernel](t)(r.NewKernel("k", trace.KernelAICore, 1, 1000, nil))
	s := r.stream()
	l := must[*Launch](t)(r.Prepare(k, []uint64{1, 2}, s))
	r.ok(r.Submit(l), r.LaunchKernel(k, nil, s), r.SynchronizeStream(s))
	r.ok(r.LaunchKernel(r.long, nil, s), r.LaunchKernel(k, nil, s), r.UnloadKernel(k))
	r.code("a launch under way", r.SynchronizeStream(s), AICoreException)
	r.code("launch", r.LaunchKernel(k, nil, s), InvalidHandle)
	r.code("prepared launch", r.Submit(l), InvalidHandle)
	r.code("unload twice", r.UnloadKernel(k), InvalidHandle)
	r.ok(r.DropLaunch(l), r.DestroyStream(s))
	add := KernelConfig{Name: "add", Run: addKernel(t, r.Thread, 8).run, In: []int{32, 32}, Out: []int{32}}
	b := must[*Binary](t)(r.LoadBinary(add))
	_, err := r.Function(b, "sub")
	r.code("unknown function", err, KernelLookup)
	f := must[*Kernel](t)(r.Function(b, "add"))
	r.ok(r.UnloadBinary(b))
	r.code("launch after unload", r.LaunchKernel(f, nil, nil), InvalidHandle)
	_, err = r.Function(b, "add")
	r.code("look-up after unload", err, InvalidHandle)
	r.clean()
}

func TestMutexAndChan(t *testing.T) {
	r := newRig(t, Config{})
	var m Mutex
	c := NewChan(2)
	total := 0
	var children []*Child
	for range 4 {
		children = append(children, must[*Child](t)(r.Go(func(th *Thread) error {
			for range 25 {
				if err := th.Lock(&m); err != nil {
					return err
				}
				total++
				th.Work(500)
				if err := th.Unlock(&m); err != nil {
					return err
				}
				if err := th.Send(c, 1); err != nil {
					return err
				}
			}
			return nil
		})))
	}
	got := 0
	for range 100 {
		v, ok, err := r.Recv(c)
		r.ok(err)
		if got += v.(int); !ok {
			t.Fatal("closed")
		}
	}
	r.ok(r.Wait(children...))
	if total != 100 || got != 100 || r.rt.WallOrdered() {
		t.Errorf("total %d, got %d, ordered by wall time %v", total, got, r.rt.WallOrdered())
	}
	r.ok(r.CloseChan(c))
	if _, ok, err := r.Recv(c); ok || err != nil {
		t.Errorf("receive from a closed channel: %v %v", ok, err)
	}
	r.code("send to a closed channel", r.Send(c, 1), InvalidParam)
	r.code("unlock twice", r.Unlock(&m), InvalidParam)
	var dead *sim.Deadlock
	r.ok(r.Lock(&m))
	if err := r.Lock(&m); !errors.As(err, &dead) {
		t.Errorf("lock twice: %v", err)
	}
}

// A stream that is not shared takes submissions of its own thread only, and of the heir of a thread that has ended.
func TestStream_owner(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	var theirs *Stream
	r.ok(r.Wait(must[*Child](t)(r.Go(func(th *Thread) error {
		r.code("launch", th.LaunchKernel(r.tiny, nil, s), InvalidParam)
		var err error
		if theirs, err = th.CreateStream(StreamConfig{}); err != nil {
			return err
		}
		return errors.Join(th.LaunchKernel(r.tiny, nil, theirs), th.SynchronizeStream(s))
	}))))
	r.ok(r.inc(theirs), r.SynchronizeStream(theirs))
	if r.value() != 1 {
		t.Error("the heir's launch did not run")
	}
}
