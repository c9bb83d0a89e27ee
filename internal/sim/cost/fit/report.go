package fit

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"npu/internal/sim/cost"
	"npu/internal/sim/cost/measured"
	"npu/internal/sim/cost/work"
	"npu/internal/sim/soc"
)

// Figures sum up how far estimates are from measured times. Medians are over shapes: each counts once.
type Figures struct {
	Shapes        int     `json:"shapes"`
	MedianPercent float64 `json:"median_percent"`
	P90Percent    float64 `json:"p90_percent"`
	WithinPercent float64 `json:"within_25_percent"` // part of the shapes that are off by 25 % at most
	// TimeRatio is the sum of the estimates over the sum of the measured times, with as many rows as there were.
	TimeRatio float64 `json:"time_ratio"`
}

// Row is one group of kernels, estimated in three ways.
type Row struct {
	Name       string  `json:"name"`
	TimeNs     int64   `json:"measured_ns"` // sum over all rows of the file
	Profile    Figures `json:"profile"`
	Assumed    Figures `json:"data_sheet"` // nothing measured: chip table and assumptions
	Roofline   Figures `json:"roofline"`   // operations over peak or bytes over bandwidth, whichever is longer
	Calibrated *bool   `json:"calibrated,omitempty"`
}

// Worst is a kernel that is far off.
type Worst struct {
	Type         string  `json:"type"`
	In           string  `json:"inputs"`
	Out          string  `json:"outputs"`
	Line         int     `json:"line"`
	Rows         int     `json:"rows"`
	MeasuredNs   int64   `json:"measured_ns"`
	EstimateNs   int64   `json:"estimate_ns"`
	RooflineNs   int64   `json:"roofline_ns"`
	ErrorPercent float64 `json:"error_percent"` // signed: negative is too fast
}

// Report compares a profile with the kernels of a file.
type Report struct {
	File      string    `json:"file"`
	Soc       string    `json:"soc"`
	SocReason string    `json:"soc_guessed_from,omitempty"`
	Measured  string    `json:"constants_of"`         // chip whose constants hold, or "any"
	FittedOn  bool      `json:"profile_fitted_on_it"` // the profile has seen these kernels
	Rows      int       `json:"rows"`
	Compared  int       `json:"compared_rows"`
	Skipped   []Skipped `json:"skipped"`
	All       Row       `json:"all"`
	Sizes     []Row     `json:"by_size"`
	Types     []Row     `json:"by_type"`
	Worst     []Worst   `json:"worst"`
}

// Skipped are rows that were not compared.
type Skipped struct {
	Reason string   `json:"reason"`
	Rows   int      `json:"rows"`
	Types  []string `json:"types,omitempty"`
}

// trio is a sample with its three estimates.
type trio struct{ profile, assumed, roofline Prediction }

// Check compares the kernels of a file with the profile that rows make.
func Check(rows []cost.Fitted, chip *soc.Chip, f *measured.File) *Report {
	p := cost.NewProfile(rows)
	r := &Report{File: f.Path, Soc: chip.Name, Measured: cmp.Or(p.MeasuredAs(chip), "any"), Rows: f.Rows, Compared: f.Compared(), Skipped: []Skipped{}}
	base := filepath.Base(f.Path)
	r.FittedOn = slices.ContainsFunc(rows, func(x cost.Fitted) bool { return slices.Contains(strings.Split(x.Origin, ", "), base) })
	for _, s := range f.Skipped {
		r.Skipped = append(r.Skipped, Skipped{s.Reason, s.Rows, s.Types})
	}
	var all []trio
	sheet := &cost.Profile{}
	for _, s := range Samples(chip, f) {
		all = append(all, trio{Prediction{s, s.Estimate(p)}, Prediction{s, s.Estimate(sheet)}, Prediction{s, s.Roofline()}})
	}
	r.All = summary("all", all)
	for _, size := range sizes {
		if part := where(all, func(t trio) bool { return size.holds(t.profile) }); len(part) > 0 {
			r.Sizes = append(r.Sizes, summary(size.name, part))
		}
	}
	r.byType(p, chip, all)
	r.worst(all)
	return r
}

