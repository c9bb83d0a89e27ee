package chrome

import (
	"fmt"
	"math"
	"strconv"

	"npu/internal/trace"
	"npu/internal/trace/flow"
)

// heads is the first bytes of the events of one lane, which are the same each time: made once.
type heads struct{ task, engine, host, submits, submitted, releases, released []byte }

// newHeads makes the heads of all lanes.
func (c *writer) newHeads() {
	c.heads = make([]heads, len(c.lanes.Lanes))
	for i := range c.lanes.Lanes {
		pid := pidOf(&c.lanes.Lanes[i])
		head := func(ph, cat, rest string) []byte {
			return fmt.Appendf(nil, ",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"cat\":\"%s\"%s", ph, pid, tid(i), cat, rest)
		}
		c.heads[i] = heads{
			task: head("X", catTask, `,"ts":`), engine: head("X", catEngine, `,"ts":`), host: head("X", catHost, `,"ts":`),
			submits: head("s", "flow", `,"name":"submit","id":`), submitted: head("f", "flow", `,"name":"submit","id":`),
			releases: head("s", "flow", `,"name":"release","id":`), released: head("f", "flow", `,"name":"release","id":`),
		}
	}
}

// start writes the head of an event; the first of the file has no comma before it.
func (c *writer) start(head []byte) {
	if len(c.b) >= flushAt {
		c.flush()
	}
	if !c.some {
		head = head[len(",\n"):]
		c.some = true
	}
	c.b = append(c.b, head...)
}

// slice starts a complete event; the caller writes its args and closes it.
func (c *writer) slice(head []byte, start, end int64) {
	c.start(head)
	c.b = appendMicros(c.b, start-c.base)
	c.at(`,"dur":`, max(end-start, 0))
}

// arrow writes one end of an arrow, to the slice that was last written on the lane.
func (c *writer) arrow(head []byte, id, at int64, to bool) {
	c.start(head)
	c.number(id)
	c.at(`,"ts":`, at-c.base)
	if to {
		c.text(`,"bp":"e"}`)
		return
	}
	c.text("}")
}

// Arrows are numbered by the task that they point at, two a task.
func submitID(row int) int64  { return int64(row)*2 + 1 }
func releaseID(row int) int64 { return int64(row)*2 + 2 }

func (c *writer) spans() {
	for i, s := range c.t.Spans.All() {
		lane := c.lanes.Span(i)
		c.slice(c.heads[lane].host, s.Start, s.End)
		c.text(`,"name":`)
		c.name(s.Name, "call")
		c.text(`,"args":{`)
		if s.Task != trace.NoTask {
			c.text(`"device":`)
			c.number(int64(s.Device))
			c.text(`,"stream":`)
			c.number(int64(s.Stream))
			c.text(`,"task":`)
			c.number(int64(s.Task))
		}
		if s.Code != 0 {
			if s.Task != trace.NoTask {
				c.text(",")
			}
			c.text(`"code":`)
			c.number(int64(s.Code))
		}
		c.text("}}")
		if row := c.arrows.Submits[i]; row >= 0 {
			c.arrow(c.heads[lane].submits, submitID(int(row)), s.Start, false)
		}
	}
}

// tasks writes the tasks by start; those of one time in the order that arrows need.
func (c *writer) tasks() {
	s := flow.NewSequence(c.arrows, len(c.lanes.Lanes), c.lanes.Stream)
	n := c.t.Tasks.Len()
	for from := 0; from < n; {
		to := from + 1
		for to < n && c.t.Tasks.Start.At(to) == c.t.Tasks.Start.At(from) {
			to++
		}
		for _, row := range s.Next(from, to) {
			k := c.t.Tasks.At(int(row))
			c.task(int(row), &k)
		}
		from = to
	}
}

