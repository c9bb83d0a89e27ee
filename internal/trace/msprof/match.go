package msprof

import (
	"cmp"
	"iter"
	"sync"

	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

// matcher finds the host's record of a device task.
type matcher struct {
	host *hostData
	rows *chain // tracks by time
	links
	used    []bool
	types   map[uint32]taskType
	names   map[uint64]trace.StringID
	words   *ascend.Words
	offset  int64
	threads map[uint32]uint16
	v6      bool
}

// newMatcher makes a matcher for devices of generation 6 or before; former is that of the other ones.
func newMatcher(h *hostData, l links, rec *trace.Recorder, offset int64, v6 bool, former *matcher) *matcher {
	m := &matcher{host: h, links: l, types: map[uint32]taskType{}, names: map[uint64]trace.StringID{}, used: make([]bool, len(h.tracks)), words: ascend.NewWords(), offset: offset, threads: h.threads(rec)}
	if former != nil {
		*m = *former
	}
	m.rows, m.v6 = newChain(len(h.tracks)), v6
	for i := range h.tracks {
		m.rows.add(m.key(&h.tracks[i], v6), int32(i))
	}
	return m
}

// key is how a device names the task. Chips of generation 6 number tasks over all streams.
func (m *matcher) key(t *track, v6 bool) uint64 {
	if v6 {
		return rowKey(t.device, 0, t.batch<<16|t.id)
	}
	return rowKey(t.device, t.stream, t.id)
}

// flipWord is what the mark of a wrap looks like on the device. The host does not describe it under its own ids.
const flipWord = "PLACE_HOLDER_SQE"

// slack is how far the clocks of host and device may differ.
const slack = 100_000

// find is the track of t: the last with its ids, and of its batch where there is one, that was submitted before t ended. A
// sunk graph runs again without a new record, so one track may have many tasks.
func (m *matcher) find(device uint16, t *task, end int64, apart bool) int32 {
	if apart {
		return m.rows.take(rowKey(device, t.stream, t.id)) // no common time: in the order of both logs
	}
	early := func(row int32) bool { return m.host.clock.at(m.host.tracks[row].count)+m.offset <= end+slack }
	at := m.rows.latest(rowKey(device, t.stream, t.id), early)
	for i, steps := at, 0; i >= 0 && steps < 64; i, steps = m.rows.before[i], steps+1 {
		if m.host.tracks[i].batch == t.batch {
			return i
		}
	}
	return at
}

// taskType is what a number of task_track stands for.
type taskType struct {
	word   string
	kind   trace.Kind
	engine trace.Engine
}

func (m *matcher) typeOf(number uint32) taskType {
	t, ok := m.types[number]
	if !ok {
		t.word = m.host.dict.taskType(number)
		t.kind, t.engine = m.words.Kind(t.word)
		m.types[number] = t
	}
	return t
}

// name is the string of a hash.
func (m *matcher) name(rec *trace.Recorder, hash uint64) trace.StringID {
	id, ok := m.names[hash]
	if !ok {
		id = rec.Intern(m.host.dict.name(hash))
		m.names[hash] = id
	}
	return id
}

// record records the tasks of the device.
func (d *deviceData) record(m *matcher, rec *trace.Recorder) {
	var metrics *metricTable
	account, filled := uint32(0), sync.WaitGroup{}
	if len(d.counts) > 0 {
		metrics = newMetricTable(d)
		first, rows := rec.NewAccounts(d.kernelsCounted())
		account = first
		filled.Go(func() { d.accounts(rows) })
		defer filled.Wait()
	}
	var shapes *detailSheet
	if len(m.host.tensors) > 0 {
		shapes = newDetailSheet()
	}
	batch := make([]trace.Task, 0, 1024)
	alone, whole := int64(0), collectives{m: m, device: d.number}
	for i := range d.inOrder() {
		t := &d.tasks[i]
		from, to := d.clock.span(t.start, t.end)
		k := trace.Task{Start: from + d.offset, End: to + d.offset, Stream: t.stream, Task: t.batch<<16 | t.id, Device: d.number, Flags: trace.FlagNoSubmit}
		k.Submit, k.Ready = k.Start, k.Start
		if k.End < k.Start {
			if d.bad++; metrics != nil && d.of[i] > 0 {
				account++
			}
			continue
		}
		var what taskType
		row := m.find(d.number, t, k.End, d.apart && t.context == noContext)
		if row >= 0 {
			what = m.describe(rec, row, &k, d.apart)
		} else {
			what.word = d.sqeName(t.sqe)
			what.kind, what.engine = m.words.Kind(what.word)
		}
		switch {
		case row >= 0:
		case !d.hwts && t.context == noContext && what.word != flipWord:
			alone++
		}
		d.planned(t, &k, rec)
		kind, engine := what.kind, what.engine
		if op := m.op(row); op != nil && op.kind <= 5 && kind == trace.KernelAICore {
			kind, engine = m.words.Kind([]string{"AI_CORE", "AI_CPU", "AI_VECTOR_CORE", "WRITE_BACK", "MIX_AIC", "MIX_AIV"}[op.kind])
		}
		if t.context != noContext {
			k.Flags |= trace.FlagPart
			if part, e := m.words.Kind(partName(t.part)); part != trace.Other {
				kind, engine = part, e
			} else if t.part >= fusionPart {
				what.word = partName(t.part)
			}
		}
		if k.Kind, k.Engine = kind, engine; kind == trace.Other {
			k.Op = rec.Intern(what.word)
		}
		if op := m.op(row); op != nil && shapes != nil && of(m.launch, row) >= 0 && kind.Kernel() && t.context == noContext {
			if list := m.host.tensorsOf(&m.host.calls[m.launch[row]], op.name); len(list) > 0 {
				shapes.add(&k, rec.Text(k.Name), rec.Text(k.Op), list)
			}
		}
		if metrics != nil && d.of[i] > 0 {
			k.Acct = account
			account++
			mix := uint32(0)
			if op := m.op(row); op != nil {
				mix = op.mix
			}
			metrics.add(&k, int32(i), mix)
		}
		if row >= 0 && of(m.comm, row) >= 0 {
			if whole.add(row, &k); kind != trace.Other && !kind.Kernel() {
				k.Op = 0 // that of the operation, not of its pieces
			}
		}
		if batch = append(batch, k); len(batch) == cap(batch) {
			rec.Tasks(batch)
			batch = batch[:0]
		}
	}
	rec.Tasks(batch)
	whole.record(rec)
	d.out.AddSheet(metrics.sheet(rec.StringTable()))
	if shapes != nil {
		shapes.Trim()
		d.out.AddSheet(shapes.Sheet)
	}
	if metrics != nil && metrics.unknown > 0 {
		d.out.Hints = append(d.out.Hints, "the number of blocks of some kernels was not recorded: their core times (aicore_time, aiv_time and times of pipes) are not known, cycles and ratios are")
	}
	if alone > 0 && m.host.found {
		d.missing("the host's records of %d tasks, which go by their type on the device", alone)
	}
}

// inOrder gives the rows of the tasks in the order that a trace has: by start, end and stream. The log has them by end.
func (d *deviceData) inOrder() iter.Seq[int] {
	compare := func(a, b *task) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.stream, b.stream))
	}
	for i := 1; i < len(d.tasks); i++ {
		if compare(&d.tasks[i-1], &d.tasks[i]) > 0 {
			rows := make([]int32, len(d.tasks))
			for i := range rows {
				rows[i] = int32(i)
			}
			sortNearly(rows, func(a, b *int32) int { return compare(&d.tasks[*a], &d.tasks[*b]) })
			return func(yield func(int) bool) {
				for _, row := range rows {
					if !yield(int(row)) {
						return
					}
				}
			}
		}
	}
	return func(yield func(int) bool) {
		for i := range d.tasks {
			if !yield(i) {
				return
			}
		}
	}
}

