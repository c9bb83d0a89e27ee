package top

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

// fact is one line of the details: what is known, or why it is not.
type line struct{ group, name, value, why string }

// drawDetail lays the details over the lower part, or over everything where there is no room.
func (m *model) drawDetail(a cell.Area, p plan, pen *pen) {
	w, h := min(m.w-2, 110), m.h-4
	if p.lower >= 14 && m.w >= 80 {
		h = p.lower + p.trend
	}
	title, lines := m.detailLines()
	box := a.Sub(m.w-w-1, m.h-1-h, w, h)
	box.Clear()
	m.detailRows = len(lines)
	in := widget.Box(box, title, fmt.Sprintf("%d lines, PgDn", len(lines)), true, m.th.Glyphs)
	m.detailTop = max(0, min(m.detailTop, len(lines)-in.H))
	group := ""
	for y := range in.H {
		i := m.detailTop + y
		if i >= len(lines) {
			break
		}
		l := lines[i]
		if l.group != group || y == 0 {
			group = l.group
			in.Text(1, y, theme.Head, cell.Cut(group, 9, pen.more()))
		}
		in.Text(11, y, theme.Dim, cell.Cut(l.name, 22, pen.more()))
		x := min(34, in.W/2)
		if l.value == "" {
			x = in.Text(x, y, theme.Dim, pen.unknown()+" ")
			in.Text(x, y, theme.Dim, cell.Cut(l.why, in.W-x-1, pen.more()))
			continue
		}
		role := theme.Text
		if sick(l) {
			role = theme.Bad
			x = in.Text(x, y, role, "!! ")
		}
		in.Text(x, y, role, cell.Cut(l.value, in.W-x-1, pen.more()))
	}
}

// sick marks the figures that ask for a new card.
func sick(l line) bool {
	n := strings.ToLower(l.name)
	return (strings.Contains(n, "double bit") || strings.Contains(n, "isolated pages")) && l.value != "0" && l.value != "NA"
}

func (m *model) detailLines() (title string, out []line) {
	if m.active == PanelProcesses {
		if rows := m.selectedProcesses(); len(rows) > 0 {
			return fmt.Sprintf("Process %d", rows[0].PID), processLines(rows, manyChips(m.frame.Devices))
		}
	}
	d := m.selectedDevice()
	if d == nil {
		return "Details", []line{{"", "", "", "nothing is selected"}}
	}
	return fmt.Sprintf("NPU %s  %s", idName(d.NPU, d.Chip, manyChips(m.frame.Devices)), d.Name), m.deviceLines(d)
}

func num(group, name string, v Value, unit string) line {
	if !v.Known {
		return line{group, name, "", v.Why}
	}
	return line{group: group, name: name, value: strings.TrimSpace(strconv.FormatFloat(v.N, 'f', -1, 64) + " " + unit)}
}

func used(group, name string, p Pair, unit string) line {
	s := p.Share()
	if !s.Known {
		return line{group, name, "", s.Why}
	}
	return line{group: group, name: name, value: fmt.Sprintf("%.0f of %.0f %s, %.1f%%", p.Used.N, p.Total.N, unit, s.N*100)}
}

func (m *model) deviceLines(d *Device) []line {
	out := []line{
		{group: "state", name: "health", value: healthText(d)},
		num("state", map[string]string{"npu": "NPU in use"}[d.UtilKind]+map[string]string{"aicore": "AI cores in use"}[d.UtilKind], d.Util, "%"),
		num("state", "power", d.Power, "W"),
		num("state", "temperature", d.Temp, "°C"),
		used("memory", "HBM", d.HBM, "MiB"),
		used("memory", "DDR", d.Memory, "MiB"),
		used("memory", "huge pages", d.Hugepages, "pages of 2 MiB"),
		num("memory", "HBM bandwidth in use", d.Bandwidth, "%"),
		num("faults", "since start", d.Faults, ""),
	}
	for _, e := range d.Engines {
		out = append(out, num("engines", e.Name, e.Util, "%"))
	}
	out = append(out,
		num("ids", "NPU (npu-smi -i)", Num(float64(d.NPU)), ""), num("ids", "chip (npu-smi -c)", d.Chip, ""),
		num("ids", "physical (davinciN)", d.Phy, ""), num("ids", "logic", d.Logic, ""),
		line{"ids", "bus", d.Bus.S, d.Bus.Why}, line{group: "ids", name: "source", value: d.Source})
	p := m.hist.get(d.Key())
	for i, name := range []string{"util %", "memory share", "power W", "temperature °C"} {
		s := p.all()[i]
		if s.n > 0 {
			out = append(out, line{group: "past", name: name, value: fmt.Sprintf("min %.4g, mean %.4g, max %.4g over %d samples", s.min, s.sum/float64(s.n), s.max, s.n)})
		}
	}
	facts := append([]Fact(nil), d.Facts...)
	sort.SliceStable(facts, func(i, j int) bool { return facts[i].Group > facts[j].Group })
	for _, f := range facts {
		out = append(out, line{group: map[string]string{"device": "npu-smi -t"}[f.Group] + map[string]string{"card": "card", "links": "links"}[f.Group], name: f.Name, value: strings.TrimSpace(f.Value + " " + f.Unit)})
	}
	if len(d.Facts) == 0 {
		why := "this source has no more"
		if d.Source == smiName && m.player == nil {
			why = "asking npu-smi info -t usages, common, health, ecc, board" + m.th.More()
		}
		out = append(out, line{"more", "", "", why})
	}
	return out
}

func processLines(rows []*Process, chips bool) []line {
	p := rows[0]
	out := []line{
		{"process", "command", commandOf(p), p.Command.Why},
		{"process", "name", p.Name, "npu-smi sees no such pid in its name space"},
		{"process", "user", p.User.S, p.User.Why},
		num("process", "pid in its container", p.ContainerPID, ""),
		num("host", "CPU", p.CPU, "% of a core"),
		num("host", "memory", p.HostMem, "MiB"),
		num("host", "age", p.Age, "s"),
		num("device", "streams", p.Streams, ""),
	}
	total := 0.0
	for _, r := range rows {
		total += r.Mem.N
		out = append(out, num("device", "memory on NPU "+idName(r.NPU, r.Chip, chips), r.Mem, "MiB"))
	}
	return append(out, num("device", "memory on all", Num(total), "MiB"))
}
