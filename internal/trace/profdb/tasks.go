package profdb

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

// noContext is the context of a row that is not a part of another.
const noContext = math.MaxUint32

// row is a row of TASK.
type row struct {
	start, end int64
	global     int64
	connection int64
	kind       trace.StringID
	context    int64
	stream     uint32
	task       uint32
	model      int64
	device     uint16
	part       bool
	of         int32 // of a part: place of the row that it is a part of
}

// compute is what is known of a kernel.
type compute struct {
	name, op, kind trace.StringID
	blocks         uint32
}

// piece is what is known of a piece of a collective operation, or of a copy.
type piece struct {
	name, kind trace.StringID
	bytes      int64
	dir        trace.Dir
	copy       bool
}

func u32(v int64) uint32 {
	if v < 0 || v > math.MaxUint32 {
		return 0
	}
	return uint32(v)
}

func (r *reader) computes() error {
	take := func(s *sqlite3.Stmt) {
		r.compute[s.ColumnInt64(0)] = compute{r.named(s, 1), r.named(s, 2), r.named(s, 3), u32(s.ColumnInt64(4))}
	}
	return errors.Join(
		r.db.rows("COMMUNICATION_SCHEDULE_TASK_INFO", "globalTaskId name opType taskType -", take),
		r.db.rows("COMPUTE_TASK_INFO", "globalTaskId name opType taskType blockNum|blockDim", take),
	)
}

func (r *reader) communication() error {
	return errors.Join(
		r.db.rows("COMMUNICATION_TASK_INFO", "globalTaskId name taskType size", func(s *sqlite3.Stmt) {
			r.pieces[s.ColumnInt64(0)] = piece{name: r.named(s, 1), kind: r.named(s, 2), bytes: max(s.ColumnInt64(3), 0)}
		}),
		r.db.rows("MEMCPY_INFO", "globalTaskId size memcpyOperation", func(s *sqlite3.Stmt) {
			r.pieces[s.ColumnInt64(0)] = piece{bytes: max(s.ColumnInt64(1), 0), dir: trace.Dir(s.ColumnInt64(2) & 3), copy: s.ColumnInt64(2) < 4}
		}),
	)
}

func (r *reader) tasks() error {
	return r.db.rows("TASK", "startNs endNs deviceId connectionId globalTaskId taskType contextId streamId taskId modelId", func(s *sqlite3.Stmt) {
		k := row{
			start: s.ColumnInt64(0), end: s.ColumnInt64(1), device: r.device(s, 2), connection: s.ColumnInt64(3), global: s.ColumnInt64(4),
			kind: r.str(s, 5), context: s.ColumnInt64(6), stream: u32(s.ColumnInt64(7)), task: u32(s.ColumnInt64(8)), model: s.ColumnInt64(9), of: -1,
		}
		if null(s, 0) || null(s, 1) || k.end < k.start {
			r.source.BadRecords++
			return
		}
		r.rows = append(r.rows, k)
	})
}

// parts finds for rows with a context the row without one that they lie in: both are the same work.
func (r *reader) parts() {
	type key struct {
		device       uint16
		stream, task uint32
		connection   int64
	}
	slices.SortStableFunc(r.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.context, a.context))
	})
	last := map[key]int32{}
	for i := range r.rows {
		k := &r.rows[i]
		at := key{k.device, k.stream, k.task, k.connection}
		if k.context == noContext {
			last[at] = int32(i)
			continue
		}
		if of, ok := last[at]; ok && r.rows[of].end >= k.end {
			k.part, k.of = true, of
		}
	}
}

// record makes the tasks.
func (r *reader) record() {
	r.parts()
	inside := map[int32]int32{} // by row: its first part
	for i := range r.rows {
		if of := r.rows[i].of; of >= 0 {
			if _, ok := inside[of]; !ok {
				inside[of] = int32(i)
			}
		}
	}
	batch := make([]trace.Task, 0, 1024)
	for i := range r.rows {
		first := int32(-1)
		if at, ok := inside[int32(i)]; ok {
			first = at
		}
		if batch = append(batch, r.task(&r.rows[i], first)); len(batch) == cap(batch) {
			r.rec.Tasks(batch)
			batch = batch[:0]
		}
	}
	r.rec.Tasks(batch)
	r.metricSheet()
}

