package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"npu/internal/problem"
	"npu/internal/runtime"
	"npu/internal/sim"
	"npu/internal/sim/pmu"
	"npu/internal/sim/soc"
	"npu/internal/trace"
)

// Options is what the command line says about a run.
type Options struct {
	Chip    string           // empty: the program's, else Ascend910B3
	Policy  string           // empty: the program's, else preempt
	Threads int              // host threads for the arithmetic; results do not depend on it
	Rows    int              // tasks that the trace keeps at most; 0: a million
	Visible string           // ASCEND_RT_VISIBLE_DEVICES: which devices the program sees; empty: all
	Inject  []*sim.Injection // faults to raise
	DumpDir string           // where failing tasks leave black box, core file and log; empty: nowhere
	RunDir  string           // where the run shows itself to others, see runtime.Config; empty: nowhere
	Pace    bool             // device time does not run ahead of wall time
	PMU     string           // group of events that kernels are counted by; empty: none
}

// Line is one line of output with the time of the thread that wrote it.
type Line struct {
	TimeNs int64  `json:"time_ns"`
	Thread string `json:"thread"`
	Text   string `json:"text"`

	seq int
}

// Failure is a statement that did not do what it should.
type Failure struct {
	Line      int    `json:"line"` // 0: the end of the program
	Thread    string `json:"thread"`
	TimeNs    int64  `json:"time_ns"`
	Statement string `json:"statement"`
	Code      int    `json:"code"` // ACL code; 0: none, an expectation failed
	Name      string `json:"name,omitempty"`
	Text      string `json:"text"`
	Hint      string `json:"hint,omitempty"`
	Deadlock  bool   `json:"deadlock,omitempty"` // it waited for what could never come

	file string
	join bool // it only waited for a thread
}

func (f *Failure) Error() string {
	where := fmt.Sprintf("%s:%d: %s", f.file, f.Line, f.Statement)
	if f.Line == 0 {
		where = f.file + ": " + f.Statement
	}
	s := where + ": " + f.Text
	if f.Hint != "" {
		s += " (" + f.Hint + ")"
	}
	return s
}

// Result is what a run gave.
type Result struct {
	Chip, Policy string
	Output       []Line // by time, then thread
	Statements   int64
	Checked      int64 // expectations that were looked at
	Failures     []*Failure
	Counters     runtime.Counters
	Threads      int
	Trace        *trace.Trace
	Warnings     []string
	Dumps        []string // files that failing tasks left in Options.DumpDir
}

// runner is one run.
type runner struct {
	prog       *Program
	rt         *runtime.Runtime
	ctx        context.Context
	chip       *soc.Chip
	statements atomic.Int64
	checked    atomic.Int64

	mu       sync.Mutex
	lines    []Line
	dropped  int
	failures []*Failure
	streams  map[streamKey]string
	threads  map[uint16]string
	faults   map[faultKey]bool // that a statement has returned
	injected []injected
}

// injected is a fault that a statement of the program has ordered.
type injected struct {
	st *InjectStmt
	*sim.Injection
}

// inject keeps an injection, to see in the end whether it met anything.
func (r *runner) inject(st *InjectStmt, i *sim.Injection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.injected = append(r.injected, injected{st, i})
}

// unmet are failures of injections that met no task although they were certain to.
func (r *runner) unmet(h *host) {
	for _, i := range r.injected {
		if i.Fired() == 0 && i.Chance == 0 {
			r.failed(h, i.st, errors.New("no task met these conditions"))
		}
	}
}

// faultKey tells faults apart.
type faultKey struct {
	device       int
	stream, task uint32
	time         int64
}

// reported keeps the fault in an error, if there is one, and says whether a statement had returned it before.
func (r *runner) reported(err error) bool {
	var f *sim.Fault
	if !errors.As(err, &f) {
		return false
	}
	k := faultKey{f.Device, f.Stream, f.Task, f.Time}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.faults[k]
	r.faults[k] = true
	return before
}

// maxLines bounds what a program in a long loop prints.
const maxLines = 100_000

