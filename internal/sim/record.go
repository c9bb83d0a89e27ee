package sim

import "npu/internal/trace"

// record writes the trace row of q's head descriptor. It stands in a block that was in use before, so every field is set; one
// by one, which takes a third of the time that a literal takes.
func (m *Machine) record(q *Queue, end int64) {
	if m.cfg.Recorder == nil {
		return
	}
	if len(m.rows) == cap(m.rows) {
		m.flush()
	}
	n := len(m.rows)
	m.rows = m.rows[:n+1]
	d, r := q.desc(), &m.rows[n]
	kind := d.kind()
	r.Ready, r.Start, r.End, r.Bytes = q.startT, q.startT, end, 0
	r.Name, r.Op, r.Acct = d.name(), 0, 0
	r.Stream, r.Blocks, r.Code = q.name, q.blocks, q.code
	r.Event, r.Gen = 0, 0
	r.Device, r.Kind, r.Engine, r.Dir, r.Flags = uint16(q.dev.id), kind, trace.EngineNone, d.dir(), 0
	r.Thread = d.thread()
	if in := q.instance; in != nil {
		r.Submit, r.Model, r.Iter, r.Task = in.startT, in.id+1, in.iter, uint32(q.cur)
	} else {
		r.Submit, r.Model, r.Iter, r.Task = d.arrival(), 0, 0, uint32(q.flip)<<16|uint32(q.taskID)
	}
	if f := q.fn; f != nil {
		r.Op, r.Bytes, r.Acct = f.Op, f.Bytes, f.Account
		if r.Name == 0 {
			r.Name = f.Name
		}
	}
	if q.blocks > 0 {
		r.Engine = trace.Engine(q.engine)
	}
	if q.blocks > 0 || q.waited {
		r.Ready = q.readyT
	}
	if !kind.Kernel() {
		m.recordOther(q, d, r)
	}
}

// recordOther writes what rows of tasks that are no kernels have of their own.
func (m *Machine) recordOther(q *Queue, d *Desc, r *trace.Task) {
	r.Op = trace.StringID(d.blocks())
	switch r.Kind {
	case trace.HostFunc:
		r.Engine = trace.EngineHost
	case trace.EventRecord, trace.EventWait:
		r.Event, r.Gen = uint32(d[5])+1, uint32(d[6])
		if q.instance != nil {
			if b := q.external(d); b.Event != nil {
				r.Event, r.Gen = b.Event.id+1, uint32(b.Gen)
			}
		}
	case trace.EventReset:
		r.Event = uint32(d[5]) + 1
	case trace.NotifyRecord, trace.NotifyWait:
		r.Event = uint32(d[5]) + 1
	case trace.Memcpy, trace.Memset, trace.Reduce, trace.CacheOp:
		r.Bytes = int64(d[7])
	case trace.ModelExecute:
		r.Model = uint32(d[5]) + 1
		if in := m.instances[d[5]]; in != nil {
			r.Iter = in.iter
		}
	}
}

// flush hands the rows to the sink.
func (m *Machine) flush() {
	if len(m.rows) > 0 && m.cfg.Recorder != nil {
		m.rows = m.cfg.Recorder.Swap(m.rows)
	}
}
