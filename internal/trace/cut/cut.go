// Package cut takes a piece of a trace: a window of time, some streams, some devices. Tasks and calls that reach into the
// window are kept whole.
package cut

import (
	"math"
	"slices"

	"npu/internal/trace"
)

// Options says what to keep; the zero value keeps all.
type Options struct {
	From, To int64    // nanoseconds from the start of the trace; To 0 is the end
	Streams  []uint32 // by number, with the calls that submitted to them; none for all
	Devices  []uint16
	Ranks    []int
}

// Start is the time that a trace starts at: its first task or call.
func Start(t *trace.Trace) int64 {
	start := int64(math.MaxInt64)
	if t.Tasks.Len() > 0 {
		start = t.Tasks.Start.At(0)
	}
	if t.Spans.Len() > 0 {
		start = min(start, t.Spans.At(0).Start)
	}
	if start == math.MaxInt64 {
		return 0
	}
	return start
}

// Trace cuts t.
func Trace(t *trace.Trace, o Options) *trace.Trace {
	from, to := Start(t)+o.From, int64(math.MaxInt64)
	if o.To > 0 {
		to = Start(t) + o.To
	}
	devices := kept(t, &o)
	rec := trace.NewRecorder()
	rec.SetMeta(t.Meta)
	source := t.Source
	source.Steps, source.Totals = nil, nil
	rec.SetSource(source)
	ids := make([]trace.StringID, len(t.Strings))
	for i, s := range t.Strings {
		ids[i] = rec.Intern(s)
	}
	text := func(id trace.StringID) trace.StringID {
		if int(id) < len(ids) {
			return ids[id]
		}
		return 0
	}
	for i := range t.Tasks.Len() {
		if t.Tasks.Start.At(i) > to {
			break
		}
		if t.Tasks.End.At(i) < from || !devices(t.Tasks.Device.At(i)) || len(o.Streams) > 0 && !slices.Contains(o.Streams, t.Tasks.Stream.At(i)) {
			continue
		}
		k := t.Tasks.At(i)
		k.Name, k.Op, k.Acct = text(k.Name), text(k.Op), rec.AddAccount(t.Account(k.Acct))
		rec.Tasks([]trace.Task{k})
	}
	for _, s := range t.Spans.All() {
		if s.Start > to {
			break
		}
		if s.End >= from && devices(s.Device) && (len(o.Streams) == 0 || s.Task != trace.NoTask && slices.Contains(o.Streams, s.Stream)) {
			c := *s
			c.Name = text(c.Name)
			rec.Spans([]trace.Span{c})
		}
	}
	for _, c := range t.Counters.All() {
		if c.Time >= from && c.Time <= to && devices(c.Device) {
			v := *c
			v.Name = text(v.Name)
			rec.Counters([]trace.Counter{v})
		}
	}
	for _, s := range t.Streams {
		if devices(s.Device) && (len(o.Streams) == 0 || slices.Contains(o.Streams, s.ID)) {
			rec.NameStream(s.Device, s.ID, s.Name, s.Priority)
		}
	}
	for _, th := range t.Threads {
		rec.NameThread(th.ID, th.Name)
	}
	return rec.Finish()
}

// kept says which devices stay.
func kept(t *trace.Trace, o *Options) func(uint16) bool {
	if len(o.Devices) == 0 && len(o.Ranks) == 0 {
		return func(uint16) bool { return true }
	}
	keep := map[uint16]bool{}
	for _, d := range o.Devices {
		keep[d] = true
	}
	for _, d := range t.Source.Devices {
		if slices.Contains(o.Ranks, d.Rank) {
			keep[d.ID] = true
		}
	}
	return func(d uint16) bool { return keep[d] }
}
