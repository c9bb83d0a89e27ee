package sim

import "npu/internal/trace"

// replay is the known schedule of an instance: what happened in an execution that nothing disturbed, by time since its
// begin. An execution under the same circumstances is that schedule, shifted; only what has an effect is done again.
type replay struct {
	state   replayState
	events  []replayEvent
	effects []int // of events, those that change memory
	tasks   uint64
	copies  uint64 // between host and device
	length  int64
	unloads uint32 // of the machine, when it was learned
	from    uint64 // tasks of the machine at the begin
	tries   int
	counted uint64 // repetitions whose launches are not counted yet: see live.go
}

type replayState uint8

const (
	replayUnknown replayState = iota
	replayLearning
	replayKnown
	replayNever // its flow depends on data, or on others
)

// replayEvent is the begin of a task on an engine, or the end of any task.
type replayEvent struct {
	q            *Queue
	fn           *Function
	pos          uint64
	start, ready int64
	t            int64 // of the event
	blocks       uint32
	engine       uint8
	begin        bool
	waited       bool
}

// replayTries is how often a schedule is noted in vain before it is left alone.
const replayTries = 16

// forget gives the schedule up: a task was changed, or somebody has disturbed the execution.
func (r *replay) forget() {
	r.settle()
	*r = replay{tries: r.tries}
}

// repeats says whether the flow of the instance is the same in every execution.
func (in *Instance) repeats() bool {
	for _, q := range in.queues {
		for i := range q.ring {
			d := &q.ring[i]
			switch d.kind() {
			case trace.KernelAICore, trace.KernelAIVector, trace.KernelMix, trace.KernelAICPU, trace.Memcpy, trace.Memset, trace.Reduce, trace.CacheOp,
				trace.ValueWrite, trace.StreamActive, trace.ModelEnd:
			case trace.NotifyRecord, trace.NotifyWait:
				if d.flags()&FlagDevice != 0 || d[7] != 0 {
					return false
				}
			case trace.Nop:
				if d[5] != 0 {
					return false
				}
			default:
				return false
			}
		}
	}
	return true
}

// quiet says that the device of the instance does nothing at this instant.
func (m *Machine) quiet(in *Instance) bool {
	if m.dirty || m.reports != nil || m.injections != nil || len(m.valueWaits) > 0 {
		return false
	}
	for i := range in.dev.engines {
		if e := &in.dev.engines[i]; e.free != e.units || e.bits != 0 {
			return false
		}
	}
	return true
}

// learn begins to note an execution.
func (m *Machine) learn(in *Instance) {
	r := &in.replay
	if r.state == replayUnknown && (m.cfg.Stepped || !in.repeats()) {
		r.state = replayNever
	}
	if r.state == replayUnknown && m.quiet(in) {
		if r.tries == replayTries {
			r.state = replayNever
			return
		}
		*r = replay{state: replayLearning, from: m.stats.Tasks, unloads: m.unloads, tries: r.tries + 1}
	}
}

// noteBegin and noteEnd are told of each task of an instance that is learning.
func (m *Machine) noteBegin(q *Queue) {
	r := &q.instance.replay
	if q.fn == nil || q.fn.Run != nil && (!m.cfg.TimingOnly || q.fn.Control) {
		r.effects = append(r.effects, len(r.events))
	}
	r.events = append(r.events, m.replayEvent(q, true))
}

func (m *Machine) noteEnd(q *Queue) {
	r := &q.instance.replay
	d := q.desc()
	switch d.kind() {
	case trace.ValueWrite:
		r.effects = append(r.effects, len(r.events))
	case trace.Memcpy:
		if dir := d.dir(); dir == trace.HostToDevice || dir == trace.DeviceToHost {
			r.copies++
		}
	}
	r.tasks++
	r.events = append(r.events, m.replayEvent(q, false))
}

func (m *Machine) replayEvent(q *Queue, begin bool) replayEvent {
	t0 := q.instance.startT
	return replayEvent{q: q, fn: q.fn, pos: q.cur, start: q.startT - t0, ready: q.readyT - t0, t: m.now - t0,
		blocks: q.blocks, engine: q.engine, begin: begin, waited: q.waited}
}

