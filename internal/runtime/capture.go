package runtime

import (
	"errors"
	"fmt"
	"slices"

	"npu/internal/sim"
	"npu/internal/trace"
)

// CaptureMode says whose unsafe calls a capture forbids: those that work at once and beside all streams, such as
// synchronous copies (aclmdlRICaptureMode).
type CaptureMode int

// Capture modes.
const (
	CaptureGlobal      CaptureMode = iota // those of every thread
	CaptureThreadLocal                    // those of the capturing thread
	CaptureRelaxed                        // nobody's
)

// CaptureStatus is where a stream's capture stands (aclmdlRICaptureStatus).
type CaptureStatus int

// Capture states.
const (
	CaptureStatusNone CaptureStatus = iota
	CaptureStatusActive
	CaptureStatusInvalidated
)

// external is an event that a captured model records, or waits for, outside itself.
type external struct {
	e      *Event
	record bool
}

// open says whether the capture of a mark goes on.
func (k *mark) open() bool {
	return k != nil && (k.lane.m.State() == ModelActive || k.lane.m.State() == ModelInvalidated)
}

// CaptureBegin turns what is submitted to the stream from here on into a model instead of running it
// (aclmdlRICaptureBegin).
func (th *Thread) CaptureBegin(s *Stream, mode CaptureMode) error { return th.capture(s, nil, mode) }

// CaptureToModel is CaptureBegin for the body of a condition (aclmdlRICaptureToModelRIBegin).
func (th *Thread) CaptureToModel(s *Stream, body *Model, mode CaptureMode) error {
	if body == nil || body.parent == nil {
		return th.fail(InvalidParam, callCaptureBegin.name, "the model is no body of a condition", "take one that AddCondition has made")
	}
	if len(body.lanes) > 0 {
		return th.fail(InvalidParam, callCaptureBegin.name, "the body is captured already", "")
	}
	return th.capture(s, body, mode)
}

func (th *Thread) capture(s *Stream, m *Model, mode CaptureMode) (err error) {
	t := th.begin(callCaptureBegin)
	defer func() { th.end(callCaptureBegin, t, err) }()
	if s == nil {
		return th.fail(InvalidParam, callCaptureBegin.name, "the default stream cannot be captured", "make a stream")
	}
	if err = th.ownStream(s, callCaptureBegin); err != nil {
		return err
	}
	switch l := s.lane.Load(); {
	case mode < CaptureGlobal || mode > CaptureRelaxed:
		return th.fail(InvalidParam, callCaptureBegin.name, fmt.Sprintf("mode %d", mode), "give 0 (global), 1 (thread local) or 2 (relaxed)")
	case l != nil && l.m != nil && l.m.thread != nil:
		return th.fail(StreamCaptured, callCaptureBegin.name, fmt.Sprintf("stream %d is being captured", s.id), "end that capture first")
	case l != nil || s.flags&(Persistent|CPUSchedule|DeviceUseOnly) != 0:
		return th.fail(NotSupported, callCaptureBegin.name, fmt.Sprintf("stream %d keeps its tasks for a model", s.id), "capture an ordinary stream")
	}
	g := &th.rt.graphs
	g.mu.Lock()
	defer g.mu.Unlock()
	if m == nil {
		m = newModel(s.ctx)
		m.name = fmt.Sprintf("capture of stream %d", s.id)
	}
	m.thread, m.mode = th, mode
	m.state.Store(int32(ModelActive))
	g.list = append(g.list, m)
	g.n.Add(1)
	m.take(s)
	return nil
}

// take makes a stream one of the model's lanes.
func (m *Model) take(s *Stream) *lane {
	l := m.lane(s, fmt.Sprintf("%s, stream %d", m.root().name, s.id), true)
	s.lane.Store(l)
	s.open.Store(nil)
	return l
}

// CaptureInfo is the state of the stream's capture and the model that it fills (aclmdlRICaptureGetInfo).
func (th *Thread) CaptureInfo(s *Stream) (CaptureStatus, *Model, error) {
	th.port.Spend(callCaptureInfo.ns)
	if s == nil {
		return CaptureStatusNone, nil, th.fail(CaptureImplicit, callCaptureInfo.name, "this is the default stream", "")
	}
	l := s.lane.Load()
	if l == nil || l.m == nil || l.m.thread == nil {
		return CaptureStatusNone, nil, nil
	}
	if l.m.State() == ModelInvalidated {
		return CaptureStatusInvalidated, l.m, nil
	}
	return CaptureStatusActive, l.m, nil
}

// ExchangeCaptureMode sets which captures forbid this thread's unsafe calls, and returns the mode before
// (aclmdlRICaptureThreadExchangeMode).
func (th *Thread) ExchangeCaptureMode(mode CaptureMode) (old CaptureMode, err error) {
	if mode < CaptureGlobal || mode > CaptureRelaxed {
		return th.mode, th.fail(InvalidParam, "aclmdlRICaptureThreadExchangeMode", fmt.Sprintf("mode %d", mode), "give 0 (global), 1 (thread local) or 2 (relaxed)")
	}
	old, th.mode = th.mode, mode
	return old, nil
}

