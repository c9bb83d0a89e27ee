package smi

import (
	"strconv"
	"strings"
)

// procLayout is which cell of the process table holds what; -1 for what it does not have. The zero value is no table.
type procLayout struct {
	cells, pid, name, memory, container int
	chip                                bool
	unit                                title
}

// header takes the header of a process table; false if the line is none.
func (l *procLayout) header(cells []string) bool {
	first := cells[0]
	if len(cells) < 3 || first != "" && first[0] >= '0' && first[0] <= '9' {
		return false
	}
	n := procLayout{cells: len(cells), pid: -1, name: -1, memory: -1, container: -1, chip: strings.Contains(first, "Chip") || strings.Contains(first, "芯片")}
	for i, c := range cells {
		c = strings.ToLower(wide.Replace(c))
		if !strings.Contains(c, "process") && !strings.Contains(c, "进程") {
			continue
		}
		switch {
		case strings.Contains(c, "container") || strings.Contains(c, "容器"):
			n.container = i
		case strings.Contains(c, "mem") || strings.Contains(c, "内存"):
			n.memory = i
			if t := titlesOf(c); len(t) == 1 {
				n.unit = t[0]
			}
		case strings.Contains(c, "name") || strings.Contains(c, "名"):
			n.name = i
		case strings.HasSuffix(c, "id") || strings.Contains(c, "号"):
			n.pid = i
		}
	}
	if n.pid < 0 || n.name < 0 && n.memory < 0 {
		return false
	}
	*l = n
	return true
}

func (r *tableReader) process(cells []string, whole bool) {
	l := &r.procs
	if len(cells) != l.cells {
		r.note("line is cut, or no process: %.80q", strings.Join(cells, "|"))
		return
	}
	ids := strings.Fields(cells[0])
	npu, err := strconv.Atoi(word(ids, 0))
	pid, err2 := strconv.Atoi(cells[l.pid])
	if err != nil || err2 != nil || npu < 0 || pid < 0 {
		r.note("no process in %.80q", strings.Join(cells, "|"))
		return
	}
	if !whole {
		cells[len(cells)-1] = ""
	}
	p := Process{NPU: npu, PID: pid, Memory: unknown("this table has no memory column"),
		Chip: unknown("this table has no chip column"), ContainerPID: unknown("this version prints no pid of the container")}
	if l.name >= 0 {
		p.Name = cells[l.name]
	}
	if l.memory >= 0 {
		p.Memory = plausible(number(cells[l.memory]).times(l.unit), 0, 1e9, "MB")
	}
	if l.chip {
		p.Chip = number(word(ids, 1))
	}
	if l.container >= 0 {
		p.ContainerPID = number(cells[l.container])
	}
	r.t.Processes = append(r.t.Processes, p)
}
