package top

import (
	"fmt"
	"strings"

	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
	"npu/internal/tui/widget"
)

// Least is the smallest screen that is drawn.
const (
	leastW = 40
	leastH = 10
)

// plan is where everything goes: heights of the parts, from the top. A height of 0 leaves a part out.
type plan struct {
	boxes   bool
	lines   int // per device
	devices int // height of the device panel, with its header and frame
	trend   int // height of the graphs of the selected device
	lower   int // height of the panel below
	side    int // width of a second lower panel at the right
}

// layout divides a screen of w by h with n devices.
func (m *model) layout(n int) plan {
	body := m.h - 2
	p := plan{lines: 1}
	p.boxes = m.view == viewFull || m.view == viewAuto && m.w >= 100 && m.h >= 30
	extra := 1 // header
	if p.boxes {
		extra = 3
	}
	least := 5 // of the lower panel: heading, header, three rows
	if p.boxes {
		least = 7
	}
	if body < 12 || n == 0 {
		if m.active == PanelDevices || n == 0 {
			p.devices = body
		} else {
			p.lower = body
		}
		return p
	}
	if p.boxes && body >= 34 && 2*n+extra <= body/2 {
		p.lines = 2
	}
	p.devices = min(p.lines*n+extra, max(body-least, body/2))
	rest := body - p.devices
	if p.boxes && rest >= least+8 {
		p.trend = min(18, max(8, rest*2/5))
	}
	p.lower = rest - p.trend
	if p.boxes && m.w >= 160 && p.lower >= least {
		p.side = m.w * 2 / 5
	}
	return p
}

func (m *model) draw() {
	m.buf.Reset(m.w, m.h)
	m.buttons = m.buttons[:0]
	for i := range m.panels {
		m.panels[i].spot = spot{}
	}
	a := m.buf.All()
	if m.w < leastW || m.h < leastH {
		say(a, 0, 0, theme.Text, fmt.Sprintf("terminal is %d×%d; npu top needs %d×%d (try npu top --once; q quits)", m.w, m.h, leastW, leastH))
		return
	}
	pen := &pen{m.th, m.hist}
	devices := pickDevices(m.frame.Devices, m.panels[PanelDevices].filter, m.panels[PanelDevices].sort)
	ids := make([]string, len(devices))
	for i, d := range devices {
		ids[i] = fmt.Sprint(d.Key())
	}
	m.panels[PanelDevices].settle(ids, len(m.frame.Devices))
	p := m.layout(len(devices))
	m.drawHead(a.Sub(0, 0, m.w, 1))
	y := 1
	if p.devices > 0 {
		m.drawDevices(a.Sub(0, y, m.w, p.devices), devices, p, pen)
		y += p.devices
	}
	if p.trend > 0 {
		m.drawTrend(a.Sub(0, y, m.w, p.trend), pen)
		y += p.trend
	}
	if p.lower > 0 {
		m.drawLower(a.Sub(0, y, m.w, p.lower), p, pen)
	}
	if m.detail {
		m.drawDetail(a, p, pen)
	}
	if m.help {
		m.drawHelp(a.Sub(0, 1, m.w, m.h-2))
	}
	m.drawFoot(a.Sub(0, m.h-1, m.w, 1))
}

func (m *model) drawDevices(a cell.Area, devices []*Device, p plan, pen *pen) {
	s := &m.panels[PanelDevices]
	active := m.active == PanelDevices
	if p.boxes {
		m.buttonAt(a, 0, a.W, PanelDevices)
		a = widget.Box(a, "1 Devices", m.panelRemark(s), active)
	}
	if len(devices) == 0 {
		m.drawAbsence(a, len(m.frame.Devices))
		return
	}
	all := make([]Device, len(devices))
	for i, d := range devices {
		all[i] = *d
	}
	drawRows(a, s, devices, deviceColumns(shapeOf(all, m.ids, p.lines)), p.lines, active, true, pen)
}

// panelRemark says what is not seen: a filter, or rows beyond the window.
func (m *model) panelRemark(s *panel) string {
	var out []string
	if s.filter.Active() {
		out = append(out, fmt.Sprintf("filter %s: %d of %d", cell.Cut(s.text, 24, "…"), len(s.ids), s.all))
	}
	if s.skip > 0 {
		out = append(out, fmt.Sprintf("%d columns left out", s.skip))
	}
	return strings.Join(out, ", ")
}

