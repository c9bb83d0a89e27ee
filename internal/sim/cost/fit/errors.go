package fit

import (
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

// LeaveOneOut estimates each sample with constants fitted on all others.
func LeaveOneOut(samples []Sample) []Prediction {
	list := make([]Prediction, len(samples))
	rest := make([]Sample, 0, len(samples))
	for i, s := range samples {
		rest = append(append(rest[:0], samples[:i]...), samples[i+1:]...)
		list[i] = Prediction{s, s.Estimate(cost.NewProfile(fit(rest, &s)))}
	}
	return list
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
