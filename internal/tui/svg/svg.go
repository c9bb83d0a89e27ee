// Package svg turns the text of a screen, with its colour escapes, into a picture: one grid of cells, exact in any
// viewer. It reads what the terminal would have got, so that a picture shows no more and no less than the screen did.
package svg

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Options of Write.
type Options struct {
	Light bool   // default colours of a light terminal
	Title string // for screen readers
}

const (
	cellW, cellH = 9, 19 // pixels
	pad          = 12
	baseline     = 14
)

type style struct {
	fg, bg       string // "#rrggbb"; empty for the default
	bold, dim    bool
	underln, rev bool
}

type glyph struct {
	s string
	w int
	style
}

// Write draws text of any size: its lines are the rows, the widest line sets the width. Escapes other than colours and
// attributes are skipped.
func Write(w io.Writer, text string, o Options) error {
	rows, cols := parse(text)
	b := bufio.NewWriter(w)
	fg, bg := "#d6d9e0", "#15171c"
	if o.Light {
		fg, bg = "#24292f", "#fbfbfa"
	}
	width, height := cols*cellW+2*pad, len(rows)*cellH+2*pad
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(b, "<title>%s</title>\n", escape(o.Title))
	fmt.Fprintf(b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", bg)
	fmt.Fprintf(b, `<g font-family="DejaVu Sans Mono,Noto Sans Mono CJK SC,Menlo,Consolas,monospace" font-size="14.95" fill="%s">`+"\n", fg)
	for y, row := range rows {
		writeRow(b, row, y, fg, bg)
	}
	fmt.Fprint(b, "</g>\n</svg>\n")
	return b.Flush()
}

// run is a stretch of cells that look alike.
type run struct {
	x, w  int
	cells []glyph
	style
}

func writeRow(b *bufio.Writer, row []glyph, y int, fg, bg string) {
	var runs []run
	x := 0
	for _, g := range row {
		if g.rev {
			g.fg, g.bg, g.rev = or(g.bg, bg), or(g.fg, fg), false
		}
		if k := len(runs); k > 0 && runs[k-1].style == g.style {
			runs[k-1].cells, runs[k-1].w = append(runs[k-1].cells, g), runs[k-1].w+g.w
		} else {
			runs = append(runs, run{x: x, w: g.w, cells: []glyph{g}, style: g.style})
		}
		x += g.w
	}
	top := pad + y*cellH
	for _, r := range runs {
		if r.bg != "" {
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`, pad+r.x*cellW, top, r.w*cellW, cellH, r.bg)
		}
	}
	for _, r := range runs {
		writeText(b, r, top)
	}
	b.WriteByte('\n')
}

// writeText writes the words of a run, each at its place. Words of ASCII keep together, since the fonts agree on their
// width; any other character is placed by itself, so that no substitute font can bend the grid.
func writeText(b *bufio.Writer, r run, top int) {
	var s strings.Builder
	x, open := r.x, false
	shut := func() {
		if open {
			s.WriteString("</tspan>")
		}
		open = false
	}
	for _, g := range r.cells {
		ascii := len(g.s) == 1
		if !ascii || g.s == " " {
			shut()
		}
		if g.s != " " {
			if !open {
				fmt.Fprintf(&s, `<tspan x="%d">`, pad+x*cellW)
				open = true
			}
			s.WriteString(escape(g.s))
			if !ascii {
				shut()
			}
		}
		x += g.w
	}
	shut()
	if s.Len() == 0 {
		return
	}
	fmt.Fprintf(b, `<text y="%d"`, top+baseline)
	if r.fg != "" {
		fmt.Fprintf(b, ` fill="%s"`, r.fg)
	}
	if r.bold {
		b.WriteString(` font-weight="bold"`)
	}
	if r.dim {
		b.WriteString(` opacity="0.6"`)
	}
	if r.underln {
		b.WriteString(` text-decoration="underline"`)
	}
	fmt.Fprintf(b, ">%s</text>", s.String())
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func escape(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xfffe || r == 0xffff {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// parse cuts text into rows of cells with their styles, and returns the width of the widest.
func parse(text string) (rows [][]glyph, cols int) {
	p := ansi.NewParser()
	var state byte
	var now style
	row, width := []glyph{}, 0
	end := func() {
		rows, cols = append(rows, row), max(cols, width)
		row, width = []glyph{}, 0
	}
	for len(text) > 0 {
		seq, w, n, next := ansi.DecodeSequence(text, state, p)
		if n <= 0 {
			break
		}
		state, text = next, text[n:]
		switch {
		case w > 0:
			row, width = append(row, glyph{seq, w, now}), width+w
		case seq == "\n":
			end()
		case ansi.Cmd(p.Command()).Final() == 'm' && strings.HasPrefix(seq, "\x1b["):
			now = sgr(now, params(p))
		}
	}
	end()
	return rows, cols
}

func params(p *ansi.Parser) []int {
	var out []int
	for _, v := range p.Params() {
		out = append(out, v.Param(0))
	}
	if len(out) == 0 {
		out = []int{0}
	}
	return out
}
