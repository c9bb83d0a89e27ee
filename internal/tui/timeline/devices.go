package timeline

import (
	"fmt"
	"slices"

	"npu/internal/trace"
	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

// deviceCount is what a device did in a piece of time.
type deviceCount struct {
	Device        uint16
	Compute, Comm union // time in which at least one kernel, one collective operation ran
	Either        union
	Free          int64 // neither
}

// exposed is communication with no kernel beside it.
func (d *deviceCount) exposed() int64 { return d.Either.Ns - d.Compute.Ns }

// union is the time that is covered by spans that come by start.
type union struct {
	To, Ns int64
	Some   bool
}

func (u *union) add(from, to int64) {
	if u.Some {
		from = max(from, u.To)
	}
	if to > from {
		u.Ns, u.To, u.Some = u.Ns+to-from, to, true
	}
}

// devices sums up by device what ran between two times.
func devices(d *Data, from, to int64) []*deviceCount {
	byID := map[uint16]*deviceCount{}
	var early []int
	for _, l := range d.Lanes {
		if l.Kind != Stream {
			continue
		}
		if byID[l.Device] == nil {
			byID[l.Device] = &deviceCount{Device: l.Device}
		}
		if i := l.index.From(from); i > 0 && l.index.End(i-1) > from {
			early = append(early, l.index.Row(i-1))
		}
	}
	slices.Sort(early)
	add := func(row int) {
		t := &d.T.Tasks
		kind := t.Kind.At(row)
		if !kind.Kernel() && kind != trace.Communication || t.Flags.At(row)&trace.FlagPart != 0 {
			return
		}
		c, a, b := byID[t.Device.At(row)], max(t.Start.At(row), from), min(t.End.At(row), to)
		if kind == trace.Communication {
			c.Comm.add(a, b)
		} else {
			c.Compute.add(a, b)
		}
		c.Either.add(a, b)
	}
	for _, row := range early {
		add(row)
	}
	n := d.T.Tasks.Len()
	for row := d.firstRow(from); row < n && d.T.Tasks.Start.At(row) < to; row++ {
		add(row)
	}
	var out []*deviceCount
	for _, id := range sortedKeys(byID) {
		c := byID[id]
		c.Free = to - from - c.Either.Ns
		out = append(out, c)
	}
	return out
}

// firstRow is the first task that starts at or after a time.
func (d *Data) firstRow(at int64) int {
	lo, hi := 0, d.T.Tasks.Len()
	for lo < hi {
		if mid := (lo + hi) / 2; d.T.Tasks.Start.At(mid) < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// drawDevices is the table of devices, for the line of a group: what each did in sight. The late rank is the one with least
// exposed communication: the others wait for it.
func (m *model) drawDevices(a cell.Area) {
	if !m.fresh() {
		a.Text(0, 0, theme.Dim, "counting"+more)
		return
	}
	list := m.counts.Devices
	here := slices.IndexFunc(list, func(c *deviceCount) bool { return m.deviceGroup(c.Device) == m.group })
	top := max(0, min(here-(a.H-2)/2, len(list)-(a.H-1)))
	names := max(a.W-4*11, 10)
	a.Text(0, 0, theme.Head, "device")
	for i, h := range []string{"compute", "communic.", "exposed", "free"} {
		a.Text(names+11*(i+1)-len(h), 0, theme.Head, h)
	}
	for y, c := range list[min(top, len(list)):] {
		role, sign := theme.Text, " "
		if top+y == here {
			role, sign = theme.Strong, "▸"
		}
		a.Text(0, y+1, role, sign+cell.Cut(m.d.T.DeviceName(c.Device), names-2, more))
		for i, ns := range []int64{c.Compute.Ns, c.Comm.Ns, c.exposed(), c.Free} {
			text := dur(ns)
			a.Text(names+11*(i+1)-cell.Width(text), y+1, role, text)
		}
	}
	if late := latest(list); late != nil && len(list)+1 < a.H {
		widget.Say(a.Sub(0, len(list)+1, a.W, a.H), 0, 0, theme.Warn, fmt.Sprintf("%s has least exposed communication: the others wait for it.", m.d.T.DeviceName(late.Device)))
	}
}

// latest is the device that the others wait for; nil when they do not communicate, or no one stands out.
func latest(list []*deviceCount) *deviceCount {
	if len(list) < 2 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(list), func(a, b *deviceCount) int { return int(min(max(a.exposed()-b.exposed(), -1), 1)) })
	if least, next := sorted[0].exposed(), sorted[1].exposed(); next > least+least/20 {
		return sorted[0]
	}
	return nil
}

// deviceGroup is the group of a device.
func (m *model) deviceGroup(id uint16) int {
	return slices.IndexFunc(m.d.Groups, func(g Group) bool { return len(g.Lanes) > 0 && g.Lanes[0].Kind != Host && g.Lanes[0].Device == id })
}
