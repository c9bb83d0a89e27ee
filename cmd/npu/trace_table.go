package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table prints rows under a header, whose cells are separated by tabs: aligned on a terminal, numbers to the right and
// the last column, a name, to the left; in a pipe with tabs.
func (s *streams) table(header string, rows func(row func(cells ...any))) error {
	all := [][]string{strings.Split(header, "\t")}
	widths := make([]int, len(all[0]))
	rows(func(cells ...any) {
		line := make([]string, len(cells))
		for i, c := range cells {
			line[i] = fmt.Sprint(c)
		}
		all = append(all, line)
	})
	for _, line := range all {
		for i, c := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, line := range all {
		for i, c := range line {
			switch {
			case i > 0 && s.outTTY:
				b.WriteString("  ")
			case i > 0:
				b.WriteByte('\t')
			}
			if s.outTTY && i < len(line)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)))
			}
			b.WriteString(c)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

// ns is a device time for people on a terminal, in nanoseconds for programs.
func (s *streams) ns(v int64) string {
	fixed := func(unit float64, name string) string { return strconv.FormatFloat(float64(v)/unit, 'f', 3, 64) + name }
	switch {
	case !s.outTTY:
		return strconv.FormatInt(v, 10)
	case v >= 1e9 || v <= -1e9:
		return fixed(1e9, " s")
	case v >= 1e6 || v <= -1e6:
		return fixed(1e6, " ms")
	case v >= 1e3 || v <= -1e3:
		return fixed(1e3, " µs")
	}
	return strconv.FormatInt(v, 10) + " ns"
}
