package top

import (
	"fmt"
	"strconv"

	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
)

func streamID(s *Stream) string { return fmt.Sprint(s.Source, s.NPU, s.PID, s.ID) }

func streamColumns(n naming) []column[Stream] {
	return []column[Stream]{
		{key: "stream", title: "Stream", min: 6, draw: func(a cell.Area, s *Stream, p *pen) { right(a, 0, theme.Strong, strconv.Itoa(s.ID)) }},
		{key: "npu", title: "NPU", min: 4 + 3*b2i(n.mixed), drop: 20, draw: func(a cell.Area, s *Stream, p *pen) { right(a, 0, theme.Text, n.of(s.Source, s.NPU, s.Chip)) }},
		{key: "pid", title: "PID", min: 8, drop: 30, draw: func(a cell.Area, s *Stream, p *pen) { right(a, 0, theme.Text, strconv.Itoa(s.PID)) }},
		{key: "depth", title: "Depth", min: 6, draw: numberCell(func(s *Stream) Value { return s.Depth }, theme.Text, 0, "")},
		{key: "tasks", title: "Tasks", min: 10, drop: 40, draw: numberCell(func(s *Stream) Value { return s.Tasks }, theme.Text, 0, "")},
		{key: "priority", title: "Prio", min: 4, drop: 50, draw: numberCell(func(s *Stream) Value { return s.Priority }, theme.Dim, 0, "")},
		{key: "state", title: "State", min: 9, left: true, draw: func(a cell.Area, s *Stream, p *pen) {
			role := map[string]theme.Role{"running": theme.Good, "waiting": theme.Warn, "failed": theme.Fault}[s.State]
			a.Text(0, 0, role, s.State)
		}},
		{key: "waits_for", title: "Waits for", min: 10, max: 200, left: true, drop: 60, draw: func(a cell.Area, s *Stream, p *pen) {
			a.Text(0, 0, theme.Dim, cell.Cut(s.Waits.S, a.W, more))
		}},
	}
}

func operatorID(o *Operator) string { return fmt.Sprint(o.Source, o.NPU, o.PID, o.Type, o.Name) }

func operatorColumns(n naming) []column[Operator] {
	return []column[Operator]{
		{key: "type", title: "Operator", min: 14, max: 30, left: true, draw: func(a cell.Area, o *Operator, p *pen) {
			a.Text(0, 0, theme.Strong, cell.Cut(o.Type, a.W, more))
		}},
		{key: "npu", title: "NPU", min: 4 + 3*b2i(n.mixed), drop: 50, draw: func(a cell.Area, o *Operator, p *pen) { right(a, 0, theme.Text, n.of(o.Source, o.NPU, o.Chip)) }},
		{key: "pid", title: "PID", min: 8, drop: 60, draw: func(a cell.Area, o *Operator, p *pen) { right(a, 0, theme.Text, strconv.Itoa(o.PID)) }},
		{key: "count", title: "Count", min: 9, drop: 20, draw: numberCell(func(o *Operator) Value { return o.Count }, theme.Text, 0, "")},
		{key: "mean_us", title: "Mean µs", min: 9, drop: 30, draw: numberCell(func(o *Operator) Value { return o.Mean }, theme.Text, 2, "")},
		{key: "total_us", title: "Total µs", min: 11, drop: 10, draw: numberCell(func(o *Operator) Value { return o.Total }, theme.Text, 1, "")},
		{key: "share", title: "Share", min: 6, draw: numberCell(func(o *Operator) Value { return o.Share }, theme.Text, 1, "%")},
		{title: "", min: 8, max: 24, drop: 40, draw: func(a cell.Area, o *Operator, p *pen) { bar(a, o.Share, 100, theme.UtilRamp) }},
		{key: "name", title: "Name", min: 8, max: 200, left: true, drop: 70, draw: func(a cell.Area, o *Operator, p *pen) {
			a.Text(0, 0, theme.Dim, cell.Cut(o.Name, a.W, more))
		}},
	}
}
