package timeline

import (
	"npu/internal/trace/flow"
	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
)

// link finds the arrows, which takes longest of all: it is done when the screen is there already.
func (d *Data) link() { d.found.Store(flow.New(d.T)) }

// linked says whether the arrows are known.
func (d *Data) linked() bool { return d.found.Load() != nil }

// record is the row of the record that released the task in row; -1 for none, or none yet.
func (d *Data) record(row int) int {
	if a := d.found.Load(); a != nil {
		return int(a.Records[row])
	}
	return -1
}

// caller is the call that submitted the task in row; -1 for none.
func (d *Data) caller(row int) int {
	if a := d.found.Load(); a != nil {
		return int(a.Callers[row])
	}
	return -1
}

// submitted is the task that a call submitted; -1 for none.
func (d *Data) submitted(call int) int {
	if a := d.found.Load(); a != nil {
		return int(a.Submits[call])
	}
	return -1
}

// released is the waits that the record in row released.
func (d *Data) released(row int) []flow.Release {
	if a := d.found.Load(); a != nil {
		return a.Released(row)
	}
	return nil
}

// drawArrows joins the selected task with what released it, what it released, its call, or its task.
func (m *model) drawArrows(a cell.Area, rows map[*Lane]int) {
	from, ok := rows[m.at.lane]
	if !ok {
		return
	}
	for _, r := range m.related() {
		to, seen := rows[r.lane]
		at := r.lane.index.Start(r.at)
		x := m.column(at)
		if !seen || at < m.from || x < 0 || x >= a.W || to == from {
			continue
		}
		for y := min(from, to) + 1; y < max(from, to); y++ {
			if a.Blank(x, y) {
				a.Rune(x, y, theme.Active, '┊')
			}
		}
		a.Rune(x, to, theme.Active, '◆')
	}
}

// related is the rows that the selected one has arrows to.
func (m *model) related() []ref {
	d, row := m.d, m.at.lane.index.Row(m.at.at)
	var out []ref
	take := func(r ref) {
		if r.ok() {
			out = append(out, r)
		}
	}
	if m.at.lane.Kind == Host {
		if task := d.submitted(row); task >= 0 {
			take(d.task(task, false))
		}
		return out
	}
	if c := d.caller(row); c >= 0 {
		take(d.call(c))
	}
	if rec := d.record(row); rec >= 0 {
		take(d.task(rec, false))
	}
	for _, w := range d.released(row)[:min(len(d.released(row)), 20)] {
		take(d.task(int(w.Wait), false))
	}
	return out
}
