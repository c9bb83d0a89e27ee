package sim

import "npu/internal/trace"

// records is the block of trace rows that is being filled.
type records struct {
	to    trace.Swapper // nil: nothing is recorded
	block *trace.Block
	no    uint32 // of the block, from 1
	near  int    // with so many rows there is something to be done for the next ones
}

// sketch says where the outline of the kernel stands that a queue ran last, and what it was made of.
type sketch struct {
	no, at     uint32 // the block's number, the place in it
	run, label uint64 // words 2 and 3 of the descriptor
	fn         *Function
}

func newRecords(to trace.Swapper) records {
	if to == nil {
		return records{}
	}
	return records{to: to, block: new(trace.Block), no: 1, near: trace.AheadRows}
}

// record writes the trace row of q's head descriptor d. A kernel that the queue has run before, in the same block, is known by two
// words of its descriptor; that is all that happens to most tasks.
func (m *Machine) record(q *Queue, d *Desc, end int64) {
	s := &q.sketch
	submit, task, iter := d.arrival(), q.task, uint32(0)
	if in := q.instance; in != nil {
		submit, task, iter = in.startT, uint32(q.cur), in.iter
	}
	if s.run != d[2] || s.label != d[3] || s.no != m.records.no || s.fn != q.fn || q.code != 0 || !trace.Near(submit, end) {
		m.recordNew(q, d, trace.Task{Submit: submit, Ready: q.readyT, Start: q.startT, End: end, Task: task, Iter: iter})
		return
	}
	b := m.records.block
	n := b.Filled
	b.Filled = n + 1
	r := &b.Rows[n]
	r.End, r.Start, r.Ready, r.Submit = end, uint32(q.startT), uint32(q.readyT), uint32(submit)
	r.Task, r.Iter, r.Outline = task, iter, s.at
	if n+1 == m.records.near {
		m.recordAhead()
	}
}

// recordNew is record for a task whose outline is not in the block yet, or that does not fit into a record.
func (m *Machine) recordNew(q *Queue, d *Desc, t trace.Task) {
	if q.blocks == 0 && !q.waited {
		t.Ready = t.Start
	}
	b := m.records.block
	o, at := b.Outline()
	m.outline(q, d, o)
	r := &b.Rows[b.Filled]
	*r = trace.Record{Outline: at}
	if q.fn != nil && q.code == 0 && trace.Near(t.Submit, t.End) {
		r.End, r.Start, r.Ready, r.Submit = t.End, uint32(t.Start), uint32(t.Ready), uint32(t.Submit)
		r.Task, r.Iter = t.Task, t.Iter
		q.sketch = sketch{m.records.no, at, d[2], d[3], q.fn}
	} else { // the outline is for this record only
		o.Submit, o.Ready, o.Start, o.End, o.Task, o.Iter = t.Submit, t.Ready, t.Start, t.End, t.Task, o.Iter+t.Iter
	}
	if b.Filled++; b.Filled == m.records.near || b.Full() {
		m.recordAhead()
	}
}

// recordAhead gets memory for the next rows: that of the block, or another block.
func (m *Machine) recordAhead() {
	if m.records.block.Full() {
		m.flush()
		return
	}
	m.records.near += trace.AheadRows
	m.records.block.Ahead()
}

// outline writes what the row of q's head descriptor has beside its times.
func (m *Machine) outline(q *Queue, d *Desc, r *trace.Task) {
	*r = trace.Task{
		Name: d.name(), Stream: q.name, Blocks: q.blocks, Code: q.code, Device: uint16(q.dev.id), Thread: d.thread(), Kind: d.kind(), Dir: d.dir(),
	}
	if q.instance != nil {
		r.Model = q.instance.id + 1
	}
	if q.blocks > 0 {
		r.Engine = trace.Engine(q.engine)
	}
	if f := q.fn; f != nil {
		r.Op, r.Bytes, r.Acct = f.Op, f.Bytes, f.Account
		if r.Name == 0 {
			r.Name = f.Name
		}
	}
	if !r.Kind.Kernel() {
		m.outlineOther(q, d, r)
	}
}

// outlineOther writes what rows of tasks that are no kernels have of their own.
func (m *Machine) outlineOther(q *Queue, d *Desc, r *trace.Task) {
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
			if q.instance != nil {
				r.Iter -= q.instance.iter // which record adds
			}
		}
	}
}

// flush hands the rows to the sink.
func (m *Machine) flush() {
	if r := &m.records; r.to != nil && r.block.Filled > 0 {
		r.block = r.to.Swap(r.block)
		r.no++
		r.near = trace.AheadRows
	}
}