// drawAbsence says in words why there is no device, and what to do.
func (m *model) drawAbsence(a cell.Area, all int) {
	x, y := min(3, a.W/10), min(1, a.H/8)
	if all > 0 {
		say(a, x, y, theme.Text, fmt.Sprintf("None of %d devices fits the filter %s (Esc clears it).", all, m.panels[PanelDevices].text))
		return
	}
	for _, s := range m.frame.Sources {
		switch s.State {
		case Waiting:
			text := "Asking " + s.Name + more + " "
			if !s.Since.IsZero() {
				text += seconds(m.now().Sub(s.Since))
			}
			y = say(a, x, y, theme.Strong, text)
			y = say(a, x, y, theme.Dim, "The first answer of a driver takes half a second to three seconds. Keys work already.") + 1
		case Failed:
			y = say(a, x, y, theme.Warn, "! No devices: "+s.Says+".")
			if s.Text != "" {
				y = say(a, x+2, y, theme.Dim, s.Text)
			}
			y = sayList(a, x, y+1, "Found here", s.Found)
			y = sayList(a, x, y, "What to do", s.Try)
		default:
			y = say(a, x, y, theme.Text, "No device. "+sourceLine(s, m.now())) + 1
		}
	}
}

// sayList writes a heading and points below it.
func sayList(a cell.Area, x, y int, head string, points []string) int {
	if len(points) == 0 {
		return y
	}
	y = say(a, x, y, theme.Strong, head)
	for _, t := range points {
		a.Text(x, y, theme.Dim, "-")
		y = say(a, x+2, y, theme.Text, t)
	}
	return y + 1
}

// selectedDevice is the device whose row is selected, or that the selected process runs on.
func (m *model) selectedDevice() *Device {
	key := m.panels[PanelDevices].sel
	if m.active == PanelProcesses && m.detail {
		if rows := m.selectedProcesses(); len(rows) > 0 {
			key = fmt.Sprint(rows[0].Key())
		}
	}
	for i := range m.frame.Devices {
		if d := &m.frame.Devices[i]; fmt.Sprint(d.Key()) == key {
			return d
		}
	}
	return nil
}

// selectedProcesses is the rows of the selected process, one for each of its devices.
func (m *model) selectedProcesses() []*Process {
	var out []*Process
	sel := m.panels[PanelProcesses].sel
	for i := range m.frame.Processes.Rows {
		p := &m.frame.Processes.Rows[i]
		short, long := (&processRow{Process: *p}).id(), (&processRow{Process: *p, depth: 1}).id()
		if sel == short || sel == long {
			out = append(out, p)
		}
	}
	return out
}

func (m *model) drawLower(a cell.Area, p plan, pen *pen) {
	if p.side > 0 {
		left, right := PanelProcesses, m.lower
		if right == PanelProcesses {
			right = PanelMemory
		}
		m.drawPanelBox(a.Sub(0, 0, a.W-p.side, a.H), left, pen)
		m.drawPanelBox(a.Sub(a.W-p.side, 0, p.side, a.H), right, pen)
		return
	}
	if p.boxes {
		m.drawPanelBox(a, m.lower, pen)
		return
	}
	m.drawTabs(a.Sub(0, 0, a.W, 1))
	m.drawPanel(a.Sub(0, 1, a.W, a.H-1), m.lower, pen)
}

func (m *model) drawPanelBox(a cell.Area, panel int, pen *pen) {
	title := fmt.Sprintf("%d %s", panel+1, capital(panelNames[panel]))
	if n := m.count(panel); n != "" {
		title += " " + n
	}
	remark := m.panelRemark(&m.panels[panel])
	if remark == "" && panel == m.lower && a.W < 160 && a.W == m.w {
		remark = "1-5 or Tab: other panels"
	}
	m.buttonAt(a, 0, a.W, panel)
	m.drawPanel(widget.Box(a, title, remark, m.active == panel), panel, pen)
}

// buttonAt lets a click on a part of the first line of a choose a panel.
func (m *model) buttonAt(a cell.Area, from, to, panel int) {
	x, y := a.At()
	m.buttons = append(m.buttons, button{x: x + from, y: y, w: to - from, panel: panel})
}

