package runtime

import "npu/internal/sim"

// SynchronizeEvent waits on the host for the latest record, and returns the fault of a task before it. It returns at
// once if there is none (aclrtSynchronizeEvent).
func (th *Thread) SynchronizeEvent(e *Event) error { return th.syncEvent(e, 0) }

// SynchronizeEventTimeout is SynchronizeEvent with a limit in virtual milliseconds; -1 waits for ever
// (aclrtSynchronizeEventWithTimeout).
func (th *Thread) SynchronizeEventTimeout(e *Event, ms int) error {
	ns, err := th.timeout(ms, callSyncEvent)
	if err != nil {
		return err
	}
	return th.syncEvent(e, ns)
}

func (th *Thread) syncEvent(e *Event, timeout int64) (err error) {
	t := th.Clock()
	defer func() { th.end(callSyncEvent, t, err) }()
	if err = th.forbidden(callSyncEvent); err != nil {
		return err
	}
	if err = th.event(e, callSyncEvent); err != nil {
		return err
	}
	if err = th.notCaptured(e, callSyncEvent); err != nil {
		return err
	}
	th.port.Spend(syncEntry)
	hw, gen := e.hw.Load(), e.newest()
	if hw == nil || gen == 0 {
		return nil
	}
	o, err := th.port.WaitEvent(hw, gen, timeout, callSyncEvent.ns)
	if th.ctx != nil && o.Domain == th.ctx.domain {
		th.noteFailure(th.ctx, o.Fault)
	}
	if o.Expired {
		return th.fail(EventSyncTimeout, callSyncEvent.name, "the event is not recorded in time", "the tasks go on")
	}
	if err == nil {
		e.seen.Store(gen<<16 | uint64(th.port.ID()))
	}
	return th.blocked(callSyncEvent.name, o.Fault, err)
}

// QueryEvent says whether the latest record is reached (aclrtQueryEventStatus). Without a record that is no, but yes
// for events of CreateEventExWithFlag.
func (th *Thread) QueryEvent(e *Event) (done bool, err error) {
	t := th.begin(callQueryEvent)
	defer func() { th.end(callQueryEvent, t, err) }()
	if err = th.forbidden(callQueryEvent); err != nil {
		return false, err
	}
	if err = th.event(e, callQueryEvent); err != nil {
		return false, err
	}
	if err = th.notCaptured(e, callQueryEvent); err != nil {
		return false, err
	}
	hw, gen := e.hw.Load(), e.newest()
	if hw == nil {
		return gen > 0 || e.kind == softEvent, nil
	}
	err = th.port.Call(func() {
		if e.remote != nil {
			done = e.remote.sim.Reached(gen, th.rt.machine.Now(), e.remote.ps.slot.Me())
			return
		}
		reached, _ := hw.Reached()
		switch e.kind {
		case flagEvent:
			done = hw.Set()
		case plainEvent:
			done = reached >= gen && gen > hw.Cleared()
		default:
			done = reached >= gen
		}
	})
	if done {
		e.seen.Store(gen<<16 | uint64(th.port.ID()))
	}
	return done, th.blocked(callQueryEvent.name, nil, err)
}

// EventStatus is the answer of the older queries, numbered as they number it.
type EventStatus int

// Event states.
const (
	EventComplete EventStatus = 0
	EventNotReady EventStatus = 1
)

// QueryEventOld is aclrtQueryEvent: QueryEvent with its numbering; 207000 for events of CreateEventExWithFlag.
func (th *Thread) QueryEventOld(e *Event) (EventStatus, error) {
	if err := th.oldQuery(e, "aclrtQueryEvent"); err != nil {
		return EventNotReady, err
	}
	if done, err := th.QueryEvent(e); err != nil || !done {
		return EventNotReady, err
	}
	return EventComplete, nil
}

// QueryEventWait says whether everything that was submitted for the event, its waits above all, is done
// (aclrtQueryEventWaitStatus); 207000 for events of CreateEventExWithFlag.
func (th *Thread) QueryEventWait(e *Event) (EventStatus, error) {
	if err := th.oldQuery(e, "aclrtQueryEventWaitStatus"); err != nil {
		return EventNotReady, err
	}
	hw := e.hw.Load()
	if hw == nil {
		return EventComplete, nil
	}
	th.port.Spend(callQueryEvent.ns)
	uses, st := e.uses.Load(), EventNotReady
	err := th.port.Call(func() {
		if hw.Through() >= uses {
			st = EventComplete
		}
	})
	return st, th.blocked(callQueryEvent.name, nil, err)
}

func (th *Thread) oldQuery(e *Event, name string) error {
	if err := th.event(e, call{name: name}); err != nil {
		return err
	}
	if e.kind == softEvent {
		return th.fail(NotSupported, name, "the event keeps its state in software", "use aclrtQueryEventStatus")
	}
	return th.forbidden(call{name: name})
}

// recorded is when the latest record of e was reached. Under Port.Call.
func (e *Event) recorded(hw *sim.Event, gen uint64) (t int64, ok bool) {
	if hw == nil {
		return e.agedT, true
	}
	reached, t := hw.Reached()
	return t, reached >= gen
}

// ElapsedTime is the device time from the latest record of a to that of b, in ns; it may be negative
// (aclrtEventElapsedTime).
func (th *Thread) ElapsedTime(a, b *Event) (ns int64, err error) {
	t := th.begin(callElapsed)
	defer func() { th.end(callElapsed, t, err) }()
	var at [2]int64
	for i, e := range []*Event{a, b} {
		if at[i], err = th.timestamp(e, callElapsed); err != nil {
			return 0, err
		}
	}
	return at[1] - at[0], nil
}

// EventTimestamp is when the latest record was reached, in device microseconds (aclrtEventGetTimestamp).
func (th *Thread) EventTimestamp(e *Event) (us int64, err error) {
	t := th.begin(callElapsed)
	defer func() { th.end(callElapsed, t, err) }()
	ns, err := th.timestamp(e, call{name: "aclrtEventGetTimestamp"})
	return ns / 1000, err
}

func (th *Thread) timestamp(e *Event, c call) (int64, error) {
	if err := th.event(e, c); err != nil {
		return 0, err
	}
	if err := th.forbidden(c); err != nil {
		return 0, err
	}
	hw, gen := e.hw.Load(), e.gen.Load()
	switch {
	case e.remote != nil:
		return 0, th.fail(NotSupported, c.name, "an event between processes keeps no time", "record another event beside it")
	case gen == 0:
		return 0, th.fail(Internal, c.name, "the event was never recorded", "record and synchronise it first")
	case e.flags&EventTimeLine == 0:
		return 0, th.fail(TimestampInvalid, c.name, "the event keeps no time", "make it with EventTimeLine")
	}
	var at int64
	done := false
	err := th.port.Call(func() { at, done = e.recorded(hw, gen) })
	if err == nil && !done {
		return 0, th.fail(TimestampInvalid, c.name, "the event is not complete", "synchronise first")
	}
	return at, th.blocked(c.name, nil, err)
}
