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

	APIs          []Op         `json:"apis"`          // host calls
	Communication []Op         `json:"communication"` // collective operations
	Steps         []trace.Step `json:"steps"`         // as the source sums them up

	PMU       []Metrics     `json:"pmu"`                 // by operator type
	CommTimes []CommTime    `json:"communication_times"` // as the vendor's tools sum them up
	Links     []Link        `json:"links"`
	Counters  []CounterStat `json:"counters"`
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
	Rank    *int   `json:"rank,omitempty"`

	ComputeNs int64 `json:"compute_ns"`               // time during which at least one kernel ran
	CommNs    int64 `json:"communication_ns"`         // at least one collective operation
	ExposedNs int64 `json:"exposed_communication_ns"` // a collective operation and no kernel
	FreeNs    int64 `json:"free_ns"`                  // neither
}

// New computes the statistics of t in one pass over its tasks, one over its calls and one for the overlap.
func New(t *trace.Trace) Stats {
	c := collector{t: t, types: newOps(0), ops: newOps(len(t.Strings)), comm: newOps(0), streams: map[streamKey]*streamSum{}, devices: map[uint16]*deviceSum{}}
	for i := range t.Tasks.Len() {
		k := t.Tasks.At(i)
		c.add(&k)
	}
	out := Stats{
		OpTypes: c.types.list(t, false), Ops: c.ops.list(t, true), Streams: []Stream{}, Devices: []Device{}, APIs: calls(t), Communication: c.comm.list(t, true),
		Steps: append([]trace.Step{}, t.Source.Steps...), PMU: metrics(t.Source.Sheet("pmu")), CommTimes: commTimes(t), Links: links(t), Counters: counterStats(t),
	}
	names := map[streamKey]string{}
	for _, s := range t.Streams {
		names[streamKey{s.Device, s.ID}] = s.Name
	}
	for _, key := range slices.SortedFunc(maps.Keys(c.streams), streamKey.compare) {
		s := c.streams[key].Stream
		s.Name = names[key]
		out.Streams = append(out.Streams, s)
		out.Idle.add(s.Idle)
	}
	ranks := map[uint16]int{}
	for _, d := range t.Source.Devices {
		ranks[d.ID] = d.Rank
	}
	for _, id := range slices.Sorted(maps.Keys(c.devices)) {
		out.CopyComputeNs += c.devices[id].copied
		d := c.devices[id].finish()
		if rank, ok := ranks[id]; ok && rank >= 0 {
			d.Rank = &rank
		}
		out.Devices = append(out.Devices, d)
		out.BusyNs += d.BusyNs
		out.UnionNs += d.UnionNs
	}
	totals(t, &out)
	return out
}

// collector sums the tasks up. Most tasks are of the stream of the task before.
type collector struct {
	t                *trace.Trace
	types, ops, comm *ops
	streams          map[streamKey]*streamSum
	devices          map[uint16]*deviceSum
	stream           *streamSum
	device           *deviceSum
	recent           [64]*streamSum
}

func (c *collector) add(k *trace.Task) {
	if c.device == nil || c.device.Device.Device != k.Device {
		if c.device = c.devices[k.Device]; c.device == nil {
			c.device = &deviceSum{Device: Device{Device: k.Device}, from: k.Start, to: k.Start}
			c.devices[k.Device] = c.device
		}
	}
	c.device.cover(k)
	of := opKey{op: k.Op}
	if k.Op == 0 {
		of.kind = k.Kind
	}
	if k.Kind == trace.Communication {
		c.comm.add(opKey{op: k.Op, name: k.Name, kind: k.Kind}, k, 0)
	}
	if k.Flags&trace.FlagPart != 0 {
		return
	}
	if s := c.stream; s == nil || s.Stream.Stream != k.Stream || s.Stream.Device != k.Device {
		key := streamKey{k.Device, k.Stream}
		recent := &c.recent[(k.Stream^uint32(k.Device)<<3)%uint32(len(c.recent))]
		if *recent == nil || (*recent).Stream.Stream != k.Stream || (*recent).Stream.Device != k.Device {
			s := c.streams[key]
			if s == nil {
				s = &streamSum{Stream: Stream{Device: k.Device, Stream: k.Stream}}
				c.streams[key] = s
			}
			*recent = s
		}
		c.stream = *recent
	}
	c.stream.add(k)
	c.device.add(k)
	if k.Kind.Envelope() {
		return
	}
	cycles := c.t.Account(k.Acct).Total
	c.types.add(of, k, cycles)
	of.name = k.Name
	c.ops.add(of, k, cycles)
}

func (a streamKey) compare(b streamKey) int {
	return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.stream, b.stream))
}
