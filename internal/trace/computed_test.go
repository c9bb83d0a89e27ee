package trace

import (
	"fmt"
	"math"
	"testing"
)

// Computed columns are as those that hold their values, whatever is done with them.
func TestComputed(t *testing.T) {
	sheet := func(own bool) *Sheet {
		s := NewSheet("pmu", ComputedText("name", 3, func(i int) string { return fmt.Sprint("k", i) }), ComputedInt("cycles", 3, func(i int) int64 { return []int64{7, NoInt, 9}[i] }),
			ComputedFloat("ratio", 3, func(i int) float64 { return []float64{0.5, math.NaN(), 1}[i] }), ComputedFloat("none", 3, func(int) float64 { return math.NaN() }))
		s.Rows = 3
		for i := range s.Columns {
			if own {
				s.Columns[i].Own()
			}
		}
		return s
	}
	text := func(s *Sheet) (out string) {
		for i := range s.Columns {
			out += s.Columns[i].Name
			for row := range s.Rows {
				out += fmt.Sprint(" ", s.Columns[i].Value(row))
			}
			out += "\n"
		}
		return out
	}
	for name, do := range map[string]func(s *Sheet){
		"nothing": func(*Sheet) {},
		"trim":    (*Sheet).Trim,
		"add":     func(s *Sheet) { s.Add("x", int64(1), nil) },
		"append":  func(s *Sheet) { s.Append(sheet(false)); s.Append(sheet(true)); s.Append(sheet(false)) },
		"widen": func(s *Sheet) {
			o := NewSheet("pmu", TextColumn("ratio"), IntColumn("more"))
			o.Add("high", int64(4))
			s.Append(o)
		},
		"narrow": func(s *Sheet) {
			o := NewSheet("pmu", ComputedInt("name", 1, func(int) int64 { return 5 }))
			o.Rows = 1
			s.Append(o)
		},
	} {
		a, b := sheet(false), sheet(true)
		before := text(a)
		clone := *a
		clone.Columns = nil
		for i := range a.Columns {
			clone.Columns = append(clone.Columns, a.Columns[i].Clone())
		}
		do(a)
		do(b)
		if got, want := text(a), text(b); got != want {
			t.Errorf("%s: computed\n%sheld\n%s", name, got, want)
		}
		if text(&clone) != before {
			t.Errorf("%s changed a clone", name)
		}
	}
}
