package runtime

import (
	"fmt"
	"strings"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/errring"
	"npu/internal/runtime/mempool"
	"npu/internal/sim"
	"npu/internal/trace"
)

// maxRecords bounds the snapshot of streams.
const maxRecords = 2048

// sections are what the host knows of a fault. Under Port.Call.
func (rt *Runtime) sections(d *Device, e *Exception) []errring.Section {
	names := rt.strings.StringTable()
	name := func(id uint32) string {
		if int(id) < len(names) {
			return names[id]
		}
		return ""
	}
	f := e.Fault
	var fault, tasks, streams, memory strings.Builder
	fmt.Fprintf(&fault, "chip %s, simulated, device %d\n", d.hw.Chip().Name, e.Device)
	fmt.Fprintf(&fault, "%v %q, stream %d, task %d, submitted by thread %d, at %d ns\n", f.Kind, e.Kernel, e.Stream, e.Task, e.Thread, f.Time)
	fmt.Fprintf(&fault, "%v, device code 0x%x: %s\n", e.Code, f.Code, f.Detail)
	if f.HasAddr {
		fmt.Fprintf(&fault, "address 0x%x: %s\n", f.Addr, rt.whose(d, e, f.Addr))
	}
	for i, a := range e.Args {
		what := fmt.Sprintf("argument %d", i)
		if len(f.Words) == 3 && (f.Kind == trace.Memcpy || f.Kind == trace.Reduce) {
			what = [...]string{"destination", "source", "bytes"}[i]
		}
		fmt.Fprintf(&fault, "%s: 0x%x\n", what, a)
	}
	for _, t := range d.rt.machine.Past(d.hw.ID()) {
		state := ""
		if t.Code != 0 {
			state = fmt.Sprintf(", failed with 0x%x", t.Code)
		}
		what := strings.TrimSpace(fmt.Sprint(t.Kind, " ", name(uint32(t.Name))))
		fmt.Fprintf(&tasks, "%d to %d ns: stream %d task %d %s%s%s\n", t.Start, t.End, t.Stream, t.Task, what, coresOf(&t), state)
	}
	for i, s := range d.hw.QueueStates() {
		if i == maxRecords {
			break
		}
		state := "idle"
		switch {
		case s.Use.Waits != "":
			state = "waits for " + s.Use.Waits
		case s.Use.Running:
			state = "at work"
		case s.Use.Depth > 0:
			state = "ready"
		}
		sunk := ""
		if s.Sunk {
			sunk = " (of a graph)"
		}
		fmt.Fprintf(&streams, "stream %d%s: task %d, %d of %d done, %s\n", s.Stream, sunk, s.Task, s.Retired, s.Arrived, state)
	}
	st := d.memory.pool.Stats()
	fmt.Fprintf(&memory, "%d of %d bytes in use, %d reserved, peak %d\n", st.InUse, st.Total, st.Reserved, st.Peak)
	mapOf(&memory, d.memory.pool.Map())
	for _, p := range d.hw.Poisoned() {
		fmt.Fprintf(&memory, "uncorrectable: 0x%x, %d bytes\n", p, sim.PoisonUnit)
	}
	for i, o := range rt.operandsOf(d, e) {
		if i < len(e.Args) {
			fmt.Fprintf(&memory, "%s %d: 0x%x, %d bytes\n", o.Role, o.Index, e.Args[i], o.Bytes)
		}
	}
	return []errring.Section{{Name: "fault", Lines: fault.String()}, {Name: "tasks", Lines: tasks.String()},
		{Name: "streams", Lines: streams.String()}, {Name: "memory", Lines: memory.String()}}
}

// maxMap bounds the map of memory.
const maxMap = 64

// mapOf lists the pieces of device memory that are mapped and how much of them is in use; neighbours that are full, or
// empty, are one piece.
func mapOf(b *strings.Builder, list []mempool.SegmentUse) {
	lines := 0
	for i := 0; i < len(list); {
		k, u := i, list[i]
		for k+1 < len(list) && list[k+1].Mapped == u.Mapped && list[k+1].Used == u.Used && (u.Used == 0 || u.Used == mempool.Segment) {
			k++
		}
		end, used := list[k].Addr+mempool.Segment, uint64(k-i+1)*u.Used
		if i = k + 1; !u.Mapped {
			continue
		}
		if lines++; lines > maxMap {
			fmt.Fprintf(b, "and more pieces\n")
			return
		}
		fmt.Fprintf(b, "mapped 0x%x to 0x%x: %d of %d bytes given out\n", u.Addr, end, used, end-u.Addr)
	}
}

// coresOf names the cores that ran a task, as Core of a black box's reader does: " on AIC 0 to 6".
func coresOf(t *sim.PastTask) string {
	kind := ""
	switch t.Engine {
	case trace.EngineCube:
		kind = "AIC"
	case trace.EngineVector:
		kind = "AIV"
	}
	switch {
	case kind == "" || t.Units == 0:
		return ""
	case t.Units == 1:
		return " on " + kind + " 0"
	}
	return fmt.Sprintf(" on %s 0 to %d", kind, t.Units-1)
}

// near is how far past the end of an operand an address is still told to be past it.
const near = 1 << 20

// whose says which operand an address is of, or past the end of, and what lies there.
func (rt *Runtime) whose(d *Device, e *Exception, addr uint64) string {
	var list []aicore.Region
	for i, o := range rt.operandsOf(d, e) {
		if i < len(e.Args) {
			list = append(list, aicore.Region{Name: fmt.Sprintf("%s %d", o.Role, o.Index), Addr: e.Args[i], Size: uint64(max(0, o.Bytes))})
		}
	}
	if f := e.Fault; len(f.Words) == 3 && (f.Kind == trace.Memcpy || f.Kind == trace.Memset || f.Kind == trace.Reduce) {
		list = append(list, aicore.Region{Name: "the destination", Addr: f.Words[0], Size: f.Words[2]})
		if f.Kind != trace.Memset {
			list = append(list, aicore.Region{Name: "the source", Addr: f.Words[1], Size: f.Words[2]})
		}
	}
	m, ok := aicore.Owner(list, addr)
	if ok && m.Inside {
		return m.String()
	}
	what := "belongs to no operand"
	if ok && m.Offset < near {
		what = m.String()
	}
	b, used := d.memory.pool.Containing(addr)
	switch {
	case used && b.Leaving:
		return fmt.Sprintf("%s; the block there (0x%x, %d bytes) has been freed", what, b.Addr, b.Bytes)
	case used:
		return fmt.Sprintf("%s; it lies in the block 0x%x, %d bytes", what, b.Addr, b.Bytes)
	}
	return what + "; no block is allocated there"
}
