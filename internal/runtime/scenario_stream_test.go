package runtime

import (
	"errors"
	"strings"
	"testing"

	"npu/internal/sim"
	"npu/internal/sim/soc"
	"npu/internal/trace"
)

func TestS01_dependentKernels(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	for range 3 {
		r.ok(r.inc(s))
	}
	r.ok(r.LaunchKernel(r.long, nil, s))
	if c := r.Clock(); c > 2*ms {
		t.Errorf("four launches took %d ns of host time", c)
	}
	if done := must[bool](t)(r.QueryStream(s)); done {
		t.Error("query says complete behind a long kernel")
	}
	r.ok(r.SynchronizeStream(s))
	if done := must[bool](t)(r.QueryStream(s)); !done {
		t.Error("query says not ready after synchronise")
	}
	if v := r.value(); v != 3 {
		t.Errorf("counter %d, want 3", v)
	}
	r.ok(r.DestroyStream(s))
	r.clean()
}

func TestS02_continueOnFailure(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	r.ok(r.inc(s), r.LaunchKernel(r.boom, nil, s), r.inc(s))
	r.code("first synchronise", r.SynchronizeStream(s), VectorException)
	r.code("second synchronise", r.SynchronizeStream(s), 0)
	if v := r.value(); v != 2 {
		t.Errorf("counter %d, want 2", v)
	}
}

func TestS03_stopOnFailure(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	r.ok(r.SetStreamFailureMode(s, StopOnFailure))
	r.ok(r.inc(s), r.LaunchKernel(r.boom, nil, s), r.inc(s))
	r.code("synchronise", r.SynchronizeStream(s), VectorException)
	r.code("synchronise again", r.SynchronizeStream(s), VectorException)
	r.code("launch", r.inc(s), VectorException)
	r.code("synchronise a third time", r.SynchronizeStream(s), VectorException)
	if v := r.value(); v != 1 {
		t.Errorf("counter %d, want 1", v)
	}
	r.code("reset", r.ResetDevice(0), VectorException)
	r.ok(r.SetDevice(0)) // a new context is good again
	r.load()
	r.ok(r.LaunchKernel(r.tiny, nil, nil), r.SynchronizeStream(nil))
}

func TestS04_stopIsTheContexts(t *testing.T) {
	r := newRig(t, Config{})
	a, b := r.stream(), r.stream()
	r.ok(r.SetStreamFailureMode(a, StopOnFailure))
	r.ok(r.LaunchKernel(r.boom, nil, a))
	r.Work(ms)
	first := r.SynchronizeStream(b)
	r.code("synchronise the other", first, VectorException)
	r.code("launch on the other", r.LaunchKernel(r.tiny, nil, b), VectorException)
	r.code("the failing one", r.SynchronizeStream(a), VectorException)
	r.code("device", r.SynchronizeDevice(), VectorException)
	if m := must[FailureMode](t)(r.StreamFailureMode(b)); m != StopOnFailure {
		t.Errorf("failure mode of the other stream is %d", m)
	}
	var x, y *sim.Fault
	if errors.As(first, &x) && errors.As(r.SynchronizeStream(a), &y) && x != y {
		t.Errorf("different faults: %v, %v", x, y)
	}
}

func TestS05_failureModeTwice(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	r.ok(r.SetStreamFailureMode(s, ContinueOnFailure))
	r.ok(r.SetStreamFailureMode(s, StopOnFailure), r.SetStreamFailureMode(s, StopOnFailure))
	r.code("back to continue", r.SetStreamFailureMode(s, ContinueOnFailure), NotSupported)
	r.code("unknown mode", r.SetStreamFailureMode(s, 7), InvalidParam)
	r.code("default stream", r.SetStreamFailureMode(nil, StopOnFailure), ACLInvalidParam)
}

