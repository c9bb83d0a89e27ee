package msprofile

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"npu/internal/trace"
)

// Layers of the timeline, as the vendor numbers them in process ids.
const (
	layerCANN   = 5
	layerDevice = 13
	layerFreq   = 14
	hostDevice  = 31
	osPid       = 1
)

// pid is the id of a process: a layer of a device.
func pid(layer, device int) int { return osPid<<10 | layer<<5 | device&31 }

const flushAt = 1 << 16

// WriteJSON writes t as a timeline: an array of Chrome trace events whose times are text. The bytes depend on t alone.
func WriteJSON(w io.Writer, t *trace.Trace) error {
	c := &writer{w: w, t: t, connections: connections(t), b: make([]byte, 0, flushAt+4096)}
	c.text("[")
	c.metadata()
	c.calls()
	c.tasks()
	c.counters()
	c.text("]\n")
	c.flush()
	if c.err != nil {
		return fmt.Errorf("write msprof timeline: %w", c.err)
	}
	return nil
}

type writer struct {
	w           io.Writer
	t           *trace.Trace
	connections []int32
	b           []byte
	some        bool
	err         error
}

func (c *writer) text(s string)  { c.b = append(c.b, s...) }
func (c *writer) number(v int64) { c.b = strconv.AppendInt(c.b, v, 10) }

func (c *writer) flush() {
	if c.err == nil {
		_, c.err = c.w.Write(c.b)
	}
	c.b = c.b[:0]
}

func (c *writer) event(name string, pid, tid int) {
	if len(c.b) >= flushAt {
		c.flush()
	}
	if c.some {
		c.text(", ")
	}
	c.some = true
	c.text(`{"name": `)
	c.quote(name)
	c.text(`, "pid": `)
	c.number(int64(pid))
	c.text(`, "tid": `)
	c.number(int64(tid))
}

// quote writes s as a JSON string. What is no UTF-8 becomes the mark for it.
func (c *writer) quote(s string) {
	c.b = append(c.b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			c.b = append(c.b, '\\', byte(r))
		case r < ' ':
			c.b = fmt.Appendf(c.b, "\\u%04x", r)
		default:
			c.b = utf8.AppendRune(c.b, r)
		}
	}
	c.b = append(c.b, '"')
}

// at writes a time as text with three decimals.
func (c *writer) at(ns int64) {
	c.text(`, "ts": "`)
	c.micros(ns)
	c.text(`"`)
}

func (c *writer) micros(ns int64) {
	u := uint64(ns)
	if ns < 0 {
		c.text("-")
		u = -u
	}
	c.b = strconv.AppendUint(c.b, u/1000, 10)
	f := u % 1000
	c.b = append(c.b, '.', byte('0'+f/100), byte('0'+f/10%10), byte('0'+f%10))
}

func (c *writer) process(pid int, name, labels string, index int) {
	for _, m := range []struct{ what, key, value string }{{"process_name", "name", name}, {"process_labels", "labels", labels}} {
		c.event(m.what, pid, 0)
		c.text(`, "ph": "M", "args": {"` + m.key + `": `)
		c.quote(m.value)
		c.text("}}")
	}
	c.event("process_sort_index", pid, 0)
	c.text(`, "ph": "M", "args": {"sort_index": `)
	c.number(int64(index))
	c.text("}}")
}

func (c *writer) thread(pid, tid int, name string) {
	c.event("thread_name", pid, tid)
	c.text(`, "ph": "M", "args": {"name": `)
	c.quote(name)
	c.text("}}")
	c.event("thread_sort_index", pid, tid)
	c.text(`, "ph": "M", "args": {"sort_index": `)
	c.number(int64(tid))
	c.text("}}")
}

