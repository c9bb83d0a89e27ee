package runtime

import (
	"fmt"

	"npu/internal/sim"
	"npu/internal/trace"
)

// BuildModelBegin begins a model that is built by hand: streams are bound to it, what is submitted to them becomes the
// model (aclmdlRIBuildBegin).
func (th *Thread) BuildModelBegin(name string) (*Model, error) {
	th.port.Spend(callBuildModel.ns)
	if len(name) > 512 {
		return nil, th.fail(InvalidParam, callBuildModel.name, fmt.Sprintf("a name of %d bytes", len(name)), "give up to 512")
	}
	ctx, err := th.context(callBuildModel)
	if err != nil {
		return nil, err
	}
	m := newModel(ctx)
	if m.name = name; name == "" {
		m.name = "model"
	}
	return m, nil
}

// building checks a model that is built by hand.
func (th *Thread) building(m *Model, c call) error {
	switch {
	case m == nil:
		return th.fail(ACLInvalidParam, c.name, "model is null", "")
	case m.destroyed.Load():
		return th.fail(InvalidHandle, c.name, "model is destroyed", "")
	case m.thread != nil || m.State() != ModelActive:
		return th.fail(InvalidParam, c.name, fmt.Sprintf("the model is %v", m.State()), "it must be between BuildModelBegin and BuildModelEnd")
	}
	return nil
}

// BindStream makes a persistent stream one of the model's. A head stream starts with each execution, another one when
// it is activated (aclmdlRIBindStream).
func (th *Thread) BindStream(m *Model, s *Stream, head bool) error {
	c := callBindStream
	th.port.Spend(c.ns)
	if err := th.building(m, c); err != nil {
		return err
	}
	if err := th.ownStream(s, c); err != nil {
		return err
	}
	switch l := s.lane.Load(); {
	case l != nil && l.m != nil && l.m != m:
		return th.fail(StreamNotInModel, c.name, fmt.Sprintf("stream %d is bound to another model", s.id), "unbind it there")
	case l != nil:
		return th.fail(StreamNotInModel, c.name, fmt.Sprintf("stream %d is already bound", s.id), "")
	case s.flags&FastLaunch != 0:
		return th.fail(NotSupported, c.name, "a fast-launch stream cannot be bound", "make a persistent one")
	case s.flags&Persistent == 0:
		return th.fail(InvalidParam, c.name, fmt.Sprintf("stream %d is not persistent", s.id), "make it with the flag Persistent")
	}
	s.lane.Store(m.lane(s, "", head))
	return nil
}

// UnbindStream gives the stream back; the model must not be executing. What was submitted stays in the model
// (aclmdlRIUnbindStream).
func (th *Thread) UnbindStream(m *Model, s *Stream) (err error) {
	t := th.begin(callUnbindStream)
	defer func() { th.end(callUnbindStream, t, err) }()
	if m == nil || s == nil {
		return th.fail(ACLInvalidParam, callUnbindStream.name, "model or stream is null", "")
	}
	if l := s.lane.Load(); l == nil || l.m != m {
		return th.fail(StreamNotInModel, callUnbindStream.name, fmt.Sprintf("stream %d is not bound to the model", s.id), "")
	}
	idle := true
	if m.inst != nil {
		if err = th.port.Call(func() { idle = m.inst.Idle(0) }); err != nil {
			return th.blocked(callUnbindStream.name, nil, err)
		}
	}
	if !idle {
		return th.fail(ModelRunning, callUnbindStream.name, "the model is executing", "synchronise first")
	}
	s.lane.Store(nil)
	return nil
}

// CleanStream empties a persistent stream that is bound to a model under construction: what was submitted to it is
// forgotten, and so are the labels that were set on it (aclrtPersistentTaskClean). A stream that is not bound keeps
// nothing.
func (th *Thread) CleanStream(s *Stream) (err error) {
	t := th.begin(callCleanStream)
	defer func() { th.end(callCleanStream, t, err) }()
	if err = th.ownStream(s, callCleanStream); err != nil {
		return err
	}
	if s.flags&Persistent == 0 {
		return th.fail(InvalidParam, callCleanStream.name, fmt.Sprintf("stream %d is not persistent", s.id), "")
	}
	l := s.lane.Load()
	if l == nil {
		return nil
	}
	m := l.m
	switch {
	case m.inst != nil:
		idle := true
		if err = th.port.Call(func() { idle = m.inst.Idle(0) }); err != nil {
			return th.blocked(callCleanStream.name, nil, err)
		}
		if !idle {
			return th.fail(ModelRunning, callCleanStream.name, "the model is executing", "synchronise first")
		}
		return th.fail(NotSupported, callCleanStream.name, "the model is built, its tasks lie on the device", "unbind the stream, or destroy the model")
	case len(l.marks) > 0:
		return th.fail(NotSupported, callCleanStream.name, "other streams wait for an event that was recorded here", "destroy the model")
	}
	for _, n := range l.nodes {
		if n.task.Kind == trace.ModelEnd {
			m.ended = false
		}
	}
	l.nodes, l.pending, l.clock = nil, nil, nil
	l.turn++
	return nil
}

// bound is the lane of a stream that is bound to a model under construction.
func (th *Thread) bound(s *Stream, c call) (*lane, error) {
	th.port.Spend(c.ns)
	if s == nil {
		return nil, th.fail(ACLInvalidParam, c.name, "stream is null", "")
	}
	l := s.lane.Load()
	if l == nil || l.m == nil || l.m.thread != nil {
		return nil, th.fail(InvalidParam, c.name, fmt.Sprintf("stream %d is not bound to a model", s.id), "bind it with BindStream")
	}
	return l, th.building(l.m, c)
}

