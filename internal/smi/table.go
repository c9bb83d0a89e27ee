package smi

import (
	"fmt"
	"strconv"
	"strings"
)

// layout is what the header lines say about the rows below them. The header is the only safe sign: widths, blanks before
// the last bar, and even the bars of the rules differ between versions.
type layout struct {
	split     bool // 950: id and name in cells of their own, no chip
	second    string
	hbm       bool
	hugepages bool
	utilNPU   bool
}

type tableReader struct {
	t         *Table
	lay       layout
	inProcs   bool
	procCells int
	procChip  bool
	container bool
	pending   *Device // line 1 of a block, waiting for line 2
	inBlock   bool    // the last line of the table was a row or a header, not a rule
}

// maxNotes bounds what a hostile text can make us remember.
const maxNotes = 32

// ParseTable reads what "npu-smi info" printed. Lines before, between and after the tables are skipped. The result
// holds whatever could be read; without any device the text was no table (see Diagnose).
func ParseTable(text string) *Table {
	r := &tableReader{t: &Table{}, lay: layout{hugepages: true, hbm: true}}
	for line := range strings.Lines(text) {
		r.line(strings.TrimSpace(line))
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
	cells := strings.Split(body, "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
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
	case strings.Contains(s, "Power(W)"):
		r.lay.split = strings.EqualFold(cells[0], "NPU ID")
		r.lay.hugepages = strings.Contains(s, "Hugepages")
	case strings.Contains(s, "Bus-Id") || strings.Contains(s, "Memory-Usage"):
		r.lay.hbm = strings.Contains(s, "HBM")
		r.lay.utilNPU = strings.Contains(s, "NPU Util")
		r.lay.second = ""
		if f := strings.Fields(cells[0]); len(f) > 1 {
			r.lay.second = f[1]
		}
	case strings.Contains(s, "Process id"):
		r.flush()
		r.inProcs, r.t.ProcessTable = true, true
		r.procCells = len(cells)
		r.procChip = strings.Contains(cells[0], "Chip")
		r.container = strings.Contains(s, "in container")
	case r.inProcs:
		r.process(cells, whole)
	default:
		r.device(cells, whole)
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

// isBus tells the second line of a block from the first: at the place of the health it has a PCIe address, or nothing.
func isBus(s string) bool { return strings.Contains(s, ":") || absent(s) }

func absent(s string) bool { return s == "" || s == "-" || s == "NA" || s == "N/A" }

func (r *tableReader) device(cells []string, whole bool) {
	ids := 1
	if r.lay.split {
		ids = 2
	}
	if len(cells) <= ids {
		r.note("line is cut: %.80q", strings.Join(cells, "|"))
		return
	}
	metrics := ""
	if len(cells) > ids+1 {
		metrics = cells[ids+1]
	}
	if !whole { // the last word of a cut line may have lost its end: "65536" as "655"
		if len(cells) <= ids+1 {
			cells[ids] = ""
		}
		metrics = dropLastWord(metrics)
	}
	if isBus(cells[ids]) && (r.pending != nil || whole) {
		r.second(cells[0], cells[ids], metrics, whole)
		return
	}
	r.flush()
	r.first(cells[:ids], cells[ids], metrics)
}

func (r *tableReader) first(ids []string, health, metrics string) {
	id, name, _ := strings.Cut(ids[0], " ")
	if r.lay.split {
		id, name = ids[0], ids[1]
	}
	n, err := strconv.Atoi(id)
	if err != nil || n < 0 {
		r.note("no NPU id in %.80q", ids[0])
		return
	}
	why := "npu-smi printed no second line for this device"
	d := &Device{NPU: n, Name: strings.TrimSpace(name), Health: health, UtilNPU: r.lay.utilNPU, Util: unknown(why),
		Chip: unknown(why), Phy: unknown(why), Logic: unknown(why),
		Memory: noUsage(why), HBM: noUsage(why)}
	words := strings.Fields(metrics)
	d.Power, d.Temp = number(word(words, 0)), number(word(words, 1))
	rest := metrics
	if len(words) >= 2 {
		rest = strings.Join(words[2:], " ")
	}
	d.Hugepages = noUsage("this version prints no huge pages")
	if r.lay.hugepages {
		d.Hugepages = usages(rest, 1)[0]
	}
	r.pending = d
}

func (r *tableReader) second(id, bus, metrics string, whole bool) {
	d := r.pending
	if d == nil { // the device is lost: the tool prints its second line only
		why := "the device is lost: npu-smi prints only its second line"
		n := 0
		if k := len(r.t.Devices); k > 0 {
			n = r.t.Devices[k-1].NPU + 1
		}
		r.note("a device without a first line, taken for NPU %d", n)
		d = &Device{NPU: n, Health: "Lost", Power: unknown(why), Temp: unknown(why), Hugepages: noUsage(why), UtilNPU: r.lay.utilNPU}
	}
	r.pending = nil
	if !absent(bus) {
		d.Bus = bus
	}
	r.ids(d, strings.Fields(id))
	words := strings.Fields(metrics)
	d.Util = number(word(words, 0))
	if d.Util.Known && (d.Util.N < 0 || d.Util.N > 100) {
		d.Util = unknown(fmt.Sprintf("npu-smi printed %v %%", d.Util.N))
	}
	rest := ""
	if len(words) > 1 {
		rest = strings.Join(words[1:], " ")
	}
	u := usages(rest, 2)
	d.Memory, d.HBM = u[0], u[1]
	if !r.lay.hbm {
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
	d.Chip, d.Phy, d.Logic = number(word(words, 0)), unknown("this table has no physical id"), unknown("this table has no logic id")
	if r.lay.split {
		d.Chip = unknown("this NPU has no chip id")
		return
	}
	switch r.lay.second {
	case "Phy-ID":
		d.Phy = number(word(words, 1))
	case "Device":
		d.Logic = number(word(words, 1))
	}
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

func (r *tableReader) process(cells []string, whole bool) {
	if len(cells) < 4 || !whole && len(cells) < r.procCells {
		r.note("line is cut: %.80q", strings.Join(cells, "|"))
		return
	}
	ids := strings.Fields(cells[0])
	npu, err := strconv.Atoi(word(ids, 0))
	pid, err2 := strconv.Atoi(cells[1])
	if err != nil || err2 != nil || npu < 0 || pid < 0 {
		r.note("no process in %.80q", strings.Join(cells, "|"))
		return
	}
	if !whole {
		cells[len(cells)-1] = ""
	}
	p := Process{NPU: npu, PID: pid, Name: cells[2], Memory: number(cells[3]),
		Chip: unknown("this table has no chip column"), ContainerPID: unknown("this version prints no pid of the container")}
	if r.procChip {
		p.Chip = number(word(ids, 1))
	}
	if r.container && len(cells) > 4 {
		p.ContainerPID = number(cells[4])
	}
	r.t.Processes = append(r.t.Processes, p)
}
