package runtime

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"npu/internal/sim"
	"npu/internal/trace"
)

// soft makes an event that captures take.
func (r *rig) soft() *Event {
	r.t.Helper()
	return must[*Event](r.t)(r.CreateEventExWithFlag(EventSync))
}

// word is device memory with one 64-bit word.
func (r *rig) word(v uint64) Ptr {
	r.t.Helper()
	p := must[Ptr](r.t)(r.Malloc(8))
	r.put(p, v)
	return p
}

func (r *rig) put(p Ptr, v uint64) {
	r.t.Helper()
	r.ok(r.MemcpyFromHost(p, binary.LittleEndian.AppendUint64(nil, v)))
}

func (r *rig) get(p Ptr) uint64 {
	r.t.Helper()
	var b [8]byte
	r.ok(r.MemcpyToHost(b[:], p))
	return binary.LittleEndian.Uint64(b[:])
}

// addTo launches the kernel that adds v to the word at p.
func (r *rig) addTo(p Ptr, v uint64, s *Stream) error {
	return r.LaunchKernel(r.add, []uint64{uint64(p), v}, s)
}

func (r *rig) begin(s *Stream) {
	r.t.Helper()
	r.ok(r.CaptureBegin(s, CaptureGlobal))
}

func (r *rig) finish(s *Stream) *Model {
	r.t.Helper()
	return must[*Model](r.t)(r.CaptureEnd(s))
}

func (r *rig) execute(m *Model, s *Stream) {
	r.t.Helper()
	r.ok(r.ExecuteModel(m, s), r.SynchronizeStream(s))
}

func TestG01_captureAndExecute(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	in, mid, out := r.word(0), r.word(7), r.word(9)
	r.begin(s)
	r.ok(r.MemcpyAsync(mid, in, 8, s), r.addTo(mid, 5, s), r.MemcpyAsync(out, mid, 8, s))
	if st, _, err := r.CaptureInfo(s); st != CaptureStatusActive || err != nil {
		t.Errorf("status %d, %v", st, err)
	}
	m := r.finish(s)
	r.ok(r.SynchronizeStream(s))
	if a, b := r.get(mid), r.get(out); a != 7 || b != 9 {
		t.Errorf("the capture ran: %d, %d", a, b)
	}
	for i := uint64(10); i < 14; i++ {
		r.put(in, i)
		r.execute(m, s)
		if v := r.get(out); v != i+5 {
			t.Errorf("input %d gives %d", i, v)
		}
	}
	var b bytes.Buffer
	r.ok(r.WriteModelJSON(m, &b))
	var doc struct {
		TraceEvents []struct{ Name, Cat string } `json:"traceEvents"`
	}
	r.ok(json.Unmarshal(b.Bytes(), &doc))
	var kinds []string
	for _, e := range doc.TraceEvents {
		if e.Cat != "" {
			kinds = append(kinds, e.Cat)
		}
	}
	if got := strings.Join(kinds, " "); got != "MEMCPY_ASYNC KERNEL_AICORE MEMCPY_ASYNC MODEL_END_GRAPH" {
		t.Errorf("the dump lists %s", got)
	}
	b.Reset()
	r.ok(r.WriteModelDOT(m, &b))
	if !strings.HasPrefix(b.String(), "digraph") || !strings.Contains(b.String(), "add") {
		t.Errorf("dot: %s", b.String())
	}
	r.ok(r.DestroyModel(m), r.DestroyStream(s), r.Free(in), r.Free(mid), r.Free(out))
	r.clean()
}

