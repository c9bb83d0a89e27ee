package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"npu/internal/model"
	"npu/internal/problem"
	"npu/internal/runtime"
	"npu/internal/sim"
	"npu/internal/sim/soc"
	"npu/internal/tensor"
	"npu/internal/trace/export"
)

type runOptions struct {
	*app
	file        string
	more        []string // models of the ranks after the first
	soc         string
	inputs      []string
	output      string
	verify      []string
	rtol, atol  float64
	mode        string
	iterations  int
	loop        string
	shapes      []string
	streamCount string
	devices     int
	collective  string
	policy      string
	policySet   bool
	threads     int
	timingOnly  bool
	trace       string
	seed        uint64
	json        bool
	sanitize    bool
	inject      []string
	pmu         string
	dumpDir     string
	top, pace   bool
}

func newRunCmd(a *app) *cobra.Command {
	o := &runOptions{app: a}
	c := &cobra.Command{
		Use:   "run [MODEL...]",
		Short: "Run a model on a simulated NPU: outputs, and where the device time went",
		Long: `run loads a model, sinks it to a simulated Ascend NPU, computes it and says where the device time went. Without an
argument it runs the embedded demo, a small digit reader.

A stream program is a text file of streams, events, copies and kernels (docs/stream-programs.md): what it prints, who did
what when, and the error code of the statement that failed.

A model that communicates (HcomAllReduce and its like) runs on several simulated devices: --devices N runs it on N of
them, as ranks 0 to N-1, several MODELs run one on each. NAME@2=FILE is an input of rank 2; outputs go to DIR/rankN.

Inputs are .npy, .npz or raw little-endian files; an input that is not given is random (--seed) and reported so.
Exit code 1 means that the work failed (a fault, an output that differs, an operator that is not supported), 2 wrong
usage, 3 a file that cannot be read.`,
		Example: `  npu run
  npu run model.onnx -i image=cat.npy -o out/ --trace run.json
  npu run testdata/streams/missing-wait.stream
  npu run layer.om --devices 4 -i x=x.npy -i w@0=shard0.npy -i w@1=shard1.npy
  npu run model.onnx --shape x=1x3x224x224 -n 1000 --loop sink --timing-only`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.file, o.more = args[0], args[1:]
			}
			o.policySet = c.Flags().Changed("policy")
			return runRun(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.soc, "soc", "s", "", "chip, see 'npu soc list' (default: a compiled model's own, else Ascend910B3)")
	f.StringArrayVarP(&o.inputs, "input", "i", nil, "[NAME=]FILE: .npy, .npz or raw data; NAME@RANK=FILE for one rank (repeatable)")
	f.StringVarP(&o.output, "output", "o", "", "directory for the outputs, each as NAME.npy; of several ranks as rankN/NAME.npy")
	f.StringArrayVar(&o.verify, "verify", nil, "[NAME=]FILE: compare an output with a stored one (repeatable)")
	f.Float64Var(&o.rtol, "rtol", 1e-4, "relative tolerance of --verify")
	f.Float64Var(&o.atol, "atol", 1e-4, "absolute tolerance of --verify")
	f.StringVar(&o.mode, "mode", "graph", "eager: one launch per compiled task; graph: one sunk graph")
	f.IntVarP(&o.iterations, "iterations", "n", 1, "how often to execute the model")
	f.StringVar(&o.loop, "loop", "host", "who drives the iterations: host or sink (the device counts)")
	f.StringArrayVar(&o.shapes, "shape", nil, "NAME=1x3x224x224: shape of an input (repeatable)")
	f.StringVar(&o.streamCount, "streams", "auto", "streams for parallel branches: a number or auto")
	f.IntVar(&o.devices, "devices", 0, "how many devices run the model, one a rank (default: as many as it was made for, or 1)")
	f.StringVar(&o.collective, "collective", "ring", "the way between the ranks: ring or mesh")
	f.StringVar(&o.policy, "policy", "preempt", "scheduling: preempt (between blocks) or reference (as the chip does)")
	f.IntVar(&o.threads, "threads", 1, "host threads for the arithmetic; outputs do not depend on it")
	f.BoolVar(&o.timingOnly, "timing-only", false, "skip the arithmetic: times only, no outputs")
	f.StringVar(&o.trace, "trace", "", "write the task trace; the suffix picks the format: "+strings.Join(export.Suffixes(), ", "))
	f.Uint64Var(&o.seed, "seed", 1, "seed of random inputs")
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	f.BoolVar(&o.sanitize, "sanitize", false, "memory and stream-order checker (not built yet)")
	f.StringArrayVar(&o.inject, "inject", nil, "raise a fault: KIND[@op=NAME,task=N,stream=N,nth=N,addr=0x…,after=20us,p=0.01], docs/faults.md (repeatable)")
	f.StringVar(&o.pmu, "pmu", "", "count the events of a `GROUP`: PipeUtilization, ArithmeticUtilization, Memory, MemoryL0, MemoryUB, ResourceConflictRatio, L2Cache, MemoryAccess, or Custom:0x8,0xa")
	f.StringVar(&o.dumpDir, "dump-dir", "", "where failing tasks leave black box, core dump and log")
	f.BoolVar(&o.top, "top", false, "live screen while it runs (leave it with q: the run goes on)")
	f.BoolVar(&o.pace, "pace", false, "tie device time to wall time: never faster than the device would be")
	_ = c.RegisterFlagCompletionFunc("soc", func(c *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return completeSoc(c, nil, word)
	}) // fails only for a flag that does not exist
	return c
}

