package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"npu/internal/model"
	"npu/internal/outfile"
	"npu/internal/problem"
	"npu/internal/sim/soc"
)

type compileOptions struct {
	*app
	file      string
	output    string
	soc       string
	shapes    []string
	batches   []int
	dims      string
	precision string
	json      bool
}

func newCompileCmd(a *app) *cobra.Command {
	o := &compileOptions{app: a}
	c := &cobra.Command{
		Use:   "compile MODEL.onnx -o MODEL.om",
		Short: "Compile an ONNX model to an offline model (.om)",
		Long: `compile infers shapes, optimises, plans memory and tasks, and writes an offline model in the container of Ascend's
compiler. Other tools can read its graph, weights and tasks; it holds no device code and runs with 'npu run' only.

Running the result gives the same bits as running the ONNX file. With --dynamic-batch or --dynamic-dims the file
holds one graph for each size; 'npu run --shape' chooses.`,
		Example: `  npu compile model.onnx -o model.om --soc Ascend310P3
  npu compile model.onnx -o model.om --dynamic-batch 1,2,4,8
  npu compile model.onnx -o model.om --shape x=-1x3x-1x-1 --dynamic-dims "1,224,224;4,448,448"`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.file = args[0]
			return runCompile(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "", "file to write (default: the model's name with .om)")
	f.StringVarP(&o.soc, "soc", "s", soc.Default, "chip, see 'npu soc list'")
	f.StringArrayVar(&o.shapes, "shape", nil, "NAME=1x3x224x224: shape of an input; -1 where --dynamic-dims decides (repeatable)")
	f.IntSliceVar(&o.batches, "dynamic-batch", nil, "sizes of the first dimension of every input: 1,2,4")
	f.StringVar(&o.dims, "dynamic-dims", "", "sizes of the -1 dimensions of all inputs, gear by gear: 1,224;2,448")
	f.StringVar(&o.precision, "precision", "fp32", "fp32: floats as in the model; fp16: compute and keep them in float16")
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	return c
}

// compileReport is what compile --json prints.
type compileReport struct {
	File       string   `json:"file"`
	Bytes      int      `json:"bytes"`
	Soc        string   `json:"soc"`
	Precision  string   `json:"precision"`
	Operators  int      `json:"operators"`
	Tasks      int      `json:"tasks"`
	Weights    int64    `json:"weights_bytes"`
	Features   int64    `json:"features_bytes"`
	LowerBound int64    `json:"features_lower_bound_bytes"`
	Gears      [][]int  `json:"gears"`
	Warnings   []string `json:"warnings"`
}

func runCompile(ctx context.Context, o *compileOptions) error {
	chip, err := soc.Lookup(o.soc)
	if err != nil {
		return err
	}
	c := model.CompileOptions{Chip: chip, Batches: o.batches, Command: o.command(chip.Name)}
	switch o.precision {
	case "fp32":
	case "fp16":
		c.Half = true
	default:
		return problem.Usagef("--precision %q: expected fp16 or fp32", o.precision)
	}
	if c.Shapes, err = model.ParseOpenShapes(o.shapes); err != nil {
		return err
	}
	if o.dims != "" {
		if c.Dims, err = model.ParseGears(o.dims); err != nil {
			return err
		}
	}
	if o.output == "" {
		o.output = strings.TrimSuffix(o.file, ".onnx") + ".om"
	}
	if o.output == o.file {
		return problem.Usagef("--output %s would overwrite the model", o.output)
	}
	out, err := model.Compile(o.file, c)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err = outfile.Write(o.output, func(w io.Writer) error {
		_, err := w.Write(out.File)
		return err
	})
	if err != nil {
		return problem.Mark(problem.Failed, err)
	}
	return o.report(out, chip)
}

// command is what the file keeps of the command line: names without folders, so that the bytes depend on the model.
func (o *compileOptions) command(chip string) string {
	base := o.file[strings.LastIndexAny(o.file, `/\`)+1:]
	words := []string{base, "--soc", chip, "--precision", o.precision}
	for _, s := range o.shapes {
		words = append(words, "--shape", s)
	}
	if len(o.batches) > 0 {
		words = append(words, "--dynamic-batch", strings.Trim(strings.ReplaceAll(fmt.Sprint(o.batches), " ", ","), "[]"))
	}
	if o.dims != "" {
		words = append(words, "--dynamic-dims", o.dims)
	}
	return strings.Join(words, " ")
}

func (o *compileOptions) report(out *model.Compiled, chip *soc.Chip) error {
	r := compileReport{File: o.output, Bytes: len(out.File), Soc: chip.Name, Precision: o.precision, Operators: out.Nodes, Tasks: out.Tasks, Weights: out.Memory.WeightBytes,
		Features: out.Memory.FeatureBytes, LowerBound: out.Memory.LowerBound, Gears: out.Gears, Warnings: append([]string{}, out.Notes...)}
	if o.json {
		return o.printJSON(r)
	}
	p := &printer{s: o.streams}
	p.line("written", "%s, %s, for %s", o.output, bytesText(int64(len(out.File))), chip.Name)
	p.line("graph", "%s, floats in %s", out.Summary(), o.precision)
	p.line("memory", "weights %s, features %s (lower bound %s)", bytesText(r.Weights), bytesText(r.Features), bytesText(r.LowerBound))
	for _, x := range out.Inputs {
		p.line("input", "%s %v[%v]", x.Name, x.DType, x.Shape)
	}
	for _, x := range out.Outputs {
		p.line("output", "%s %v[%v]", x.Name, x.DType, x.Shape)
	}
	if len(out.Gears) > 0 {
		p.line("gears", "%v: choose one with 'npu run --shape'", out.Gears)
	}
	for _, n := range out.Notes {
		p.line("note", "%s", n)
	}
	return p.err
}
