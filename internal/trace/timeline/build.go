package timeline

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

type builder struct {
	ctx     context.Context
	options Options
	rec     *trace.Recorder
	source  trace.Source
	words   *ascend.Words

	processes map[string]*process
	ordered   []*process
	tracks    map[string]*track
	names     map[string]trace.StringID // by text as it stands in the file

	word       []byte // task type of the task before
	wordKind   trace.Kind
	wordEngine trace.Engine

	recent [16]seen
	key    []byte

	laid    bool
	devices bool // some process shows a device
	layers  [stepLayer + 1]bool
	own     bool // written by this program
	base    int64
	other   []byte // otherData
	scanned int64  // objects
	phased  int64  // those of them that are events
	bad     int64
	groups  uint32
	threads uint16
	phases  [128]int64
	flows   map[string]*[2]int64 // starts and ends of arrows by category

	calls      *callTable         // by connection: the call that submitted
	joined     bool               // some task names its call
	tasks      chunks[trace.Task] // of this program's own traces: tasks that wait for their calls
	stacks     map[*track][]opened
	submitters map[submitted]uint16 // threads, in traces of this program
	operations map[int64]bool       // connections of collective operations
	async      map[string][]opened
	open       map[*process]overlap
	batches    struct {
		spans []trace.Span
		tasks []trace.Task
	}
}

// call is a call with a connection id, and the task that it submitted. There may be as many as tasks.
type call struct {
	start        int64
	length       uint32 // longest: the table has its end
	stream, task uint32
	thread       uint16
	linked       bool
}

const longest = math.MaxUint32

// opened is the begin of a slice whose end comes as an event of its own.
type opened struct {
	start int64
	name  trace.StringID
	track *track
}

// overlap is the times of one device that the exporter summed up.
type overlap struct{ computing, communication, alone, free int64 }

// event takes one event of the second pass.
func (b *builder) event(e *event) {
	if len(e.ph) != 1 || e.ph[0] >= 128 {
		b.source.BadRecords++
		return
	}
	ph := e.ph[0]
	b.phased++
	b.phases[ph]++
	switch ph {
	case 'X', 'B', 'E', 'b', 'e', 'S', 'F', 'C':
	case 's', 'f':
		b.flow(ph, e.cat)
		return
	default:
		return
	}
	ts, ok := micros(e.ts)
	if !ok || ts > math.MaxInt64/2 || ts < math.MinInt64/2 {
		b.source.BadRecords++
		return
	}
	ts += b.base
	switch ph {
	case 'X':
		dur, ok := int64(0), true
		if e.dur != nil {
			dur, ok = length(e.dur)
		}
		if !ok || dur < 0 || dur > math.MaxInt64/4 {
			b.source.BadRecords++
			return
		}
		b.slice(b.track(e.pid, e.tid), e, ts, ts+dur)
	case 'B':
		t := b.track(e.pid, e.tid)
		b.stacks[t] = append(b.stacks[t], opened{ts, b.intern(e.name), t})
	case 'E':
		t := b.track(e.pid, e.tid)
		o, rest, ok := b.pop(b.stacks[t], e, ts)
		if !ok {
			b.source.BadRecords++
			return
		}
		b.stacks[t] = rest
		b.span(t, trace.Span{Start: o.start, End: ts, Name: o.name}, 0)
	case 'b', 'e', 'S', 'F':
		b.asynchronous(ph, e, ts)
	case 'C':
		b.counter(e, ts)
	}
}

// intern gives the id of a string of the file.
func (b *builder) intern(text []byte) trace.StringID {
	if id, ok := b.names[string(text)]; ok {
		return id
	}
	s := string(text)
	if bytes.IndexByte(text, '\\') >= 0 {
		s = plain(text)
	}
	id := b.rec.Intern(s)
	b.names[string(text)] = id
	return id
}

func (b *builder) slice(t *track, e *event, start, end int64) {
	switch t.process.layer {
	case deviceLayer:
		b.task(t, e, start, end)
	case commLayer:
		b.collective(t, e, start, end)
	case overlapLayer:
		b.overlap(t.process, e.name, end-start)
	case stepLayer:
		b.step(e, start, end)
	case countLayer, engineLayer:
		b.source.Records["slices of other layers"]++
	default:
		if b.own {
			b.ownCall(t, e, start, end)
			return
		}
		if p := t.process; p.name == "" && e.arg("Task Type") != nil && e.arg("Task Id") != nil {
			// The name of the process was lost, but only devices run tasks.
			p.layer, p.guessed, b.devices = deviceLayer, true, true
			b.task(t, e, start, end)
			return
		}
		name := b.intern(e.name)
		b.span(t, trace.Span{Start: start, End: end, Name: name}, b.connection(e))
	}
}

