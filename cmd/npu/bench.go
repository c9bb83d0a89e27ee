package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"npu/internal/bench"
	"npu/internal/problem"
	"npu/internal/sim/soc"
)

type benchOptions struct {
	*app
	families []string
	models   modelBench
	soc      string
	count    int
	duration time.Duration
	json     bool
	plot     bool
	format   string
	compare  string
	replay   []string
	drawMap  bool
	notes    []string // of the benchmarks that ran
}

func newBenchCmd(a *app) *cobra.Command {
	o := &benchOptions{app: a}
	c := &cobra.Command{
		Use:   "bench [streams|events|launch|memory|copy|graph|loop|collective|ipc|capture|all]... | model FILE...",
		Short: "Measure what the runtime's calls cost on this machine",
		Long: `Measures the wall time of the runtime's calls (ns/op, allocs/op, B/op) and, beside it, the simulated time of the same
calls. What a call is measured by runs in the same rounds: a buffered Go channel send, a queue under a mutex, a plain copy.
Figures are medians over interleaved rounds; ± is half of the range of the rounds. Simulated times are the same on every
machine, wall times are not.

--format bench prints the standard Go benchmark format, which benchstat reads; --compare OLD measures again and sets the
result beside such a file.

memory --replay FILE runs a trace of allocations (op,id,size,stream lines, or the event list of a PyTorch memory snapshot
in JSON) through the device's pool and through PyTorch's caching policy, and prints what each reserves; --map draws the
pool when most of it is in use.

model FILE... measures whole inferences of models: the inputs copied to the device, one execution, the outputs copied
back. Loading and packing of weights are off the clock. New pages (on Linux) are pages of memory that an inference touches
for the first time. --threads, --shape, --input and --seed are those of npu run.`,
		Example: `  npu bench launch
  npu bench all --count 10 --format bench > old.txt
  npu bench all --count 10 --compare old.txt
  npu bench streams --plot
  npu bench memory --replay snapshot.json --map
  npu bench model resnet.onnx --threads 2 --duration 1s`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 && args[0] == modelFamily {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return append(benchNames(), "all", modelFamily), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.families = args
			return runBench(c.Context(), o)
		},
	}
	c.AddCommand(newConformanceCmd(o.app))
	f := c.Flags()
	f.StringVarP(&o.soc, "soc", "s", "Ascend910B3", "chip to simulate")
	f.IntVar(&o.count, "count", 6, "rounds; 6 or more let --compare tell a difference from chance")
	f.DurationVar(&o.duration, "duration", 50*time.Millisecond, "wall time of a benchmark in a round")
	f.StringVar(&o.format, "format", "table", "table, or bench: the standard Go benchmark format")
	f.StringVar(&o.compare, "compare", "", "compare with an earlier run `OLD`, a file of --format bench")
	f.BoolVar(&o.json, "json", false, "print as JSON")
	f.BoolVar(&o.plot, "plot", false, "draw pictures")
	f.StringArrayVar(&o.replay, "replay", nil, "memory: replay the allocations of `FILE` (repeatable)")
	f.BoolVar(&o.drawMap, "map", false, "memory: draw the pool at its peak, of a replay or of a built-in trace")
	o.models.flags(f)
	return c
}

func benchNames() (names []string) {
	for _, f := range bench.Families() {
		names = append(names, f.Name)
	}
	return names
}

func (o *benchOptions) check() error {
	switch {
	case o.count < 1:
		return problem.Usagef("--count %d: expected at least 1", o.count)
	case o.duration <= 0:
		return problem.Usagef("--duration %v: expected more than 0", o.duration)
	case o.format != "table" && o.format != "bench":
		return problem.Usagef("--format %q: expected table or bench", o.format)
	case o.json && o.format == "bench":
		return problem.Usagef("--json and --format bench are two formats: take one")
	case o.plot && (o.json || o.format == "bench" || o.compare != ""):
		return problem.Usagef("--plot draws for the eye: it goes with no --json, --format bench or --compare")
	case o.compare != "" && o.format == "bench":
		return problem.Usagef("--compare prints a comparison: it goes with no --format bench")
	case o.models.set() && !o.isModels():
		return problem.Usagef("--threads, --shape, --input and --seed belong to one family: npu bench model FILE...")
	case o.replays() && (len(o.families) != 1 || o.families[0] != "memory"):
		return problem.Usagef("--replay and --map belong to one family: npu bench memory")
	case o.replays() && (o.plot || o.compare != "" || o.format == "bench"):
		return problem.Usagef("--replay and --map print a table: they go with no --plot, --compare or --format bench")
	}
	return nil
}

