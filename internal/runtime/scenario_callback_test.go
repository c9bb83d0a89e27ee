package runtime

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"npu/internal/trace"
)

func TestC01_reportThread(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	type call struct {
		thread uint16
		data   string
		clock  int64
	}
	var got []call
	note := func(data string) func(*Thread) {
		return func(cb *Thread) { got = append(got, call{cb.ID(), data, cb.Clock()}) }
	}
	stop := NewChan(1)
	ready := NewChan(1)
	reporter := must[*Child](t)(r.Go(func(th *Thread) error {
		if err := th.Send(ready, th); err != nil {
			return err
		}
		if _, _, err := th.Recv(stop); err != nil { // subscribed
			return err
		}
		for len(got) < 6 {
			if err := th.ProcessReport(-1); err != nil {
				return err
			}
		}
		return nil
	}))
	v, _, err := r.Recv(ready)
	r.ok(err)
	to := v.(*Thread)
	r.ok(r.SubscribeReport(to, s), r.Send(stop, nil))
	r.ok(r.LaunchCallback(note("before"), true, s), r.LaunchKernel(r.long, nil, s))
	for i := range 5 {
		r.ok(r.LaunchCallback(note(fmt.Sprint("after ", i)), i%2 == 0, s))
	}
	r.ok(r.SynchronizeStream(s), r.Wait(reporter), r.UnsubscribeReport(to, s))
	var order []string
	for i, c := range got {
		order = append(order, c.data)
		if c.thread != to.ID() {
			t.Errorf("callback %d ran on thread %d, want %d", i, c.thread, to.ID())
		}
	}
	if want := []string{"before", "after 0", "after 1", "after 2", "after 3", "after 4"}; !slices.Equal(order, want) {
		t.Errorf("order %v", order)
	} else if got[0].clock > 10*ms || got[1].clock < 50*ms {
		t.Errorf("callbacks ran at %d and %d, the kernel lies between", got[0].clock, got[1].clock)
	}
	r.ok(r.DestroyStream(s))
	r.clean()
}

func TestC02_reportErrors(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	r.code("callback without subscription", r.LaunchCallback(func(*Thread) {}, true, s), NoCallback)
	r.code("report of a thread without subscription", r.ProcessReport(100), ThreadSubscribe)
	r.ok(r.SubscribeReport(r.Thread, s))
	r.code("nothing to do", r.ProcessReport(100), ReportTimeout)
	if r.Clock() < 100*ms {
		t.Errorf("the time-out took until %d", r.Clock())
	}
	r.code("0", r.ProcessReport(0), ACLInvalidParam)
	r.code("subscribe twice", r.SubscribeReport(r.Thread, s), StreamSubscribe)
	r.ok(r.UnsubscribeReport(r.Thread, s))
	r.code("unsubscribe twice", r.UnsubscribeReport(r.Thread, s), ThreadSubscribe)
	r.code("null function", r.LaunchHostFunc(s, nil), ACLInvalidParam)
}

func TestC03_hostFunctionBlocksTheStream(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	var from, to int64
	r.ok(r.LaunchKernel(r.tiny, nil, s), r.LaunchHostFunc(s, func(cb *Thread) {
		from = cb.Clock()
		cb.Work(7 * ms)
		to = cb.Clock()
		_, err := cb.Malloc(8)
		r.code("malloc", err, NotSupported)
		r.code("launch", cb.LaunchKernel(r.tiny, nil, s), NotSupported)
		r.code("synchronise", cb.SynchronizeStream(s), NotSupported)
		r.code("record", cb.RecordEvent(&Event{dev: r.rt.devices[0], flags: EventSync}, s), NotSupported)
	}), r.LaunchKernel(r.long, nil, s), r.SynchronizeStream(s))
	if to-from != 7*ms {
		t.Errorf("the function ran from %d to %d", from, to)
	}
	r.ok(r.DestroyStream(s))
	r.clean()
	tr := r.trace()
	first, second := rowsOf(tr, "tiny")[0], rowsOf(tr, "long")[0]
	if first.End > from || second.Start < to {
		t.Errorf("kernels end at %d and start at %d, the function ran from %d to %d", first.End, second.Start, from, to)
	}
	for _, x := range tr.Tasks.All() {
		if x.Kind == trace.HostFunc && (x.Engine != trace.EngineHost || x.Start > from || x.End < to) {
			t.Errorf("the function's row is %+v", x)
		}
	}
}

func TestC04_callbackThatDoesNotBlock(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	r.ok(r.SubscribeReport(r.Thread, s))
	ran := false
	r.ok(r.LaunchCallback(func(cb *Thread) { cb.Work(80 * ms); ran = true }, false, s), r.LaunchKernel(r.tiny, nil, s))
	r.ok(r.SynchronizeStream(s))
	if ran || r.Clock() > ms {
		t.Errorf("ran %v, clock %d: the kernel waited for the callback", ran, r.Clock())
	}
	r.ok(r.ProcessReport(-1))
	if !ran || r.Clock() < 80*ms {
		t.Errorf("ran %v, clock %d", ran, r.Clock())
	}
}

// User code may wait for something outside; the program goes on when it has what it waits for.
func TestHostFunc_signalsOutside(t *testing.T) {
	r := newRig(t, Config{})
	done := make(chan bool)
	r.ok(r.LaunchHostFunc(nil, func(*Thread) { close(done) }))
	r.Outside(func() { <-done })
	r.ok(r.SynchronizeStream(nil))
	if !r.rt.WallOrdered() {
		t.Error("the order is not marked as that of wall time")
	}
}

