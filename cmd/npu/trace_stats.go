package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/stats"
)

type traceStatsOptions struct {
	*app
	traceInput
	json   bool
	format string
	only   []string
	limit  int
	files  []string
}

func newTraceStatsCmd(a *app) *cobra.Command {
	o := &traceStatsOptions{app: a}
	c := &cobra.Command{
		Use:   "stats FILE|DIR...",
		Short: "Say where the device time went, and why streams stood idle",
		Long: `Prints operator types, operators, collective operations, PMU metrics, host calls, steps, streams, devices, links and counters, the
longest first; what the source does not hold is left out. Sums (busy, total) stand beside unions: two kernels at once are two in the sum and one in the union. A
stream is idle because the host had submitted nothing, because an event held it, because no engine was free, or for the
scheduler's own time; the reason is unknown where the source does not say when tasks were submitted.`,
		Example: `  npu trace stats run.npt
  npu trace stats --format md --only op_types,devices job_dir
  npu trace stats --json run.npt | jq '.ops[:5]'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.files = args
			return runTraceStats(c.Context(), o)
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	c.Flags().StringVar(&o.format, "format", formatTable, "table, json, csv or md")
	c.Flags().StringSliceVar(&o.only, "only", nil, "print only these tables: "+strings.Join(statsTables, ", "))
	c.Flags().IntVarP(&o.limit, "limit", "n", 0, "print at most this many rows a table (default: 20 on a terminal, else all)")
	return c
}

func runTraceStats(ctx context.Context, o *traceStatsOptions) error {
	if o.limit < 0 {
		return problem.Usagef("--limit %d: expected a number from 0", o.limit)
	}
	if !slices.Contains([]string{formatTable, formatJSON, formatCSV, formatMD}, o.format) {
		return problem.Usagef("--format %q: expected table, json, csv or md", o.format)
	}
	for _, name := range o.only {
		if !slices.Contains(statsTables, name) {
			return problem.Usagef("--only %q: expected %s", name, strings.Join(statsTables, ", "))
		}
	}
	o.json = o.json || o.format == formatJSON
	if o.limit == 0 && o.outTTY && !o.json {
		o.limit = 20
	}
	return sum(ctx, &o.traceInput, o.files, stats.NewCollector, func(t *trace.Trace, c *stats.Collector) error {
		o.sayLost(strings.Join(o.files, ", "), t)
		st := c.Stats(t)
		if o.json {
			if o.limit > 0 {
				for _, list := range []*[]stats.Op{&st.OpTypes, &st.Ops, &st.APIs, &st.Communication} {
					*list = (*list)[:min(o.limit, len(*list))]
				}
				st.PMU = st.PMU[:min(o.limit, len(st.PMU))]
			}
			return o.printJSON(st)
		}
		list := statsSections(t, &st)
		var shown []section
		for _, x := range list {
			if len(o.only) > 0 && !slices.Contains(o.only, x.name) {
				continue
			}
			if o.limit > 0 {
				x.rows = x.rows[:min(o.limit, len(x.rows))]
			}
			shown = append(shown, x)
		}
		return o.printSections(shown, o.format)
	})
}

// statsTables is the tables of the report, in their order.
var statsTables = []string{"op_types", "ops", "pmu", "collectives", "communication", "links", "apis", "steps", "streams", "idle", "devices", "totals", "counters"}

// statsSections is the report.
func statsSections(t *trace.Trace, st *stats.Stats) []section {
	var out []section
	add := func(name, columns string, rows func(row func(cells ...any))) {
		x := section{name: name, columns: strings.Fields(columns)}
		rows(func(cells ...any) { x.rows = append(x.rows, cells) })
		out = append(out, x)
	}
	ops := func(list []stats.Op) func(row func(cells ...any)) {
		return func(row func(cells ...any)) {
			for _, o := range list {
				row(o.Count, o.TotalNs, o.MeanNs, o.MaxNs, o.Cycles, o.Bytes, o.Name)
			}
		}
	}
	const sums = "count total_ns mean_ns max_ns cycles bytes "
	add("op_types", sums+"op_type", ops(st.OpTypes))
	add("ops", sums+"op", ops(st.Ops))
	metrics := stats.MetricNames(t, st.PMU)
	add("pmu", "count total_ns "+strings.Join(metrics, " ")+" op_type", func(row func(cells ...any)) {
		for _, m := range st.PMU {
			cells := []any{m.Count, m.TotalNs}
			for _, name := range metrics {
				var v any
				if x, ok := m.Values[name]; ok {
					v = x
				}
				cells = append(cells, v)
			}
			row(append(cells, m.Name)...)
		}
	})
	add("collectives", sums+"collective", ops(st.Communication))
	add("communication", "rank count elapse_ns transit_ns wait_ns synchronization_ns idle_ns communication", func(row func(cells ...any)) {
		for _, c := range st.CommTimes {
			var rank any
			if c.Rank != nil {
				rank = *c.Rank
			}
			row(rank, c.Count, c.ElapseNs, c.TransitNs, c.WaitNs, c.SyncNs, c.IdleNs, c.Op)
		}
	})
	add("links", "src dst transport bytes transit_ns bandwidth_gb_s group", func(row func(cells ...any)) {
		for _, l := range st.Links {
			row(l.Src, l.Dst, l.Transport, l.Bytes, l.TransitNs, l.Bandwidth, l.Group)
		}
	})
	add("apis", "count total_ns mean_ns max_ns host_call", func(row func(cells ...any)) {
		for _, o := range st.APIs {
			row(o.Count, o.TotalNs, o.MeanNs, o.MaxNs, o.Name)
		}
	})
	add("steps", "total_ns computing_ns communication_ns not_overlapped_ns free_ns bubble_ns preparing_ns type index step", func(row func(cells ...any)) {
		for _, x := range st.Steps {
			row(x.Total, x.Computing, x.Communication, x.NotOverlapped, x.Free, x.Bubble, x.Preparing, x.Type, x.Index, x.Name)
		}
	})
	add("streams", "device stream tasks busy_ns idle_host_ns idle_event_ns idle_engine_ns idle_scheduler_ns idle_unknown_ns name", func(row func(cells ...any)) {
		for _, x := range st.Streams {
			row(x.Device, x.Stream, x.Tasks, x.BusyNs, x.Idle.HostNs, x.Idle.EventNs, x.Idle.EngineNs, x.Idle.SchedulerNs, x.Idle.UnknownNs, x.Name)
		}
	})
	add("idle", "host_ns event_ns engine_ns scheduler_ns unknown_ns", func(row func(cells ...any)) {
		if len(st.Streams) > 0 {
			row(st.Idle.HostNs, st.Idle.EventNs, st.Idle.EngineNs, st.Idle.SchedulerNs, st.Idle.UnknownNs)
		}
	})
	add("devices", "device rank tasks span_ns busy_ns union_ns compute_ns communication_ns exposed_communication_ns free_ns", func(row func(cells ...any)) {
		for _, d := range st.Devices {
			var rank any
			if d.Rank != nil {
				rank = *d.Rank
			}
			row(d.Device, rank, d.Tasks, d.SpanNs, d.BusyNs, d.UnionNs, d.ComputeNs, d.CommNs, d.ExposedNs, d.FreeNs)
		}
	})
	add("totals", "busy_ns union_ns copy_compute_overlap_ns idle_ns", func(row func(cells ...any)) {
		if len(st.Devices) > 0 {
			row(st.BusyNs, st.UnionNs, st.CopyComputeNs, st.Idle.Total())
		}
	})
	add("counters", "device samples min mean max last counter", func(row func(cells ...any)) {
		for _, c := range st.Counters {
			row(c.Device, c.Samples, c.Min, c.Mean, c.Max, c.Last, c.Name)
		}
	})
	return out
}
