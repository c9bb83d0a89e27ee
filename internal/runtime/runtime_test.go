package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"npu/internal/sim/kernels"
	"npu/internal/sim/soc"
	"npu/internal/tensor"
	"npu/internal/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, c Config) (*Runtime, *Thread) {
	t.Helper()
	if c.Chip == nil {
		chip, err := soc.Lookup("Ascend910B3")
		if err != nil {
			t.Fatal(err)
		}
		c.Chip = chip
	}
	rt, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	th := rt.Attach()
	t.Cleanup(func() { closeOnce(t, rt, th) })
	if err := th.SetDevice(0); err != nil {
		t.Fatal(err)
	}
	return rt, th
}

// closeOnce lets a test close the runtime before its end.
func closeOnce(t testing.TB, rt *Runtime, th *Thread) {
	t.Helper()
	if th.rt == nil {
		return
	}
	if err := rt.Close(th); err != nil {
		t.Error(err)
	}
	th.rt = nil
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantCode(t testing.TB, what string, err error, code Code) {
	t.Helper()
	var e *Error
	if code == 0 && err == nil {
		return
	}
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: %v, want code %d", what, err, code)
	}
}

// addKernel compiles float32 addition of n elements.
func addKernel(t testing.TB, th *Thread, n int) *Kernel {
	t.Helper()
	d := kernels.Desc{DType: tensor.Float32, Shape: tensor.Shape{n}}
	k, err := kernels.Compile(&kernels.Spec{Op: "Add", Opset: 14, In: []kernels.Desc{d, d}, Out: []kernels.Desc{d}})
	if err != nil {
		t.Fatal(err)
	}
	return must[*Kernel](t)(th.LoadKernel(KernelConfig{Name: "add", Run: k, In: []int{4 * n, 4 * n}, Out: []int{4 * n}}))
}

