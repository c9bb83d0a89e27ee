package main

import (
	"github.com/spf13/pflag"

	"npu/internal/bench"
	"npu/internal/model"
	"npu/internal/problem"
)

// modelFamily is the first argument of `npu bench model FILE...`, the one family that is made of files.
const modelFamily = "model"

// modelBench is the flags of it.
type modelBench struct {
	threads int
	shapes  []string
	inputs  []string
	seed    uint64
	from    *pflag.FlagSet
}

func (o *modelBench) flags(f *pflag.FlagSet) {
	o.from = f
	f.IntVar(&o.threads, "threads", 1, "model: host threads for the arithmetic")
	f.StringArrayVar(&o.shapes, "shape", nil, "model: NAME=1x3x224x224, shape of an input (repeatable)")
	f.StringArrayVarP(&o.inputs, "input", "i", nil, "model: [NAME=]FILE, .npy, .npz or raw data (repeatable)")
	f.Uint64Var(&o.seed, "seed", 1, "model: seed of random inputs")
}

func (o *modelBench) set() bool {
	for _, name := range []string{"threads", "shape", "input", "seed"} {
		if o.from.Changed(name) {
			return true
		}
	}
	return false
}

func (o *benchOptions) isModels() bool { return len(o.families) > 0 && o.families[0] == modelFamily }

// selected are the families that the arguments name.
func (o *benchOptions) selected() ([]bench.Family, error) {
	if !o.isModels() {
		return bench.Select(o.families)
	}
	files := o.families[1:]
	if len(files) == 0 {
		return nil, problem.Usagef("npu bench model: name the models to measure, for instance npu bench model resnet.onnx")
	}
	if o.models.threads < 1 || o.models.threads > 1024 {
		return nil, problem.Usagef("--threads %d: expected 1 to 1024", o.models.threads)
	}
	shapes, err := model.ParseShapes(o.models.shapes)
	if err != nil {
		return nil, err
	}
	in, err := openBindings(o.models.inputs)
	if err != nil {
		return nil, err
	}
	return []bench.Family{bench.Models(files, bench.ModelOptions{Shapes: shapes, Inputs: in, Seed: o.models.seed, Threads: o.models.threads})}, nil
}
