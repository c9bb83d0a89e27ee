// Package stats says what a trace holds: counts and times by kind, operator and stream, where streams stood idle and
// why, and how far sets of tasks ran at the same time. All times are device nanoseconds. Rows that are parts of
// others (trace.FlagPart) do not count.
package stats

import (
	"maps"

	"npu/internal/trace"
)

// Info is the description of a trace that "npu trace info --json" prints.
type Info struct {
	Format       string           `json:"format"`
	Chip         string           `json:"chip,omitempty"`
	Model        string           `json:"model,omitempty"`
	Policy       string           `json:"policy,omitempty"`
	Devices      int              `json:"devices"`
	Ranks        int              `json:"ranks"`
	Tasks        int64            `json:"tasks"`
	DeviceTimeNs int64            `json:"device_time_ns"` // sum of the tasks' durations; envelopes of others left out
	SpanNs       int64            `json:"span_ns"`        // from the first start to the last end
	Streams      int              `json:"streams"`        // that ran a task
	HostCalls    int              `json:"host_calls"`
	ByKind       map[string]int64 `json:"by_kind"`
	WallOrdered  bool             `json:"wall_ordered"`
	Missing      []string         `json:"missing"`
	LostRecords  int64            `json:"lost_records"`
	BadRecords   int64            `json:"bad_records"`

	Hints         []string             `json:"hints"`   // what the source cannot tell, and how to collect it
	Records       map[string]int64     `json:"records"` // of the source, by its own kinds
	SourceDevices []trace.SourceDevice `json:"source_devices,omitempty"`
	Steps         int                  `json:"steps"`
	Counters      int                  `json:"counter_values"`
	Tables        map[string]int       `json:"tables"`  // rows of the tables beside the tasks
	Answers       []Answer             `json:"answers"` // what the collection can tell
	Gaps          []Gap                `json:"gaps"`    // the longest time in which a device ran nothing
	Notes         []string             `json:"notes"`   // what the reader did
}

// NewInfo describes t.
func NewInfo(t *trace.Trace) Info {
	c := NewInfoCollector()
	c.Whole(t)
	return c.Info(t)
}

// InfoCollector takes the tasks and calls of a trace piece by piece, as Collector does, for its description.
type InfoCollector struct {
	rows       int // tasks, parts among them
	tasks      int64
	deviceTime int64
	from, to   int64
	calls      int
	kinds      [256]int64
	other      map[trace.StringID]int64 // tasks that the source has its own words for
	devices    map[uint16]bool
	streams    map[streamKey]bool
	last       streamKey
	known      known
	gaps       gaps
	view       view
}

// NewInfoCollector makes a collector that has seen nothing.
func NewInfoCollector() *InfoCollector {
	return &InfoCollector{other: map[trace.StringID]int64{}, devices: map[uint16]bool{}, streams: map[streamKey]bool{}}
}

// Whole takes all of t.
func (c *InfoCollector) Whole(t *trace.Trace) {
	c.Tasks(&t.Tasks, t.Accounts)
	c.calls += t.Spans.Len()
}

// Calls counts host calls.
func (c *InfoCollector) Calls(rows []trace.Span) { c.calls += len(rows) }

// Tasks takes the next tasks in canonical order.
func (c *InfoCollector) Tasks(t *trace.Tasks, _ []trace.Account) {
	v := &c.view
	for k := range v.chunks(t) {
		v.load(t, k)
		c.known.add(v)
		c.gaps.add(v)
		c.add(v)
	}
}

func (c *InfoCollector) add(v *view) {
	for i := range v.n {
		if c.rows++; c.rows == 1 {
			c.from, c.to = v.start[i], v.end[i]
		}
		c.to = max(c.to, v.end[i])
		key := streamKey{v.device[i], v.stream[i]}
		if v.flags[i]&trace.FlagPart != 0 {
			c.devices[key.device] = true
			continue
		}
		if key != c.last || len(c.streams) == 0 {
			c.devices[key.device], c.streams[key], c.last = true, true, key
		}
		c.tasks++
		if !v.kind[i].Envelope() {
			c.deviceTime += v.end[i] - v.start[i]
		}
		if v.kind[i] == trace.Other && v.op[i] != 0 {
			c.other[v.op[i]]++
			continue
		}
		c.kinds[v.kind[i]]++
	}
}

// Info is the description of what was taken. t is the trace that it is of, whose tasks and calls are not looked at.
func (c *InfoCollector) Info(t *trace.Trace) Info {
	in := Info{
		Format: t.Source.Format, Chip: t.Meta.Chip, Model: t.Meta.Model, Policy: t.Meta.Policy, Ranks: t.Source.Ranks,
		Tasks: c.tasks, DeviceTimeNs: c.deviceTime, SpanNs: c.to - c.from, Streams: len(c.streams), Devices: len(c.devices),
		HostCalls: c.calls, WallOrdered: t.Meta.WallOrdered, LostRecords: t.Meta.Lost, BadRecords: t.Source.BadRecords,
		ByKind: map[string]int64{}, Missing: append([]string{}, t.Source.Missing...), Hints: append([]string{}, t.Source.Hints...),
		Records: map[string]int64{}, SourceDevices: t.Source.Devices, Steps: len(t.Source.Steps), Counters: t.Counters.Len(),
		Tables: map[string]int{}, Answers: c.answers(t), Gaps: c.gaps.list(), Notes: append([]string{}, t.Source.Notes...),
	}
	for i := range t.Source.Sheets {
		in.Tables[t.Source.Sheets[i].Name] = t.Source.Sheets[i].Rows
	}
	maps.Copy(in.Records, t.Source.Records)
	for op, n := range c.other {
		in.ByKind[t.String(op)] += n
	}
	for k, n := range c.kinds {
		if n > 0 {
			in.ByKind[trace.Kind(k).String()] += n
		}
	}
	if in.Devices == 0 {
		in.Devices = t.Meta.Devices
	}
	return in
}

type streamKey struct {
	device uint16
	stream uint32
}
