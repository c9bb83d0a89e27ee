package sim

import (
	"encoding/binary"

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
			q.state = qOff
		}
		return
	}
	if a := q.desc().arrival(); a > t {
		t = a
		m.doorbell(q)
	}
	q.state = qQueued
	m.events.push(item{max(t, m.now), evStep | uint64(q.id)})
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
			m.ready(q, f.engine(), f, max(1, blocks), f.BlockNs)
			return
		case trace.Memcpy:
			m.ready(q, trace.EngineDMA, nil, 1, q.dev.copyTime(d.dir(), int64(d[7])))
			return
		case trace.Memset:
			m.ready(q, trace.EngineDMA, nil, 1, q.dev.copyTime(trace.DeviceToDevice, int64(d[7])))
			return
		case trace.EventRecord:
			m.recordEvent(q.dev.events[d[5]], d[6])
		case trace.EventWait:
			if e := q.dev.events[d[5]]; e.gen < d[6] {
				q.block(m.now)
				e.queues = append(e.queues, q)
				return
			}
		case trace.NotifyRecord:
			m.recordNotify(q.notify(d[5]))
		case trace.NotifyWait:
			n := q.notify(d[5])
			if !n.set {
				q.block(m.now)
				n.queue = q
				return
			}
			n.set = false
		case trace.ValueWrite:
			m.writeValue(q, d)
		case trace.ValueWait:
			word, ok := m.loadWord(q, d[5], 64)
			if ok && !WaitCondition(d[7]).holds(uint64(word), d[6]) {
				q.block(m.now)
				q.dev.valueWaits = append(q.dev.valueWaits, q)
				return
			}
		case trace.ModelExecute:
			m.execute(q, m.instances[d[5]])
			return
		case trace.ModelEnd:
			m.endModel(q)
			return
		case trace.StreamActive:
			m.activate(q.instance.queues[d[5]])
		case trace.StreamSwitch:
			if m.switches(q, d) {
				m.retire(q, m.now)
				q.state = qOff
				m.activate(q.instance.queues[uint32(d[7])])
				return
			}
		case trace.LabelSwitch:
			if i, ok := m.loadWord(q, d[5], 32); ok {
				if i < 0 || i >= int64(d[7]) {
					i = int64(d[7]) - 1 // an index beyond the list takes the last label
				}
				m.jump(q, d[6]+uint64(i))
				return
			}
		case trace.LabelGoto:
			m.jump(q, d[5])
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
		if m.dirty || t >= m.bound || len(m.events) > 0 && m.events[0].t <= t {
			q.state = qQueued
			m.events.push(item{t, evStep | uint64(q.id)})
			return
		}
		m.now = t
	}
}

// block marks q as held by its head descriptor.
func (q *Queue) block(now int64) {
	if !q.waited {
		q.readyT, q.startT, q.waited = now, now, true
	}
	q.state = qBlocked
}

// notify is the notify that an operand names: the instance's own in a sunk queue, else the device's.
func (q *Queue) notify(id uint64) *Notify {
	if q.instance != nil {
		return &q.instance.notifies[id]
	}
	return q.dev.notifies[id]
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
	m.valueChanged(q.dev)
}

// valueChanged lets the queues look again that poll a word of this device.
func (m *Machine) valueChanged(d *Device) {
	for _, q := range d.valueWaits {
		q.state = qQueued
		m.events.push(item{m.now + gap, evStep | uint64(q.id)})
	}
	d.valueWaits = d.valueWaits[:0]
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
	m.record(q, end)
	q.cur++
	q.blocks = 0
	q.fn = nil
	q.code = 0
	q.waited = false
	m.stats.Tasks++
	if d := q.ring[(q.cur-1)&q.mask]; d.kind() == trace.Memcpy && (d.dir() == trace.HostToDevice || d.dir() == trace.DeviceToHost) {
		m.stats.HostCopies++
	}
	m.stats.DeviceTime = max(m.stats.DeviceTime, end)
	if q.instance != nil {
		return
	}
	if q.taskID++; q.taskID == 65535 {
		q.taskID = 0
		q.flip++
	}
	q.head.Store(q.cur)
	if q.cur >= q.minWait {
		m.releaseWaiters(q, end)
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
			m.release(p, t)
		default:
			m.releaseQueue(p, t)
		}
	}
	q.waiters = q.waiters[:k]
}
