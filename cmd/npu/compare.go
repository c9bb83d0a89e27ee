package main

import (
	"context"

	"github.com/spf13/cobra"

	"npu/internal/blackbox/dumpdiff"
	"npu/internal/model"
	"npu/internal/model/compare"
	"npu/internal/problem"
)

type compareOptions struct {
	*app
	a, b      string
	inputs    []string
	shapes    []string
	against   string
	seed      uint64
	tolerance float64
	format    string
	json      bool
}

func newCompareCmd(a *app) *cobra.Command {
	o := &compareOptions{app: a}
	c := &cobra.Command{
		Use:   "compare A [B]",
		Short: "Hold two models against each other, layer by layer, on the same input",
		Long: `compare computes two models on the same input, an .om and the .onnx it came from, two .om or two .onnx, lines their
layers up across fusion, and says which layer is the first that computes something else and what kind of difference it
is: precision, layout, pad/stride/dilation, activation, resize rule or weights. docs/compare.md tells how.

With --against DIR the tensors that a real device dumped stand for B, or are held against A beside B.

It exits with 1 when a layer differs by more than rounding.`,
		Example: `  npu compare model.om model.onnx -i image=cat.npy
  npu compare old.onnx new.onnx --json
  npu compare model.om --against dump/ -i image=cat.npy`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			o.a = args[0]
			if len(args) == 2 {
				o.b = args[1]
			}
			return runCompare(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&o.inputs, "input", "i", nil, "[NAME=]FILE: .npy, .npz or raw data (repeatable)")
	f.StringArrayVar(&o.shapes, "shape", nil, "NAME=1x3x224x224: shape of an input (repeatable)")
	f.StringVar(&o.against, "against", "", "folder of tensors dumped on a real device (or .npy files named after operators)")
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
	case o.b == "" && o.against == "":
		return problem.Usagef("compare needs a second model, or --against DIR")
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
	res, err := o.compare(compare.Source{A: o.a, B: o.b, Shapes: shapes, Files: files, Seed: o.seed})
	if err != nil {
		return err
	}
	if o.format == "json" {
		err = o.printJSON(res)
	} else {
		err = compare.Write(o.out, res, o.format == "md")
	}
	for r := res; err == nil && r != nil; r = r.Against {
		if r.First != nil {
			err = problem.Failedf("%s", r.Verdict)
		}
	}
	return err
}

// compare holds A against B, against the dumps, or against both.
func (o *compareOptions) compare(s compare.Source) (*compare.Result, error) {
	opts := compare.Options{Tolerance: o.tolerance}
	if o.against == "" {
		return compare.Run(s, opts)
	}
	tensors, notes, err := dumpdiff.Tensors(o.against)
	if err != nil {
		return nil, err
	}
	var dumps []compare.Dump
	for _, t := range tensors {
		if t.Name == "output.0" {
			dumps = append(dumps, compare.Dump{Node: t.Node, File: t.File, Load: t.Load})
		}
	}
	dev, err := compare.RunAgainst(s, dumps, opts)
	if err != nil {
		return nil, err
	}
	dev.Notes = append(dev.Notes, notes...)
	if o.b == "" {
		return dev, nil
	}
	res, err := compare.Run(s, opts)
	if err == nil {
		res.Against = dev
	}
	return res, err
}
