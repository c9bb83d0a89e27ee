package chrome

import (
	"fmt"
	"math"
	"strconv"

	"npu/internal/trace"
)

// heads is the first bytes of the events of one lane, which are the same each time: made once.
type heads struct{ task, engine, host, submits, submitted, releases, released, instant []byte }

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
			submits: head("s", catFlow, `,"name":"submit","id":`), submitted: head("f", catFlow, `,"name":"submit","id":`),
			releases: head("s", catFlow, `,"name":"release","id":`), released: head("f", catFlow, `,"name":"release","id":`),
			instant: head("i", catFlow, `,"name":"released","s":"t","ts":`),
		}
	}
}

// form formats rows, each event with a comma before it. It changes nothing of the writer that it belongs to.
type form struct {
	*writer
	rows   []int32 // of tasks to format
	b      []byte
	labels [64]label
}

func newForm(c *writer) *form {
	return &form{writer: c, b: make([]byte, 0, min(chunkRows, c.t.Tasks.Len())*rowBytes)}
}

// rowBytes is about what a task takes.
const rowBytes = 640

// label is the text that tasks of one name, operator type and kind have in common: made once while they follow each other.
type label struct {
	known    bool
	name, op trace.StringID
	kind     trace.Kind
	named    int    // of text: where the args begin
	text     []byte // name and first args
}

// Arrows are numbered by the task that they point at, two a task.
func submitID(row int) int64  { return int64(row)*2 + 1 }
func releaseID(row int) int64 { return int64(row)*2 + 2 }

// appendArrow writes one end of an arrow, to the slice that was last written on the lane. Its time is that text.
func appendArrow(b, head []byte, id int64, at []byte, to bool) []byte {
	b = append(appendInt(append(b, head...), id), `,"ts":`...)
	b = append(b, at...)
	if to {
		return append(b, `,"bp":"e"}`...)
	}
	return append(b, '}')
}

func (f *form) spans(from, to int) {
	b := f.b
	for i := from; i < to; i++ {
		s := f.t.Spans.At(i)
		head := &f.heads[f.lanes.Span(i)]
		b = append(b, head.host...)
		stamp := len(b)
		b = appendMicros(b, s.Start-f.base)
		at := b[stamp:]
		b = appendMicros(append(b, `,"dur":`...), max(s.End-s.Start, 0))
		b = f.appendName(append(b, `,"name":`...), s.Name, "call")
		b = append(b, `,"args":{`...)
		if s.Task != trace.NoTask {
			b = appendUint(append(b, `"device":`...), uint64(s.Device))
			b = appendUint(append(b, `,"stream":`...), uint64(s.Stream))
			b = appendUint(append(b, `,"task":`...), uint64(s.Task))
		}
		if s.Code != 0 {
			if s.Task != trace.NoTask {
				b = append(b, ',')
			}
			b = appendUint(append(b, `"code":`...), uint64(s.Code))
		}
		b = append(b, '}', '}')
		if row := f.arrows.Submits[i]; row >= 0 {
			b = appendArrow(b, head.submits, submitID(int(row)), at, false)
		}
	}
	f.b = b
}

func (f *form) tasks() {
	for _, row := range f.rows {
		k := f.t.Tasks.At(int(row))
		f.task(int(row), &k)
	}
}

func (f *form) task(i int, k *trace.Task) {
	head := &f.heads[f.lanes.Stream(i)]
	b := append(f.b, head.task...)
	times := len(b)
	b = appendMicros(b, k.Start-f.base)
	at := b[times:] // good when b moves
	b = appendMicros(append(b, `,"dur":`...), max(k.End-k.Start, 0))
	timesEnd := len(b)
	l := f.label(k)
	b = f.appendArgs(append(b, l.text...), k)
	if span := f.arrows.Callers[i]; span >= 0 {
		when := at
		if start := f.t.Spans.At(int(span)).Start; start > k.Start { // where two clocks were joined
			when = appendMicros(nil, start-f.base)
		}
		b = appendArrow(b, head.submitted, submitID(i), when, true)
	}
	if r := f.arrows.Records[i]; r >= 0 && f.t.Tasks.Start.At(int(r)) <= k.Start {
		b = appendArrow(b, head.released, releaseID(i), at, true)
	}
	switch k.Kind {
	case trace.EventRecord, trace.NotifyRecord, trace.ValueWrite: // most tasks are no records
		b = f.appendReleases(b, head, i, k.Start, at)
	}
	if e := f.lanes.Engine(i); e >= 0 {
		b = append(append(b, f.heads[e].engine...), b[times:timesEnd]...)
		b = append(append(b, l.text[:l.named]...), `,"args":{"stream":`...)
		b = appendUint(b, uint64(k.Stream))
		b = appendUint(append(b, `,"task":`...), uint64(k.Task))
		b = append(b, '}', '}')
	}
	f.b = b
}

