package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"npu/internal/trace"
)

// R10: with the recorder on, a hundred launches on two streams give a hundred rows with the kernels' names, in order
// on each stream; the host calls that made them stand in the spans, end before their tasks start, and name them.
func TestR10_taskTimeAndRuntimeAPI(t *testing.T) {
	rec := trace.NewRecorder()
	rt, th := open(t, Config{Recorder: rec, Spans: true})
	var streams [2]*Stream
	var kernels [2]*Kernel
	for i := range streams {
		streams[i] = must[*Stream](t)(th.CreateStream(StreamConfig{}))
		kernels[i] = must[*Kernel](t)(th.NewKernel(fmt.Sprintf("kernel %d", i), trace.KernelAICore, 4, int64(2000*(i+1)), nil))
	}
	for i := range 100 {
		if err := th.LaunchKernel(kernels[i%2], nil, streams[i%2]); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range streams {
		if err := th.SynchronizeStream(s); err != nil {
			t.Fatal(err)
		}
	}
	ids := [2]uint32{streams[0].ID(), streams[1].ID()}
	closeOnce(t, rt, th)
	tr := rec.Finish()
	if err := tr.Check(); err != nil {
		t.Fatal(err)
	}
	type key struct{ stream, task uint32 }
	launches := map[key]trace.Span{}
	for _, s := range tr.Spans.All() {
		if tr.String(s.Name) == callLaunch.name {
			launches[key{s.Stream, s.Task}] = *s
		}
	}
	if len(launches) != 100 {
		t.Errorf("%d launch calls in the spans, want 100", len(launches))
	}
	rows := 0
	last := map[uint32]trace.Task{}
	for _, k := range tr.Tasks.All() {
		if !k.Kind.Kernel() {
			continue
		}
		rows++
		want := 0
		if k.Stream == ids[1] {
			want = 1
		}
		if name := tr.String(k.Name); name != fmt.Sprintf("kernel %d", want) || k.Stream != ids[want] {
			t.Errorf("task %d of stream %d is called %q", k.Task, k.Stream, name)
		}
		if k.End-k.Start != int64(2000*(want+1)) {
			t.Errorf("task %d of stream %d takes %d ns", k.Task, k.Stream, k.End-k.Start)
		}
		if l, ok := last[k.Stream]; ok && (k.Start < l.End || k.Task != l.Task+1) {
			t.Errorf("stream %d: task %d at %d after task %d, which ends at %d", k.Stream, k.Task, k.Start, l.Task, l.End)
		}
		last[k.Stream] = k
		// Host and device share one time line: the doorbell leaves at the end of the call and arrives within 1 µs.
		if s := launches[key{k.Stream, k.Task}]; k.Submit < s.End || k.Submit-s.End > 1000 || s.Start >= s.End {
			t.Errorf("task %d of stream %d arrives at %d, its launch ran from %d to %d", k.Task, k.Stream, k.Submit, s.Start, s.End)
		}
	}
	if rows != 100 {
		t.Errorf("%d kernel rows, want 100", rows)
	}
}

// profiled starts profiling of device 0.
func (r *rig) profiled(o ProfOptions) *ProfConfig {
	r.t.Helper()
	o.Devices, o.Mask, o.Metrics = []int{0}, o.Mask|ProfTX, ProfNoMetrics
	c := must[*ProfConfig](r.t)(r.CreateProfConfig(o))
	r.ok(r.ProfInit("out"), r.ProfStart(c))
	return c
}

// R11: what comes out of order is refused with the code that says so.
func TestR11_profilingOutOfOrder(t *testing.T) {
	r := newRig(t, Config{Devices: 2})
	c := must[*ProfConfig](t)(r.CreateProfConfig(ProfOptions{Devices: []int{0}, Mask: ProfTaskTime | ProfTX}))
	both := must[*ProfConfig](t)(r.CreateProfConfig(ProfOptions{Devices: []int{1, 0}, Metrics: ProfPipe}))
	other := must[*ProfConfig](t)(r.CreateProfConfig(ProfOptions{Devices: []int{1}, Metrics: ProfNoMetrics}))
	r.code("start without init", r.ProfStart(c), ProfNotRun)
	r.code("stop without init", r.ProfStop(c), ProfNotRun)
	r.code("setting without init", r.SetProfConfig(1, "10MB"), ProfNotRun)
	r.code("finalize without init", r.ProfFinalize(), ProfNotRun)
	r.code("no path", r.ProfInit(""), ACLInvalidParam)
	r.code("a long path", r.ProfInit(strings.Repeat("p", 4097)), ACLInvalidParam)
	r.ok(r.ProfInit(strings.Repeat("p", 4096)), r.SetProfConfig(1, strings.Repeat("1", 256)))
	r.code("init twice", r.ProfInit("out"), ProfAlreadyRun)
	r.code("a long setting", r.SetProfConfig(1, strings.Repeat("1", 257)), ACLInvalidParam)
	r.code("stop before start", r.ProfStop(c), ProfNotRun)
	r.ok(r.ProfStart(c))
	r.code("start twice", r.ProfStart(c), ProfAlreadyRun)
	r.code("start on a device that is profiled", r.ProfStart(both), ProfAlreadyRun)
	r.code("stop with another configuration", r.ProfStop(both), ProfilingConfig)
	r.ok(r.ProfStart(other), r.ProfStop(other), r.ProfStop(c), r.ProfStart(both), r.ProfStop(both), r.ProfFinalize())
	r.code("finalize twice", r.ProfFinalize(), ProfNotRun)
	r.code("start after finalize", r.ProfStart(c), ProfNotRun)
	r.ok(r.ProfInit("out"), r.ProfStart(c), r.ProfFinalize()) // ends what runs
	r.code("mark after finalize", r.Mark(nil, "late"), ProfNotRun)
	for name, o := range map[string]ProfOptions{
		"no device":        {},
		"unknown device":   {Devices: []int{2}},
		"a device twice":   {Devices: []int{0, 0}},
		"unknown metrics":  {Devices: []int{0}, Metrics: 9},
		"unknown bit":      {Devices: []int{0}, Mask: 0x400},
		"both lists":       {Devices: []int{0}, Include: []string{"a"}, Exclude: []string{"b"}},
		"negative metrics": {Devices: []int{0}, Metrics: -1},
	} {
		_, err := r.CreateProfConfig(o)
		r.code(name, err, ACLInvalidParam)
	}
}

// R11: profiling that the file of aclInit has switched on belongs to it, until the library ends.
func TestR11_profilingByFile(t *testing.T) {
	r := newRig(t, Config{})
	file := func(text string) string {
		p := filepath.Join(t.TempDir(), "acl.json")
		r.ok(os.WriteFile(p, []byte(text), 0o600))
		return p
	}
	r.code("a wrong switch", r.Init(file(`{"profiler": {"switch": "maybe"}}`)), ProfilingConfig)
	c := must[*ProfConfig](t)(r.CreateProfConfig(ProfOptions{Devices: []int{0}}))
	r.ok(r.Init(file(`{"profiler": {"switch": "on"}}`)), r.Mark(nil, "by file"))
	for what, err := range map[string]error{"init": r.ProfInit("out"), "start": r.ProfStart(c), "stop": r.ProfStop(c), "finalize": r.ProfFinalize()} {
		r.code(what+" beside the file", err, ProfAlreadyRun)
	}
	_, err := r.SubscribeModel(r.incModel(r.stream()))
	r.code("subscription beside the file", err, ProfAPIConflict)
	r.ok(r.Finalize())
	r.code("mark after the library's end", r.Mark(nil, "late"), ProfNotRun)
	r.ok(r.ProfInit("out"))
	r.code("file beside init", r.Init(file(`{"profiler": {"switch": "on"}}`)), ProfAlreadyRun)
	if n := len(spansOf(r.trace(), "by file")); n != 1 {
		t.Errorf("%d spans of the mark, want 1", n)
	}
}

// incModel is a model of two kernels.
func (r *rig) incModel(s *Stream) *Model {
	r.t.Helper()
	r.begin(s)
	r.ok(r.inc(s), r.inc(s))
	return r.finish(s)
}

// R11: a subscription gives the operators of the model's executions, those that the trace has; it and aclprofInit
// exclude each other.
func TestR11_modelSubscription(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	m, alone := r.incModel(s), r.incModel(s)
	r.execute(m, s) // before
	sub := must[*Subscription](t)(r.SubscribeModel(m))
	_, err := r.SubscribeModel(m)
	r.code("subscribe twice", err, RepeatSubscribe)
	_, err = r.SubscribeModel(nil)
	r.code("no model", err, ACLInvalidParam)
	r.code("init beside a subscription", r.ProfInit("out"), ProfAPIConflict)
	r.execute(alone, s)
	for range 3 {
		r.execute(m, s)
	}
	child := must[*Child](t)(r.Go(func(th *Thread) error {
		if err := th.ExecuteModel(m, nil); err != nil {
			return err
		}
		return th.SynchronizeStream(nil)
	}))
	r.ok(r.Wait(child))
	got, lost, err := r.ReadSubscription(sub)
	r.ok(err, r.UnsubscribeModel(sub))
	r.execute(m, s) // behind
	rest, _, err := r.ReadSubscription(sub)
	r.ok(err)
	r.code("unsubscribe twice", r.UnsubscribeModel(sub), ACLInvalidParam)
	if len(got) != 8 || len(rest) != 0 || lost != 0 {
		t.Fatalf("%d records, then %d, %d lost; want 8", len(got), len(rest), lost)
	}
	r.ok(r.ProfInit("out"))
	_, err = r.SubscribeModel(m)
	r.code("subscription beside init", err, ProfAPIConflict)
	main := r.ID()
	tr := r.trace()
	var rows []trace.Task
	for _, x := range rowsOf(tr, "add") {
		if x.Model == got[0].Model {
			rows = append(rows, x)
		}
	}
	if len(rows) != 12 { // six executions, the first and the last of which nobody read
		t.Fatalf("%d rows of the model in the trace, want 12", len(rows))
	}
	for i, o := range got {
		want := rows[i+2]
		if o.Name != "add" || o.Type == "" || o.Start != want.Start || o.End != want.End || o.Duration != float64(o.End-o.Start)/1000 || o.Duration <= 0 {
			t.Errorf("record %d is %+v, the trace has %d to %d", i, o, want.Start, want.End)
		}
		if (o.Thread == main) != (i < 6) || o.Thread == 0 {
			t.Errorf("record %d is of thread %d, main is %d", i, o.Thread, main)
		}
	}
}

// R11: a mark outside of start and stop is ignored with an error, and so is an end without its begin.
func TestR11_marksOutside(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	all := func(when string) {
		_, err := r.StartRange(nil, when)
		for what, err := range map[string]error{"mark": r.Mark(nil, when), "mark in a stream": r.MarkEx(when, s), "push": r.PushRange(when), "pop": r.PopRange(), "range start": err, "range stop": r.StopRange(1)} {
			r.code(what+" "+when, err, ProfNotRun)
		}
	}
	all("before init")
	r.ok(r.ProfInit("out"))
	all("before start")
	c := must[*ProfConfig](t)(r.CreateProfConfig(ProfOptions{Devices: []int{0}, Mask: ProfTX}))
	r.ok(r.ProfStart(c))
	r.code("pop without push", r.PopRange(), ACLInvalidParam)
	r.code("stop without start", r.StopRange(7), ACLInvalidParam)
	r.code("empty mark", r.Mark(nil, ""), ACLInvalidParam)
	r.code("long message", r.MarkEx(strings.Repeat("m", 128), s), ACLInvalidParam)
	r.ok(r.PushRange("never popped"))
	id := must[RangeID](t)(r.StartRange(nil, "never stopped"))
	r.ok(r.ProfStop(c))
	all("after stop")
	r.ok(r.ProfStart(c))
	r.code("pop of a push before", r.PopRange(), ACLInvalidParam)
	r.code("stop of a range before", r.StopRange(id), ACLInvalidParam)
	r.ok(r.ProfStop(c))
	plain := must[*ProfConfig](t)(r.CreateProfConfig(ProfOptions{Devices: []int{0}, Mask: ProfTaskTime}))
	r.ok(r.ProfStart(plain), r.Mark(nil, "without the bit"), r.ProfStop(plain))
	tr := r.trace()
	for _, name := range []string{"before init", "before start", "after stop", "never popped", "never stopped", "without the bit"} {
		if len(spansOf(tr, name))+len(rowsOf(tr, name)) > 0 {
			t.Errorf("%q is in the trace", name)
		}
	}
}

// spansOf are the host spans of that name, in order of time.
func spansOf(tr *trace.Trace, name string) []trace.Span {
	var out []trace.Span
	for _, s := range tr.Spans.All() {
		if tr.String(s.Name) == name {
			out = append(out, *s)
		}
	}
	return out
}

// R12: ranges that nest lie within each other in the trace, one that another thread ends belongs to the thread that
// began it, and a mark in a stream names the task that it is there.
func TestR12_nestedAndCrossThreadRanges(t *testing.T) {
	r := newRig(t, Config{Spans: true})
	s := r.stream()
	c := r.profiled(ProfOptions{})
	r.ok(r.PushRange("step"), r.PushRange("forward"), r.inc(s), r.MarkEx(strings.Repeat("m", 127), s), r.PopRange(), r.PushRange("backward"))
	r.Work(5000)
	r.ok(r.Mark(nil, "here"), r.PopRange())
	id := must[RangeID](t)(r.StartRange(nil, "across"))
	child := must[*Child](t)(r.Go(func(th *Thread) error {
		th.Work(20000)
		if err := th.PopRange(); err == nil {
			t.Error("a thread pops what another one pushed")
		}
		return th.StopRange(id)
	}))
	r.ok(r.Wait(child), r.PopRange(), r.ProfStop(c), r.SynchronizeStream(s))
	main := r.ID()
	tr := r.trace()
	one := func(name string) trace.Span {
		t.Helper()
		l := spansOf(tr, name)
		if len(l) != 1 {
			t.Fatalf("%d spans %q, want 1", len(l), name)
		}
		if l[0].Thread != main {
			t.Errorf("%q is of thread %d, not %d", name, l[0].Thread, main)
		}
		return l[0]
	}
	for _, pair := range [][2]string{{"step", "forward"}, {"step", "backward"}, {"backward", "here"}, {"step", "across"}, {"forward", strings.Repeat("m", 127)}} {
		out, in := one(pair[0]), one(pair[1])
		if in.Start <= out.Start || in.End >= out.End {
			t.Errorf("%s from %d to %d is not within %s from %d to %d", pair[1], in.Start, in.End, pair[0], out.Start, out.End)
		}
	}
	if f, b := one("forward"), one("backward"); f.End > b.Start {
		t.Error("two ranges one behind the other overlap")
	}
	if a := one("across"); a.End-a.Start < 20000 {
		t.Errorf("the range across threads lasts %d ns", a.End-a.Start)
	}
	host := one(strings.Repeat("m", 127))
	dev := rowsOf(tr, strings.Repeat("m", 127))
	if len(dev) != 1 || dev[0].Stream != host.Stream || dev[0].Task != host.Task || dev[0].Start < rowsOf(tr, "add")[0].End {
		t.Errorf("the device's marks are %+v, the host's names task %d of stream %d", dev, host.Task, host.Stream)
	}
}

// R12: only the domains that a list lets through are in the trace.
func TestR12_domains(t *testing.T) {
	for name, c := range map[string]struct {
		o    ProfOptions
		want []string
	}{
		"all":             {ProfOptions{}, []string{"m", "io: m", "net: m"}},
		"exclude":         {ProfOptions{Exclude: []string{"io"}}, []string{"m", "net: m"}},
		"exclude default": {ProfOptions{Exclude: []string{"default", "net"}}, []string{"io: m"}},
		"include":         {ProfOptions{Include: []string{"io"}}, []string{"io: m"}},
		"include default": {ProfOptions{Include: []string{"default"}}, []string{"m"}},
	} {
		r := newRig(t, Config{})
		io, net := must[*Domain](t)(r.CreateDomain("io")), must[*Domain](t)(r.CreateDomain("net"))
		r.profiled(c.o)
		for _, d := range []*Domain{nil, io, net} {
			r.ok(r.Mark(d, "m"), r.StopRange(must[RangeID](t)(r.StartRange(d, "m"))))
		}
		s := r.stream()
		r.ok(r.MarkEx("m", s), r.SynchronizeStream(s), r.DestroyDomain(io))
		r.code("mark in a destroyed domain", r.Mark(io, "late"), ACLInvalidParam)
		r.code("destroy twice", r.DestroyDomain(io), ACLInvalidParam)
		tr := r.trace()
		for _, n := range []string{"m", "io: m", "net: m"} {
			want := 0
			if slices.Contains(c.want, n) {
				if want = 2; n == "m" {
					want = 3
				}
			}
			if got := len(spansOf(tr, n)); got != want {
				t.Errorf("%s: %d spans %q, want %d", name, got, n, want)
			}
		}
	}
}

// R11: a subscription ends with its model, keeps what was there, and leaves the way free for others; without a recorder
// there is none.
func TestR11_subscriptionEndsWithItsModel(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	m := r.incModel(s)
	sub := must[*Subscription](t)(r.SubscribeModel(m))
	r.execute(m, s)
	r.ok(r.DestroyModel(m))
	next := r.incModel(s)
	r.execute(next, s)
	if got, _, err := r.ReadSubscription(sub); len(got) != 2 || err != nil {
		t.Errorf("%d records, %v; want 2", len(got), err)
	}
	_, err := r.SubscribeModel(m)
	r.code("subscription of a destroyed model", err, ACLInvalidParam)
	r.ok(r.ProfInit("out"), r.ProfFinalize())
	again := must[*Subscription](t)(r.SubscribeModel(next))
	r.execute(next, s)
	if got, _, err := r.ReadSubscription(again); len(got) != 2 || err != nil {
		t.Errorf("%d records of the next model, %v; want 2", len(got), err)
	}
	_, th := open(t, Config{})
	k := must[*Kernel](t)(th.NewKernel("k", trace.KernelAICore, 1, 1000, nil))
	q := must[*Stream](t)(th.CreateStream(StreamConfig{}))
	r.ok(th.CaptureBegin(q, CaptureGlobal), th.LaunchKernel(k, nil, q))
	_, err = th.SubscribeModel(must[*Model](t)(th.CaptureEnd(q)))
	r.code("subscription without a recorder", err, NotSupported)
}

// R12: a mark in a captured stream becomes a task of the graph, and a host function may mark too.
func TestR12_marksInGraphsAndCallbacks(t *testing.T) {
	r := newRig(t, Config{})
	s := r.stream()
	r.profiled(ProfOptions{})
	r.begin(s)
	r.ok(r.inc(s), r.MarkEx("in the graph", s), r.inc(s))
	m := r.finish(s)
	for range 3 {
		r.execute(m, s)
	}
	var marked error
	r.ok(r.LaunchHostFunc(s, func(th *Thread) {
		th.Work(100)
		marked = th.Mark(nil, "in a callback")
	}), r.SynchronizeStream(s))
	r.ok(marked, r.ProfFinalize())
	main := r.ID()
	tr := r.trace()
	if n := len(spansOf(tr, "in the graph")); n != 1 {
		t.Errorf("%d host marks in the graph, want 1", n)
	}
	if n := len(rowsOf(tr, "in the graph")); n != 3 {
		t.Errorf("%d marks of the device in three executions", n)
	}
	if l := spansOf(tr, "in a callback"); len(l) != 1 || l[0].Thread == main {
		t.Errorf("marks of the callback: %+v", l)
	}
}
