package fit

import (
	"context"
	"slices"

	"npu/internal/problem"
	"npu/internal/sim/cost"
	"npu/internal/sim/cost/measured"
	"npu/internal/sim/soc"
)

// Source is a measured file with the chip that it is taken for.
type Source struct {
	File *measured.File
	Chip *soc.Chip
	Why  string // what the chip was guessed from; empty: it was named
}

// Met is how one file's kernels are met in one way of fitting.
type Met struct {
	How      string  `json:"how"`
	All      Figures `json:"all"`
	Over20   Figures `json:"over_20_us"`
	Products Figures `json:"large_16_bit_products"`
}

// FileStudy is one file with the figures of each way.
type FileStudy struct {
	File      string `json:"file"`
	Soc       string `json:"soc"`
	SocReason string `json:"soc_guessed_from,omitempty"`
	Rows      int    `json:"rows"`
	Compared  int    `json:"compared_rows"`
	Shapes    int    `json:"shapes"`
	Met       []Met  `json:"met"`
}

// Study is a fit with its figures.
type Study struct {
	Files []FileStudy   `json:"files"`
	Fit   []cost.Fitted `json:"-"`
}

// Ways in which the figures of a study are made.
const (
	ByRoofline = "data-sheet roofline"
	ByAssumed  = "nothing fitted"
	ByOthers   = "fitted on the other files"
	ByLeftOut  = "each shape left out"
	ByItself   = "fitted on it"
)

// NewStudy fits on all files together and finds how well kernels are met that the fit has not seen.
func NewStudy(ctx context.Context, sources []Source) (*Study, error) {
	var all []Sample
	parts := make([][]Sample, len(sources))
	for i, s := range sources {
		parts[i] = Samples(s.Chip, s.File)
		all = append(all, parts[i]...)
	}
	if len(all) < 2 {
		return nil, problem.Failedf("%d distinct shapes are too few to fit anything on", len(all))
	}
	left, err := LeaveOneOut(ctx, all)
	if err != nil {
		return nil, err
	}
	st := &Study{Fit: rowsOf(all, left)}
	for i, s := range sources {
		f := FileStudy{File: s.File.Path, Soc: s.Chip.Name, SocReason: s.Why, Rows: s.File.Rows, Compared: s.File.Compared(), Shapes: len(parts[i])}
		f.add(ByRoofline, roofline(parts[i]))
		f.add(ByAssumed, Predict(&cost.Profile{}, parts[i]))
		if rest := others(parts, i); len(rest) > 0 {
			f.add(ByOthers, Predict(cost.NewProfile(Fit(rest)), parts[i]))
		}
		f.add(ByLeftOut, left[:len(parts[i])])
		left = left[len(parts[i]):]
		f.add(ByItself, Predict(cost.NewProfile(st.Fit), parts[i]))
		st.Files = append(st.Files, f)
	}
	return st, nil
}

func others(parts [][]Sample, but int) []Sample {
	return slices.Concat(slices.Delete(slices.Clone(parts), but, but+1)...)
}

func roofline(samples []Sample) []Prediction {
	list := make([]Prediction, len(samples))
	for i, s := range samples {
		list[i] = Prediction{s, s.Roofline()}
	}
	return list
}

func (f *FileStudy) add(how string, list []Prediction) {
	m := Met{How: how, All: Sum(list)}
	part := func(holds func(Prediction) bool) Figures {
		return Sum(slices.DeleteFunc(slices.Clone(list), func(p Prediction) bool { return !holds(p) }))
	}
	m.Over20, m.Products = part(Over20), part(LargeProduct)
	f.Met = append(f.Met, m)
}

// Of finds the figures of one way; ok is false where it was not possible.
func (f *FileStudy) Of(how string) (m Met, ok bool) {
	i := slices.IndexFunc(f.Met, func(m Met) bool { return m.How == how })
	if i < 0 {
		return Met{}, false
	}
	return f.Met[i], true
}
