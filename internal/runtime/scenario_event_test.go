package runtime

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"npu/internal/sim"
	"npu/internal/sim/soc"
	"npu/internal/trace"
)

func (r *rig) event(k eventKind, f EventFlags) *Event {
	r.t.Helper()
	switch k {
	case flagEvent:
		return must[*Event](r.t)(r.CreateEventWithFlag(f))
	case softEvent:
		return must[*Event](r.t)(r.CreateEventExWithFlag(f))
	}
	return must[*Event](r.t)(r.CreateEvent())
}

func TestE01_query(t *testing.T) {
	r := newRig(t, Config{})
	e := r.event(plainEvent, 0)
	ask := func(what string, want bool) {
		t.Helper()
		if got := must[bool](t)(r.QueryEvent(e)); got != want {
			t.Errorf("%s: complete is %v", what, got)
		}
	}
	ask("new", false)
	r.ok(r.LaunchKernel(r.long, nil, nil), r.RecordEvent(e, nil))
	ask("recorded behind a long kernel", false)
	r.ok(r.SynchronizeEvent(e))
	ask("after synchronise", true)
	if st := must[EventStatus](t)(r.QueryEventOld(e)); st != EventComplete {
		t.Errorf("old query says %d", st)
	}
	if st := must[EventStatus](t)(r.QueryEventWait(e)); st != EventComplete {
		t.Errorf("wait status is %d", st)
	}
	r.ok(r.ResetEvent(e, nil), r.SynchronizeStream(nil))
	ask("after reset", false)
	r.ok(r.DestroyEvent(e))
	r.code("destroy twice", r.DestroyEvent(e), InvalidHandle)
	r.clean()
}

func TestE02_elapsed(t *testing.T) {
	r := newRig(t, Config{})
	k := must[*Kernel](t)(r.NewKernel("known", trace.KernelAICore, 1, 123_000, nil))
	for _, e := range [][2]*Event{
		{r.event(plainEvent, 0), r.event(plainEvent, 0)},
		{r.event(softEvent, EventSync|EventTimeLine), r.event(softEvent, EventTimeLine)},
	} {
		r.ok(r.RecordEvent(e[0], nil), r.LaunchKernel(k, nil, nil), r.RecordEvent(e[1], nil), r.SynchronizeStream(nil))
		fwd, back := must[int64](t)(r.ElapsedTime(e[0], e[1])), must[int64](t)(r.ElapsedTime(e[1], e[0]))
		// The launch takes its time on the host after the first record, and two scheduler gaps lie between.
		if fwd < 123_000 || fwd > 123_000+launchNs+1000 || back != -fwd {
			t.Errorf("elapsed %d and %d", fwd, back)
		}
	}
}

func TestE03_waitBeforeRecord(t *testing.T) {
	r := newRig(t, Config{})
	err := r.WaitEvent(nil, r.event(plainEvent, 0))
	r.code("wait", err, InvalidParam)
	if err == nil || !strings.Contains(err.Error(), "EE1018") {
		t.Errorf("no EE1018 in %v", err)
	}
}

func TestE04_flagBlocksUntilALaterRecord(t *testing.T) {
	r := newRig(t, Config{})
	e := r.event(flagEvent, EventSync)
	s1, s2 := r.stream(), r.stream()
	r.ok(r.WaitEvent(s2, e), r.inc(s2))
	r.Work(ms)
	if done := must[bool](t)(r.QueryStream(s2)); done {
		t.Error("the stream does not block")
	}
	r.ok(r.LaunchKernel(r.long, nil, s1), r.RecordEvent(e, s1), r.SynchronizeStream(s2))
	if r.Clock() < 50*ms {
		t.Errorf("the wait ended at %d, before the record", r.Clock())
	}
	// The flag stays until it is reset.
	r.ok(r.WaitEvent(s2, e), r.SynchronizeStream(s2), r.ResetEvent(e, s2), r.WaitEvent(s2, e))
	r.Work(ms)
	if done := must[bool](t)(r.QueryStream(s2)); done {
		t.Error("the stream does not block after a reset")
	}
	r.ok(r.RecordEvent(e, s1), r.SynchronizeStream(s2))
	r.trace()
}

