package model

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/runtime"
	"npu/internal/sim"
	"npu/internal/sim/pmu"
	"npu/internal/sim/soc"
	"npu/internal/tensor"
	"npu/internal/trace"
)

// RunOptions is one run of a model on a device of its own.
type RunOptions struct {
	Chip       *soc.Chip
	Mode       Mode
	Loop       Loop
	Iterations int
	Policy     sim.Policy
	Streams    int // for parallel branches of a sunk model, at most; 0: as many as pay
	Threads    int // host threads for the arithmetic
	TimingOnly bool
	Inputs     map[string]*tensor.Tensor   // of all ranks; missing ones are random
	Data       map[string]*graph.Data      // inputs that are sequences or optionals
	RankInputs []map[string]*tensor.Tensor // those that only rank i has; may be nil
	Collective runtime.Algorithm           // the way that communication between ranks takes
	Seed       uint64
	Trace      bool             // keep every task and host call in Result.Trace; without it only the sums are kept
	Inject     []*sim.Injection // faults to raise
	DumpDir    string           // where failing tasks leave black box, core file and log; empty: nowhere
	RunDir     string           // where the run shows itself to others, see runtime.Config; empty: nowhere
	Pace       bool             // device time does not run ahead of wall time
	PMU        *pmu.Unit        // counts events of the kernels into the table "pmu" of Result.Trace, which has all tasks then
}

// Result is what a run gave.
type Result struct {
	Outputs    []*tensor.Tensor // rank by rank; nil where only time was wanted
	Names      []string         // of the outputs; an element of a sequence is NAME[i]
	Data       []*graph.Data    // the outputs of a stepped model, of any kind
	Random     [][]string       // inputs that were made up, by rank
	Trace      *trace.Trace
	DeviceTime int64 // ns from the first execution's arrival to the end of the last task
	Counters   runtime.Counters
	PeakHBM    int64
	Faults     []error
	Dumps      []string // files that failing tasks left in RunOptions.DumpDir
	Warnings   []string
	LoadEnd    int64 // device time at which the model was loaded; what comes later is the run
	Ops        []OpTime
	// Between is the mean time from the last work of an iteration to the first of the next, in device ns; -1 where there
	// are no two iterations of a sunk model.
	Between int64
	Ended   bool          // all executions have; false: a fault or the user came first
	Wall    time.Duration // of the executions, from the first submission to the end of the last wait
	Tasks   int           // of the run, after loading
	Streams int           // that ran one of them
	Events  int
}

// Run loads the model on a fresh device, executes it and reads the outputs. A fault on the device is an error of
// class Failed; the result then holds the trace up to it.
//
// A model with operators of unknown meaning is only timed.
func (m *Model) Run(ctx context.Context, o RunOptions) (*Result, error) {
	return RunRanks(ctx, []*Model{m}, o)
}

