package sim

// batchMax bounds how long the driver goes without reading the host clocks again.
const batchMax = 4096

// drive simulates until p is released, or nothing more may be simulated. The caller owns the devices.
func (m *Machine) drive(p *Port) {
	for {
		m.refresh()
		n := m.batch(p)
		if m.stopped.Load() {
			m.endWaits(ErrInterrupted)
			return
		}
		if p != nil && p.done.Load() != 0 {
			return
		}
		if n == 0 {
			if p != nil {
				m.deadlock()
			}
			return
		}
		if p == nil && m.want.Load() != 0 {
			return
		}
	}
}

// refresh takes in what the ports have published: doorbells, waits, clocks. If somebody lowered another port's clock
// meanwhile (epoch), it reads again, since the first clock may have been read too early.
func (m *Machine) refresh() {
	for {
		e := m.epoch.Load()
		b := never
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
				m.events.push(item{p.dev.clock + Doorbell, evRequest | uint64(p.id)})
				if p.dev.timeout > 0 {
					m.events.push(item{p.dev.clock + p.dev.timeout, evTimeout | uint64(p.seq&0xffffff)<<16 | uint64(p.id)})
				}
			}
			if c < infOut && c+1+Doorbell < b {
				b = c + 1 + Doorbell
			}
		}
		m.bound = b
		if m.epoch.Load() == e {
			return
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
	for n < batchMax && !m.stopped.Load() {
		if m.dirty && (len(m.events) == 0 || m.events[0].t > m.now) {
			m.dispatch()
			continue
		}
		if len(m.events) == 0 || m.events[0].t >= m.bound {
			return n
		}
		e := m.events.pop()
		if e.key>>60<<60 == evTimeout && !m.waiting(e.key) {
			continue // the wait was answered long ago; time does not move for it
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
			if q := m.queues[uint16(e.key)]; q.state == qQueued {
				m.step(q)
			}
		case evTimeout:
			m.timeout(m.portList()[uint16(e.key)])
		case evRequest:
			m.request(m.portList()[uint16(e.key)])
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
		if r.queue.dead || r.queue.cur >= r.pos {
			m.releaseQueue(p, r.clock)
			return
		}
		r.queue.waiters = append(r.queue.waiters, p)
		r.queue.minWait = min(r.queue.minWait, r.pos)
	case waitRoom:
		// The ring looked full to the host; is it, now?
		if r.queue.cur >= r.pos {
			m.release(p, r.clock)
			return
		}
		r.queue.waiters = append(r.queue.waiters, p)
		r.queue.minWait = min(r.queue.minWait, r.pos)
	case waitEvent:
		if r.event.gen >= r.pos {
			m.release(p, r.clock)
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
	case waitTime:
		if r.fn != nil {
			r.fn()
		}
		m.release(p, r.clock)
	}
}

// releaseQueue hands a queue's unreported fault to a port that waited for the queue.
func (m *Machine) releaseQueue(p *Port, t int64) {
	p.result.fault = p.dev.queue.fault
	p.dev.queue.fault = nil
	m.release(p, t)
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

// waiting says whether the wait that a time-out event belongs to is still open.
func (m *Machine) waiting(key uint64) bool {
	p := m.portList()[uint16(key)]
	return p.done.Load() == 0 && p.seenSeq&0xffffff == uint32(key>>16)&0xffffff
}

// timeout ends a wait that has not been answered in time.
func (m *Machine) timeout(p *Port) {
	m.unwait(p)
	p.result.expired = true
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
	switch r := &p.dev; r.kind {
	case waitQueue, waitRoom:
		r.queue.waiters = drop(r.queue.waiters)
	case waitEvent:
		r.event.ports = drop(r.event.ports)
	case waitNotify:
		r.notify.ports = drop(r.notify.ports)
	}
}
