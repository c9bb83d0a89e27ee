package stats

import "npu/internal/trace"

// Idle is how long streams stood still, by cause, from the first submission of the stream on.
type Idle struct {
	HostNs      int64 `json:"host_ns"`      // nothing was submitted
	EventNs     int64 `json:"event_ns"`     // held by an event, notify or value of another stream
	EngineNs    int64 `json:"engine_ns"`    // ready, and no engine was free
	SchedulerNs int64 `json:"scheduler_ns"` // the scheduler's own time between tasks
	UnknownNs   int64 `json:"unknown_ns"`   // the source does not say when the next task was submitted
}

// Total is the sum of all causes.
func (i Idle) Total() int64 { return i.HostNs + i.EventNs + i.EngineNs + i.SchedulerNs + i.UnknownNs }

func (i *Idle) add(o Idle) {
	i.HostNs += o.HostNs
	i.EventNs += o.EventNs
	i.EngineNs += o.EngineNs
	i.SchedulerNs += o.SchedulerNs
	i.UnknownNs += o.UnknownNs
}

// streamSums sums up each stream. Most tasks are of a stream that was seen lately.
type streamSums struct {
	all    map[streamKey]*streamSum
	recent [64]*streamSum
}

func newStreamSums() streamSums { return streamSums{all: map[streamKey]*streamSum{}} }

func (s *streamSums) add(v *view) {
	var k trace.Task
	for i := range v.n {
		if k.Flags = v.flags[i]; k.Flags&trace.FlagPart != 0 {
			continue
		}
		k.Submit, k.Ready, k.Start, k.End, k.Kind, k.Engine = v.submit[i], v.ready[i], v.start[i], v.end[i], v.kind[i], v.engine[i]
		key := streamKey{v.device[i], v.stream[i]}
		recent := &s.recent[(key.stream^uint32(key.device)<<3)%uint32(len(s.recent))]
		if x := *recent; x == nil || x.Stream.Stream != key.stream || x.Stream.Device != key.device {
			if x = s.all[key]; x == nil {
				x = &streamSum{Stream: Stream{Device: key.device, Stream: key.stream}}
				s.all[key] = x
			}
			*recent = x
		}
		(*recent).add(&k)
	}
}

type streamSum struct {
	Stream
	free int64 // when the task before ended
	some bool
}

func (s *streamSum) add(k *trace.Task) {
	if !s.some {
		s.free, s.some = k.Submit, true
	}
	s.Tasks++
	if !k.Kind.Envelope() {
		s.TotalNs += k.End - k.Start
	}
	if occupies(k) {
		s.BusyNs += k.End - k.Start
	}
	s.Idle.add(Waited(k, s.free))
	s.free = max(s.free, k.End)
}

// Waited splits the time from free, when the stream had nothing left to do, to the start of k. The run time of a wait
// is waiting as well.
func Waited(k *trace.Task, free int64) Idle {
	var i Idle
	if k.Flags&trace.FlagNoSubmit != 0 {
		i.UnknownNs = max(k.Start-free, 0)
		if waits(k.Kind) {
			i.EventNs = max(k.End-max(k.Start, free), 0)
		}
		return i
	}
	if k.Start > free {
		submit := min(max(k.Submit, free), k.Start)
		ready := min(max(k.Ready, submit), k.Start)
		i.HostNs, i.SchedulerNs, i.EngineNs = submit-free, ready-submit, k.Start-ready
	}
	switch {
	case waits(k.Kind):
		i.EventNs = i.SchedulerNs + i.EngineNs + max(k.End-max(k.Start, free), 0)
		i.SchedulerNs, i.EngineNs = 0, 0
	case k.Engine == trace.EngineNone:
		i.SchedulerNs, i.EngineNs = i.SchedulerNs+i.EngineNs, 0
	}
	return i
}

// waits says whether tasks of kind k do nothing but wait for another.
func waits(k trace.Kind) bool {
	return k == trace.EventWait || k == trace.NotifyWait || k == trace.ValueWait
}
