package timeline

import (
	"bytes"
	"strconv"

	"npu/internal/trace"
)

// ownHead reads the head of a trace that this program wrote.
func (b *builder) ownHead() {
	if b.other == nil {
		return
	}
	m := trace.Meta{}
	number := map[string]*int{
		"devices": &m.Devices, "cube_cores": &m.CubeCores, "vector_cores": &m.VectorCores, "dma_engines": &m.DMAEngines,
		"ai_cpus": &m.AICPUs, "clock_mhz": &m.ClockMHz,
	}
	base := int64(0)
	for f := newFields(b.other); ; {
		key, value, ok := f.next()
		if !ok {
			break
		}
		n, isNumber := whole(value)
		switch k := string(key); {
		case k == "writer":
			b.own = string(bare(value)) == "npu"
		case k == "chip":
			m.Chip = plain(bare(value))
		case k == "model":
			m.Model = plain(bare(value))
		case k == "policy":
			m.Policy = plain(bare(value))
		case k == "wall_ordered":
			m.WallOrdered = string(value) == "true"
		case k == "lost_records" && isNumber:
			m.Lost = n
		case k == "base_ns" && isNumber && n >= 0 && n < 1<<62:
			base = n
		case number[k] != nil && isNumber && n >= 0 && n < 1<<31:
			*number[k] = int(n)
		}
	}
	if !b.own {
		return
	}
	b.base = base
	for _, p := range b.ordered {
		p.own = true
	}
	b.rec.SetMeta(m)
}

// ownTask records a slice of a trace that this program wrote. The lanes of engines show the tasks again.
func (b *builder) ownTask(t *track, e *event, start, end int64) {
	if !bytes.Equal(e.cat, []byte("task")) {
		return
	}
	a := b.args(e)
	k := trace.Task{
		Start: start, End: end, Stream: t.stream, Task: u32(a.task), Device: t.process.device, Blocks: u32(a.blocks), Bytes: max(a.bytes, 0),
		Event: u32(a.event), Gen: u32(a.gen), Model: u32(a.model), Iter: u32(a.iteration),
	}
	k.Ready = start - max(min(a.wait, 1<<60), 0)
	k.Submit = k.Ready - max(min(a.queued, 1<<60), 0)
	k.Kind = trace.ParseKind(string(a.kind))
	_, k.Engine = b.words.Kind(string(a.kind))
	if k.Op = b.intern(a.op); len(a.op) == 0 {
		k.Op = 0
	}
	name := e.name
	if !bytes.Equal(name, a.kind) && !bytes.Equal(name, a.op) {
		k.Name = b.intern(name)
	}
	for d := trace.HostToHost; d <= trace.DeviceToDevice; d++ {
		if d.String() == string(a.direction) {
			k.Dir = d
		}
	}
	if code, err := strconv.ParseUint(string(bytes.TrimPrefix(a.code, []byte("0x"))), 16, 32); err == nil {
		k.Code = uint32(code)
	}
	if a.part {
		k.Flags |= trace.FlagPart
	}
	if a.noSubmit {
		k.Flags |= trace.FlagNoSubmit
	}
	if a.cycles > 0 {
		k.Acct = b.rec.AddAccount(trace.Account{Total: a.cycles})
	}
	b.tasks.add(k)
}

// ownCall records a call of a trace that this program wrote.
func (b *builder) ownCall(t *track, e *event, start, end int64) {
	s := trace.Span{Start: start, End: end, Name: b.intern(e.name), Thread: t.thread, Task: trace.NoTask}
	for i := range e.pairs {
		n, _ := whole(e.pairs[i].value)
		switch string(e.pairs[i].key) {
		case "device":
			s.Device = uint16(u32(n))
		case "stream":
			s.Stream = u32(n)
		case "task":
			s.Task = u32(n)
		case "code":
			s.Code = u32(n)
		}
	}
	if s.Task != trace.NoTask {
		b.submitters[submitted{s.Device, s.Stream, s.Task}] = s.Thread
	}
	b.rec.Spans([]trace.Span{s})
}

// submitted names a task of a trace that this program wrote.
type submitted struct {
	device       uint16
	stream, task uint32
}
