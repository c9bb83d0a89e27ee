package runtime

import (
	"fmt"
	"sync/atomic"

	"npu/internal/sim"
	"npu/internal/trace"
)

// RecordEvent marks the stream's present end (aclrtRecordEvent). If the device has no event id left it waits for one.
func (th *Thread) RecordEvent(e *Event, s *Stream) error {
	if err := th.event(e, callRecordEvent); err != nil {
		return err
	}
	s, err := th.use(s, callRecordEvent)
	if err != nil {
		return err
	}
	if l := s.lane.Load(); l != nil {
		return th.sinkRecord(l, e)
	}
	e.mark.Store(nil)
	if s.dev != e.dev {
		return th.fail(InvalidParam, callRecordEvent.name, fmt.Sprintf("the event is of device %d, the stream of device %d", e.dev.id, s.dev.id), "record on a stream of the event's device")
	}
	hw := e.hw.Load()
	if hw == nil {
		if err := th.takeID(e, callRecordEvent); err != nil {
			return err
		}
		hw = e.hw.Load()
	}
	e.uses.Add(1)
	th.order(&e.recordAt, &e.waitAt)
	if th.rt.hostMem.order.on.Load() {
		th.noteRecord(e, s)
	}
	return th.submit(s, &sim.Task{Kind: trace.EventRecord, A: hw.ID(), B: e.next()}, nil, callRecordEvent)
}

// order notes the clock of a record or a wait, and that of the opposite that came before. If that lies in this thread's
// future, then which record the wait belongs to was decided by wall time.
func (th *Thread) order(mine, opposite *atomic.Int64) {
	c := th.port.Clock()
	mine.Store(c)
	if opposite.Load() >= c {
		th.rt.machine.OrderedByWall()
	}
}

// WaitEvent holds the stream until the event's record is reached (aclrtStreamWaitEvent); which record that is, and what
// happens without one, depends on how the event was made. The limit of SetOpWaitTimeout applies.
func (th *Thread) WaitEvent(s *Stream, e *Event) error {
	return th.waitEvent(s, e, th.rt.opWait.Load())
}

// WaitEventTimeout is WaitEvent with a limit in seconds, 0 for none (aclrtStreamWaitEventWithTimeout). When it is over,
// the wait fails with 107020, which the stream's next synchronise reports.
func (th *Thread) WaitEventTimeout(s *Stream, e *Event, seconds int) error {
	if seconds < 0 {
		return th.fail(InvalidParam, callWaitEvent.name+"WithTimeout", fmt.Sprintf("time-out %d s", seconds), "give 0 (none) or more")
	}
	return th.waitEvent(s, e, int64(seconds)*1e9)
}

// SetOpWaitTimeout limits every later wait for an event on a device, in seconds; 0 is no limit
// (aclrtSetOpWaitTimeout).
func (th *Thread) SetOpWaitTimeout(seconds int) error {
	if seconds < 0 {
		return th.fail(InvalidParam, "aclrtSetOpWaitTimeout", fmt.Sprintf("time-out %d s", seconds), "give 0 (none) or more")
	}
	th.rt.opWait.Store(int64(seconds) * 1e9)
	return nil
}

func (th *Thread) waitEvent(s *Stream, e *Event, limit int64) error {
	if err := th.event(e, callWaitEvent); err != nil {
		return err
	}
	s, err := th.use(s, callWaitEvent)
	if err != nil {
		return err
	}
	if e.flags&(EventSync|EventExternal|EventIPC) == 0 {
		return th.cannotWait(e)
	}
	if l, k := s.lane.Load(), e.mark.Load(); l != nil || k.open() {
		return th.sinkWait(s, l, e, k)
	}
	if e.kind != flagEvent {
		th.order(&e.waitAt, &e.recordAt)
	}
	gen := e.newest()
	switch {
	case e.kind == flagEvent:
		gen = 0 // the flag, whoever sets it
	case gen == 0 && e.kind == plainEvent:
		return th.failAs(InvalidParam, "EE1018", callWaitEvent.name, "the event was never recorded", "record it first")
	case gen == 0:
		return nil
	case gen == e.reset.Load():
		gen++ // cleared since: the next record
	case e.hw.Load() == nil || e.seen.Load() == gen<<16|uint64(th.port.ID()):
		return nil // complete, and this thread knows
	}
	hw := e.hw.Load()
	if hw == nil {
		return nil
	}
	e.uses.Add(1)
	if th.rt.hostMem.order.on.Load() {
		th.noteWait(e, s)
	}
	return th.submit(s, &sim.Task{Kind: trace.EventWait, A: hw.ID(), B: gen, C: uint64(limit)}, nil, callWaitEvent)
}

// cannotWait is the error of a wait for an event that is not made for it.
func (th *Thread) cannotWait(e *Event) error {
	if e.flags&EventDeviceUseOnly != 0 {
		return th.failAs(InvalidParam, "EE1006", callWaitEvent.name, "the event is for the device's use only", "")
	}
	return th.fail(NotSupported, callWaitEvent.name, fmt.Sprintf("the event has flags 0x%x", uint32(e.flags)), "make it with EventSync")
}

// ResetEvent clears the event in stream order, after all waits for it (aclrtResetEvent). Events of CreateEventEx have
// nothing to clear: 207000.
func (th *Thread) ResetEvent(e *Event, s *Stream) error {
	if err := th.event(e, callResetEvent); err != nil {
		return err
	}
	s, err := th.use(s, callResetEvent)
	if err != nil {
		return err
	}
	if l := s.lane.Load(); l != nil {
		return th.sinkRefuse(l, NotSupported, callResetEvent, "a reset of an event")
	}
	if e.kind == softEvent || e.flags&EventSync == 0 {
		return th.fail(NotSupported, callResetEvent.name, "the event keeps its state in software, or no stream can wait for it", "record it again instead")
	}
	e.reset.Store(e.gen.Load())
	hw := e.hw.Load()
	if hw == nil {
		return nil // never recorded
	}
	e.uses.Add(1)
	return th.submit(s, &sim.Task{Kind: trace.EventReset, A: hw.ID()}, nil, callResetEvent)
}

// title gives a task that is no kernel and has no name the thread's label.
func (th *Thread) title(t *sim.Task) {
	if th.label != 0 && t.Name == 0 && !t.Kind.Kernel() {
		t.Name, t.Blocks = th.label, uint32(th.operator)
	}
}

// submit puts one task into a stream.
func (th *Thread) submit(s *Stream, t *sim.Task, args []uint64, c call) error {
	if l := s.lane.Load(); l != nil {
		return th.sink(l, t, args, c)
	}
	start := th.port.Clock()
	th.task = *t
	th.title(&th.task)
	pos, err := th.port.Submit(s.q, &th.task, args, c.ns)
	if err != nil {
		return th.blocked(c.name, nil, err)
	}
	if s.dev.memory.strict.on.Load() {
		s.dev.memory.strict.note(s, pos, t, args)
	}
	if th.rt.spans {
		th.span(c, start, s, pos, nil)
	}
	return nil
}
