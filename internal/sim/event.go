package sim

// Event is a hardware event: a generation counter. A record raises it, a wait passes once it has reached the wanted
// generation. Several waiters pass with one record.
type Event struct {
	id     uint32
	gen    uint64
	t      int64 // when it reached gen
	queues []*Queue
	ports  []*Port
}

// Notify is a flag that one record sets and one wait clears. A record without a waiter is remembered once.
type Notify struct {
	id    uint32
	set   bool
	queue *Queue
	ports []*Port
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

// DropEvent gives an event's id back. No descriptor may refer to it any more.
func (d *Device) DropEvent(e *Event) {
	d.events[e.id] = nil
	d.freeEvents = append(d.freeEvents, e.id)
}

// NewNotify makes a notify. Call it from Port.Call or before anything runs.
func (d *Device) NewNotify() *Notify {
	n := &Notify{id: uint32(len(d.notifies))}
	d.notifies = append(d.notifies, n)
	return n
}

// ID is the operand of record and wait descriptors.
func (e *Event) ID() uint64 { return uint64(e.id) }

// Reached is the generation that the event has reached and when. Call it from Port.Call.
func (e *Event) Reached() (gen uint64, t int64) { return e.gen, e.t }

// ID is the operand of record and wait descriptors.
func (n *Notify) ID() uint64 { return uint64(n.id) }

// recordEvent raises e at the present instant and lets go who waited for it.
func (m *Machine) recordEvent(e *Event, gen uint64) {
	if gen > e.gen {
		e.gen, e.t = gen, m.now
	}
	k := 0
	for _, q := range e.queues {
		if q.desc()[6] <= e.gen {
			q.state = qQueued
			m.events.push(item{m.now + gap, evStep | uint64(q.id)})
		} else {
			e.queues[k] = q
			k++
		}
	}
	e.queues = e.queues[:k]
	k = 0
	for _, p := range e.ports {
		if p.dev.pos <= e.gen {
			m.release(p, m.now)
		} else {
			e.ports[k] = p
			k++
		}
	}
	e.ports = e.ports[:k]
}

// recordNotify sets n, or passes the record on to the one who waits for it.
func (m *Machine) recordNotify(n *Notify) {
	switch {
	case len(n.ports) > 0:
		p := n.ports[0]
		n.ports = append(n.ports[:0], n.ports[1:]...)
		m.release(p, m.now)
	case n.queue != nil:
		q := n.queue
		n.queue = nil
		m.retire(q, m.now)
		m.fetch(q, m.now+gap)
	default:
		n.set = true
	}
}
