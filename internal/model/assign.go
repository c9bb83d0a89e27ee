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
