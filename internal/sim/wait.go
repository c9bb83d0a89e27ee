package sim

// waitKind is what a blocked port waits for.
type waitKind uint8

const (
	waitNone   waitKind = iota
	waitQueue           // the queue has retired everything before pos
	waitEvent           // generation pos of the event
	waitNotify          // one record of the notify; consumes it
	waitRoom            // a ring that is full up to pos and three quarters of its room has retired everything before pos
	waitCond            // a condition of the host's own
	waitTime            // everything before the port's clock is simulated; fn, if any, then runs on the device's state
)

// request is everything the driver needs to know of a wait. It is copied, never read through the port, since the
// device may answer it long after the state it was made from has changed.
type request struct {
	kind    waitKind
	queue   *Queue
	pos     uint64
	event   *Event
	notify  *Notify
	cond    *Cond
	try     func() bool
	fn      func()
	clock   int64 // when it was made
	timeout int64 // virtual ns until it expires; 0: never
	cost    int64 // modelled host time from the release to the return
}

// Everything as a position stands for all that has arrived when the request arrives: what its thread has submitted
// before, and what the others had by then.
const Everything = ^uint64(0)

// Outcome is what a wait on a queue or an event met besides its end.
type Outcome struct {
	Fault   *Fault  // of a task that was waited for
	Domain  *Domain // which has failed: the fault stays
	Expired bool    // the time-out came first
	Aborted bool    // tasks that were waited for were dropped
	Task    uint32  // where the queue stood when the wait expired
}

// result is what the driver leaves for a port that it releases.
type result struct {
	Outcome
	err error
}

// block makes a request and drives the device until it is answered. It returns a *Deadlock when nothing can ever
// answer it.
func (p *Port) block(r request) error {
	p.result = result{}
	if p.retired.Load() {
		return ErrRetired
	}
	r.clock = p.clock
	p.req = r
	p.seq++
	p.done.Store(0)
	w := uint64(infDev+int64(p.seq&0xffffff))<<tailBits | p.pub&logMask
	if !p.word.CompareAndSwap(p.pub, w) {
		p.reenter(w, nil)
		p.req.clock = p.clock
	}
	p.pub = w
	p.await()
	return p.result.err
}

// await drives until the driver, whoever it is, has released this port.
func (p *Port) await() {
	m := p.m
	for p.done.Load() == 0 {
		if m.tryOwn() {
			m.drive(p)
			m.disown()
			if p.done.Load() != 0 {
				break
			}
		}
		if p.service && p.req.kind == waitCond {
			p.idle()
		} else {
			p.park()
		}
	}
	p.pub = p.word.Load()
	p.clock = int64(p.pub >> tailBits)
	p.answered = p.req.clock + Doorbell
	// Leaving with others parked: if something can be simulated, one of them must drive.
	m.kick()
}

// park sleeps until somebody has a reason for this port to look again. Publishers see hungry only after it is set,
// and this port looks once more after setting it: one of the two notices.
func (p *Port) park() {
	m := p.m
	p.parked.Store(1)
	m.parkMu.Lock()
	m.parkedPorts = append(m.parkedPorts, p)
	m.hungry.Store(int32(len(m.parkedPorts)))
	m.parkMu.Unlock()
	if p.done.Load() == 0 && !m.canGo() && !m.stopped.Load() {
		m.watch()
		<-p.ch
	}
	m.parkMu.Lock()
	for i, x := range m.parkedPorts {
		if x == p {
			m.parkedPorts = append(m.parkedPorts[:i], m.parkedPorts[i+1:]...)
			break
		}
	}
	m.hungry.Store(int32(len(m.parkedPorts)))
	m.parkMu.Unlock()
	p.parked.Store(0)
	select {
	case <-p.ch:
	default:
	}
}

// idle is park for a service that waits for work: others need not look after it with every launch, and it drives again
// only when it is asked to (see kickService).
func (p *Port) idle() {
	p.parked.Store(1)
	if p.done.Load() == 0 {
		p.m.watch()
		<-p.ch
	}
	p.parked.Store(0)
}

// Serve makes the port a service: it waits for calls of user code, does not count as a thread of the program when the
// program is checked for deadlock, and drives the devices only when nobody else would. Call it before the first wait.
func (p *Port) Serve() {
	p.service = true
	m := p.m
	m.parkMu.Lock()
	m.services = append(m.services, p)
	m.parkMu.Unlock()
}