// unbuilt refuses the flags of the contract whose part of the tool does not exist yet, each with a word.
func (o *runOptions) unbuilt() error {
	for _, f := range []struct {
		set  bool
		name string
	}{
		{o.sanitize, "--sanitize"},
	} {
		if f.set {
			return problem.Usagef("%s is not built yet: run without it", f.name)
		}
	}
	return nil
}

// options checks the flags and turns them into what the model wants.
func (o *runOptions) options() (model.RunOptions, error) {
	r := model.RunOptions{Mode: model.Mode(o.mode), Loop: model.Loop(o.loop), Iterations: o.iterations, Threads: o.threads,
		TimingOnly: o.timingOnly, Seed: o.seed, Trace: o.trace != ""}
	if err := o.unbuilt(); err != nil {
		return r, err
	}
	var err error
	if r.Inject, err = o.injections(); err != nil {
		return r, err
	}
	r.DumpDir = o.dumpDir
	if r.Streams, err = streamLimit(o.streamCount); err != nil {
		return r, err
	}
	switch {
	case r.Mode != model.Eager && r.Mode != model.Sunk:
		return r, problem.Usagef("--mode %q: expected eager or graph", o.mode)
	case r.Loop != model.HostLoop && r.Loop != model.SinkLoop:
		return r, problem.Usagef("--loop %q: expected host or sink", o.loop)
	case r.Mode == model.Eager && r.Loop == model.SinkLoop:
		return r, problem.Usagef("--loop sink needs --mode graph: a loop on the device runs a sunk graph")
	case r.Mode == model.Eager && r.Streams > 1:
		return r, problem.Usagef("--streams %d needs --mode graph: eager launches go to one stream", r.Streams)
	case o.devices < 0 || o.devices > maxRanks:
		return r, problem.Usagef("--devices %d: expected 1 to %d", o.devices, maxRanks)
	case o.iterations < 1:
		return r, problem.Usagef("--iterations %d: expected at least 1", o.iterations)
	case o.threads < 1 || o.threads > 1024:
		return r, problem.Usagef("--threads %d: expected 1 to 1024", o.threads)
	case o.timingOnly && (o.output != "" || len(o.verify) > 0):
		return r, problem.Usagef("--timing-only computes no outputs: leave out --output and --verify")
	}
	switch o.collective {
	case "ring":
	case "mesh":
		r.Collective = runtime.Mesh
	default:
		return r, problem.Usagef("--collective %q: expected ring or mesh", o.collective)
	}
	switch o.policy {
	case "preempt":
	case "reference":
		r.Policy = sim.Reference
	default:
		return r, problem.Usagef("--policy %q: expected preempt or reference", o.policy)
	}
	if o.trace != "" {
		if _, err := export.BySuffix(o.trace); err != nil {
			return r, err
		}
	}
	name := o.soc
	if name == "" {
		name = "Ascend910B3"
	}
	r.Chip, err = soc.Lookup(name)
	return r, err
}