func TestE05_softwareStatePassesWithoutRecord(t *testing.T) {
	r := newRig(t, Config{})
	e := r.event(softEvent, EventSync)
	s := r.stream()
	r.ok(r.WaitEvent(s, e), r.inc(s), r.SynchronizeStream(s))
	if done := must[bool](t)(r.QueryEvent(e)); !done {
		t.Error("query before a record says not ready")
	}
	r.ok(r.SynchronizeEvent(e))
	for _, x := range r.trace().Tasks.All() {
		if x.Kind == trace.EventWait {
			t.Error("the wait left a task")
		}
	}
}

func TestE06_waitBindsToTheLatestRecord(t *testing.T) {
	r := newRig(t, Config{})
	e := r.event(softEvent, EventSync)
	s1, s2 := r.stream(), r.stream()
	r.ok(r.RecordEvent(e, s1), r.WaitEvent(s2, e), r.LaunchKernel(r.long, nil, s1), r.RecordEvent(e, s1), r.SynchronizeStream(s2))
	if c := r.Clock(); c > 10*ms {
		t.Errorf("the wait ended at %d, with the second record", c)
	}
	r.ok(r.SynchronizeStream(s1))
}

func TestE07_softwareStateHasNoReset(t *testing.T) {
	r := newRig(t, Config{})
	e := r.event(softEvent, EventSync)
	r.code("reset", r.ResetEvent(e, nil), NotSupported)
	_, err := r.QueryEventOld(e)
	r.code("old query", err, NotSupported)
	_, err = r.QueryEventWait(e)
	r.code("wait status", err, NotSupported)
}

func TestE08_elapsedErrors(t *testing.T) {
	r := newRig(t, Config{})
	a, b, noTime := r.event(plainEvent, 0), r.event(plainEvent, 0), r.event(softEvent, EventSync)
	r.ok(r.RecordEvent(a, nil), r.RecordEvent(noTime, nil), r.SynchronizeStream(nil))
	_, err := r.ElapsedTime(a, b)
	r.code("never recorded", err, Internal)
	r.ok(r.LaunchKernel(r.long, nil, nil), r.RecordEvent(b, nil))
	_, err = r.ElapsedTime(a, b)
	r.code("unfinished", err, TimestampInvalid)
	_, err = r.ElapsedTime(a, noTime)
	r.code("without time line", err, TimestampInvalid)
	r.ok(r.SynchronizeEvent(b))
	if us := must[int64](t)(r.EventTimestamp(b)); us < 50_000 {
		t.Errorf("timestamp %d µs", us)
	}
}

func TestE09_synchroniseEventWithTimeout(t *testing.T) {
	r := newRig(t, Config{})
	e := r.event(plainEvent, 0)
	r.ok(r.SynchronizeEvent(e)) // never recorded: at once
	r.ok(r.LaunchKernel(r.long, nil, nil), r.RecordEvent(e, nil))
	r.code("5 ms", r.SynchronizeEventTimeout(e, 5), EventSyncTimeout)
	r.code("0", r.SynchronizeEventTimeout(e, 0), InvalidParam)
	r.ok(r.SynchronizeEventTimeout(e, -1))
	if r.Clock() < 50*ms {
		t.Errorf("clock %d", r.Clock())
	}
}

func TestE10_destroyWhileWaitedFor(t *testing.T) {
	r := newRig(t, Config{})
	e := r.event(plainEvent, 0)
	s := r.stream()
	waiting := []*Stream{r.stream(), r.stream(), r.stream()}
	r.ok(r.LaunchKernel(r.long, nil, s), r.RecordEvent(e, s))
	for _, w := range waiting {
		r.ok(r.WaitEvent(w, e))
	}
	r.ok(r.DestroyEvent(e))
	if r.Clock() > 10*ms {
		t.Errorf("destroy returned at %d", r.Clock())
	}
	if _, events, _, _ := r.resources(); events == r.events {
		t.Error("the id is free although streams wait for it")
	}
	for _, w := range waiting {
		if done := must[bool](t)(r.QueryStream(w)); done {
			t.Error("a wait ended with the event's destruction")
		}
	}
	for _, w := range waiting {
		r.ok(r.DestroyStream(w))
	}
	if r.Clock() < 50*ms {
		t.Errorf("the waits ended at %d", r.Clock())
	}
	r.ok(r.DestroyStream(s))
	r.clean()
}

