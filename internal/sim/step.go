package sim

import (
	"encoding/binary"
	"fmt"

	"npu/internal/sim/cost"
	"npu/internal/trace"
)

// gap is the scheduler's time between two tasks of a queue, in device ns.
const gap = 100

// fetch lets q look at its next descriptor at time t, or later if that has not arrived by then.
func (m *Machine) fetch(q *Queue, t int64) {
	if q.cur >= q.known {
		q.freeT = t
		q.state = qIdle
		if q.instance != nil {
			m.off(q)
		}
		return
	}
	if a := q.desc().arrival(); a > t {
		t = a
		m.doorbell(q)
	}
	m.stepLater(q, max(t, m.now))
}

// stepLater lets q look at its head descriptor at time t.
func (m *Machine) stepLater(q *Queue, t int64) {
	q.state, q.stepAt = qQueued, t
	m.pending.push(item{t, evStep | uint64(q.id)})
}

// doorbell counts a submission that found its queue idle.
func (m *Machine) doorbell(q *Queue) {
	if !q.quiet {
		m.stats.Doorbells++
	}
}

// step executes the head descriptor of q at the present instant: scheduler tasks at once, others it hands to an
// engine. While nothing else can happen in between it goes on with the next descriptor itself.
func (m *Machine) step(q *Queue) {
	for {
		d := q.desc()
		if q.special && m.refuses(q) {
			return
		}
		if !q.waited {
			q.startT = m.now // a wait began when the queue came to it, not when it was let go
		}
		switch d.kind() {
		case trace.KernelAICore, trace.KernelAIVector, trace.KernelMix, trace.KernelAICPU:
			f := m.function(d.function())
			if f == nil {
				m.fail(q, &Fault{Code: CodeIllegalInstruction, Detail: "kernel function is not loaded"})
				break
			}
			blocks := d.blocks()
			if blocks == 0 {
				blocks = f.Blocks
			}
			f.launched++
			f.work += uint64(blocks)
			m.ready(q, f.engine(), f, blocks, f.BlockNs)
			return
		case trace.Memcpy, trace.Reduce:
			m.ready(q, trace.EngineDMA, nil, 1, q.dev.copyTime(d))
			return
		case trace.Memset, trace.CacheOp:
			m.ready(q, trace.EngineDMA, nil, 1, cost.CopyNs(q.dev.chip, cost.DeviceToDevice, int64(d[7])))
			return
		case trace.EventRecord:
			e, gen := m.eventOf(q, d)
			if gen = m.recordEvent(q, e, gen); q.instance == nil {
				d[6] = gen
			}
		case trace.EventWait:
			if !m.waitEvent(q, d) {
				return
			}
		case trace.EventReset:
			e := m.event(d[5])
			e.flag, e.clear = false, e.top
		case trace.NotifyRecord:
			m.recordNotify(m.notify(q, d))
		case trace.NotifyWait:
			if !m.waitNotify(q, m.notify(q, d), d) {
				return
			}
		case trace.HostFunc:
			if !m.callHost(q, d) {
				return
			}
		case trace.ValueWrite:
			m.writeValue(q, d)
		case trace.ValueWait:
			word, ok := m.loadWord(q, d[5], 64)
			if ok && !WaitCondition(d[7]).holds(uint64(word), d[6]) {
				m.hold(q, 0)
				m.valueWaits = append(m.valueWaits, q)
				return
			}
		case trace.ModelExecute:
			m.execute(q, m.instances[d[5]])
			return
		case trace.ModelEnd:
			m.endModel(q)
			return
		case trace.StreamActive:
			if d.flags()&FlagContinue != 0 && m.goOn(q, int(d[5]), 0) {
				return
			}
			if d.flags()&FlagContinue == 0 && !(q.instance.ran[d[5]] && m.looped(q)) {
				m.start(q, d[5])
			}
		case trace.StreamSwitch:
			if d.flags()&FlagCondition != 0 {
				m.choose(q, d)
				break
			}
			if m.switches(q, d) {
				to := q.instance.queues[uint32(d[7])]
				if to != q && to.state != qOff {
					m.fail(q, &Fault{Code: CodeScheduler, Detail: "the stream to switch to is running"})
					break
				}
				if q.instance.ran[to.lane] && m.looped(q) {
					break
				}
				m.retire(q, m.now)
				q.state = qOff
				q.instance.active--
				m.activate(to)
				return
			}
		case trace.Nop:
			m.update(d[5])
		case trace.LabelSwitch:
			if i, ok := m.loadWord(q, d[5], 32); ok {
				if i < 0 || i >= int64(d[7]) {
					i = int64(d[7]) - 1 // an index beyond the list takes the last label
				}
				if m.jump(q, d[6]+uint64(i)) {
					return
				}
			}
		case trace.LabelGoto:
			if m.jump(q, d[5]) {
				return
			}
		}
		if q.code != 0 {
			m.faulted(q, m.now)
			return
		}
		m.retire(q, m.now)
		if q.cur >= q.known {
			m.fetch(q, m.now+gap)
			return
		}
		t := m.now + gap
		if a := q.desc().arrival(); a > t {
			t = a
			m.doorbell(q)
		}
		if m.dirty || t >= m.bound || len(m.pending) > 0 && m.pending[0].t <= t {
			m.stepLater(q, t)
			return
		}
		m.now = t
	}
}

