package main

import (
	"context"
	"fmt"
	"strings"

	"npu/internal/demo"
	"npu/internal/model"
	"npu/internal/problem"
	"npu/internal/tensor"
)

// runDemo runs the embedded digit reader on one of its samples (--seed picks it), shows what it sees and says whether
// it was right.
func runDemo(ctx context.Context, o *runOptions, r model.RunOptions) error {
	if len(o.inputs) > 0 || len(o.verify) > 0 || len(o.shapes) > 0 {
		return problem.Usagef("--input, --verify and --shape need a model: npu run MODEL.onnx")
	}
	m, err := model.OpenBytes("demo", demo.Model(), model.Options{})
	if err != nil {
		return err
	}
	all := demo.Samples()
	s := all[(o.seed+2)%uint64(len(all))]
	r.Inputs = map[string]*tensor.Tensor{demo.Input: s.Image}
	if err := o.count(&r); err != nil {
		return err
	}
	res, runErr := o.runModels(ctx, []*model.Model{m}, r)
	if runErr == nil && !o.json {
		if err := o.printDemo(s, res.Outputs); err != nil {
			return err
		}
	}
	return o.finish([]*model.Model{m}, r, res, nil, runErr)
}

// printDemo shows the picture, the answer with the runners-up, and whether it was right.
func (o *runOptions) printDemo(s demo.Sample, outputs []*tensor.Tensor) error {
	look := demo.Unicode
	switch {
	case o.colors:
		look = demo.Color
	case !o.outTTY:
		look = demo.ASCII
	}
	p := &printer{s: o.streams}
	p.printf("A small network reads a drawn digit on a simulated NPU. It sees this:\n\n%s\n", demo.Render(s.Image, look))
	if len(outputs) == 0 {
		p.printf("(timing only: nothing is computed)\n\n")
		return p.err
	}
	label, prob, err := demo.Answer(outputs[0])
	if err != nil {
		return err
	}
	verdict := "that is right"
	if label != s.Label {
		verdict = fmt.Sprintf("that is wrong, it is %s", demo.Classes()[s.Label])
	}
	p.printf("and reads %s, with %.1f %% certainty: %s\n", demo.Classes()[label], 100*prob, verdict)
	bar := "█"
	if !o.outTTY {
		bar = "#"
	}
	for i, x := range tensor.View[float32](outputs[0].Data) {
		p.printf("  %s %5.1f %% %s\n", demo.Classes()[i], 100*x, strings.Repeat(bar, int(x*40+0.5)))
	}
	p.printf("\n")
	return p.err
}
