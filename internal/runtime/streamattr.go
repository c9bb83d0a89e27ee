package runtime

import "fmt"

// FailureMode says what a stream does when one of its tasks fails.
type FailureMode int

// Failure modes (aclrtSetStreamFailureMode).
const (
	ContinueOnFailure FailureMode = iota // later tasks run, the next synchronise reports the fault once
	StopOnFailure                        // later tasks are dropped, every stream of the context reports the fault from then on
)

// SetStreamFailureMode sets the failure mode (aclrtSetStreamFailureMode). StopOnFailure on one stream switches every
// stream of its context, and there is no way back.
func (th *Thread) SetStreamFailureMode(s *Stream, m FailureMode) (err error) {
	t := th.begin(callStreamAttr)
	defer func() { th.end(callStreamAttr, t, err) }()
	if err = th.ownStream(s, callStreamAttr); err != nil {
		return err
	}
	if m != ContinueOnFailure && m != StopOnFailure {
		return th.fail(InvalidParam, callStreamAttr.name, fmt.Sprintf("failure mode %d", m), "give 0 (continue) or 1 (stop)")
	}
	if s.lane.Load() != nil {
		return th.failAs(NotSupported, "EE1016", callStreamAttr.name, "the stream belongs to a model", "set the mode before it is bound")
	}
	refused := ""
	err = th.port.Call(func() {
		c := s.ctx
		switch {
		case m == StopOnFailure && !c.stop && s.q.Halted():
			refused = "the stream has stopped for a failure"
		case m == StopOnFailure:
			c.stop = true
			c.domain.SetStop()
		case c.stop:
			refused = "the context's streams stop on failure"
		}
	})
	if err == nil && refused != "" {
		return th.failAs(NotSupported, "EE1016", callStreamAttr.name, refused, "reset the context instead")
	}
	return th.blocked(callStreamAttr.name, nil, err)
}

// StreamFailureMode is the stream's failure mode (aclrtGetStreamAttribute FAILURE_MODE).
func (th *Thread) StreamFailureMode(s *Stream) (m FailureMode, err error) {
	if err = th.ownStream(s, callStreamAttr); err != nil {
		return 0, err
	}
	err = th.port.Call(func() {
		if s.ctx.stop {
			m = StopOnFailure
		}
	})
	return m, th.blocked(callStreamAttr.name, nil, err)
}

// StreamPriority is the stream's priority, 0 greatest … 7 least (aclrtGetStreamAttribute PRIORITY).
func (th *Thread) StreamPriority(s *Stream) (int, error) {
	if err := th.ownStream(s, callStreamAttr); err != nil {
		return 0, err
	}
	return s.priority, nil
}

// SetStreamTag keeps a number of the user's with the stream (aclrtSetStreamAttribute USER_CUSTOM_TAG).
func (th *Thread) SetStreamTag(s *Stream, tag uint32) error {
	if err := th.ownStream(s, callStreamAttr); err != nil {
		return err
	}
	s.tag.Store(tag)
	return nil
}

// StreamTag is the number that SetStreamTag has kept.
func (th *Thread) StreamTag(s *Stream) (uint32, error) {
	if err := th.ownStream(s, callStreamAttr); err != nil {
		return 0, err
	}
	return s.tag.Load(), nil
}

// SetStreamOverflowCheck has a kernel of the stream whose results overflow end with 207003 or 207016, which the next
// synchronise returns; the results are there, and nothing stops for it. It takes effect in saturation mode, see
// SetOverflowMode (aclrtSetStreamAttribute FLOAT_OVERFLOW_CHECK).
func (th *Thread) SetStreamOverflowCheck(s *Stream, on bool) error {
	if err := th.ownStream(s, callStreamAttr); err != nil {
		return err
	}
	err := th.port.Call(func() { change(&s.dev.overflow.checked, s.id, on) })
	return th.blocked(callStreamAttr.name, nil, err)
}

// StreamOverflowCheck is what SetStreamOverflowCheck has set.
func (th *Thread) StreamOverflowCheck(s *Stream) (on bool, err error) {
	if err := th.ownStream(s, callStreamAttr); err != nil {
		return false, err
	}
	err = th.port.Call(func() { on = s.dev.overflow.checked[s.id] })
	return on, th.blocked(callStreamAttr.name, nil, err)
}
