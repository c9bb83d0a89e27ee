// Package fit finds the constants of package cost from kernels that were measured, and says how well they foretell
// kernels that were not. It starts no goroutine.
package fit

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"npu/internal/sim/cost"
	"npu/internal/sim/cost/measured"
	"npu/internal/sim/soc"
)

// Sample is one kernel on one set of shapes, measured on a chip.
type Sample struct {
	Chip *soc.Chip
	File string // base name
	*measured.Shape
}

// Samples are the kernels of a file.
func Samples(chip *soc.Chip, f *measured.File) []Sample {
	list := make([]Sample, len(f.Shapes))
	for i, s := range f.Shapes {
		list[i] = Sample{chip, filepath.Base(f.Path), s}
	}
	return list
}

// Estimate is the time that a profile gives for the sample, in nanoseconds.
func (s Sample) Estimate(p *cost.Profile) int64 {
	return s.with(p.Constants(s.Chip, s.Core, s.Work.Type))
}

func (s Sample) with(c cost.Constants) int64 {
	a := c.Estimate(s.Chip, s.Core, s.Blocks, s.Work)
	return max(a.Ns(cost.Units(s.Chip, s.Core)), 1)
}

// stiffness says how strongly a constant holds to that of the level above: the more shapes of its own a type has, the
// less it follows its class. The memory's rate is one for all, so it hardly moves. Chosen by leaving shapes out; half
// or twice as much changes little.
var stiffness = [...]float64{cost.Start: 1, cost.Stream: 8, cost.L2Gain: 0.5, cost.Instr: 0.25, cost.Run: 0.5, cost.Cube: 0.5, cost.TransA: 0.5, cost.TransB: 0.5}

// helps is by how much a constant must lower the loss to be kept: two percent of one shape's time.
const helps = 0.02

// limits keep constants where they mean something.
var limits = map[cost.Constant][2]int64{
	cost.Start: {300, 100_000}, cost.Stream: {150, 1220}, cost.L2Gain: {100, 600}, cost.Instr: {10, 100_000}, cost.Run: {5, 2000}, cost.Cube: {50, 1000}, cost.TransA: {50, 120}, cost.TransB: {50, 120},
}

// ofClass are the constants that are measured for the class of s and its types; the others stay as assumed.
func ofClass(s Sample) []cost.Constant {
	switch cost.LookupOperator(s.Type).Class {
	case cost.Matmul:
		return []cost.Constant{cost.Start, cost.Cube, cost.TransA, cost.TransB}
	case cost.Convolution, cost.Attention:
		return []cost.Constant{cost.Start, cost.Cube}
	case cost.Cut, cost.Join, cost.Transposition, cost.Gather, cost.Scatter:
		return []cost.Constant{cost.Start, cost.Stream, cost.L2Gain, cost.Run}
	}
	return []cost.Constant{cost.Start, cost.Stream, cost.L2Gain, cost.Instr, cost.Run}
}

// ofCore are those that mean something for all operators on a kind of core.
func ofCore(s Sample) []cost.Constant {
	switch s.Core {
	case cost.AIC, cost.Mix:
		return []cost.Constant{cost.Start, cost.Cube}
	case cost.AICPU:
		return []cost.Constant{cost.Start}
	}
	return []cost.Constant{cost.Start, cost.Stream, cost.L2Gain}
}

// Fit finds constants in four levels: for each kind of core, for each class and for each type over all chips, and for
// each type on each chip. Each starts from the one before and holds to it the more, the fewer shapes it has.
func Fit(samples []Sample) []cost.Fitted { return fit(samples, nil) }

// fit does what Fit does, or only the scopes that matter to one sample.
func fit(samples []Sample, only *Sample) []cost.Fitted {
	var rows []cost.Fitted
	p := &cost.Profile{}
	for _, l := range levels {
		for _, g := range groups(samples, l.scope) {
			if only != nil && (only.Core == cost.AICPU && g.scope.Name != "cpu" || l.scope(*only) != g.scope) {
				continue
			}
			c := improve(p, g.scope, g.samples, l.which(g.samples[0]))
			p.Set(g.scope, c)
			rows = append(rows, cost.Fitted{Scope: g.scope, Constants: c, Shapes: len(g.samples), Origin: origin(g.samples)})
		}
	}
	return rows
}

