package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/cut"
	"npu/internal/trace/export"
	"npu/internal/trace/merge"
)

type traceCutOptions struct {
	*app
	traceInput
	from, to string
	streams  []uint32 // of the device
	devices  []uint
	ranks    []int
	out      string
	files    []string
}

func newTraceCutCmd(a *app) *cobra.Command {
	o := &traceCutOptions{app: a}
	var numbers []uint
	c := &cobra.Command{
		Use:   "cut FILE|DIR... -o OUT",
		Short: "Take a window of time, some streams or some ranks out of a trace",
		Long: `Times count from the start of the trace: 250us, 1.5ms, 2s, or nanoseconds without a unit. Tasks that reach into the window
are kept whole. The suffix of OUT picks the format.`,
		Example: `  npu trace cut --from 10ms --to 12ms run.npt -o part.npt
  npu trace cut --rank 3 job_dir -o rank3.json.gz`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.files = args
			for _, n := range numbers {
				if uint64(n) > 1<<32-1 {
					return problem.Usagef("--stream %d: expected a number of 32 bits", n)
				}
				o.streams = append(o.streams, uint32(n))
			}
			return runTraceCut(c.Context(), o)
		},
	}
	o.flags(c)
	c.Flags().StringVar(&o.from, "from", "0", "start of the window")
	c.Flags().StringVar(&o.to, "to", "", "end of the window (default: the end of the trace)")
	c.Flags().UintSliceVar(&numbers, "stream", nil, "streams to keep (default: all)")
	c.Flags().UintSliceVar(&o.devices, "device", nil, "devices to keep (default: all)")
	c.Flags().IntSliceVar(&o.ranks, "rank", nil, "ranks to keep (default: all)")
	c.Flags().StringVarP(&o.out, "output", "o", "", "file to write")
	return c
}

func runTraceCut(ctx context.Context, o *traceCutOptions) error {
	if o.out == "" {
		return problem.Usagef("no output: name a file with -o FILE")
	}
	f, err := export.BySuffix(o.out)
	if err != nil {
		return err
	}
	from, err := parseTime("--from", o.from)
	if err != nil {
		return err
	}
	to := int64(0)
	if o.to != "" {
		if to, err = parseTime("--to", o.to); err != nil {
			return err
		}
		if to <= from {
			return problem.Usagef("--to %s: not after --from %s", o.to, o.from)
		}
	}
	c := cut.Options{From: from, To: to, Streams: o.streams, Ranks: o.ranks}
	for _, d := range o.devices {
		if d > 1<<16-1 {
			return problem.Usagef("--device %d: expected a number of 16 bits", d)
		}
		c.Devices = append(c.Devices, uint16(d))
	}
	return o.read(ctx, o.files, func(t *trace.Trace) error {
		piece := cut.Trace(t, c)
		if piece.Tasks.Len() == 0 && piece.Spans.Len() == 0 {
			return problem.Failedf("nothing is left: the trace has no task in the window, on those streams and ranks")
		}
		return writeTrace(ctx, o.app.streams, o.out, f, piece)
	})
}

// parseTime reads a time with a unit, or nanoseconds.
func parseTime(flag, s string) (int64, error) {
	if ns, err := strconv.ParseInt(s, 10, 64); err == nil && ns >= 0 && ns < 1<<62 {
		return ns, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return d.Nanoseconds(), nil
	}
	return 0, problem.Usagef("%s %q: expected a time as 250us, 1.5ms or 2s, or nanoseconds", flag, s)
}

type traceMergeOptions struct {
	*app
	traceInput
	out   string
	clock string
	files []string
}

func newTraceMergeCmd(a *app) *cobra.Command {
	o := &traceMergeOptions{app: a}
	c := &cobra.Command{
		Use:   "merge FILE|DIR... -o OUT",
		Short: "Make one trace of several",
		Long: `Devices keep their numbers where those differ, else they get the number of their rank. The clocks of different hosts differ: --align
collectives shifts each part so that the ends of the same collective operations meet, --align host leaves times as recorded, and auto shifts only
parts of different hosts, and parts of unknown hosts whose clocks are far apart. What was done, and how well the clocks agree, is said on standard error.
The suffix of OUT picks the format.`,
		Example: `  npu trace merge rank0.npt rank1.npt -o job.npt
  npu trace merge --align collectives rank*_ascend_pt -o job.pftrace`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.files = args
			return runTraceMerge(c.Context(), o)
		},
	}
	o.flags(c)
	c.Flags().StringVar(&o.clock, "align", "auto", "clocks: auto, collectives or host")
	c.Flags().StringVarP(&o.out, "output", "o", "", "file to write")
	return c
}

func runTraceMerge(ctx context.Context, o *traceMergeOptions) error {
	if o.out == "" {
		return problem.Usagef("no output: name a file with -o FILE")
	}
	f, err := export.BySuffix(o.out)
	if err != nil {
		return err
	}
	mode, ok := merge.ParseMode(o.clock)
	if !ok {
		return problem.Usagef("--align %q: expected auto, collectives or host", o.clock)
	}
	o.align = &mode
	return o.read(ctx, o.files, func(t *trace.Trace) error {
		for _, note := range t.Source.Notes {
			if _, err := fmt.Fprintln(o.streams.err, note); err != nil {
				return err
			}
		}
		return writeTrace(ctx, o.streams, o.out, f, t)
	})
}
