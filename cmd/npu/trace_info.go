package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"npu/internal/trace"
	"npu/internal/trace/stats"
)

type traceInfoOptions struct {
	*app
	traceInput
	json  bool
	files []string
}

func newTraceInfoCmd(a *app) *cobra.Command {
	o := &traceInfoOptions{app: a}
	c := &cobra.Command{
		Use:   "info FILE|DIR...",
		Short: "Say what a trace holds, and what it lacks",
		Long: `Says what a trace holds, what should be there and is not, what could not be read, and what to switch on the next time
to learn more.`,
		Example: `  npu trace info run.npt
  npu trace info --json --strict PROF_000001_20260716124543725_00195781ONMNNAML`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.files = args
			return runTraceInfo(c.Context(), o)
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return c
}

func runTraceInfo(ctx context.Context, o *traceInfoOptions) error {
	return sum(ctx, &o.traceInput, o.files, stats.NewInfoCollector, func(t *trace.Trace, c *stats.InfoCollector) error {
		in := c.Info(t)
		if o.json {
			return o.printJSON(in)
		}
		return printTraceInfo(o.streams, &in)
	})
}

func printTraceInfo(s *streams, in *stats.Info) error {
	rows := [][2]string{{"format", in.Format}}
	add := func(key, value string) {
		if value != "" {
			rows = append(rows, [2]string{key, value})
		}
	}
	add("chip", in.Chip)
	add("model", in.Model)
	add("policy", in.Policy)
	add("devices", fmt.Sprint(in.Devices))
	if in.Ranks > 0 {
		add("ranks", fmt.Sprint(in.Ranks))
	}
	for _, d := range in.SourceDevices {
		what := fmt.Sprintf("device %d of its host", d.Device)
		if d.Rank >= 0 {
			what = fmt.Sprintf("rank %d, %s", d.Rank, what)
		}
		if d.Host != "" {
			what += " " + d.Host
		}
		add(fmt.Sprintf("  device %d", d.ID), what)
	}
	add("streams", fmt.Sprint(in.Streams))
	add("tasks", fmt.Sprint(in.Tasks))
	for _, kind := range slices.Sorted(maps.Keys(in.ByKind)) {
		add("  "+kind, fmt.Sprint(in.ByKind[kind]))
	}
	add("host calls", fmt.Sprint(in.HostCalls))
	if in.Counters > 0 {
		add("counter values", fmt.Sprint(in.Counters))
	}
	if in.Steps > 0 {
		add("steps", fmt.Sprint(in.Steps))
	}
	for _, name := range slices.Sorted(maps.Keys(in.Tables)) {
		add("table "+name, fmt.Sprintf("%d rows", in.Tables[name]))
	}
	add("device time", s.ns(in.DeviceTimeNs))
	add("span", s.ns(in.SpanNs))
	if in.WallOrdered {
		add("order", "wall time decided the order of some tasks: another run may differ")
	}
	if in.LostRecords > 0 {
		add("lost records", fmt.Sprint(in.LostRecords))
	}
	if in.BadRecords > 0 {
		add("bad records", fmt.Sprint(in.BadRecords))
	}
	for _, kind := range slices.Sorted(maps.Keys(in.Records)) {
		add("in the source: "+kind, fmt.Sprint(in.Records[kind]))
	}
	for _, g := range in.Gaps {
		add("longest gap", fmt.Sprintf("%s on device %d", s.ns(g.Ns), g.Device))
	}
	for _, a := range in.Answers {
		if a.Answered {
			add("answers", a.Question+": "+a.With)
		}
	}
	for _, a := range in.Answers {
		if !a.Answered {
			add("cannot answer", a.Question+": collect with "+a.Collect)
		}
	}
	for _, n := range in.Notes {
		add("note", n)
	}
	for _, m := range in.Missing {
		add("missing", m)
	}
	for _, h := range in.Hints {
		add("hint", h)
	}
	for _, r := range rows {
		if _, err := fmt.Fprintf(s.out, "%-24s %s\n", r[0], r[1]); err != nil {
			return err
		}
	}
	return nil
}
