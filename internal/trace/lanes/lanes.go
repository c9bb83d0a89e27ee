// Package lanes lays a trace out as parallel lanes in which no two slices overlap: one a stream, one an engine, one a
// host thread, and further ones where slices would overlap. Every view of a trace as a timeline uses it.
package lanes

import (
	"cmp"
	"fmt"
	"slices"

	"npu/internal/trace"
)

// Of says what a lane shows.
type Of uint8

// What lanes show.
const (
	Stream Of = iota
	Engine
	Thread
)

// Lane is a row of a timeline.
type Lane struct {
	Of     Of
	Device uint16       // of streams and engines
	ID     uint32       // number of the stream, engine or thread
	Sub    int          // 0 for the first lane of that stream, engine or thread
	Engine trace.Engine // of engine lanes
	Name   string
}

// Layout is the lanes of a trace, by device, streams before engines, and host threads at the end.
type Layout struct {
	Lanes []Lane

	streams, engines, spans []int32 // lane of each row; -1 for none
}

// Stream is the lane of the stream of task row i.
func (l *Layout) Stream(i int) int { return int(l.streams[i]) }

// Engine is the lane of the engine of task row i; -1 for tasks that the scheduler did itself, and for parts of others.
func (l *Layout) Engine(i int) int { return int(l.engines[i]) }

// Span is the lane of host span i.
func (l *Layout) Span(i int) int { return int(l.spans[i]) }

// New lays t out.
func New(t *trace.Trace) *Layout {
	b := builder{rows: map[laneKey]*row{}}
	l := &Layout{
		streams: make([]int32, t.Tasks.Len()),
		engines: make([]int32, t.Tasks.Len()),
		spans:   make([]int32, t.Spans.Len()),
	}
	for i := range t.Tasks.Len() {
		start, end := t.Tasks.Start.At(i), t.Tasks.End.At(i)
		device, engine := t.Tasks.Device.At(i), t.Tasks.Engine.At(i)
		l.streams[i] = b.place(laneKey{device: device, of: Stream, id: t.Tasks.Stream.At(i)}, start, end)
		l.engines[i] = -1
		if engine != trace.EngineNone && t.Tasks.Flags.At(i)&trace.FlagPart == 0 {
			l.engines[i] = b.place(laneKey{device: device, of: Engine, id: uint32(engine)}, start, end)
		}
	}
	for i, s := range t.Spans.All() {
		l.spans[i] = b.place(laneKey{of: Thread, id: uint32(s.Thread)}, s.Start, s.End)
	}
	b.finish(l, t)
	return l
}

type laneKey struct {
	device uint16
	of     Of
	id     uint32
}

// row is a stream, engine or thread with the lanes it needs.
type row struct {
	key   laneKey
	lanes []lane
}

type lane struct {
	number int32   // in the order in which lanes were needed
	open   []int64 // ends of the slices that are open, the innermost last
}

type builder struct {
	rows   map[laneKey]*row
	recent [64]*row // of the rows: a trace has few, and they come again and again
	count  int32
}

// place puts a slice on the first lane that is free at start. On a host thread a slice may also lie within another,
// as a call within a call does. Slices come by start.
func (b *builder) place(key laneKey, start, end int64) int32 {
	near := &b.recent[(key.id+uint32(key.device)*7+uint32(key.of)*31)%uint32(len(b.recent))]
	r := *near
	if r == nil || r.key != key {
		if r = b.rows[key]; r == nil {
			r = &row{key: key}
			b.rows[key] = r
		}
		*near = r
	}
	for i := range r.lanes {
		if l := &r.lanes[i]; l.fits(start, end, key.of == Thread) {
			l.open = append(l.open, end)
			return l.number
		}
	}
	r.lanes = append(r.lanes, lane{b.count, []int64{end}})
	b.count++
	return b.count - 1
}

func (l *lane) fits(start, end int64, nest bool) bool {
	for len(l.open) > 0 && l.open[len(l.open)-1] <= start {
		l.open = l.open[:len(l.open)-1]
	}
	return len(l.open) == 0 || nest && end <= l.open[len(l.open)-1]
}

// finish orders the lanes and names them.
func (b *builder) finish(l *Layout, t *trace.Trace) {
	names := map[laneKey]string{}
	for _, s := range t.Streams {
		names[laneKey{s.Device, Stream, s.ID}] = s.Name
	}
	for _, th := range t.Threads {
		names[laneKey{of: Thread, id: uint32(th.ID)}] = th.Name
	}
	rows := make([]*row, 0, len(b.rows))
	for _, r := range b.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(x, y *row) int {
		a, c := x.key, y.key
		if (a.of == Thread) != (c.of == Thread) {
			return cmp.Compare(a.of, c.of)
		}
		return cmp.Or(cmp.Compare(a.device, c.device), cmp.Compare(a.of, c.of), cmp.Compare(a.id, c.id))
	})
	place := make([]int32, b.count)
	for _, r := range rows {
		for sub, ln := range r.lanes {
			place[ln.number] = int32(len(l.Lanes))
			l.Lanes = append(l.Lanes, Lane{
				Of: r.key.of, Device: r.key.device, ID: r.key.id, Sub: sub, Engine: engineOf(r.key),
				Name: name(r.key, names[r.key], sub, len(r.lanes)),
			})
		}
	}
	for _, rows := range [][]int32{l.streams, l.engines, l.spans} {
		for i, n := range rows {
			if n >= 0 {
				rows[i] = place[n]
			}
		}
	}
}

func engineOf(k laneKey) trace.Engine {
	if k.of == Engine {
		return trace.Engine(k.id)
	}
	return trace.EngineNone
}

func name(k laneKey, given string, sub, of int) string {
	var s string
	switch k.of {
	case Stream:
		s = fmt.Sprintf("Stream %d", k.id)
	case Engine:
		s = engineOf(k).String()
	case Thread:
		s = fmt.Sprintf("Thread %d", k.id)
	}
	if given != "" {
		s += " " + given
	}
	switch {
	case of == 1:
		return s
	case k.of == Engine:
		return fmt.Sprintf("%s %d", s, sub+1)
	case sub > 0:
		return fmt.Sprintf("%s (overlap %d)", s, sub)
	}
	return s
}
