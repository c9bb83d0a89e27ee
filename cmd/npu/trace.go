package main

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/cache"
	"npu/internal/trace/load"
	"npu/internal/trace/merge"
	"npu/internal/trace/npt"
	"npu/internal/trace/stats"
)

func newTraceCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "trace",
		Short: "Look into task traces and convert them",
		Long: `A trace says what ran on the device, when, and what it waited for. "npu run --trace FILE" records one.
The commands below read captures (.npt), raw PROF_* directories of real devices, what msprof and torch_npu export (JSON,
CSV, databases), any Chrome trace (.json, .json.gz), and directories with the data of many devices and ranks.`,
		Example: `  npu trace info PROF_000001_20260716124543725_00195781ONMNNAML
  npu trace export -f chrome run.npt -o run.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		newTraceInfoCmd(a),
		newTraceViewCmd(a),
		newTraceStatsCmd(a),
		newTraceDiffCmd(a),
		newTraceCriticalCmd(a),
		newTraceExportCmd(a),
		newTraceCutCmd(a),
		newTraceMergeCmd(a),
		newTraceCheckCmd(a),
		newTraceQueryCmd(a),
		newTraceGenCmd(a),
	)
	return c
}

// traceInput is how traces are read.
type traceInput struct {
	memory  string
	strict  bool
	noCache bool
	align   *merge.Mode // of the clocks of several parts; nil leaves them
}

func (o *traceInput) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.memory, "mem", defaultMemory, "memory for the parts of a directory that are read at once")
	c.Flags().BoolVar(&o.noCache, "no-cache", false, "read large inputs anew, and keep nothing of them in the user's cache directory")
	c.Flags().BoolVar(&o.strict, "strict", false, "fail when something is missing, lost or unreadable")
}

// read opens the traces at paths and hands one made of them to show. What could be read of damaged files is shown before
// the error is given.
func (o *traceInput) read(ctx context.Context, paths []string, show func(*trace.Trace) error) error {
	options, err := o.options()
	if err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(35)) // traces are large and live long: less room for garbage
	t, damage := load.Paths(ctx, paths, options)
	if t == nil || ctx.Err() != nil {
		return damage
	}
	return o.shown(paths, t, damage, show)
}

func (o *traceInput) options() (load.Options, error) {
	memory, err := parseSize(o.memory)
	if err != nil {
		return load.Options{}, problem.Usagef("--mem %w", err)
	}
	options := load.Options{Memory: memory}
	if !o.noCache {
		options.Cache = cache.Default()
	}
	if o.align != nil {
		options.Align, options.Mode = true, *o.align
	}
	return options, nil
}

// shown shows what could be read, and then says what could not.
func (o *traceInput) shown(paths []string, t *trace.Trace, damage error, show func(*trace.Trace) error) error {
	if err := show(t); err != nil {
		return err
	}
	if damage == nil && o.strict {
		return incomplete(strings.Join(paths, ", "), t)
	}
	return damage
}

// sayLost says that sums are of less than what ran.
func (s *streams) sayLost(name string, t *trace.Trace) {
	if n := t.Meta.Lost; n > 0 {
		fmt.Fprintf(s.err, "note: %s: %d records were lost when it was recorded: counts and sums are too small\n", name, n)
	}
}

// sums are what a command wants to know of a trace that is no longer than one look at each row.
type sums interface {
	npt.Skimmer
	Whole(t *trace.Trace)
}

// sum is as read for a command that needs no more than sums: those of a capture are made while it is read. show gets the
// trace without its tasks and calls, or with all.
func sum[S sums](ctx context.Context, o *traceInput, paths []string, fresh func() S, show func(*trace.Trace, S) error) error {
	options, err := o.options()
	if err != nil {
		return err
	}
	s := fresh()
	t, damage := load.Skim(ctx, paths, options, stats.Fields(), s)
	if t == nil && damage != nil {
		return damage
	}
	if t != nil {
		return o.shown(paths, t, damage, func(t *trace.Trace) error { return show(t, s) })
	}
	return o.read(ctx, paths, func(t *trace.Trace) error {
		s := fresh()
		s.Whole(t)
		return show(t, s)
	})
}

// readTrace is as read, with the default options.
func readTrace(ctx context.Context, path string, show func(*trace.Trace) error) error {
	o := traceInput{memory: defaultMemory}
	return o.read(ctx, []string{path}, show)
}

const defaultMemory = "4GiB"

// incomplete says what a trace lacks; nil when nothing.
func incomplete(name string, t *trace.Trace) error {
	s := &t.Source
	if len(s.Missing) == 0 && s.BadRecords == 0 && t.Meta.Lost == 0 {
		return nil
	}
	first := ""
	if len(s.Missing) > 0 {
		first = ": " + s.Missing[0]
	}
	return problem.Failedf("%s: %d things missing, %d records lost, %d records bad%s", name, len(s.Missing), t.Meta.Lost, s.BadRecords, first)
}

// parseSize reads a number of bytes with a unit: 500MB, 4GiB, 1g.
func parseSize(s string) (int64, error) {
	number := strings.TrimRight(s, "KMGTiBkmgtb")
	unit := strings.ToUpper(s[len(number):])
	shift, ok := map[string]int{"": 0, "B": 0, "K": 10, "KB": 10, "KIB": 10, "M": 20, "MB": 20, "MIB": 20, "G": 30, "GB": 30, "GIB": 30, "T": 40, "TB": 40, "TIB": 40}[unit]
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !ok || !(v > 0 && v < 1<<20) && !(shift == 0 && v > 0 && v < 1<<60) {
		return 0, fmt.Errorf("%q: expected a size as 500MB or 4GiB", s)
	}
	return int64(v * float64(int64(1)<<shift)), nil
}

// untilDone passes writes on until ctx is done.
type untilDone struct {
	ctx context.Context
	io.Writer
}

func (w *untilDone) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}