// appendReleases writes the arrows to the waits that a record released. A wait that began before the record was written
// already; viewers draw an arrow from the slice that began first to the one that began later, so it gets an instant to point at.
func (f *form) appendReleases(b []byte, head *heads, record int, start int64, at []byte) []byte {
	for _, r := range f.arrows.Released(record) {
		b = appendArrow(b, head.releases, releaseID(int(r.Wait)), at, false)
		if f.t.Tasks.Start.At(int(r.Wait)) < start {
			wait := &f.heads[f.lanes.Stream(int(r.Wait))]
			b = append(append(append(b, wait.instant...), at...), '}')
			b = appendArrow(b, wait.released, releaseID(int(r.Wait)), at, true)
		}
	}
	return b
}

// label is the name of a task and the args that follow from its name, operator type and kind.
func (f *form) label(k *trace.Task) *label {
	l := &f.labels[(uint32(k.Name)*5+uint32(k.Op)*3+uint32(k.Kind))%uint32(len(f.labels))]
	if l.known && l.name == k.Name && l.op == k.Op && l.kind == k.Kind {
		return l
	}
	b := append(l.text[:0], `,"name":`...)
	if k.Name != 0 {
		b = f.appendName(b, k.Name, "task")
	} else {
		b = f.appendName(b, k.Op, k.Kind.String())
	}
	named := len(b)
	b = append(append(append(b, `,"args":{"kind":"`...), k.Kind.String()...), '"')
	if k.Op != 0 {
		b = f.appendName(append(b, `,"op_type":`...), k.Op, "")
	}
	*l = label{true, k.Name, k.Op, k.Kind, named, append(b, `,"task":`...)}
	return l
}

// appendName writes a string of the trace, or what stands for it where it is empty.
func (c *writer) appendName(b []byte, id trace.StringID, empty string) []byte {
	if id == 0 || int(id) >= len(c.quoted) {
		return appendQuoted(b, empty)
	}
	return append(b, c.quoted[id]...)
}

// appendArgs writes the args of a task from its number on.
func (f *form) appendArgs(b []byte, k *trace.Task) []byte {
	b = appendUint(b, uint64(k.Task))
	if k.Kind == trace.Memcpy {
		b = append(append(append(b, `,"direction":"`...), k.Dir.String()...), '"')
	}
	b = appendArg(b, `,"block_dim":`, int64(k.Blocks))
	b = appendArg(b, `,"bytes":`, k.Bytes)
	b = appendArg(b, `,"queued_ns":`, k.Ready-k.Submit)
	b = appendArg(b, `,"engine_wait_ns":`, k.Start-k.Ready)
	b = appendArg(b, `,"event":`, int64(k.Event))
	b = appendArg(b, `,"generation":`, int64(k.Gen))
	if k.Model != 0 {
		b = appendArg(b, `,"model":`, int64(k.Model))
		b = appendUint(append(b, `,"iteration":`...), uint64(k.Iter))
	}
	if k.Acct != 0 {
		b = appendInt(append(b, `,"cycles":`...), f.t.Account(k.Acct).Total)
	}
	if k.Flags&trace.FlagPart != 0 {
		b = append(b, `,"part":true`...)
	}
	if k.Flags&trace.FlagNoSubmit != 0 {
		b = append(b, `,"submit":"unknown"`...)
	}
	if k.Code != 0 {
		b = append(strconv.AppendUint(append(b, `,"code":"0x`...), uint64(k.Code), 16), '"')
	}
	return append(b, '}', '}')
}

// appendArg writes a number that is worth showing.
func appendArg(b []byte, key string, v int64) []byte {
	if v == 0 {
		return b
	}
	return appendInt(append(b, key...), v)
}

func (c *writer) counters() {
	for _, v := range c.t.Counters.All() {
		if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
			continue // JSON has no such number
		}
		c.event("C", devicePid+int(v.Device), 0)
		c.b = appendMicros(append(c.b, `,"ts":`...), v.Time-c.base)
		c.b = c.appendName(append(c.b, `,"name":`...), v.Name, "counter")
		c.text(`,"args":{"value":`)
		c.b = strconv.AppendFloat(c.b, v.Value, 'f', -1, 64)
		c.text("}}")
	}
}
