package main

import (
	"context"

	"github.com/spf13/cobra"

	"npu/internal/model"
	"npu/internal/model/compare"
	"npu/internal/problem"
)

type compareOptions struct {
	*app
	a, b      string
	inputs    []string
	shapes    []string
	seed      uint64
	tolerance float64
	format    string
	json      bool
}

func newCompareCmd(a *app) *cobra.Command {
	o := &compareOptions{app: a}
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Hold two models against each other, layer by layer, on the same input",
		Long: `compare computes two models on the same input, an .om and the .onnx it came from, two .om or two .onnx, lines their
layers up across fusion, and says which layer is the first that computes something else and what kind of difference it
is: precision, layout, pad/stride/dilation, activation, resize rule or weights. docs/compare.md tells how.

It exits with 1 when a layer differs by more than rounding.`,
		Example: `  npu compare model.om model.onnx -i image=cat.npy
  npu compare old.onnx new.onnx --json`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			o.a, o.b = args[0], args[1]
			return runCompare(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&o.inputs, "input", "i", nil, "[NAME=]FILE: .npy, .npz or raw data (repeatable)")
	f.StringArrayVar(&o.shapes, "shape", nil, "NAME=1x3x224x224: shape of an input (repeatable)")
	f.Uint64Var(&o.seed, "seed", 1, "seed of random inputs")
	f.Float64Var(&o.tolerance, "tolerance", 0, "relative error of one layer that counts as rounding (0: 0.01 with 16-bit types, else 0.0001)")
	f.StringVar(&o.format, "format", "table", "table, json or md")
	f.BoolVar(&o.json, "json", false, "print as JSON (as --format json)")
	return c
}

func runCompare(_ context.Context, o *compareOptions) error {
	if o.json {
		o.format = "json"
	}
	switch {
	case o.format != "table" && o.format != "json" && o.format != "md":
		return problem.Usagef("--format %q: expected table, json or md", o.format)
	case !(o.tolerance >= 0):
		return problem.Usagef("--tolerance %g: expected a number from 0", o.tolerance)
	}
	shapes, err := model.ParseShapes(o.shapes)
	if err != nil {
		return err
	}
	files, err := openBindings(o.inputs)
	if err != nil {
		return err
	}
	res, err := compare.Run(compare.Source{A: o.a, B: o.b, Shapes: shapes, Files: files, Seed: o.seed}, compare.Options{Tolerance: o.tolerance})
	if err != nil {
		return err
	}
	if o.format == "json" {
		err = o.printJSON(res)
	} else {
		err = compare.Write(o.out, res, o.format == "md")
	}
	if err == nil && res.First != nil {
		err = problem.Failedf("%s", res.Verdict)
	}
	return err
}
