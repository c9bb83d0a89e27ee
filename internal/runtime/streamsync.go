package runtime

import (
	"fmt"

	"npu/internal/sim"
)

// SynchronizeStream waits until everything submitted before is done, and returns the stream's pending fault
// (aclrtSynchronizeStream).
func (th *Thread) SynchronizeStream(s *Stream) error { return th.syncStream(s, 0) }

// SynchronizeStreamTimeout is SynchronizeStream with a limit in virtual milliseconds; -1 waits for ever
// (aclrtSynchronizeStreamWithTimeout).
func (th *Thread) SynchronizeStreamTimeout(s *Stream, ms int) error {
	ns, err := th.timeout(ms, callSyncStream)
	if err != nil {
		return err
	}
	return th.syncStream(s, ns)
}

// timeout turns a limit in ms into ns, 0 for ever.
func (th *Thread) timeout(ms int, c call) (int64, error) {
	if ms == 0 || ms < -1 {
		return 0, th.fail(InvalidParam, c.name+"WithTimeout", fmt.Sprintf("time-out %d ms", ms), "give -1 (for ever) or more than 0")
	}
	return int64(max(ms, 0)) * 1e6, nil
}

func (th *Thread) syncStream(s *Stream, timeout int64) (err error) {
	if th.rt.spans {
		t := th.Clock()
		defer func() { th.end(callSyncStream, t, err) }()
	}
	if th.inside {
		return th.forbidden(callSyncStream)
	}
	if s == nil {
		ctx, err := th.context(callSyncStream)
		if err != nil {
			return err
		}
		s = ctx.stream
	}
	if s.destroyed.Load() {
		return th.fail(InvalidHandle, callSyncStream.name, "stream is destroyed", "")
	}
	if s.flags&(Persistent|CPUSchedule|DeviceUseOnly) != 0 {
		return nil
	}
	if err := th.notSunk(s, callSyncStream); err != nil {
		return err
	}
	err = th.waitStream(s, timeout, callSyncStream)
	th.settlePools(s.dev)
	return err
}

// waitStream waits for everything on s. A stream of another context can be waited for as well.
func (th *Thread) waitStream(s *Stream, timeout int64, c call) error {
	th.port.Spend(syncEntry)
	o, err := th.port.WaitQueue(s.q, sim.Everything, timeout, c.ns)
	if err == nil && o == (sim.Outcome{}) {
		return nil
	}
	return th.outcome(s, o, err, timeout, c)
}

func (th *Thread) outcome(s *Stream, o sim.Outcome, err error, timeout int64, c call) error {
	if o.Domain != nil {
		th.noteFailure(s.ctx, o.Fault)
	}
	switch {
	case err != nil || o.Fault != nil:
		return th.blocked(c.name, o.Fault, err)
	case o.Expired:
		return th.fail(StreamSyncTimeout, c.name, fmt.Sprintf("stream %d stands at task %d after %d ms", s.id, o.Task&0xffff, timeout/1e6), "the stream is usable and its tasks go on")
	case o.Aborted:
		return th.fail(StreamAbort, c.name, fmt.Sprintf("tasks of stream %d were dropped by an abort", s.id), "")
	}
	return nil
}

// SynchronizeDevice waits for all streams of the current device (aclrtSynchronizeDevice).
func (th *Thread) SynchronizeDevice() error { return th.syncDevice(0) }

// SynchronizeDeviceTimeout is SynchronizeDevice with a limit in virtual milliseconds; -1 waits for ever
// (aclrtSynchronizeDeviceWithTimeout).
func (th *Thread) SynchronizeDeviceTimeout(ms int) error {
	ns, err := th.timeout(ms, callSyncDevice)
	if err != nil {
		return err
	}
	return th.syncDevice(ns)
}

func (th *Thread) syncDevice(timeout int64) (err error) {
	t := th.Clock()
	defer func() { th.end(callSyncDevice, t, err) }()
	if err = th.forbidden(callSyncDevice); err != nil {
		return err
	}
	if err = th.unsafeCall(callSyncDevice); err != nil {
		return err
	}
	ctx, err := th.context(callSyncDevice)
	if err != nil {
		return err
	}
	type target struct {
		s   *Stream
		pos uint64
	}
	var all []target
	if err = th.port.Call(func() {
		for _, s := range ctx.dev.streams {
			if !s.hidden && s.flags&(Persistent|CPUSchedule|DeviceUseOnly) == 0 {
				all = append(all, target{s, s.q.Arrived()})
			}
		}
	}); err != nil {
		return th.blocked(callSyncDevice.name, nil, err)
	}
	deadline := th.Clock() + timeout
	var first error
	for _, x := range all {
		left := int64(0)
		if timeout > 0 {
			left = max(1, deadline-th.Clock())
		}
		o, err := th.port.WaitQueue(x.s.q, x.pos, left, 0)
		if err := th.outcome(x.s, o, err, timeout, callSyncDevice); err != nil && first == nil {
			first = err
		}
		if o.Expired {
			break
		}
	}
	th.port.Spend(callSyncDevice.ns)
	th.settlePools(ctx.dev)
	return first
}

// QueryStream says whether everything submitted before is done (aclrtStreamQuery). It reports no faults.
func (th *Thread) QueryStream(s *Stream) (done bool, err error) {
	t := th.begin(callQueryStream)
	defer func() { th.end(callQueryStream, t, err) }()
	if err = th.forbidden(callQueryStream); err != nil {
		return false, err
	}
	if s == nil {
		ctx, err := th.context(callQueryStream)
		if err != nil {
			return false, err
		}
		s = ctx.stream
	}
	if s.destroyed.Load() {
		return false, th.fail(InvalidHandle, callQueryStream.name, "stream is destroyed", "")
	}
	if s.flags&(Persistent|CPUSchedule|DeviceUseOnly) != 0 {
		return true, nil
	}
	if err = th.notSunk(s, callQueryStream); err != nil {
		return false, err
	}
	err = th.port.Call(func() { done = s.q.Retired() >= s.q.Arrived() })
	return done, th.blocked(callQueryStream.name, nil, err)
}
