package top

import (
	"npu/internal/tui/cell"
	"npu/internal/tui/keys"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

// drawHelp lists all bindings by their groups, in as many columns as fit.
func (m *model) drawHelp(a cell.Area) {
	lines := helpLines(m.keys.all())
	columns := max(1, min(3, (a.W-4)/38))
	rows := (len(lines) + columns - 1) / columns
	w := min(a.W, columns*38+4)
	h := min(a.H, rows+2)
	m.helpTop = max(0, min(m.helpTop, rows-(h-2)))
	box := a.Sub((a.W-w)/2, (a.H-h)/2, w, h)
	box.Clear()
	in := widget.Box(box, "Keys", "Esc closes", true)
	for i, l := range lines {
		c, y := i/rows, i%rows-m.helpTop
		x := 1 + c*38
		if y < 0 || y >= in.H {
			continue
		}
		if l.head != "" {
			in.Text(x, y, theme.Head, l.head)
			continue
		}
		in.Text(x+1, y, theme.BarKey, l.key)
		in.Text(x+11, y, theme.Text, cell.Cut(l.does, 26, more))
	}
}

type helpLine struct{ head, key, does string }

func helpLines(all []keys.Binding) []helpLine {
	var out []helpLine
	group := ""
	for _, b := range all {
		if b.Group != group {
			group = b.Group
			out = append(out, helpLine{head: group})
		}
		l := helpLine{key: b.Help().Key, does: b.Help().Desc}
		if len(out) > 0 && out[len(out)-1] == l {
			continue // a pair, as up and down, is one line
		}
		out = append(out, l)
	}
	return out
}