// Run executes a program that Parse and Check have passed. The result holds what happened also when a statement
// failed; the error is then the first *Failure by time, of class Failed.
func (p *Program) Run(ctx context.Context, o Options) (res *Result, err error) {
	chip, err := soc.Lookup(cmp.Or(o.Chip, p.Setup.Chip, "Ascend910B3"))
	if err != nil {
		return nil, err
	}
	policy := sim.Preempt
	if cmp.Or(o.Policy, p.Setup.Policy) == "reference" {
		policy = sim.Reference
	}
	rec := trace.NewRecorder()
	rec.Limit(cmp.Or(o.Rows, 1_000_000))
	var counters *pmu.Unit
	if o.PMU != "" {
		if counters, err = pmu.New(chip, o.PMU); err != nil {
			return nil, err
		}
	}
	rt, err := runtime.Open(runtime.Config{
		PMU:     counters,
		Visible: o.Visible,
		Chip:    chip, Devices: max(1, p.Setup.Devices), Policy: policy, Workers: max(1, o.Threads), MemoryBytes: p.Setup.Memory,
		Recorder: rec, Spans: true, LoopTurns: 1 << 17, AllLoops: true, RunDir: o.RunDir, Program: p.Name, Pace: o.Pace, Inject: o.Inject,
	})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, rt.Interrupt)
	defer stop()
	r := &runner{prog: p, rt: rt, ctx: ctx, chip: chip, streams: map[streamKey]string{}, threads: map[uint16]string{}, faults: map[faultKey]bool{}}
	th := rt.Attach()
	h := &host{r: r, th: th, name: "main", env: map[string]any{}, vars: map[string]int64{}}
	r.nameThread(th.ID(), h.name)
	if o.DumpDir != "" {
		if err := th.DumpExceptions(o.DumpDir); err != nil {
			_ = rt.Close(th) // the directory is the error
			return nil, err
		}
	}
	h.main()
	if ctx.Err() != nil {
		return nil, ctx.Err() // threads may still be on their way out: the runtime is left as it is
	}
	res = &Result{Chip: chip.Name, Policy: policy.String(), Threads: 1 + len(h.children)}
	res.Counters, _ = th.Counters() // fails only when the run is over anyway
	if err := rt.Close(th); err != nil && len(r.failures) == 0 && !r.reported(err) {
		r.failed(h, nil, err)
	}
	r.unmet(h)
	for id, name := range r.threads {
		rec.NameThread(id, name)
	}
	rec.SetMeta(rt.Meta(p.Name))
	res.Trace = rec.Finish()
	if counters != nil {
		res.Trace.Source.AddSheet(counters.Sheet(res.Trace, rt.Counted()))
	}
	res.Warnings = rt.Warnings()
	r.finish(res)
	var dumpErr error
	if res.Dumps, dumpErr = rt.Dumps(); dumpErr != nil {
		res.Warnings = append(res.Warnings, "dump: "+dumpErr.Error())
	}
	if err := sim.Unmet(o.Inject); err != nil && len(res.Failures) == 0 {
		return res, err
	}
	if len(res.Failures) > 0 {
		return res, problem.Mark(problem.Failed, res.Failures[0])
	}
	return res, nil
}

// finish puts what the threads left into an order that does not depend on who ran first.
func (r *runner) finish(res *Result) {
	slices.SortStableFunc(r.lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.TimeNs, b.TimeNs), cmp.Compare(a.Thread, b.Thread), a.seq-b.seq)
	})
	slices.SortStableFunc(r.failures, func(a, b *Failure) int {
		return cmp.Or(cmp.Compare(a.TimeNs, b.TimeNs), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Thread, b.Thread))
	})
	if len(r.failures) > 1 { // a join that met a deadlock of others is not the cause
		rest := slices.DeleteFunc(slices.Clone(r.failures), func(f *Failure) bool { return f.join && f.Deadlock })
		if len(rest) > 0 {
			r.failures = rest
		}
	}
	res.Output, res.Failures = r.lines, r.failures
	res.Statements, res.Checked = r.statements.Load(), r.checked.Load()
	if r.dropped > 0 {
		res.Warnings = append(res.Warnings, fmt.Sprintf("%d lines of output were dropped, %d are shown", r.dropped, maxLines))
	}
}

// say prints a line.
func (r *runner) say(thread string, at int64, seq int, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lines) >= maxLines {
		r.dropped++
		return
	}
	r.lines = append(r.lines, Line{TimeNs: at, Thread: thread, Text: text, seq: seq})
}

// nameThread keeps the name of a host thread for the trace. Numbers are used again: the name lists all.
func (r *runner) nameThread(id uint16, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.threads[id]; old != "" && old != name {
		name = old + ", " + name
	}
	r.threads[id] = name
}

// nameStream keeps the name of a stream for messages.
func (r *runner) nameStream(device int, id uint32, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams[streamKey{uint16(device), id}] = name
}

func (r *runner) streamName(device int, id uint32) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.streams[streamKey{uint16(device), id}], fmt.Sprint(id))
}

// numbered are the ways in which the runtime's messages speak of streams and threads.
var numbered = regexp.MustCompile(`\b(stream|thread) (\d+)`)

// named adds the program's names to the numbers of streams and threads in a message. With several devices a number
// may be anybody's.
func (r *runner) named(text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return numbered.ReplaceAllStringFunc(text, func(s string) string {
		kind, digits, _ := strings.Cut(s, " ")
		n, err := strconv.ParseUint(digits, 10, 16)
		name := r.threads[uint16(n)]
		if kind == "stream" {
			name = r.streams[streamKey{0, uint32(n)}]
		}
		if err != nil || name == "" || r.rt.Devices() > 1 {
			return s
		}
		return s + " (" + name + ")"
	})
}

// failed keeps why a statement (nil: the end of the program) failed.
func (r *runner) failed(h *host, st Stmt, err error) {
	f := &Failure{file: r.prog.File, Thread: h.name, TimeNs: h.th.Clock(), Statement: "end of the program", Text: err.Error()}
	if st != nil {
		f.Line = st.head().Pos.Line
		f.Statement = r.prog.Line(f.Line)
		_, f.join = st.(*JoinStmt)
	}
	var e *runtime.Error
	if errors.As(err, &e) {
		f.Code, f.Name = int(e.Code), codeName(int(e.Code))
		short := *e
		short.Hint = ""
		f.Text, f.Hint = strings.Replace(err.Error(), e.Error(), short.Error(), 1), e.Hint
	}
	f.Text = r.named(f.Text)
	var dead *sim.Deadlock
	if f.Deadlock = errors.As(err, &dead); f.Deadlock {
		f.Hint = "find the record that one of them waits for: it comes too late or never"
	}
	if st == nil && f.Hint == "" {
		f.Hint = "no statement waited for this stream: a sync reports the error where it belongs"
	}
	r.mu.Lock()
	r.failures = append(r.failures, f)
	r.mu.Unlock()
}
