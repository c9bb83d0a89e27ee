package runtime

import (
	"npu/internal/sim"
	"npu/internal/trace"
)

// Event orders streams: a record marks a position of one stream, a wait holds another stream until the mark is
// reached. It is the event of aclrtCreateEventExWithFlag: a wait belongs to the latest record before it, and passes
// if there is none.
type Event struct {
	hw        *sim.Event
	dev       *Device
	gen       uint64 // of the latest record submitted
	destroyed bool
}

// CreateEvent makes an event of the current context's device (aclrtCreateEventExWithFlag).
func (th *Thread) CreateEvent() (e *Event, err error) {
	t := th.begin(callCreateEvent)
	defer func() { th.end(callCreateEvent, t, err) }()
	ctx, err := th.context(callCreateEvent)
	if err != nil {
		return nil, err
	}
	e = &Event{dev: ctx.dev}
	err = th.port.Call(func() { e.hw = ctx.dev.hw.NewEvent() })
	return e, th.blocked(callCreateEvent.name, nil, err)
}

func (th *Thread) event(e *Event, c call) error {
	if e == nil {
		return th.fail(InvalidParam, c.name, "event is null", "")
	}
	if e.destroyed {
		return th.fail(InvalidHandle, c.name, "event is destroyed", "EE1017")
	}
	return nil
}

// RecordEvent marks the stream's present end (aclrtRecordEvent).
func (th *Thread) RecordEvent(e *Event, s *Stream) error {
	if err := th.event(e, callRecordEvent); err != nil {
		return err
	}
	s, err := th.use(s, callRecordEvent)
	if err != nil {
		return err
	}
	e.gen++
	return th.submit(s, sim.Task{Kind: trace.EventRecord, A: e.hw.ID(), B: e.gen}, nil, callRecordEvent)
}

// WaitEvent holds the stream until the event's latest record is reached (aclrtStreamWaitEvent).
func (th *Thread) WaitEvent(s *Stream, e *Event) error {
	if err := th.event(e, callWaitEvent); err != nil {
		return err
	}
	s, err := th.use(s, callWaitEvent)
	if err != nil {
		return err
	}
	if e.gen == 0 {
		return nil // never recorded: nothing to wait for, no task
	}
	return th.submit(s, sim.Task{Kind: trace.EventWait, A: e.hw.ID(), B: e.gen}, nil, callWaitEvent)
}

// SynchronizeEvent waits on the host for the latest record (aclrtSynchronizeEvent).
func (th *Thread) SynchronizeEvent(e *Event) (err error) {
	t := th.Clock()
	defer func() { th.end(callSyncEvent, t, err) }()
	if err = th.event(e, callSyncEvent); err != nil {
		return err
	}
	th.port.Spend(syncEntry)
	_, err = th.port.WaitEvent(e.hw, e.gen, 0, callSyncEvent.ns)
	return th.blocked(callSyncEvent.name, nil, err)
}

// QueryEvent says whether the latest record is reached; true if there is none (aclrtQueryEventStatus).
func (th *Thread) QueryEvent(e *Event) (done bool, err error) {
	t := th.begin(callQueryEvent)
	defer func() { th.end(callQueryEvent, t, err) }()
	if err = th.event(e, callQueryEvent); err != nil {
		return false, err
	}
	gen := e.gen
	err = th.port.Call(func() {
		g, _ := e.hw.Reached()
		done = g >= gen
	})
	return done, th.blocked(callQueryEvent.name, nil, err)
}

// ElapsedTime is the device time from the latest record of a to that of b, in ns (aclrtEventElapsedTime).
func (th *Thread) ElapsedTime(a, b *Event) (ns int64, err error) {
	t := th.begin(callElapsed)
	defer func() { th.end(callElapsed, t, err) }()
	for _, e := range []*Event{a, b} {
		if err = th.event(e, callElapsed); err != nil {
			return 0, err
		}
		if e.gen == 0 {
			return 0, th.fail(Internal, callElapsed.name, "event was never recorded", "")
		}
	}
	done := false
	err = th.port.Call(func() {
		ga, ta := a.hw.Reached()
		gb, tb := b.hw.Reached()
		ns, done = tb-ta, ga >= a.gen && gb >= b.gen
	})
	if err == nil && !done {
		return 0, th.fail(TimestampInvalid, callElapsed.name, "event is not complete", "synchronise first")
	}
	return ns, th.blocked(callElapsed.name, nil, err)
}

// DestroyEvent gives the event up; records and waits that are under way keep working (aclrtDestroyEvent).
func (th *Thread) DestroyEvent(e *Event) (err error) {
	t := th.begin(callDestroyEvent)
	defer func() { th.end(callDestroyEvent, t, err) }()
	if err = th.event(e, callDestroyEvent); err != nil {
		return err
	}
	e.destroyed = true
	err = th.port.Call(func() { e.dev.hw.DropEvent(e.hw, 0) })
	return th.blocked(callDestroyEvent.name, nil, err)
}

// submit puts one task into a stream.
func (th *Thread) submit(s *Stream, t sim.Task, args []uint64, c call) error {
	start := th.port.Clock()
	th.task = t
	pos, err := th.port.Submit(s.q, &th.task, args, c.ns)
	if err != nil {
		return th.blocked(c.name, nil, err)
	}
	if th.rt.spans {
		th.span(c, start, s.id, taskID(pos), nil)
	}
	return nil
}

// taskID is the number of a task in the trace: flip count in the upper half, the 16-bit id, which runs to 65534, in
// the lower.
func taskID(pos uint64) uint32 { return uint32(pos/65535)<<16 | uint32(pos%65535) }
