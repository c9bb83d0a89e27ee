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

// line is one line of the details: what is known, or why it is not.
type line struct{ group, name, value, why string }

// detailColumn is the width of a column of details.
const detailColumn = 58

// drawDetail lays the details over what is below the devices, or over everything where there is no room.
func (m *model) drawDetail(a cell.Area, p plan, pen *pen) {
	y := 1
	if p.trend+p.lower >= 12 {
		y += p.devices
	}
	title, lines := m.detailLines()
	box := a.Sub(0, y, m.w, m.h-1-y)
	box.Clear()
	m.over = spotOf(box, 1)
	inside := box.H - 2
	columns := max(1, (m.w-2)/detailColumn)
	if n := (len(lines) + max(1, inside) - 1) / max(1, inside); n < columns {
		columns = max(1, n)
	}
	m.detailRows = len(lines)
	m.detailTop = max(0, min(m.detailTop, len(lines)-inside*columns))
	remark := ""
	if len(lines) > inside*columns {
		remark = fmt.Sprintf("%d-%d of %d, PgUp PgDn", m.detailTop+1, min(len(lines), m.detailTop+inside*columns), len(lines))
	}
	in := widget.Box(box, title, remark, true)
	w := in.W / columns
	for i := m.detailTop; i < min(len(lines), m.detailTop+inside*columns); i++ {
		c, y := (i-m.detailTop)/inside, (i-m.detailTop)%inside
		l := lines[i]
		if y > 0 && lines[i-1].group == l.group {
			l.group = ""
		}
		drawDetailLine(in.Sub(c*w, y, w-1, 1), l, pen)
	}
}

func drawDetailLine(a cell.Area, l line, pen *pen) {
	a.Text(1, 0, theme.Head, cell.Cut(l.group, 9, more))
	x := min(34, a.W/2)
	a.Text(11, 0, theme.Dim, cell.Cut(shortName.Replace(l.name), x-12, more))
	switch {
	case l.value == "":
		x = a.Text(x, 0, theme.Dim, unknown+" ")
		a.Text(x, 0, theme.Dim, cell.Cut(l.why, a.W-x, more))
	case sick(l):
		x = a.Text(x, 0, theme.Bad, "!! ")
		a.Text(x, 0, theme.Bad, cell.Cut(l.value, a.W-x, more))
	default:
		a.Text(x, 0, theme.Text, cell.Cut(l.value, a.W-x, more))
	}
}

// shortName shortens the vendor's names where they say little with much.
var shortName = strings.NewReplacer("Single Bit", "1-bit", "Double Bit", "2-bit", "Aggregate Total Err Cnt", "errors ever",
	"Isolated Pages Count", "isolated pages", "Error Count", "errors", "Usage Rate", "in use", "Bandwidth", "bandwidth", "Subsystem", "Subsys.")

// sick marks the figures that ask for a new card.
func sick(l line) bool {
	n := strings.ToLower(l.name)
	return (strings.Contains(n, "double bit") || strings.Contains(n, "isolated pages")) && l.value != "0" && l.value != "NA"
}

func (m *model) detailLines() (title string, out []line) {
	if m.active == PanelProcesses {
		if rows := m.selectedProcesses(); len(rows) > 0 {
			return fmt.Sprintf("Process %d", rows[0].PID), processLines(rows, namesOf(m.frame.Devices))
		}
	}
	d := m.selectedDevice()
	if d == nil {
		return "Details", []line{{"", "", "", "nothing is selected"}}
	}
	return fmt.Sprintf("NPU %s  %s", namesOf(m.frame.Devices).device(d), d.Name), m.deviceLines(d)
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
		{"state", "health", healthText(d), "the source does not say"},
		num("state", utilName(d)+" in use", d.Util, "%"),
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
	for i, f := range []struct {
		name  string
		scale float64
	}{{"in use, %", 1}, {"memory, %", 100}, {"power, W", 1}, {"temperature, °C", 1}, {"bandwidth, %", 1}} {
		if s := p.all()[i]; s.n > 0 {
			out = append(out, line{group: "past", name: f.name, value: fmt.Sprintf("%.4g to %.4g, mean %.4g", s.min*f.scale, s.max*f.scale, s.sum/float64(s.n)*f.scale)})
		}
	}
	facts := append([]Fact(nil), d.Facts...)
	sort.SliceStable(facts, func(i, j int) bool { return facts[i].Group > facts[j].Group })
	for _, f := range facts {
		if f.Name == "NPU ID" || f.Name == "Chip Count" {
			continue
		}
		out = append(out, line{group: factGroup(f.Group), name: f.Name, value: strings.TrimSpace(f.Value + " " + f.Unit)})
	}
	switch {
	case len(d.Facts) > 0 || d.Source != smiName || m.player != nil:
	case d.Facts == nil:
		out = append(out, line{"npu-smi", "", "", "asking for more" + more})
	default:
		out = append(out, line{"npu-smi", "", "", "nothing more is printed for this device"})
	}
	return out
}

// utilName is what the utilisation of a device is of.
func utilName(d *Device) string {
	if d.UtilKind == "npu" {
		return "NPU"
	}
	return "AI core"
}

func factGroup(g string) string {
	if g == "device" {
		return "npu-smi"
	}
	return g
}

func processLines(rows []*Process, names naming) []line {
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
		out = append(out, num("device", "memory on NPU "+names.of(r.Source, r.NPU, r.Chip), r.Mem, "MiB"))
	}
	return append(out, num("device", "memory on all", Num(total), "MiB"))
}
