package runtime

import (
	"fmt"

	"npu/internal/sim"
	"npu/internal/trace"
)

// sink puts a task into a lane instead of a ring.
func (th *Thread) sink(l *lane, t *sim.Task, args []uint64, c call) error {
	th.port.Spend(c.ns)
	n := node{task: *t, args: append([]uint64(nil), args...), replace: t.Kind.Kernel() && t.Args == 0}
	th.title(&n.task)
	if l.update != nil {
		return th.sinkUpdate(l, n, c)
	}
	m := l.m
	g := &th.rt.graphs
	g.mu.Lock()
	defer g.mu.Unlock()
	switch m.State() {
	case ModelActive:
	case ModelInvalidated:
		return th.fail(CaptureInvalid, c.name, "an illegal call has made the capture invalid", "end it")
	default:
		return th.fail(InvalidParam, c.name, fmt.Sprintf("the model is %v", m.State()), "add its tasks before it is built")
	}
	if x := m.group; x != nil {
		switch {
		case x.lane != l:
			m.spoil("a task of another stream inside a task group")
			return th.fail(TaskGroupBroken, c.name, "the task group was opened on another stream", "end it first")
		case !n.replace:
			m.spoil(t.Kind.String() + " inside a task group")
			return th.fail(TaskType, c.name, fmt.Sprintf("%v inside a task group", t.Kind), "put kernels only into a group that is to be updated")
		}
	}
	switch t.Kind {
	case trace.HostFunc:
		th.rt.calls.keep(t.B)
		m.root().kept = append(m.root().kept, t.B)
	case trace.NotifyRecord, trace.NotifyWait:
		n.task.Flags |= sim.FlagDevice
	}
	l.add(n)
	if m.group != nil {
		m.group.nodes = append(m.group.nodes, len(l.nodes)-1)
	}
	return nil
}

// sinkRefuse is the error of a call that has no place in a model; a capture becomes invalid by it.
func (th *Thread) sinkRefuse(l *lane, code Code, c call, what string) error {
	if l.m != nil {
		th.invalidate(l.m, c.name)
	}
	return th.fail(code, c.name, what+" cannot be part of a model", "")
}

// sinkRecord notes the end of a lane as the record of an event.
func (th *Thread) sinkRecord(l *lane, e *Event) error {
	c := callRecordEvent
	th.port.Spend(c.ns)
	switch {
	case l.update != nil || l.m.group != nil:
		return th.sinkRefuse(l, TaskType, c, "an event inside a task group")
	case l.m.thread != nil && e.kind != softEvent:
		return th.sinkRefuse(l, NotSupported, c, "an event that CreateEventExWithFlag has not made")
	case l.m.isOutside(e):
		return th.mixed(l, c)
	}
	g := &th.rt.graphs
	g.mu.Lock()
	defer g.mu.Unlock()
	e.mark.Store(l.mark())
	return nil
}

// sinkWait orders a lane behind the record of an event. A stream that is not captured yet is forked by it.
func (th *Thread) sinkWait(s *Stream, l *lane, e *Event, k *mark) error {
	c := callWaitEvent
	th.port.Spend(c.ns)
	if l != nil {
		switch {
		case l.update != nil || l.m.group != nil:
			return th.sinkRefuse(l, TaskType, c, "an event inside a task group")
		case l.m.thread != nil && e.kind != softEvent:
			return th.sinkRefuse(l, NotSupported, c, "an event that CreateEventExWithFlag has not made")
		case l.m.isOutside(e):
			return th.mixed(l, c)
		case !k.open() && e.gen.Load() == 0 && e.kind == softEvent:
			return nil // it was never recorded
		case !k.open():
			return th.sinkRefuse(l, CaptureDependency, c, "an event that was recorded outside (wait for it with the flag EXTERNAL)")
		case k.lane.m != l.m:
			return th.sinkRefuse(l, CaptureConflict, c, "an event of another capture")
		}
	}
	g := &th.rt.graphs
	g.mu.Lock()
	defer g.mu.Unlock()
	if l == nil {
		if s.def || k.lane.m.thread == nil || s.dev != k.lane.m.dev {
			return th.fail(InvalidParam, c.name, "the event was recorded in a model that this stream cannot be part of", "bind the stream first; a model is of one device")
		}
		l = k.lane.m.take(s)
	}
	if k.lane != l {
		l.pending = append(l.pending, k)
	}
	return nil
}

