package main

import (
	"context"

	"github.com/spf13/cobra"

	"npu/internal/blackbox/decode"
	"npu/internal/problem"
)

type dumpOptions struct {
	*app
	path   string
	target string // -o
	format string
	json   bool
	brief  bool
	opts   decode.Options
}

func newDumpCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "dump",
		Short: "Decode what a real device leaves behind: dumps, core files, stacks, black box",
		Example: `  npu dump decode exception_info.3.42.20261130044856428
  npu dump diff npu_dump/ cpu_dump/`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newDumpDecodeCmd(a), newDumpInfoCmd(a), newDumpDiffCmd(a))
	return c
}

func newDumpDecodeCmd(a *app) *cobra.Command {
	o := &dumpOptions{app: a}
	c := &cobra.Command{
		Use:   "decode FILE|DIR",
		Short: "Decode a file or everything in a folder, and export tensors",
		Long: `decode recognises by content: AI-core core files, operator and exception dumps (L0, L1, custom), overflow records, printf
and DumpTensor data of kernels, trace rings, process stacks, black-box files, and the core dump that the firmware
writes as text into device logs. With -o tensors become .npy, memories .bin.`,
		Example: `  npu dump decode conv.core
  npu dump decode extra-info/data-dump/0 -o out     # a whole folder, tensors as .npy
  npu dump decode --format csv Conv2D.conv1.12.7.1623124369613540`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.path = args[0]
			return runDumpDecode(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.target, "output", "o", "", "folder for exports (npy, bin, json)")
	f.StringVar(&o.format, "format", "text", "text, json, csv to print; npy, bin to export only that")
	f.BoolVar(&o.json, "json", false, "print as JSON (as --format json)")
	f.StringVar(&o.opts.DType, "dtype", "", "type of tensors whose type the dump does not hold (L0): float16, bfloat16, int32, ...")
	f.StringVar(&o.opts.Chip, "chip", "", "field tables of the black box: 910B/A3 or 950")
	return c
}

func newDumpInfoCmd(a *app) *cobra.Command {
	o := &dumpOptions{app: a, brief: true, format: "text"}
	c := &cobra.Command{
		Use:   "info FILE",
		Short: "Say in one screen what a dump holds",
		Example: `  npu dump info exception_info.3.42.20261130044856428
  npu dump info --json conv.core`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.path = args[0]
			o.opts.NoStats = true
			return runDumpDecode(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	return c
}

func runDumpDecode(ctx context.Context, o *dumpOptions) error {
	if o.json {
		o.format = "json"
	}
	switch o.format {
	case "text", "json", "csv":
	case "npy", "bin":
		if o.target == "" {
			o.target = "."
		}
	default:
		return problem.Usagef("--format %q: expected text, json, npy, bin or csv", o.format)
	}
	o.opts.Out, o.opts.Format = o.target, o.format
	p := decode.NewPrinter(o.out, o.format, decode.Style{Colors: o.colors, Brief: o.brief})
	return decode.Run(ctx, o.path, o.opts, p)
}

// inspectDump shows what a real device left behind in one screen; with --raw everything.
func inspectDump(ctx context.Context, o *inspectOptions) error {
	d := &dumpOptions{app: o.app, path: o.file, json: o.json, brief: !o.raw, format: "text"}
	d.opts.NoStats = !o.raw
	return runDumpDecode(ctx, d)
}