// The pattern of every program: copy in, launch, copy out.
func TestRoundTrip(t *testing.T) {
	_, th := open(t, Config{})
	const n = 1000
	k := addKernel(t, th, n)
	s := must[*Stream](t)(th.CreateStream(StreamConfig{}))
	x, y := must[Ptr](t)(th.Malloc(4*n)), must[Ptr](t)(th.Malloc(4*n))
	in := make([]float32, n)
	for i := range in {
		in[i] = float32(i)
	}
	if err := th.MemcpyFromHost(x, tensor.Bytes(in)); err != nil {
		t.Fatal(err)
	}
	for range 3 { // y = x+x, then y = x+y twice
		a := x
		if err := th.LaunchKernel(k, []uint64{uint64(x), uint64(a), uint64(y)}, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := th.SynchronizeStream(s); err != nil {
		t.Fatal(err)
	}
	out := make([]float32, n)
	if err := th.MemcpyToHost(tensor.Bytes(out), y); err != nil {
		t.Fatal(err)
	}
	for i := range out {
		if out[i] != 2*in[i] {
			t.Fatalf("element %d is %v, want %v", i, out[i], 2*in[i])
		}
	}
	c := must[Counters](t)(th.Counters())
	if c.Tasks == 0 || c.HostWaits != 1 || c.HostCopies != 2 {
		t.Errorf("counters %+v, want 1 wait and 2 copies", c)
	}
}

// Copies on one stream and kernels on another overlap, ordered by events alone (R1.5).
func TestOverlap(t *testing.T) {
	rec := trace.NewRecorder()
	rt, th := open(t, Config{Recorder: rec, Spans: true})
	copies := must[*Stream](t)(th.CreateStream(StreamConfig{Name: "copies"}))
	compute := must[*Stream](t)(th.CreateStream(StreamConfig{Name: "compute"}))
	const n, chunks = 4 << 20, 8
	host := must[HostMem](t)(th.MallocHost(n))
	dev := must[Ptr](t)(th.Malloc(n * chunks))
	k := must[*Kernel](t)(th.NewKernel("work", trace.KernelAICore, 20, 150_000, nil))
	for i := range chunks {
		e := must[*Event](t)(th.CreateEvent())
		for _, err := range []error{
			th.MemcpyAsync(dev+Ptr(i*n), host.Addr, n, copies),
			th.RecordEvent(e, copies),
			th.WaitEvent(compute, e),
			th.LaunchKernel(k, nil, compute),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := th.SynchronizeStream(compute); err != nil {
		t.Fatal(err)
	}
	closeOnce(t, rt, th)
	tr := rec.Finish()
	if err := tr.Check(); err != nil {
		t.Fatal(err)
	}
	var cp, kn []trace.Task
	for _, x := range tr.Tasks.All() {
		switch {
		case x.Kind == trace.Memcpy:
			cp = append(cp, x)
		case x.Kind.Kernel():
			kn = append(kn, x)
		}
	}
	var both, copyNs, kernelNs int64
	for _, c := range cp {
		copyNs += c.End - c.Start
		for _, k := range kn {
			both += max(0, min(k.End, c.End)-max(k.Start, c.Start))
		}
	}
	for _, k := range kn {
		kernelNs += k.End - k.Start
	}
	if len(cp) != chunks || len(kn) != chunks {
		t.Fatalf("%d copies, %d kernels", len(cp), len(kn))
	}
	// The first copy has nothing to hide behind.
	if shorter := min(copyNs, kernelNs) * (chunks - 1) / chunks; both < shorter*9/10 {
		t.Errorf("%d ns overlap; the shorter part is %d", both, shorter)
	}
}

func TestErrors(t *testing.T) {
	_, th := open(t, Config{})
	s := must[*Stream](t)(th.CreateStream(StreamConfig{}))
	if err := th.DestroyStream(s); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "destroy twice", th.DestroyStream(s), InvalidHandle)
	wantCode(t, "synchronise a destroyed stream", th.SynchronizeStream(s), InvalidHandle)
	wantCode(t, "bad device", th.SetDevice(9), InvalidDevice)
	_, err := th.Malloc(0)
	wantCode(t, "malloc 0", err, ACLInvalidParam)
	_, err = th.Malloc(1 << 50)
	wantCode(t, "malloc too much", err, OutOfMemory)
	p := must[Ptr](t)(th.Malloc(100))
	wantCode(t, "free inside a block", th.Free(p+32), DriverError)
	wantCode(t, "free", th.Free(p), 0)
	wantCode(t, "free twice", th.Free(p), DriverError)
	if e := th.LastError(); e == nil || e.Code != DriverError {
		t.Errorf("last error %v", e)
	}
	if th.LastError() != nil {
		t.Error("last error is not cleared by reading it")
	}
	other := must[*Context](t)(th.CreateContext(0))
	s2 := must[*Stream](t)(th.CreateStream(StreamConfig{}))
	if err := th.SetDevice(0); err != nil {
		t.Fatal(err)
	}
	k := must[*Kernel](t)(th.NewKernel("k", trace.KernelAICore, 1, 100, nil))
	wantCode(t, "launch on a stream of another context", th.LaunchKernel(k, nil, s2), StreamContext)
	wantCode(t, "synchronise it", th.SynchronizeStream(s2), 0)
	wantCode(t, "destroy context", th.DestroyContext(other), 0)
	wantCode(t, "set a destroyed context", th.SetCurrentContext(other), InvalidParam)
}

// A kernel with a bad pointer faults asynchronously: the launch succeeds, the next synchronise reports it once.
func TestFault_reported(t *testing.T) {
	_, th := open(t, Config{})
	const n = 64
	k := addKernel(t, th, n)
	x := must[Ptr](t)(th.Malloc(4 * n))
	if err := th.LaunchKernel(k, []uint64{uint64(x), 0x1240_7000_0000, uint64(x)}, nil); err != nil {
		t.Fatalf("the launch itself must succeed: %v", err)
	}
	err := th.SynchronizeStream(nil)
	wantCode(t, "synchronise", err, VectorException)
	if err == nil || !bytes.Contains([]byte(err.Error()), []byte("input 1")) {
		t.Errorf("message does not name the operand: %v", err)
	}
	wantCode(t, "synchronise again", th.SynchronizeStream(nil), 0)
}

// Freed memory comes back only when the tasks that were under way have passed.
func TestFree_waits(t *testing.T) {
	_, th := open(t, Config{MemoryBytes: 64 << 20})
	s := must[*Stream](t)(th.CreateStream(StreamConfig{}))
	p := must[Ptr](t)(th.Malloc(40 << 20))
	k := must[*Kernel](t)(th.NewKernel("long", trace.KernelAICore, 1, 50e6, nil))
	if err := th.LaunchKernel(k, nil, s); err != nil {
		t.Fatal(err)
	}
	th.Work(10_000) // the doorbell has arrived
	if err := th.Free(p); err != nil {
		t.Fatal(err)
	}
	_, err := th.Malloc(40 << 20)
	wantCode(t, "malloc while the kernel runs", err, OutOfMemory)
	if err := th.SynchronizeStream(s); err != nil {
		t.Fatal(err)
	}
	if _, err := th.Malloc(40 << 20); err != nil {
		t.Errorf("malloc after the kernel: %v", err)
	}
}

// Threads join in virtual time: the parent goes on at the child's end.
func TestThread_join(t *testing.T) {
	_, th := open(t, Config{})
	var children []*Child
	for i := range 3 {
		children = append(children, must[*Child](t)(th.Go(func(c *Thread) error {
			c.Work(int64(1e6 * (i + 1)))
			if i == 1 {
				return fmt.Errorf("child %d", i)
			}
			return nil
		})))
	}
	if err := th.Wait(children...); err == nil || err.Error() != "child 1" {
		t.Errorf("error %v", err)
	}
	if c := th.Clock(); c < 3e6 || c > 4e6 {
		t.Errorf("clock %d, want about 3 ms", c)
	}
}

// A sunk model runs with one submission, and leaves the same bits as eager launches.
func TestModel(t *testing.T) {
	_, th := open(t, Config{})
	const n = 256
	k := addKernel(t, th, n)
	x := must[Ptr](t)(th.Malloc(4 * n))
	ones := bytes.Repeat([]byte{0, 0, 128, 63}, n)
	b := must[*ModelBuilder](t)(th.BuildModel())
	s := b.Stream(true)
	for range 10 {
		s.Launch(k, []uint64{uint64(x), uint64(x), uint64(x)})
	}
	s.End()
	m := must[*Model](t)(b.Build("doubling"))
	run := func(f func() error) []byte {
		t.Helper()
		if err := th.MemcpyFromHost(x, ones); err != nil {
			t.Fatal(err)
		}
		if err := f(); err != nil {
			t.Fatal(err)
		}
		if err := th.SynchronizeStream(nil); err != nil {
			t.Fatal(err)
		}
		out := make([]byte, 4*n)
		if err := th.MemcpyToHost(out, x); err != nil {
			t.Fatal(err)
		}
		return out
	}
	eager := run(func() error {
		for range 10 {
			if err := th.LaunchKernel(k, []uint64{uint64(x), uint64(x), uint64(x)}, nil); err != nil {
				return err
			}
		}
		return nil
	})
	before := must[Counters](t)(th.Counters())
	sunk := run(func() error { return th.ExecuteModel(m, nil) })
	after := must[Counters](t)(th.Counters())
	if !bytes.Equal(eager, sunk) || tensor.View[float32](eager)[7] != 1024 {
		t.Errorf("eager %v, sunk %v", tensor.View[float32](eager)[7], tensor.View[float32](sunk)[7])
	}
	if d := after.Doorbells - before.Doorbells; d != 1 {
		t.Errorf("%d doorbells for a sunk model", d)
	}
}

func TestLaunch_allocatesNothing(t *testing.T) {
	_, th := open(t, Config{})
	k := must[*Kernel](t)(th.NewKernel("k", trace.KernelAICore, 1, 100, nil))
	s := must[*Stream](t)(th.CreateStream(StreamConfig{}))
	e := must[*Event](t)(th.CreateEvent())
	args := []uint64{1, 2, 3}
	round := func() {
		for range 50 {
			if err := errors.Join(th.LaunchKernel(k, args, s), th.RecordEvent(e, s), th.WaitEvent(s, e)); err != nil {
				t.Fatal(err)
			}
		}
		if err := th.SynchronizeStream(s); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		round()
	}
	if n := testing.AllocsPerRun(20, round); n != 0 {
		t.Errorf("50 launches, records and waits allocate %v times", n)
	}
}
