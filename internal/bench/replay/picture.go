package replay

import (
	"fmt"
	"strings"

	"npu/internal/runtime/mempool"
)

// shades are a cell from empty to full.
const shades = " .:-=+*#%@"

// Picture draws segments, several to a cell if they are too many for rows lines of width cells: a blank is no segment in
// use, from . to @ the share of bytes in use, and a lower-case s where slabs of small blocks take most of it.
func Picture(list []mempool.SegmentUse, width, rows int) []string {
	width, rows = max(width, 8), max(rows, 1)
	per := max(1, (len(list)+width*rows-1)/(width*rows))
	var cells []byte
	for i := 0; i < len(list); i += per {
		var used, slabs, total uint64
		for _, s := range list[i:min(i+per, len(list))] {
			used += s.Used
			slabs += s.Slabs
			total += mempool.Segment
		}
		c := shades[min(int(used*uint64(len(shades)-1)/total), len(shades)-1)]
		switch {
		case used > 0 && c == ' ':
			c = '.'
		case slabs*2 > used && used > 0:
			c = 's'
		}
		cells = append(cells, c)
	}
	var lines []string
	for i := 0; i < len(cells); i += width {
		lines = append(lines, fmt.Sprintf("%8d MiB |%s|", uint64(i*per)*mempool.Segment>>20, string(cells[i:min(i+width, len(cells))])))
	}
	return append(lines, fmt.Sprintf("a cell is %d MiB: from . to @ the share in use, s: most of it slabs of small blocks", per*mempool.Segment>>20))
}

// Summary counts the segments of a picture.
func Summary(list []mempool.SegmentUse) string {
	full, part, empty, slabs := 0, 0, 0, 0
	for _, s := range list {
		switch {
		case s.Used == 0:
			empty++
		case s.Used == mempool.Segment:
			full++
		default:
			part++
		}
		if s.Slabs > 0 {
			slabs++
		}
	}
	return strings.Join([]string{
		fmt.Sprintf("%d segments of 2 MiB", len(list)), fmt.Sprintf("%d full", full), fmt.Sprintf("%d in part", part),
		fmt.Sprintf("%d empty", empty), fmt.Sprintf("%d with slabs", slabs),
	}, ", ")
}