func TestE11_flags(t *testing.T) {
	r := newRig(t, Config{})
	for _, f := range []EventFlags{EventSync | EventIPC, EventSync | EventExternal, 0x80, 0} {
		_, err := r.CreateEventWithFlag(f)
		r.code("flags", err, InvalidParam)
		_, err = r.CreateEventExWithFlag(f)
		r.code("flags, new kind", err, InvalidParam)
	}
	r.code("wait without SYNC", r.WaitEvent(nil, r.event(flagEvent, EventTimeLine)), NotSupported)
	r.code("device only", r.WaitEvent(nil, r.event(softEvent, EventDeviceUseOnly)), InvalidParam)
}

func TestE12_eventIds(t *testing.T) {
	chip, err := soc.Lookup("Ascend310P3")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, Config{Chip: chip})
	var all []*Event
	for {
		e, err := r.CreateEventWithFlag(EventSync)
		if err != nil {
			r.code("beyond the limit", err, NoEvent)
			if !strings.Contains(err.Error(), "EE1023") {
				t.Errorf("no EE1023 in %v", err)
			}
			break
		}
		all = append(all, e)
	}
	if len(all) != 1023 {
		t.Errorf("%d events, want 1023", len(all))
	}
	// A record of another kind of event waits for an id; nobody can free one here.
	var dead *sim.Deadlock
	soft := r.event(softEvent, EventSync)
	if err := r.RecordEvent(soft, nil); !errors.As(err, &dead) {
		t.Errorf("record without an id: %v", err)
	}
	r.ok(r.DestroyEvent(all[7]))
	// One id serves many events that are done and merely kept.
	kept := []*Event{soft}
	for range 20 {
		kept = append(kept, r.event(softEvent, EventSync|EventTimeLine))
	}
	for _, e := range kept {
		r.ok(r.LaunchKernel(r.tiny, nil, nil), r.RecordEvent(e, nil))
	}
	r.ok(r.SynchronizeStream(nil))
	for _, e := range kept {
		if done := must[bool](t)(r.QueryEvent(e)); !done {
			t.Error("an event whose id was taken back is not complete")
		}
	}
	if ns := must[int64](t)(r.ElapsedTime(kept[1], kept[20])); ns < 19_000 {
		t.Errorf("elapsed %d", ns)
	}
	for _, e := range append(kept, slices.Delete(all, 7, 8)...) {
		r.ok(r.DestroyEvent(e))
	}
	r.clean()
}

// A wait on the device that takes too long fails with 107020; the time is virtual. What goes into the black box with
// it is tested there.
func TestWaitTimeout(t *testing.T) {
	r := newRig(t, Config{})
	e := r.event(flagEvent, EventSync)
	s := r.stream()
	r.ok(r.SetOpWaitTimeout(1), r.WaitEvent(s, e), r.inc(s))
	err := r.SynchronizeStream(s)
	r.code("synchronise", err, TaskTimeout)
	if err == nil || !strings.Contains(err.Error(), "EVENT_WAIT") || !strings.Contains(err.Error(), "1000 ms") {
		t.Errorf("message: %v", err)
	}
	if r.Clock() < 1000*ms || r.value() != 1 {
		t.Errorf("clock %d, counter %d", r.Clock(), r.value())
	}
	r.ok(r.SetOpWaitTimeout(0), r.WaitEventTimeout(s, e, 2))
	r.code("two seconds", r.SynchronizeStream(s), TaskTimeout)
	r.code("negative", r.WaitEventTimeout(s, e, -1), InvalidParam)
	r.ok(r.WaitEventTimeout(s, e, 5), r.RecordEvent(e, nil), r.SynchronizeStream(s))
	n := must[*Notify](t)(r.CreateNotify(0))
	r.ok(r.WaitNotify(n, s, 1))
	r.code("notify", r.SynchronizeStream(s), TaskTimeout)
}