func TestG02_forkAndJoin(t *testing.T) {
	r := newRig(t, Config{})
	s1, s2 := r.stream(), r.stream()
	fork, join := r.soft(), r.soft()
	wide := must[*Kernel](t)(r.NewKernel("wide", trace.KernelAICore, 4, 20_000, nil))
	r.begin(s1)
	r.ok(r.inc(s1), r.RecordEvent(fork, s1), r.WaitEvent(s2, fork))
	r.ok(r.LaunchKernel(wide, nil, s2), r.RecordEvent(join, s2))
	r.ok(r.LaunchKernel(wide, nil, s1), r.WaitEvent(s1, join), r.inc(s1))
	m := r.finish(s1)
	for range 3 {
		r.ok(r.ExecuteModel(m, s1))
	}
	r.ok(r.SynchronizeStream(s1), r.inc(s2), r.SynchronizeStream(s2)) // s2 is an ordinary stream again
	if v := r.value(); v != 7 {
		t.Errorf("counter %d, want 7", v)
	}
	tr := r.trace()
	w, adds := rowsOf(tr, "wide"), rowsOf(tr, "add")
	if len(w) != 6 || len(adds) != 7 {
		t.Fatalf("%d wide kernels, %d additions", len(w), len(adds))
	}
	for i := range 3 {
		a, b := w[2*i], w[2*i+1]
		if a.Stream == b.Stream || a.End <= b.Start || b.End <= a.Start {
			t.Errorf("execution %d: branches do not overlap: %d-%d, %d-%d", i, a.Start, a.End, b.Start, b.End)
		}
		if min(a.Start, b.Start) < adds[2*i].End || adds[2*i+1].Start < max(a.End, b.End) {
			t.Errorf("execution %d: fork or join does not order", i)
		}
	}
}

func TestG03_unjoined(t *testing.T) {
	r := newRig(t, Config{})
	s1, s2, e := r.stream(), r.stream(), r.soft()
	r.begin(s1)
	r.ok(r.inc(s1), r.RecordEvent(e, s1), r.WaitEvent(s2, e), r.inc(s2))
	_, err := r.CaptureEnd(s1)
	r.code("end", err, CaptureUnjoined)
	r.begin(s1)
	_, err = r.CaptureEnd(s1)
	r.code("end of an empty capture", err, CaptureUnjoined)
	r.ok(r.inc(s1), r.inc(s2), r.SynchronizeStream(s1), r.SynchronizeStream(s2))
	if v := r.value(); v != 2 {
		t.Errorf("counter %d, want 2", v)
	}
	r.ok(r.DestroyStream(s1), r.DestroyStream(s2), r.DestroyEvent(e))
	r.clean()
}

func TestG04_wrongEnd(t *testing.T) {
	r := newRig(t, Config{})
	s1, s2, fork, join := r.stream(), r.stream(), r.soft(), r.soft()
	r.begin(s1)
	r.code("begin again", r.CaptureBegin(s1, CaptureGlobal), StreamCaptured)
	r.ok(r.inc(s1), r.RecordEvent(fork, s1), r.WaitEvent(s2, fork), r.inc(s2), r.RecordEvent(join, s2), r.WaitEvent(s1, join))
	_, err := r.CaptureEnd(s2)
	r.code("end on the other stream", err, CaptureUnmatched)
	c := must[*Child](t)(r.Go(func(th *Thread) error {
		_, err := th.CaptureEnd(s1)
		r.code("end in another thread", err, CaptureThread)
		return nil
	}))
	r.ok(r.Wait(c))
	m := r.finish(s1)
	_, err = r.CaptureEnd(s1)
	r.code("end twice", err, NotCaptured)
	r.ok(r.DestroyModel(m))
}

func TestG05_unsafeCall(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	r.begin(s)
	r.ok(r.inc(s))
	r.code("synchronous copy", r.MemcpyFromHost(r.counter, make([]byte, 8)), CaptureForbids)
	if st, _, _ := r.CaptureInfo(s); st != CaptureStatusInvalidated {
		t.Errorf("status %d", st)
	}
	_, err := r.CaptureEnd(s)
	r.code("end", err, CaptureInvalid)
	r.begin(s)
	r.ok(r.inc(s))
	old := must[CaptureMode](t)(r.ExchangeCaptureMode(CaptureRelaxed))
	r.ok(r.MemcpyFromHost(r.counter, make([]byte, 8)))
	_, err = r.ExchangeCaptureMode(old)
	r.ok(err, r.DestroyModel(r.finish(s)))
	// Modes say whose calls are forbidden.
	for _, x := range []struct {
		mode       CaptureMode
		own, other Code
	}{{CaptureGlobal, CaptureForbids, CaptureForbids}, {CaptureThreadLocal, CaptureForbids, 0}, {CaptureRelaxed, 0, 0}} {
		var b [8]byte
		r.ok(r.CaptureBegin(s, x.mode), r.inc(s))
		c := must[*Child](t)(r.Go(func(th *Thread) error {
			r.code("copy of another thread", th.MemcpyToHost(b[:], r.counter), x.other)
			return nil
		}))
		r.ok(r.Wait(c))
		r.code("copy of the capturing thread", r.MemcpyToHost(b[:], r.counter), x.own)
		if m, err := r.CaptureEnd(s); err == nil {
			r.ok(r.DestroyModel(m))
		}
	}
}

