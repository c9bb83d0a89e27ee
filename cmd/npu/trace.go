package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/load"
)

func newTraceCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "trace",
		Short: "Look into task traces and convert them",
		Long: `A trace says what ran on the device, when, and what it waited for. "npu run --trace FILE" records one.
The commands below read captures (.npt).`,
		Example: `  npu trace info run.npt
  npu trace export -f chrome run.npt -o run.json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		newTraceInfoCmd(a),
		newTraceStatsCmd(a),
		newTraceExportCmd(a),
		newTraceCheckCmd(a),
		newTraceGenCmd(a),
	)
	return c
}

// readTrace opens the trace at path and hands it to show. What could be read of a damaged file is shown before the
// error is given.
func readTrace(ctx context.Context, path string, show func(*trace.Trace) error) error {
	t, damage := load.File(ctx, path)
	if t == nil || ctx.Err() != nil {
		return damage
	}
	if err := show(t); err != nil {
		return err
	}
	return damage
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

func newTraceCheckCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Say whether a trace contradicts itself",
		Long:  "Looks for tasks that end before they start or overlap within their stream, waits that no record released, and ids that name nothing.",
		Example: `  npu trace check run.npt
  npu trace check run.npt && npu trace stats run.npt`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return readTrace(c.Context(), args[0], func(t *trace.Trace) error {
				if err := t.Check(); err != nil {
					return problem.Damagedf("%s: %w", args[0], err)
				}
				_, err := fmt.Fprintf(a.out, "%s: %d tasks and %d host calls, all consistent\n", args[0], t.Tasks.Len(), t.Spans.Len())
				return err
			})
		},
	}
}
