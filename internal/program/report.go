package program

import (
	"fmt"

	"npu/internal/sim"
	"npu/internal/trace"
	"npu/internal/trace/stats"
)

// Report is what "npu run PROGRAM --json" prints.
type Report struct {
	Program      string         `json:"program"`
	Soc          string         `json:"soc"`
	Policy       string         `json:"policy"`
	Devices      int            `json:"devices"`
	Threads      int            `json:"threads"`
	Statements   int64          `json:"statements"`
	Expectations int64          `json:"expectations"`
	DeviceTimeNs int64          `json:"device_time_ns"` // when the last task ended
	Interactions uint64         `json:"host_interactions"`
	Tasks        int64          `json:"tasks"`
	Streams      int            `json:"streams"`
	ByStream     []StreamReport `json:"by_stream"`
	Output       []Line         `json:"output"`
	Failures     []*Failure     `json:"failures"`
	Faults       []FaultReport  `json:"faults"`
	Warnings     []string       `json:"warnings"`
	WallOrdered  bool           `json:"wall_ordered"`
}

// StreamReport is a stream that ran something.
type StreamReport struct {
	Device   int    `json:"device"`
	ID       uint32 `json:"id"`
	Name     string `json:"name"`
	Priority int    `json:"priority"`
	Tasks    int64  `json:"tasks"`
	BusyNs   int64  `json:"busy_ns"`
	WaitNs   int64  `json:"wait_ns"` // held by another stream
}

// FaultReport is a task that failed.
type FaultReport struct {
	Stream string `json:"stream"`
	Task   uint32 `json:"task"`
	Name   string `json:"name"`
	TimeNs int64  `json:"time_ns"`
	Device string `json:"device_code"` // of the completion entry
}

// NewReport sums a run up.
func NewReport(p *Program, res *Result, warnings []string) *Report {
	t := res.Trace
	r := &Report{
		Program: p.Name, Soc: res.Chip, Policy: res.Policy, Devices: t.Meta.Devices, Threads: res.Threads, Statements: res.Statements,
		Expectations: res.Checked, Interactions: res.Counters.Interactions(), Output: res.Output, Failures: res.Failures,
		ByStream: []StreamReport{}, Faults: []FaultReport{}, Warnings: append(append([]string{}, warnings...), res.Warnings...),
		WallOrdered: t.Meta.WallOrdered,
	}
	if r.Output == nil {
		r.Output = []Line{}
	}
	if r.Failures == nil {
		r.Failures = []*Failure{}
	}
	byStream := map[streamKey]*StreamReport{}
	names := streamNames(t)
	for _, k := range t.Tasks.All() {
		r.task(t, k, names, byStream)
	}
	for _, s := range t.Streams {
		x := byStream[streamKey{s.Device, s.ID}]
		if x == nil || quietStream(s.Name) {
			continue
		}
		x.Name, x.Priority = s.Name, s.Priority
		r.ByStream = append(r.ByStream, *x)
	}
	r.Streams = len(r.ByStream)
	if n := t.Meta.Lost; n > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d tasks and calls are missing in the trace and the figures: the program is too long to keep them all", n))
	}
	return r
}

func (r *Report) task(t *trace.Trace, k trace.Task, names map[streamKey]string, byStream map[streamKey]*StreamReport) {
	r.DeviceTimeNs = max(r.DeviceTimeNs, k.End)
	key := streamKey{k.Device, k.Stream}
	s := byStream[key]
	if s == nil {
		s = &StreamReport{Device: int(k.Device), ID: k.Stream}
		byStream[key] = s
	}
	r.Tasks++
	s.Tasks++
	switch {
	case stats.IsKernel(&k) || stats.IsCopy(&k):
		s.BusyNs += k.End - k.Start
	case k.Kind == trace.EventWait || k.Kind == trace.NotifyWait || k.Kind == trace.ValueWait:
		s.WaitNs += k.End - k.Start
	}
	if k.Code != 0 && k.Code != sim.CodeAborted {
		r.Faults = append(r.Faults, FaultReport{names[key], k.Task, t.Label(&k), k.End, fmt.Sprintf("0x%x", k.Code)})
	}
}
