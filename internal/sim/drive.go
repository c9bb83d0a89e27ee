package sim

// batchMax bounds how long the driver goes without reading the host clocks again.
const batchMax = 4096

// drive simulates until p is released, or nothing more may be simulated. The caller owns the devices.
func (m *Machine) drive(p *Port) {
	for {
		moved := m.refresh()
		n := m.batch(p)
		if n > 0 {
			m.link.unstick()
		}
		if moved {
			n++ // a clock is known to be further
		}
		if m.takeSample() {
			n++ // the batch may have ended for it
		}
		if m.link.publish() {
			n++
		}
		if m.stopped.Load() {
			m.endWaits(ErrInterrupted)
			return
		}
		if p != nil && p.done.Load() != 0 {
			return
		}
		if p == nil && m.want.Load() != 0 {
			return
		}
		if n == 0 {
			m.link.stall()
			m.deadlock()
			return
		}
	}
}

// refresh takes in what the ports have published: doorbells, waits, clocks. If somebody lowered another port's clock
// meanwhile (epoch), it reads again, since the first clock may have been read too early. It says whether something came
// from a shared queue.
func (m *Machine) refresh() (moved bool) {
	for {
		e := m.epoch.Load()
		b := m.link.bound() // before the records are looked at
		for m.link.arrivals(b) {
			b = m.link.bound()
		}
		b = min(b, m.paced())
		for _, p := range m.portList() {
			w := p.word.Load()
			p.seen.Store(w)
			c, tail := int64(w>>tailBits), uint32(w&logMask)
			if tail != p.seenTail {
				m.doorbells(p, tail)
			}
			if c >= infDev && p.seq != p.seenSeq {
				// The port is blocked and only the driver can release it, so its request stands still.
				p.seenSeq = p.seq
				p.dev = p.req
				m.pending.push(item{p.dev.clock + Doorbell, evRequest | p.requestKey()})
				if p.dev.timeout > 0 {
					m.pending.push(item{p.dev.clock + p.dev.timeout, evTimeout | p.requestKey()})
				}
			}
			if c < infOut {
				b = min(b, max(c, p.ahead.Load())+1+Doorbell)
			} else if c < infDev && m.background.drives && !p.gone {
				b = min(b, p.left.Load()+1+Doorbell)
			}
		}
		// After the clocks: whatever lies before one of them has been committed. What is found here moves the bound with
		// the next look, when all that came before it on other queues is known too.
		for _, s := range *m.shared.Load() {
			if w := s.word.Load(); w != s.seen.Load() {
				m.takeIn(s, w)
				moved = true
			}
		}
		m.bound = b
		if m.epoch.Load() == e {
			return moved
		}
	}
}

// doorbells counts the arrivals that p has logged up to tail.
func (m *Machine) doorbells(p *Port, tail uint32) {
	for i := p.seenTail; i != tail; i = (i + 1) & logMask {
		q := m.queues[p.log[i]]
		if q.dead {
			continue
		}
		q.known++
		if q.state == qIdle {
			m.fetch(q, q.freeT)
		}
	}
	p.seenTail = tail
	p.drained.Store(tail)
}

// batch simulates events up to the bound, at most batchMax, and says how many. All events of one instant happen
// before the engines are given out.
func (m *Machine) batch(p *Port) int {
	n := 0
	for n < batchMax && m.live.alert.Load() == 0 {
		if m.dirty && (len(m.pending) == 0 || m.pending[0].t > m.now) {
			m.dispatch()
			continue
		}
		if len(m.pending) == 0 || m.pending[0].t >= m.bound {
			return n
		}
		if p == nil && m.want.Load() != 0 {
			return n
		}
		e := m.pending.pop()
		switch e.key >> 60 << 60 {
		case evTimeout, evRequest:
			if !m.waiting(e.key) {
				continue // answered long ago, or called off; time does not move for it
			}
		case evWaitLimit:
			if q := m.queues[uint16(e.key)]; q.state != qBlocked || q.job != nil || q.waitSeq != uint32(e.key>>16) {
				continue
			}
		case evStep:
			if q := m.queues[uint16(e.key)]; q.state != qQueued || q.stepAt != e.t {
				continue // called off
			}
		}
		if e.t < m.now {
			m.stats.Late++
			e.t = m.now
		}
		m.now = e.t
		n++
		switch e.key >> 60 << 60 {
		case evBlocksEnd:
			m.blocksEnd(uint32(e.key))
		case evStep:
			m.step(m.queues[uint16(e.key)])
		case evWaitLimit:
			m.limitReached(m.queues[uint16(e.key)])
		case evTimeout:
			m.timeout(m.portList()[uint16(e.key>>requestBits)])
		case evRequest:
			m.request(m.portList()[uint16(e.key>>requestBits)])
		}
		if p != nil && p.done.Load() != 0 {
			return n
		}
	}
	return n
}

