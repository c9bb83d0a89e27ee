package widget

import (
	"strings"

	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
)

// Say writes a text into an area, wrapped at blanks.
func Say(a cell.Area, x, y int, role theme.Role, text string) int {
	line := ""
	flush := func() {
		a.Text(x, y, role, line)
		line = ""
		y++
	}
	for w := range strings.FieldsSeq(text) {
		if line != "" && x+cell.Width(line)+1+cell.Width(w) > a.W {
			flush()
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	if line != "" {
		flush()
	}
	return y
}