// drawTabs names the panels that share the lower part, the shown one marked.
func (m *model) drawTabs(a cell.Area) {
	a.Fill(0, 0, a.W, theme.Frame, '─')
	x := 1
	for i := PanelProcesses; i < panelCount; i++ {
		text := fmt.Sprintf("%d %s", i+1, capital(panelNames[i]))
		if n := m.count(i); n != "" {
			text += " " + n
		}
		role, before, after := theme.Dim, " ", " "
		if i == m.lower {
			role, before, after = theme.Title, "[", "]"
			if m.active == i {
				role = theme.Active
			}
		}
		if x+cell.Width(text)+3 > a.W {
			break
		}
		end := a.Text(x, 0, role, before+text+after)
		m.buttonAt(a, x, end, i)
		x = end
	}
	if r := m.panelRemark(&m.panels[m.lower]); r != "" && x+cell.Width(r)+3 < a.W {
		a.Text(a.W-cell.Width(r)-2, 0, theme.Warn, " "+r+" ")
	}
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// count is how many rows a panel has to show, empty when nobody knows.
func (m *model) count(panel int) string {
	f := m.frame
	n, why := 0, ""
	switch panel {
	case PanelProcesses:
		n, why = len(byProcess(f.Processes.Rows, naming{})), f.Processes.Why
	case PanelStreams:
		n, why = len(f.Streams.Rows), f.Streams.Why
	case PanelOperators:
		n, why = len(f.Operators.Rows), f.Operators.Why
	default:
		return ""
	}
	if why != "" {
		return ""
	}
	return fmt.Sprint(n)
}

func (m *model) drawPanel(a cell.Area, panel int, pen *pen) {
	f, s := m.frame, &m.panels[panel]
	why := [panelCount]string{PanelProcesses: f.Processes.Why, PanelStreams: f.Streams.Why, PanelMemory: f.Memory.Why, PanelOperators: f.Operators.Why}[panel]
	if why != "" {
		s.settle(nil, 0)
		say(a, 2, min(1, a.H-1), theme.Dim, capital(why)+".")
		return
	}
	active := m.active == panel
	switch panel {
	case PanelProcesses:
		m.drawProcesses(a, s, active, pen)
	case PanelStreams:
		rows := pick(f.Streams.Rows, streamFields, s.filter, s.sort)
		drawList(a, s, rows, len(f.Streams.Rows), streamID, streamColumns(namesOf(f.Devices)), active, pen, "No run of npu has a stream now.")
	case PanelMemory:
		rows := byOwner(values(pickDevices(f.Devices, Filter{}, s.sort)), pick(f.Memory.Rows, memoryFields, s.filter, Sort{}))
		drawList(a, s, rows, len(rows), (*memoryRow).id, memoryColumns(rows), active, pen, "No memory in use is known.")
	case PanelOperators:
		rows := pick(f.Operators.Rows, operatorFields, s.filter, s.sort)
		drawList(a, s, rows, len(f.Operators.Rows), operatorID, operatorColumns(namesOf(f.Devices)), active, pen, "No run of npu has run an operator yet.")
	}
}

func drawList[T any](a cell.Area, s *panel, rows []*T, all int, id func(*T) string, cols []column[T], active bool, pen *pen, empty string) {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = id(r)
	}
	s.settle(ids, all)
	if len(rows) == 0 {
		if s.filter.Active() {
			empty = fmt.Sprintf("None of %d rows fits the filter %s (Esc clears it).", all, s.text)
		}
		say(a, 2, min(1, a.H-1), theme.Dim, empty)
		return
	}
	drawRows(a, s, rows, cols, 1, active, false, pen)
}

func (m *model) drawProcesses(a cell.Area, s *panel, active bool, pen *pen) {
	list := pickProcesses(m.frame.Processes.Rows, s.filter, Sort{})
	var rows []*processRow
	if m.tree {
		rows = byDevice(m.frame.Devices, pickProcesses(values(list), Filter{}, s.sort), !s.filter.Active())
	} else {
		sum := byProcess(values(list), namesOf(m.frame.Devices))
		for i := range sum {
			rows = append(rows, &sum[i])
		}
		orderProcesses(rows, s.sort)
	}
	drawList(a, s, rows, len(byProcess(m.frame.Processes.Rows, naming{})), (*processRow).id, processColumns(rows, m.tree), active, pen, "No process uses a device.")
}
