package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/perfetto"
)

type traceCheckOptions struct {
	*app
	traceInput
}

func newTraceCheckCmd(a *app) *cobra.Command {
	o := &traceCheckOptions{app: a}
	c := &cobra.Command{
		Use:   "check FILE|DIR...",
		Short: "Say whether a trace contradicts itself",
		Long: `Looks for tasks that end before they start or overlap within their stream, waits that no record released, and ids that name nothing.
A Perfetto trace (.pftrace, or by its content) is checked against the public schema, as far as this program writes it: fields with their wire types, names
before their use, described tracks, nested slices, arrows that point forward in time.`,
		Example: `  npu trace check run.npt
  npu trace export -f perfetto run.npt -o run.pftrace && npu trace check run.pftrace`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runTraceCheck(c.Context(), o, args) },
	}
	o.flags(c)
	return c
}

func runTraceCheck(ctx context.Context, o *traceCheckOptions, args []string) error {
	var rest []string
	for _, path := range args {
		if !isPerfetto(path) {
			rest = append(rest, path)
			continue
		}
		if err := checkPerfetto(ctx, o, path); err != nil {
			return err
		}
	}
	if len(rest) == 0 {
		return nil
	}
	name := strings.Join(rest, ", ")
	return o.read(ctx, rest, func(t *trace.Trace) error {
		if err := t.Check(); err != nil {
			return problem.Damagedf("%s: %w", name, err)
		}
		_, err := fmt.Fprintf(o.out, "%s: %d tasks and %d host calls, all consistent\n", name, t.Tasks.Len(), t.Spans.Len())
		return err
	})
}

// isPerfetto says whether the file is a Perfetto trace, by its name or, if that says nothing, by its first packet.
func isPerfetto(path string) bool {
	if ext := filepath.Ext(path); ext == ".pftrace" || ext == ".perfetto-trace" {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head)
	return perfetto.Begins(head[:n])
}

func checkPerfetto(ctx context.Context, o *traceCheckOptions, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return problem.Mark(problem.Damaged, err)
	}
	defer f.Close()
	s, err := perfetto.Check(&untilDoneReader{ctx, f})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		err = problem.Mark(problem.Damaged, fmt.Errorf("%s: %w", path, err))
	} else if s.Problems > 0 {
		err = problem.Damagedf("%s: %d contradictions of the schema; the first: %s", path, s.Problems, strings.Join(s.First, "; "))
	}
	said := ""
	if err == nil {
		said = ", all as the schema has it"
	}
	if _, err := fmt.Fprintf(o.out, "%s: %d packets, %d tracks, %d slices, %d instants, %d counter values, %d arrows%s\n", path, s.Packets, s.Tracks, s.Slices, s.Instants, s.Values, s.Arrows, said); err != nil {
		return err
	}
	return err
}

// untilDoneReader passes reads on until ctx is done.
type untilDoneReader struct {
	ctx context.Context
	io.Reader
}

func (r *untilDoneReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
