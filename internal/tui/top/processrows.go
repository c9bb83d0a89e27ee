package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"npu/internal/tui/cell"
	"npu/internal/tui/theme"
)

// processRow is one line of the process panel: a process over all its devices, or, in the tree, a device or a process
// on it.
type processRow struct {
	device *Device // a heading of the tree; the rest is empty then
	Process
	on    []string // names of its devices
	depth int
}

func (r *processRow) id() string {
	if r.device != nil {
		return "device " + fmt.Sprint(r.device.Key())
	}
	if r.depth > 0 {
		return fmt.Sprint(r.Source, " ", r.PID, " ", r.NPU, " ", chipOf(r.Chip))
	}
	return fmt.Sprint(r.Source, " ", r.PID)
}

// byProcess sums the rows of each pid: what a process has on all devices.
func byProcess(list []Process, names naming) []processRow {
	var out []processRow
	at := map[string]int{}
	for _, p := range list {
		r := processRow{Process: p}
		name := names.of(p.Source, p.NPU, p.Chip)
		i, ok := at[r.id()]
		if !ok {
			at[r.id()] = len(out)
			r.on = []string{name}
			out = append(out, r)
			continue
		}
		o := &out[i]
		o.on = append(o.on, name)
		for _, sum := range []struct{ to, n *Value }{{&o.Mem, &p.Mem}, {&o.Streams, &p.Streams}} {
			if sum.n.Known {
				*sum.to = Num(sum.to.N + sum.n.N)
			}
		}
	}
	return out
}

// byDevice puts processes under their devices. Devices without a process are left out unless nothing is filtered.
func byDevice(devices []Device, list []*Process, all bool) []*processRow {
	var out []*processRow
	names := namesOf(devices)
	for i := range devices {
		d := &devices[i]
		head := &processRow{device: d, on: []string{names.device(d)}}
		n := len(out)
		out = append(out, head)
		for _, p := range list {
			if p.Key() == d.Key() {
				out = append(out, &processRow{Process: *p, depth: 1, on: head.on})
			}
		}
		if len(out) == n+1 && !all {
			out = out[:n]
		}
	}
	return out
}

// orderProcesses sorts summed rows by a column of the panel.
func orderProcesses(rows []*processRow, s Sort) {
	if s.Key == "npu" {
		slices.SortStableFunc(rows, func(a, b *processRow) int {
			c := cmp.Or(cmp.Compare(a.NPU, b.NPU), cmp.Compare(chipOf(a.Chip), chipOf(b.Chip)))
			if s.Down {
				return -c
			}
			return c
		})
		return
	}
	if s.Key == "mem" {
		s.Key = "mem_mb"
	}
	fields := make([]field[processRow], len(processFields))
	for i, f := range processFields {
		fields[i] = field[processRow]{f.key, func(r *processRow) any { return f.ref(&r.Process) }}
	}
	order(rows, fields, s)
}