// What the checker would say of the missing wait belongs to the checker.
func TestS06_noEventNoOrder(t *testing.T) {
	r := newRig(t, Config{})
	s1, s2 := r.stream(), r.stream()
	out := must[Ptr](t)(r.Malloc(8))
	r.ok(r.LaunchKernel(r.long, nil, s1), r.inc(s1))
	r.ok(r.MemcpyAsync(out, r.counter, 8, s2))
	r.ok(r.SynchronizeStream(s2), r.SynchronizeStream(s1))
	var b [8]byte
	r.ok(r.MemcpyToHost(b[:], out))
	if b[0] != 0 || r.value() != 1 {
		t.Errorf("the copy saw %d, the kernel left %d; want the old 0 and 1", b[0], r.value())
	}
}

func TestS07_defaultStreamDoesNotSynchronise(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	r.ok(r.LaunchKernel(r.long, nil, nil), r.LaunchKernel(r.tiny, nil, s))
	r.ok(r.SynchronizeStream(s))
	if c := r.Clock(); c > 10*ms {
		t.Errorf("the short kernel ended at %d, behind the long one", c)
	}
	r.ok(r.SynchronizeStream(nil))
}

func TestS08_priorityIsDispatchOrder(t *testing.T) {
	for _, p := range []sim.Policy{sim.Preempt, sim.Reference} {
		r := newRig(t, Config{Policy: p})
		units := uint32(r.rt.devices[0].hw.Units(trace.EngineCube))
		wide := must[*Kernel](t)(r.NewKernel("wide", trace.KernelAICore, units, 10_000, nil))
		urgent := must[*Kernel](t)(r.NewKernel("urgent", trace.KernelAICore, units, 10_000, nil))
		low, high := r.stream(StreamConfig{Priority: 7}), r.stream(StreamConfig{Priority: 0})
		for range 100 {
			r.ok(r.LaunchKernel(wide, nil, low))
		}
		r.ok(r.LaunchKernel(urgent, nil, high))
		r.ok(r.SynchronizeDevice())
		tr := r.trace()
		u := rowsOf(tr, "urgent")[0]
		for _, x := range rowsOf(tr, "wide") {
			if x.Start < u.Start && x.End > u.Start {
				t.Errorf("%v: a running kernel was interrupted", p)
			}
			if x.Start > u.Ready && x.Start < u.Start {
				t.Errorf("%v: a low-priority kernel was dispatched at %d, the urgent one was ready at %d and started at %d", p, x.Start, u.Ready, u.Start)
			}
		}
	}
}

func TestS09_priorityIsClamped(t *testing.T) {
	r := newRig(t, Config{})
	for want, p := range map[int]int{0: -3, 7: 99, 4: 4} {
		if s := r.stream(StreamConfig{Priority: p}); s.Priority() != want {
			t.Errorf("priority %d became %d, want %d", p, s.Priority(), want)
		}
	}
	if least, greatest := r.PriorityRange(); least != 7 || greatest != 0 {
		t.Errorf("range %d, %d", least, greatest)
	}
}

func TestS10_unknownFlag(t *testing.T) {
	r := newRig(t, Config{})
	_, err := r.CreateStream(StreamConfig{Flags: 0x1000})
	r.code("flag 0x1000", err, InvalidParam)
	s := r.stream(StreamConfig{Flags: FastLaunch | FastSync})
	if s.Flags() != FastLaunch|FastSync {
		t.Errorf("flags %x", s.Flags())
	}
	p := r.stream(StreamConfig{Flags: Persistent})
	r.ok(r.SynchronizeStream(p))
	r.code("submission to a stream of the device", r.LaunchKernel(r.tiny, nil, r.stream(StreamConfig{Flags: DeviceUseOnly})), InvalidParam)
}

func TestS11_fullRing(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	n := r.rt.Chip().RingDepth + 500
	r.ok(r.LaunchKernel(r.long, nil, s))
	for range n {
		r.ok(r.inc(s))
	}
	if c := r.Clock(); c < 50*ms {
		t.Errorf("the submitter was not held back: clock %d", c)
	}
	r.ok(r.SynchronizeStream(s))
	if v := r.value(); v != uint64(n) {
		t.Errorf("counter %d, want %d", v, n)
	}
	for i, x := range rowsOf(r.trace(), "add") {
		if x.Task != uint32(i+1) {
			t.Fatalf("kernel %d has task id %d", i, x.Task)
		}
	}
}