// learned ends the notes of an execution at its end task. They count if nobody else has done anything.
func (m *Machine) learned(in *Instance) {
	r := &in.replay
	if in.fault != nil || in.active != 1 || !m.quiet(in) || m.stats.Tasks-r.from != r.tasks || r.unloads != m.unloads {
		r.forget()
		return
	}
	r.state, r.length = replayKnown, m.now-in.startT
}

// shift executes the instance for the ModelExecute at the head of q at once, if its schedule is known and nothing can
// come in between: no event before the end but host threads that begin to wait for q, and the horizon behind it.
func (m *Machine) shift(q *Queue, in *Instance) bool {
	r := &in.replay
	if r.state != replayKnown || !m.quiet(in) {
		return false
	}
	end := m.now + r.length
	if end >= m.bound || r.unloads != m.unloads {
		return false
	}
	for i := range m.pending {
		if e := &m.pending[i]; e.t <= end && !m.harmless(e, q) {
			return false
		}
	}
	begin := m.now
	for len(m.pending) > 0 && m.pending[0].t <= end {
		if e := m.pending.pop(); m.stands(e) {
			m.now = max(m.now, e.t)
			m.request(m.portList()[uint16(e.key>>requestBits)])
		}
	}
	m.again(r, begin)
	m.now = end
	in.caller = nil
	if in.fault != nil {
		q.pending, q.code = in.fault, in.fault.Code
	}
	m.settle(q, end)
	in.iter++
	m.countEnd(in)
	return true
}

// harmless says whether a pending event cannot disturb an execution that q waits for.
func (m *Machine) harmless(e *item, q *Queue) bool {
	if !m.stands(*e) {
		return true
	}
	if e.key>>60<<60 != evRequest {
		return false
	}
	r := &m.portList()[uint16(e.key>>requestBits)].dev
	return r.kind == waitQueue && r.queue == q && r.pos > q.cur
}

// stands says whether an event was not called off.
func (m *Machine) stands(e item) bool {
	switch e.key >> 60 << 60 {
	case evTimeout, evRequest:
		return m.waiting(e.key)
	case evWaitLimit:
		q := m.queues[uint16(e.key)]
		return q.state == qBlocked && q.job == nil && q.waitSeq == uint32(e.key>>16)
	case evStep:
		q := m.queues[uint16(e.key)]
		return q.state == qQueued && q.stepAt == e.t
	}
	return true
}

// again repeats what the execution that begins at t0 does: effects in the order in which they came, rows for the trace
// if it is recorded.
func (m *Machine) again(r *replay, t0 int64) {
	m.stats.Shifted++
	r.counted++
	m.stats.Tasks += r.tasks
	m.stats.HostCopies += r.copies
	m.stats.DeviceTime = max(m.stats.DeviceTime, t0+r.length)
	if m.records.to == nil {
		for _, i := range r.effects {
			m.repeat(&r.events[i], t0)
		}
		for _, i := range r.effects {
			q := r.events[i].q
			q.fn, q.code, q.pending, q.blocks, q.waited, q.state = nil, 0, nil, 0, false, qOff
		}
		return
	}
	for i := range r.events {
		e := &r.events[i]
		m.repeat(e, t0)
		if !e.begin {
			m.record(e.q, e.q.desc(), m.now)
			e.q.fn, e.q.code, e.q.pending, e.q.blocks, e.q.waited, e.q.state = nil, 0, nil, 0, false, qOff
		}
	}
}

// repeat puts the queue of an event where it stood and does what the task does.
func (m *Machine) repeat(e *replayEvent, t0 int64) {
	q := e.q
	q.cur, q.fn, q.blocks, q.engine, q.waited = e.pos, e.fn, e.blocks, e.engine, e.waited
	q.startT, q.readyT = t0+e.start, t0+e.ready
	m.now = t0 + e.t
	switch {
	case e.begin:
		m.begin(q)
	case q.desc().kind() == trace.ValueWrite:
		m.writeValue(q, q.desc())
	}
}