// benchPeer starts this program as the second process of a benchmark.
func benchPeer() (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &exec.Cmd{Path: exe, Args: []string{os.Args[0], "bench-peer"}}, nil
}

func newBenchPeerCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "bench-peer",
		Short:  "The second process of npu bench ipc, which starts it",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return bench.Peer(a.in, a.out) },
	}
}

func runBench(ctx context.Context, o *benchOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	chip, err := soc.Lookup(o.soc)
	if err != nil {
		return err
	}
	if o.replays() {
		return o.runReplay(ctx, chip)
	}
	families, err := o.selected()
	if err != nil {
		return err
	}
	var old []bench.Series
	if o.compare != "" {
		if old, err = readBench(o.compare); old == nil {
			return err
		}
	}
	opt := bench.Options{Chip: chip, Count: o.count, Duration: o.duration, Peer: benchPeer}
	var list []bench.Series
	opt.Note = func(text string) { o.notes = append(o.notes, text) }
	for _, f := range families {
		opt.Progress = o.progress(f.Name)
		s, err := bench.Run(ctx, f, opt)
		o.progressEnd()
		if err != nil {
			return err
		}
		list = append(list, s...)
	}
	return cmpErr(o.print(families, list, old, opt), err)
}

// readBench reads an earlier run. With an error, what could be read of it is returned as well.
func readBench(path string) ([]bench.Series, error) {
	f, err := os.Open(path)
	if err != nil {
		if pe := (*os.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, problem.Damagedf("%s: %w", path, err)
	}
	defer f.Close()
	list, _, err := bench.ReadGo(f, path)
	return list, err
}

func (o *benchOptions) print(families []bench.Family, list, old []bench.Series, opt bench.Options) error {
	switch {
	case o.compare != "":
		return o.printDeltas(bench.Compare(old, list))
	case o.format == "bench":
		return bench.WriteGo(o.out, list, bench.Conditions(opt))
	case o.json:
		return o.printJSON(bench.Results(list))
	case o.plot:
		return o.printPlots(families, list, opt)
	}
	if err := o.benchTable(bench.Results(list)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(o.out, "\n%s\n", conditionText(bench.Conditions(opt), o.count)); err != nil {
		return err
	}
	return o.notesOnce(o.notes)
}

// progress shows on a terminal which benchmark runs, once half a second is over.
func (o *benchOptions) progress(family string) func(done, total int, name string) {
	if !o.errTTY {
		return nil
	}
	begin := time.Now()
	return func(done, total int, name string) {
		if time.Since(begin) > 500*time.Millisecond {
			fmt.Fprintf(o.err, "\r\x1b[K%s %d %% %s", family, 100*done/total, name)
		}
	}
}

func (o *benchOptions) progressEnd() {
	if o.errTTY {
		fmt.Fprint(o.err, "\r\x1b[K")
	}
}

// conditionText says under which conditions a run was made.
func conditionText(list []bench.Condition, rounds int) string {
	get := func(key string) string {
		for _, c := range list {
			if c.Key == key {
				return c.Value
			}
		}
		return "?"
	}
	return strings.Join([]string{
		fmt.Sprintf("%s cores, Go %s, %s/%s", get("cores"), get("go"), get("goos"), get("goarch")), "simulated " + get("soc"),
		fmt.Sprintf("medians of %d rounds of %s", rounds, get("round")),
	}, "; ")
}