func TestG06_forbiddenInCapture(t *testing.T) {
	r := newRig(t, Config{})
	s, outside, inside, plain := r.stream(), r.soft(), r.soft(), must[*Event](t)(r.CreateEvent())
	r.ok(r.RecordEvent(outside, s), r.SynchronizeStream(s))
	other := r.stream()
	for _, x := range []struct {
		what string
		call func() error
		code Code
	}{
		{"synchronise the stream", func() error { return r.SynchronizeStream(s) }, StreamCaptured},
		{"query the stream", func() error { _, err := r.QueryStream(s); return err }, StreamCaptured},
		{"destroy the stream", func() error { return r.DestroyStream(s) }, StreamCaptured},
		{"query of a captured event", func() error { _, err := r.QueryEvent(inside); return err }, EventCaptured},
		{"synchronise a captured event", func() error { return r.SynchronizeEvent(inside) }, EventCaptured},
		{"default stream", func() error { return r.inc(nil) }, CaptureImplicit},
		{"wait for an event from outside", func() error { return r.WaitEvent(s, outside) }, CaptureDependency},
		{"record of an event of the old kind", func() error { return r.RecordEvent(plain, s) }, NotSupported},
		{"event of another capture", func() error {
			r.begin(other)
			r.ok(r.inc(other), r.RecordEvent(outside, other))
			err := r.WaitEvent(s, outside)
			r.ok(r.DestroyModel(r.finish(other)), r.RecordEvent(outside, other))
			return err
		}, CaptureConflict},
	} {
		r.begin(s)
		r.ok(r.inc(s), r.RecordEvent(inside, s))
		r.code(x.what, x.call(), x.code)
		_, err := r.CaptureEnd(s)
		r.code("end after: "+x.what, err, CaptureInvalid)
	}
	r.code("begin on the default stream", r.CaptureBegin(nil, CaptureGlobal), InvalidParam)
}

func TestG07_taskGroup(t *testing.T) {
	r := newRig(t, Config{})
	s, u, e := r.stream(), r.stream(), r.soft()
	capture := func() (*Model, *TaskGroup) {
		r.begin(s)
		r.ok(r.TaskGroupBegin(s), r.inc(s))
		g := must[*TaskGroup](t)(r.TaskGroupEnd(s))
		r.ok(r.inc(s))
		return r.finish(s), g
	}
	m, g := capture()
	r.execute(m, s)
	if v := r.value(); v != 2 {
		t.Fatalf("counter %d, want 2", v)
	}
	r.ok(r.TaskUpdateBegin(u, g), r.addTo(r.counter, 100, u), r.TaskUpdateEnd(u), r.RecordEvent(e, u), r.WaitEvent(s, e))
	r.execute(m, s)
	if v := r.value(); v != 103 {
		t.Errorf("counter %d after the update, want 103", v)
	}
	r.ok(r.TaskUpdateBegin(u, g), r.inc(u), r.inc(u))
	r.code("two kernels for one", r.TaskUpdateEnd(u), UpdateFailed)
	r.ok(r.TaskUpdateBegin(u, g))
	r.code("a copy in an update", r.MemcpyAsync(r.counter, r.counter+8, 0+4, u), TaskType)
	r.code("its end", r.TaskUpdateEnd(u), UpdateFailed)
	r.execute(m, s)
	if v := r.value(); v != 204 {
		t.Errorf("counter %d, want 204: a failed update must change nothing", v)
	}
	two := r.word(0)
	r.begin(s)
	r.ok(r.TaskGroupBegin(s))
	r.code("a copy in a group", r.MemcpyAsync(two, r.counter, 8, s), TaskType)
	_, err := r.CaptureEnd(s)
	r.code("its end", err, CaptureInvalid)
	r.begin(s)
	r.ok(r.inc(s), r.TaskGroupBegin(s))
	_, err = r.CaptureEnd(s)
	r.code("an open group", err, TaskGroupState)
	r.ok(r.DestroyModel(m), r.DestroyStream(s), r.DestroyStream(u), r.DestroyEvent(e), r.Free(two))
	r.clean()
}

