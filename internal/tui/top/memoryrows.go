package top

import (
	"fmt"
	"slices"
	"strconv"

	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
)

// memoryRow is one line of the memory panel: a device with all its shares, or one share of it.
type memoryRow struct {
	device *Device
	parts  []*Memory // of the device, the largest first; system and free at the end
	*Memory
	names naming
}

func (r *memoryRow) id() string {
	if r.device != nil {
		return fmt.Sprint(r.device.Key())
	}
	return fmt.Sprint(r.Memory.Key(), r.Owner, r.PID.N)
}

// byOwner lists each device and below it whoever has some of its memory.
func byOwner(devices []Device, list []*Memory) []*memoryRow {
	var out []*memoryRow
	names := namesOf(devices)
	for i := range devices {
		head := &memoryRow{device: &devices[i], names: names}
		for _, m := range list {
			if m.Key() == devices[i].Key() {
				head.parts = append(head.parts, m)
			}
		}
		if len(head.parts) == 0 {
			continue
		}
		slices.SortStableFunc(head.parts, func(a, b *Memory) int {
			if d := restRank(a.Owner) - restRank(b.Owner); d != 0 {
				return d
			}
			return int(b.Size.N - a.Size.N)
		})
		out = append(out, head)
		if owners := head.owners(); len(owners) > 1 {
			for _, m := range owners {
				out = append(out, &memoryRow{Memory: m})
			}
		}
	}
	return out
}

// owners are the parts that belong to somebody.
func (r *memoryRow) owners() []*Memory {
	n := 0
	for n < len(r.parts) && restRank(r.parts[n].Owner) == 0 {
		n++
	}
	return r.parts[:n]
}

// restRank puts what belongs to nobody behind what somebody has.
func restRank(owner string) int {
	switch owner {
	case "system":
		return 1
	case "free":
		return 2
	}
	return 0
}

func memoryColumns(rows []*memoryRow) []column[memoryRow] {
	id := 3
	peak := false
	for _, r := range rows {
		if r.device != nil {
			id = max(id, len(r.names.device(r.device)))
		} else {
			peak = peak || r.Peak.Known
		}
	}
	size := func(owner string) func(cell.Area, *memoryRow, *pen) {
		return func(a cell.Area, r *memoryRow, p *pen) {
			if r.device == nil {
				return
			}
			sum, known := 0.0, owner == ""
			for _, m := range r.parts {
				if (restRank(m.Owner) == 0) == (owner == "") && (owner == "" || m.Owner == owner) && m.Size.Known {
					sum, known = sum+m.Size.N, true
				}
			}
			if !known {
				right(a, 0, theme.Dim, unknown)
				return
			}
			right(a, 0, theme.Text, strconv.FormatFloat(sum, 'f', 0, 64))
		}
	}
	cols := []column[memoryRow]{
		{key: "npu", title: "NPU", min: id, left: true, draw: func(a cell.Area, r *memoryRow, p *pen) {
			if r.device != nil {
				a.Text(0, 0, theme.Strong, r.names.device(r.device))
			}
		}},
		{key: "mem", title: "Processes", min: 9, drop: 20, draw: func(a cell.Area, r *memoryRow, p *pen) {
			if r.device == nil {
				numberCell(func(r *memoryRow) Value { return r.Size }, theme.Text, 0, "")(a, r, p)
				return
			}
			size("")(a, r, p)
		}},
		{title: "System", min: 7, drop: 40, draw: size("system")},
		{key: "free", title: "Free MiB", min: 8, drop: 30, draw: size("free")},
	}
	if peak {
		cols = append(cols, column[memoryRow]{title: "Peak", min: 7, drop: 50, draw: func(a cell.Area, r *memoryRow, p *pen) {
			if r.device == nil {
				numberCell(func(r *memoryRow) Value { return r.Peak }, theme.Dim, 0, "")(a, r, p)
			}
		}})
	}
	return append(cols,
		column[memoryRow]{title: "shares", min: 12, max: 36, left: true, draw: drawShares},
		column[memoryRow]{title: "who has it", min: 20, max: 60, left: true, drop: 10, draw: drawOwner})
}

// drawOwner names who has a share: the only owner beside its device, several below it.
func drawOwner(a cell.Area, r *memoryRow, p *pen) {
	m, role := r.Memory, theme.Text
	if r.device != nil {
		switch owners := r.owners(); len(owners) {
		case 0:
			a.Text(0, 0, theme.Dim, "nobody")
			return
		case 1:
			m = owners[0]
		default:
			a.Text(0, 0, theme.Dim, fmt.Sprintf("%d processes", len(owners)))
			return
		}
	}
	text := m.Owner
	if text == "" {
		text = "(name unknown)"
	}
	if m.PID.Known {
		text = fmt.Sprintf("%d %s", int(m.PID.N), text)
	}
	a.Text(0, 0, role, cell.Cut(text, a.W, more))
}

// drawShares draws a device's memory as one bar of its owners, the system and what is free; below it the part of one
// owner.
func drawShares(a cell.Area, r *memoryRow, p *pen) {
	if r.device == nil {
		return
	}
	total := r.device.Mem().Total
	if !total.Known || total.N <= 0 {
		return
	}
	a.Fill(0, 0, a.W, theme.Faint, '─')
	sum := 0.0
	for i, m := range r.parts {
		from := int(sum / total.N * float64(a.W))
		sum += m.Size.N
		to := int(sum / total.N * float64(a.W))
		switch restRank(m.Owner) {
		case 0:
			role := theme.Mem0 + theme.Role(i*3%theme.Steps)
			a.Fill(from, 0, to-from, role, '━')
			if to-from > 1 {
				a.Rune(to-1, 0, role, '╸')
			}
		case 1:
			a.Fill(from, 0, to-from, theme.Dim, '┅')
		}
	}
}
