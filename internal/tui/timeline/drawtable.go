package timeline

import (
	"fmt"

	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

// drawTable lists the tasks or calls of the cursor's lane, in what is in sight or in the range, around the cursor.
func (m *model) drawTable(a cell.Area) {
	l := m.at.lane
	if l == nil || l.index == nil {
		in := widget.Box(a, "Table", "", false)
		in.Text(1, 0, theme.Dim, "go to a lane with tasks: j and k")
		return
	}
	from, to := m.measured()
	first, end := l.index.Within(from, to)
	in := widget.Box(a, l.Name, fmt.Sprintf("%d in %s", end-first, dur(to-from)), false)
	in = in.Sub(1, 0, in.W-2, in.H)
	if in.H < 2 {
		return
	}
	here := m.at.at
	if !m.at.ok() {
		c, _ := m.cell()
		here = l.index.From(c)
	}
	top := max(first, min(here-(in.H-1)/2, end-(in.H-1)))
	names := max(in.W-3*12, 8)
	in.Text(0, 0, theme.Head, "name")
	for i, h := range []string{"at", "lasts", "idle before"} {
		in.Text(names+12*(i+1)-len(h), 0, theme.Head, h)
	}
	for y := 1; y < in.H && top+y-1 < end; y++ {
		r := ref{l, top + y - 1}
		role, sign := theme.Text, " "
		if m.at == r {
			role, sign = theme.Strong, "▸"
		}
		in.Text(0, y, role, sign+cell.Cut(m.title(r), names-2, more))
		start := l.index.Start(r.at)
		for i, text := range []string{m.when(start), dur(l.index.End(r.at) - start), dur(l.index.Gap(r.at))} {
			in.Text(names+12*(i+1)-cell.Width(text), y, role, text)
		}
	}
}
