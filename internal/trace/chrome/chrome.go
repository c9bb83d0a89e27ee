// Package chrome writes a trace as Chrome trace events (JSON) that Perfetto and chrome://tracing open: a process a
// device with a lane a stream and a lane an engine, a process for the host threads, arrows from each call to the task
// it submitted and from each event record to the waits it released, and counters. Times are microseconds with three
// decimals, exact to the nanosecond.
package chrome

import (
	"fmt"
	"io"
	"sync"

	"npu/internal/trace"
	"npu/internal/trace/flow"
	"npu/internal/trace/lanes"
)

// Categories of slices. A device task is one slice of category task on its stream and, where it occupies an engine,
// one of category engine: sum one of the two.
const (
	catTask   = "task"
	catEngine = "engine"
	catHost   = "host"
	catFlow   = "flow"
)

const (
	hostPid   = 1
	devicePid = 2 // of device 0
)

// rebase is the first time from which on times are written as distances: Perfetto reads them as doubles, which do not
// hold Unix times to the nanosecond.
const rebase = 1e15

// Write writes t as one JSON object. The bytes depend on t alone. It uses all processors.
func Write(w io.Writer, t *trace.Trace) error {
	c := &writer{w: w, t: t, b: make([]byte, 0, flushAt+4096)}
	var arrows sync.WaitGroup
	arrows.Go(func() { c.arrows = flow.New(t) })
	c.lanes = lanes.New(t)
	c.quoted = make([][]byte, len(t.Strings))
	for i, s := range t.Strings {
		c.quoted[i] = appendQuoted(nil, s)
	}
	if t.Tasks.Len() > 0 && t.Tasks.Start.At(0) >= rebase {
		c.base = t.Tasks.Start.At(0)
		if t.Spans.Len() > 0 {
			c.base = min(c.base, t.Spans.At(0).Start)
		}
	}
	c.newHeads()
	c.head()
	c.metadata()
	arrows.Wait()
	c.rows()
	c.counters()
	c.text("\n]}\n")
	c.flush()
	if c.err != nil {
		return fmt.Errorf("write Chrome trace: %w", c.err)
	}
	return nil
}

const flushAt = 1 << 16

type writer struct {
	w      io.Writer
	t      *trace.Trace
	lanes  *lanes.Layout
	arrows *flow.Arrows
	heads  []heads  // by lane
	quoted [][]byte // strings of the trace as JSON
	base   int64    // subtracted from all times
	b      []byte
	some   bool // an event was written
	err    error
}

// rows writes calls and tasks.
func (c *writer) rows() {
	r := newRounds(c)
	spans := c.t.Spans.Len()
	for from := 0; from < spans && c.err == nil; from += chunkRows {
		to := min(from+chunkRows, spans)
		r.start(r.form(), func(f *form) { f.spans(from, to) })
	}
	// Tasks come by start; those of one time in the order that arrows need.
	s := flow.NewSequence(c.arrows, len(c.lanes.Lanes), c.lanes.Stream)
	n := c.t.Tasks.Len()
	for from := 0; from < n && c.err == nil; {
		f := r.form()
		for from < n && len(f.rows) < chunkRows {
			to := from + 1
			for to < n && c.t.Tasks.Start.At(to) == c.t.Tasks.Start.At(from) {
				to++
			}
			f.rows = append(f.rows, s.Next(from, to)...)
			from = to
		}
		r.start(f, (*form).tasks)
	}
	r.finish()
}

// events writes events that were formatted elsewhere, each with a comma before it.
func (c *writer) events(b []byte) {
	if len(b) == 0 {
		return
	}
	if !c.some {
		b = b[len(",\n"):]
		c.some = true
	}
	c.flush()
	if c.err == nil {
		_, c.err = c.w.Write(b)
	}
}

func (c *writer) text(s string) { c.b = append(c.b, s...) }

func (c *writer) number(v int64) { c.b = appendInt(c.b, v) }

func (c *writer) flush() {
	if c.err == nil {
		_, c.err = c.w.Write(c.b)
	}
	c.b = c.b[:0]
}

// event starts an event: the comma, and all that its phase and place say.
func (c *writer) event(ph string, pid, tid int) {
	if len(c.b) >= flushAt {
		c.flush()
	}
	if c.some {
		c.text(",\n")
	}
	c.some = true
	c.text(`{"ph":"`)
	c.text(ph)
	c.text(`","pid":`)
	c.number(int64(pid))
	c.text(`,"tid":`)
	c.number(int64(tid))
}

func (c *writer) head() {
	m := &c.t.Meta
	c.text(`{"displayTimeUnit":"ns","otherData":{"writer":"npu"`)
	for _, f := range []struct{ key, value string }{{"chip", m.Chip}, {"model", m.Model}, {"policy", m.Policy}} {
		if f.value != "" {
			c.text(`,"` + f.key + `":`)
			c.b = appendQuoted(c.b, f.value)
		}
	}
	for _, f := range []struct {
		key   string
		value int64
	}{
		{"devices", int64(m.Devices)}, {"cube_cores", int64(m.CubeCores)}, {"vector_cores", int64(m.VectorCores)},
		{"dma_engines", int64(m.DMAEngines)}, {"ai_cpus", int64(m.AICPUs)}, {"clock_mhz", int64(m.ClockMHz)},
		{"lost_records", m.Lost}, {"base_ns", c.base},
	} {
		if f.value != 0 {
			c.text(`,"` + f.key + `":`)
			c.number(f.value)
		}
	}
	if m.WallOrdered {
		c.text(`,"wall_ordered":true`)
	}
	c.text("},\"traceEvents\":[\n")
}

// metadata names processes and lanes. Lanes are numbered from 1 over the whole trace, in the order of display.
func (c *writer) metadata() {
	named := 0
	for i := range c.lanes.Lanes {
		l := &c.lanes.Lanes[i]
		pid := pidOf(l)
		if pid != named {
			named = pid
			name := "Host"
			if l.Of != lanes.Thread {
				name = c.t.DeviceName(l.Device)
				if c.t.Meta.Chip != "" {
					name += " (" + c.t.Meta.Chip + ")"
				}
			}
			c.meta("process_name", pid, 0)
			c.b = appendQuoted(append(c.b, `"name":`...), name)
			c.text("}}")
			c.meta("process_sort_index", pid, 0)
			c.text(`"sort_index":`)
			c.number(int64(pid))
			c.text("}}")
		}
		c.meta("thread_name", pid, tid(i))
		c.b = appendQuoted(append(c.b, `"name":`...), l.Name)
		c.text("}}")
		c.meta("thread_sort_index", pid, tid(i))
		c.text(`"sort_index":`)
		c.number(int64(tid(i)))
		c.text("}}")
	}
}

func (c *writer) meta(name string, pid, tid int) {
	c.event("M", pid, tid)
	c.text(`,"name":"`)
	c.text(name)
	c.text(`","args":{`)
}

func pidOf(l *lanes.Lane) int {
	if l.Of == lanes.Thread {
		return hostPid
	}
	return devicePid + int(l.Device)
}

func tid(lane int) int { return lane + 1 }