func processColumns(rows []*processRow, tree bool) []column[processRow] {
	pid, user, on, anyUser, anyHost, anyCont, anyStreams := 5, 4, 3, false, false, false, false
	for _, r := range rows {
		if r.device != nil {
			continue
		}
		pid = max(pid, len(strconv.Itoa(r.PID)))
		user = max(user, min(12, cell.Width(r.User.S)))
		on = max(on, min(24, cell.Width(strings.Join(r.on, " "))))
		anyUser = anyUser || r.User.S != ""
		anyHost = anyHost || r.HostMem.Known
		anyCont = anyCont || r.ContainerPID.Known
		anyStreams = anyStreams || r.Streams.Known
	}
	head := func(draw func(cell.Area, *processRow, *pen)) func(cell.Area, *processRow, *pen) {
		return func(a cell.Area, r *processRow, p *pen) {
			if r.device == nil {
				draw(a, r, p)
			}
		}
	}
	num := func(get func(*processRow) Value, role theme.Role, digits int, unit string) func(cell.Area, *processRow, *pen) {
		return head(numberCell(get, role, digits, unit))
	}
	cols := []column[processRow]{{key: "pid", title: "PID", min: pid + b2i(tree)*2, draw: func(a cell.Area, r *processRow, p *pen) {
		if r.device != nil {
			a.Text(0, 0, theme.Strong, r.on[0])
			return
		}
		right(a, 0, theme.Text, strconv.Itoa(r.PID))
	}}}
	add := func(c column[processRow]) { cols = append(cols, c) }
	if anyCont {
		add(column[processRow]{key: "container_pid", title: "In cont.", min: 8, drop: 80, draw: num(func(r *processRow) Value { return r.ContainerPID }, theme.Dim, 0, "")})
	}
	if !tree {
		add(column[processRow]{key: "npu", title: "NPU", min: min(on, 8), max: on, left: true, drop: 30, draw: head(func(a cell.Area, r *processRow, p *pen) {
			a.Text(0, 0, theme.Text, cell.Cut(strings.Join(r.on, " "), a.W, more))
		})})
	}
	if anyUser {
		add(column[processRow]{key: "user", title: "User", min: user, left: true, drop: 50, draw: head(func(a cell.Area, r *processRow, p *pen) {
			if r.User.S == "" {
				a.Text(0, 0, theme.Dim, unknown)
				return
			}
			a.Text(0, 0, theme.Text, cell.Cut(r.User.S, a.W, more))
		})})
	}
	add(column[processRow]{key: "mem_mb", title: "Mem MiB", min: 8, drop: 0, draw: func(a cell.Area, r *processRow, p *pen) {
		if r.device != nil {
			numberCell(func(r *processRow) Value { return r.device.Mem().Used }, theme.Dim, 0, "")(a, r, p)
			return
		}
		numberCell(func(r *processRow) Value { return r.Mem }, theme.MemRamp(r.Mem.N/65536), 0, "")(a, r, p)
	}})
	if anyStreams {
		add(column[processRow]{key: "streams", title: "Str", min: 4, drop: 65, draw: num(func(r *processRow) Value { return r.Streams }, theme.Text, 0, "")})
	}
	if anyHost {
		add(column[processRow]{key: "cpu", title: "CPU", min: 6, drop: 60, draw: num(func(r *processRow) Value { return r.CPU }, theme.Text, 0, "%")})
		add(column[processRow]{key: "host_mem_mb", title: "Host MiB", min: 9, drop: 70, draw: num(func(r *processRow) Value { return r.HostMem }, theme.Text, 0, "")})
		add(column[processRow]{key: "age_s", title: "Time", min: 7, drop: 75, draw: head(func(a cell.Area, r *processRow, p *pen) {
			if !r.Age.Known {
				right(a, 0, theme.Dim, unknown)
				return
			}
			right(a, 0, theme.Text, clock(r.Age.N))
		})})
	}
	add(column[processRow]{key: "command", title: "Command", min: 10, max: 400, left: true, drop: 0, draw: func(a cell.Area, r *processRow, p *pen) {
		switch {
		case r.device != nil:
			a.Text(0, 0, theme.Dim, cell.Cut(r.device.Name+"  "+healthText(r.device), a.W, more))
		case commandOf(&r.Process) == "":
			a.Text(0, 0, theme.Dim, cell.Cut("(name unknown: foreign pid name space)", a.W, more))
		default:
			a.Text(0, 0, theme.Text, cell.Cut(commandOf(&r.Process), a.W, more))
		}
	}})
	return cols
}

// clock shows seconds as 1:02:03 or 3d 04h.
func clock(s float64) string {
	n := int(min(s, 1e9))
	switch {
	case n >= 86400:
		return fmt.Sprintf("%dd %02dh", n/86400, n%86400/3600)
	case n >= 3600:
		return fmt.Sprintf("%d:%02d:%02d", n/3600, n%3600/60, n%60)
	}
	return fmt.Sprintf("%d:%02d", n/60, n%60)
}