func (m *Model) isOutside(e *Event) bool {
	for _, x := range m.outside {
		if x.e == e {
			return true
		}
	}
	return false
}

func (th *Thread) mixed(l *lane, c call) error {
	th.invalidate(l.m, c.name)
	return th.failAs(InvalidParam, "EE1018", c.name, "the event is used with and without the flag EXTERNAL", "record it and wait for it in the same way")
}

// RecordEventExternal records the event, each time the captured model is executed, for waits outside the model
// (aclrtRecordEventWithFlag, EXTERNAL). An event is recorded once by a model.
func (th *Thread) RecordEventExternal(e *Event, s *Stream) error {
	return th.external(e, s, true, callRecordEvent)
}

// WaitEventExternal makes the stream of a capture wait, each time the model is executed, for the record that is the
// latest one when the execution is submitted (aclrtStreamWaitEventWithFlag, EXTERNAL).
func (th *Thread) WaitEventExternal(s *Stream, e *Event) error {
	return th.external(e, s, false, callWaitEvent)
}

func (th *Thread) external(e *Event, s *Stream, record bool, c call) error {
	if err := th.event(e, c); err != nil {
		return err
	}
	s, err := th.use(s, c)
	if err != nil {
		return err
	}
	th.port.Spend(c.ns)
	l := s.lane.Load()
	switch {
	case l == nil || l.m == nil || l.m.thread == nil:
		return th.fail(NotCaptured, c.name, fmt.Sprintf("stream %d is not being captured", s.id), "the flag EXTERNAL is for captures")
	case e.kind != softEvent || e.flags&(EventSync|EventExternal) == 0:
		return th.fail(InvalidParam, c.name, "the event is not made for it", "make it with CreateEventExWithFlag(EventSync)")
	case l.m.parent != nil:
		return th.sinkRefuse(l, NotSupported, c, "an external event in the body of a condition")
	case e.mark.Load().open():
		return th.mixed(l, c)
	}
	for _, x := range l.m.outside {
		if x.e == e && (record || x.record) {
			return th.failAs(InvalidParam, "EE1018", c.name, "the model has recorded this event, or waits for it", "an external event is used once by a model")
		}
	}
	t := sim.Task{Kind: trace.EventWait, Flags: sim.FlagExternal, B: uint64(len(l.m.outside))}
	if record {
		t.Kind = trace.EventRecord
	}
	if err := th.sink(l, &t, nil, call{name: c.name}); err != nil {
		return err
	}
	l.m.outside = append(l.m.outside, external{e, record})
	return nil
}

// bind ties the external events of one execution: its waits to the records that are the latest now, its records to
// generations of their own, which later waits of the program name.
func (th *Thread) bind(m *Model) ([]sim.Binding, error) {
	var b []sim.Binding
	for _, x := range m.outside {
		if err := th.event(x.e, callExecute); err != nil {
			return nil, err
		}
		if !x.record && (x.e.gen.Load() == 0 || x.e.hw.Load() == nil) {
			b = append(b, sim.Binding{})
			continue
		}
		if x.e.hw.Load() == nil {
			if err := th.takeID(x.e, callExecute); err != nil {
				return nil, err
			}
		}
		x.e.uses.Add(1)
		gen := x.e.gen.Load()
		if x.record {
			th.order(&x.e.recordAt, &x.e.waitAt)
			gen = x.e.gen.Add(1)
			x.e.mark.Store(nil)
		} else {
			th.order(&x.e.waitAt, &x.e.recordAt)
		}
		b = append(b, sim.Binding{Event: x.e.hw.Load(), Gen: gen})
	}
	return b, nil
}