// streamLimit reads --streams; 0 leaves it to the loader.
func streamLimit(s string) (int, error) {
	if s == "auto" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, problem.Usagef("--streams %q: expected auto or a number from 1", s)
	}
	return n, nil
}

// injections are the faults of --inject.
func (o *runOptions) injections() ([]*sim.Injection, error) {
	var list []*sim.Injection
	for _, s := range o.inject {
		i, err := sim.ParseInjection(s)
		if err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	return list, nil
}

func runRun(ctx context.Context, o *runOptions) error {
	r, err := o.options()
	if err != nil {
		return err
	}
	if o.file == "" || isStream(o.file) {
		if o.devices > 1 || len(o.more) > 0 {
			return problem.Usagef("several devices are for models: a stream program says itself which it uses")
		}
		if o.file == "" {
			return runDemo(ctx, o, r)
		}
		return runStream(ctx, o)
	}
	models, err := o.open(&r)
	if err != nil {
		return err
	}
	expected, err := o.expected(models)
	if err != nil {
		return err
	}
	if err := o.count(&r); err != nil {
		return err
	}
	res, runErr := o.runModels(ctx, models, r)
	return o.finish(models, r, res, expected, runErr)
}

// chip takes the chip that a compiled model belongs to, unless the user names another.
func (o *runOptions) chip(m *model.Model, r *model.RunOptions) error {
	if o.soc == "" && m.SocGuess != "" {
		if c, err := soc.Lookup(m.SocGuess); err == nil {
			r.Chip = c
			m.Notes = append(m.Notes, fmt.Sprintf("the file does not name its chip; compilers of its time made models for %s", m.SocGuess))
		}
	}
	if o.soc == "" && m.Soc != "" {
		c, err := soc.Lookup(m.Soc)
		if err != nil {
			m.Notes = append(m.Notes, fmt.Sprintf("compiled for %s, which this program does not know: timed on %s", m.Soc, r.Chip.Name))
			return nil
		}
		r.Chip = c
	}
	if w := m.CheckChip(r.Chip.Name); w != "" {
		m.Notes = append(m.Notes, w)
	}
	return nil
}

// finish writes what was asked for, also of a run that failed on the way.
func (o *runOptions) finish(models []*model.Model, r model.RunOptions, res *model.Result, expected []map[string]*tensor.Tensor, runErr error) error {
	if res == nil || errors.Is(runErr, sim.ErrInterrupted) || errors.Is(runErr, context.Canceled) {
		return runErr
	}
	if problem.ClassOf(runErr) == problem.Usage && runErr != nil {
		return runErr
	}
	rep := model.NewReport(models, r, res)
	if o.trace != "" {
		if err := export.Write(o.trace, res.Trace); err != nil {
			return err
		}
	}
	if o.output != "" && runErr == nil {
		if err := model.WriteOutputs(o.output, rep, res.Outputs); err != nil {
			return err
		}
	}
	checks, verifyErr := model.Verify(rep, res.Outputs, expected, tensor.Tolerance{RTol: o.rtol, ATol: o.atol})
	var err error
	if o.json {
		err = o.printJSON(rep)
	} else {
		err = o.printReport(rep, res, checks)
	}
	return cmpErr(err, runErr, verifyErr)
}

// cmpErr is the first error of the list.
func cmpErr(errs ...error) error {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}
