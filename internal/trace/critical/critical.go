// Package critical finds the critical path of a trace: from the end of the last task back to the start, always over what held
// the next task up longest. Work on it is what to make faster; waits on it are what to reorder. Parts and envelopes of other
// tasks are left out, and the tasks by which a profiler starts and stops: they are the first and the last on the device, on a
// stream of their own.
package critical

import (
	"cmp"
	"slices"

	"npu/internal/trace"
)

// Cause says why a segment of the path is there.
type Cause string

// Causes.
const (
	Work      Cause = "work"      // a task ran
	Host      Cause = "host"      // the next task was not yet submitted
	Engine    Cause = "engine"    // the next task was ready, and no engine was free that the path knows of
	Event     Cause = "event"     // between a record and the wait that it released
	Scheduler Cause = "scheduler" // between tasks of a stream
	Unknown   Cause = "unknown"   // the source does not say when the next task was submitted
)

// Segment is a piece of the path. Pieces follow each other without a gap.
type Segment struct {
	Start  int64  `json:"start_ns"`
	End    int64  `json:"end_ns"`
	Cause  Cause  `json:"cause"`
	Name   string `json:"name"` // of the task that ran, or that was waiting
	Type   string `json:"type"`
	Device uint16 `json:"device"`
	Stream uint32 `json:"stream"`
	Task   uint32 `json:"task"`
}

// Path is the critical path.
type Path struct {
	TotalNs int64           `json:"total_ns"`
	Causes  map[Cause]int64 `json:"causes"`
	Ops     []Op            `json:"ops"` // work by operator type, the longest first

	t      *trace.Trace
	pieces []piece // the last one first
}

// piece is a segment in short: there may be as many as tasks.
type piece struct {
	start, end int64
	row        int32
	cause      uint8 // of causes
}

var causes = [...]Cause{Work, Host, Engine, Event, Scheduler, Unknown}

// Op is the share of one operator type.
type Op struct {
	Name    string `json:"name"`
	Count   int64  `json:"count"`
	TotalNs int64  `json:"total_ns"`
}

// Find finds the path of t, which it keeps.
func Find(t *trace.Trace) *Path {
	f := newFinder(t)
	p := &Path{Causes: map[Cause]int64{}, Ops: []Op{}, t: t}
	if len(f.byEnd) == 0 {
		return p
	}
	f.walk(f.byEnd[len(f.byEnd)-1])
	p.pieces = f.out
	type opKey struct {
		op   trace.StringID
		kind trace.Kind
	}
	work := map[opKey]*Op{}
	for _, x := range p.pieces {
		p.Causes[causes[x.cause]] += x.end - x.start
		p.TotalNs += x.end - x.start
		if causes[x.cause] != Work {
			continue
		}
		key := opKey{op: t.Tasks.Op.At(int(x.row))}
		if t.String(key.op) == "" {
			key.kind = t.Tasks.Kind.At(int(x.row))
		}
		o := work[key]
		if o == nil {
			o = &Op{Name: typeOf(t, int(x.row))}
			work[key] = o
		}
		o.Count++
		o.TotalNs += x.end - x.start
	}
	named := map[string]*Op{} // strings may be there twice, or be the name of a kind
	for _, o := range work {
		if same := named[o.Name]; same != nil {
			same.Count += o.Count
			same.TotalNs += o.TotalNs
			continue
		}
		named[o.Name] = o
	}
	for _, o := range named {
		p.Ops = append(p.Ops, *o)
	}
	slices.SortFunc(p.Ops, func(a, b Op) int { return cmp.Or(cmp.Compare(b.TotalNs, a.TotalNs), cmp.Compare(a.Name, b.Name)) })
	return p
}

// Len is how many segments the path has.
func (p *Path) Len() int { return len(p.pieces) }

