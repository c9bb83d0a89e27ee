package timeline

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"npu/internal/trace/lod"
)

// drag is what the mouse is doing while a button is down.
type drag struct {
	what     dragging
	x, y     int   // where it began
	from, to int64 // the time in sight then
	line     line
	moved    bool
}

type dragging int

const (
	dragNothing dragging = iota
	dragTime             // the picture follows the pointer
	dragRange
	dragLane // a name, to another place
)

// click is the last one, to know the second of two.
type click struct {
	x, y int
	when time.Time
}

const twice = 400 * time.Millisecond

// mouse: the wheel goes over lanes, with Ctrl or Alt it zooms at the pointer, with Shift it pans; dragging moves the picture, on
// the axis or with Shift or the right button it takes a range, and a name to another place; a click puts the cursor there, a
// second one fits what is there.
func (m *model) mouse(e tea.MouseMsg) {
	if m.d == nil || len(m.d.Lanes) == 0 || m.help || m.ask != askNothing {
		return
	}
	p := m.plan()
	x, y := e.X-p.names, e.Y-p.y
	in := min(max(x, 0), p.w-1)
	switch {
	case tea.MouseEvent(e).IsWheel():
		m.wheel(e, in)
	case e.Action == tea.MouseActionPress && (e.Button == tea.MouseButtonLeft || e.Button == tea.MouseButtonRight):
		m.press(e, x, y, p)
	case e.Action == tea.MouseActionMotion && m.drag.what != dragNothing:
		m.dragTo(e, in, p)
	case e.Action == tea.MouseActionRelease:
		m.release(e, y, p)
	}
}

func (m *model) wheel(e tea.MouseMsg, x int) {
	back := e.Button == tea.MouseButtonWheelUp || e.Button == tea.MouseButtonWheelLeft
	switch {
	case e.Ctrl || e.Alt:
		m.cur = lod.Edge(m.from, m.to, x, m.columns())
		if back {
			m.zoom(2, 3)
		} else {
			m.zoom(3, 2)
		}
	case e.Shift || e.Button == tea.MouseButtonWheelLeft || e.Button == tea.MouseButtonWheelRight:
		if back {
			m.pan(-0.1)
		} else {
			m.pan(0.1)
		}
	case back:
		m.stand(m.here() - 1)
	default:
		m.stand(m.here() + 1)
	}
}

// press begins what release or a motion will tell.
func (m *model) press(e tea.MouseMsg, x, y int, p plan) {
	m.drag = drag{x: e.X, y: e.Y, from: m.from, to: m.to}
	if y < -1 || y >= p.h {
		return
	}
	switch i := m.lineAt(y, &p); {
	case x < 0 && y >= 0 && i < len(m.lines):
		m.drag.what, m.drag.line = dragLane, m.lines[i]
		m.stand(i)
	case x < 0:
	case y < 0 || e.Shift || e.Button == tea.MouseButtonRight:
		m.drag.what = dragRange
		m.point(x, p)
	default:
		m.drag.what = dragTime
		if i < len(m.lines) {
			m.stand(i)
		}
		m.point(x, p)
	}
}

// point puts the cursor into a column.
func (m *model) point(x int, p plan) {
	a, b := lod.Edge(m.from, m.to, x, p.w), lod.Edge(m.from, m.to, x+1, p.w)
	m.cur = min(max(a+(b-a)/2, m.from), m.to-1)
	m.moved()
	m.resolve()
}

func (m *model) dragTo(e tea.MouseMsg, x int, p plan) {
	d := &m.drag
	if !d.moved && e.X == d.x && e.Y == d.y {
		return
	}
	first := !d.moved
	d.moved = true
	switch d.what {
	case dragTime:
		if first {
			m.remember()
			m.follow = false
		}
		by := int64(float64(d.x-e.X) / float64(p.w) * float64(d.to-d.from))
		m.show(d.from+by, d.to+by)
		m.point(x, p)
	case dragRange:
		if first {
			m.ranged, m.open, m.span = true, true, [2]int64{m.cur, m.cur}
		}
		m.point(x, p)
	}
}

func (m *model) release(e tea.MouseMsg, y int, p plan) {
	d := m.drag
	m.drag = drag{}
	switch {
	case d.what == dragRange && d.moved:
		m.rangeKey()
	case d.what == dragLane && e.Y != d.y && y >= 0 && y < p.h && m.lineAt(y, &p) < len(m.lines):
		m.moveTo(d.line, m.lineAt(y, &p))
	case d.what == dragTime && !d.moved:
		now := m.now()
		if m.click.x == e.X && m.click.y == e.Y && now.Sub(m.click.when) < twice {
			m.fit(m.extent())
			now = time.Time{}
		}
		m.click = click{e.X, e.Y, now}
	}
}
