package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/export"
)

type traceExportOptions struct {
	*app
	traceInput
	format string
	out    string
	files  []string
}

func newTraceExportCmd(a *app) *cobra.Command {
	o := &traceExportOptions{app: a}
	c := &cobra.Command{
		Use:   "export FILE|DIR... -o OUT",
		Short: "Convert a trace for other tools",
		Long: `Formats: ` + strings.Join(export.Names(), ", ") + `. Without --format the suffix of OUT picks one (.json is
Chrome JSON, .json.gz packs it; -f msprof writes the vendor's timeline, or its database for a .db).
Chrome JSON and Perfetto open in ui.perfetto.dev, pprof with "go tool pprof", Parquet in DuckDB, pandas and the like.`,
		Example: `  npu trace export -f chrome run.npt -o run.json.gz
  npu trace export -f parquet rank0_ascend_pt rank1_ascend_pt -o job.parquet
  npu trace export -f csv run.npt -o - | head`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.files = args
			return runTraceExport(c.Context(), o)
		},
	}
	o.flags(c)
	c.Flags().StringVarP(&o.format, "format", "f", "", "format: "+strings.Join(export.Names(), ", "))
	c.Flags().StringVarP(&o.out, "output", "o", "", "file to write; - is standard output")
	return c
}

func runTraceExport(ctx context.Context, o *traceExportOptions) error {
	f, err := exportFormat(o)
	if err != nil {
		return err
	}
	return o.read(ctx, o.files, func(t *trace.Trace) error { return writeTrace(ctx, o.streams, o.out, f, t) })
}

func exportFormat(o *traceExportOptions) (f export.Format, err error) {
	switch {
	case o.out == "":
		return f, problem.Usagef("no output: name a file with -o FILE, or standard output with -o -")
	case o.format != "":
		f, err = export.ByName(o.format, o.out)
	case o.out == "-":
		return f, problem.Usagef("no format for standard output: name one with -f (%s)", strings.Join(export.Names(), ", "))
	default:
		f, err = export.BySuffix(o.out)
	}
	if err == nil && o.out == "-" && o.outTTY && f.Suffix != ".json" && f.Suffix != ".csv" {
		return f, problem.Usagef("format %s is binary and standard output is a terminal: name a file with -o FILE", f.Name)
	}
	return f, err
}

// writeTrace writes t to the file out, or to standard output for "-". An interrupt leaves no file.
func writeTrace(ctx context.Context, s *streams, out string, f export.Format, t *trace.Trace) error {
	write := f.Write
	f.Write = func(w io.Writer, t *trace.Trace) error { return write(&untilDone{ctx, w}, t) }
	if out == "-" {
		return f.Write(s.out, t)
	}
	return export.File(out, t, f)
}
