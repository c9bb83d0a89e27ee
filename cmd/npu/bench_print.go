package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"npu/internal/bench"
)

// number is a figure for people on a terminal with three digits or so, in full for programs.
func (s *streams) number(v float64) string {
	if !s.outTTY {
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// benchTable prints the results and how many goals are met.
func (s *streams) benchTable(list []bench.Result) error {
	pages := slices.ContainsFunc(list, func(r bench.Result) bool { return r.Pages })
	head := "ns/op\t±\tallocs/op\tB/op\tdevice ns/op\trate\tratio\tgoal\tname"
	if pages { // of models alone
		head = strings.Replace(head, "B/op", "B/op\tnew pages/op", 1)
	}
	goals, met := 0, 0
	err := s.table(head, func(row func(cells ...any)) {
		for _, r := range list {
			device := "-"
			if r.DeviceNsPerOp != nil {
				device = s.number(*r.DeviceNsPerOp)
			}
			ratio, goal := r.Verdict.Ratio, "-"
			if ratio == "" {
				ratio = "-"
			}
			if r.Verdict.Goal {
				goals++
				goal = r.Verdict.Text + " missed"
				if r.Verdict.Met {
					met++
					goal = r.Verdict.Text + " met"
				}
			}
			cells := []any{s.number(r.NsPerOp), fmt.Sprintf("%.0f%%", 100*r.Spread), s.number(tidy(r.AllocsPerOp)), s.number(tidy(r.BytesPerOp))}
			if pages {
				cells = append(cells, s.number(tidy(r.Metrics[bench.MetricPages])))
			}
			row(append(cells, device, rate(r), ratio, goal, r.Name)...)
		}
	})
	if err == nil && goals > 0 {
		_, err = fmt.Fprintf(s.out, "\n%d of %d goals met\n", met, goals)
	}
	return err
}

// tidy drops what others in the process allocate now and then.
func tidy(v float64) float64 { return math.Round(v*100) / 100 }

// rate is the figure that a benchmark is also known by.
func rate(r bench.Result) string {
	if v, ok := r.Metrics["device_gb_per_s"]; ok && r.Metrics["formula_ns_per_op"] > 0 {
		return fmt.Sprintf("%.2f GB/s of the device", v)
	}
	if v, ok := r.Metrics["gb_per_s"]; ok {
		return fmt.Sprintf("%.2f GB/s", v)
	}
	if r.Rate != "" {
		return fmt.Sprintf("%.1f M/s", r.Metrics[r.Rate]/1e6)
	}
	return "-"
}

// printDeltas prints a comparison of two runs.
func (o *benchOptions) printDeltas(list []bench.Delta) error {
	if o.json {
		if list == nil {
			list = []bench.Delta{}
		}
		return o.printJSON(list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintf(o.out, "%s has none of these benchmarks\n", o.compare)
		return err
	}
	unit := ""
	var notes []string
	for len(list) > 0 {
		if unit != "" {
			fmt.Fprintln(o.out)
		}
		unit = list[0].Unit
		n := 0
		for n < len(list) && list[n].Unit == unit {
			n++
		}
		err := o.table(fmt.Sprintf("old %s\t±\tnew %s\t±\tchange\tp\tname", unit, unit), func(row func(cells ...any)) {
			for _, d := range list[:n] {
				row(o.number(d.Old), d.OldRange, o.number(d.New), d.NewRange, d.Change, fmt.Sprintf("%.3f n=%d+%d", d.P, d.OldN, d.NewN), d.Name)
				notes = append(notes, d.Warnings...)
			}
		})
		if err != nil {
			return err
		}
		list = list[n:]
	}
	return o.notesOnce(notes)
}

// notesOnce prints each different note once.
func (o *benchOptions) notesOnce(notes []string) error {
	seen := map[string]bool{}
	for _, n := range notes {
		if !seen[n] {
			seen[n] = true
			if _, err := fmt.Fprintf(o.out, "note: %s\n", n); err != nil {
				return err
			}
		}
	}
	return nil
}

// printPlots prints the pictures of the families that were run, and the conditions of the run.
func (o *benchOptions) printPlots(families []bench.Family, list []bench.Series, opt bench.Options) error {
	if err := o.plots(families, list, opt); err != nil {
		return err
	}
	_, err := fmt.Fprintf(o.out, "\n%s\n", conditionText(bench.Conditions(opt), o.count))
	return err
}

func (o *benchOptions) plots(families []bench.Family, list []bench.Series, opt bench.Options) error {
	width := 100
	if o.width > 0 {
		width = o.width
	}
	for i, f := range families {
		if i > 0 {
			fmt.Fprintln(o.out)
		}
		text, err := bench.Plot(f.Name, bench.Results(list[:len(f.Specs)]), opt, width, o.outTTY)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprint(o.out, text); err != nil {
			return err
		}
		list = list[len(f.Specs):]
	}
	return nil
}
