// Package widget draws the parts that screens are made of: bars, graphs, boxes, an input line. Widgets hold no data of
// their own; they draw what they are given into an area.
package widget

import (
	"math"

	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
)

// Ramp gives the role for a share of 0 to 1.
type Ramp func(share float64) theme.Role

// Solid is a ramp of one role.
func Solid(r theme.Role) Ramp { return func(float64) theme.Role { return r } }

// PerCell is how many samples of a graph share a column.
func PerCell(g theme.Glyphs) int {
	if g == theme.Braille {
		return 2
	}
	return 1
}

// Graph draws the newest samples as an area under a line, the newest at the right. Samples are shares of 0 to 1; NaN is
// unknown and stays empty, while 0 draws a faint base line: nothing known and nothing done look different.
func Graph(a cell.Area, samples []float64, ramp Ramp, g theme.Glyphs) {
	per := PerCell(g)
	for x := range a.W {
		// column x shows samples[i], ..., samples[i+per-1]
		i := len(samples) - (a.W-x)*per
		column(a, x, pick(samples, i), pick(samples, i+per-1), ramp, g)
	}
}

func pick(s []float64, i int) float64 {
	if i < 0 || i >= len(s) {
		return math.NaN()
	}
	return s[i]
}

func column(a cell.Area, x int, left, right float64, ramp Ramp, g theme.Glyphs) {
	steps := 4
	if g == theme.Blocks {
		steps = 8
	}
	l, r := height(left, a.H*steps), height(right, a.H*steps)
	for y := range a.H {
		base := (a.H - 1 - y) * steps
		lo, hi := clamp(l-base, steps), clamp(r-base, steps)
		share := (float64(base) + float64(max(lo, hi))) / float64(a.H*steps)
		if a.H == 1 {
			share = math.Max(zero(left), zero(right))
		}
		role := ramp(share)
		if y == a.H-1 && l <= 0 && r <= 0 && (l == 0 || r == 0) { // known and zero
			a.Rune(x, y, theme.Faint, baseGlyph(l, r, g))
			continue
		}
		if lo <= 0 && hi <= 0 {
			continue
		}
		if y == a.H-1 { // a zero beside something keeps its base line
			lo, hi = max(lo, b2i(l == 0)), max(hi, b2i(r == 0))
		}
		a.Rune(x, y, role, glyph(max(lo, 0), max(hi, 0), g))
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func zero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// height is the number of steps of a sample: at least one for anything above zero, -1 for unknown.
func height(v float64, steps int) int {
	switch {
	case math.IsNaN(v):
		return -1
	case v <= 0:
		return 0
	}
	return min(steps, max(1, int(math.Round(v*float64(steps)))))
}

func clamp(v, hi int) int { return min(max(v, -1), hi) }

func glyph(l, r int, g theme.Glyphs) rune {
	switch g {
	case theme.Braille:
		return brailleLeft[l] | brailleRight[r]
	case theme.Blocks:
		return blocks[r]
	}
	return shades[r]
}

func baseGlyph(l, r int, g theme.Glyphs) rune {
	switch g {
	case theme.Braille:
		b := rune(0x2800)
		if l == 0 {
			b |= brailleLeft[1]
		}
		if r == 0 {
			b |= brailleRight[1]
		}
		return b
	case theme.Blocks:
		return '▁'
	}
	return '_'
}

// brailleLeft and brailleRight are a dot column filled from below.
var (
	blocks       = [9]rune{' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'}
	shades       = [5]rune{' ', '.', '-', '+', '#'}
	brailleLeft  = [5]rune{0x2800, 0x2840, 0x2844, 0x2846, 0x2847}
	brailleRight = [5]rune{0x2800, 0x2880, 0x28a0, 0x28b0, 0x28b8}
)

// Bar draws a share of 0 to 1 over the whole width of line y, half a cell its step. NaN draws no fill.
func Bar(a cell.Area, y int, share float64, ramp Ramp) {
	// A heavy line on a thin one: rows of bars stay apart, and a trough is seen without a background colour.
	half := int(math.Round(math.Min(1, zero(share)) * float64(2*a.W)))
	if share > 0 {
		half = max(half, 1)
	}
	for x := range a.W {
		role := ramp((float64(x) + 0.5) / float64(a.W))
		switch {
		case half >= 2*x+2:
			a.Rune(x, y, role, '━')
		case half == 2*x+1:
			a.Rune(x, y, role, '╸')
		default:
			a.Rune(x, y, theme.Faint, '─')
		}
	}
}
