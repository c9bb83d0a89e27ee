package diagnose

import (
	"bytes"

	"npu/internal/blackbox/plog"
	"npu/internal/blackbox/textdump"
)

const (
	maxIncidents = 4096
	maxEvidence  = 14
	maxEvents    = 2048
)

// Analyzer takes records and keeps incidents. Its memory is bounded, whatever the size of the logs.
type Analyzer struct {
	files      []string
	procs      map[procKey]*process
	incidents  []*incident
	events     []*event
	dumps      map[int]*textdump.Parser // firmware text dumps by file
	faults     []*pageFault
	rankPID    map[int]int
	complaints []complaint
	unknown    int     // lines of errors that no rule explains
	block      procKey // process of the exception block that is being read
	dropped    int
}

type procKey struct{ pid, file int }

// process is the state of one writer.
type process struct {
	cur    *incident
	byTask map[[2]int]*incident
	core   *core // the last core line: the extend-info line after it belongs to it
	rank   *int
	device *int
}

// pageFault is a line of the device's kernel: it could not map a page.
type pageFault struct {
	hostPID int
	addr    uint64
	time    int64
	line    Evidence
}

// NewAnalyzer starts empty.
func NewAnalyzer() *Analyzer {
	return &Analyzer{procs: map[procKey]*process{}, dumps: map[int]*textdump.Parser{}, rankPID: map[int]int{}}
}

// ranked gives lines without a head the process of their rank: launchers mix the output of all ranks line by line.
func (a *Analyzer) ranked(r *plog.Record) *plog.Record {
	switch {
	case r.Rank < 0 || len(a.rankPID) > 1<<16:
		return r
	case !r.Cont || r.Code != "":
		if r.PID > 0 {
			a.rankPID[r.Rank] = r.PID
		}
		return r
	}
	pid, ok := a.rankPID[r.Rank]
	if !ok || pid == r.PID {
		return r
	}
	c := *r
	c.PID = pid
	return &c
}

// File gives the next file a number for records.
func (a *Analyzer) File(name string) int {
	a.files = append(a.files, name)
	return len(a.files) - 1
}

// proc finds the state for a record. Writers without a process id are told apart by file.
func (a *Analyzer) proc(r *plog.Record) *process {
	k := procKey{r.PID, 0}
	if r.PID <= 0 {
		k = procKey{0, r.File + 1}
	}
	p := a.procs[k]
	if p == nil {
		if len(a.procs) > 1<<14 {
			a.dropped++
			return &process{byTask: map[[2]int]*incident{}}
		}
		p = &process{byTask: map[[2]int]*incident{}}
		a.procs[k] = p
	}
	if r.Rank >= 0 {
		n := r.Rank
		p.rank = &n
	}
	if r.Device >= 0 {
		n := r.Device
		p.device = &n
	}
	return p
}

// Add takes the next record. Text may be reused by the caller afterwards.
func (a *Analyzer) Add(r *plog.Record) {
	t := r.Text
	if r.Origin != plog.Host || bytes.HasPrefix(t, []byte("<exception_print>")) {
		a.deviceLine(r)
		return
	}
	switch r.Module {
	case "BBOX":
		a.history(r)
		return
	case "DRV":
		if has(t, "event_id=0x") {
			a.rasEvent(r)
			return
		}
	}
	if i := bytes.Index(t, []byte("PID[")); i >= 0 && has(t[:i], "DEVICE[") { // block of old software: the head names the process
		if n := intField(t, "PID["); n != nil {
			a.block = procKey{*n, r.File}
		}
		return
	}
	if r.PID <= 0 && a.block.pid > 0 && a.block.file == r.File && r.Cont {
		c := *r
		c.PID = a.block.pid
		r = &c
	}
	r = a.ranked(r)
	p := a.proc(r)
	if r.Code != "" {
		a.messageCode(p, r)
	}
	switch {
	case a.commLine(p, r):
	case isFrameworkMemory(t):
		a.frameworkMemory(p, r)
	case has(t, "core id is") || has(t, "pc start:"):
		a.coreLine(p, r)
	case has(t, "errcode:("):
		a.extendInfo(p, r, t)
	case has(t, "coreId("):
		a.coreTable(p, r)
	case has(t, "task exception!") || has(t, "Task run failed") && has(t, "stream_id="):
		a.taskFailed(p, r)
	case has(t, "kernel execute failed") || has(t, "kernel execute error") || has(t, "task execute failed") && has(t, "fault kernel"):
		a.kernelFailed(p, r)
	case has(t, "after execute:"):
		a.arguments(p, r)
	case has(t, "[AIC_INFO] node_name:"):
		if in := p.cur; in != nil && in.node == "" {
			in.node = word(after(t, "node_name:"))
		}
	case has(t, "tilingKey"):
		tiling(p, t)
	case has(t, "task timeout dfx"):
		a.timeoutReport(p, r)
	case has(t, "sdma channel is"):
		a.sdmaError(p, r)
	case has(t, "async copy failed"), has(t, "memcpy async failed"), has(t, "[fftsplus sdma error]"):
		a.copyFailed(p, r)
	case has(t, "otify wait"), has(t, "hccl fftsplus task timeout"):
		a.notifyWait(p, r)
	case has(t, "event_id=0x"):
		a.rasEvent(r)
	case has(t, "[Dump][Exception]"):
		a.dumpLine(p, t)
	case has(t, "[ASSERT]") || has(t, "Assertion `") || has(t, "Assertion failed"):
		a.assertion(p, r)
	case has(t, "RTS_HWTS") || has(t, "function=hwts"):
		a.hwts(p, r)
	case r.Level == plog.Error || r.Cont:
		if !a.codes(p, r) {
			a.complain(r)
		}
	}
}

// incidentFor gives the incident that a line of this process belongs to, and starts one if there is none.
func (a *Analyzer) incidentFor(p *process, r *plog.Record, k kind) *incident {
	if in := p.cur; in != nil && !far(in.last, r.Time) {
		in.kind = max(in.kind, k)
		a.touch(in, r)
		return in
	}
	return a.begin(p, r, k)
}

// far says that two lines are too far apart to be one event: error dumps of big kernels take minutes to print.
func far(last, now int64) bool {
	return last != plog.NoTime && now != plog.NoTime && now-last > 120*second
}

func (a *Analyzer) begin(p *process, r *plog.Record, k kind) *incident {
	in := &incident{kind: k, file: r.File, pid: r.PID, proc: r.Proc, first: r.Time, last: r.Time, line: r.Line, rank: p.rank, device: p.device}
	p.cur, p.core = in, nil
	if len(a.incidents) < maxIncidents {
		a.incidents = append(a.incidents, in)
	} else {
		a.dropped++
	}
	return in
}

func (a *Analyzer) touch(in *incident, r *plog.Record) {
	if later(r.Time, in.last) {
		in.last = r.Time
	}
	if in.first == plog.NoTime {
		in.first, in.last = r.Time, r.Time
	}
}

// cite keeps the line as evidence; a line whose start is there already is not kept again.
func (a *Analyzer) cite(in *incident, r *plog.Record) {
	if len(in.evidence) >= maxEvidence {
		return
	}
	in.evidence = append(in.evidence, a.evidence(r))
}

func (a *Analyzer) evidence(r *plog.Record) Evidence {
	name := ""
	if r.File < len(a.files) {
		name = a.files[r.File]
	}
	return Evidence{File: name, Line: r.Line, Text: excerpt(r.Text)}
}