// hold marks q as held by its head descriptor, for limit ns at most; 0 is for ever. A wait that polls again keeps the
// limit of its first look.
func (m *Machine) hold(q *Queue, limit uint64) {
	if !q.waited {
		q.readyT, q.startT, q.waited = m.now, m.now, true
		q.waitSeq++
		if limit > 0 {
			m.pending.push(item{m.now + int64(limit), evWaitLimit | uint64(q.waitSeq)<<16&(1<<60-1) | uint64(q.id)})
		}
	}
	q.state = qBlocked
}

// limitReached ends a wait on the device that has taken too long.
func (m *Machine) limitReached(q *Queue) {
	d := q.desc()
	limit := d[7]
	m.unschedule(q)
	m.fail(q, &Fault{Code: CodeTaskTimeout, Detail: fmt.Sprintf("%v %d is not over after %d ms", d.kind(), d[5], limit/1e6)})
	m.faulted(q, m.now)
}

// notify is the notify that an operand names: the instance's own in a sunk queue, else the device's.
func (m *Machine) notify(q *Queue, d *Desc) *Notify {
	id := d[5]
	if q.instance != nil && d.flags()&FlagDevice == 0 {
		return &q.instance.notifies[id]
	}
	if n := m.notifies[id]; n != nil {
		return n
	}
	return &Notify{id: uint32(id), set: true} // given back although tasks still named it: waits pass
}

// loadWord reads a device word of 32 or 64 bits; a bad address is a fault of the task.
func (m *Machine) loadWord(q *Queue, addr uint64, bits int) (int64, bool) {
	b, f := q.space.Resolve(addr, bits/8, Read)
	if f != nil {
		m.fail(q, f)
		return 0, false
	}
	if bits == 32 {
		return int64(int32(binary.LittleEndian.Uint32(b))), true
	}
	return int64(binary.LittleEndian.Uint64(b)), true
}

func (m *Machine) writeValue(q *Queue, d *Desc) {
	bits := 64
	if d.flags()&Flag32 != 0 {
		bits = 32
	}
	b, f := q.space.Resolve(d[5], bits/8, ReadWrite)
	if f != nil {
		m.fail(q, f)
		return
	}
	v := d[6]
	if bits == 32 {
		if d.flags()&FlagAdd != 0 {
			v += uint64(binary.LittleEndian.Uint32(b))
		}
		binary.LittleEndian.PutUint32(b, uint32(v))
	} else {
		if d.flags()&FlagAdd != 0 {
			v += binary.LittleEndian.Uint64(b)
		}
		binary.LittleEndian.PutUint64(b, v)
	}
	m.valueChanged()
}

// valueChanged lets the queues look again that poll a word of memory.
func (m *Machine) valueChanged() {
	for _, q := range m.valueWaits {
		m.stepLater(q, m.now+gap)
	}
	m.valueWaits = m.valueWaits[:0]
}

func (m *Machine) switches(q *Queue, d *Desc) bool {
	bits := 32
	if d[7]>>40&1 != 0 {
		bits = 64
	}
	l, ok := m.loadWord(q, d[5], bits)
	if !ok {
		return false
	}
	r, ok := m.loadWord(q, d[6], bits)
	return ok && Condition(d[7]>>32&0xff).holds(l, r)
}

// retire ends the head descriptor of q at time end: it becomes a row of the trace, and the head register moves on.
func (m *Machine) retire(q *Queue, end int64) {
	if in := q.instance; in != nil && in.replay.state == replayLearning {
		m.noteEnd(q)
	}
	d := q.desc()
	if m.records.to != nil {
		m.record(q, d, end)
	}
	if m.history != nil {
		m.history.add(q, d, end)
	}
	switch d.kind() {
	case trace.EventRecord, trace.EventWait, trace.EventReset:
		e, _ := m.eventOf(q, d)
		m.passed(e)
	case trace.Memcpy:
		if dir := d.dir(); dir == trace.HostToDevice || dir == trace.DeviceToHost {
			m.stats.HostCopies++
		}
	}
	q.blocks = 0
	q.fn = nil
	q.code, q.pending = 0, nil
	q.waited = false
	m.stats.Tasks++
	m.stats.DeviceTime = max(m.stats.DeviceTime, end)
	q.advance()
	if q.skip > 0 {
		q.cur, q.skip = q.cur+uint64(q.skip), 0
	}
	if q.cur >= q.minWait {
		m.releaseWaiters(q, m.now)
	}
}

// advance moves the head register past the head descriptor.
func (q *Queue) advance() {
	q.cur++
	if q.instance != nil {
		return
	}
	if q.task++; uint16(q.task) == 65535 {
		q.task++
	}
}

// releaseWaiters lets go the ports whose position q has passed.
func (m *Machine) releaseWaiters(q *Queue, t int64) {
	k := 0
	q.minWait = ^uint64(0)
	for _, p := range q.waiters {
		switch {
		case p.dev.pos > q.cur:
			q.waiters[k] = p
			k++
			q.minWait = min(q.minWait, p.dev.pos)
		case p.dev.kind == waitRoom:
			m.releaseRoom(p, t)
		default:
			m.releaseQueue(p, t)
		}
	}
	q.waiters = q.waiters[:k]
}
