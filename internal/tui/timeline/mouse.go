package timeline

import (
	tea "github.com/charmbracelet/bubbletea"

	"npu/internal/trace/lod"
)

// mouse zooms with the wheel at the pointer, and puts the cursor where one clicks.
func (m *model) mouse(e tea.MouseMsg) {
	if m.d == nil || len(m.d.Lanes) == 0 || m.help || m.ask != askNothing {
		return
	}
	p := m.plan()
	x, y := e.X-p.names, e.Y-p.y
	if x < 0 || x >= p.w || y < 0 || y >= p.h {
		x = min(max(x, 0), p.w-1)
	}
	switch {
	case e.Button == tea.MouseButtonWheelUp && e.Shift:
		m.pan(-0.1)
	case e.Button == tea.MouseButtonWheelDown && e.Shift:
		m.pan(0.1)
	case e.Button == tea.MouseButtonWheelUp:
		m.cur = lod.Edge(m.from, m.to, x, p.w)
		m.zoom(2, 3)
	case e.Button == tea.MouseButtonWheelDown:
		m.cur = lod.Edge(m.from, m.to, x, p.w)
		m.zoom(3, 2)
	case e.Button == tea.MouseButtonLeft && e.Action != tea.MouseActionRelease:
		a, b := lod.Edge(m.from, m.to, x, p.w), lod.Edge(m.from, m.to, x+1, p.w)
		m.cur = a + (b-a)/2
		if i := m.top + y; y >= 0 && y < p.h && i < len(m.lines) {
			m.stand(i)
		}
		m.moved()
	}
}