func TestN01_notifyIsNotCounted(t *testing.T) {
	r := newRig(t, Config{})
	n := must[*Notify](t)(r.CreateNotify(0))
	s1, s2 := r.stream(), r.stream()
	r.ok(r.RecordNotify(n, s1), r.RecordNotify(n, s1), r.SynchronizeStream(s1))
	r.ok(r.WaitNotify(n, s2, 0), r.SynchronizeStream(s2), r.WaitNotify(n, s2, 0))
	r.Work(ms)
	if done := must[bool](t)(r.QueryStream(s2)); done {
		t.Error("the second wait passed: records were counted")
	}
	r.ok(r.RecordNotify(n, s1), r.SynchronizeStream(s2))
	r.ok(r.DestroyStream(s1), r.DestroyStream(s2), r.DestroyNotify(n))
	r.code("destroyed", r.RecordNotify(n, nil), InvalidHandle)
	r.clean()
}

func TestN02_valueWait(t *testing.T) {
	r := newRig(t, Config{})
	s1, s2 := r.stream(), r.stream()
	r.ok(r.ValueWait(r.counter, 3, sim.WaitGEQ, s1), r.LaunchKernel(r.tiny, nil, s1))
	for v := range uint64(3) {
		r.ok(r.LaunchKernel(r.long, nil, s2), r.ValueWrite(r.counter, v+1, s2))
	}
	r.ok(r.SynchronizeStream(s1))
	if r.Clock() < 150*ms {
		t.Errorf("the wait ended at %d, before the 3 was written", r.Clock())
	}
	r.code("unaligned write", r.ValueWrite(r.counter+4, 1, s1), InvalidParam)
	r.code("unaligned wait", r.ValueWait(r.counter+4, 1, sim.WaitEQ, s1), InvalidParam)
	r.code("no device memory", r.ValueWrite(8, 1, s1), InvalidParam)
	for _, c := range []struct {
		cond sim.WaitCondition
		v    uint64
	}{{sim.WaitEQ, 3}, {sim.WaitAND, 2}, {sim.WaitNOR, 0}} {
		r.ok(r.ValueWait(r.counter, c.v, c.cond, s1))
	}
	r.ok(r.SynchronizeStream(s1))
	// A kernel's write releases a wait as well.
	r.ok(r.ValueWait(r.counter, 4, sim.WaitEQ, s1), r.inc(s2), r.SynchronizeStream(s1))
}

// A wait belongs to one record, also when a later record on another stream comes first.
func TestWait_recordsOutOfOrder(t *testing.T) {
	r := newRig(t, Config{})
	for _, e := range []*Event{r.event(softEvent, EventSync|EventTimeLine), r.event(plainEvent, 0)} {
		slow, fast, s := r.stream(), r.stream(), r.stream()
		t0 := r.Clock()
		r.ok(r.LaunchKernel(r.long, nil, slow), r.RecordEvent(e, slow), r.WaitEvent(s, e), r.RecordEvent(e, fast), r.SynchronizeEvent(e))
		if c := r.Clock() - t0; c > 10*ms {
			t.Errorf("the second record was reached after %d ns", c)
		}
		r.ok(r.SynchronizeStream(s))
		if c := r.Clock() - t0; c < 50*ms {
			t.Errorf("the wait for the first record ended after %d ns, with the second one", c)
		}
	}
	// A record that an abort has dropped releases nobody, the next one does.
	e := r.event(softEvent, EventSync)
	a, b := r.stream(), r.stream()
	r.ok(r.LaunchKernel(r.long, nil, a), r.RecordEvent(e, a), r.WaitEvent(b, e))
	r.Work(ms)
	r.ok(r.AbortStream(a), r.RecordEvent(e, a), r.SynchronizeEvent(e))
	if done := must[bool](t)(r.QueryStream(b)); done {
		t.Error("the wait for the dropped record passed")
	}
	r.ok(r.DestroyStreamForce(b))
}