func (c *writer) task(i int, k *trace.Task) {
	head := &c.heads[c.lanes.Stream(i)]
	c.slice(head.task, k.Start, k.End)
	c.label(k)
	c.args(k)
	if span := c.arrows.Callers[i]; span >= 0 {
		c.arrow(head.submitted, submitID(i), max(k.Start, c.t.Spans.At(int(span)).Start), true)
	}
	if r := c.arrows.Records[i]; r >= 0 && c.t.Tasks.Start.At(int(r)) <= k.Start {
		c.arrow(head.released, releaseID(i), k.Start, true)
	}
	for _, r := range c.released(i, k.Kind) {
		c.arrow(head.releases, releaseID(int(r.Wait)), k.Start, false)
		// A wait that began before the record was written already.
		if c.t.Tasks.Start.At(int(r.Wait)) < k.Start {
			c.arrow(c.heads[c.lanes.Stream(int(r.Wait))].released, releaseID(int(r.Wait)), k.Start, true)
		}
	}
	if e := c.lanes.Engine(i); e >= 0 {
		c.slice(c.heads[e].engine, k.Start, k.End)
		c.label(k)
		c.text(`,"args":{"stream":`)
		c.number(int64(k.Stream))
		c.text(`,"task":`)
		c.number(int64(k.Task))
		c.text("}}")
	}
}

// released is the waits that a task released; most tasks are no records.
func (c *writer) released(i int, kind trace.Kind) []flow.Release {
	switch kind {
	case trace.EventRecord, trace.NotifyRecord, trace.ValueWrite:
		return c.arrows.Released(i)
	}
	return nil
}

func (c *writer) label(k *trace.Task) {
	c.text(`,"name":`)
	if k.Name != 0 {
		c.name(k.Name, "task")
		return
	}
	c.name(k.Op, k.Kind.String())
}

// name writes a string of the trace, or what stands for it where it is empty.
func (c *writer) name(id trace.StringID, empty string) {
	if id == 0 || int(id) >= len(c.quoted) {
		c.b = appendQuoted(c.b, empty)
		return
	}
	c.b = append(c.b, c.quoted[id]...)
}

func (c *writer) args(k *trace.Task) {
	c.text(`,"args":{"kind":"`)
	c.text(k.Kind.String())
	c.text(`","task":`)
	c.number(int64(k.Task))
	if k.Op != 0 {
		c.text(`,"op_type":`)
		c.name(k.Op, "")
	}
	if k.Kind == trace.Memcpy {
		c.text(`,"direction":"`)
		c.text(k.Dir.String())
		c.text(`"`)
	}
	c.arg(`,"block_dim":`, int64(k.Blocks))
	c.arg(`,"bytes":`, k.Bytes)
	c.arg(`,"queued_ns":`, k.Ready-k.Submit)
	c.arg(`,"engine_wait_ns":`, k.Start-k.Ready)
	c.arg(`,"event":`, int64(k.Event))
	c.arg(`,"generation":`, int64(k.Gen))
	if k.Model != 0 {
		c.arg(`,"model":`, int64(k.Model))
		c.text(`,"iteration":`)
		c.number(int64(k.Iter))
	}
	if k.Acct != 0 {
		c.text(`,"cycles":`)
		c.number(c.t.Account(k.Acct).Total)
	}
	if k.Flags&trace.FlagPart != 0 {
		c.text(`,"part":true`)
	}
	if k.Flags&trace.FlagNoSubmit != 0 {
		c.text(`,"submit":"unknown"`)
	}
	if k.Code != 0 {
		c.text(`,"code":"0x`)
		c.b = strconv.AppendUint(c.b, uint64(k.Code), 16)
		c.text(`"`)
	}
	c.text("}}")
}

// arg writes a number that is worth showing.
func (c *writer) arg(key string, v int64) {
	if v != 0 {
		c.text(key)
		c.number(v)
	}
}

func (c *writer) counters() {
	for _, v := range c.t.Counters.All() {
		if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
			continue // JSON has no such number
		}
		c.event("C", devicePid+int(v.Device), 0)
		c.at(`,"ts":`, v.Time-c.base)
		c.text(`,"name":`)
		c.name(v.Name, "counter")
		c.text(`,"args":{"value":`)
		c.b = strconv.AppendFloat(c.b, v.Value, 'f', -1, 64)
		c.text("}}")
	}
}