// countdown is a kernel that takes 1 from the word at args[0].
func (r *rig) countdown(p Ptr, s *Stream) error { return r.addTo(p, ^uint64(0), s) }

func TestG08_conditions(t *testing.T) {
	r := newRig(t, Config{})
	s, b := r.stream(), r.stream()
	hits := []Ptr{r.word(0), r.word(0), r.word(0)}
	// model has a kernel that adds `set` to the condition word, then the condition; body i counts in hits[i].
	model := func(kind ConditionKind, n int, set uint64) *Model {
		r.begin(s)
		_, m, err := r.CaptureInfo(s)
		r.ok(err)
		r.ok(r.inc(s))
		old := must[CaptureMode](t)(r.ExchangeCaptureMode(CaptureRelaxed))
		h := must[*Condition](t)(r.CreateCondition(m, 0, true))
		_, err = r.ExchangeCaptureMode(old)
		r.ok(err, r.addTo(h.Ptr(), set, s))
		bodies := must[[]*Model](t)(r.AddCondition(s, h, kind, n))
		for i, x := range bodies {
			r.ok(r.CaptureToModel(b, x, CaptureGlobal), r.addTo(hits[i], 1, b))
			if kind == While {
				r.ok(r.countdown(h.Ptr(), b))
			}
			r.finish(b)
		}
		r.ok(r.inc(s))
		return r.finish(s)
	}
	for _, x := range []struct {
		kind ConditionKind
		n    int
		set  uint64
		want [3]uint64
	}{
		{If, 1, 3, [3]uint64{2}}, {If, 1, 0, [3]uint64{}}, {If, 2, 1, [3]uint64{2}}, {If, 2, 0, [3]uint64{0, 2}},
		{While, 1, 5, [3]uint64{10}}, {While, 1, 0, [3]uint64{}},
		{Switch, 3, 0, [3]uint64{2}}, {Switch, 3, 2, [3]uint64{0, 0, 2}}, {Switch, 3, 3, [3]uint64{}},
	} {
		for _, p := range hits {
			r.put(p, 0)
		}
		r.put(r.counter, 0)
		m := model(x.kind, x.n, x.set)
		before := must[Counters](t)(r.Counters())
		r.ok(r.ExecuteModel(m, s), r.ExecuteModel(m, s), r.SynchronizeStream(s))
		after := must[Counters](t)(r.Counters())
		if n := after.Doorbells - before.Doorbells; n > 2 {
			t.Errorf("%v: %d doorbells for two executions", x, n)
		}
		for i, p := range hits {
			if v := r.get(p); v != x.want[i] {
				t.Errorf("kind %d, %d bodies, word %d: body %d ran %d times, want %d", x.kind, x.n, x.set, i, v, x.want[i])
			}
		}
		if v := r.value(); v != 4 {
			t.Errorf("kind %d: %d of the tasks around it ran, want 4", x.kind, v)
		}
		r.ok(r.DestroyModel(m))
	}
	// A body that is not captured, and one inside another.
	r.begin(s)
	_, m, _ := r.CaptureInfo(s)
	h := must[*Condition](t)(r.CreateCondition(m, 1, true))
	must[[]*Model](t)(r.AddCondition(s, h, If, 1))
	_, err := r.CaptureEnd(s)
	r.code("a body that is not captured", err, SubgraphCapturing)
	c := r.stream()
	r.put(hits[0], 0)
	r.begin(s)
	_, m, _ = r.CaptureInfo(s)
	h = must[*Condition](t)(r.CreateCondition(m, 3, true))
	outer := must[[]*Model](t)(r.AddCondition(s, h, While, 1))
	r.ok(r.CaptureToModel(b, outer[0], CaptureGlobal), r.countdown(h.Ptr(), b))
	inner := must[[]*Model](t)(r.AddCondition(b, h, If, 1))
	fork, join := r.soft(), r.soft()
	r.ok(r.CaptureToModel(c, inner[0], CaptureGlobal))
	d := r.stream()
	r.ok(r.addTo(hits[0], 1, c), r.RecordEvent(fork, c), r.WaitEvent(d, fork), r.addTo(hits[0], 10, d), r.RecordEvent(join, d), r.WaitEvent(c, join))
	r.finish(c)
	r.finish(b)
	m = r.finish(s)
	r.execute(m, s)
	if v := r.get(hits[0]); v != 22 {
		t.Errorf("nested: %d, want 22", v)
	}
	r.ok(r.DestroyModel(m), r.DestroyEvent(fork), r.DestroyEvent(join))
	for _, x := range []*Stream{s, b, c, d} {
		r.ok(r.DestroyStream(x))
	}
	for _, p := range hits {
		r.ok(r.Free(p))
	}
	r.clean()
}