// span records a call, or keeps it until its task is known.
func (b *builder) span(t *track, s trace.Span, connection int64) {
	s.Thread, s.Device, s.Task = t.thread, t.process.device, trace.NoTask
	if connection > 0 {
		if b.calls.add(connection, call{start: s.Start, thread: s.Thread}, s.End) {
			s.Stream, s.Task, s.Code = uint32(connection), uint32(connection>>32), unlinked
		}
	}
	if b.batches.spans = append(b.batches.spans, s); len(b.batches.spans) == 1024 {
		b.rec.Spans(b.batches.spans)
		b.batches.spans = b.batches.spans[:0]
	}
}

// counter records each series of a counter event.
func (b *builder) counter(e *event, ts int64) {
	device := b.track(e.pid, e.tid).process.device
	unit := e.arg(unitKey)
	if unit != nil {
		unit = bare(unit)
	}
	for i := range e.pairs {
		key, value := e.pairs[i].key, e.pairs[i].value
		if unit != nil && string(key) == unitKey {
			continue
		}
		v, err := strconv.ParseFloat(string(bare(value)), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			b.source.BadRecords++
			continue
		}
		b.key = append(append(b.key[:0], e.name...), '\x01')
		b.key = append(append(append(b.key, unit...), '\x01'), key...)
		id, ok := b.names[string(b.key)]
		if !ok {
			name := plain(e.name)
			if unit != nil {
				name += " " + plain(unit)
			}
			if k := plain(key); k != "" && !(b.own && k == "value") {
				name += " (" + k + ")"
			}
			id = b.rec.Intern(name)
			b.names[string(b.key)] = id
		}
		b.rec.Counters([]trace.Counter{{Time: ts, Value: v, Name: id, Device: device}})
	}
}

// unitKey is the argument that says which accelerator a value is of: it measures nothing.
const unitKey = "acc_id"

// finish joins calls with tasks and says what was found.
func (b *builder) finish() {
	b.rec.Spans(b.batches.spans)
	b.link()
	left := 0
	for _, stack := range b.stacks {
		left += len(stack)
	}
	for _, stack := range b.async {
		left += len(stack)
	}
	guessed := 0
	for _, p := range b.ordered {
		if p.guessed {
			guessed++
		}
	}
	if guessed > 0 {
		b.source.Missing = append(b.source.Missing, fmt.Sprintf("the names of %d processes, which are taken for devices by their tasks", guessed))
	}
	if left > 0 {
		b.source.Missing = append(b.source.Missing, fmt.Sprintf("the ends of %d slices, which were left out", left))
	}
	total := int64(0)
	for ph, n := range b.phases {
		if total += n; n > 0 {
			b.source.Records["events "+string(rune(ph))] = n
		}
	}
	b.source.Records["events"] = total
	for category, n := range b.flows {
		for i, ph := range []string{"s", "f"} {
			if n[i] > 0 {
				b.source.Records["events "+ph+" of "+plain([]byte(category))] = n[i]
			}
		}
	}
	b.source.BadRecords += b.bad
	for _, p := range b.ordered {
		if o, ok := b.open[p]; ok {
			b.source.Steps = append(b.source.Steps, trace.Step{
				Name: "overlap analysis", Type: "device", Index: strconv.Itoa(int(p.device)),
				Computing: o.computing, Communication: o.communication, NotOverlapped: o.alone, Free: o.free,
			})
		}
	}
	switch {
	case b.devices:
	case b.layers[commLayer]:
		b.source.Missing = append(b.source.Missing, "device tasks: the trace holds collective operations alone")
	case b.layers[stepLayer]:
		b.source.Missing = append(b.source.Missing, "device tasks: the trace holds iterations alone")
	default:
		b.source.Missing = append(b.source.Missing, "device tasks: no process of the trace is an NPU")
	}
	b.rec.SetSource(b.source)
}

func (b *builder) overlap(p *process, name []byte, ns int64) {
	b.source.Records["overlap analysis slices"]++
	o := b.open[p]
	switch string(name) {
	case "Computing":
		o.computing += ns
	case "Communication":
		o.communication += ns
	case "Communication(Not Overlapped)":
		o.alone += ns
	case "Free":
		o.free += ns
	}
	b.open[p] = o
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
