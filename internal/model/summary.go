package model

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"npu/internal/model/plan"
	"npu/internal/trace"
)

// summary counts the tasks of a run as the device finishes them, so that a run of any length takes a fixed amount of
// memory. Tasks that started before from belong to loading and do not count.
type summary struct {
	from    atomic.Int64 // device ns; never until the model is loaded
	mu      sync.Mutex   // rows come from whoever drives the devices
	tasks   int
	streams map[stream]bool
	events  map[uint32]bool
	ops     map[opKey]*OpTime
	turns   map[uint16]*turn // by device
	strings func(trace.StringID) string
}

// turn is the iteration of a sunk model that a device works on, and the gaps between those before.
type turn struct {
	iter       uint32
	begun      bool
	start, end int64 // of its work on engines
	before     int64 // end of the iteration before, never without one
	gaps, idle int64
}

func (x *turn) add(t *trace.Task) {
	switch {
	case !x.begun:
		*x = turn{begun: true, iter: t.Iter, start: t.Start, before: never}
	case t.Iter != x.iter:
		x.close()
		x.iter, x.before, x.start = t.Iter, x.end, t.Start
	}
	x.start, x.end = min(x.start, t.Start), max(x.end, t.End)
}

// close counts the gap before the iteration at hand.
func (x *turn) close() {
	if x.before != never {
		x.gaps++
		x.idle += max(0, x.start-x.before)
	}
	x.before = never
}

type stream struct {
	device uint16
	id     uint32
}

type opKey struct {
	op  trace.StringID
	dir trace.Dir
}

const never = int64(1) << 62

func newSummary(rec *trace.Recorder) *summary {
	s := &summary{streams: map[stream]bool{}, events: map[uint32]bool{}, ops: map[opKey]*OpTime{}, turns: map[uint16]*turn{}}
	s.strings = func(id trace.StringID) string { return rec.StringTable()[id] }
	s.from.Store(never)
	return s
}

// add is the recorder's tap.
func (s *summary) add(rows []trace.Task) {
	from := s.from.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range rows {
		t := &rows[i]
		if t.Start < from {
			continue
		}
		s.tasks++
		if t.Model != 0 && t.Engine != trace.EngineNone {
			x := s.turns[t.Device]
			if x == nil {
				x = &turn{}
				s.turns[t.Device] = x
			}
			x.add(t)
		}
		s.streams[stream{t.Device, t.Stream}] = true
		var key opKey
		if t.Kind == trace.EventRecord || t.Kind == trace.NotifyRecord {
			s.events[t.Event] = true
			continue
		}
		switch {
		case t.Op != 0: // a kernel, or a part of an operator of communication, its waits included
			key.op = t.Op
		case t.Kind == trace.Memcpy:
			key.dir = t.Dir
		default:
			continue
		}
		x := s.ops[key]
		if x == nil {
			x = &OpTime{Type: "copy " + t.Dir.String()}
			if t.Op != 0 {
				x.Type = s.strings(t.Op)
			}
			s.ops[key] = x
		}
		x.Count++
		x.TimeNs += t.End - t.Start
	}
}

// between is the mean time, on a device, from the last work of an iteration of a sunk model to the first of the next;
// ok is false where there are no two.
func (s *summary) between() (ns int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gaps, idle int64
	for _, x := range s.turns {
		x.close()
		gaps, idle = gaps+x.gaps, idle+x.idle
	}
	if gaps == 0 {
		return 0, false
	}
	return idle / gaps, true
}

// collectives counts operators of communication, not the tasks that each of them became: those outside of branches, whose
// number is known.
func (s *summary) collectives(models []*Model, iterations int) {
	n := map[string]int{}
	for _, m := range models {
		for i := range m.Plan.Steps {
			if x := &m.Plan.Steps[i]; x.Kind == plan.Communicate {
				n[x.Op] += iterations
			} else if x.Communicates() {
				return
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.ops {
		if n[x.Type] > 0 {
			x.Count = n[x.Type]
		}
	}
}

// list is the operator types, the longest first.
func (s *summary) list() []OpTime {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]OpTime, 0, len(s.ops))
	for _, x := range s.ops {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b OpTime) int { return cmp.Or(cmp.Compare(b.TimeNs, a.TimeNs), cmp.Compare(a.Type, b.Type)) })
	return out
}
