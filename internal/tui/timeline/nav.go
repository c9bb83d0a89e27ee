package timeline

import (
	"npu/internal/trace/lod"
)

// least is the shortest time in sight, in nanoseconds.
const least = 40

// columns is how wide the lanes are.
func (m *model) columns() int { return max(1, m.plan().w) }

// column is the column of a time; it may lie outside of the screen.
func (m *model) column(at int64) int {
	n := m.columns()
	x := int(float64(at-m.from) / float64(m.to-m.from) * float64(n))
	for x > 0 && x <= n && lod.Edge(m.from, m.to, x, n) > at {
		x--
	}
	for x >= 0 && x < n && lod.Edge(m.from, m.to, x+1, n) <= at && lod.Edge(m.from, m.to, x+1, n) > lod.Edge(m.from, m.to, x, n) {
		x++
	}
	return x
}

// cell is the time of the cursor's column.
func (m *model) cell() (from, to int64) {
	n := m.columns()
	x := min(max(m.column(m.cur), 0), n-1)
	from, to = lod.Edge(m.from, m.to, x, n), lod.Edge(m.from, m.to, x+1, n)
	return from, max(to, from+1)
}

// remember keeps where one looks for undo.
func (m *model) remember() {
	m.undone = append(m.undone, m.view)
	if len(m.undone) > 200 {
		m.undone = m.undone[1:]
	}
	m.redone = nil
}

func (m *model) undo(from, to *[]view) {
	if len(*from) == 0 {
		m.say("nothing to undo")
		return
	}
	last := len(*from) - 1
	*to = append(*to, m.view)
	m.view = (*from)[last]
	*from = (*from)[:last]
	if m.at.lane != nil {
		m.unveil(m.at.lane)
	}
	m.moved()
}

// moved is called when another time came into sight.
func (m *model) moved() {
	if m.open {
		m.span[1] = m.cur
	}
	if !m.ranged || m.open {
		m.seq++
	}
}

// show brings a time into sight, as far as the trace goes and a twentieth of the screen beyond.
func (m *model) show(from, to int64) {
	whole := m.d.To - m.d.From
	span := min(max(to-from, least), whole+whole/20+least)
	from = max(min(from, m.d.To+span/20-span), m.d.From-span/20)
	m.from, m.to = from, from+span
	m.cur = min(max(m.cur, m.from), m.to-1)
	m.moved()
}

// zoom makes num/den of the time in sight fill the screen. The time at the cursor stays where it is.
func (m *model) zoom(num, den int64) {
	m.remember()
	span := m.to - m.from
	next := min(max(span/den*num+span%den*num/den, least), (m.d.To-m.d.From)/20*21+least)
	left := int64(float64(m.cur-m.from) / float64(span) * float64(next))
	m.show(m.cur-left, m.cur-left+next)
	m.keep()
}

// pan moves by a part of the screen; the cursor stays at its column.
func (m *model) pan(part float64) {
	m.remember()
	m.follow = m.follow && part > 0
	by := int64(part * float64(m.to-m.from))
	from := m.from
	at := m.cur
	m.cur = at + by
	m.show(from+by, m.to+by)
	m.cur = min(max(at+m.from-from, m.from), m.to-1)
	m.resolve()
}

// step moves the cursor by columns and the screen with it at its edges.
func (m *model) step(n int) {
	cols := m.columns()
	x := m.column(m.cur) + n
	width := max(1, (m.to-m.from)/int64(cols))
	if x < 0 || x >= cols {
		by := int64(n) * width * int64(max(1, cols/10))
		m.show(m.from+by, m.to+by)
		x = min(max(m.column(m.cur)+n, 0), cols-1)
	}
	a, b := lod.Edge(m.from, m.to, x, cols), lod.Edge(m.from, m.to, x+1, cols)
	m.cur = a + (b-a)/2
	m.moved()
	m.resolve()
}

// whole shows all of the trace.
func (m *model) whole() {
	m.remember()
	m.show(m.d.From, m.d.To)
	m.keep()
}

// extent is the time of the task at the cursor, or of the gap there.
func (m *model) extent() (from, to int64) {
	if m.at.ok() {
		return m.at.lane.index.Start(m.at.at), m.at.lane.index.End(m.at.at)
	}
	if g, ok := m.gapHere(); ok {
		return g.from, g.to
	}
	return m.cell()
}

// fit shows a time with a margin.
func (m *model) fit(from, to int64) {
	m.remember()
	margin := max((to-from)/8, least/2)
	m.cur = min(max(m.cur, from), max(to-1, from))
	m.show(from-margin, to+margin)
	m.keep()
}

// centre puts the task at the cursor into the middle, as far as the trace goes; when it was put there before, it fills the
// screen.
func (m *model) centre() {
	from, to := m.extent()
	span := m.to - m.from
	mid := from + (to-from)/2
	if m.view == m.centred || to-from > span {
		m.fit(from, to)
		return
	}
	m.remember()
	m.cur = mid
	m.show(mid-span/2, mid-span/2+span)
	m.keep()
	m.centred = m.view
}

// goTo puts the cursor on a row, wherever it is.
func (m *model) goTo(r ref) {
	m.remember()
	m.follow = false
	m.unveil(r.lane)
	m.group, m.at = r.lane.Group, r
	from, to := r.lane.index.Start(r.at), r.lane.index.End(r.at)
	span := m.to - m.from
	m.cur = from
	if from < m.from+span/20 && m.from > m.d.From || to > m.to-span/20 && m.to < m.d.To {
		mid := from + min((to-from)/2, span*2/5)
		m.show(mid-span/2, mid-span/2+span)
	}
	if m.cur < m.from {
		m.cur = m.from
	}
	m.moved()
}

// goTime puts the cursor on a time.
func (m *model) goTime(at int64) {
	m.remember()
	m.follow = false
	span := m.to - m.from
	if m.cur = at; at < m.from || at >= m.to {
		m.show(at-span/2, at-span/2+span)
	}
	m.cur = min(max(at, m.from), m.to-1)
	m.moved()
	m.resolve()
}

// toEnd goes to the end of the trace; of a run that goes on the end stays in sight.
func (m *model) toEnd() {
	m.goTime(m.d.To - 1)
	m.follow = m.d.live
}

// toggleFollow keeps the end of a run in sight, or lets it go.
func (m *model) toggleFollow() {
	switch {
	case !m.d.live:
		m.say("this trace is complete; npu trace view --pid follows a run")
	case m.follow:
		m.follow = false
		m.say("the screen stays here; F follows the run again")
	default:
		m.toEnd()
		m.say("following the run; F, or going back, stays")
	}
}