var sizes = []struct {
	name  string
	holds func(Prediction) bool
}{
	{"up to 5 µs", func(p Prediction) bool { return p.Ns() <= 5_000 }},
	{"5 to 20 µs", func(p Prediction) bool { return p.Ns() > 5_000 && p.Ns() <= 20_000 }},
	{"over 20 µs", Over20},
	{"over 200 µs", func(p Prediction) bool { return p.Ns() > 200_000 }},
	{"large 16-bit matrix products", LargeProduct},
}

// Over20 says that the kernel takes more than 20 µs.
func Over20(p Prediction) bool { return p.Ns() > 20_000 }

// LargeProduct says that it is a matrix product of 16-bit floats with at least 10^9 multiplications.
func LargeProduct(p Prediction) bool {
	w := &p.Work
	macs := float64(w.M) * float64(w.N) * float64(w.K) * float64(w.Batch)
	return cost.LookupOperator(p.Type).Class == cost.Matmul && w.MacType.Bits() == 16 && macs >= 1e9
}

func where(all []trio, holds func(trio) bool) []trio {
	return slices.DeleteFunc(slices.Clone(all), func(t trio) bool { return !holds(t) })
}

func summary(name string, part []trio) Row {
	r := Row{Name: name}
	column := func(of func(trio) Prediction) Figures {
		list := make([]Prediction, len(part))
		for i, t := range part {
			list[i] = of(t)
		}
		return Sum(list)
	}
	for _, t := range part {
		r.TimeNs += t.profile.total()
	}
	r.Profile = column(func(t trio) Prediction { return t.profile })
	r.Assumed = column(func(t trio) Prediction { return t.assumed })
	r.Roofline = column(func(t trio) Prediction { return t.roofline })
	return r
}

// total is the measured time of all rows.
func (s Sample) total() (ns int64) {
	for _, t := range s.Times {
		ns += t
	}
	return ns
}

// Sum makes figures of predictions.
func Sum(list []Prediction) Figures {
	f := Figures{Shapes: len(list), MedianPercent: percent(Quantile(list, 0.5)), P90Percent: percent(Quantile(list, 0.9))}
	within, estimated, measured := 0, 0.0, 0.0
	for _, p := range list {
		if p.Error() <= 0.25 {
			within++
		}
		estimated += float64(p.EstimateNs) * float64(len(p.Times))
		measured += float64(p.total())
	}
	if len(list) > 0 {
		f.WithinPercent = percent(float64(within) / float64(len(list)))
		f.TimeRatio = math.Round(estimated/max(measured, 1)*1000) / 1000
	}
	return f
}

func percent(x float64) float64 { return math.Round(x*1000) / 10 }

func (r *Report) byType(p *cost.Profile, chip *soc.Chip, all []trio) {
	parts := map[string][]trio{}
	for _, t := range all {
		parts[t.profile.Type] = append(parts[t.profile.Type], t)
	}
	for name, part := range parts {
		row := summary(name, part)
		calibrated := p.Has(cost.Scope{Chip: chip.Name, Name: cost.Canonical(name)})
		row.Calibrated = &calibrated
		r.Types = append(r.Types, row)
	}
	slices.SortFunc(r.Types, func(a, b Row) int { return cmp.Or(cmp.Compare(b.TimeNs, a.TimeNs), cmp.Compare(a.Name, b.Name)) })
}

func (r *Report) worst(all []trio) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b trio) int { return cmp.Compare(b.profile.far(), a.profile.far()) })
	for _, t := range all[:min(10, len(all))] {
		p := t.profile
		r.Worst = append(r.Worst, Worst{
			Type: p.Type, In: operands(p.In), Out: operands(p.Out), Line: p.First, Rows: len(p.Times), MeasuredNs: p.Ns(),
			EstimateNs: p.EstimateNs, RooflineNs: t.roofline.EstimateNs, ErrorPercent: percent(float64(p.EstimateNs)/float64(max(p.Ns(), 1)) - 1),
		})
	}
}

// far orders errors in both directions alike: half and double are as far.
func (p Prediction) far() float64 {
	return math.Abs(math.Log(float64(max(p.EstimateNs, 1)) / float64(max(p.Ns(), 1))))
}

func operands(list []work.Operand) string {
	s := ""
	for i, o := range list {
		if i == 4 {
			return s + ", …"
		}
		if i > 0 {
			s += ", "
		}
		s += o.DType.String() + "[" + o.Shape.String() + "]"
	}
	return s
}
