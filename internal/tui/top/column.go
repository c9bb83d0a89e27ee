package top

import (
	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
)

// column is one column of a panel on the screen.
type column[T any] struct {
	key   string // to sort by; empty for none
	title string
	min   int // width
	max   int // a column with max above min takes part of the room that is left
	left  bool
	drop  int // the highest goes first when there is no room; 0 never goes
	draw  func(a cell.Area, r *T, p *pen)
}

// pen is what drawing a cell needs besides the row.
type pen struct {
	th   *theme.Theme
	hist *history
}

// unknown stands where there is no figure, more where a text is cut. A screen without Unicode shows "-" and "~".
const (
	unknown = "–"
	more    = "…"
)

// right writes s so that it ends at the right edge of a.
func right(a cell.Area, y int, role theme.Role, s string) {
	a.Text(max(0, a.W-cell.Width(s)), y, role, s)
}

// placed is a column with its place.
type placed[T any] struct {
	column[T]
	x, w int
}

// gap is the blank between two columns.
const gap = 1

// fit chooses the columns that have room in w and shares out what is left. The first column and those with drop 0 stay.
func fit[T any](cols []column[T], w int) []placed[T] {
	cols = append([]column[T](nil), cols...)
	need := func() int {
		n := -gap
		for _, c := range cols {
			n += c.min + gap
		}
		return n
	}
	for need() > w {
		worst := -1
		for i, c := range cols {
			if c.drop > 0 && (worst < 0 || c.drop > cols[worst].drop) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		cols = append(cols[:worst], cols[worst+1:]...)
	}
	out := make([]placed[T], len(cols))
	for i, c := range cols {
		out[i] = placed[T]{column: c, w: c.min}
	}
	spread(out, w-need())
	x := 0
	for i := range out {
		out[i].x = x
		x += out[i].w + gap
	}
	return out
}

// spread gives the columns that can grow equal parts of the room, up to their limits.
func spread[T any](cols []placed[T], room int) {
	for room > 0 {
		var grow []*placed[T]
		for i := range cols {
			if cols[i].w < cols[i].max {
				grow = append(grow, &cols[i])
			}
		}
		if len(grow) == 0 {
			return
		}
		for i, c := range grow {
			part := (room + len(grow) - 1 - i) / (len(grow) - i)
			part = min(part, c.max-c.w)
			c.w, room = c.w+part, room-part
		}
	}
}

// drawHeader writes the titles, the sorted one with its direction.
func drawHeader[T any](a cell.Area, cols []placed[T], s Sort) {
	for _, c := range cols {
		role, title := theme.Head, c.title
		if s.Key != "" && c.key == s.Key {
			role = theme.Sorted
			if s.Down {
				title += "▼"
			} else {
				title += "▲"
			}
		}
		sub := a.Sub(c.x, 0, c.w, 1)
		title = cell.Cut(title, c.w, "")
		if c.left {
			sub.Text(0, 0, role, title)
		} else {
			right(sub, 0, role, title)
		}
	}
}

// without drops the first n columns that may go, which moves the rest to the left.
func without[T any](cols []column[T], n int) []column[T] {
	var out []column[T]
	for i, c := range cols {
		if i > 0 && c.drop > 0 && n > 0 {
			n--
			continue
		}
		out = append(out, c)
	}
	return out
}