// The same without Outside: the thread is found, and the order marked.
func TestHostFunc_undeclaredBlocking(t *testing.T) {
	r := newRig(t, Config{})
	done := make(chan bool)
	r.ok(r.LaunchKernel(r.long, nil, nil), r.LaunchHostFunc(nil, func(*Thread) { close(done) }))
	<-done
	r.ok(r.SynchronizeStream(nil))
	if w := r.rt.Warnings(); !r.rt.WallOrdered() || len(w) == 0 || !strings.Contains(w[0], "blocked outside") {
		t.Errorf("warnings %v", w)
	}
}

func TestR01_lastError(t *testing.T) {
	r := newRig(t, Config{})
	r.code("run mode", r.GetRunMode(nil), ACLInvalidParam)
	if e := r.PeekLastError(); e == nil || e.Code != ACLInvalidParam {
		t.Errorf("peek %v", e)
	}
	if e := r.LastError(); e == nil || e.Code != ACLInvalidParam {
		t.Errorf("get %v", e)
	}
	if m := r.RecentErrorMessage(); !strings.Contains(m, "aclrtGetRunMode") || !strings.Contains(m, "EE1004") || !strings.Contains(m, "TraceBack") {
		t.Errorf("message %q", m)
	}
	if r.PeekLastError() != nil || r.LastError() != nil || r.RecentErrorMessage() != "" {
		t.Error("the second reading is not empty")
	}
	var m RunMode
	if r.ok(r.GetRunMode(&m)); m != RunOnHost {
		t.Errorf("run mode %d", m)
	}
	r.code("one", r.SetDevice(99), InvalidDevice)
	r.code("two", r.Free(0), ACLInvalidParam)
	if msg := r.RecentErrorMessage(); strings.Index(msg, "aclrtFree") > strings.Index(msg, "aclrtSetDevice") {
		t.Errorf("the newest is not on top: %q", msg)
	}
}

func TestR02_exceptionCallback(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	var got []Exception
	synced := false
	cb := &ExceptionCallback{func(th *Thread, e *Exception) {
		got = append(got, *e)
		if synced {
			t.Error("called after synchronise returned")
		}
		th.Work(3 * ms)
		_, err := th.Malloc(8)
		r.code("malloc", err, NotSupported)
	}}
	r.ok(r.RegisterExceptionCallback(cb), r.inc(s), r.LaunchKernel(r.boom, []uint64{11, 22, 33}, s))
	stream, task, ok := r.LastTask()
	r.code("synchronise", r.SynchronizeStream(s), VectorException)
	synced = true
	if len(got) != 1 {
		t.Fatalf("called %d times", len(got))
	}
	e := got[0]
	if !ok || e.Task != task || e.Stream != stream || stream != s.ID() || e.Thread != r.ID() || e.Device != 0 || e.Code != VectorException ||
		e.Kernel != "boom" || !slices.Equal(e.Args, []uint64{11, 22, 33}) || e.ArgsAddr == 0 {
		t.Errorf("%+v, last task %d of stream %d", e, task, stream)
	}
	if r.Clock() < 3*ms {
		t.Errorf("synchronise returned at %d, before the callback was through", r.Clock())
	}
	r.ok(r.UnregisterExceptionCallback(cb), r.LaunchKernel(r.boom, nil, s))
	r.code("unregistered", r.SynchronizeStream(s), VectorException)
	if len(got) != 1 {
		t.Error("called after it was unregistered")
	}
	r.ok(r.DestroyStream(s))
	r.clean()
}

func TestR03_registerTwice(t *testing.T) {
	r := newRig(t, Config{})
	n, old := 0, 0
	cb := &ExceptionCallback{func(*Thread, *Exception) { n++ }}
	r.ok(r.RegisterExceptionCallback(cb), r.RegisterExceptionCallback(cb), r.SetExceptionCallback(func(*Thread, *Exception) { old++ }))
	r.ok(r.LaunchKernel(r.boom, nil, nil))
	r.code("synchronise", r.SynchronizeStream(nil), VectorException)
	if n != 1 || old != 1 {
		t.Errorf("registered one called %d times, old one %d times", n, old)
	}
	r.code("null", r.RegisterExceptionCallback(nil), ACLInvalidParam)
}

// The failing task of a stream under StopOnFailure and one inside a sunk model are reported as well.
func TestException_stopAndModel(t *testing.T) {
	r := newRig(t, Config{})
	var kinds []trace.Kind
	r.ok(r.SetExceptionCallback(func(_ *Thread, e *Exception) { kinds = append(kinds, e.Kind) }))
	b := must[*ModelBuilder](t)(r.BuildModel())
	ms := b.Stream(true)
	ms.Launch(r.boom, nil)
	ms.End()
	m := must[*Model](t)(b.Build("failing"))
	s := r.stream()
	r.ok(r.ExecuteModel(m, s))
	r.code("model", r.SynchronizeStream(s), VectorException)
	r.ok(r.SetStreamFailureMode(s, StopOnFailure), r.MemcpyAsync(r.counter, r.counter+8*1<<20, 8, s), r.inc(s))
	r.code("copy", r.SynchronizeStream(s), SDMAError)
	if !slices.Equal(kinds, []trace.Kind{trace.KernelAIVector, trace.Memcpy}) {
		t.Errorf("reported %v", kinds)
	}
}
