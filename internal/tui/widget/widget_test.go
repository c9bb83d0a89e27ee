package widget

import (
	"math"
	"strings"
	"testing"

	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
)

func draw(w, h int, g theme.Glyphs, f func(cell.Area)) string {
	var b cell.Buffer
	b.Reset(w, h)
	f(b.All())
	return b.String(theme.New(theme.None, false, g))
}

func TestGraph(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name string
		w, h int
		g    theme.Glyphs
		v    []float64
		want string
	}{
		{"braille", 3, 1, theme.Braille, []float64{0, 0.25, 0.5, 0.75, 1, 2}, "⣀⣴⣿"},
		{"newest right", 2, 1, theme.Braille, []float64{1}, " ⢸"},
		{"tall", 1, 2, theme.Braille, []float64{0.5, 1}, "⢸\n⣿"},
		{"unknown", 2, 1, theme.Braille, []float64{nan, nan, 1, nan}, " ⡇"},
		{"small is seen", 1, 1, theme.Braille, []float64{0.001, 0.001}, "⣀"},
		{"blocks", 4, 1, theme.Blocks, []float64{0, 0.25, 0.5, 1}, "▁▂▄█"},
		{"ascii", 5, 1, theme.ASCII, []float64{0, 0.25, 0.5, 0.75, 1}, "_.-+#"},
		{"none", 3, 1, theme.Braille, nil, ""},
	} {
		got := draw(c.w, c.h, c.g, func(a cell.Area) { Graph(a, c.v, Solid(theme.Text), c.g) })
		if got != c.want {
			t.Errorf("%s: %q, expected %q", c.name, got, c.want)
		}
	}
}

func TestBar(t *testing.T) {
	for share, want := range map[float64]string{0: "────", 0.5: "━━──", 0.62: "━━╸─", 1: "━━━━", 7: "━━━━", 0.001: "╸───"} {
		if got := draw(4, 1, theme.Braille, func(a cell.Area) { Bar(a, 0, share, theme.UtilRamp) }); got != want {
			t.Errorf("%v: %q, expected %q", share, got, want)
		}
	}
	if got := draw(4, 1, theme.Braille, func(a cell.Area) { Bar(a, 0, math.NaN(), theme.UtilRamp) }); got != "────" {
		t.Errorf("unknown: %q", got)
	}
}

func TestBox(t *testing.T) {
	got := draw(20, 3, theme.Braille, func(a cell.Area) {
		in := Box(a, "Title", "more", true)
		in.Text(0, 0, theme.Text, "inside and too long for it")
	})
	if got != "╭─▸Title ─── more ─╮\n│inside and too lon│\n╰──────────────────╯" {
		t.Errorf("\n%s", got)
	}
	for w := range 8 {
		for h := range 4 {
			draw(w, h, theme.ASCII, func(a cell.Area) { Box(a, "Title", "more", false) })
		}
	}
}

func TestScroll(t *testing.T) {
	for _, c := range [][5]int{{0, 0, 10, 4, 0}, {0, 5, 10, 4, 2}, {5, 2, 10, 4, 2}, {8, 9, 10, 4, 6}, {3, 0, 2, 4, 0}, {0, 0, 0, 0, 0}, {9, 3, 5, 0, 0}} {
		if got := Scroll(c[0], c[1], c[2], c[3]); got != c[4] {
			t.Errorf("%v: %d", c, got)
		}
	}
}

func TestEdit(t *testing.T) {
	var e Edit
	e.Insert("héllo wörld")
	e.BackWord()
	e.Insert("中\x1b\n")
	e.Move(-1)
	e.Back()
	e.Delete()
	if e.String() != "héllo" || e.Cursor() != 5 {
		t.Errorf("%q %d", e.String(), e.Cursor())
	}
	e.Home()
	e.Back()
	e.Insert("x")
	e.End()
	e.Delete()
	if e.String() != "xhéllo" {
		t.Errorf("%q", e.String())
	}
	e.Insert(strings.Repeat("a", 9999))
	if n := len(e.String()); n > maxEdit+8 {
		t.Errorf("%d bytes", n)
	}
	e.BackAll()
	if e.String() != "" {
		t.Errorf("%q", e.String())
	}
}
