package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/diff"
)

type traceDiffOptions struct {
	*app
	traceInput
	json  bool
	limit int
	a, b  string
}

func newTraceDiffCmd(a *app) *cobra.Command {
	o := &traceDiffOptions{app: a}
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Say what got faster or slower between two traces",
		Long: `Compares counts and device time by operator type and by operator, and those of host calls; what changed most comes first. Differences are B minus A.
The two may be of different formats, as a simulated run and a profile of the real device.`,
		Example: `  npu trace diff before.npt after.npt
  npu trace diff --json run.npt PROF_000001_20260716124543725_00195781ONMNNAML | jq '.op_types[:5]'`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			o.a, o.b = args[0], args[1]
			return runTraceDiff(c.Context(), o)
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	c.Flags().IntVarP(&o.limit, "limit", "n", 0, "print at most this many operators and calls (default: 20 on a terminal, else all)")
	return c
}

func runTraceDiff(ctx context.Context, o *traceDiffOptions) error {
	if o.limit < 0 {
		return problem.Usagef("--limit %d: expected a number from 0", o.limit)
	}
	if o.limit == 0 && o.outTTY && !o.json {
		o.limit = 20
	}
	return sum(ctx, &o.traceInput, []string{o.a}, diff.NewSums, func(a *trace.Trace, x diff.Sums) error {
		return sum(ctx, &o.traceInput, []string{o.b}, diff.NewSums, func(b *trace.Trace, y diff.Sums) error {
			o.sayLost(o.a, a)
			o.sayLost(o.b, b)
			d := diff.Of(a, b, x, y)
			if o.limit > 0 {
				for _, list := range []*[]diff.Op{&d.OpTypes, &d.Ops, &d.Calls} {
					*list = (*list)[:min(o.limit, len(*list))]
				}
			}
			if o.json {
				return o.printJSON(d)
			}
			return printTraceDiff(o.streams, &d)
		})
	})
}

func printTraceDiff(s *streams, d *diff.Diff) error {
	unit := ""
	if !s.outTTY {
		unit = "_ns"
	}
	err := s.table("a\tb\tdelta\twhat", func(row func(cells ...any)) {
		row(d.A.Tasks, d.B.Tasks, d.B.Tasks-d.A.Tasks, "tasks")
		for _, r := range []struct {
			a, b int64
			what string
		}{
			{d.A.DeviceTimeNs, d.B.DeviceTimeNs, "device time"}, {d.A.SpanNs, d.B.SpanNs, "span"},
			{d.A.UnionNs, d.B.UnionNs, "engines busy"}, {d.A.IdleNs, d.B.IdleNs, "streams idle"},
		} {
			row(s.ns(r.a), s.ns(r.b), s.ns(r.b-r.a), r.what)
		}
	})
	if err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		ops  []diff.Op
	}{{"op_type", d.OpTypes}, {"op", d.Ops}, {"host_call", d.Calls}} {
		if part.name == "host_call" && len(part.ops) == 0 {
			continue
		}
		if _, err := fmt.Fprintln(s.out); err != nil {
			return err
		}
		err := s.table(fmt.Sprintf("count_a\tcount_b\ttotal_a%[1]s\ttotal_b%[1]s\tdelta%[1]s\t%[2]s", unit, part.name), func(row func(cells ...any)) {
			for _, o := range part.ops {
				row(o.CountA, o.CountB, s.ns(o.TotalA), s.ns(o.TotalB), s.ns(o.Delta), o.Name)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
