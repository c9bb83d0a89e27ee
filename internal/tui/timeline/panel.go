package timeline

import (
	"fmt"
	"strings"

	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

// drawPanel draws what the cursor is on and the statistics of what is in sight: side by side, one of them, or one line.
func (m *model) drawPanel(a cell.Area, p plan) {
	switch {
	case p.panel < 4:
		text := m.headline()
		if m.tab != tabTask {
			text = m.statisticsLine()
		}
		a.Text(0, 0, theme.Text, cell.Cut(text, a.W, more))
	case p.both:
		left := a.W * 11 / 20
		m.drawTask(a.Sub(0, 0, left, a.H))
		m.drawTab(a.Sub(left, 0, a.W-left, a.H))
	case m.tab == tabTask:
		m.drawTask(a)
	default:
		m.drawTab(a)
	}
}

// tab is what the panel shows: beside the task where there is room for both, else in its place.
type tab int

const (
	tabTask tab = iota
	tabStatistics
	tabFlame
	tabTable
	tabs
)

// turn shows the next tab. Where the task is beside, there is none for it alone.
func (m *model) turn(n tab) {
	if m.tab = (m.tab + n + tabs) % tabs; m.tab == tabTask && m.plan().both {
		m.tab = (m.tab + n + tabs) % tabs
	}
}

func (m *model) drawTab(a cell.Area) {
	switch m.tab {
	case tabFlame:
		m.drawFlame(a)
	case tabTable:
		m.drawTable(a)
	default:
		m.drawStatistics(a)
	}
}

// delta is the cursor's place, with its distance from the last mark and the length of the range.
func (m *model) delta() string {
	text := "at " + m.when(m.cur)
	if at, ok := m.marks[m.marked]; ok {
		text += fmt.Sprintf(", Δ%c %s", m.marked, dur(m.cur-at))
	}
	return text
}

func (m *model) drawTask(a cell.Area) {
	in := widget.Box(a, m.place(), m.delta(), false)
	l := m.at.lane
	x := 1
	switch {
	case l == nil:
		y := widget.Say(in.Sub(x, 0, in.W-x, in.H), 0, 0, theme.Strong, m.headline())
		m.drawDevices(in.Sub(x, y, in.W-x-1, max(in.H-y, 0)))
		return
	case l.series != nil:
		widget.Say(in.Sub(x, 0, in.W-x, in.H), 0, 0, theme.Text, m.headline())
		return
	case !m.at.ok():
		g, _ := m.gapHere()
		y := 0
		for i, s := range m.whyGap(l, g) {
			role := theme.Text
			if i == 0 {
				role = theme.Strong
			}
			y = widget.Say(in.Sub(x, 0, in.W-x, in.H), 0, y, role, s)
		}
		if y < in.H && g.next.ok() {
			in.Text(x, y, theme.Dim, fmt.Sprintf("from %s to %s", m.when(g.from), m.when(g.to)))
		}
		return
	}
	in.Text(x, 0, theme.Strong, cell.Cut(m.title(m.at), in.W-x, more))
	y := 1
	if l.Kind != Host {
		for _, s := range m.whyLate(m.at) {
			y = widget.Say(in.Sub(x, 0, in.W-x, in.H), 0, y, theme.Text, s)
		}
	}
	drawFacts(in.Sub(x, y, in.W-x, max(in.H-y, 0)), m.facts())
}

// place names the lane of the cursor.
func (m *model) place() string {
	if m.at.lane == nil {
		return m.d.Groups[m.group].Name
	}
	return m.d.where(m.at.lane)
}

// drawFacts writes facts in columns, or where they are many one after the other.
func drawFacts(a cell.Area, facts []fact) {
	columns := 1
	if len(facts) > a.H && a.W >= 70 {
		columns = 2
	}
	w := a.W / columns
	for i, f := range facts {
		c, y := i/max(a.H, 1), i%max(a.H, 1)
		if c >= columns || a.H == 0 {
			return
		}
		a.Text(c*w, y, theme.Dim, f.name)
		role := theme.Text
		if strings.HasPrefix(f.value, "!") {
			role = theme.Bad
		}
		a.Text(c*w+11, y, role, cell.Cut(f.value, w-12, more))
	}
}

// fresh says whether the statistics are of what is in sight now.
func (m *model) fresh() bool { return m.counts != nil && m.counted == m.seq }

func (m *model) statisticsLine() string {
	if !m.fresh() {
		return "counting" + more
	}
	text := fmt.Sprintf("%d tasks, busy %s", m.counts.Tasks, dur(m.counts.Busy))
	for _, o := range m.counts.Ops[:min(3, len(m.counts.Ops))] {
		text += fmt.Sprintf("; %s %s", o.Name, dur(o.Total))
	}
	return text
}

func (m *model) drawStatistics(a cell.Area) {
	title, remark := "In sight", ""
	if m.ranged {
		title = "Range"
	}
	from, to := m.measured()
	title += " " + dur(to-from)
	if m.fresh() {
		remark = fmt.Sprintf("%d tasks", m.counts.Tasks)
	}
	in := widget.Box(a, title, remark, false)
	if !m.fresh() {
		in.Text(1, 0, theme.Dim, "counting"+more)
		return
	}
	y := m.drawIdle(in)
	y = m.drawEngines(in, y)
	in = in.Sub(1, y, in.W-2, max(in.H-y, 0))
	if in.H < 2 {
		return
	}
	drawOperators(in, m.counts.Ops)
}

// drawOperators is the table of operators; the mean goes where there is little room.
func drawOperators(a cell.Area, ops []opCount) {
	columns := []struct {
		head string
		of   func(*opCount) string
	}{
		{"count", func(o *opCount) string { return fmt.Sprint(o.Count) }},
		{"total", func(o *opCount) string { return dur(o.Total) }},
		{"longest", func(o *opCount) string { return dur(o.Top) }},
		{"mean", func(o *opCount) string { return dur(o.Total / int64(o.Count)) }},
	}
	if a.W < 64 {
		columns = columns[:3]
	}
	names := max(a.W-11*len(columns), 8)
	a.Text(0, 0, theme.Head, "operator")
	for i, c := range columns {
		a.Text(names+11*(i+1)-len(c.head), 0, theme.Head, c.head)
	}
	for y, o := range ops[:min(len(ops), a.H-1)] {
		a.Text(0, y+1, theme.Text, cell.Cut(o.Name, names-1, more))
		for i, c := range columns {
			text := c.of(&o)
			a.Text(names+11*(i+1)-cell.Width(text), y+1, theme.Text, text)
		}
	}
}

// drawIdle says why streams stood still, the main cause first, and returns the next free line.
func (m *model) drawIdle(a cell.Area) int {
	var words []string
	for _, p := range m.counts.causes() {
		words = append(words, p.name+" "+dur(p.ns))
	}
	switch {
	case m.d.plain != nil: // room for another side is no idle time
		return widget.Say(a.Sub(1, 0, a.W-1, min(a.H, 1)), 0, 0, theme.Dim, "aligned: the times of gaps mean nothing")
	case len(words) == 0:
		words = []string{"never"}
	}
	return widget.Say(a.Sub(1, 0, a.W-1, min(a.H, 2)), 0, 0, theme.Text, "streams idle: "+strings.Join(words, ", "))
}

// drawEngines says how busy the engines are of the device that the cursor is on.
func (m *model) drawEngines(a cell.Area, y int) int {
	if a.H-y < 4 {
		return y
	}
	x := a.Text(1, y, theme.Dim, "busy: ")
	some := false
	for _, e := range m.counts.Engines {
		l := m.d.Lanes[e.Lane]
		if l.Group != m.group && m.d.Groups[m.group].Lanes[0].Kind != Host {
			continue
		}
		text := fmt.Sprintf("%s %.0f%%", l.Name, share(e.Busy, m.counts.To-m.counts.From))
		if some {
			text = ", " + text
		}
		if x+cell.Width(text) > a.W-1 {
			break
		}
		x = a.Text(x, y, theme.Text, text)
		some = true
	}
	if !some {
		return y
	}
	return y + 1
}
