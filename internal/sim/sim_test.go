package sim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"npu/internal/sim/soc"
	"npu/internal/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rows is a sink that keeps everything, in a canonical order when asked.
type rows struct{ tasks []trace.Task }

func (r *rows) Swap(b *trace.Block) *trace.Block {
	r.tasks = b.AppendTasks(r.tasks)
	b.Reset()
	return b
}

func testChip() *soc.Chip {
	return &soc.Chip{Name: "test", AICores: 20, CubeCores: 20, VectorCores: 40, AICPUs: 6, MemoryBytes: 64 << 20, Limits: soc.Limits{DMAEngines: 3}}
}

type rig struct {
	*Machine
	rec   *rows
	space *Space
}

func newRig(t testing.TB, c Config) *rig {
	t.Helper()
	rec := &rows{}
	if c.Recorder == nil {
		c.Recorder = rec
	}
	if c.Chips == nil {
		c.Chips = []*soc.Chip{testChip()}
	}
	m, err := NewMachine(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	r := &rig{Machine: m, rec: rec, space: m.Devices()[0].NewSpace()}
	base, _ := m.Devices()[0].Memory()
	r.space.Map(base, 16<<20, ReadWrite)
	return r
}

func (r *rig) queue(t testing.TB, c QueueConfig) *Queue {
	t.Helper()
	if c.Depth == 0 {
		c.Depth = 2048
	}
	if c.Space == nil {
		c.Space = r.space
	}
	c.Stream = uint32(len(r.queues))
	q, err := r.NewQueue(r.Devices()[0], c)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func (r *rig) kernel(kind trace.Kind, blocks uint32, ns int64, run func(*Call) *Fault) uint32 {
	return r.Load(&Function{Kind: kind, Blocks: blocks, BlockNs: ns, Run: run})
}

func submit(t testing.TB, p *Port, q *Queue, task Task) {
	t.Helper()
	if _, err := p.Submit(q, &task, nil, 1000); err != nil {
		t.Fatal(err)
	}
}

func wait(t testing.TB, p *Port, q *Queue) *Fault {
	t.Helper()
	o, err := p.WaitQueue(q, Everything, 0, 4000)
	if err != nil {
		t.Fatal(err)
	}
	return o.Fault
}

func (r *rig) finished(t testing.TB, p *Port) []trace.Task {
	t.Helper()
	if err := p.Call(r.Flush); err != nil {
		t.Fatal(err)
	}
	out := slices.Clone(r.rec.tasks)
	slices.SortFunc(out, func(a, b trace.Task) int {
		return cmpOr(a.Start-b.Start, int64(a.Stream)-int64(b.Stream), int64(a.Task)-int64(b.Task))
	})
	return out
}

func cmpOr(d ...int64) int {
	for _, x := range d {
		if x != 0 {
			return int(max(-1, min(1, x)))
		}
	}
	return 0
}

// Tasks of one queue run in order; those of two queues at the same time.
func TestQueues_orderAndParallel(t *testing.T) {
	r := newRig(t, Config{})
	p := r.Attach(0)
	defer p.Detach(nil)
	k := r.kernel(trace.KernelAICore, 1, 50_000, nil)
	q1, q2 := r.queue(t, QueueConfig{}), r.queue(t, QueueConfig{})
	for range 3 {
		submit(t, p, q1, Task{Kind: trace.KernelAICore, Func: k})
		submit(t, p, q2, Task{Kind: trace.KernelAICore, Func: k})
	}
	if p.Clock() != 6000 {
		t.Errorf("six launches of 1000 ns put the clock at %d", p.Clock())
	}
	wait(t, p, q1)
	wait(t, p, q2)
	tasks := r.finished(t, p)
	if len(tasks) != 6 {
		t.Fatalf("%d rows, want 6", len(tasks))
	}
	last := map[uint32]trace.Task{}
	for _, x := range tasks {
		if x.End-x.Start != 50_000 {
			t.Errorf("task %+v has length %d", x, x.End-x.Start)
		}
		if l, ok := last[x.Stream]; ok && x.Start < l.End {
			t.Errorf("stream %d: task %d starts at %d before its predecessor ends at %d", x.Stream, x.Task, x.Start, l.End)
		}
		last[x.Stream] = x
	}
	if tasks[1].Start >= tasks[0].End || tasks[0].Stream == tasks[1].Stream {
		t.Errorf("the two queues do not overlap: %+v %+v", tasks[0], tasks[1])
	}
}

// The overlap pattern: copy on one queue, record, kernel on another queue waits; the host is blocked nowhere.
func TestEvent_overlap(t *testing.T) {
	r := newRig(t, Config{})
	p := r.Attach(0)
	defer p.Detach(nil)
	base, _ := r.Devices()[0].Memory()
	cp, comp := r.queue(t, QueueConfig{}), r.queue(t, QueueConfig{})
	const n = 8
	k := r.kernel(trace.KernelAICore, 20, 30_000, nil)
	ev := make([]*Event, n)
	host, _ := r.HostWindow()
	for i := range n {
		ev[i] = r.Devices()[0].NewEvent()
		submit(t, p, cp, Task{Kind: trace.Memcpy, Dir: trace.HostToDevice, A: base, B: host, C: 500_000})
		submit(t, p, cp, Task{Kind: trace.EventRecord, A: ev[i].ID(), B: 1})
		submit(t, p, comp, Task{Kind: trace.EventWait, A: ev[i].ID(), B: 1})
		submit(t, p, comp, Task{Kind: trace.KernelAICore, Func: k})
	}
	before := p.Clock()
	wait(t, p, comp)
	if before != 4*n*1000 {
		t.Errorf("submission cost %d ns of host time, want %d: it must not block", before, 4*n*1000)
	}
	var copies, kernels []trace.Task
	for _, x := range r.finished(t, p) {
		switch x.Kind {
		case trace.Memcpy:
			copies = append(copies, x)
		case trace.KernelAICore:
			kernels = append(kernels, x)
		}
	}
	var copyNs, kernelNs, both int64
	for i, k := range kernels {
		if k.Start < copies[i].End {
			t.Errorf("kernel %d starts at %d before its copy ends at %d", i, k.Start, copies[i].End)
		}
		kernelNs += k.End - k.Start
		for _, c := range copies {
			both += max(0, min(k.End, c.End)-max(k.Start, c.Start))
		}
	}
	for _, c := range copies {
		copyNs += c.End - c.Start
	}
	// The first copy and the last kernel have no partner; the rest of the shorter part must be hidden.
	if shorter := min(copyNs, kernelNs) / n * (n - 1); both < shorter*9/10 {
		t.Errorf("overlap is %d ns of %d (copies %d, kernels %d)", both, shorter, copyNs, kernelNs)
	}
}

// A wait binds to the generation it names; a later record does not matter to it.
func TestEvent_generations(t *testing.T) {
	r := newRig(t, Config{})
	p := r.Attach(0)
	defer p.Detach(nil)
	long := r.kernel(trace.KernelAICore, 1, 1_000_000, nil)
	q1, q2 := r.queue(t, QueueConfig{}), r.queue(t, QueueConfig{})
	e := r.Devices()[0].NewEvent()
	submit(t, p, q1, Task{Kind: trace.EventRecord, A: e.ID(), B: 1})
	submit(t, p, q2, Task{Kind: trace.EventWait, A: e.ID(), B: 1})
	submit(t, p, q1, Task{Kind: trace.KernelAICore, Func: long})
	submit(t, p, q1, Task{Kind: trace.EventRecord, A: e.ID(), B: 2})
	wait(t, p, q2)
	if p.Clock() > 100_000 {
		t.Errorf("the wait for record 1 ended at %d, behind the long kernel", p.Clock())
	}
	submit(t, p, q2, Task{Kind: trace.EventWait, A: e.ID(), B: 2})
	wait(t, p, q2)
	if p.Clock() < 1_000_000 {
		t.Errorf("the wait for record 2 ended at %d, before the long kernel", p.Clock())
	}
}

func TestNotify_oneRecordOneWait(t *testing.T) {
	r := newRig(t, Config{})
	p := r.Attach(0)
	defer p.Detach(nil)
	n := r.Devices()[0].NewNotify()
	q1, q2 := r.queue(t, QueueConfig{}), r.queue(t, QueueConfig{})
	submit(t, p, q1, Task{Kind: trace.NotifyRecord, A: n.ID()})
	submit(t, p, q1, Task{Kind: trace.NotifyRecord, A: n.ID()}) // not counted
	wait(t, p, q1)
	submit(t, p, q2, Task{Kind: trace.NotifyWait, A: n.ID()})
	wait(t, p, q2)
	submit(t, p, q2, Task{Kind: trace.NotifyWait, A: n.ID()})
	_, err := p.WaitQueue(q2, q2.Submitted(), 0, 0)
	var dead *Deadlock
	if !errors.As(err, &dead) || len(dead.Graph) == 0 {
		t.Fatalf("the second wait must never end: %v", err)
	}
}

// A time-out is virtual: it takes no wall time, and the queue stays usable.
func TestWaitQueue_timeout(t *testing.T) {
	r := newRig(t, Config{})
	p := r.Attach(0)
	defer p.Detach(nil)
	k := r.kernel(trace.KernelAICore, 1, 1000e9, nil)
	q := r.queue(t, QueueConfig{})
	submit(t, p, q, Task{Kind: trace.KernelAICore, Func: k})
	start := p.Clock()
	o, err := p.WaitQueue(q, 1, 10e6, 0)
	if err != nil || !o.Expired || p.Clock() != start+10e6 {
		t.Fatalf("outcome %+v, error %v, clock %d", o, err, p.Clock())
	}
	if f := wait(t, p, q); f != nil || p.Clock() < 1000e9 {
		t.Fatalf("fault %v, clock %d", f, p.Clock())
	}
}

// Policy preempt: a high-priority kernel starts at the next wave. Policy reference: after the whole kernel.
func TestPolicy(t *testing.T) {
	for _, c := range []struct {
		policy Policy
		before int64
	}{{Preempt, 40_000}, {Reference, 120_000}} {
		r := newRig(t, Config{Policy: c.policy})
		p := r.Attach(0)
		big := r.kernel(trace.KernelAICore, 200, 10_000, nil) // ten waves
		small := r.kernel(trace.KernelAICore, 1, 1_000, nil)
		low, high := r.queue(t, QueueConfig{Priority: 7}), r.queue(t, QueueConfig{Priority: 0})
		submit(t, p, low, Task{Kind: trace.KernelAICore, Func: big})
		p.Spend(15_000)
		submit(t, p, high, Task{Kind: trace.KernelAICore, Func: small})
		wait(t, p, low)
		wait(t, p, high)
		for _, x := range r.finished(t, p) {
			if x.Stream == high.name && x.Start > c.before {
				t.Errorf("%v: the high-priority kernel starts at %d, want before %d", c.policy, x.Start, c.before)
			}
			if x.Stream == high.name && c.policy == Reference && x.Start < 100_000 {
				t.Errorf("reference: the running kernel was interrupted at %d", x.Start)
			}
		}
		p.Detach(nil)
	}
}

// A full ring blocks the submitter in virtual time; nothing is lost, ids wrap with a flip count.
func TestSubmit_fullRingAndFlips(t *testing.T) {
	r := newRig(t, Config{})
	p := r.Attach(0)
	defer p.Detach(nil)
	q := r.queue(t, QueueConfig{Depth: 256})
	k := r.kernel(trace.KernelAICore, 1, 5000, nil)
	const n = 140_000
	for range n {
		submit(t, p, q, Task{Kind: trace.KernelAICore, Func: k})
	}
	wait(t, p, q)
	tasks := r.finished(t, p)
	if len(tasks) != n {
		t.Fatalf("%d rows, want %d", len(tasks), n)
	}
	for i, x := range tasks {
		if want := uint32(i/65535)<<16 | uint32(i%65535); x.Task != want {
			t.Fatalf("task %d has id %#x, want %#x", i, x.Task, want)
		}
	}
}

// A kernel's bad address is a fault that the next wait reports once; later tasks run.
func TestFault(t *testing.T) {
	r := newRig(t, Config{})
	p := r.Attach(0)
	defer p.Detach(nil)
	q := r.queue(t, QueueConfig{})
	ran := 0
	bad := r.kernel(trace.KernelAICore, 1, 1000, func(c *Call) *Fault { _, f := c.Space.Resolve(0x10, 4, Read); return f })
	good := r.kernel(trace.KernelAICore, 1, 1000, func(*Call) *Fault { ran++; return nil })
	var seen []*Fault
	r.OnFault(func(f *Fault) { seen = append(seen, f) })
	submit(t, p, q, Task{Kind: trace.KernelAICore, Func: good})
	submit(t, p, q, Task{Kind: trace.KernelAICore, Func: bad})
	submit(t, p, q, Task{Kind: trace.KernelAICore, Func: good})
	f := wait(t, p, q)
	if f == nil || f.Code != CodeAICoreException || f.Addr != 0x10 || f.Task != 1 || ran != 2 {
		t.Fatalf("fault %+v, %d good kernels ran", f, ran)
	}
	if f := wait(t, p, q); f != nil {
		t.Fatalf("reported twice: %v", f)
	}
	if len(seen) != 1 {
		t.Fatalf("callback saw %d faults", len(seen))
	}
}

// A sunk model with a loop on the device: the host submits one task.
func TestInstance_loop(t *testing.T) {
	r := newRig(t, Config{})
	p := r.Attach(0)
	defer p.Detach(nil)
	d := r.Devices()[0]
	base, _ := d.Memory()
	counter, limit := base, base+8
	turns := 0
	k := r.kernel(trace.KernelAICore, 1, 1000, func(*Call) *Fault { turns++; return nil })
	binary.LittleEndian.PutUint64(d.Bytes(limit, 8), 50)
	prog := &Program{Heads: []int{0}, Queues: [][]Desc{
		Assemble([]Task{{Kind: trace.ValueWrite, A: counter}, {Kind: trace.StreamActive, A: 1}}),
		Assemble([]Task{
			{Kind: trace.KernelAICore, Func: k},
			{Kind: trace.ValueWrite, Flags: FlagAdd, A: counter, B: 1},
			{Kind: trace.StreamSwitch, A: counter, B: limit, C: 2 | uint64(Less)<<32 | 1<<40},
			{Kind: trace.ModelEnd},
		}),
		Assemble([]Task{{Kind: trace.StreamActive, A: 1}}),
	}}
	in, err := r.NewInstance(d, r.space, prog, 0, 0, []uint32{10, 11, 12})
	if err != nil {
		t.Fatal(err)
	}
	q := r.queue(t, QueueConfig{})
	for range 2 {
		submit(t, p, q, Task{Kind: trace.ModelExecute, A: in.ID()})
	}
	wait(t, p, q)
	if turns != 100 {
		t.Fatalf("%d turns, want 100", turns)
	}
	if s := r.Stats(); s.Doorbells > 2 {
		t.Errorf("%d doorbells found work, want at most 2", s.Doorbells)
	}
	iters := map[uint32]bool{}
	for _, x := range r.finished(t, p) {
		if x.Kind == trace.KernelAICore {
			iters[x.Iter] = true
			if x.Model != uint32(in.ID())+1 {
				t.Fatalf("row of model %d", x.Model)
			}
		}
	}
	if len(iters) != 100 {
		t.Errorf("%d different iteration numbers, want 100", len(iters))
	}
}

// Labels: an index beyond the list takes the last label.
func TestInstance_switchByIndex(t *testing.T) {
	r := newRig(t, Config{})
	p := r.Attach(0)
	defer p.Detach(nil)
	d := r.Devices()[0]
	base, _ := d.Memory()
	var path []string
	mark := func(s string) uint32 {
		return r.kernel(trace.KernelAICore, 1, 1000, func(*Call) *Fault { path = append(path, s); return nil })
	}
	a, b := mark("a"), mark("b")
	prog := &Program{Heads: []int{0}, Labels: []Label{{0, 1}, {0, 3}, {0, 4}}, Queues: [][]Desc{Assemble([]Task{
		{Kind: trace.LabelSwitch, A: base, B: 0, C: 2},
		{Kind: trace.KernelAICore, Func: a},
		{Kind: trace.LabelGoto, A: 2},
		{Kind: trace.KernelAICore, Func: b},
		{Kind: trace.ModelEnd},
	})}}
	in, err := r.NewInstance(d, r.space, prog, 0, 0, []uint32{10})
	if err != nil {
		t.Fatal(err)
	}
	q := r.queue(t, QueueConfig{})
	for _, i := range []int32{0, 1, 7, -1} {
		binary.LittleEndian.PutUint32(d.Bytes(base, 4), uint32(i))
		submit(t, p, q, Task{Kind: trace.ModelExecute, A: in.ID()})
		wait(t, p, q)
	}
	if got := fmt.Sprint(path); got != "[a b b b]" {
		t.Fatalf("path %s", got)
	}
}

func TestSpace_runs(t *testing.T) {
	r := newRig(t, Config{})
	d := r.Devices()[0]
	s := d.NewSpace()
	base, _ := d.Memory()
	at := func(off, n int) bool { _, f := s.Resolve(base+uint64(off), n, ReadWrite); return f == nil }
	s.Map(base+2*Page, 2*Page, ReadWrite)
	s.Map(base+4*Page, 3*Page, ReadWrite) // joins the run before
	if !at(2*Page, 5*Page) || at(2*Page, 5*Page+1) || at(2*Page-1, 2) {
		t.Error("a joined run is not what it should be")
	}
	s.Map(base+3*Page, Page, NoAccess)
	if at(2*Page, Page+1) || !at(2*Page, Page) || !at(4*Page, 3*Page) {
		t.Error("a hole does not cut the run")
	}
	s.Map(base+3*Page, Page, Read)
	if _, f := s.Resolve(base+3*Page, 8, ReadWrite); f == nil {
		t.Error("writing to a read-only page passes")
	}
	if _, f := s.Resolve(base+3*Page, 8, Read); f != nil {
		t.Errorf("reading a read-only page: %v", f)
	}
	if _, f := s.Resolve(^uint64(0)-3, 8, Read); f == nil {
		t.Error("an address that wraps passes")
	}
}

func TestSubmit_allocatesNothing(t *testing.T) {
	r := newRig(t, Config{})
	p := r.Attach(0)
	defer p.Detach(nil)
	q := r.queue(t, QueueConfig{})
	k := r.kernel(trace.KernelAICore, 1, 1000, nil)
	task := Task{Kind: trace.KernelAICore, Func: k}
	round := func() {
		for range 100 {
			if _, err := p.Submit(q, &task, nil, 1000); err != nil {
				t.Fatal(err)
			}
		}
		wait(t, p, q)
		r.rec.tasks = r.rec.tasks[:0]
	}
	for range 30 {
		round()
	}
	if n := testing.AllocsPerRun(50, round); n != 0 {
		t.Errorf("100 launches and a synchronise allocate %v times", n)
	}
}

func BenchmarkSubmit(b *testing.B) {
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("streams=%d", n), func(b *testing.B) {
			r := newRig(b, Config{Recorder: discard{}})
			p := r.Attach(0)
			defer p.Detach(nil)
			k := r.kernel(trace.KernelAICore, 1, 1000, nil)
			var qs []*Queue
			for range n {
				qs = append(qs, r.queue(b, QueueConfig{}))
			}
			task := Task{Kind: trace.KernelAICore, Func: k}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := p.Submit(qs[i%n], &task, nil, 1000); err != nil {
					b.Fatal(err)
				}
			}
			for _, q := range qs {
				wait(b, p, q)
			}
		})
	}
}

type discard struct{}

func (discard) Swap(b *trace.Block) *trace.Block { b.Reset(); return b }
