package main

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/critical"
)

type traceCriticalOptions struct {
	*app
	traceInput
	json  bool
	limit int
	files []string
}

func newTraceCriticalCmd(a *app) *cobra.Command {
	o := &traceCriticalOptions{app: a}
	c := &cobra.Command{
		Use:   "critical-path FILE|DIR...",
		Short: "Show the chain of tasks and waits that decided the length of the run",
		Long: `Goes back from the end of the last task, always to what held it up longest: the task before it on its stream, the record
that released it, the task that had its engine, or the host that submitted it late. Work off this path costs no time.`,
		Example: `  npu trace critical-path run.npt
  npu trace critical-path --json run.npt | jq .causes`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.files = args
			return runTraceCritical(c.Context(), o)
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	c.Flags().IntVarP(&o.limit, "limit", "n", 0, "print at most this many segments (default: 20 on a terminal, else all)")
	return c
}

func runTraceCritical(ctx context.Context, o *traceCriticalOptions) error {
	if o.limit < 0 {
		return problem.Usagef("--limit %d: expected a number from 0", o.limit)
	}
	if o.limit == 0 && o.outTTY && !o.json {
		o.limit = 20
	}
	return o.read(ctx, o.files, func(t *trace.Trace) error {
		o.sayLost(strings.Join(o.files, ", "), t)
		p := critical.Find(t)
		if o.json {
			return o.printJSON(struct {
				*critical.Path
				Segments []critical.Segment `json:"segments"`
			}{p, slices.AppendSeq([]critical.Segment{}, segments(p, o.limit))})
		}
		return printTraceCritical(o.streams, p, o.limit)
	})
}

// segments is the segments of p, or the longest ones if there is a limit, in the order of time.
func segments(p *critical.Path, limit int) iter.Seq[critical.Segment] {
	return func(yield func(critical.Segment) bool) {
		if limit == 0 {
			for i := range p.Len() {
				if !yield(p.Segment(i)) {
					return
				}
			}
			return
		}
		for _, i := range p.Longest(limit) {
			if !yield(p.Segment(i)) {
				return
			}
		}
	}
}

func printTraceCritical(s *streams, p *critical.Path, limit int) error {
	unit := ""
	if !s.outTTY {
		unit = "_ns"
	}
	err := s.table("time"+unit+"\tcause", func(row func(cells ...any)) {
		for _, cause := range slices.Sorted(maps.Keys(p.Causes)) {
			row(s.ns(p.Causes[cause]), cause)
		}
		row(s.ns(p.TotalNs), "all")
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.out); err != nil {
		return err
	}
	err = s.table("count\ttotal"+unit+"\top_type", func(row func(cells ...any)) {
		for _, o := range p.Ops {
			row(o.Count, s.ns(o.TotalNs), o.Name)
		}
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.out); err != nil {
		return err
	}
	return s.table("start"+unit+"\ttime"+unit+"\tdevice\tstream\tcause\tname", func(row func(cells ...any)) {
		begin := int64(0)
		if p.Len() > 0 {
			begin = p.Segment(0).Start
		}
		for x := range segments(p, limit) {
			row(s.ns(x.Start-begin), s.ns(x.End-x.Start), x.Device, x.Stream, x.Cause, x.Name)
		}
	})
}
