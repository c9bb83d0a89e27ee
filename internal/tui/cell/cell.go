// Package cell is the screen as a grid: drawing code puts text and roles into cells, and the grid is written once, with
// an escape only where the role changes. Styling each cell by itself costs two hundred times as much.
//
// A Buffer belongs to one goroutine.
package cell

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"npu/internal/tui/theme"
)

// cell is one column of one line. A wide character has its text in the first of its two cells and wide in the second.
type cell struct {
	r    rune
	tail string // combining marks and the like behind r
	role theme.Role
	wide bool // the right half of the cell before
}

// Buffer is a grid of W by H cells.
type Buffer struct {
	W, H  int
	cells []cell
}

// Reset empties the grid and gives it a size; negative sizes are none.
func (b *Buffer) Reset(w, h int) {
	b.W, b.H = max(w, 0), max(h, 0)
	if n := b.W * b.H; cap(b.cells) < n {
		b.cells = make([]cell, n)
	} else {
		b.cells = b.cells[:n]
	}
	for i := range b.cells {
		b.cells[i] = cell{r: ' '}
	}
}

// All is the whole grid to draw on.
func (b *Buffer) All() Area { return Area{b: b, W: b.W, H: b.H} }

// Area is a rectangle of a buffer; drawing outside of it has no effect.
type Area struct {
	b    *Buffer
	x, y int
	W, H int
}

// Sub is the part of a at (x, y), cut to what a has.
func (a Area) Sub(x, y, w, h int) Area {
	x0, y0 := min(max(x, 0), a.W), min(max(y, 0), a.H)
	return Area{b: a.b, x: a.x + x0, y: a.y + y0, W: max(0, min(x+w, a.W)-x0), H: max(0, min(y+h, a.H)-y0)}
}

// At is where a lies in its buffer.
func (a Area) At() (x, y int) { return a.x, a.y }

func (a Area) inside(x, y int) bool { return x >= 0 && y >= 0 && x < a.W && y < a.H }

// set writes one cell. Half of a wide character that it cuts becomes a blank.
func (a Area) set(x, y int, c cell) {
	i := (a.y+y)*a.b.W + a.x + x
	if a.b.cells[i].wide && !c.wide {
		a.b.cells[i-1] = cell{r: ' ', role: a.b.cells[i-1].role}
	}
	if next := i + 1; next < (a.y+y+1)*a.b.W && a.b.cells[next].wide {
		a.b.cells[next] = cell{r: ' ', role: a.b.cells[next].role}
	}
	a.b.cells[i] = c
}

// Rune writes one character of width 1.
func (a Area) Rune(x, y int, role theme.Role, r rune) {
	if a.inside(x, y) {
		a.set(x, y, cell{r: r, role: role})
	}
}

// Text writes s from (x, y) and returns the column behind it. Characters that do not fit are left out; control
// characters, which a process name may hold to play with the terminal, appear as '·'.
func (a Area) Text(x, y int, role theme.Role, s string) int {
	for len(s) > 0 {
		g, r, w := next(s)
		s = s[len(g):]
		switch {
		case w <= 0:
			continue
		case w == 1:
			a.character(x, y, cell{r: r, tail: tail(g, r), role: role})
		case a.inside(x, y) && a.inside(x+1, y):
			a.set(x, y, cell{r: r, tail: tail(g, r), role: role})
			a.set(x+1, y, cell{role: role, wide: true})
		default:
			a.Rune(x, y, role, ' ')
		}
		x += w
	}
	return x
}

func (a Area) character(x, y int, c cell) {
	if a.inside(x, y) {
		a.set(x, y, c)
	}
}

// next takes the first character of s: its bytes, what to draw for it, and its width of 0 to 2. A cluster that holds
// anything but printable characters is taken apart, so that no escape can hide behind a letter.
func next(s string) (g string, r rune, w int) {
	if c := s[0]; c < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		if c < ' ' || c == 0x7f {
			return s[:1], '·', 1
		}
		return s[:1], rune(c), 1
	}
	g, w = ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	r, n := utf8.DecodeRuneInString(s)
	if !printable(r, n) {
		return s[:n], '·', 1
	}
	for i := n; i < len(g); {
		q, k := utf8.DecodeRuneInString(g[i:])
		if !printable(q, k) && q != zeroWidthJoiner {
			return s[:n], r, min(max(ansi.StringWidth(s[:n]), 0), 2)
		}
		i += k
	}
	return g, r, min(max(w, 0), 2)
}

