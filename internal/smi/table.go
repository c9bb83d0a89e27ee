package smi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type tableReader struct {
	t       *Table
	lay     layout
	inProcs bool
	procs   procLayout
	pending *Device // line 1 of a block, waiting for line 2
	inBlock bool    // the last line of the table was a row or a header, not a rule
}

// maxNotes bounds what a hostile text can make us remember.
const maxNotes = 32

// ParseTable reads what "npu-smi info" printed. Lines before, between and after the tables are skipped. The result
// holds whatever could be read; without any device the text was no table (see Diagnose).
func ParseTable(text string) *Table {
	r := &tableReader{t: &Table{}, lay: classic()}
	for _, line := range unwrap(text) {
		r.line(line)
	}
	r.flush()
	r.t.Cut = r.inBlock
	return r.t
}

func (r *tableReader) line(s string) {
	switch {
	case strings.HasPrefix(s, "+"):
		r.inBlock = false
		return
	case !strings.HasPrefix(s, "|"):
		if strings.HasPrefix(s, "[WARNING]") {
			r.note("%s", s)
		}
		return
	}
	r.inBlock = true
	body, whole := strings.CutSuffix(s[1:], "|")
	raw := strings.Split(body, "|")
	cells := make([]string, len(raw))
	for i := range cells {
		cells[i] = strings.TrimSpace(raw[i])
	}
	switch {
	case len(cells) == 1 && strings.Contains(s, "npu-smi"):
		r.banner(cells[0])
	case len(cells) == 1 && strings.Contains(s, "No running processes"):
		r.t.ProcessTable = true
		if f := strings.Fields(cells[0]); whole {
			if n, err := strconv.Atoi(f[len(f)-1]); err == nil {
				r.t.Idle = append(r.t.Idle, n)
			}
		}
	case r.procs.header(cells):
		r.flush()
		r.inProcs, r.t.ProcessTable = true, true
	case r.inProcs:
		r.process(cells, whole)
	case r.lay.header(cells, raw):
		r.flush()
	default:
		r.device(cells, raw, whole)
	}
}

func (r *tableReader) note(format string, args ...any) {
	if len(r.t.Notes) < maxNotes {
		r.t.Notes = append(r.t.Notes, fmt.Sprintf(format, args...))
	}
}

func (r *tableReader) banner(s string) {
	f := strings.Fields(s)
	for i, w := range f[:len(f)-1] {
		switch w {
		case "npu-smi":
			if f[i+1] != "Version:" {
				r.t.Tool = f[i+1]
			}
		case "Version:":
			r.t.Driver = f[i+1]
		}
	}
}

func absent(s string) bool { return s == "" || s == "-" || s == "NA" || s == "N/A" }

func (r *tableReader) device(cells, raw []string, whole bool) {
	l := &r.lay
	second := r.isSecond(cells, whole)
	want, at := l.cells, l.first
	if second {
		want, at = l.secondCells, l.second
	}
	if whole && len(cells) != want && len(cells) > 1 && !(l.bare && len(cells) > want) {
		r.odd(cells, second || r.pending != nil, want)
		return
	}
	if len(cells) <= 1 || !whole && len(cells) <= l.health {
		r.note("line is cut: %.80q", strings.Join(cells, "|"))
		return
	}
	metrics := ""
	if len(cells) > at {
		metrics = raw[at]
	}
	if !whole { // the last word of a cut line may have lost its end: "65536" as "655"
		if len(cells) <= at {
			cells[len(cells)-1] = ""
		} else if len(cells) == at+1 {
			metrics = dropLastWord(metrics)
		}
	}
	if second {
		if r.pending == nil && whole && !straight(tokensOf(metrics), l.bottom, true) {
			r.note("a line that no header explains: %.80q", strings.Join(cells, "|"))
			return
		}
		r.second(cells, metrics, whole)
		return
	}
	r.flush()
	r.first(cells, metrics, whole)
}