func TestS12_idsWrap(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	e := must[*Event](t)(r.CreateEvent())
	const n = 200_000
	for i := range n {
		r.ok(r.LaunchKernel(r.tiny, nil, s))
		if i%1000 == 999 {
			r.ok(r.RecordEvent(e, s), r.SynchronizeEvent(e))
			if done := must[bool](t)(r.QueryStream(s)); !done {
				t.Fatalf("the event behind kernel %d came too early", i)
			}
		}
	}
	var flips uint32
	tasks := 0
	for _, x := range r.trace().Tasks.All() {
		if x.Stream == s.ID() {
			flips = max(flips, x.Task>>16)
			tasks++
			if x.Task&0xffff == 0xffff {
				t.Fatal("task id 65535 was given out")
			}
		}
	}
	if flips < 2 || tasks != n+n/1000 {
		t.Errorf("%d flips, %d tasks", flips, tasks)
	}
}

func TestS13_synchroniseWithTimeout(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	r.ok(r.LaunchKernel(r.tiny, nil, s), r.LaunchKernel(r.long, nil, s))
	err := r.SynchronizeStreamTimeout(s, 10)
	r.code("10 ms", err, StreamSyncTimeout)
	if err == nil || !strings.Contains(err.Error(), "task 1") || !strings.Contains(err.Error(), "EE1002") {
		t.Errorf("message does not name the task: %v", err)
	}
	if c := r.Clock(); c < 10*ms || c > 11*ms {
		t.Errorf("it took until %d", c)
	}
	r.ok(r.inc(s), r.SynchronizeStreamTimeout(s, -1))
	r.code("0", r.SynchronizeStreamTimeout(s, 0), InvalidParam)
	r.code("-5", r.SynchronizeStreamTimeout(s, -5), InvalidParam)
	if v := r.value(); v != 1 {
		t.Errorf("counter %d", v)
	}
	r.ok(r.LaunchKernel(r.long, nil, s))
	r.code("device, 10 ms", r.SynchronizeDeviceTimeout(10), StreamSyncTimeout)
	r.ok(r.SynchronizeDeviceTimeout(1000))
}

func TestS14_destroyWaits(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	r.ok(r.LaunchKernel(r.long, nil, s), r.inc(s), r.DestroyStream(s))
	if r.Clock() < 50*ms || r.value() != 1 {
		t.Errorf("destroy returned at %d with counter %d", r.Clock(), r.value())
	}
	r.clean()
}

func TestS15_forcedDestroy(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	r.ok(r.LaunchKernel(r.long, nil, s))
	for range 5 {
		r.ok(r.inc(s))
	}
	r.Work(ms)
	r.ok(r.DestroyStreamForce(s))
	if c := r.Clock(); c > 3*ms {
		t.Errorf("forced destroy returned at %d", c)
	}
	if v := r.value(); v != 0 {
		t.Errorf("%d queued kernels ran", v)
	}
	r.clean()
	// The engines are free again.
	r.ok(r.inc(nil), r.SynchronizeStream(nil))
	for _, x := range rowsOf(r.trace(), "long") {
		if x.Code == 0 || x.End > 3*ms {
			t.Errorf("the dropped kernel's row: %+v", x)
		}
	}
}