const zeroWidthJoiner = '\u200d'

func printable(r rune, n int) bool {
	return !(r == utf8.RuneError && n <= 1) && unicode.IsGraphic(r) && !unicode.IsControl(r)
}

// tail is what a cluster has behind its first character; the sign for an unprintable one has none.
func tail(g string, r rune) string {
	if first, n := utf8.DecodeRuneInString(g); first == r && n < len(g) {
		return g[n:]
	}
	return ""
}

// Fill writes one character into a whole run.
func (a Area) Fill(x, y, w int, role theme.Role, r rune) {
	for i := max(x, 0); i < min(x+w, a.W); i++ {
		a.Rune(i, y, role, r)
	}
}

// Mark adds bits to the roles of a line, as theme.Selected.
func (a Area) Mark(y int, bits theme.Role) {
	for x := range a.W {
		if a.inside(x, y) {
			a.b.cells[(a.y+y)*a.b.W+a.x+x].role |= bits
		}
	}
}

// MarkAt is as Mark for one cell. A slab there gives its ground up and shows its colour as a line.
func (a Area) MarkAt(x, y int, bits theme.Role) {
	if !a.inside(x, y) {
		return
	}
	r := &a.b.cells[(a.y+y)*a.b.W+a.x+x].role
	if plain := *r &^ theme.Selected; plain >= theme.Slab0 && plain < theme.Slab0+theme.Tints {
		*r = plain - theme.Slab0 + theme.Tint0
	}
	*r |= bits
}

// Blank reports whether nothing is drawn at a place.
func (a Area) Blank(x, y int) bool {
	if !a.inside(x, y) {
		return false
	}
	c := &a.b.cells[(a.y+y)*a.b.W+a.x+x]
	return c.r == ' ' && !c.wide && c.role < theme.Slab0
}

// Clear blanks the area, as under a window that is drawn over others.
func (a Area) Clear() {
	for y := range a.H {
		for x := range a.W {
			a.set(x, y, cell{r: ' '})
		}
	}
}

// String writes the grid: one line a row, blanks at the end left out where they show nothing.
func (b *Buffer) String(t *theme.Theme) string {
	var s strings.Builder
	s.Grow(b.W*b.H*2 + 64)
	for y := range b.H {
		if y > 0 {
			s.WriteByte('\n')
		}
		row := b.cells[y*b.W : (y+1)*b.W]
		end := len(row)
		for end > 0 && row[end-1].r == ' ' && !row[end-1].wide && (t.Profile == theme.None || plainGround(row[end-1].role)) {
			end--
		}
		now := ""
		for i := range row[:end] {
			c := &row[i]
			if c.wide {
				continue
			}
			if q := t.SGR(c.role); q != now {
				if now = q; q == "" {
					q = theme.Reset
				}
				s.WriteString(q)
			}
			if t.Glyphs == theme.ASCII {
				s.WriteRune(theme.ASCIIOf(c.r))
			} else {
				s.WriteRune(c.r)
			}
			s.WriteString(c.tail)
		}
		if now != "" {
			s.WriteString(theme.Reset)
		}
	}
	return s.String()
}

// plainGround reports whether a blank of this role looks like no cell at all.
func plainGround(r theme.Role) bool {
	return r != theme.Brand && r != theme.Fault && r < theme.Slab0 && r&theme.Selected == 0
}

// Width is the number of columns that Text uses for s.
func Width(s string) int {
	n := 0
	for len(s) > 0 {
		g, _, w := next(s)
		s, n = s[len(g):], n+w
	}
	return n
}

// Cut shortens s to at most w columns, with mark at the end where something is missing.
func Cut(s string, w int, mark string) string {
	if Width(s) <= w {
		return s
	}
	w -= Width(mark)
	if w < 0 {
		return ""
	}
	n := 0
	for i := 0; i < len(s); {
		g, _, gw := next(s[i:])
		if n+gw > w {
			return s[:i] + mark
		}
		n, i = n+gw, i+len(g)
	}
	return s
}