// odd keeps the device of a line that does not fit its header, without any figure of it.
func (r *tableReader) odd(cells []string, second bool, want int) {
	why := fmt.Sprintf("npu-smi printed a line of %d cells below a header of %d", len(cells), want)
	r.note("%s: %.80q", why, strings.Join(cells, "|"))
	if d := r.pending; second && d != nil {
		d.Chip, d.Phy, d.Logic, d.Util, d.Memory, d.HBM = unknown(why), unknown(why), unknown(why), unknown(why), noUsage(why), noUsage(why)
		r.flush()
		return
	}
	r.flush()
	id, name, _ := strings.Cut(cells[0], " ")
	if n, err := strconv.Atoi(id); err == nil && n >= 0 && !second && slices.ContainsFunc(cells, isHealth) {
		r.pending = &Device{NPU: n, Name: strings.TrimSpace(name), Health: "UNKNOWN", Power: unknown(why), Temp: unknown(why), Hugepages: noUsage(why),
			Chip: unknown(why), Phy: unknown(why), Logic: unknown(why), Util: unknown(why), Memory: noUsage(why), HBM: noUsage(why)}
	}
}

// isSecond tells the second line of a block from the first: at the place of the health it has a PCIe address or nothing,
// and after its first figure come the memories.
func (r *tableReader) isSecond(cells []string, whole bool) bool {
	l := &r.lay
	switch {
	case !whole && len(cells) <= l.bus+1: // what tells them apart is cut itself
		return r.pending != nil
	case l.bus >= len(cells) || l.split && cells[0] != "":
		return false
	}
	if strings.Contains(cells[l.bus], ":") || absent(cells[l.bus]) {
		return true
	}
	if l.second >= len(cells) || !whole || r.pending == nil || l.health < len(cells) && isHealth(cells[l.health]) {
		return false
	}
	v := tokensOf(cells[l.second])
	return len(v) > 1 && !v[0].pair && v[1].pair && !straight(v, l.top, true)
}

func isHealth(s string) bool {
	switch strings.ToLower(s) {
	case "ok", "warning", "alarm", "critical", "unknown", "正常", "告警":
		return true
	}
	return false
}

func (r *tableReader) first(cells []string, metrics string, whole bool) {
	l := &r.lay
	id, name, _ := strings.Cut(cells[0], " ")
	if l.split && len(cells) > 1 {
		name = cells[1]
	}
	n, err := strconv.Atoi(id)
	if err != nil || n < 0 {
		r.note("no NPU id in %.80q", cells[0])
		return
	}
	health := ""
	if l.health < len(cells) {
		health = cells[l.health]
	}
	if _, err := strconv.ParseFloat(health, 64); err == nil {
		r.note("no health in %.80q", strings.Join(cells, "|"))
		return
	}
	if health == "" {
		health = "UNKNOWN"
	}
	why := "npu-smi printed no second line for this device"
	d := &Device{NPU: n, Name: strings.TrimSpace(name), Health: health, UtilNPU: l.npu(), Util: unknown(why),
		Chip: unknown(why), Phy: unknown(why), Logic: unknown(why),
		Memory: noUsage(why), HBM: noUsage(why)}
	v := read(metrics, l.top, whole)
	d.Power, d.Temp, d.Hugepages = plausible(v[powerFigure].Used, 0, 20000, "W"), plausible(v[tempFigure].Used, -100, 250, "°C"), sound(v[hugeFigure])
	if !has(l.top, hugeFigure) {
		d.Hugepages = noUsage("this version prints no huge pages")
	}
	r.pending = d
}

// npu says whether the utilisation is that of the whole NPU.
func (l *layout) npu() bool {
	for _, t := range l.bottom {
		if t.figure == utilFigure {
			return t.npu
		}
	}
	return false
}