func TestS16_destroyedHandle(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	h := s.Handle()
	e := must[*Event](t)(r.CreateEvent())
	r.ok(r.DestroyStream(s))
	_, kind := r.StreamOf(e.Handle())
	_, stale := r.StreamOf(h)
	again := r.stream() // takes the slot
	_, reused := r.StreamOf(h)
	for what, err := range map[string]error{
		"destroy twice": r.DestroyStream(s), "synchronise": r.SynchronizeStream(s), "launch": r.inc(s),
		"an event where a stream is expected": kind, "a stale handle": stale, "a stale handle whose slot is used again": reused,
	} {
		r.code(what, err, InvalidHandle)
		if err == nil || !strings.Contains(err.Error(), "EE1017") {
			t.Errorf("%s: no EE1017 in %v", what, err)
		}
	}
	if got := must[*Stream](t)(r.StreamOf(again.Handle())); got != again {
		t.Error("a good handle does not lead back")
	}
}

func TestS17_streamOfAnotherContext(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	r.ok(r.LaunchKernel(r.long, nil, s))
	b := must[*Context](t)(r.CreateContext(0))
	tiny := must[*Kernel](t)(r.NewKernel("tiny", trace.KernelAICore, 1, 1000, nil))
	err := r.LaunchKernel(tiny, nil, s)
	r.code("launch", err, StreamContext)
	if err == nil || !strings.Contains(err.Error(), "EE1010") {
		t.Errorf("no EE1010 in %v", err)
	}
	r.code("synchronise", r.SynchronizeStream(s), 0)
	r.code("destroy", r.DestroyStream(s), StreamContext)
	r.ok(r.DestroyContext(b))
}

func TestS18_abort(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	s.Share()
	r.ok(r.LaunchKernel(r.long, nil, s))
	for range 10 {
		r.ok(r.inc(s))
	}
	aborter := must[*Child](t)(r.Go(func(th *Thread) error {
		th.Work(5 * ms)
		return th.AbortStream(s)
	}))
	waiter := must[*Child](t)(r.Go(func(th *Thread) error { return th.SynchronizeStream(s) }))
	start := r.Clock()
	r.Work(5*ms + 20_000) // in the middle of the abort
	done := must[bool](t)(r.QueryStream(s))
	during := r.inc(s)
	r.ok(r.Wait(aborter))
	r.code("synchronise", r.Wait(waiter), StreamAbort)
	r.code("during", during, StreamAbort)
	if !done || r.Clock()-start > 10*ms {
		t.Errorf("done %v, clock %d after the start", done, r.Clock()-start)
	}
	r.ok(r.inc(s), r.SynchronizeStream(s))
	if v := r.value(); v != 1 {
		t.Errorf("counter %d, want the one launch after the abort", v)
	}
	r.ok(r.DestroyStream(s))
	r.clean()
}

// A thread that does not know of an abort submits into it: the task is dropped, and the thread told afterwards. Which
// of its calls tells it does not depend on wall time.
func TestAbort_dropsWhatIsOnItsWay(t *testing.T) {
	for range 20 {
		r := newRig(t, Config{})
		child := must[*Child](t)(r.Go(func(th *Thread) error {
			s, err := th.CreateStream(StreamConfig{})
			if err != nil {
				return err
			}
			aborter, err := th.Go(func(th *Thread) error { return th.AbortStream(s) })
			if err != nil {
				return err
			}
			th.Work(20_000)
			r.code("launch", th.LaunchKernel(r.add, []uint64{uint64(r.counter), 1}, s), 0)
			r.code("synchronise", th.SynchronizeStream(s), StreamAbort)
			return errors.Join(th.Wait(aborter), th.LaunchKernel(r.tiny, nil, s), th.SynchronizeStream(s), th.DestroyStream(s))
		}))
		r.ok(r.Wait(child))
		if v := r.value(); v != 0 {
			t.Fatal("the kernel ran")
		}
		closeOnce(t, r.rt, r.Thread)
	}
}

func TestAbortDevice(t *testing.T) {
	r := newRig(t, Config{})
	var all []*Stream
	for range 3 {
		s := r.stream()
		r.ok(r.LaunchKernel(r.long, nil, s), r.inc(s), r.LaunchHostFunc(s, func(*Thread) { t.Error("a dropped function ran") }))
		all = append(all, s)
	}
	r.Work(ms)
	r.ok(r.AbortDevice(0))
	for _, s := range all {
		r.ok(r.SynchronizeStream(s), r.inc(s), r.SynchronizeStream(s), r.DestroyStream(s))
	}
	if v := r.value(); v != 3 || r.Clock() > 10*ms {
		t.Errorf("counter %d, clock %d", v, r.Clock())
	}
	r.clean()
}

