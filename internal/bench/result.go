package bench

import (
	"fmt"
	"math"
	"strings"
)

// MetricPages is the metric of Spec.Pages.
const MetricPages = "new_pages_per_op"

// Result is a benchmark's figures over all rounds: medians of the samples.
type Result struct {
	Name          string             `json:"name"`
	N             int64              `json:"n"` // operations that were timed
	NsPerOp       float64            `json:"ns_per_op"`
	AllocsPerOp   float64            `json:"allocs_per_op"`
	BytesPerOp    float64            `json:"bytes_per_op"` // of memory that was allocated
	DeviceNsPerOp *float64           `json:"device_ns_per_op"`
	DeviceReason  string             `json:"device_ns_per_op_reason,omitempty"`
	Metrics       map[string]float64 `json:"metrics"`
	Spec          `json:"-"`
	Spread        float64 `json:"-"` // half of the range of the samples' times, as a part of NsPerOp
	Verdict       Verdict `json:"-"`
}

// Verdict is how a result stands to its goal.
type Verdict struct {
	Goal  bool   // there is one
	Met   bool   //
	Ratio string // to the partner, in words; empty without one
	Text  string // the goal in words
}

// Results sums up series of one run. The ratios to partners are found among them.
func Results(list []Series) []Result {
	byName := map[string]*Series{}
	for i := range list {
		byName[list[i].Name] = &list[i]
	}
	out := make([]Result, len(list))
	for i, s := range list {
		out[i] = result(s, byName[s.Goal.Partner])
	}
	return out
}

func result(s Series, partner *Series) Result {
	r := Result{Name: s.Name, Spec: s.Spec, Metrics: map[string]float64{}}
	column := func(f func(Sample) float64) float64 {
		v := make([]float64, len(s.Samples))
		for i, x := range s.Samples {
			v[i] = f(x)
		}
		return median(v)
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, x := range s.Samples {
		r.N += x.N
		lo, hi = min(lo, x.Ns), max(hi, x.Ns)
	}
	r.NsPerOp = column(func(x Sample) float64 { return x.Ns })
	r.Spread = (hi - lo) / 2 / r.NsPerOp
	r.AllocsPerOp = column(func(x Sample) float64 { return x.Allocs })
	r.BytesPerOp = column(func(x Sample) float64 { return x.Bytes })
	if d := column(func(x Sample) float64 { return x.DeviceNs }); math.IsNaN(d) {
		r.DeviceReason = "no device takes part"
	} else {
		r.DeviceNsPerOp = &d
	}
	if s.Pages {
		r.Metrics[MetricPages] = column(func(x Sample) float64 { return x.Pages })
	}
	if s.Bytes > 0 {
		r.Metrics["gb_per_s"] = float64(s.Bytes) / r.NsPerOp
		if r.DeviceNsPerOp != nil {
			r.Metrics["device_gb_per_s"] = float64(s.Bytes) / *r.DeviceNsPerOp
		}
	}
	if s.Rate != "" {
		r.Metrics[s.Rate] = 1e9 / r.NsPerOp
	}
	if f := column(func(x Sample) float64 { return x.Formula }); f > 0 && r.DeviceNsPerOp != nil {
		r.Metrics["formula_ns_per_op"] = f
		r.Metrics["ratio_to_formula"] = *r.DeviceNsPerOp / f
	}
	r.judge(s, partner)
	return r
}

// judge compares r with its goal.
func (r *Result) judge(s Series, partner *Series) {
	g := s.Goal
	if partner != nil {
		ratio := ratioTo(s, partner)
		short := g.Partner[strings.IndexByte(g.Partner, '/')+1:]
		r.Metrics["ratio_to_"+strings.ReplaceAll(short, "-", "_")] = ratio
		r.Verdict.Ratio = fmt.Sprintf("%.2f × %s", ratio, short)
		if g.MaxRatio > 0 {
			r.Metrics["goal_ratio"] = g.MaxRatio
			r.Verdict.goal(ratio <= g.MaxRatio, "≤ %.2f ×", g.MaxRatio)
		}
	}
	if x, ok := r.Metrics["ratio_to_formula"]; ok {
		r.Verdict.Ratio = fmt.Sprintf("%.3f × formula", x)
		if g.Formula > 0 {
			r.Verdict.goal(math.Abs(x-1) <= g.Formula, "within %.0f %%", 100*g.Formula)
		}
	}
	if g.MaxNs > 0 {
		r.Metrics["goal_ns_per_op"] = g.MaxNs
		r.Verdict.goal(r.NsPerOp <= g.MaxNs, "≤ %.0f ns", g.MaxNs)
	}
	if g.MinRate > 0 {
		r.Metrics["goal_"+s.Rate] = g.MinRate
		r.Verdict.goal(1e9/r.NsPerOp >= g.MinRate, "≥ %.0f M/s", g.MinRate/1e6)
	}
}

func (v *Verdict) goal(met bool, format string, args ...any) {
	v.Goal, v.Met, v.Text = true, met, fmt.Sprintf(format, args...)
}

// ratioTo is the median of the ratios within a round.
func ratioTo(s Series, partner *Series) float64 {
	v := make([]float64, min(len(s.Samples), len(partner.Samples)))
	for i := range v {
		v[i] = s.Samples[i].Ns / partner.Samples[i].Ns
	}
	return median(v)
}
