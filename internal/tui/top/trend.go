package top

import (
	"fmt"
	"math"
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
	title := fmt.Sprintf("NPU %s  %s  %s", namesOf(m.frame.Devices).device(d), d.Name, healthText(d))
	remark := ""
	if d.Bus.S != "" {
		remark = "bus " + d.Bus.S
	}
	past := m.hist.get(d.Key())
	if n := min(len(past.util.v), (a.W/4-2)*widget.PerCell(m.th.Glyphs)); m.player == nil && n > 1 {
		remark = strings.TrimPrefix(remark+", graphs of "+seconds(time.Duration(n)*m.interval), ", ")
	}
	in := widget.Box(a, title, remark, false)
	memory := "HBM"
	if mem := d.Mem(); mem == d.Memory && mem.Total.Known && mem.Total.N > 0 {
		memory = "Memory"
	}
	share := d.Mem().Share()
	share.N *= 100
	graphs := []trend{
		{utilName(d), "%", d.Util, &past.util, 100, 1, theme.UtilRamp},
		{memory, "%", share, &past.mem, 1, 100, theme.MemRamp},
		{"Power", "W", d.Power, &past.power, ceiling(past.power.max), 1, widget.Solid(theme.Power)},
		{"Temperature", "°C", d.Temp, &past.temp, 100, 1, widget.Solid(theme.Heat)},
	}
	if in.W < 4*20 {
		graphs = graphs[:2]
	}
	w := (in.W - 1) / len(graphs)
	for i, g := range graphs {
		g.draw(in.Sub(1+i*w, 0, w-2, in.H), pen)
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
