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
	traceInput
	json  bool
	limit int
	files []string
}

func newTraceStatsCmd(a *app) *cobra.Command {
	o := &traceStatsOptions{app: a}
	c := &cobra.Command{
		Use:   "stats FILE|DIR...",
		Short: "Say where the device time went, and why streams stood idle",
		Long: `Prints operator types, operators, collective operations, host calls, steps, streams and devices, the longest first. A
stream is idle because the host had submitted nothing, because an event held it, because no engine was free, or for the
scheduler's own time; the reason is unknown where the source does not say when tasks were submitted.`,
		Example: `  npu trace stats run.npt
  npu trace stats --json run.npt | jq '.ops[:5]'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.files = args
			return runTraceStats(c.Context(), o)
		},
	}
	o.flags(c)
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
	return o.read(ctx, o.files, func(t *trace.Trace) error {
		st := stats.New(t)
		if o.limit > 0 {
			for _, list := range []*[]stats.Op{&st.OpTypes, &st.Ops, &st.APIs, &st.Communication} {
				*list = (*list)[:min(o.limit, len(*list))]
			}
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
	for _, part := range []struct {
		name string
		list []stats.Op
	}{{"op_type", st.OpTypes}, {"op", st.Ops}, {"collective", st.Communication}} {
		if len(part.list) == 0 && part.name == "collective" {
			continue
		}
		if err := blank(s.table(head+part.name, ops(part.list))); err != nil {
			return err
		}
	}
	if err := printTraceHost(s, st, unit, blank); err != nil {
		return err
	}
	streams := fmt.Sprintf("device\tstream\ttasks\tbusy%[1]s\tidle_host%[1]s\tidle_event%[1]s\tidle_engine%[1]s\tidle_scheduler%[1]s\tidle_unknown%[1]s\tname", unit)
	err := blank(s.table(streams, func(row func(cells ...any)) {
		for _, x := range st.Streams {
			row(x.Device, x.Stream, x.Tasks, s.ns(x.BusyNs), s.ns(x.Idle.HostNs), s.ns(x.Idle.EventNs), s.ns(x.Idle.EngineNs), s.ns(x.Idle.SchedulerNs), s.ns(x.Idle.UnknownNs), x.Name)
		}
	}))
	if err != nil {
		return err
	}
	return s.table(fmt.Sprintf("device\trank\ttasks\tspan%[1]s\tbusy%[1]s\tunion%[1]s\tcompute%[1]s\tcommunication%[1]s\texposed_communication%[1]s\tfree%[1]s", unit), func(row func(cells ...any)) {
		for _, d := range st.Devices {
			rank := "-"
			if d.Rank != nil {
				rank = fmt.Sprint(*d.Rank)
			}
			row(d.Device, rank, d.Tasks, s.ns(d.SpanNs), s.ns(d.BusyNs), s.ns(d.UnionNs), s.ns(d.ComputeNs), s.ns(d.CommNs), s.ns(d.ExposedNs), s.ns(d.FreeNs))
		}
	})
}

// printTraceHost prints host calls and the steps that the source summed up.
func printTraceHost(s *streams, st *stats.Stats, unit string, blank func(error) error) error {
	if len(st.APIs) > 0 {
		err := blank(s.table(fmt.Sprintf("count\ttotal%[1]s\tmean%[1]s\tmax%[1]s\thost_call", unit), func(row func(cells ...any)) {
			for _, o := range st.APIs {
				row(o.Count, s.ns(o.TotalNs), s.ns(o.MeanNs), s.ns(o.MaxNs), o.Name)
			}
		}))
		if err != nil {
			return err
		}
	}
	if len(st.Steps) == 0 {
		return nil
	}
	head := "total%[1]s\tcomputing%[1]s\tcommunication%[1]s\tnot_overlapped%[1]s\tfree%[1]s\tbubble%[1]s\tpreparing%[1]s\ttype\tindex\tstep"
	return blank(s.table(fmt.Sprintf(head, unit), func(row func(cells ...any)) {
		for _, x := range st.Steps {
			row(s.ns(x.Total), s.ns(x.Computing), s.ns(x.Communication), s.ns(x.NotOverlapped), s.ns(x.Free), s.ns(x.Bubble), s.ns(x.Preparing), x.Type, x.Index, x.Name)
		}
	}))
}
