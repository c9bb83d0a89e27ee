package top

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"npu/internal/tui/cell"
	"npu/internal/tui/keys"
)

// spot is where a panel was drawn: its header, and below it its rows.
type spot struct {
	x, y, w, h int // h 0: it is not on the screen
	lines      int // per row
	heads      []head
}

// head is a title of a spot, from one column to another, and what it sorts by.
type head struct {
	from, to int
	key      string
}

func spotOf(a cell.Area, lines int) spot {
	x, y := a.At()
	return spot{x: x, y: y, w: a.W, h: a.H, lines: lines}
}

func (s *spot) has(x, y int) bool { return x >= s.x && x < s.x+s.w && y >= s.y && y < s.y+s.h }

// button is a part of a line that a click acts on: the name of a panel, or a key of the bottom line.
type button struct {
	x, y, w int
	panel   int // -1: key
	key     keys.Binding
}

// doubleClick is how soon the second click on a row has to come to open it.
const doubleClick = 400 * time.Millisecond

// click is the last one on a row.
type click struct {
	panel int
	row   string
	at    time.Time
}

// mouse does what the pointer asks for: a click selects a row, sorts by a title, chooses a panel or presses a key of the
// bottom line; a second one opens; the wheel moves what is below it.
func (m *model) mouse(e tea.MouseMsg) tea.Cmd {
	if m.prompt != nil {
		return nil
	}
	wheel := 0
	switch e.Button {
	case tea.MouseButtonWheelUp:
		wheel = -1
	case tea.MouseButtonWheelDown:
		wheel = 1
	case tea.MouseButtonLeft:
		if e.Action != tea.MouseActionPress {
			return nil
		}
	default:
		return nil
	}
	if wheel == 0 {
		for _, b := range m.buttons {
			if e.Y == b.y && e.X >= b.x && e.X < b.x+b.w {
				if b.panel < 0 {
					return m.key(b.key.Press())
				}
				m.choose(b.panel)
				return nil
			}
		}
	}
	switch {
	case m.help && wheel != 0:
		m.helpTop = max(0, m.helpTop+3*wheel)
	case m.help:
		m.help = false
	case m.detail && m.over.has(e.X, e.Y):
		if wheel != 0 {
			m.detailTop = max(0, min(m.detailTop+3*wheel, m.detailRows-1))
		}
	default:
		for i := range m.panels {
			if m.panels[i].spot.has(e.X, e.Y) {
				m.point(i, e.X, e.Y, wheel)
				break
			}
		}
	}
	return nil
}

// point acts on a panel at a place of the screen.
func (m *model) point(panel, x, y, wheel int) {
	p := &m.panels[panel]
	if panel != m.active {
		m.choose(panel)
	}
	row := y - p.spot.y - 1
	switch {
	case wheel != 0:
		m.move(3 * wheel)
	case row < 0:
		for _, h := range p.spot.heads {
			if x := x - p.spot.x; x >= h.from && x < h.to && h.key != "" {
				m.sortColumn(h.key)
			}
		}
	default:
		i := p.top + row/max(1, p.spot.lines)
		if i >= len(p.ids) {
			return
		}
		m.move(i - p.at)
		now, last := m.now(), m.clicked
		m.clicked = click{panel, p.sel, now}
		if last.panel == panel && last.row == p.sel && now.Sub(last.at) < doubleClick {
			m.clicked = click{}
			m.open(!m.detail)
		}
	}
}

// sortColumn sorts by a column; by the same one again, the other way round.
func (m *model) sortColumn(key string) {
	p := &m.panels[m.active]
	if p.sort.Key == key {
		p.sort.Down = !p.sort.Down
	} else {
		p.sort = natural(key)
	}
	p.top = 0
}
