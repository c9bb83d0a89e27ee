package main

import (
	"context"

	"github.com/spf13/cobra"

	"npu/internal/blackbox/dumpdiff"
	"npu/internal/problem"
)

type dumpDiffOptions struct {
	*app
	a, b string
	json bool
	opts dumpdiff.Options
}

func newDumpDiffCmd(a *app) *cobra.Command {
	o := &dumpDiffOptions{app: a}
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare tensors of two dumps, or of two folders in order of execution",
		Long: `diff pairs tensors by name (and folders node by node), on either side dumps or .npy files, and prints cosine, errors,
the first element that differs and a verdict. Fractal layouts are brought into row-major order first. It exits with
1 when a tensor differs.`,
		Example: `  npu dump diff Conv2D.conv1.12.7.1623124369613540 conv1.output.0.npy
  npu dump diff npu_dump/ cpu_dump/ --rtol 1e-2`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			o.a, o.b = args[0], args[1]
			return runDumpDiff(c.Context(), o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.json, "json", false, "print as JSON")
	f.Float64Var(&o.opts.RTol, "rtol", 1e-3, "relative tolerance")
	f.Float64Var(&o.opts.ATol, "atol", 1e-4, "absolute tolerance")
	f.Float64Var(&o.opts.Cosine, "cosine", 0.9999, "least cosine that counts as close when one element in 1000 is beyond the tolerance")
	return c
}

func runDumpDiff(ctx context.Context, o *dumpDiffOptions) error {
	res, err := dumpdiff.Compare(ctx, o.a, o.b, o.opts)
	if res == nil {
		return err
	}
	print := func() error { return dumpdiff.Write(o.out, res) }
	if o.json {
		print = func() error { return o.printJSON(res) }
	}
	if perr := print(); perr != nil {
		return perr
	}
	if err == nil && !res.Passed {
		err = problem.Failedf("%s %s differs", res.First.Node, res.First.Tensor)
	}
	return err
}
