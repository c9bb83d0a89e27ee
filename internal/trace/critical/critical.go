// Package critical finds the critical path of a trace: from the end of the last task back to the start, always over what held
// the next task up longest. Work on it is what to make faster; waits on it are what to reorder. Parts and envelopes of other
// tasks are left out.
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
	TotalNs  int64           `json:"total_ns"`
	Causes   map[Cause]int64 `json:"causes"`
	Ops      []Op            `json:"ops"` // work by operator type, the longest first
	Segments []Segment       `json:"segments"`
}

// Op is the share of one operator type.
type Op struct {
	Name    string `json:"name"`
	Count   int64  `json:"count"`
	TotalNs int64  `json:"total_ns"`
}

// Find finds the path of t.
func Find(t *trace.Trace) Path {
	f := newFinder(t)
	p := Path{Causes: map[Cause]int64{}, Ops: []Op{}, Segments: []Segment{}}
	if len(f.byEnd) == 0 {
		return p
	}
	f.walk(f.byEnd[len(f.byEnd)-1])
	slices.Reverse(f.out)
	ops := map[string]*Op{}
	for _, s := range f.out {
		p.Causes[s.Cause] += s.End - s.Start
		p.TotalNs += s.End - s.Start
		if s.Cause != Work {
			continue
		}
		o := ops[s.Type]
		if o == nil {
			o = &Op{Name: s.Type}
			ops[s.Type] = o
		}
		o.Count++
		o.TotalNs += s.End - s.Start
	}
	for _, o := range ops {
		p.Ops = append(p.Ops, *o)
	}
	slices.SortFunc(p.Ops, func(a, b Op) int { return cmp.Or(cmp.Compare(b.TotalNs, a.TotalNs), cmp.Compare(a.Name, b.Name)) })
	if f.out != nil {
		p.Segments = f.out
	}
	return p
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
	seen     []bool
	out      []Segment
}

func newFinder(t *trace.Trace) *finder {
	n := t.Tasks.Len()
	f := &finder{t: t, waits: t.Waits(), previous: make([]int32, n), engines: map[engineKey][]int32{}, seen: make([]bool, n)}
	last := map[streamKey]int32{}
	for i := range n {
		f.previous[i] = -1
		if t.Tasks.Flags.At(i)&trace.FlagPart != 0 || t.Tasks.Kind.At(i).Envelope() {
			continue
		}
		key := streamKey{t.Tasks.Device.At(i), t.Tasks.Stream.At(i)}
		if before, ok := last[key]; ok {
			f.previous[i] = before
		}
		last[key] = int32(i)
		f.byEnd = append(f.byEnd, int32(i))
	}
	f.sort(f.byEnd)
	for _, row := range f.byEnd {
		if e := t.Tasks.Engine.At(int(row)); e != trace.EngineNone {
			key := engineKey{t.Tasks.Device.At(int(row)), e}
			f.engines[key] = append(f.engines[key], row)
		}
	}
	return f
}

func (f *finder) sort(rows []int32) {
	end := &f.t.Tasks.End
	slices.SortStableFunc(rows, func(a, b int32) int { return cmp.Compare(end.At(int(a)), end.At(int(b))) })
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
			f.add(&k, Work, min(from, at), at)
			at = min(from, at)
		}
		if next < 0 {
			break
		}
		if end := min(f.t.Tasks.End.At(int(next)), at); end < at {
			f.add(&k, cause, end, at)
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

func (f *finder) end(row int32) int64 {
	if row < 0 {
		return -1 << 62
	}
	return f.t.Tasks.End.At(int(row))
}

func (f *finder) add(k *trace.Task, cause Cause, from, to int64) {
	if to <= from {
		return
	}
	op := f.t.String(k.Op)
	if op == "" {
		op = k.Kind.String()
	}
	f.out = append(f.out, Segment{Start: from, End: to, Cause: cause, Name: f.t.Label(k), Type: op, Device: k.Device, Stream: k.Stream, Task: k.Task})
}
