package main

import (
	"npu/internal/model"
	"npu/internal/problem"
	"npu/internal/tensor"
)

// maxRanks is how many devices a run has at most: those of one node.
const maxRanks = 8

// open opens the model of each rank, and the files of its inputs.
func (o *runOptions) open(r *model.RunOptions) ([]*model.Model, error) {
	shapes, err := model.ParseShapes(o.shapes)
	if err != nil {
		return nil, err
	}
	given, err := bindings(o.inputs)
	if err != nil {
		return nil, err
	}
	paths := append([]string{o.file}, o.more...)
	if n := len(paths); n > maxRanks || n > 1 && o.devices > 0 && o.devices != n {
		return nil, problem.Usagef("%d models on %d devices: give one model for all, or one for each of up to %d", n, max(1, o.devices), maxRanks)
	}
	var models []*model.Model
	for rank, path := range paths {
		if isStream(path) {
			return nil, problem.Usagef("%s is a stream program: those run alone", path)
		}
		files, err := model.OpenFiles(model.OfRank(given, rank))
		if err != nil {
			return nil, err
		}
		m, err := model.Open(path, model.Options{Shapes: shapes, Files: files})
		if err != nil {
			return nil, err
		}
		if err := o.chip(m, r); err != nil {
			return nil, err
		}
		if len(m.Timed) > 0 && (o.output != "" || len(o.verify) > 0) {
			return nil, problem.Failedf("%s: no result can be computed: the meaning of %d operators is not known, first %s; leave out --output and --verify to time it", path, len(m.Timed), m.Timed[0])
		}
		models = append(models, m)
	}
	if n := o.ranks(models[0]); len(models) == 1 {
		for len(models) < min(n, maxRanks) {
			models = append(models, models[0])
		}
	}
	for rank, m := range models {
		files, err := model.OpenFiles(model.OfRank(given, rank))
		if err != nil {
			return nil, err
		}
		in, err := m.Inputs(files)
		if err != nil {
			return nil, err
		}
		r.RankInputs = append(r.RankInputs, in)
		if lists := m.Lists(files); len(lists) > 0 {
			r.Data = lists
		}
	}
	return models, ranksExist(given, len(models))
}

// ranks is on how many devices one model runs.
func (o *runOptions) ranks(m *model.Model) int {
	if o.devices > 0 {
		return o.devices
	}
	return max(1, m.Ranks())
}

// expected are the tensors of --verify by rank.
func (o *runOptions) expected(models []*model.Model) ([]map[string]*tensor.Tensor, error) {
	given, err := bindings(o.verify)
	if err != nil {
		return nil, err
	}
	var list []map[string]*tensor.Tensor
	for rank, m := range models {
		files, err := model.OpenFiles(model.OfRank(given, rank))
		if err != nil {
			return nil, err
		}
		want, err := m.Expected(files)
		if err != nil {
			return nil, err
		}
		list = append(list, want)
	}
	return list, ranksExist(given, len(models))
}

// bindings parses [NAME[@RANK]=]FILE arguments.
func bindings(args []string) ([]model.Binding, error) {
	var list []model.Binding
	for _, a := range args {
		b, err := model.ParseBinding(a)
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

// openBindings opens the files of a command that runs on one device.
func openBindings(args []string) (*model.Files, error) {
	list, err := bindings(args)
	if err != nil {
		return nil, err
	}
	return model.OpenFiles(list)
}

func ranksExist(list []model.Binding, ranks int) error {
	for _, b := range list {
		if b.Rank > ranks {
			return problem.Usagef("%s@%d: there are ranks 0 to %d", b.Name, b.Rank-1, ranks-1)
		}
	}
	return nil
}