func TestG09_externalEvents(t *testing.T) {
	r := newRig(t, Config{})
	s1, s2, s3 := r.stream(), r.stream(), r.stream()
	in, between, out := r.soft(), r.soft(), r.soft()
	r.code("external outside a capture", r.RecordEventExternal(in, s1), NotCaptured)
	slow := must[*Kernel](t)(r.NewKernel("slow", trace.KernelAICore, 1, 30_000, nil))
	mid := must[*Kernel](t)(r.NewKernel("mid", trace.KernelAICore, 1, 10_000, nil))
	last := must[*Kernel](t)(r.NewKernel("last", trace.KernelAICore, 1, 1_000, nil))
	final := must[*Kernel](t)(r.NewKernel("final", trace.KernelAICore, 1, 1_000, nil))
	r.begin(s1)
	r.ok(r.WaitEventExternal(s1, in), r.LaunchKernel(mid, nil, s1), r.RecordEventExternal(between, s1))
	m1 := r.finish(s1)
	r.begin(s2)
	r.ok(r.WaitEventExternal(s2, between), r.LaunchKernel(last, nil, s2), r.RecordEventExternal(out, s2))
	m2 := r.finish(s2)
	const n = 4
	for range n {
		r.ok(r.LaunchKernel(slow, nil, s3), r.RecordEvent(in, s3))
		r.ok(r.ExecuteModel(m1, s1), r.ExecuteModel(m2, s2))
		r.ok(r.WaitEvent(s3, out), r.LaunchKernel(final, nil, s3))
	}
	r.ok(r.SynchronizeStream(s3), r.SynchronizeEvent(out))
	r.begin(s1)
	r.ok(r.RecordEventExternal(in, s1))
	r.code("mixed", r.RecordEvent(in, s1), InvalidParam)
	_, err := r.CaptureEnd(s1)
	r.code("end after it", err, CaptureInvalid)
	r.ok(r.DestroyModel(m1), r.DestroyModel(m2), r.DestroyEvent(in), r.DestroyEvent(between), r.DestroyEvent(out))
	r.ok(r.DestroyStream(s1), r.DestroyStream(s2), r.DestroyStream(s3))
	r.clean()
	tr := r.trace()
	var order [4][]trace.Task
	for i, name := range []string{"slow", "mid", "last", "final"} {
		if order[i] = rowsOf(tr, name); len(order[i]) != n {
			t.Fatalf("%s ran %d times", name, len(order[i]))
		}
	}
	for i := range n {
		for k := range 3 {
			if order[k][i].End > order[k+1][i].Start {
				t.Errorf("round %d: step %d ends at %d, the next one starts at %d", i, k, order[k][i].End, order[k+1][i].Start)
			}
		}
	}
}

