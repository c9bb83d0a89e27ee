package bench

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// pen is the characters that a picture is drawn with.
type pen struct {
	full  string
	parts []string // of a cell, in rising order
	idle  string
	axis  string
}

func newPen(unicode bool) pen {
	if unicode {
		return pen{"█", []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉"}, "·", "│"}
	}
	return pen{"#", nil, ".", "|"}
}

// bar is v of a scale that ends with most, as long as width cells.
func (p pen) bar(v, most float64, width int) string {
	cells := v / most * float64(width)
	n := int(cells)
	s := strings.Repeat(p.full, n)
	if i := int((cells - float64(n)) * float64(len(p.parts)+1)); i > 0 {
		s += p.parts[i-1]
	}
	if s == "" && v > 0 {
		s = append(p.parts, p.full)[0]
	}
	return s
}

// Plot draws a family: the wall time of each benchmark, and for streams what the device does as well. width is in
// columns; unicode allows more than ASCII.
func Plot(family string, list []Result, o Options, width int, unicode bool) (string, error) {
	p := newPen(unicode)
	var b strings.Builder
	var calls, latencies []Result
	for _, r := range list {
		if strings.HasPrefix(r.Name, latencyPrefix) {
			latencies = append(latencies, r)
		} else {
			calls = append(calls, r)
		}
	}
	fmt.Fprintf(&b, "%s: wall time of an operation\n", family)
	p.bars(&b, calls, width, func(r Result) (float64, string) { return r.NsPerOp, nsText(r.NsPerOp) })
	if len(latencies) == 0 {
		return b.String(), nil
	}
	fmt.Fprintf(&b, "\nsimulated latency of a kernel of one block of 100 µs, one on each of so many streams (%d AI cores)\n", cores(o.Chip))
	p.bars(&b, latencies, width, func(r Result) (float64, string) {
		if r.DeviceNsPerOp == nil {
			return 0, "?"
		}
		return *r.DeviceNsPerOp, nsText(*r.DeviceNsPerOp)
	})
	fmt.Fprintf(&b, "\nwall time of the same, a kernel\n")
	p.bars(&b, latencies, width, func(r Result) (float64, string) { return r.NsPerOp, nsText(r.NsPerOp) })
	text, err := Preemption(o.Chip, width, unicode)
	return b.String() + "\n" + text, err
}

// bars draws a bar for each result. A scale of more than three powers of ten is logarithmic, and says so.
func (p pen) bars(b *strings.Builder, list []Result, width int, of func(Result) (float64, string)) {
	least, most, name, figure := math.Inf(1), 0.0, 0, 0
	for _, r := range list {
		v, text := of(r)
		if v > 0 {
			least, most = min(least, v), max(most, v)
		}
		name, figure = max(name, len(label(r))), max(figure, utf8.RuneCountInString(text))
	}
	room := max(10, width-name-figure-3)
	scale := func(v float64) float64 { return v }
	if most/least > 1000 {
		floor := math.Floor(math.Log10(least))
		scale = func(v float64) float64 { return math.Log10(v) - floor + 0.05 }
		fmt.Fprintf(b, "%*s  (logarithmic)\n", name, "")
	}
	for _, r := range list {
		v, text := of(r)
		fmt.Fprintf(b, "%-*s %*s %s", name, label(r), figure, text, p.axis)
		if v > 0 {
			b.WriteString(p.bar(scale(v), scale(most), room))
		}
		b.WriteByte('\n')
	}
}

// label is a benchmark's name without its family.
func label(r Result) string {
	if s, ok := strings.CutPrefix(r.Name, latencyPrefix); ok {
		return strings.ReplaceAll(s, "-", " ")
	}
	return r.Name[strings.IndexByte(r.Name, '/')+1:]
}

// nsText is a time with three digits or so.
func nsText(ns float64) string {
	switch {
	case ns >= 99_950:
		return fmt.Sprintf("%.0f µs", ns/1e3)
	case ns >= 9_995:
		return fmt.Sprintf("%.1f µs", ns/1e3)
	case ns >= 99.95:
		return fmt.Sprintf("%.0f ns", ns)
	}
	return fmt.Sprintf("%.1f ns", ns)
}