// request answers what a port asked for, at the instant at which the question arrives.
func (m *Machine) request(p *Port) {
	r := &p.dev
	if r.kind == waitEvent || r.kind == waitNotify || r.kind == waitQueue && !r.queue.quiet {
		m.stats.HostWaits++
	}
	switch r.kind {
	case waitQueue:
		if r.pos == Everything {
			r.pos = r.queue.arrivedBy(m.now)
		}
		if r.queue.dead || r.queue.cur >= r.pos {
			m.releaseQueue(p, r.clock)
			return
		}
		r.queue.waiters = append(r.queue.waiters, p)
		r.queue.minWait = min(r.queue.minWait, r.pos)
	case waitRoom:
		// The ring looked full to the host; is it, now? If so there is a wait until a quarter is free.
		if r.queue.cur+r.queue.room > r.pos+r.queue.room*3/4 {
			m.releaseRoom(p, r.clock)
			return
		}
		r.queue.waiters = append(r.queue.waiters, p)
		r.queue.minWait = min(r.queue.minWait, r.pos)
	case waitEvent:
		if remote := r.event.remote; remote != nil {
			m.link.open(linkWait{p: p, remote: remote, gen: r.pos, t: m.now})
			return
		}
		if r.event.has(r.pos) {
			m.releaseEvent(p, r.event, r.clock)
			return
		}
		r.event.ports = append(r.event.ports, p)
	case waitNotify:
		if r.notify.set {
			r.notify.set = false
			m.release(p, r.clock)
			return
		}
		r.notify.ports = append(r.notify.ports, p)
	case waitCond:
		if r.try() {
			m.release(p, r.clock)
			return
		}
		r.cond.ports = append(r.cond.ports, p)
	case waitTime:
		if r.fn != nil {
			r.fn()
		}
		m.release(p, r.clock)
	}
}

// releaseQueue hands a port that waited for a queue what there is to report: the fault that the whole domain stands
// still for, or the queue's own, which is then told.
func (m *Machine) releaseQueue(p *Port, t int64) {
	q := p.dev.queue
	if f := q.domain.fault; f != nil {
		p.result.Fault, p.result.Domain = f, q.domain
	} else if q.fault != nil {
		p.result.Fault, q.fault = q.fault, nil
	}
	if q.dropped {
		p.result.Aborted, q.dropped = true, false
	}
	if q.owner == p || q.lanes != nil {
		q.tellHead()
	}
	m.release(p, t)
}

// releaseRoom lets go a port that waited for room in a ring.
func (m *Machine) releaseRoom(p *Port, t int64) {
	p.dev.queue.tellHead()
	m.release(p, t)
}

// tellHead lets the submitters know what has been retired. The owner of the queue is blocked, so that its side stands
// still.
func (q *Queue) tellHead() {
	if q.lanes != nil {
		q.lanes.passed.Store(q.cur)
	} else {
		q.headSeen = q.cur
	}
}

// release lets p run on from time t. Its clock becomes a running one here, on its behalf: the device must not
// simulate past it any more.
func (m *Machine) release(p *Port, t int64) {
	c := max(p.dev.clock, t) + p.dev.cost
	w := p.word.Load()
	p.word.Store(uint64(c)<<tailBits | w&logMask)
	m.bound = min(m.bound, c+1+Doorbell)
	p.done.Store(1)
	if p.parked.CompareAndSwap(1, 2) {
		p.post()
	}
}

// requestBits is how much of a request's number an event key carries, below the port's id.
const requestBits = 24

// requestKey names the present request of p in an event's key.
func (p *Port) requestKey() uint64 {
	return uint64(p.id)<<requestBits | uint64(p.seenSeq&(1<<requestBits-1))
}

// waiting says whether the request that an event belongs to is still open.
func (m *Machine) waiting(key uint64) bool {
	p := m.portList()[uint16(key>>requestBits)]
	return p.done.Load() == 0 && p.requestKey() == key&(1<<60-1)
}

// timeout ends a wait that has not been answered in time.
func (m *Machine) timeout(p *Port) {
	m.unwait(p)
	p.result.Expired = true
	if q := p.dev.queue; q != nil {
		p.result.Task = q.task
	}
	m.release(p, m.now)
}

// unwait takes p out of the list that it waits in.
func (m *Machine) unwait(p *Port) {
	drop := func(l []*Port) []*Port {
		for i, x := range l {
			if x == p {
				return append(l[:i], l[i+1:]...)
			}
		}
		return l
	}
	m.link.forget(nil, p)
	switch r := &p.dev; r.kind {
	case waitQueue, waitRoom:
		r.queue.waiters = drop(r.queue.waiters)
	case waitEvent:
		r.event.ports = drop(r.event.ports)
	case waitNotify:
		r.notify.ports = drop(r.notify.ports)
	case waitCond:
		r.cond.ports = drop(r.cond.ports)
	}
}
