package timeline

import (
	"fmt"
	"math"
	"slices"
	"unicode"

	"npu/internal/trace/lod"
	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

func grown(c []lod.Cell, n int) []lod.Cell {
	if cap(c) < n {
		return make([]lod.Cell, n)
	}
	return c[:n]
}

// drawLines draws the lanes that fit.
func (m *model) drawLines(a cell.Area, p plan) {
	here := m.here()
	m.top = widget.Scroll(m.top, here, len(m.lines), a.H)
	rows := map[*Lane]int{}
	x := m.column(m.cur)
	for i, y := m.top, 0; i < len(m.lines) && y < a.H; i++ {
		l := m.lines[i]
		high := p.high(l)
		body, name := a.Sub(p.names, y, p.w, high), a.Sub(0, y, p.names, high)
		m.drawName(name, l, i == here)
		switch {
		case l.lane == nil:
			m.drawGroup(body, l.group)
		case l.lane.pipe != nil:
			m.drawPipe(body, l.lane)
		case l.lane.series != nil:
			m.drawCounter(body, l.lane)
			m.drawScale(name, l.lane)
		default:
			m.drawLane(body, l.lane)
		}
		if l.lane != nil {
			rows[l.lane] = y
		}
		for k := range high {
			if (i == here || m.th.Profile != theme.None) && body.Blank(x, k) {
				body.Text(x, k, theme.Dim, "│")
			}
			body.MarkAt(x, k, theme.Selected)
		}
		if i == here {
			name.Mark(0, theme.Selected)
		}
		y += high
	}
	if !m.noArrows && m.at.ok() {
		m.drawArrows(a.Sub(p.names, 0, p.w, a.H), rows)
	}
}

// drawScale says below the name of a counter what it is at the cursor, and at its highest.
func (m *model) drawScale(a cell.Area, l *Lane) {
	if v, known := l.series.At(m.cur); known && a.H > 1 {
		a.Text(5, 1, theme.Dim, cell.Cut(number(l.Name, v), a.W-6, more))
	}
	if a.H > 2 {
		a.Text(5, 2, theme.Dim, cell.Cut("highest "+number(l.Name, l.series.Max), a.W-6, more))
	}
}

func (m *model) drawName(a cell.Area, l line, here bool) {
	sign := " "
	if here {
		sign = "▸"
	}
	x := a.Text(0, 0, theme.Active, sign)
	if l.lane == nil {
		g := m.d.Groups[l.group]
		text := "▼ " + g.Name
		if m.folded[l.group] {
			text = fmt.Sprintf("▸ %s (%d)", g.Name, len(g.Lanes))
		}
		a.Text(x, 0, theme.Head, cell.Cut(text, a.W-2, more))
		return
	}
	name := "  " + l.lane.short()
	if slices.Contains(m.pinned, l.lane) {
		name = "^ " + m.d.where(l.lane)
	}
	role := theme.Text
	if here {
		role = theme.Strong
	}
	a.Text(x, 0, role, cell.Cut(name, a.W-2, more))
}

// drawGroup draws a line below the name of an open group, and of a folded one how busy the busiest of its lanes is.
func (m *model) drawGroup(a cell.Area, group int) {
	if !m.folded[group] {
		a.Fill(0, 0, a.W, theme.Faint, '─')
		return
	}
	best := make([]float64, a.W)
	shown := 0
	for _, l := range m.d.Groups[group].Lanes {
		if l.index == nil || l.Kind == Stream || shown == 4 {
			continue
		}
		shown++
		m.cells = grown(m.cells, a.W)
		l.index.Cells(m.from, m.to, m.cells)
		for x, c := range m.cells {
			width := lod.Edge(m.from, m.to, x+1, a.W) - lod.Edge(m.from, m.to, x, a.W)
			if c.Count > 0 && width > 0 {
				best[x] = max(best[x], float64(c.Busy)/float64(width), 0.01)
			}
		}
	}
	widget.Graph(a, stretched(best, widget.PerCell(m.th.Glyphs)), theme.UtilRamp, m.th.Glyphs)
}

// stretched repeats each value, for graphs of several samples a cell.
func stretched(v []float64, n int) []float64 {
	out := make([]float64, 0, len(v)*n)
	for _, x := range v {
		for range n {
			out = append(out, x)
		}
	}
	return out
}

func (m *model) drawCounter(a cell.Area, l *Lane) {
	out := make([]float64, a.W)
	for x := range out {
		v, known := l.series.Highest(lod.Edge(m.from, m.to, x, a.W), max(lod.Edge(m.from, m.to, x+1, a.W), lod.Edge(m.from, m.to, x, a.W)+1))
		low := min(l.series.Min, 0)
		switch {
		case !known:
			out[x] = math.NaN()
		case l.series.Max > low:
			out[x] = (v - low) / (l.series.Max - low)
		}
	}
	widget.Graph(a, stretched(out, widget.PerCell(m.th.Glyphs)), theme.MemRamp, m.th.Glyphs)
}

// drawLane draws tasks or calls: wide ones as slabs with their names, the others by what takes most of each cell.
func (m *model) drawLane(a cell.Area, l *Lane) {
	m.cells = grown(m.cells, a.W)
	cells := m.cells
	l.index.Cells(m.from, m.to, cells)
	for x := 0; x < len(cells); {
		c := cells[x]
		if c.Count == 0 {
			x++
			continue
		}
		n := 1
		for x+n < len(cells) && c.Count == 1 && cells[x+n].Count == 1 && cells[x+n].At == c.At {
			n++
		}
		r := ref{l, c.At}
		mine := m.at.lane == l && m.at.at == c.At
		if n >= 3 {
			m.drawSlab(a.Sub(x, 0, n, 1), r, c.Fault, mine, l.index.Start(c.At) >= lod.Edge(m.from, m.to, x, a.W))
		} else {
			for i := range n {
				width := lod.Edge(m.from, m.to, x+i+1, a.W) - lod.Edge(m.from, m.to, x+i, a.W)
				m.drawBit(a, x+i, r, cells[x+i], float64(cells[x+i].Busy)/float64(max(width, 1)))
			}
		}
		x += n
	}
	if m.colour == ByCause && l.Kind != Host {
		m.drawCauses(a, l, cells)
	}
}

// drawSlab draws a task that is at least three cells wide.
func (m *model) drawSlab(a cell.Area, r ref, fault, mine, begins bool) {
	c := m.d.class(r, m.colour)
	role := theme.Slab0 + c.tint
	fill := ' '
	if m.th.Profile == theme.None {
		fill, role = c.sign, theme.Text
	}
	switch {
	case fault:
		role = theme.Fault
	case m.find != nil && !m.d.fits(r.lane, r.at, m.hits):
		role = theme.Dim
		if fill == ' ' {
			fill = '·'
		}
	}
	a.Fill(0, 0, a.W, role, fill)
	x := 0
	if begins || mine {
		sign := '▏'
		if mine {
			sign = '▸'
		}
		a.Rune(0, 0, role, sign)
		x = 1
	}
	name := m.title(r)
	if cell.Width(name) > a.W-x {
		name = m.d.label(r)
	}
	if fault {
		name = "!" + name
	}
	if a.W-x >= 3 {
		if x = a.Text(x, 0, role, cell.Cut(name, a.W-x, more)); x < a.W && fill != ' ' {
			a.Rune(x, 0, role, ' ')
		}
	}
	if mine && m.th.Profile != theme.None {
		for x := range a.W {
			a.MarkAt(x, 0, theme.Selected)
		}
	}
}

// drawBit draws one cell: by colour what takes most of it, by glyph how full it is. Without colour a letter says what,
// and a small one that the cell is less than half full.
func (m *model) drawBit(a cell.Area, x int, r ref, c lod.Cell, full float64) {
	k := m.d.class(r, m.colour)
	role, glyph := theme.Tint0+k.tint, '░'
	switch {
	case m.th.Profile == theme.None:
		glyph, role = k.sign, theme.Text
		if full < 0.5 {
			glyph = unicode.ToLower(glyph)
		}
	case full >= 0.9:
		glyph = '█'
	case full >= 0.6:
		glyph = '▓'
	case full >= 0.3:
		glyph = '▒'
	case c.Count == 1:
		glyph = '▏'
	}
	switch {
	case c.Fault:
		role, glyph = theme.Fault, '!'
	case m.find != nil && !m.d.fits(r.lane, r.at, m.hits):
		role = theme.Faint
		if m.th.Profile == theme.None {
			glyph = '.'
		}
	}
	a.Rune(x, 0, role, glyph)
}

// drawCauses colours the gaps by what the task at their end waited for.
func (m *model) drawCauses(a cell.Area, l *Lane, cells []lod.Cell) {
	for x := 0; x < len(cells); x++ {
		if cells[x].Count > 0 {
			continue
		}
		n := 1
		for x+n < len(cells) && cells[x+n].Count == 0 {
			n++
		}
		at := l.index.From(lod.Edge(m.from, m.to, x, a.W))
		if at > 0 && at < l.index.Len() {
			if cause, ok := mainCause(m.d.waited(ref{l, at})); ok {
				k := causeClasses[cause]
				role, glyph := theme.Tint0+k.tint, '░'
				if m.th.Profile == theme.None {
					role, glyph = theme.Text, unicode.ToLower(k.sign)
				}
				a.Fill(x, 0, n, role, glyph)
			}
		}
		x += n - 1
	}
}
