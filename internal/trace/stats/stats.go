package stats

import (
	"cmp"
	"maps"
	"slices"
	"sync"

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

// New computes the statistics of t.
func New(t *trace.Trace) Stats {
	c := NewCollector()
	c.Whole(t)
	return c.Stats(t)
}

// Collector sums up tasks and calls that come piece by piece. It keeps none of them.
type Collector struct {
	ops     opSums
	streams streamSums
	devices deviceSums
	calls   callSums
	view    view
}

// NewCollector makes a collector that has seen nothing.
func NewCollector() *Collector {
	return &Collector{ops: newOpSums(), streams: newStreamSums(), devices: newDeviceSums()}
}

// Tasks takes the next tasks in canonical order, which refer to these accounts.
func (c *Collector) Tasks(t *trace.Tasks, accounts []trace.Account) {
	for k := range c.view.chunks(t) {
		c.view.load(t, k)
		c.ops.add(&c.view, accounts)
		c.streams.add(&c.view)
		c.devices.add(&c.view)
	}
}

// Calls takes host calls, in any order, whose names all exist.
func (c *Collector) Calls(rows []trace.Span) {
	for i := range rows {
		c.calls.add(&rows[i])
	}
}

// Whole takes all of t. Each kind of sum is one goroutine's, so that no sum depends on how many there are.
func (c *Collector) Whole(t *trace.Trace) {
	var all sync.WaitGroup
	each := func(add func(v *view)) {
		all.Go(func() {
			v := &view{}
			for k := range v.chunks(&t.Tasks) {
				v.load(&t.Tasks, k)
				add(v)
			}
		})
	}
	each(func(v *view) { c.ops.add(v, t.Accounts) })
	each(c.streams.add)
	each(c.devices.add)
	all.Go(func() {
		for _, s := range t.Spans.All() {
			if int(s.Name) < len(t.Strings) {
				c.calls.add(s)
			}
		}
	})
	all.Wait()
}

// Stats is the statistics of what was taken. t is the trace that it is of, whose tasks and calls are not looked at.
func (c *Collector) Stats(t *trace.Trace) Stats {
	out := Stats{
		OpTypes: c.ops.types.list(t, false), Ops: c.ops.ops.list(t, true), Streams: []Stream{}, Devices: []Device{}, APIs: c.calls.list(t), Communication: c.ops.collectives(t),
		Steps: append([]trace.Step{}, t.Source.Steps...), PMU: metrics(t.Source.Sheet("pmu")), CommTimes: commTimes(t), Links: links(t), Counters: counterStats(t),
	}
	names := map[streamKey]string{}
	for _, s := range t.Streams {
		names[streamKey{s.Device, s.ID}] = s.Name
	}
	for _, key := range slices.SortedFunc(maps.Keys(c.streams.all), streamKey.compare) {
		s := c.streams.all[key].Stream
		s.Name = names[key]
		out.Streams = append(out.Streams, s)
		out.Idle.add(s.Idle)
	}
	ranks := map[uint16]int{}
	for _, d := range t.Source.Devices {
		ranks[d.ID] = d.Rank
	}
	for _, id := range slices.Sorted(maps.Keys(c.devices.all)) {
		out.CopyComputeNs += c.devices.all[id].copied
		d := c.devices.all[id].finish()
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

func (a streamKey) compare(b streamKey) int {
	return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.stream, b.stream))
}