func TestG10_switchAndActive(t *testing.T) {
	r := newRig(t, Config{})
	p := make([]*Stream, 5)
	m := must[*Model](t)(r.BuildModelBegin("branches"))
	for i := range p {
		p[i] = r.stream(StreamConfig{Flags: Persistent})
		r.ok(r.BindStream(m, p[i], i == 0))
	}
	hits := []Ptr{r.word(0), r.word(0), r.word(0), r.word(0)}
	x, one := r.word(1), r.word(1)
	// x == 1 starts stream 3 (which starts 5); otherwise 2 goes on to 4.
	r.ok(r.SwitchStream(x, sim.Equal, one, Int64, p[2], nil, p[0]), r.ActiveStream(p[1], p[0]))
	r.ok(r.addTo(hits[0], 1, p[1]), r.ActiveStream(p[3], p[1]))
	r.ok(r.addTo(hits[1], 1, p[2]), r.ActiveStream(p[4], p[2]))
	r.ok(r.addTo(hits[2], 1, p[3]))
	r.ok(r.addTo(hits[3], 1, p[4]), r.EndTask(m, p[4]))
	r.ok(r.BuildModelEnd(m))
	e := r.stream()
	for range 2 {
		r.execute(m, e)
	}
	for i, want := range []uint64{0, 2, 0, 2} {
		if v := r.get(hits[i]); v != want {
			t.Errorf("branch %d ran %d times, want %d", i, v, want)
		}
	}
	other := r.stream(StreamConfig{Flags: Persistent})
	m2 := must[*Model](t)(r.BuildModelBegin(""))
	r.ok(r.BindStream(m2, other, true))
	r.code("a stream of another model", r.ActiveStream(p[0], other), InvalidParam)
	r.code("a stream for false", r.SwitchStream(x, sim.Equal, one, Int64, other, other, other), ACLInvalidParam)
	r.ok(r.DestroyModel(m), r.DestroyModel(m2), r.DestroyStream(e), r.DestroyStream(other), r.Free(x), r.Free(one))
	for _, s := range p {
		r.ok(r.DestroyStream(s))
	}
	for _, h := range hits {
		r.ok(r.Free(h))
	}
	r.clean()
}

func TestG11_labels(t *testing.T) {
	r := newRig(t, Config{})
	s, e := r.stream(StreamConfig{Flags: Persistent}), r.stream()
	m := must[*Model](t)(r.BuildModelBegin("labels"))
	r.ok(r.BindStream(m, s, true))
	index, a, b := r.word(0), r.word(0), r.word(0)
	l0, l1, end := r.CreateLabel(), r.CreateLabel(), r.CreateLabel()
	r.ok(r.SwitchLabelByIndex(index, []*Label{l0, l1}, s))
	r.ok(r.SetLabel(l0, s), r.addTo(a, 1, s), r.GotoLabel(end, s))
	r.ok(r.SetLabel(l1, s), r.addTo(b, 1, s))
	r.ok(r.SetLabel(end, s), r.EndTask(m, s))
	r.code("a label set twice", r.SetLabel(l0, s), InvalidParam)
	r.ok(r.BuildModelEnd(m))
	for i, x := range []struct{ index, a, b uint64 }{{0, 1, 0}, {1, 1, 1}, {7, 1, 2}, {0, 2, 2}} {
		r.put(index, x.index)
		r.execute(m, e)
		if va, vb := r.get(a), r.get(b); va != x.a || vb != x.b {
			t.Errorf("step %d, index %d: %d and %d, want %d and %d", i, x.index, va, vb, x.a, x.b)
		}
	}
	r.code("a label on an ordinary stream", r.SetLabel(r.CreateLabel(), e), InvalidParam)
}

func TestG12_loopSinking(t *testing.T) {
	const n = 1000
	run := func(sink bool) (value uint64, doorbells uint64, idle int64) {
		r := newRig(t, Config{})
		e := r.stream()
		counter, limit := r.word(0), r.word(n)
		head, body, again := r.stream(StreamConfig{Flags: Persistent}), r.stream(StreamConfig{Flags: Persistent}), r.stream(StreamConfig{Flags: Persistent})
		m := must[*Model](t)(r.BuildModelBegin("loop"))
		r.ok(r.BindStream(m, head, true), r.BindStream(m, body, false), r.BindStream(m, again, false))
		r.ok(r.ValueWrite(counter, 0, head), r.ActiveStream(body, head))
		r.ok(r.inc(body), r.addTo(counter, 1, body))
		if sink {
			r.ok(r.SwitchStream(counter, sim.Less, limit, Int64, again, nil, body))
		}
		r.ok(r.EndTask(m, body), r.ActiveStream(body, again), r.BuildModelEnd(m))
		before := must[Counters](t)(r.Counters())
		if sink {
			r.execute(m, e)
		} else {
			for range n {
				r.execute(m, e)
			}
		}
		after := must[Counters](t)(r.Counters())
		value = r.value()
		adds := rowsOf(r.trace(), "add")
		for i := 2; i < len(adds); i += 2 {
			idle = max(idle, adds[i].Start-adds[i-1].End)
		}
		return value, after.Doorbells - before.Doorbells, idle
	}
	v1, bells, gap := run(true)
	v2, host, _ := run(false)
	if v1 != n || v2 != n {
		t.Errorf("sunk %d, host %d, want %d", v1, v2, n)
	}
	if bells != 1 || host != n {
		t.Errorf("doorbells: sunk %d, host %d", bells, host)
	}
	// Add, switch, active, first task: four hand-overs of the scheduler.
	if gap > 600 {
		t.Errorf("%d ns between iterations", gap)
	}
}

