package main

import (
	"context"

	"github.com/spf13/cobra"

	"npu/internal/problem"
	"npu/internal/trace/export"
	"npu/internal/trace/gen"
)

type traceGenOptions struct {
	*app
	gen.Options
	out string
}

func newTraceGenCmd(a *app) *cobra.Command {
	o := &traceGenOptions{app: a}
	c := &cobra.Command{
		Use:   "gen -o OUT",
		Short: "Make a synthetic trace of any size",
		Long: `Makes a consistent trace in which copies feed kernels on parallel streams, to try views and tools on. Its times are
drawn at random from --seed and model no chip.`,
		Example: `  npu trace gen --tasks 1000000 -o big.npt
  npu trace gen --tasks 1000 --devices 2 -o small.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runTraceGen(c.Context(), o) },
	}
	c.Flags().IntVar(&o.Tasks, "tasks", 10_000, "number of tasks; the last iteration is completed")
	c.Flags().IntVar(&o.Devices, "devices", 1, "number of devices")
	c.Flags().IntVar(&o.Streams, "streams", 4, "compute streams of a device")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of the durations")
	c.Flags().StringVarP(&o.out, "output", "o", "", "file to write; the suffix picks the format")
	return c
}

func runTraceGen(ctx context.Context, o *traceGenOptions) error {
	switch {
	case o.out == "":
		return problem.Usagef("no output: name a file with -o FILE")
	case o.Tasks < 0 || o.Tasks > 100_000_000:
		return problem.Usagef("--tasks %d: expected 0 to 100,000,000", o.Tasks)
	case o.Devices < 1 || o.Devices > 1024:
		return problem.Usagef("--devices %d: expected 1 to 1024", o.Devices)
	case o.Streams < 1 || o.Streams > 4096:
		return problem.Usagef("--streams %d: expected 1 to 4096", o.Streams)
	}
	f, err := export.BySuffix(o.out)
	if err != nil {
		return err
	}
	return writeTrace(ctx, o.streams, o.out, f, gen.Trace(o.Options))
}