var levels = [...]struct {
	scope func(Sample) cost.Scope // the zero Scope: not at this level
	which func(Sample) []cost.Constant
}{
	{func(s Sample) cost.Scope { return cost.Scope{Chip: "*", Name: s.Core.Scope()} }, ofCore},
	{func(s Sample) cost.Scope { return s.at("*", cost.LookupOperator(s.Type).Class.Scope()) }, ofClass},
	{func(s Sample) cost.Scope { return s.at("*", cost.Canonical(s.Type)) }, ofClass},
	{func(s Sample) cost.Scope { return s.at(s.Chip.Name, cost.Canonical(s.Type)) }, ofClass},
}

// at is a scope for AI cores: AI CPU kernels share the names of operators and none of their times.
func (s Sample) at(chip, name string) cost.Scope {
	if s.Core == cost.AICPU {
		return cost.Scope{}
	}
	return cost.Scope{Chip: chip, Name: name}
}

// origin lists the files of samples.
func origin(samples []Sample) string {
	var files []string
	for _, s := range samples {
		if !slices.Contains(files, s.File) {
			files = append(files, s.File)
		}
	}
	slices.Sort(files)
	return strings.Join(files, ", ")
}

type group struct {
	scope   cost.Scope
	samples []Sample
}

func groups(samples []Sample, scope func(Sample) cost.Scope) []group {
	var all []group
	for _, s := range samples {
		sc := scope(s)
		if sc == (cost.Scope{}) {
			continue
		}
		i := slices.IndexFunc(all, func(g group) bool { return g.scope == sc })
		if i < 0 {
			i = len(all)
			all = append(all, group{scope: sc})
		}
		all[i].samples = append(all[i].samples, s)
	}
	slices.SortFunc(all, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.scope.Chip, b.scope.Chip), cmp.Compare(a.scope.Name, b.scope.Name))
	})
	return all
}

// improve walks from the inherited constants to ones that meet the samples better. It minimises the sum of |ln error|
// over the shapes plus the squared distances from where it started, one constant after the other.
func improve(p *cost.Profile, scope cost.Scope, samples []Sample, which []cost.Constant) cost.Constants {
	s := samples[0]
	start := p.Constants(s.Chip, s.Core, s.Type)
	op := cost.LookupOperator(s.Type)
	class := scope.Name == op.Class.Scope()
	switch {
	case class:
		start[cost.Instr] = 100 // of what is assumed for each type
	case start[cost.Instr] == 0:
		start[cost.Instr] = 100 * op.Instr
	}
	below := make([]cost.Constants, len(samples))
	for i, x := range samples {
		below[i] = p.Constants(x.Chip, x.Core, x.Type)
	}
	c := cost.Constants{}
	for _, k := range which {
		if !speaks(samples, k) {
			continue
		}
		c[k] = start[k]
	}
	loss := func(c cost.Constants) float64 {
		sum := 0.0
		for i, x := range samples {
			own := c
			if class {
				own[cost.Instr] *= cost.LookupOperator(x.Type).Instr
			}
			sum += math.Abs(math.Log(float64(x.with(own.Over(below[i]))) / float64(max(x.Ns(), 1))))
		}
		for _, k := range which {
			if c[k] > 0 {
				d := math.Log(float64(c[k]) / float64(start[k]))
				sum += stiffness[k] * d * d
			}
		}
		return sum
	}
	best := loss(c)
	for range 40 {
		before := best
		for _, k := range which {
			if c[k] == 0 {
				continue
			}
			from := c[k]
			for _, f := range [...]float64{0.5, 0.7, 0.85, 0.93, 0.97, 0.99, 1.01, 1.03, 1.07, 1.18, 1.4, 2} {
				next := c
				next[k] = min(max(int64(math.Round(float64(from)*f)), limits[k][0]), limits[k][1])
				if l := loss(next); l < best-1e-9 {
					best, c = l, next
				}
			}
		}
		if best >= before-1e-6 {
			break
		}
	}
	// What hardly helps is left to the level above.
	for _, k := range which {
		without := c
		without[k] = 0
		if l := loss(without); c[k] > 0 && l < best+helps {
			best, c = l, without
		}
	}
	return c
}

// speaks says whether any of the samples depends on the constant.
func speaks(samples []Sample, k cost.Constant) bool {
	return slices.ContainsFunc(samples, func(s Sample) bool {
		switch k {
		case cost.Run:
			return s.Work.Runs > 0
		case cost.TransA:
			return s.Work.TransA
		case cost.TransB:
			return s.Work.TransB
		}
		return true
	})
}