// RunRanks is Run for several devices: model i is rank i.
func RunRanks(ctx context.Context, models []*Model, o RunOptions) (res *Result, err error) {
	for _, m := range models {
		o.TimingOnly = o.TimingOnly || len(m.Timed) > 0
	}
	if o.TimingOnly && rest(models) {
		o.TimingOnly = false
		defer func() {
			if res != nil {
				res.Outputs, res.Names, res.Data = nil, nil, nil
				res.Warnings = append(res.Warnings, "the arithmetic was not skipped: what the model does depends on data")
			}
		}()
	}
	m := models[0]
	rec := trace.NewRecorder()
	sum := newSummary(rec)
	rec.Tap(sum.add)
	if !o.Trace && o.PMU == nil {
		rec.Limit(1)
	}
	rt, err := runtime.Open(runtime.Config{
		Chip: o.Chip, Policy: o.Policy, TimingOnly: o.TimingOnly, Workers: o.Threads, Recorder: rec, Spans: o.Trace,
		RunDir: o.RunDir, Program: m.Name, Pace: o.Pace, Inject: o.Inject, PMU: o.PMU, Devices: len(models),
	})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, rt.Interrupt)
	defer stop()
	th := rt.Attach()
	res = &Result{Random: make([][]string, len(models))}
	defer func() {
		if e := rt.Close(th); e != nil && err == nil {
			err = problem.Mark(problem.Failed, e)
		}
		rec.SetMeta(rt.Meta(m.Name))
		sum.collectives(models, max(1, o.Iterations))
		res.Ops, res.Tasks, res.Streams, res.Events = sum.list(), sum.tasks, len(sum.streams), len(sum.events)
		res.Between = -1
		if ns, ok := sum.between(); ok {
			res.Between = ns
		}
		res.Trace = rec.Finish()
		if o.Trace || o.PMU != nil {
			res.Warnings = append(res.Warnings, missing(res.Trace)...)
		}
		if o.PMU != nil {
			res.Trace.Source.AddSheet(o.PMU.Sheet(res.Trace, rt.Counted()))
			if n := o.PMU.Note(); n != "" {
				res.Trace.Source.Notes = append(res.Trace.Source.Notes, n)
			}
		}
		var dumpErr error
		if res.Dumps, dumpErr = rt.Dumps(); dumpErr != nil {
			if dumpErr = problem.Failedf("dump: %w", dumpErr); err != nil {
				dumpErr = fmt.Errorf("%w; %w", err, dumpErr)
			}
			err = dumpErr
		}
		err = cmp.Or(err, sim.Unmet(o.Inject))
		res.Warnings = append(res.Warnings, rt.Warnings()...)
	}()
	if err := th.SetDevice(0); err != nil {
		return res, err
	}
	if o.DumpDir != "" {
		if err := th.DumpExceptions(o.DumpDir); err != nil {
			return res, err
		}
	}
	return res, execute(ctx, th, models, o, res, sum)
}

// missing says that a trace is not whole.
func missing(t *trace.Trace) []string {
	if t.Meta.Lost == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d tasks and calls are missing in the trace: they came faster than they could be kept", t.Meta.Lost)}
}

