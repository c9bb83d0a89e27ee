package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/stats"
)

type traceStatsOptions struct {
	*app
	json  bool
	limit int
	file  string
}

func newTraceStatsCmd(a *app) *cobra.Command {
	o := &traceStatsOptions{app: a}
	c := &cobra.Command{
		Use:   "stats FILE",
		Short: "Say where the device time went, and why streams stood idle",
		Long: `Prints operator types, operators and streams, the longest first. A stream is idle because the host had submitted
nothing, because an event held it, because no engine was free, or for the scheduler's own time.`,
		Example: `  npu trace stats run.npt
  npu trace stats --json run.npt | jq '.ops[:5]'`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.file = args[0]
			return runTraceStats(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	c.Flags().IntVarP(&o.limit, "limit", "n", 0, "print at most this many operators (default: 20 on a terminal, else all)")
	return c
}

func runTraceStats(ctx context.Context, o *traceStatsOptions) error {
	if o.limit < 0 {
		return problem.Usagef("--limit %d: expected a number from 0", o.limit)
	}
	if o.limit == 0 && o.outTTY && !o.json {
		o.limit = 20
	}
	return readTrace(ctx, o.file, func(t *trace.Trace) error {
		st := stats.New(t)
		if o.limit > 0 {
			st.OpTypes, st.Ops = st.OpTypes[:min(o.limit, len(st.OpTypes))], st.Ops[:min(o.limit, len(st.Ops))]
		}
		if o.json {
			return o.printJSON(st)
		}
		return printTraceStats(o.streams, &st)
	})
}

func printTraceStats(s *streams, st *stats.Stats) error {
	unit := "" // the header of a pipe says the unit
	if !s.outTTY {
		unit = "_ns"
	}
	head := fmt.Sprintf("count\ttotal%s\tmean%s\tmax%s\tcycles\tbytes\t", unit, unit, unit)
	ops := func(list []stats.Op) func(row func(cells ...any)) {
		return func(row func(cells ...any)) {
			for _, o := range list {
				row(o.Count, s.ns(o.TotalNs), s.ns(o.MeanNs), s.ns(o.MaxNs), o.Cycles, o.Bytes, o.Name)
			}
		}
	}
	blank := func(err error) error {
		if err == nil {
			_, err = fmt.Fprintln(s.out)
		}
		return err
	}
	if err := blank(s.table(head+"op_type", ops(st.OpTypes))); err != nil {
		return err
	}
	if err := blank(s.table(head+"op", ops(st.Ops))); err != nil {
		return err
	}
	streams := fmt.Sprintf("device\tstream\ttasks\tbusy%[1]s\tidle_host%[1]s\tidle_event%[1]s\tidle_engine%[1]s\tidle_scheduler%[1]s\tname", unit)
	err := blank(s.table(streams, func(row func(cells ...any)) {
		for _, x := range st.Streams {
			row(x.Device, x.Stream, x.Tasks, s.ns(x.BusyNs), s.ns(x.Idle.HostNs), s.ns(x.Idle.EventNs), s.ns(x.Idle.EngineNs), s.ns(x.Idle.SchedulerNs), x.Name)
		}
	}))
	if err != nil {
		return err
	}
	return s.table(fmt.Sprintf("device\ttasks\tspan%[1]s\tbusy%[1]s\tunion%[1]s", unit), func(row func(cells ...any)) {
		for _, d := range st.Devices {
			row(d.Device, d.Tasks, s.ns(d.SpanNs), s.ns(d.BusyNs), s.ns(d.UnionNs))
		}
	})
}
