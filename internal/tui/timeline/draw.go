package timeline

import (
	"fmt"

	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

// The smallest screen that is drawn.
const (
	leastW = 40
	leastH = 10
)

const more = "…"

// plan is where everything is: the head, the axis, the lanes with their names at the left, the panel, the foot.
type plan struct {
	names, w int  // widths of the names and of the lanes
	y, h     int  // of the lanes
	legend   int  // height
	panel    int  // height
	tall     int  // height of a counter's lane
	both     bool // task and statistics are side by side
}

func (m *model) plan() plan {
	p := plan{y: 2, tall: 1}
	p.names = 11
	if m.d != nil {
		p.names = max(min(m.d.widest+5, m.w/4, 40), p.names)
	}
	p.w = max(m.w-p.names, 1)
	switch {
	case m.h < 16:
		p.panel = 1
	case m.h < 20:
		p.panel = 4
	case m.h < 32:
		p.panel = 7
	case m.h < 45:
		p.panel = 13
	default:
		p.panel = 16
	}
	p.both = m.w >= 110 && p.panel > 4
	if m.h >= 20 {
		p.legend = 1
	}
	p.h = max(m.h-3-p.panel-p.legend, 1)
	if spare := p.h - len(m.lines); spare > 0 && p.panel > 4 { // lines that no lane needs: counters first, then the panel
		if m.graphs > 0 {
			p.tall += min(spare/m.graphs, 2)
			spare -= (p.tall - 1) * m.graphs
		}
		spare = min(spare, m.h/2-p.panel)
		p.panel, p.h = p.panel+max(spare, 0), p.h-max(spare, 0)
	}
	return p
}

func (m *model) draw() {
	m.buf.Reset(m.w, m.h)
	a := m.buf.All()
	switch {
	case m.w < leastW || m.h < leastH:
		widget.Say(a, 0, 0, theme.Text, fmt.Sprintf("terminal is %d×%d; npu trace view needs %d×%d (try npu trace view --once; q quits)", m.w, m.h, leastW, leastH))
		return
	case m.d == nil:
		widget.Say(a, 1, 1, theme.Text, m.src.Says()+". q quits.")
		return
	case len(m.d.Lanes) == 0:
		y := widget.Say(a, 1, 1, theme.Text, "This trace has no tasks, calls or counters. q quits.")
		for _, s := range m.d.T.Source.Missing {
			y = widget.Say(a, 1, y, theme.Dim, "Missing: "+s)
		}
		return
	}
	p := m.plan()
	m.drawHead(a.Sub(0, 0, m.w, 1))
	m.drawAxis(a.Sub(p.names, 1, p.w, 1))
	m.drawLines(a.Sub(0, p.y, m.w, p.h), p)
	if p.legend > 0 {
		m.drawLegend(a.Sub(0, p.y+p.h, m.w, 1))
	}
	m.drawPanel(a.Sub(0, p.y+p.h+p.legend, m.w, p.panel), p)
	if m.help {
		m.drawHelp(a.Sub(0, 1, m.w, m.h-2))
	}
	m.drawFoot(a.Sub(0, m.h-1, m.w, 1))
}

func (m *model) drawHead(a cell.Area) {
	x := a.Text(0, 0, theme.Brand, " npu trace view ")
	right := "colour: " + colourNames[m.colour]
	if m.d.Note != "" {
		right = "! damaged, " + right
	}
	switch says := m.src.Says(); {
	case m.d.coarse > 0:
		right = fmt.Sprintf("coarse: %d tasks so far, %s", m.d.coarse, says)
	case says != "":
		right = says
	}
	if n := m.d.T.Meta.Lost; n > 0 {
		right = fmt.Sprintf("! %d records lost, %s", n, right)
	}
	if m.d.plain != nil {
		right = "aligned, " + right
	}
	if n := len(m.hidden); n > 0 {
		right = fmt.Sprintf("%d lanes hidden, ", n) + right
	}
	sight := fmt.Sprintf("%s from %s (%.3g%%)", dur(m.to-m.from), m.when(m.from), min(100, share(m.to-m.from, m.d.To-m.d.From)))
	room := a.W - x - 1
	if cell.Width(right)+cell.Width(sight)+20 < room {
		a.Text(a.W-cell.Width(right)-1, 0, theme.Dim, right)
		room -= cell.Width(right) + 2
	}
	name := cell.Cut(m.d.Name, max(room-cell.Width(sight)-3, 0), more)
	if name != "" {
		x = a.Text(x+1, 0, theme.Strong, name)
	}
	a.Text(x+1, 0, theme.Bar, cell.Cut(sight, a.W-x-2, more))
}

// drawAxis writes times at round steps, marks, and where the cursor is.
func (m *model) drawAxis(a cell.Area) {
	base := m.d.Zero
	if m.absolute {
		base = 0
	}
	wide := 12
	if m.absolute {
		wide = 22
	}
	step := niceStep((m.to - m.from) / int64(max(1, a.W/wide)))
	first := (m.from - base) / step
	if (m.from-base)%step != 0 && m.from > base {
		first++
	}
	for i := first; i < first+int64(a.W)+2 && base+i*step < m.to; i++ {
		at := base + i*step
		if at < m.from {
			continue
		}
		x := m.column(at)
		text := clock(i*step, step)
		if m.absolute {
			text = absolute(at)
		}
		if x+cell.Width(text)+1 <= a.W {
			a.Text(a.Text(x, 0, theme.Frame, "│"), 0, theme.Dim, text)
		}
	}
	for name, at := range m.marks {
		a.Text(m.column(at), 0, theme.Sorted, string(name))
	}
	if m.ranged {
		from, to := m.measured()
		for x := max(m.column(from), 0); x <= m.column(to) && x < a.W; x++ {
			a.Rune(x, 0, theme.Warn, '=')
		}
	}
	a.Text(m.column(m.cur), 0, theme.Active, "▼")
}

// niceStep is the next of 1, 2, 5, 10, 20, ... from a time up.
func niceStep(ns int64) int64 {
	for step := int64(1); ; step *= 10 {
		for _, f := range []int64{1, 2, 5} {
			if step*f >= ns || step >= 1e18 {
				return step * f
			}
		}
	}
}

func (m *model) drawFoot(a cell.Area) {
	if m.ask != askNothing {
		sign := map[asking]string{askFind: "/", askCommand: ":", askMark: "mark: a letter ", askJump: "to mark: a letter "}[m.ask]
		x := a.Text(0, 0, theme.BarKey, sign)
		text := m.edit.String()
		a.Text(x, 0, theme.Strong, text)
		a.MarkAt(x+cell.Width(string([]rune(text)[:m.edit.Cursor()])), 0, theme.Selected)
		if m.th.Profile == theme.None {
			a.Text(x+cell.Width(text), 0, theme.Text, "_")
		}
		if hint := m.hint(); hint != "" {
			a.Text(max(x+cell.Width(text)+3, 0), 0, theme.Dim, hint)
		}
		return
	}
	if m.message != "" {
		a.Text(0, 0, theme.Warn, cell.Cut(m.message, a.W, more))
		return
	}
	x := 0
	for _, b := range []struct{ key, does string }{
		{"w s", "zoom"}, {"a d", "pan"}, {"jk", "lane"}, {". ,", "task"}, {"[ ]", "follow"}, {"?", "keys"}, {"i", "gap"}, {"t", "longest"}, {"/", "find"}, {"c", "colour"}, {"f", "fit"}, {"v", "range"}, {"u", "undo"}, {"e", "export"}, {"q", "quit"},
	} {
		if x+cell.Width(b.key+" "+b.does)+1 > a.W {
			break
		}
		x = a.Text(x, 0, theme.BarKey, b.key)
		x = a.Text(x+1, 0, theme.Bar, b.does) + 2
	}
}

// drawLegend says what colours, or without them letters, stand for.
func (m *model) drawLegend(a cell.Area) {
	x := a.Text(1, 0, theme.Dim, colourNames[m.colour]+":")
	for _, c := range m.d.legend(m.colour) {
		if x+cell.Width(c.name)+4 > a.W {
			break
		}
		if m.th.Profile == theme.None {
			x = a.Text(x+1, 0, theme.Text, string(c.sign)+"="+c.name)
			continue
		}
		x = a.Text(x+2, 0, theme.Tint0+c.tint, "█")
		x = a.Text(x+1, 0, theme.Dim, c.name)
	}
	if m.colour == ByStream {
		x = a.Text(x+1, 0, theme.Dim, "by the last digit of the stream's number")
	}
	if how := "small letters: less than half of the cell"; m.th.Profile == theme.None && x+cell.Width(how)+4 < a.W {
		a.Text(x+2, 0, theme.Dim, how)
	}
}

// drawHelp lists all bindings by their groups, in as many columns as fit.
func (m *model) drawHelp(a cell.Area) {
	lines := helpLines(m.keys.all())
	columns := max(1, min(3, (a.W-4)/40))
	rows := (len(lines) + columns - 1) / columns
	w, h := min(a.W, columns*40+4), min(a.H, rows+2)
	m.scrol = max(0, min(m.scrol, rows-(h-2)))
	box := a.Sub((a.W-w)/2, (a.H-h)/2, w, h)
	box.Clear()
	in := widget.Box(box, "Keys", "Esc closes", true)
	for i, l := range lines {
		c, y := i/rows, i%rows-m.scrol
		x := 1 + c*40
		switch {
		case y < 0 || y >= in.H:
		case l.key == "":
			in.Text(x, y, theme.Head, l.does)
		default:
			in.Text(x+1, y, theme.BarKey, l.key)
			in.Text(x+11, y, theme.Text, cell.Cut(l.does, 28, more))
		}
	}
}