func TestG13_wrongUse(t *testing.T) {
	r := newRig(t, Config{})
	s, s2, e := r.stream(StreamConfig{Flags: Persistent}), r.stream(StreamConfig{Flags: Persistent}), r.stream()
	m := must[*Model](t)(r.BuildModelBegin("a"))
	m2 := must[*Model](t)(r.BuildModelBegin("b"))
	r.code("bind an ordinary stream", r.BindStream(m, e, true), InvalidParam)
	r.code("bind the default stream", r.BindStream(m, nil, true), ACLInvalidParam)
	r.code("bind a fast-launch stream", r.BindStream(m, r.stream(StreamConfig{Flags: Persistent | FastLaunch}), true), NotSupported)
	r.ok(r.BindStream(m, s, true))
	r.code("bind to a second model", r.BindStream(m2, s, true), StreamNotInModel)
	r.ok(r.inc(s))
	r.code("execute before the end", r.ExecuteModel(m, e), ModelExecute)
	r.ok(r.EndTask(m, s))
	r.code("a second end", r.EndTask(m, s), Internal)
	r.code("execute before it is built", r.ExecuteModel(m, e), ModelExecute)
	r.ok(r.BuildModelEnd(m))
	r.code("execute on a persistent stream", r.ExecuteModel(m, s2), NotSupported)
	r.code("a limit of 0", r.ExecuteModelSync(m, 0), InvalidParam)
	r.ok(r.ExecuteModelSync(m, -1), r.ExecuteModelSync(m, 100))
	r.begin(e)
	r.ok(r.inc(e))
	_, g, _ := r.CaptureInfo(e)
	r.code("execute while capturing", r.ExecuteModel(g, e), ModelCaptured)
	r.code("destroy while capturing", r.DestroyModel(g), ModelCaptured)
	r.ok(r.DestroyModel(r.finish(e)), r.UnbindStream(m, s), r.DestroyModel(m), r.DestroyModel(m2))
	r.code("destroy twice", r.DestroyModel(m), InvalidHandle)
	r.code("execute a destroyed model", r.ExecuteModel(m, e), InvalidHandle)
	if v := r.value(); v != 2 {
		t.Errorf("counter %d", v)
	}
}

func TestG14_destroyRunning(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	r.begin(s)
	r.ok(r.LaunchKernel(r.long, nil, s), r.inc(s))
	m := r.finish(s)
	r.ok(r.ExecuteModel(m, s), r.ExecuteModel(m, s))
	t0 := r.Clock()
	r.ok(r.DestroyModel(m))
	if d := r.Clock() - t0; d < 99*ms {
		t.Errorf("destroy waited %d ns for two executions of 50 ms", d)
	}
	if v := r.value(); v != 2 {
		t.Errorf("counter %d", v)
	}
	hang := must[*Kernel](t)(r.NewKernel("hang", trace.KernelAICore, 1, 60_000*ms, nil))
	r.begin(s)
	r.ok(r.LaunchKernel(hang, nil, s))
	m = r.finish(s)
	r.ok(r.ExecuteModel(m, s))
	r.code("destroy while it hangs", r.DestroyModel(m), ModelRunning)
	r.ok(r.AbortModel(m))
	r.code("abort", r.SynchronizeStream(s), 507023)
	r.ok(r.DestroyModel(m))
	m2 := func() *Model { r.begin(s); r.ok(r.LaunchKernel(hang, nil, s)); return r.finish(s) }()
	r.code("limit of an execution", r.ExecuteModelSync(m2, 5), StreamSyncTimeout)
	r.ok(r.DestroyModel(m2), r.DestroyStream(s))
	r.clean()
}