// Retire ends the waits of a service with ErrRetired, now and from now on. It may be called from any goroutine.
func (p *Port) Retire() {
	m := p.m
	m.own()
	p.retired.Store(true)
	if p.done.Load() == 0 && int64(p.word.Load()>>tailBits) >= infDev {
		m.refresh() // its request may not have been seen
		m.unwait(p)
		p.result.err = ErrRetired
		m.release(p, m.now)
	}
	m.disown()
	m.parkMu.Lock()
	for i, x := range m.services {
		if x == p {
			m.services = append(m.services[:i], m.services[i+1:]...)
			break
		}
	}
	m.parkMu.Unlock()
}

// Leave ends a port that has been retired. It must not be used again.
func (p *Port) Leave() {
	m := p.m
	m.own()
	p.word.Store(uint64(infOut)<<tailBits | p.pub&logMask)
	p.gone = true
	m.disown()
	m.kick()
}

// kickService lets a service drive, where a thread that might depend on it cannot.
func (m *Machine) kickService() {
	if !m.canGo() {
		return
	}
	m.parkMu.Lock()
	for _, p := range m.services {
		if p.parked.CompareAndSwap(1, 2) {
			p.post()
			break
		}
	}
	m.parkMu.Unlock()
}

// post leaves a wake token. Tokens stick and spurious ones are harmless, so it never blocks.
func (p *Port) post() {
	select {
	case p.ch <- struct{}{}:
	default:
	}
}

// kick wakes one parked port if something can be simulated and nobody drives.
func (m *Machine) kick() {
	if m.hungry.Load() == 0 || !m.canGo() {
		return
	}
	m.parkMu.Lock()
	if len(m.parkedPorts) > 0 {
		p := m.parkedPorts[0]
		if p.parked.CompareAndSwap(1, 2) {
			p.post()
		}
	}
	m.parkMu.Unlock()
}

// nudge tells the stalled that something now happens at time t.
func (m *Machine) nudge(t int64) {
	for {
		w := m.nextT.Load()
		if w <= t || m.nextT.CompareAndSwap(w, t) {
			break
		}
	}
	m.kick()
}

// canGo: nobody drives, and something can be simulated or has not been looked at.
func (m *Machine) canGo() bool {
	if m.owner.Load() != 0 {
		return false
	}
	if m.unseen() {
		return true
	}
	b, _ := m.horizon()
	return b > m.nextT.Load()
}

// unseen: a port has published doorbells or a wait that the driver has not looked at.
func (m *Machine) unseen() bool {
	for _, p := range m.portList() {
		a, b := p.word.Load(), p.seen.Load()
		if a&logMask != b&logMask || a != b && int64(a>>tailBits) >= infDev {
			return true
		}
	}
	for _, s := range *m.shared.Load() {
		if s.word.Load() != s.seen.Load() {
			return true
		}
	}
	return false
}

// horizon is the time before which the device may simulate, and the port that holds it there (nil: nobody).
func (m *Machine) horizon() (int64, *Port) {
	for {
		e := m.epoch.Load()
		b, who := min(m.paced(), m.link.bound()), (*Port)(nil)
		for _, p := range m.portList() {
			if c, ok := p.running(); ok && c+1+Doorbell < b {
				b, who = c+1+Doorbell, p
			}
		}
		if m.epoch.Load() == e {
			return b, who
		}
	}
}

// WaitQueue blocks until the queue has retired everything before pos. timeout is in virtual nanoseconds, 0 for ever;
// cost is the modelled host time of the return. A fault that is not sticky is then taken from the queue.
func (p *Port) WaitQueue(q *Queue, pos uint64, timeout, cost int64) (Outcome, error) {
	err := p.block(request{kind: waitQueue, queue: q, pos: pos, timeout: timeout, cost: cost})
	return p.result.Outcome, err
}

// WaitEvent blocks until the event has reached generation gen. It reports a fault of the record's queue that came
// before the record.
func (p *Port) WaitEvent(e *Event, gen uint64, timeout, cost int64) (Outcome, error) {
	err := p.block(request{kind: waitEvent, event: e, pos: gen, timeout: timeout, cost: cost})
	return p.result.Outcome, err
}

// WaitNotify blocks until the notify is recorded, and consumes the record.
func (p *Port) WaitNotify(n *Notify, timeout, cost int64) (expired bool, err error) {
	err = p.block(request{kind: waitNotify, notify: n, timeout: timeout, cost: cost})
	return p.result.Expired, err
}

// Call drives the device to this port's clock and runs f on the device's state of that instant. Whatever creates,
// destroys or observes goes this way, so that it happens in virtual-time order. f must be short and must not wait.
func (p *Port) Call(f func()) error {
	p.clock++
	return p.block(request{kind: waitTime, fn: f})
}
