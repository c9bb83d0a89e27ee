package top

import (
	"fmt"
	"strconv"
	"strings"

	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

// naming is how devices are called so that no two have the same name: "3"; "3.1" where cards have several chips; and
// "sim3" for a simulated one where there are real ones too.
type naming struct{ chips, mixed bool }

func namesOf(devices []Device) naming {
	var n naming
	type card struct {
		source string
		npu    int
	}
	seen := map[card]bool{}
	for i := range devices {
		d := &devices[i]
		k := card{d.Source, d.NPU}
		n.chips = n.chips || seen[k]
		n.mixed = n.mixed || d.Source != devices[0].Source
		seen[k] = true
	}
	return n
}

func (n naming) of(source string, npu int, chip Value) string {
	s := strconv.Itoa(npu)
	if n.chips && chip.Known {
		s += "." + strconv.Itoa(int(chip.N))
	}
	if n.mixed && source == runsName {
		s = "sim" + s
	}
	return s
}

func (n naming) device(d *Device) string { return n.of(d.Source, d.NPU, d.Chip) }

// healthSign says without colour how bad it is.
func healthSign(severity int) string { return strings.Repeat("!", severity) }

func healthRole(severity int) theme.Role {
	return [...]theme.Role{theme.Good, theme.Warn, theme.Bad, theme.Fault}[severity]
}

func healthText(d *Device) string {
	if s := healthSign(d.Severity()); s != "" {
		return s + " " + d.Health
	}
	return d.Health
}

// healthShown is the same for a column: a dash where nobody says.
func healthShown(d *Device) (string, theme.Role) {
	if d.Health == "" {
		return unknown, theme.Dim
	}
	return healthText(d), healthRole(d.Severity())
}

func faultText(d *Device) string { return fmt.Sprintf("%.0f faults", d.Faults.N) }

// tempRole warns where chips of this family start to slow down.
func tempRole(v Value) theme.Role {
	switch {
	case !v.Known:
		return theme.Dim
	case v.N >= 95:
		return theme.Bad
	case v.N >= 85:
		return theme.Warn
	}
	return theme.Text
}

// shape is what the columns of all devices have in common: how wide, and which ones make sense.
type shape struct {
	names            naming
	id, name, health int
	phy, logic, bus  bool
	hbm, util        string
	bandwidth        bool // known of every device
	lines            int  // per device
}

func shapeOf(devices []Device, ids bool, lines int) shape {
	s := shape{names: namesOf(devices), id: 3, name: 4, health: 2, util: "AICore", lines: lines}
	hbm, npu := 0, 0
	for i := range devices {
		d := &devices[i]
		s.id = max(s.id, len(s.names.device(d)))
		s.name = max(s.name, min(12, cell.Width(d.Name)))
		s.health = max(s.health, min(12, len(healthText(d))))
		s.phy = s.phy || ids && d.Phy.Known
		s.logic = s.logic || ids && d.Logic.Known
		s.bus = s.bus || ids && d.Bus.S != ""
		if lines > 1 && d.Faults.Known {
			s.health = max(s.health, len(faultText(d)))
		}
		s.bandwidth = d.Bandwidth.Known && (i == 0 || s.bandwidth)
		if d.HBM.Total.Known && d.HBM.Total.N > 0 {
			hbm++
		}
		if d.UtilKind == "npu" {
			npu++
		}
	}
	s.hbm = "HBM"
	if hbm == 0 {
		s.hbm = "Memory"
	}
	if npu > 0 {
		s.util = "NPU"
	}
	return s
}

// deviceColumns are the columns for devices of a shape.
func deviceColumns(s shape) []column[Device] {
	tall := s.lines > 1
	cols := []column[Device]{
		{key: "npu", title: "NPU", min: s.id, left: true, draw: func(a cell.Area, d *Device, p *pen) {
			a.Text(0, 0, theme.Strong, s.names.device(d))
		}},
	}
	add := func(c column[Device]) { cols = append(cols, c) }
	if s.phy {
		add(column[Device]{key: "phy", title: "Phy", min: 4, drop: 90, draw: numberCell(func(d *Device) Value { return d.Phy }, theme.Dim, 0, "")})
	}
	if s.logic {
		add(column[Device]{key: "device", title: "Dev", min: 4, drop: 91, draw: numberCell(func(d *Device) Value { return d.Logic }, theme.Dim, 0, "")})
	}
	add(column[Device]{key: "name", title: "Name", min: max(s.name, 7*b2i(tall)), left: true, drop: 60, draw: func(a cell.Area, d *Device, p *pen) {
		a.Text(0, 0, theme.Text, cell.Cut(d.Name, a.W, more))
		if a.H > 1 {
			a.Text(0, 1, theme.Dim, cell.Cut(strings.TrimPrefix(d.Bus.S, "0000:"), a.W, more))
		}
	}})
	if s.bus && !tall {
		add(column[Device]{key: "bus", title: "Bus", min: 12, left: true, drop: 95, draw: func(a cell.Area, d *Device, p *pen) { a.Text(0, 0, theme.Dim, word(d.Bus.S)) }})
	}
	add(column[Device]{key: "health", title: "Health", min: max(s.health, 6), left: true, drop: 0, draw: func(a cell.Area, d *Device, p *pen) {
		sev := d.Severity()
		text, role := healthShown(d)
		if cell.Width(text) > a.W && sev > 0 {
			text = healthSign(sev)
		}
		a.Text(0, 0, role, cell.Cut(text, a.W, ""))
		if a.H > 1 && d.Faults.Known {
			a.Text(0, 1, theme.Dim, faultText(d))
		}
	}})
	add(column[Device]{key: "temp_c", title: "Temp", min: 5, drop: 20, draw: func(a cell.Area, d *Device, p *pen) {
		if !d.Temp.Known {
			right(a, 0, theme.Dim, unknown)
			return
		}
		sign := ""
		if tempRole(d.Temp) != theme.Text {
			sign = "!"
		}
		right(a, 0, tempRole(d.Temp), sign+strconv.FormatFloat(d.Temp.N, 'f', 0, 64)+"°C")
		statLine(a, p.hist.get(d.Key()).temp, "°C")
	}})
	add(column[Device]{key: "power_w", title: "Power", min: 7, drop: 30, draw: func(a cell.Area, d *Device, p *pen) {
		numberCell(func(d *Device) Value { return d.Power }, theme.Text, 1, "W")(a, d, p)
		statLine(a, p.hist.get(d.Key()).power, "W")
	}})
	add(column[Device]{title: "", min: 10, max: 40, left: true, drop: 85, draw: func(a cell.Area, d *Device, p *pen) {
		s := p.hist.get(d.Key()).power
		widget.Graph(a, scaled(s.v, ceiling(s.max)), widget.Solid(theme.Power), p.th.Glyphs)
	}})
	if s.bandwidth {
		add(column[Device]{key: "hbm_bandwidth", title: "BW", min: 4, drop: 80, draw: numberCell(func(d *Device) Value { return d.Bandwidth }, theme.Text, 0, "%")})
	}
	add(column[Device]{key: "util", title: s.util, min: max(4, len(s.util)), max: len(s.util) + 1, drop: 0, draw: func(a cell.Area, d *Device, p *pen) {
		role := theme.Dim
		if d.Util.Known {
			role = theme.UtilRamp(d.Util.N / 100)
		}
		numberCell(func(d *Device) Value { return d.Util }, role, 0, "%")(a, d, p)
		statLine(a, p.hist.get(d.Key()).util, "%")
	}})
	add(column[Device]{title: "", min: 8, max: 20, drop: 72, draw: func(a cell.Area, d *Device, p *pen) {
		bar(a, d.Util, 100, theme.UtilRamp)
		if s := p.hist.get(d.Key()).util; a.H > 1 && s.n > 1 {
			a.Text(0, 1, theme.Dim, fmt.Sprintf("mean %.0f%%", s.sum/float64(s.n)))
		}
	}})
	add(column[Device]{title: "history", min: 10, max: 90, left: true, drop: 50, draw: func(a cell.Area, d *Device, p *pen) {
		widget.Graph(a, scaled(p.hist.get(d.Key()).util.v, 100), theme.UtilRamp, p.th.Glyphs)
	}})
	add(column[Device]{key: "mem", title: s.hbm + " GiB", min: 11, drop: 40, draw: func(a cell.Area, d *Device, p *pen) {
		m := d.Mem()
		right(a, 0, theme.Text, gib(m))
		if a.H > 1 && m.Share().Known {
			right(a, 1, theme.Dim, fmt.Sprintf("%.1f free", (m.Total.N-m.Used.N)/1024))
		}
	}})
	add(column[Device]{title: "", min: 8, max: 20, drop: 55, draw: func(a cell.Area, d *Device, p *pen) {
		bar(a, d.Mem().Share(), 1, theme.MemRamp)
		if h := d.Hugepages; a.H > 1 && h.Share().Known {
			a.Text(0, 1, theme.Dim, cell.Cut(fmt.Sprintf("huge %.0f/%.0f", h.Used.N, h.Total.N), a.W, ""))
		}
	}})
	add(column[Device]{key: "mem", title: "Used", min: 4, drop: 10, draw: func(a cell.Area, d *Device, p *pen) {
		v := d.Mem().Share()
		role := theme.Dim
		if v.Known {
			role, v.N = theme.MemRamp(v.N), v.N*100
		}
		numberCell(func(*Device) Value { return v }, role, 0, "%")(a, d, p)
	}})
	return cols
}

// numberCell shows one figure, aligned to the right.
func numberCell[T any](get func(*T) Value, role theme.Role, digits int, unit string) func(cell.Area, *T, *pen) {
	return func(a cell.Area, r *T, p *pen) {
		v := get(r)
		if !v.Known {
			right(a, 0, theme.Dim, unknown)
			return
		}
		s := strconv.FormatFloat(v.N, 'f', digits, 64)
		if digits > 0 && len(s)+len(unit) > a.W {
			s = strconv.FormatFloat(v.N, 'f', 0, 64)
		}
		x := a.W - cell.Width(s) - cell.Width(unit)
		a.Text(max(x, 0), 0, role, s)
		a.Text(max(x, 0)+cell.Width(s), 0, role, unit)
	}
}

// statLine writes the maximum since the last reset into the second line of a device.
func statLine(a cell.Area, s series, unit string) {
	if a.H < 2 || s.n == 0 {
		return
	}
	right(a, 1, theme.Dim, "↑"+strconv.FormatFloat(s.max, 'f', 0, 64)+unit)
}

// bar draws a share in the first line of the cell.
func bar(a cell.Area, v Value, full float64, ramp widget.Ramp) {
	if !v.Known {
		for x := range a.W {
			a.Rune(x, 0, theme.Faint, '·')
		}
		return
	}
	widget.Bar(a, 0, v.N/full, ramp)
}

// gib shows "52.2/64.0" or what is known of it.
func gib(m Pair) string {
	one := func(v Value) string {
		if !v.Known {
			return unknown
		}
		return strconv.FormatFloat(v.N/1024, 'f', 1, 64)
	}
	if !m.Used.Known && !m.Total.Known {
		return unknown
	}
	return one(m.Used) + "/" + one(m.Total)
}