// CaptureEnd ends the capture that CaptureBegin began on the stream, and writes the model to the device
// (aclmdlRICaptureEnd). Whatever it returns, the streams work as before.
func (th *Thread) CaptureEnd(s *Stream) (m *Model, err error) {
	t := th.begin(callCaptureEnd)
	defer func() { th.end(callCaptureEnd, t, err) }()
	if s == nil {
		return nil, th.fail(ACLInvalidParam, callCaptureEnd.name, "stream is null", "")
	}
	l := s.lane.Load()
	if l == nil || l.m == nil || l.m.thread == nil {
		return nil, th.fail(NotCaptured, callCaptureEnd.name, fmt.Sprintf("stream %d is not being captured", s.id), "")
	}
	m = l.m
	switch {
	case l.index != 0:
		return nil, th.fail(CaptureUnmatched, callCaptureEnd.name, fmt.Sprintf("the capture began on stream %d", m.lanes[0].stream.id), "end it there")
	case m.thread != th && m.mode != CaptureRelaxed:
		return nil, th.fail(CaptureThread, callCaptureEnd.name, fmt.Sprintf("the capture began in thread %d", m.thread.ID()), "end it there, or capture in relaxed mode")
	}
	if err = th.complete(m); err != nil {
		m.state.Store(int32(ModelFault))
		if m.parent == nil {
			err = errors.Join(err, th.dropModel(m))
			var e *Error
			if errors.As(err, &e) {
				th.last = e // of the capture, not of what came with its end
			}
		}
		return nil, err
	}
	return m, nil
}

// complete checks a capture, releases its streams and, unless it is a body, builds the model.
func (th *Thread) complete(m *Model) error {
	g := &th.rt.graphs
	g.mu.Lock()
	g.list = slices.DeleteFunc(g.list, func(x *Model) bool { return x == m })
	g.n.Store(int32(len(g.list)))
	for _, l := range m.lanes {
		l.stream.lane.Store(nil)
	}
	o := m.lanes[0]
	tasks := 0
	for _, l := range m.lanes {
		tasks += len(l.nodes)
	}
	if m.parent == nil {
		o.add(node{task: sim.Task{Kind: trace.ModelEnd}})
	} else {
		o.add(node{})
	}
	var loose *Stream
	for _, l := range m.lanes[1:] {
		if at(o.clock, l.index) < len(l.nodes) {
			loose = l.stream
		}
	}
	open := slices.ContainsFunc(m.bodies, func(b *Model) bool { return b.State() == ModelActive })
	m.ended = true
	g.mu.Unlock()
	name := callCaptureEnd.name
	switch {
	case m.invalid != nil:
		return th.keep(&Error{Code: CaptureInvalid, Message: messageOf(CaptureInvalid), Call: name, Detail: "an illegal call has made the capture invalid", Err: m.invalid})
	case m.group != nil:
		return th.fail(TaskGroupState, name, "a task group is open", "end it first")
	case open:
		return th.fail(SubgraphCapturing, name, "the body of a condition is not captured yet", "capture each body and end its capture first")
	case loose != nil:
		return th.fail(CaptureUnjoined, name, fmt.Sprintf("stream %d was forked and does not join", loose.id), "record an event there and wait for it on the stream of the capture")
	case tasks == 0 && m.parent == nil:
		return th.fail(CaptureUnjoined, name, "nothing was captured", "")
	}
	if m.parent != nil {
		m.state.Store(int32(ModelReady))
		return nil
	}
	return m.finish(th, callCaptureEnd)
}

// invalidate makes a capture invalid; the first reason stays. Models under construction by other means keep going.
func (th *Thread) invalidate(m *Model, why string) {
	g := &th.rt.graphs
	g.mu.Lock()
	defer g.mu.Unlock()
	m.spoil(why)
}

// spoil is invalidate for whoever holds the lock.
func (m *Model) spoil(why string) {
	if m.thread != nil && m.State() == ModelActive {
		m.invalid = errors.New(why + " is not allowed in a capture")
		m.state.Store(int32(ModelInvalidated))
	}
}

// captures says whether this thread captures in a mode that watches it.
func (th *Thread) captures() bool {
	g := &th.rt.graphs
	if g.n.Load() == 0 {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.list, func(m *Model) bool { return m.thread == th })
}

// implicit is the error of a use of the default stream while this thread captures.
func (th *Thread) implicit(c call) error {
	g := &th.rt.graphs
	g.mu.Lock()
	for _, m := range g.list {
		if m.thread == th {
			m.spoil(c.name + " on the default stream")
		}
	}
	g.mu.Unlock()
	return th.fail(CaptureImplicit, c.name, "the default stream cannot be used while this thread captures", "use the captured stream")
}

// unsafeCall is the error of a call that works at once, while a capture forbids that.
func (th *Thread) unsafeCall(c call) error {
	if th.mode == CaptureRelaxed || th.rt.graphs.n.Load() == 0 {
		return nil
	}
	g := &th.rt.graphs
	g.mu.Lock()
	hit := false
	for _, m := range g.list {
		if m.thread == th && m.mode != CaptureRelaxed || th.mode == CaptureGlobal && m.mode == CaptureGlobal {
			hit = true
			m.spoil(c.name)
		}
	}
	g.mu.Unlock()
	if !hit {
		return nil
	}
	return th.fail(CaptureForbids, c.name, "a capture is under way", "exchange the thread's capture mode for relaxed around the call, or use the asynchronous call")
}

// notSunk is the error of a call that manages or waits for a stream whose tasks go to a model.
func (th *Thread) notSunk(s *Stream, c call) error {
	l := s.lane.Load()
	if l == nil {
		return nil
	}
	if l.m == nil || l.m.thread == nil {
		return th.fail(InvalidParam, c.name, fmt.Sprintf("stream %d belongs to a model", s.id), "unbind it, or end the update, first")
	}
	th.invalidate(l.m, c.name)
	return th.fail(StreamCaptured, c.name, fmt.Sprintf("stream %d is being captured", s.id), "end the capture first")
}

// notCaptured is the error of a call that waits for an event which was recorded in a capture.
func (th *Thread) notCaptured(e *Event, c call) error {
	k := e.mark.Load()
	if !k.open() {
		return nil
	}
	th.invalidate(k.lane.m, c.name)
	return th.fail(EventCaptured, c.name, "the event was recorded in a capture", "end the capture first")
}