// Segment is segment i, in the order of time.
func (p *Path) Segment(i int) Segment {
	x := &p.pieces[len(p.pieces)-1-i]
	k := p.t.Tasks.At(int(x.row))
	return Segment{
		Start: x.start, End: x.end, Cause: causes[x.cause], Name: p.t.Label(&k), Type: typeOf(p.t, int(x.row)),
		Device: k.Device, Stream: k.Stream, Task: k.Task,
	}
}

// Longest is the numbers of the n longest segments, in the order of time; of segments as long as each other the first.
func (p *Path) Longest(n int) []int {
	length := func(i int) int64 {
		x := &p.pieces[len(p.pieces)-1-i]
		return x.end - x.start
	}
	var list []int
	keep := func() {
		slices.SortFunc(list, func(a, b int) int { return cmp.Or(cmp.Compare(length(b), length(a)), cmp.Compare(a, b)) })
		list = list[:min(n, len(list))]
	}
	for i := range p.pieces {
		if list = append(list, i); len(list) >= 2*n+64 {
			keep()
		}
	}
	keep()
	slices.Sort(list)
	return list
}

func typeOf(t *trace.Trace, row int) string {
	if op := t.String(t.Tasks.Op.At(row)); op != "" {
		return op
	}
	return t.Tasks.Kind.At(row).String()
}

type streamKey struct {
	device uint16
	stream uint32
}

type engineKey struct {
	device uint16
	engine trace.Engine
}

type finder struct {
	t        *trace.Trace
	waits    *trace.Waits
	byEnd    []int32 // rows by end
	previous []int32 // of the same stream; -1 for none
	engines  map[engineKey][]int32
	records  map[uint16][]int32 // event records of a device by end
	seen     []bool
	out      []piece
}

func newFinder(t *trace.Trace) *finder {
	n := t.Tasks.Len()
	f := &finder{t: t, waits: t.Waits(), byEnd: make([]int32, 0, n), previous: make([]int32, n), engines: map[engineKey][]int32{}, records: map[uint16][]int32{}, seen: make([]bool, n)}
	last := map[streamKey]int32{}
	profiler := map[trace.StringID]bool{}
	for i, s := range t.Strings {
		if s == "PROFILING_ENABLE" || s == "PROFILING_DISABLE" {
			profiler[trace.StringID(i)] = true
		}
	}
	for i := range n {
		f.previous[i] = -1
		if t.Tasks.Flags.At(i)&trace.FlagPart != 0 || t.Tasks.Kind.At(i).Envelope() {
			continue
		}
		if name, op := t.Tasks.Name.At(i), t.Tasks.Op.At(i); t.Tasks.Kind.At(i) == trace.Other && (profiler[name] || profiler[op]) {
			continue
		}
		key := streamKey{t.Tasks.Device.At(i), t.Tasks.Stream.At(i)}
		if before, ok := last[key]; ok {
			f.previous[i] = before
		}
		last[key] = int32(i)
		f.byEnd = append(f.byEnd, int32(i))
	}
	f.sort()
	for _, row := range f.byEnd {
		if e := t.Tasks.Engine.At(int(row)); e != trace.EngineNone {
			key := engineKey{t.Tasks.Device.At(int(row)), e}
			f.engines[key] = append(f.engines[key], row)
		}
		if t.Tasks.Kind.At(int(row)) == trace.EventRecord {
			d := t.Tasks.Device.At(int(row))
			f.records[d] = append(f.records[d], row)
		}
	}
	return f
}

// sort puts byEnd in order. Rows that end together stay in theirs.
func (f *finder) sort() {
	type ended struct {
		end int64
		row int32
	}
	list := make([]ended, len(f.byEnd))
	for i, row := range f.byEnd {
		list[i] = ended{f.t.Tasks.End.At(int(row)), row}
	}
	slices.SortFunc(list, func(a, b ended) int {
		if a.end != b.end {
			return cmp.Compare(a.end, b.end)
		}
		return cmp.Compare(a.row, b.row)
	})
	for i, x := range list {
		f.byEnd[i] = x.row
	}
}