func TestStopStream(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	r.ok(r.LaunchKernel(r.long, nil, s))
	r.Work(ms)
	r.ok(r.StopStream(s), r.inc(s))
	var dead *sim.Deadlock
	if err := r.SynchronizeStream(s); !errors.As(err, &dead) || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("a stopped stream with work: %v", err)
	}
	if v := r.value(); v != 0 || r.Clock() < 50*ms {
		t.Errorf("counter %d, clock %d: the running kernel should have ended, the next not begun", v, r.Clock())
	}
	r.ok(r.AbortStream(s), r.inc(s), r.SynchronizeStream(s)) // an abort makes it usable again
	r.ok(r.StopStream(s), r.inc(s), r.DestroyStreamForce(s))
	if v := r.value(); v != 1 {
		t.Errorf("counter %d", v)
	}
	r.clean()
}

// An abort does not wait for user code that the stream has called; its end is nobody's business any more.
func TestAbort_duringHostFunction(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	ended := int64(0)
	r.ok(r.LaunchHostFunc(s, func(cb *Thread) { cb.Work(20 * ms); ended = cb.Clock() }), r.inc(s))
	r.Work(5 * ms)
	r.ok(r.AbortStream(s), r.inc(s), r.SynchronizeStream(s))
	if v := r.value(); v != 1 || r.Clock() > 10*ms {
		t.Errorf("counter %d, clock %d", v, r.Clock())
	}
	r.ok(r.LaunchHostFunc(s, func(*Thread) {}), r.SynchronizeStream(s))
	if ended < 20*ms || r.Clock() < ended {
		t.Errorf("the function ended at %d, the next one at %d", ended, r.Clock())
	}
}

func TestS19_streamLimit(t *testing.T) {
	r := newRig(t, Config{Chip: chipWith(t, func(c *soc.Chip) { c.StreamsDocumented = 40; c.RingDepth, c.RingUsable = 64, 29 })})
	var all []*Stream
	for {
		s, err := r.CreateStream(StreamConfig{})
		if err != nil {
			r.code("beyond the limit", err, NoResource)
			if !strings.Contains(err.Error(), "EE1023") {
				t.Errorf("no EE1023 in %v", err)
			}
			break
		}
		all = append(all, s)
	}
	if len(all) != 39 { // and the default stream
		t.Errorf("%d streams, want 39", len(all))
	}
	r.ok(r.DestroyStream(all[3]))
	all[3] = r.stream()
	for _, s := range all {
		r.ok(r.DestroyStream(s))
	}
	r.clean()
}

func TestStreamState(t *testing.T) {
	r := newRig(t, Config{})
	var seen []StreamState
	r.ok(r.RegisterStreamState("me", func(_ *Stream, st StreamState) {
		seen = append(seen, st)
		_, err := r.Malloc(8)
		r.code("malloc inside a callback", err, NotSupported)
	}))
	r.code("the name again", r.RegisterStreamState("me", func(*Stream, StreamState) {}), InvalidParam)
	s := r.stream()
	r.ok(r.SetStreamTag(s, 77), r.SetStreamOverflowCheck(s, true))
	if tag := must[uint32](t)(r.StreamTag(s)); tag != 77 || !must[bool](t)(r.StreamOverflowCheck(s)) {
		t.Error("attributes are not kept")
	}
	r.ok(r.DestroyStream(s), r.RegisterStreamState("me", nil))
	r.ok(r.DestroyStream(r.stream()))
	if len(seen) != 2 || seen[0] != StreamCreated || seen[1] != StreamDestroying {
		t.Errorf("states %v", seen)
	}
	r.code("remove twice", r.RegisterStreamState("me", nil), InvalidParam)
}
