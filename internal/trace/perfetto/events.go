package perfetto

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"npu/internal/trace"
	"npu/internal/trace/flow"
)

// open is a slice that has begun.
type open struct {
	end  int64
	lane int32
	row  int32 // of the task; -1 for slices of engines and host threads
}

// ends is the slices that have begun: a heap with the first to end on top.
type ends []open

func (e ends) before(i, j int) bool {
	return e[i].end < e[j].end || e[i].end == e[j].end && e[i].lane < e[j].lane
}

func (e *ends) push(o open) {
	*e = append(*e, o)
	h := *e
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.before(i, up) {
			break
		}
		h[i], h[up], i = h[up], h[i], up
	}
}

func (e *ends) pop() open {
	h := *e
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			break
		}
		if down+1 < last && h.before(down+1, down) {
			down++
		}
		if !h.before(down, i) {
			break
		}
		h[i], h[down], i = h[down], h[i], down
	}
	*e = h
	return top
}

// events writes all events by time: at one time first the host calls, then counters, then tasks.
func (c *writer) events() {
	s := flow.NewSequence(c.arrows, len(c.lanes.Lanes), c.lanes.Stream)
	task, span, counter := 0, 0, 0
	tasks, spans, counters := c.t.Tasks.Len(), c.t.Spans.Len(), c.t.Counters.Len()
	for task < tasks || span < spans || counter < counters {
		at := int64(math.MaxInt64)
		if task < tasks {
			at = c.t.Tasks.Start.At(task)
		}
		if span < spans {
			at = min(at, c.t.Spans.At(span).Start)
		}
		if counter < counters {
			at = min(at, c.t.Counters.At(counter).Time)
		}
		c.close(at)
		for ; span < spans && c.t.Spans.At(span).Start == at; span++ {
			c.span(span)
		}
		for ; counter < counters && c.t.Counters.At(counter).Time == at; counter++ {
			c.counter(c.t.Counters.At(counter))
		}
		to := task
		for to < tasks && c.t.Tasks.Start.At(to) == at {
			to++
		}
		if to > task {
			for _, row := range s.Next(task, to) {
				c.task(int(row))
			}
		}
		task = to
		c.release()
	}
	c.close(math.MaxInt64)
	c.release()
}

// close ends the slices that end by at. The end of a wait carries the arrow of its record, so where the record comes at
// this very time the end waits for it; see release.
func (c *writer) close(at int64) {
	for len(c.ends) > 0 && c.ends[0].end <= at {
		o := c.ends.pop()
		if o.end == at && o.row >= 0 {
			if r := c.arrows.Records[o.row]; r >= 0 && c.t.Tasks.Start.At(int(r)) == at {
				c.hold[o.lane] = int(o.row)
				continue
			}
		}
		c.end(o.end, int(o.lane), int(o.row))
	}
}

// release ends the waits that were held for their records.
func (c *writer) release() {
	for len(c.hold) > 0 {
		first := int32(math.MaxInt32)
		for lane := range c.hold {
			first = min(first, lane)
		}
		c.endHeld(first)
	}
}

func (c *writer) endHeld(lane int32) {
	if row, ok := c.hold[lane]; ok {
		delete(c.hold, lane)
		c.end(c.t.Tasks.End.At(row), int(lane), row)
	}
}

// start starts an event packet at a time that is not before the one of the packet before.
func (c *writer) start(at int64, kind, track uint64) {
	at = max(at-c.base, c.now)
	c.packet = number(c.packet, packetTimestamp, uint64(at-c.now))
	c.now = at
	c.packet = number(c.packet, packetSequence, sequence)
	if kind != typeEnd { // an end names nothing
		c.packet = number(c.packet, packetFlags, flagsNeedIncremental)
	}
	c.event = number(number(c.event[:0], eventType, kind), eventTrack, track)
}

