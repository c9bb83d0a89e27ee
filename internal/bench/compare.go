package bench

import (
	"slices"

	"golang.org/x/perf/benchmath"
)

// Units that two runs are compared in.
const (
	UnitWall   = "ns/op"
	UnitDevice = "device-ns/op"
	UnitBytes  = "B/op"
	UnitAllocs = "allocs/op"
)

// Delta is a benchmark in two runs, in one unit: medians, and whether the runs differ by a Mann-Whitney U-test, as
// benchstat has it.
type Delta struct {
	Name         string  `json:"name"`
	Unit         string  `json:"unit"`
	Old          float64 `json:"old"`
	New          float64 `json:"new"`
	DeltaPercent float64 `json:"delta_percent"`
	P            float64 `json:"p"` // probability that a difference as large comes about by chance
	Differs      bool    `json:"differs"`
	OldN         int     `json:"old_n"`
	NewN         int     `json:"new_n"`

	OldRange, NewRange string   `json:"-"` // half of the 95 % confidence interval, in percent
	Change             string   `json:"-"` // in percent, ~ for none that is sure
	Warnings           []string `json:"-"`
}

// Compare finds the benchmarks that both runs have. Bytes and allocations are compared where one run has some.
func Compare(old, fresh []Series) []Delta {
	var list []Delta
	for _, u := range []struct {
		unit string
		of   func(Sample) float64
	}{
		{UnitWall, func(s Sample) float64 { return s.Ns }},
		{UnitDevice, func(s Sample) float64 { return s.DeviceNs }},
		{UnitBytes, func(s Sample) float64 { return s.Bytes }},
		{UnitAllocs, func(s Sample) float64 { return s.Allocs }},
	} {
		for _, n := range fresh {
			i := slices.IndexFunc(old, func(o Series) bool { return o.Name == n.Name })
			if i < 0 {
				continue
			}
			a, b := values(old[i], u.of), values(n, u.of)
			if len(a) == 0 || len(b) == 0 || u.unit != UnitWall && slices.Max(a) == 0 && slices.Max(b) == 0 {
				continue
			}
			list = append(list, compare(n.Name, u.unit, a, b))
		}
	}
	return list
}

// values are those of the samples that have one.
func values(s Series, of func(Sample) float64) (v []float64) {
	for _, x := range s.Samples {
		if y := of(x); y == y {
			v = append(v, y)
		}
	}
	return v
}

func compare(name, unit string, a, b []float64) Delta {
	thresholds := benchmath.DefaultThresholds
	assume := benchmath.AssumeNothing
	x, y := benchmath.NewSample(a, &thresholds), benchmath.NewSample(b, &thresholds)
	sx, sy := assume.Summary(x, 0.95), assume.Summary(y, 0.95)
	c := assume.Compare(x, y)
	d := Delta{
		Name: name, Unit: unit, Old: sx.Center, New: sy.Center, P: c.P, Differs: c.P <= c.Alpha && sx.Center != sy.Center,
		OldN: c.N1, NewN: c.N2, OldRange: sx.PctRangeString(), NewRange: sy.PctRangeString(), Change: c.FormatDelta(sx.Center, sy.Center),
	}
	if sx.Center != 0 {
		d.DeltaPercent = 100 * (sy.Center/sx.Center - 1)
	}
	for _, w := range slices.Concat(sx.Warnings, sy.Warnings, c.Warnings) {
		if !slices.Contains(d.Warnings, w.Error()) {
			d.Warnings = append(d.Warnings, w.Error())
		}
	}
	return d
}
