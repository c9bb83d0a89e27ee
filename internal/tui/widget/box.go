package widget

import (
	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
)

// Box draws a frame with a title at the left and a remark at the right of its top line, and returns the inside. The
// frame of the active box is told from the others by its title's sign too, for screens without colour.
func Box(a cell.Area, title, remark string, active bool) cell.Area {
	if a.W < 2 || a.H < 2 {
		return a.Sub(0, 0, 0, 0)
	}
	frame := theme.Frame
	for x := 1; x < a.W-1; x++ {
		a.Rune(x, 0, frame, '─')
		a.Rune(x, a.H-1, frame, '─')
	}
	for y := 1; y < a.H-1; y++ {
		a.Rune(0, y, frame, '│')
		a.Rune(a.W-1, y, frame, '│')
	}
	a.Rune(0, 0, frame, '╭')
	a.Rune(a.W-1, 0, frame, '╮')
	a.Rune(0, a.H-1, frame, '╰')
	a.Rune(a.W-1, a.H-1, frame, '╯')
	heading(a.Sub(1, 0, a.W-2, 1), title, remark, active)
	return a.Sub(1, 1, a.W-2, a.H-2)
}

func heading(a cell.Area, title, remark string, active bool) {
	role, sign := theme.Title, " "
	if active {
		role, sign = theme.Active, "▸"
	}
	x := a.Text(1, 0, role, sign+cell.Cut(title, a.W-4, "…")+" ")
	if w := cell.Width(remark); w > 0 && x+w+3 < a.W {
		a.Text(a.W-w-3, 0, theme.Dim, " "+remark+" ")
	}
}

// Scroll is the first visible row of a list of n rows in a window of h, such that sel is seen; top is where it was.
func Scroll(top, sel, n, h int) int {
	if h <= 0 {
		return 0
	}
	top = min(top, sel)
	top = max(top, sel-h+1)
	return max(0, min(top, n-h))
}
