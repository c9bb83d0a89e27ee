package top

import (
	"slices"
	"strings"

	"npu/internal/problem"
	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

// Panels of the screen, in the order of their keys 1 to 5.
const (
	PanelDevices = iota
	PanelProcesses
	PanelStreams
	PanelMemory
	PanelOperators
	panelCount
)

var panelNames = [panelCount]string{"devices", "processes", "streams", "memory", "operators"}

// Panels lists the names of the panels.
func Panels() []string { return panelNames[:] }

// ParsePanel reads the name of a panel, or a unique beginning of it; empty means the devices.
func ParsePanel(s string) (int, error) {
	found := -1
	for i, n := range panelNames {
		if strings.HasPrefix(n, strings.ToLower(s)) {
			if found >= 0 && s != "" {
				return 0, problem.Usagef("--panel %s: could be %s or %s", s, panelNames[found], n)
			}
			if found < 0 {
				found = i
			}
		}
	}
	if found < 0 {
		return 0, problem.Usagef("--panel %s: expected one of %s", s, strings.Join(panelNames[:], ", "))
	}
	return found, nil
}

// panel is the state of one panel: which row is selected, how it is sorted and filtered. The selection is a row's
// name, not its place, so that it stays on its row when the order changes.
type panel struct {
	sel    string
	at     int // where the selected row was last seen
	top    int
	skip   int // columns moved out at the left
	sort   Sort
	filter Filter
	text   string   // of the filter
	ids    []string // of the rows that were drawn, in their order
	all    int      // rows without the filter
	keys   []string // columns that can be sorted by, as drawn
	page   int      // rows that fit
	moved  bool     // a row was chosen; before, the first one is selected
	spot   spot     // where it was drawn
}

// settle finds the selected row among the present ones; a row that is gone leaves its place selected.
func (s *panel) settle(ids []string, all int) {
	s.ids, s.all = ids, all
	i := slices.Index(ids, s.sel)
	if !s.moved {
		i = 0
	}
	if i < 0 || i >= len(ids) {
		i = max(0, min(s.at, len(ids)-1))
	}
	s.at = i
	s.sel = ""
	if i < len(ids) {
		s.sel = ids[i]
	}
}

// move selects the row n further.
func (s *panel) move(n int) {
	if len(s.ids) == 0 {
		return
	}
	s.at = max(0, min(s.at+n, len(s.ids)-1))
	s.sel, s.moved = s.ids[s.at], true
}

// drawRows draws a header and the rows that fit, the selected one marked by a sign and by its role; in a panel that does
// not have the keys by the sign alone, if keep says so.
func drawRows[T any](a cell.Area, s *panel, rows []*T, cols []column[T], lines int, active, keep bool, p *pen) {
	s.keys = nil
	for _, c := range cols {
		if c.key != "" && !slices.Contains(s.keys, c.key) {
			s.keys = append(s.keys, c.key)
		}
	}
	const margin = 2
	fitted := fit(without(cols, s.skip), a.W-margin-1)
	drawHeader(a.Sub(margin, 0, a.W-margin, 1), fitted, s.sort)
	body := a.Sub(0, 1, a.W, a.H-1)
	s.spot = spotOf(a, lines)
	for _, c := range fitted {
		s.spot.heads = append(s.spot.heads, head{margin + c.x, margin + c.x + c.w, c.key})
	}
	s.page = max(1, body.H/lines)
	s.top = widget.Scroll(s.top, s.at, len(rows), s.page)
	for i := s.top; i < len(rows) && i < s.top+s.page; i++ {
		y := (i - s.top) * lines
		for _, c := range fitted {
			c.draw(body.Sub(margin+c.x, y, c.w, lines), rows[i], p)
		}
		switch {
		case i != s.at:
		case active:
			body.Rune(0, y, theme.Active, '▸')
			for k := range lines {
				body.Mark(y+k, theme.Selected)
			}
		case keep: // the graphs below are of this row
			body.Rune(0, y, theme.Dim, '▸')
		}
	}
	scrollBar(body, s.top, s.page, len(rows), lines)
}

// scrollBar shows at the right edge which part of a longer list is seen.
func scrollBar(a cell.Area, top, page, n, lines int) {
	if n <= page || a.H < 2 || a.W < 10 {
		return
	}
	h := min(a.H, page*lines)
	size := max(1, h*page/n)
	from := (h - size) * top / max(1, n-page)
	for y := range h {
		if y >= from && y < from+size {
			a.Rune(a.W-1, y, theme.Dim, '┃')
		} else {
			a.Rune(a.W-1, y, theme.Faint, '│')
		}
	}
}

// say writes a text into an area, wrapped at blanks.
func say(a cell.Area, x, y int, role theme.Role, text string) int {
	return widget.Say(a, x, y, role, text)
}