// EndTask puts the end of the execution into the stream, once in a model (aclmdlRIEndTask).
func (th *Thread) EndTask(m *Model, s *Stream) error {
	l, err := th.bound(s, callEndTask)
	if err != nil {
		return err
	}
	switch {
	case l.m != m:
		return th.fail(StreamNotInModel, callEndTask.name, fmt.Sprintf("stream %d is not bound to the model", s.id), "")
	case m.ended:
		return th.fail(Internal, callEndTask.name, "the model has its end already", "")
	}
	m.ended = true
	l.add(node{task: sim.Task{Kind: trace.ModelEnd}})
	return nil
}

// BuildModelEnd writes the descriptors and argument blocks to the device (aclmdlRIBuildEnd).
func (th *Thread) BuildModelEnd(m *Model) (err error) {
	t := th.begin(callBuildEnd)
	defer func() { th.end(callBuildEnd, t, err) }()
	if err = th.building(m, callBuildEnd); err != nil {
		return err
	}
	if !m.ended {
		return th.fail(InvalidParam, callBuildEnd.name, "the model has no end", "call EndTask on the stream where it ends")
	}
	for _, l := range m.lanes {
		for i := range l.nodes {
			for _, x := range l.nodes[i].labels {
				if !x.placed() {
					return th.fail(InvalidParam, callBuildEnd.name, "a label has no place", "call SetLabel")
				}
			}
		}
	}
	return m.finish(th, callBuildEnd)
}

// ActiveStream makes target start from its first task when s comes to this point (aclrtActiveStream). Both must be
// bound to one model.
func (th *Thread) ActiveStream(target, s *Stream) error {
	l, to, err := th.pair(s, target, callActiveStream)
	if err != nil {
		return err
	}
	l.add(node{task: sim.Task{Kind: trace.StreamActive}, to: to})
	return nil
}

func (th *Thread) pair(s, target *Stream, c call) (l, to *lane, err error) {
	if l, err = th.bound(s, c); err != nil {
		return nil, nil, err
	}
	if target == nil {
		return nil, nil, th.fail(ACLInvalidParam, c.name, "the stream to start is null", "")
	}
	if to = target.lane.Load(); to == nil || to.m != l.m {
		return nil, nil, th.failAs(InvalidParam, "EE1011", c.name, fmt.Sprintf("streams %d and %d are not of one model", target.id, s.id), "bind both to the model")
	}
	return l, to, nil
}

// WordType is the width of the words that SwitchStream compares (aclrtCompareDataType).
type WordType int

// Word types.
const (
	Int32 WordType = iota
	Int64
)

// SwitchStream compares two words of device memory when s comes to this point: if the condition holds, yes starts and
// s stops here; otherwise s goes on. no must be nil (aclrtSwitchStream).
func (th *Thread) SwitchStream(left Ptr, cond sim.Condition, right Ptr, w WordType, yes, no, s *Stream) error {
	l, to, err := th.pair(s, yes, callSwitchStream)
	switch {
	case err != nil:
		return err
	case no != nil:
		return th.fail(ACLInvalidParam, callSwitchStream.name, "the stream for a condition that does not hold is given", "leave it nil")
	case cond > sim.LessOrEqual || w < Int32 || w > Int64:
		return th.fail(InvalidParam, callSwitchStream.name, fmt.Sprintf("condition %d, word type %d", cond, w), "")
	}
	l.add(node{task: sim.Task{Kind: trace.StreamSwitch, A: uint64(left), B: uint64(right), C: uint64(cond)<<32 | uint64(w)<<40}, to: to})
	return nil
}

// CreateLabel makes a label (aclrtCreateLabel).
func (th *Thread) CreateLabel() *Label { return &Label{} }

// SetLabel puts a label at the present end of a bound stream, once (aclrtSetLabel).
func (th *Thread) SetLabel(x *Label, s *Stream) error {
	l, err := th.bound(s, callSetLabel)
	switch {
	case err != nil:
		return err
	case x == nil:
		return th.fail(ACLInvalidParam, callSetLabel.name, "label is null", "")
	case x.placed():
		return th.failAs(InvalidParam, "EE1018", callSetLabel.name, "the label is set already", "make another one")
	}
	*x = Label{l, len(l.nodes), l.turn}
	return nil
}

// SwitchLabelByIndex makes s go on at the label that the int32 at index numbers; an index beyond the list takes the
// last one (aclrtSwitchLabelByIndex).
func (th *Thread) SwitchLabelByIndex(index Ptr, list []*Label, s *Stream) error {
	l, err := th.bound(s, callSwitchLabel)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return th.fail(InvalidParam, callSwitchLabel.name, "the list of labels is empty", "")
	}
	for _, x := range list {
		if x == nil || x.placed() && x.lane != l {
			return th.fail(InvalidParam, callSwitchLabel.name, "a label of another stream", "a stream jumps within itself")
		}
	}
	l.add(node{task: sim.Task{Kind: trace.LabelSwitch, A: uint64(index)}, labels: append([]*Label(nil), list...)})
	return nil
}

// GotoLabel makes s go on at a label of its own (rtLabelGoto).
func (th *Thread) GotoLabel(x *Label, s *Stream) error {
	l, err := th.bound(s, callSwitchLabel)
	if err != nil {
		return err
	}
	if x == nil || x.lane != nil && x.lane != l {
		return th.fail(InvalidParam, callSwitchLabel.name, "a label of another stream", "a stream jumps within itself")
	}
	l.add(node{task: sim.Task{Kind: trace.LabelGoto}, labels: []*Label{x}})
	return nil
}