func execute(ctx context.Context, th *runtime.Thread, models []*Model, o RunOptions, res *Result, sum *summary) error {
	inputs := make([][]*tensor.Tensor, len(models))
	for r, m := range models {
		var err error
		if inputs[r], res.Random[r], err = m.Fill(o.inputs(r), o.Seed+uint64(r)<<32); err != nil {
			return err
		}
	}
	data, err := models[0].data(o.Data)
	if err != nil {
		return err
	}
	if rest(models) && len(models) > 1 {
		return problem.Usagef("the model has nodes that run step by step from the host, see its warnings: it runs on one device")
	}
	lo := LoadOptions{Mode: o.Mode, Streams: o.Streams, Collective: o.Collective}
	n := max(1, o.Iterations)
	executions := n
	if o.Loop == SinkLoop {
		if o.Mode == Eager {
			return problem.Usagef("--loop sink needs --mode graph: a loop on the device runs a sunk graph")
		}
		if rest(models) {
			return problem.Usagef("--loop sink: the model has nodes that run step by step from the host, see its warnings; use --loop host")
		}
		lo.SinkIterations, executions = n, 1
	}
	w, err := LoadWorld(th, models, lo)
	if err != nil {
		return err
	}
	before, err := th.Counters()
	if err != nil {
		return err
	}
	res.LoadEnd = th.Clock()
	sum.from.Store(res.LoadEnd)
	for r := range inputs {
		err := w.On(r, func(s *Session) error {
			for i, t := range inputs[r] {
				if err := s.SetInput(i, t); err != nil {
					return err
				}
			}
			for name, d := range data {
				s.setData(name, d)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	failed := res.measure(th, before, func() error {
		for i := range executions {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			err := w.Execute()
			if err == nil {
				err = w.Wait()
			}
			if err != nil {
				return problem.Mark(problem.Failed, fmt.Errorf("execution %d: %w", i+1, err))
			}
		}
		return nil
	})
	if failed != nil {
		_ = res.peak(th, w) // the fault says more than that memory cannot be asked for after it
		return failed
	}
	for r := range models {
		if o.TimingOnly {
			break
		}
		err := w.On(r, func(s *Session) error { return problem.Mark(problem.Failed, s.collect(res)) })
		if err != nil {
			return err
		}
	}
	after, err := th.Counters()
	if err != nil {
		return err
	}
	res.count(before, after)
	return res.peak(th, w)
}

// measure runs the executions and notes what they took, also of those that failed on the way.
func (r *Result) measure(th *runtime.Thread, before runtime.Counters, f func() error) error {
	start, wall := th.Clock(), time.Now()
	failed := f()
	r.Wall, r.Ended = time.Since(wall), failed == nil
	c, err := th.Counters()
	if err == nil {
		r.DeviceTime = max(0, c.DeviceTime-start)
		r.count(before, c)
	}
	return cmp.Or(failed, err)
}

// count is what has happened since before.
func (r *Result) count(before, after runtime.Counters) {
	r.Counters = runtime.Counters{
		Tasks: after.Tasks - before.Tasks, Doorbells: after.Doorbells - before.Doorbells, HostWaits: after.HostWaits - before.HostWaits,
		HostCopies: after.HostCopies - before.HostCopies, Faults: after.Faults - before.Faults, DeviceTime: r.DeviceTime,
	}
}

// peak reads the greatest use of memory of any rank.
func (r *Result) peak(th *runtime.Thread, w *World) error {
	for i := range w.ranks {
		err := w.On(i, func(*Session) error {
			_, _, peak, err := th.MemInfo()
			r.PeakHBM = max(r.PeakHBM, peak)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rest says whether a model has nodes that run step by step.
func rest(models []*Model) bool {
	return slices.ContainsFunc(models, func(m *Model) bool { return m.Rest != nil })
}

// inputs are those given for rank r.
func (o *RunOptions) inputs(r int) map[string]*tensor.Tensor {
	if r >= len(o.RankInputs) {
		return o.Inputs
	}
	given := maps.Clone(o.Inputs)
	if given == nil {
		given = map[string]*tensor.Tensor{}
	}
	maps.Copy(given, o.RankInputs[r])
	return given
}

// collect reads the outputs.
func (s *Session) collect(res *Result) (err error) {
	if s.stepped != nil {
		res.Data, err = s.Results()
		for i, d := range res.Data {
			flatten(s.m.Rest.Outputs[i].Name, d, func(name string, t *tensor.Tensor) {
				res.Names, res.Outputs = append(res.Names, name), append(res.Outputs, t)
			})
		}
		return err
	}
	for i, p := range s.m.Plan.Outputs {
		t, err := s.Output(i)
		if err != nil {
			return err
		}
		res.Names, res.Outputs = append(res.Names, p.Name), append(res.Outputs, t)
	}
	return nil
}

// Fill is a tensor for every input of the model, in order: those given by name, and made up from the seed where none was;
// made names these.
func (m *Model) Fill(given map[string]*tensor.Tensor, seed uint64) (list []*tensor.Tensor, made []string, err error) {
	list = make([]*tensor.Tensor, len(m.Plan.Inputs))
	for i, p := range m.Plan.Inputs {
		if t := given[p.Name]; t != nil {
			list[i] = t
			continue
		}
		if list[i], err = random(p.DType, p.Shape, seed+uint64(i)); err != nil {
			return nil, nil, fmt.Errorf("input %q: %w", p.Name, err)
		}
		made = append(made, p.Name)
	}
	return list, made, nil
}

// random makes a tensor from a seed: floats in [-1, 1), integers 0 or 1, so that they are valid as most indices.
func random(t tensor.DType, s tensor.Shape, seed uint64) (*tensor.Tensor, error) {
	out, err := tensor.New(t, s)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	var v [1024]float64
	for at, n := 0, s.Count(); at < n; at += len(v) {
		part := v[:min(len(v), n-at)]
		for i := range part {
			part[i] = float64(float32(rng.Float64()*2 - 1))
			if !t.Float() {
				part[i] = float64(rng.IntN(2))
			}
		}
		if err := tensor.EncodeFloats(out.Data, t, at, part); err != nil {
			return nil, err
		}
	}
	return out, nil
}
