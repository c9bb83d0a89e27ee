package sim

import "slices"

// Event is a hardware event. It remembers which generations were recorded; a wait passes once the one that it names was,
// several waiters with one record. Records of several queues may come in any order. It is also a flag, for waits that
// name generation 0: a record sets it, a reset clears it, a wait passes while it is set.
type Event struct {
	dev    *Device
	id     uint32
	flag   bool
	gen    uint64   // all generations up to this were recorded,
	ahead  []uint64 // and these,
	lost   []uint64 // but not these, whose records were dropped
	latest uint64   // generation of the last record
	top    uint64   // greatest generation that was recorded
	t      int64    // when that was
	clear  uint64   // greatest generation at the last reset
	queues []*Queue
	ports  []*Port
	from   *Queue // of the latest record, with its position: whoever waits on the host hears of faults before it
	pos    uint64
	done   uint64 // descriptors that name it and are through
	last   uint64 // with dying: how many there are
	dying  bool
	remote *Remote // shared with other processes; nil: not
}

// NewEvent makes an event of the device. Ids are unique in the machine, so that a queue of any device can wait for it.
// Call it from Port.Call or before anything runs.
func (d *Device) NewEvent() *Event {
	m := d.m
	d.eventCount++
	e := &Event{dev: d, id: uint32(len(m.events))}
	if n := len(m.freeEvents); n > 0 {
		// The id that has rested longest: a stale use is then more likely to be noticed.
		e.id = m.freeEvents[0]
		m.freeEvents = m.freeEvents[1:]
		m.events[e.id] = e
		return e
	}
	m.events = append(m.events, e)
	return e
}

// Events is how many event ids of the device are taken. Call it from Port.Call.
func (d *Device) Events() int { return d.eventCount }

// DropEvent gives an event's id back as soon as uses descriptors that name it are through, which is at once if they
// are. Call it from Port.Call.
func (m *Machine) DropEvent(e *Event, uses uint64) {
	e.dying, e.last = true, uses
	m.tryDrop(e)
}

func (m *Machine) tryDrop(e *Event) {
	if e.dying && e.done >= e.last && m.events[e.id] == e {
		m.events[e.id] = nil
		m.freeEvents = append(m.freeEvents, e.id)
		e.dev.eventCount--
	}
}

// event is the event that an operand names. Where its id was given back although tasks still named it, waits pass.
func (m *Machine) event(id uint64) *Event {
	if id < uint64(len(m.events)) {
		if e := m.events[id]; e != nil {
			return e
		}
	}
	return &Event{dev: m.devices[0], id: uint32(id), gen: ^uint64(0), flag: true}
}

// passed counts a descriptor that named e and is through.
func (m *Machine) passed(e *Event) {
	e.done++
	if e.dying {
		m.tryDrop(e)
	}
	if len(e.dev.EventIDs.ports) > 0 {
		m.Signal(&e.dev.EventIDs)
	}
}

// ID is the operand of record, wait and reset descriptors.
func (e *Event) ID() uint64 { return uint64(e.id) }

// Reached is the greatest generation that was recorded and when. Call it from Port.Call.
func (e *Event) Reached() (gen uint64, t int64) { return e.top, e.t }

// has says whether generation gen was recorded.
func (e *Event) has(gen uint64) bool {
	return (gen <= e.gen || slices.Contains(e.ahead, gen)) && !slices.Contains(e.lost, gen)
}

// count marks generation gen as recorded, or as one that never will be.
func (e *Event) count(gen uint64) {
	if gen != e.gen+1 {
		e.ahead = append(e.ahead, gen)
		return
	}
	for e.gen++; ; e.gen++ {
		i := slices.Index(e.ahead, e.gen+1)
		if i < 0 {
			return
		}
		e.ahead = slices.Delete(e.ahead, i, i+1)
	}
}

// Cleared is the generation that the last reset has cleared. Call it from Port.Call.
func (e *Event) Cleared() uint64 { return e.clear }

// Set is the event's flag. Call it from Port.Call.
func (e *Event) Set() bool { return e.flag }

// Through is how many descriptors that name the event are done. Call it from Port.Call.
func (e *Event) Through() uint64 { return e.done }

// recordEvent raises e at the present instant and lets go who waited for it. It returns the generation reached.
func (m *Machine) recordEvent(q *Queue, e *Event, gen uint64) uint64 {
	if e.remote != nil {
		m.link.record(e.remote, gen)
		return gen
	}
	if gen == 0 {
		gen = e.top + 1
	}
	e.count(gen)
	e.flag, e.latest = true, gen
	if gen > e.top {
		e.top, e.t = gen, m.now
	}
	e.from, e.pos = q, q.cur
	k := 0
	for _, w := range e.queues {
		if _, g := m.eventOf(w, w.desc()); g == 0 || e.has(g) {
			m.stepLater(w, m.now+gap)
		} else {
			e.queues[k] = w
			k++
		}
	}
	e.queues = e.queues[:k]
	k = 0
	for _, p := range e.ports {
		if e.has(p.dev.pos) {
			m.releaseEvent(p, e, m.now)
		} else {
			e.ports[k] = p
			k++
		}
	}
	e.ports = e.ports[:k]
	return gen
}

// releaseEvent lets go a port that waited for e, with the unreported fault of a task before the record.
func (m *Machine) releaseEvent(p *Port, e *Event, t int64) {
	if q := e.from; q != nil {
		switch {
		case q.domain.fault != nil:
			p.result.Fault, p.result.Domain = q.domain.fault, q.domain
		case q.fault != nil && q.faultPos < e.pos:
			p.result.Fault, q.fault = q.fault, nil
		}
	}
	m.release(p, t)
}

// eventOf is the event and the generation that the descriptor at the head of q names.
func (m *Machine) eventOf(q *Queue, d *Desc) (*Event, uint64) {
	if q.instance == nil {
		return m.event(d[5]), d[6]
	}
	if d.flags()&FlagExternal != 0 {
		if b := q.external(d); b.Event != nil {
			return b.Event, b.Gen
		}
		return m.event(^uint64(0)), 0 // nothing was recorded: a wait passes
	}
	return m.event(d[5]), 0
}

// waitEvent says whether the wait at the head of q passes; if not, q is held.
func (m *Machine) waitEvent(q *Queue, d *Desc) bool {
	e, gen := m.eventOf(q, d)
	if e.remote != nil {
		return m.link.await(q, e.remote, gen, d[7])
	}
	switch {
	case gen == 0 && e.flag:
		if q.instance == nil {
			d[6] = e.latest // which record it was, for the trace
		}
		return true
	case gen != 0 && e.has(gen):
		return true
	}
	m.hold(q, d[7])
	e.queues = append(e.queues, q)
	return false
}
