package top

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

// drawTrend draws the past of the selected device: one graph a figure, side by side.
func (m *model) drawTrend(a cell.Area, pen *pen) {
	d := m.selectedDevice()
	if d == nil {
		return
	}
	past := m.hist.get(d.Key())
	memory := "HBM"
	if mem := d.Mem(); mem == d.Memory && mem.Total.Known && mem.Total.N > 0 {
		memory = "Memory"
	}
	share := d.Mem().Share()
	share.N *= 100
	graphs := []trend{
		{utilName(d), "%", d.Util, &past.util, 100, 1, theme.UtilRamp},
		{memory, "%", share, &past.mem, 1, 100, theme.MemRamp},
		{"HBM bandwidth", "%", d.Bandwidth, &past.moved, 100, 1, widget.Solid(theme.Heat)},
		{"Power", "W", d.Power, &past.power, ceiling(past.power.max), 1, widget.Solid(theme.Power)},
		{"Temperature", "°C", d.Temp, &past.temp, 100, 1, widget.Solid(theme.Heat)},
	}
	// What the source does not know has no graph, unless too little would be left.
	known := slices.DeleteFunc(slices.Clone(graphs), func(t trend) bool { return !t.now.Known && t.past.n == 0 })
	if len(known) >= 2 {
		graphs = known
	}
	engines, room := 0, a.W-2
	if len(d.Engines) > 0 && room >= 80 {
		engines = min(34, room/3)
	}
	graphs = graphs[:min(len(graphs), max(2, (room-engines)/20))]
	w := (room - 1 - engines) / len(graphs)
	title := fmt.Sprintf("NPU %s  %s  %s", namesOf(m.frame.Devices).device(d), d.Name, healthText(d))
	remark := ""
	if d.Bus.S != "" {
		remark = "bus " + d.Bus.S
	}
	if n := min(len(past.util.v), max(0, w-2)*widget.PerCell(m.th.Glyphs)); m.player == nil && n > 1 {
		remark = strings.TrimPrefix(remark+", graphs of "+seconds(time.Duration(n)*m.interval), ", ")
	}
	in := widget.Box(a, title, remark, false)
	for i, g := range graphs {
		g.draw(in.Sub(1+i*w, 0, w-2, in.H), pen)
	}
	drawEngines(in.Sub(in.W-engines, 0, engines-1, in.H), d.Engines)
}

// drawEngines shows how busy each unit of a device is.
func drawEngines(a cell.Area, engines []Engine) {
	if a.W < 16 {
		return
	}
	a.Text(0, 0, theme.Dim, "Engines")
	name := 0
	for _, e := range engines {
		name = max(name, min(8, cell.Width(e.Name)))
	}
	for i, e := range engines {
		y := i + 1
		if y == a.H-1 && len(engines) > a.H-1 {
			a.Text(0, y, theme.Dim, fmt.Sprintf("%d more (Enter)", len(engines)-i))
			return
		}
		a.Text(0, y, theme.Text, cell.Cut(e.Name, name, more))
		line := a.Sub(name+1, y, a.W-name-6, 1)
		bar(line, e.Util, 100, theme.UtilRamp)
		text, role := unknown, theme.Dim
		if e.Util.Known {
			text, role = strconv.FormatFloat(e.Util.N, 'f', 0, 64)+"%", theme.UtilRamp(e.Util.N/100)
		}
		right(a.Sub(0, y, a.W, 1), 0, role, text)
	}
}

// trend is one graph: samples are drawn as shares of full and shown times scale.
type trend struct {
	name, unit  string
	now         Value
	past        *series
	full, scale float64
	ramp        widget.Ramp
}

func (t trend) draw(a cell.Area, pen *pen) {
	if a.W < 8 || a.H < 3 {
		return
	}
	x := a.Text(0, 0, theme.Dim, t.name+" ")
	if t.now.Known {
		share := t.now.N / t.scale / t.full
		x = a.Text(x, 0, t.ramp(share), strconv.FormatFloat(t.now.N, 'f', t.digits(), 64)+t.unit)
	} else {
		x = a.Text(x, 0, theme.Dim, unknown)
	}
	if s := t.past; s.n > 0 {
		text := fmt.Sprintf("mean %.0f max %.0f", s.sum/float64(s.n)*t.scale, s.max*t.scale)
		if cell.Width(text)+x+1 > a.W {
			text = fmt.Sprintf("max %.0f", s.max*t.scale)
		}
		if cell.Width(text)+x+1 <= a.W {
			right(a, 0, theme.Dim, text)
		}
	} else if !t.now.Known {
		say(a.Sub(0, 1, a.W, a.H-1), 0, 0, theme.Dim, t.now.Why)
		return
	}
	widget.Graph(a.Sub(0, 1, a.W, a.H-1), scaled(t.past.v, t.full), t.ramp, pen.th.Glyphs)
}

func (t trend) digits() int { return b2i(t.unit == "W") }

// ceiling is a round number above the largest sample, for the top of a graph.
func ceiling(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, k := range []float64{1, 1.5, 2, 3, 4, 5, 6, 8, 10} {
		if k*p >= v {
			return k * p
		}
	}
	return v
}