func (r *tableReader) second(cells []string, metrics string, whole bool) {
	l := &r.lay
	d := r.pending
	if d == nil { // the device is lost: the tool prints its second line only
		why := "the device is lost: npu-smi prints only its second line"
		n := 0
		if k := len(r.t.Devices); k > 0 {
			n = r.t.Devices[k-1].NPU + 1
			if c := number(word(strings.Fields(cells[0]), 0)); c.Known && c.N > 0 && r.t.Devices[k-1].Chip == known(c.N-1) {
				n-- // the next chip of the same card
			}
		}
		r.note("a device without a first line, taken for NPU %d", n)
		d = &Device{NPU: n, Health: "Lost", Power: unknown(why), Temp: unknown(why), Hugepages: noUsage(why), UtilNPU: l.npu()}
	}
	r.pending = nil
	if l.bus < len(cells) && !absent(cells[l.bus]) {
		d.Bus = cells[l.bus]
	}
	r.ids(d, strings.Fields(cells[0]))
	v := read(metrics, l.bottom, whole)
	d.Util, d.Memory, d.HBM = plausible(v[utilFigure].Used, 0, 100, "%"), sound(v[memoryFigure]), sound(v[hbmFigure])
	if !has(l.bottom, hbmFigure) {
		d.HBM = noUsage("this chip has no HBM")
	}
	if d.Power.Known && d.Temp.Known && d.Power.N == 0 && d.Temp.N == 0 {
		why := "the row is all zeros: the driver gave no answer"
		d.Power, d.Temp, d.Util = unknown(why), unknown(why), unknown(why)
	}
	explainPower(d)
	r.t.Devices = append(r.t.Devices, *d)
}

// ids reads the first cell of a second line: chip, and the id that the header names beside it.
func (r *tableReader) ids(d *Device, words []string) {
	d.Chip, d.Phy, d.Logic = unknown("this NPU has no chip id"), unknown("this table has no physical id"), unknown("this table has no logic id")
	if r.lay.split && len(r.lay.ids) == 0 {
		return
	}
	if len(words) < len(r.lay.ids) { // which one is missing nobody knows
		why := fmt.Sprintf("npu-smi printed %d ids of %d", len(words), len(r.lay.ids))
		d.Chip = unknown(why)
		return
	}
	d.Chip = number(word(words, 0))
	for i, t := range r.lay.ids {
		switch {
		case i == 0:
		case strings.EqualFold(t, "Phy-ID"):
			d.Phy = number(words[i])
		case strings.EqualFold(t, "Device") || strings.EqualFold(t, "Logic-ID"):
			d.Logic = number(words[i])
		}
	}
}

// plausible refuses what is no reading but a sign of the driver for none, as 32765.
func plausible(v Value, least, most float64, unit string) Value {
	if v.Known && (v.N < least || v.N > most) {
		return unknown(fmt.Sprintf("npu-smi printed %v %s", v.N, unit))
	}
	return v
}

// sound refuses more than there is.
func sound(u Usage) Usage {
	if u.Used.Known && (u.Used.N < 0 || u.Total.Known && u.Used.N > u.Total.N) {
		u.Used = unknown(fmt.Sprintf("npu-smi printed %v of %v", u.Used.N, u.Total.N))
	}
	if u.Total.Known && u.Total.N < 0 {
		u.Total = unknown(fmt.Sprintf("npu-smi printed %v", u.Total.N))
	}
	return u
}

// explainPower replaces the bare "NA" of families whose power is known to be elsewhere.
func explainPower(d *Device) {
	switch {
	case d.Power.Known:
	case strings.HasPrefix(d.Name, "310P"):
		d.Power.Why = "a 310P reports the power of the card only: npu-smi info -t power"
	case d.Chip.Known && d.Chip.N > 0 && d.Phy.Known:
		d.Power.Why = "the power of the package is printed with its first die"
	}
}

// flush keeps a block that has no second line.
func (r *tableReader) flush() {
	if r.pending != nil {
		explainPower(r.pending)
		r.t.Devices = append(r.t.Devices, *r.pending)
		r.pending = nil
	}
}
