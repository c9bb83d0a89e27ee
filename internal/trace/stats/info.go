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
	in := Info{
		Format: t.Source.Format, Chip: t.Meta.Chip, Model: t.Meta.Model, Policy: t.Meta.Policy, Ranks: t.Source.Ranks,
		HostCalls: t.Spans.Len(), WallOrdered: t.Meta.WallOrdered, LostRecords: t.Meta.Lost, BadRecords: t.Source.BadRecords,
		ByKind: map[string]int64{}, Missing: append([]string{}, t.Source.Missing...), Hints: append([]string{}, t.Source.Hints...),
		Records: map[string]int64{}, SourceDevices: t.Source.Devices, Steps: len(t.Source.Steps), Counters: t.Counters.Len(),
		Tables: map[string]int{}, Answers: answers(t), Gaps: gaps(t), Notes: append([]string{}, t.Source.Notes...),
	}
	for i := range t.Source.Sheets {
		in.Tables[t.Source.Sheets[i].Name] = t.Source.Sheets[i].Rows
	}
	devices, streams := map[uint16]bool{}, map[streamKey]bool{}
	maps.Copy(in.Records, t.Source.Records)
	var kinds [256]int64
	var last streamKey
	for i, k := range t.Tasks.All() {
		if k.Flags&trace.FlagPart != 0 {
			devices[k.Device] = true
			continue
		}
		if key := (streamKey{k.Device, k.Stream}); i == 0 || key != last {
			devices[k.Device], streams[key], last = true, true, key
		}
		in.Tasks++
		if !k.Kind.Envelope() {
			in.DeviceTimeNs += k.End - k.Start
		}
		if k.Kind == trace.Other && k.Op != 0 {
			in.ByKind[t.String(k.Op)]++
			continue
		}
		kinds[k.Kind]++
	}
	for k, n := range kinds {
		if n > 0 {
			in.ByKind[trace.Kind(k).String()] += n
		}
	}
	if in.Devices = len(devices); in.Devices == 0 {
		in.Devices = t.Meta.Devices
	}
	in.Streams = len(streams)
	if from, to, ok := bounds(t); ok {
		in.SpanNs = to - from
	}
	return in
}

type streamKey struct {
	device uint16
	stream uint32
}

// bounds is the first start and the last end of all tasks.
func bounds(t *trace.Trace) (from, to int64, ok bool) {
	if t.Tasks.Len() == 0 {
		return 0, 0, false
	}
	from, to = t.Tasks.Start.At(0), t.Tasks.End.At(0)
	for i := range t.Tasks.Len() {
		to = max(to, t.Tasks.End.At(i))
	}
	return from, to, true
}
