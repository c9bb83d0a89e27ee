package model

import (
	"npu/internal/model/plan"
	"npu/internal/sim/cost"
	"npu/internal/sim/soc"
)

// autoStreams is the most streams that the loader takes by itself.
const autoStreams = 8

// autoMemory is how much work memory more than twice that of one stream it takes for them, in bytes.
const autoMemory = 16 << 20

// assign spreads the steps over streams. By itself it takes several only where that pays: where one stream leaves cores
// idle that parallel branches could use.
func (m *Model) assign(chip *soc.Chip, o LoadOptions) *plan.Streams {
	n := o.Streams
	if o.Mode != Sunk {
		n = 1
	}
	if n > 0 {
		return m.Plan.Assign(n)
	}
	if !pays(m.Plan, chip) {
		return m.Plan.Assign(1)
	}
	one := m.Plan.Memory.FeatureBytes
	s := m.Plan.Assign(autoStreams)
	if m.Plan.Memory.FeatureBytes > 2*one+autoMemory {
		return m.Plan.Assign(1) // branches that run at once need their memory at once
	}
	return s
}

// MemoryPlan is the memory of a model on one stream, and on as many as the loader spreads its branches over.
type MemoryPlan struct {
	Weights    int64 `json:"weights"`
	Features   int64 `json:"features"`
	LowerBound int64 `json:"features_lower_bound"`
	// The same with parallel branches; Streams is 1 where the loader takes one.
	Streams        int           `json:"streams"`
	SpreadFeatures int64         `json:"spread_features"`
	SpreadLower    int64         `json:"spread_features_lower_bound"`
	Assignment     *plan.Streams `json:"-"` // of the steps to these streams
}

// MemoryPlan plans the memory as loading on that chip does; streams is LoadOptions.Streams.
func (m *Model) MemoryPlan(chip *soc.Chip, streams int) MemoryPlan {
	m.Plan.Assign(1)
	x := m.Plan.Memory
	p := MemoryPlan{Weights: x.WeightBytes, Features: x.FeatureBytes, LowerBound: x.LowerBound}
	s := m.assign(chip, LoadOptions{Mode: Sunk, Streams: streams})
	p.Streams, p.Assignment = len(s.Lanes), s
	p.SpreadFeatures, p.SpreadLower = m.Plan.Memory.FeatureBytes, m.Plan.Memory.LowerBound
	return p
}

// pays compares the time of the steps one after the other with what bounds them in parallel: the longest path through
// the data, and the work of each kind of core.
func pays(p *plan.Plan, chip *soc.Chip) bool {
	if p.Width() == 1 {
		return false
	}
	var serial int64
	busy := map[cost.Core]int64{}
	ns := make([]int64, len(p.Steps))
	for i := range p.Steps {
		k := p.Steps[i].Kernel
		if p.Steps[i].Kind != plan.Launch || k == nil {
			continue
		}
		w := k.Work
		w.Type = k.Type
		a := cost.Estimate(chip, k.Core, k.Blocks, w)
		units := int64(max(1, chip.CubeUnits()))
		switch {
		case k.Core == cost.AIV && chip.VectorCores > 0:
			units = int64(chip.VectorCores)
		case k.Core == cost.AICPU:
			units = int64(max(1, chip.AICPUs))
		}
		blocks := int64(max(1, a.Blocks))
		ns[i] = (blocks + units - 1) / units * a.BlockNs
		serial += ns[i]
		busy[k.Core] += blocks * a.BlockNs / units
	}
	bound := p.Longest(ns)
	for _, t := range busy {
		bound = max(bound, t)
	}
	return serial > bound+bound/20
}
