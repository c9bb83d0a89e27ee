package sim

// Event is a hardware event. It is a generation counter: a record raises it, a wait passes once it has reached the
// wanted generation, several waiters with one record. It is also a flag, for descriptors that name generation 0: a
// record sets it, a reset clears it, a wait passes while it is set.
type Event struct {
	id     uint32
	flag   bool
	gen    uint64
	clear  uint64 // generation at the last reset
	t      int64  // when it reached gen
	queues []*Queue
	ports  []*Port
	from   *Queue // of the latest record, with its position: whoever waits on the host hears of faults before it
	pos    uint64
	done   uint64 // descriptors that name it and are through
	last   uint64 // with dying: how many there are
	dying  bool
}

// NewEvent makes an event. Call it from Port.Call or before anything runs.
func (d *Device) NewEvent() *Event {
	if n := len(d.freeEvents); n > 0 {
		// The id that has rested longest: a stale use is then more likely to be noticed.
		e := &Event{id: d.freeEvents[0]}
		d.freeEvents = d.freeEvents[1:]
		d.events[e.id] = e
		return e
	}
	e := &Event{id: uint32(len(d.events))}
	d.events = append(d.events, e)
	return e
}

// Events is how many event ids of the device are taken. Call it from Port.Call.
func (d *Device) Events() int { return len(d.events) - len(d.freeEvents) }

// DropEvent gives an event's id back as soon as uses descriptors that name it are through, which is at once if they
// are. Call it from Port.Call.
func (d *Device) DropEvent(e *Event, uses uint64) {
	e.dying, e.last = true, uses
	d.tryDrop(e)
}

func (d *Device) tryDrop(e *Event) {
	if e.dying && e.done >= e.last && d.events[e.id] == e {
		d.events[e.id] = nil
		d.freeEvents = append(d.freeEvents, e.id)
	}
}

// passed counts a descriptor that named e and is through.
func (m *Machine) passed(d *Device, e *Event) {
	e.done++
	if e.dying {
		d.tryDrop(e)
	}
	if len(d.EventIDs.ports) > 0 {
		m.Signal(&d.EventIDs)
	}
}

// ID is the operand of record, wait and reset descriptors.
func (e *Event) ID() uint64 { return uint64(e.id) }

// Reached is the generation that the event has reached and when. Call it from Port.Call.
func (e *Event) Reached() (gen uint64, t int64) { return e.gen, e.t }

// Cleared is the generation that the last reset has cleared. Call it from Port.Call.
func (e *Event) Cleared() uint64 { return e.clear }

// Set is the event's flag. Call it from Port.Call.
func (e *Event) Set() bool { return e.flag }

// Through is how many descriptors that name the event are done. Call it from Port.Call.
func (e *Event) Through() uint64 { return e.done }

// recordEvent raises e at the present instant and lets go who waited for it. It returns the generation reached.
func (m *Machine) recordEvent(q *Queue, e *Event, gen uint64) uint64 {
	if gen == 0 {
		gen = e.gen + 1
	}
	e.flag = true
	if gen > e.gen {
		e.gen, e.t = gen, m.now
	}
	e.from, e.pos = q, q.cur
	k := 0
	for _, w := range e.queues {
		if w.desc()[6] <= e.gen {
			m.stepLater(w, m.now+gap)
		} else {
			e.queues[k] = w
			k++
		}
	}
	e.queues = e.queues[:k]
	k = 0
	for _, p := range e.ports {
		if p.dev.pos <= e.gen {
			m.releaseEvent(p, e)
		} else {
			e.ports[k] = p
			k++
		}
	}
	e.ports = e.ports[:k]
	return gen
}

// releaseEvent lets go a port that waited for e, with the unreported fault of a task before the record.
func (m *Machine) releaseEvent(p *Port, e *Event) {
	if q := e.from; q != nil {
		switch {
		case q.domain.fault != nil:
			p.result.Fault, p.result.Sticky = q.domain.fault, true
		case q.fault != nil && q.faultPos < e.pos:
			p.result.Fault, q.fault = q.fault, nil
		}
	}
	m.release(p, p.dev.clock)
}

// waitEvent says whether the wait at the head of q passes; if not, q is held.
func (m *Machine) waitEvent(q *Queue, e *Event, d *Desc) bool {
	switch {
	case d[6] == 0 && e.flag:
		d[6] = e.gen // which record it was, for the trace
		return true
	case d[6] != 0 && e.gen >= d[6]:
		return true
	}
	m.hold(q, d[7])
	e.queues = append(e.queues, q)
	return false
}