// task is the task of row k. A row with parts goes by what is known of its first: the exporter describes the part only.
func (r *reader) task(k *row, first int32) trace.Task {
	out := trace.Task{Start: k.start, End: k.end, Submit: k.start, Ready: k.start, Stream: k.stream, Task: k.task, Device: k.device, Flags: trace.FlagNoSubmit}
	out.Kind, out.Engine = r.words.Kind(r.text(k.kind))
	if out.Kind == trace.Other {
		out.Op = k.kind
	}
	if k.part {
		out.Flags |= trace.FlagPart
	}
	if k.model > 0 && k.model < noContext {
		out.Model = u32(k.model)
	}
	global := k.global
	if c, known := r.compute[global]; first >= 0 && !(known && c.name != 0) {
		if _, ok := r.compute[r.rows[first].global]; ok {
			global = r.rows[first].global
		} else if p, ok := r.pieces[r.rows[first].global]; ok {
			out.Kind, out.Engine, out.Name = trace.Communication, trace.EngineNone, p.name
		}
	}
	r.kernel(&out, global)
	if m := r.accounts[global]; m != nil {
		if a := m.Account(); a != (trace.Account{}) {
			out.Acct = r.rec.AddAccount(a)
		}
	}
	if p, ok := r.pieces[k.global]; ok {
		out.Bytes = p.bytes
		if p.name != 0 {
			out.Name = p.name
		}
		if p.copy {
			out.Dir = p.dir
		}
	}
	if l, ok := r.calls[k.connection]; ok && k.connection > 0 {
		r.link(&out, k.connection, l)
	}
	return out
}

func (r *reader) kernel(out *trace.Task, global int64) {
	c, ok := r.compute[global]
	if !ok {
		return
	}
	out.Name, out.Blocks = c.name, c.blocks
	if c.op != 0 && out.Kind != trace.Other {
		out.Op = c.op
	}
	if kind, engine := r.words.Kind(r.text(c.kind)); c.kind != 0 && kind != trace.Other && (out.Kind == trace.KernelAICore || out.Kind == trace.Other) {
		out.Kind, out.Engine, out.Op = kind, engine, c.op
	} else if out.Kind == trace.Other && c.kind != 0 {
		out.Op = c.kind
	}
}

// link joins a task with the call that submitted it.
func (r *reader) link(out *trace.Task, connection int64, l launch) {
	if out.Flags&trace.FlagPart == 0 && !l.linked && l.start <= out.Start {
		l.linked, l.stream, l.task = true, out.Stream, out.Task
		r.calls[connection] = l
	}
	if l.start <= out.Start {
		out.Submit, out.Thread = min(l.end, out.Start), l.thread
		out.Flags &^= trace.FlagNoSubmit
	}
}

// operations reads the collective operations. Their pieces are rows of TASK: here they are shown again as a whole, on a
// stream of their group.
func (r *reader) operations() error {
	return r.db.rows("COMMUNICATION_OP", "opName startNs endNs groupName opType deviceId count", func(s *sqlite3.Stmt) {
		start, end, group := s.ColumnInt64(1), s.ColumnInt64(2), s.ColumnInt64(3)
		if null(s, 1) || null(s, 2) || end < start {
			r.source.BadRecords++
			return
		}
		device := uint16(0)
		switch {
		case !null(s, 5):
			device = r.device(s, 5)
		case len(r.source.Devices) > 0:
			device = r.source.Devices[0].ID
		}
		stream, ok := r.groups[group]
		if !ok {
			stream = ascend.CommunicationStream + uint32(len(r.groups))
			r.groups[group] = stream
			r.rec.NameStream(device, stream, "communication of group "+r.text(r.strings[group]), 0)
		}
		r.rec.Tasks([]trace.Task{{
			Start: start, End: end, Submit: start, Ready: start, Name: r.str(s, 0), Op: r.named(s, 4), Kind: trace.Communication,
			Stream: stream, Device: device, Flags: trace.FlagPart | trace.FlagNoSubmit,
		}})
	})
}
