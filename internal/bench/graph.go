package bench

import (
	"npu/internal/runtime"
)

// nodes is how many kernels a sunk graph holds, and how many launches stand beside it.
const nodes = 1000

const eagerNode = "Graph/eager-node"

// graphSpecs are the same kernels as launches of their own and as a sunk graph, submission and device together.
func graphSpecs() []Spec {
	return []Spec{
		{Name: "Graph/replay-node", About: "a kernel of a sunk graph of 1,000: one execution and the synchronise behind it", Rate: "nodes_per_s", Goal: Goal{Partner: eagerNode, MaxRatio: 0.2}, open: with(nil, replay)},
		{Name: "Graph/stepped-node", About: "the same with every task taken by itself, as where something else runs too", Rate: "nodes_per_s", Goal: Goal{Partner: eagerNode, MaxRatio: 0.8}, open: with(stepped, replay)},
		{Name: "Graph/recorded-node", About: "the first again, with a record of each task", Rate: "nodes_per_s", open: traced(replay)},
		{Name: "Graph/submit", About: "submission of an execution of such a graph, all its nodes together", Goal: Goal{MaxNs: 2000}, open: with(nil, executeOnly)},
		{Name: eagerNode, About: "one of 1,000 launches and the synchronise behind them", Rate: "nodes_per_s", open: with(nil, eager)},
	}
}

// stepped has no schedule shifted.
func stepped(c *runtime.Config) { c.Stepped = true }

// sink builds a graph of one stream with the nodes.
func (r *rig) sink() (*runtime.Model, *runtime.Stream, error) {
	s, err := r.stream(false)
	if err != nil {
		return nil, nil, err
	}
	b, err := r.th.BuildModel()
	if err != nil {
		return nil, nil, err
	}
	head := b.Stream(true)
	for range nodes {
		head.Launch(r.tiny, nil)
	}
	head.End()
	g, err := b.Build("graph")
	return g, s, err
}

func replay(r *rig) (func(m *meter) error, error) {
	g, s, err := r.sink()
	f := func() error {
		if err := r.th.ExecuteModel(g, s); err != nil {
			return err
		}
		return r.th.SynchronizeStream(s)
	}
	return func(m *meter) error { return r.clock(m, nodes, f, nil) }, err
}

func executeOnly(r *rig) (func(m *meter) error, error) {
	const times = 10
	g, s, err := r.sink()
	f := func() error {
		for range times {
			if err := r.th.ExecuteModel(g, s); err != nil {
				return err
			}
		}
		return nil
	}
	return func(m *meter) error { return r.clock(m, times, f, func() error { return r.sync(s) }) }, err
}

func eager(r *rig) (func(m *meter) error, error) {
	s, err := r.stream(false)
	th, k := r.th, r.tiny
	f := func() error {
		for range nodes {
			if err := th.LaunchKernel(k, nil, s); err != nil {
				return err
			}
		}
		return th.SynchronizeStream(s)
	}
	return func(m *meter) error { return r.clock(m, nodes, f, nil) }, err
}
