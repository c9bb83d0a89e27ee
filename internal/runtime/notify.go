package runtime

import (
	"fmt"
	"sync/atomic"

	"npu/internal/sim"
	"npu/internal/trace"
)

// Notify is a flag between streams that one record sets and one wait takes (aclrtNotify). A record without a waiter is
// remembered, once.
type Notify struct {
	dev       *Device
	hw        *sim.Notify
	handle    Handle
	destroyed atomic.Bool
	remote    *remote // shared with other processes; nil: not
}

// CreateNotify makes a notify of the current context's device; flag is 0, or 1 for one that only the device uses
// (aclrtCreateNotify).
func (th *Thread) CreateNotify(flag int) (n *Notify, err error) {
	t := th.begin(callCreateNotify)
	defer func() { th.end(callCreateNotify, t, err) }()
	if err = th.forbidden(callCreateNotify); err != nil {
		return nil, err
	}
	if flag != 0 && flag != 1 {
		return nil, th.fail(InvalidParam, callCreateNotify.name, fmt.Sprintf("flag %d", flag), "give 0 or 1")
	}
	ctx, err := th.context(callCreateNotify)
	if err != nil {
		return nil, err
	}
	d := ctx.dev
	n = &Notify{dev: d}
	limit := d.hw.Chip().NotifyMax
	if limit == 0 {
		limit = 8192
	}
	err = th.port.Call(func() {
		if d.hw.Notifies() < limit {
			n.hw = d.hw.NewNotify()
			n.handle = d.rt.handles.add(notifyHandle, n)
		}
	})
	if err == nil && n.hw == nil {
		return nil, th.fail(NoNotify, callCreateNotify.name, fmt.Sprintf("device %d has no notify left, %d are in use", d.id, limit), "destroy notifies that are not used")
	}
	return n, th.blocked(callCreateNotify.name, nil, err)
}

func (th *Thread) notify(n *Notify, c call) error {
	if n == nil {
		return th.fail(ACLInvalidParam, c.name, "notify is null", "")
	}
	if n.destroyed.Load() {
		return th.fail(InvalidHandle, c.name, "notify is destroyed", "")
	}
	return nil
}

// RecordNotify sets the notify in stream order (aclrtRecordNotify).
func (th *Thread) RecordNotify(n *Notify, s *Stream) error {
	if err := th.notify(n, callRecordNotify); err != nil {
		return err
	}
	s, err := th.use(s, callRecordNotify)
	if err != nil {
		return err
	}
	return th.submit(s, &sim.Task{Kind: trace.NotifyRecord, A: n.hw.ID()}, nil, callRecordNotify)
}

// WaitNotify holds the stream until the notify is recorded and takes the record (aclrtWaitAndResetNotify). seconds
// limits the wait, 0 is no limit; when it is over, the stream's next synchronise reports 107020.
func (th *Thread) WaitNotify(n *Notify, s *Stream, seconds int) error {
	if err := th.notify(n, callWaitNotify); err != nil {
		return err
	}
	s, err := th.use(s, callWaitNotify)
	if err != nil {
		return err
	}
	if seconds < 0 {
		return th.fail(InvalidParam, callWaitNotify.name, fmt.Sprintf("time-out %d s", seconds), "give 0 (none) or more")
	}
	if n.remote != nil && n.remote.im != nil {
		return th.failAs(InvalidParam, "EE1012", callWaitNotify.name, "the notify belongs to another process", "wait in the process that made it")
	}
	if s.dev != n.dev {
		return th.failAs(InvalidParam, "EE1012", callWaitNotify.name, fmt.Sprintf("the notify is of device %d, the stream of device %d", n.dev.id, s.dev.id), "wait on the notify's device")
	}
	return th.submit(s, &sim.Task{Kind: trace.NotifyWait, A: n.hw.ID(), C: uint64(seconds) * 1e9}, nil, callWaitNotify)
}

// DestroyNotify gives the notify up. No task may use it any more (aclrtDestroyNotify).
func (th *Thread) DestroyNotify(n *Notify) (err error) {
	t := th.begin(callDestroyNotify)
	defer func() { th.end(callDestroyNotify, t, err) }()
	if err = th.notify(n, callDestroyNotify); err != nil {
		return err
	}
	n.destroyed.Store(true)
	err = th.port.Call(func() {
		th.rt.handles.remove(n.handle)
		th.rt.machine.DropNotify(n.hw)
	})
	return th.blocked(callDestroyNotify.name, nil, err)
}

// ValueWrite stores a 64-bit word of device memory in stream order (aclrtValueWrite). p is a multiple of 8.
func (th *Thread) ValueWrite(p Ptr, v uint64, s *Stream) error {
	s, err := th.word(p, s, callValueWrite)
	if err != nil {
		return err
	}
	return th.submit(s, &sim.Task{Kind: trace.ValueWrite, A: uint64(p), B: v}, nil, callValueWrite)
}

// ValueWait holds the stream until the 64-bit word at p meets the condition with v (aclrtValueWait). It has no limit.
func (th *Thread) ValueWait(p Ptr, v uint64, c sim.WaitCondition, s *Stream) error {
	s, err := th.word(p, s, callValueWait)
	if err != nil {
		return err
	}
	if c > sim.WaitNOR {
		return th.fail(InvalidParam, callValueWait.name, fmt.Sprintf("condition %d", c), "give 0 (GEQ), 1 (EQ), 2 (AND) or 3 (NOR)")
	}
	return th.submit(s, &sim.Task{Kind: trace.ValueWait, A: uint64(p), B: v, C: uint64(c)}, nil, callValueWait)
}

// word checks the address of a value task.
func (th *Thread) word(p Ptr, s *Stream, c call) (*Stream, error) {
	s, err := th.use(s, c)
	if err != nil {
		return nil, err
	}
	if p%8 != 0 {
		return nil, th.fail(InvalidParam, c.name, fmt.Sprintf("address 0x%x", uint64(p)), "the address must be a multiple of 8")
	}
	if d, ok := th.rt.where(p, 8); !ok || d == nil {
		return nil, th.fail(InvalidParam, c.name, fmt.Sprintf("0x%x is no device memory", uint64(p)), "")
	}
	return s, nil
}
