package sim

import "npu/internal/trace"

// Abort ends the running task of q, which keeps whatever effect it had, and drops what has arrived and what arrives
// within the next ns. Ports that wait for the queue are told. The queue is usable afterwards. Call it from Port.Call.
func (m *Machine) Abort(q *Queue, ns int64) {
	if q.cur < q.known && q.state != qIdle && q.desc().arrival() <= m.now {
		started := q.state == qRunning || q.state == qBlocked
		m.unschedule(q)
		if started {
			q.code, q.pending = CodeAborted, nil
			m.retire(q, m.now)
		}
	}
	for _, p := range q.waiters {
		p.result.Aborted = true
	}
	q.dropTo = m.now + ns
	q.special, q.stopped = true, false
	m.drop(q, q.arrivedBy(m.now))
	m.releaseAll(q)
	if !q.dead {
		m.fetch(q, m.now)
	}
}

// Stop lets the running task of q end and dispatches nothing more. Call it from Port.Call.
func (m *Machine) Stop(q *Queue) { q.stopped, q.special = true, true }

// Halted says whether q dropped its tasks because one failed under STOP. Call it from Port.Call.
func (q *Queue) Halted() bool { return q.halted }

// refuses deals with the head of a queue that is halted, stopped or being aborted, and says whether it did.
func (m *Machine) refuses(q *Queue) bool {
	switch {
	case q.halted:
		m.drop(q, q.arrivedBy(m.now))
		m.fetch(q, m.now)
	case q.desc().arrival() < q.dropTo:
		m.drop(q, q.arrivedBy(min(m.now, q.dropTo-1)))
		q.dropped = true
		m.fetch(q, m.now)
	case q.stopped:
		q.state = qStopped
	default:
		q.special = false
		return false
	}
	return true
}

// drop retires descriptors up to position to without executing them; they leave no rows.
func (m *Machine) drop(q *Queue, to uint64) {
	for q.cur < to {
		d := q.desc()
		switch d.kind() {
		case trace.EventRecord:
			e := m.event(d[5])
			if e.remote != nil {
				m.link.record(e.remote, d[6]) // nobody must wait for ever for what was dropped
			} else {
				e.lost = append(e.lost, d[6])
				e.count(d[6])
			}
			m.passed(e)
		case trace.EventWait, trace.EventReset:
			m.passed(m.event(d[5]))
		case trace.ModelExecute:
			if in := m.instances[d[5]]; in != nil {
				delete(in.next, d[6])
				m.countEnd(in)
			}
		case trace.HostFunc:
			if b := m.mailboxes[d[5]]; b.Lost != nil {
				b.Lost(d[6])
			}
		}
		q.advance()
	}
	q.waited, q.state = false, qIdle
	if q.cur >= q.minWait {
		m.releaseWaiters(q, m.now)
	}
}

// releaseAll lets go every port that waits for q, satisfied or not.
func (m *Machine) releaseAll(q *Queue) {
	for _, p := range q.waiters {
		m.releaseQueue(p, m.now)
	}
	q.waiters = q.waiters[:0]
	q.minWait = ^uint64(0)
}

// unschedule takes the head of q out of whatever it waits for or runs on.
func (m *Machine) unschedule(q *Queue) {
	switch q.state {
	case qQueued:
		q.stepAt = never
	case qReady, qRunning:
		m.unload(q)
	case qBlocked:
		m.unblock(q)
	}
	q.state = qIdle
	q.waitSeq++
}

// unload frees the engines that the head of q occupies or waits for. The events of its groups stay and find nobody.
func (m *Machine) unload(q *Queue) {
	en := &q.dev.engines[q.engine]
	if q.left > 0 {
		f := &en.ready[q.prio]
		f.remove(q)
		if f.head == f.tail {
			en.bits &^= 1 << q.prio
		}
		if en.started == q {
			en.started = nil
		}
		q.left = 0
	}
	for i := range m.groups {
		if g := &m.groups[i]; g.q == q {
			en.free += g.n
			g.q = nil
		}
	}
	q.inflight = 0
	q.dev.dirty, m.dirty = true, true
}

// unblock takes q out of the list that its head waits in.
func (m *Machine) unblock(q *Queue) {
	m.link.forget(q, nil)
	if q.job != nil {
		m.unpost(q)
		return
	}
	drop := func(l []*Queue) []*Queue {
		for i, x := range l {
			if x == q {
				return append(l[:i], l[i+1:]...)
			}
		}
		return l
	}
	switch d := q.desc(); d.kind() {
	case trace.EventWait:
		e, _ := m.eventOf(q, d)
		e.queues = drop(e.queues)
	case trace.NotifyWait:
		n := m.notify(q, d)
		n.queues = drop(n.queues)
	case trace.ValueWait:
		m.valueWaits = drop(m.valueWaits)
	case trace.ModelExecute:
		in := m.instances[d[5]]
		if in == nil {
			return
		}
		if in.caller == q {
			m.abortModel(in)
		} else {
			in.queued = drop(in.queued)
			m.countEnd(in)
		}
	}
}
