package stats

import (
	"cmp"
	"maps"
	"slices"

	"npu/internal/trace"
)

// Stats is what "npu trace stats --json" prints.
type Stats struct {
	OpTypes []Op     `json:"op_types"`
	Ops     []Op     `json:"ops"`
	Streams []Stream `json:"streams"`
	Devices []Device `json:"devices"`
	Idle    Idle     `json:"idle"`     // of all streams
	BusyNs  int64    `json:"busy_ns"`  // sum of the tasks that occupied an engine
	UnionNs int64    `json:"union_ns"` // time during which at least one did, summed over the devices
	// Time during which copies and kernels ran at once, summed over the devices.
	CopyComputeNs int64 `json:"copy_compute_overlap_ns"`
}

// Op is the tasks of one operator type or of one operator. Tasks without an operator go by their kind.
type Op struct {
	Name    string `json:"name"`
	Type    string `json:"type,omitempty"` // operator type, of single operators
	Count   int64  `json:"count"`
	TotalNs int64  `json:"total_ns"`
	MeanNs  int64  `json:"mean_ns"`
	MaxNs   int64  `json:"max_ns"`
	Cycles  int64  `json:"cycles"`
	Bytes   int64  `json:"bytes"`
}

// Stream is the work and the idle time of one stream.
type Stream struct {
	Device  uint16 `json:"device"`
	Stream  uint32 `json:"stream"`
	Name    string `json:"name,omitempty"`
	Tasks   int64  `json:"tasks"`
	TotalNs int64  `json:"total_ns"`
	BusyNs  int64  `json:"busy_ns"`
	Idle    Idle   `json:"idle"`
}

// Device is the work of one device.
type Device struct {
	Device  uint16 `json:"device"`
	Tasks   int64  `json:"tasks"`
	SpanNs  int64  `json:"span_ns"`
	BusyNs  int64  `json:"busy_ns"`
	UnionNs int64  `json:"union_ns"`
}

// New computes the statistics of t in one pass over its tasks and one for the overlap.
func New(t *trace.Trace) Stats {
	types, ops := map[opKey]*Op{}, map[opKey]*Op{}
	streams, devices := map[streamKey]*streamSum{}, map[uint16]*deviceSum{}
	for _, k := range t.Tasks.All() {
		s := streams[streamKey{k.Device, k.Stream}]
		if s == nil {
			s = &streamSum{Stream: Stream{Device: k.Device, Stream: k.Stream}}
			streams[streamKey{k.Device, k.Stream}] = s
		}
		d := devices[k.Device]
		if d == nil {
			d = &deviceSum{Device: Device{Device: k.Device}, from: k.Start}
			devices[k.Device] = d
		}
		if k.Flags&trace.FlagPart != 0 {
			continue
		}
		s.add(&k)
		d.add(&k)
		if k.Kind.Envelope() {
			continue
		}
		of := opKey{op: k.Op}
		if k.Op == 0 {
			of.kind = k.Kind
		}
		cycles := t.Account(k.Acct).Total
		sum(types, of, &k, cycles)
		of.name = k.Name
		sum(ops, of, &k, cycles)
	}
	out := Stats{OpTypes: list(t, types, false), Ops: list(t, ops, true), Streams: []Stream{}, Devices: []Device{}}
	names := map[streamKey]string{}
	for _, s := range t.Streams {
		names[streamKey{s.Device, s.ID}] = s.Name
	}
	for _, key := range slices.SortedFunc(maps.Keys(streams), streamKey.compare) {
		s := streams[key].Stream
		s.Name = names[key]
		out.Streams = append(out.Streams, s)
		out.Idle.add(s.Idle)
	}
	for _, id := range slices.Sorted(maps.Keys(devices)) {
		d := devices[id]
		d.SpanNs = max(d.to-d.from, 0)
		out.Devices = append(out.Devices, d.Device)
		out.BusyNs += d.BusyNs
		out.UnionNs += d.UnionNs
	}
	out.CopyComputeNs = Overlap(t, IsCopy, IsKernel)
	return out
}

func (a streamKey) compare(b streamKey) int {
	return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.stream, b.stream))
}

// occupies says whether k held an engine of the device.
func occupies(k *trace.Task) bool {
	return k.Engine != trace.EngineNone && k.Engine != trace.EngineHost && !k.Kind.Envelope()
}

type deviceSum struct {
	Device
	from, to int64
	covered  int64 // end of what UnionNs covers so far
	some     bool
}

func (d *deviceSum) add(k *trace.Task) {
	d.Tasks++
	d.to = max(d.to, k.End)
	if !occupies(k) {
		return
	}
	d.BusyNs += k.End - k.Start
	from := k.Start
	if d.some {
		from = max(from, d.covered)
	}
	if k.End > from {
		d.UnionNs += k.End - from
		d.covered = k.End
	}
	d.some = true
}

type opKey struct {
	op, name trace.StringID
	kind     trace.Kind
}

func sum(all map[opKey]*Op, key opKey, k *trace.Task, cycles int64) {
	o := all[key]
	if o == nil {
		o = &Op{}
		all[key] = o
	}
	d := k.End - k.Start
	o.Count++
	o.TotalNs += d
	o.MaxNs = max(o.MaxNs, d)
	o.Cycles += cycles
	o.Bytes += k.Bytes
}

// list orders by total time, the longest first, then by name.
func list(t *trace.Trace, all map[opKey]*Op, single bool) []Op {
	out := make([]Op, 0, len(all))
	for key, o := range all {
		o.Name = t.String(key.op)
		if key.op == 0 {
			o.Name = key.kind.String()
		}
		if single {
			o.Type = o.Name
			if key.name != 0 {
				o.Name = t.String(key.name)
			}
		}
		o.MeanNs = o.TotalNs / o.Count
		out = append(out, *o)
	}
	slices.SortFunc(out, func(a, b Op) int {
		return cmp.Or(cmp.Compare(b.TotalNs, a.TotalNs), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
	})
	return out
}
