package fit

import (
	"context"
	"math"
	"slices"

	"npu/internal/sim/cost"
)

// Prediction is a sample with the time that was foretold for it.
type Prediction struct {
	Sample
	EstimateNs int64
}

// Error is |estimate/measured − 1|.
func (p Prediction) Error() float64 {
	return math.Abs(float64(p.EstimateNs)/float64(max(p.Ns(), 1)) - 1)
}

// Predict estimates every sample with a profile.
func Predict(p *cost.Profile, samples []Sample) []Prediction {
	list := make([]Prediction, len(samples))
	for i, s := range samples {
		list[i] = Prediction{s, s.Estimate(p)}
	}
	return list
}

// LeaveOneOut estimates each sample with constants fitted on all others. It takes some hundredths of a second a sample.
func LeaveOneOut(ctx context.Context, samples []Sample) ([]Prediction, error) {
	list := make([]Prediction, len(samples))
	rest := make([]Sample, 0, len(samples))
	for i, s := range samples {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rest = append(append(rest[:0], samples[:i]...), samples[i+1:]...)
		list[i] = Prediction{s, s.Estimate(cost.NewProfile(fit(rest, &s)))}
	}
	return list, nil
}

// rowsOf fits constants and says of each row how well kernels are met that only have this row: of a chip's type, each
// shape left out in turn; of a type on any chip, each chip left out; of a class, each type; of a kind of core, each
// class. The error is 0 where there is nothing to leave out. left are the predictions of LeaveOneOut.
func rowsOf(samples []Sample, left []Prediction) []cost.Fitted {
	rows := Fit(samples)
	for i := range rows {
		r := &rows[i]
		var met []Prediction
		for l := range levels {
			of := func(s Sample) bool { return levels[l].scope(s) == r.Scope }
			if !slices.ContainsFunc(samples, of) {
				continue
			}
			if l == len(levels)-1 || r.Name == cost.AICPU.Scope() {
				for _, p := range left {
					if of(p.Sample) {
						met = append(met, p)
					}
				}
			} else {
				met = leaveGroupsOut(samples, of, levels[l+1].scope)
			}
		}
		if len(met) > 0 {
			r.ErrorPercent = max(int(math.Round(100*Quantile(met, 0.5))), 1)
		}
	}
	return rows
}

// leaveGroupsOut predicts those samples that are of a scope with constants fitted without their group.
func leaveGroupsOut(samples []Sample, of func(Sample) bool, group func(Sample) cost.Scope) (met []Prediction) {
	members := slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return !of(s) })
	for _, g := range groups(members, group) {
		rest := slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return group(s) == g.scope })
		if !slices.ContainsFunc(rest, of) {
			continue
		}
		met = append(met, Predict(cost.NewProfile(fit(rest, &g.samples[0])), g.samples)...)
	}
	return met
}

// Quantile is the q-th part of the errors, 0.5 the median; 0 for none.
func Quantile(list []Prediction, q float64) float64 {
	if len(list) == 0 {
		return 0
	}
	e := make([]float64, len(list))
	for i, p := range list {
		e[i] = p.Error()
	}
	slices.Sort(e)
	return e[min(int(q*float64(len(e))), len(e)-1)]
}