// latest is the row of rows, which are by end, that ended last by at and is not yet on the path; -1 for none.
func (f *finder) latest(rows []int32, at int64) int32 {
	end := &f.t.Tasks.End
	i, _ := slices.BinarySearchFunc(rows, at, func(row int32, at int64) int {
		if end.At(int(row)) <= at {
			return -1
		}
		return 1
	})
	// Of tasks that end together there may be many on the path already.
	for k := i - 1; k >= 0 && k >= i-64; k-- {
		if !f.seen[rows[k]] {
			return rows[k]
		}
	}
	return -1
}

// walk goes back from a row. at is the time up to which the path is known.
func (f *finder) walk(row int32) {
	at := f.t.Tasks.End.At(int(row))
	for row >= 0 && !f.seen[row] {
		f.seen[row] = true
		k := f.t.Tasks.At(int(row))
		next, cause, work := f.before(int(row), &k)
		from := k.Start
		if !work && next >= 0 {
			from = max(from, min(f.t.Tasks.End.At(int(next)), at))
		}
		if work {
			f.add(row, Work, min(from, at), at)
			at = min(from, at)
		}
		if next < 0 {
			break
		}
		if end := min(f.t.Tasks.End.At(int(next)), at); end < at {
			f.add(row, cause, end, at)
			at = end
		}
		row = next
	}
}

// before finds what the task of row had to wait for, and says whether its own time is work.
func (f *finder) before(row int, k *trace.Task) (next int32, cause Cause, work bool) {
	if r, ok := f.waits.Record(row); ok && !f.seen[r] && f.t.Tasks.End.At(r) >= f.end(f.previous[row]) {
		return int32(r), Event, false
	}
	isWait := k.Kind == trace.EventWait || k.Kind == trace.NotifyWait || k.Kind == trace.ValueWait
	if r := f.released(k); r >= 0 {
		return r, Event, false
	}
	if k.Start > k.Ready {
		if r := f.latest(f.engines[engineKey{k.Device, k.Engine}], k.Start); r >= 0 && f.end(r) > k.Ready {
			return r, Engine, true
		}
	}
	prev := f.previous[row]
	switch {
	case k.Flags&trace.FlagNoSubmit != 0:
		if prev >= 0 && f.end(prev) <= k.Start {
			return prev, Unknown, !isWait
		}
		return f.latest(f.byEnd, k.Start), Unknown, !isWait
	case prev >= 0 && f.end(prev) >= k.Submit && f.end(prev) <= k.Start:
		return prev, Scheduler, !isWait
	}
	return f.latest(f.byEnd, k.Submit), Host, !isWait
}

// released is the record that let a wait end of which the source does not say the event, as the vendor's tools do not: the last one
// on another stream that ended while it waited; -1 for none. One that need not wait lasts no longer than the scheduler takes.
func (f *finder) released(k *trace.Task) int32 {
	if k.Kind != trace.EventWait || k.Event != 0 {
		return -1
	}
	rows := f.records[k.Device]
	i, _ := slices.BinarySearchFunc(rows, k.End, func(row int32, at int64) int {
		if f.end(row) <= at {
			return -1
		}
		return 1
	})
	for n := i - 64; i > max(n, 0) && f.end(rows[i-1]) > k.Start; { // of those that end together many may be on the path already
		i--
		if !f.seen[rows[i]] && f.t.Tasks.Stream.At(int(rows[i])) != k.Stream {
			return rows[i]
		}
	}
	return -1
}

func (f *finder) end(row int32) int64 {
	if row < 0 {
		return -1 << 62
	}
	return f.t.Tasks.End.At(int(row))
}

func (f *finder) add(row int32, cause Cause, from, to int64) {
	if to > from {
		f.out = append(f.out, piece{from, to, row, uint8(slices.Index(causes[:], cause))})
	}
}