// describe fills in what the host knows of a task, and gives its type.
func (m *matcher) describe(rec *trace.Recorder, row int32, k *trace.Task, apart bool) taskType {
	m.used[row] = true
	t := &m.host.tracks[row]
	k.Stream, k.Task = t.stream, t.batch<<16|t.id
	k.Name, k.Blocks, k.Thread = m.name(rec, t.name), t.blocks, m.threads[t.thread]
	what := m.typeOf(t.kind)
	if what.kind.Kernel() && of(m.launch, row) >= 0 {
		// What was launched is the operator; the name in the record is that of its binary.
		if item := m.host.calls[m.launch[row]].item; item != 0 {
			k.Name = m.name(rec, item)
		}
	}
	if what.kind == trace.Memcpy && of(m.caller, row) >= 0 {
		if c := m.host.copyOf(&m.host.calls[m.caller[row]]); c != nil && c.bytes < 1<<62 {
			k.Bytes = int64(c.bytes)
			if c.kind < 4 {
				k.Dir = trace.Dir(c.kind)
			}
		}
	}
	if op := m.op(row); op != nil {
		if op.name != 0 {
			k.Name = m.name(rec, op.name)
		}
		k.Op = m.name(rec, op.op)
		k.Blocks = cmp.Or(k.Blocks, op.blocks)
	}
	// Two offsets to Unix time differ by a microsecond or two: a task may seem to start before it was submitted.
	if at := m.host.clock.at(t.count) + m.offset; at <= k.Start && !apart {
		k.Submit, k.Ready = at, k.Start
		k.Flags &^= trace.FlagNoSubmit
	}
	return what
}

func (m *matcher) op(row int32) *node {
	if row < 0 || of(m.operator, row) < 0 {
		return nil
	}
	return &m.host.nodes[m.operator[row]]
}

// planned names a task as the framework announced it, where no other record does.
func (d *deviceData) planned(t *task, k *trace.Task, rec *trace.Recorder) {
	if d.plan == nil || k.Name != 0 {
		return
	}
	p, ok := d.plan[t.id]
	if !ok {
		return
	}
	k.Name, k.Op, k.Blocks = rec.Intern(p.name), rec.Intern(p.op), p.blocks
}

// unmatched counts the tracks of device that no task was found for. Flip marks never become tasks.
func (m *matcher) unmatched(device uint16) (n int64) {
	for i := range m.host.tracks {
		if t := &m.host.tracks[i]; t.device == device && !m.used[i] && t.kind != flipTask {
			n++
		}
	}
	return n
}