func (c *writer) metadata() {
	devices, streams := map[uint16]bool{}, map[streamKey]bool{}
	for i := range c.t.Tasks.Len() {
		k := streamKey{c.t.Tasks.Device.At(i), c.t.Tasks.Stream.At(i)}
		if !devices[k.device] {
			devices[k.device] = true
			label := "NPU " + strconv.Itoa(int(k.device))
			c.process(pid(layerDevice, int(k.device)), "Ascend Hardware", label, layerDevice)
			c.process(pid(layerFreq, int(k.device)), "AI Core Freq", label, layerFreq)
		}
		if !streams[k] {
			streams[k] = true
			c.thread(pid(layerDevice, int(k.device)), int(k.stream), fmt.Sprintf("Stream %d", k.stream))
		}
	}
	if c.t.Spans.Len() == 0 {
		return
	}
	c.process(pid(layerCANN, hostDevice), "CANN", "CPU", layerCANN)
	threads := map[uint16]bool{}
	for _, s := range c.t.Spans.All() {
		if !threads[s.Thread] {
			threads[s.Thread] = true
			c.thread(pid(layerCANN, hostDevice), int(s.Thread), fmt.Sprintf("Thread %d", s.Thread))
		}
	}
}

func (c *writer) calls() {
	for i, s := range c.t.Spans.All() {
		name := c.t.String(s.Name)
		c.event("AscendCL@"+name, pid(layerCANN, hostDevice), int(s.Thread))
		c.at(s.Start)
		c.text(`, "dur": `)
		c.micros(max(s.End-s.Start, 0))
		c.text(`, "ph": "X", "args": {"Thread Id": `)
		c.number(int64(s.Thread))
		c.text(`, "Mode": "ACL_RTS", "level": "acl", "id": `)
		c.quote(name)
		c.text(`, "item_id": "0", "connection_id": `)
		c.number(int64(i) + 1)
		c.text("}}")
		if s.Task != trace.NoTask {
			c.arrow("s", int64(i)+1, pid(layerCANN, hostDevice), int(s.Thread), s.Start)
		}
	}
}

// arrow writes one end of an arrow from a call to its task.
func (c *writer) arrow(ph string, connection int64, pid, tid int, at int64) {
	id := strconv.FormatInt(connection<<32, 10)
	c.event("HostToDevice"+id, pid, tid)
	c.text(`, "ph": "` + ph + `", "cat": "HostToDevice", "id": "` + id + `"`)
	c.at(at)
	if ph == "f" {
		c.text(`, "bp": "e"`)
	}
	c.text("}")
}

func (c *writer) tasks() {
	for i, k := range c.t.Tasks.All() {
		if k.Flags&trace.FlagPart != 0 {
			continue // the timeline has a task once
		}
		kind := word(c.t, &k)
		name := c.t.String(k.Name)
		if name == "" && k.Kind.Kernel() {
			name = c.t.String(k.Op)
		}
		if name == "" {
			name = kind
		}
		p := pid(layerDevice, int(k.Device))
		c.event(name, p, int(k.Stream))
		c.at(k.Start)
		c.text(`, "dur": `)
		c.micros(max(k.End-k.Start, 0))
		c.text(`, "ph": "X", "args": {"Model Id": `)
		c.number(model(&k))
		c.text(`, "Task Type": `)
		c.quote(kind)
		for _, f := range []struct {
			key string
			v   int64
		}{{"Physic Stream Id", int64(k.Stream)}, {"Task Id", int64(k.Task & 0xFFFF)}, {"Batch Id", int64(k.Task >> 16)}, {"Subtask Id", contextOf(&k)}, {"connection_id", int64(c.connections[i])}} {
			c.text(`, "` + f.key + `": `)
			c.number(f.v)
		}
		if k.Kind == trace.Memcpy {
			c.text(`, "size(B)": `)
			c.number(k.Bytes)
		}
		c.text("}}")
		if c.connections[i] > 0 {
			c.arrow("f", int64(c.connections[i]), p, int(k.Stream), k.Start)
		}
	}
}

func (c *writer) counters() {
	for _, v := range c.t.Counters.All() {
		if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
			continue
		}
		c.event(c.t.String(v.Name), pid(layerFreq, int(v.Device)), 0)
		c.at(v.Time)
		c.text(`, "ph": "C", "args": {"value": `)
		c.b = strconv.AppendFloat(c.b, v.Value, 'f', -1, 64)
		c.text("}}")
	}
}