// finish writes the event packet, with the names that it used first.
func (c *writer) finish() {
	c.packet = field(c.packet, packetEvent, c.event)
	if len(c.names) > 0 {
		c.packet = field(c.packet, packetInterned, c.names)
		c.names = c.names[:0]
	}
	c.put()
}

func (c *writer) arrow(f protowire.Number, id uint64) {
	c.event = protowire.AppendFixed64(protowire.AppendTag(c.event, f, protowire.Fixed64Type), id)
}

// Arrows are numbered by the task that they point at, two a task.
func submitID(row int) uint64  { return uint64(row)*2 + 1 }
func releaseID(row int) uint64 { return uint64(row)*2 + 2 }

func (c *writer) span(i int) {
	s := c.t.Spans.At(i)
	lane := c.lanes.Span(i)
	c.start(s.Start, typeBegin, c.laneTrack(lane))
	c.category(catHost)
	c.name(s.Name, "call", wordCall)
	if s.Task != trace.NoTask {
		c.number(keyDevice, int64(s.Device))
		c.number(keyStream, int64(s.Stream))
		c.number(keyTask, int64(s.Task))
	}
	c.some(keyCode, int64(s.Code))
	if row := c.arrows.Submits[i]; row >= 0 && c.follows(int(row), i) {
		c.arrow(eventFlows, submitID(int(row)))
	}
	c.finish()
	c.opened(s.Start, s.End, lane, -1)
}

// opened ends a slice at once where it takes no time, and else later.
func (c *writer) opened(start, end int64, lane, row int) {
	if end <= start {
		c.end(start, lane, row)
		return
	}
	c.ends.push(open{end, int32(lane), int32(row)})
}

// end ends a slice. Viewers draw an arrow from the slice that began first to the one that began later, so a wait that
// began before its record ends with an instant that the arrow points at.
func (c *writer) end(at int64, lane, row int) {
	released := row >= 0 && c.arrows.Records[row] >= 0
	if released && c.t.Tasks.Start.At(int(c.arrows.Records[row])) > c.t.Tasks.Start.At(row) {
		c.start(at, typeInstant, c.laneTrack(lane))
		c.category(catFlow)
		c.name(0, "released", wordReleased)
		c.arrow(eventFlowsEnd, releaseID(row))
		c.finish()
		released = false
	}
	c.start(at, typeEnd, c.laneTrack(lane))
	if released {
		c.arrow(eventFlowsEnd, releaseID(row))
	}
	c.finish()
}

// follows says whether a task starts no earlier than the call that submitted it; it may where two clocks were joined.
func (c *writer) follows(row, span int) bool {
	return c.t.Tasks.Start.At(row) >= c.t.Spans.At(span).Start
}

func (c *writer) counter(v *trace.Counter) {
	if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
		return
	}
	c.start(v.Time, typeCounter, c.counters[counterKey{v.Device, v.Name}])
	c.event = protowire.AppendFixed64(protowire.AppendTag(c.event, eventDouble, protowire.Fixed64Type), math.Float64bits(v.Value))
	c.finish()
}

func (c *writer) task(i int) {
	k := c.t.Tasks.At(i)
	lane := c.lanes.Stream(i)
	c.endHeld(int32(lane))
	c.start(k.Start, typeBegin, c.laneTrack(lane))
	c.category(catTask)
	c.label(&k)
	c.args(&k)
	for _, r := range c.arrows.Released(i) {
		c.arrow(eventFlows, releaseID(int(r.Wait)))
	}
	if span := c.arrows.Callers[i]; span >= 0 && c.follows(i, int(span)) {
		c.arrow(eventFlowsEnd, submitID(i))
	}
	c.finish()
	c.opened(k.Start, k.End, lane, i)
	if e := c.lanes.Engine(i); e >= 0 {
		c.start(k.Start, typeBegin, c.laneTrack(e))
		c.category(catEngine)
		c.label(&k)
		c.finish()
		c.opened(k.Start, k.End, e, -1)
	}
}
