package runtime

import (
	"fmt"

	"npu/internal/sim"
	"npu/internal/trace"
)

// reporter is a thread of the user's that runs callbacks of streams (aclrtSubscribeReport).
type reporter struct {
	thread  *Thread
	dev     *Device
	mail    *sim.Mailbox
	streams int // under Port.Call
}

// LaunchHostFunc runs f in stream order on a thread of the runtime; the stream goes on when it has returned
// (aclrtLaunchHostFunc). f must not allocate, submit or synchronise; its Thread tells the time and can Work.
func (th *Thread) LaunchHostFunc(s *Stream, f func(*Thread)) error {
	s, err := th.use(s, callHostFunc)
	if err != nil {
		return err
	}
	if f == nil {
		return th.fail(ACLInvalidParam, callHostFunc.name, "function is null", "")
	}
	sv, err := th.hostService(s.ctx)
	if err != nil {
		return err
	}
	n := th.rt.calls.add(f)
	if err = th.submit(s, &sim.Task{Kind: trace.HostFunc, A: sv.mail.ID(), B: n, C: 1}, nil, callHostFunc); err != nil {
		th.rt.calls.drop(n)
	}
	return err
}

// hostService is the thread that runs the host functions of c; the first one starts it.
func (th *Thread) hostService(c *Context) (*service, error) {
	if sv := c.hostCalls.Load(); sv != nil {
		return sv, nil
	}
	sv, err := th.startService(callHostFunc, func(cb *Thread, j *sim.Job) {
		if f := cb.rt.calls.take(j.Call); f != nil {
			f(cb)
		}
	})
	if err != nil {
		return nil, err
	}
	if !c.hostCalls.CompareAndSwap(nil, sv) {
		sv.end() // another thread was faster
	}
	return c.hostCalls.Load(), nil
}

// SubscribeReport makes thread to run the callbacks of stream s, in its ProcessReport (aclrtSubscribeReport). A thread
// serves streams of one device.
func (th *Thread) SubscribeReport(to *Thread, s *Stream) (err error) {
	t := th.begin(callSubscribe)
	defer func() { th.end(callSubscribe, t, err) }()
	if s, err = th.use(s, callSubscribe); err != nil {
		return err
	}
	var code Code
	err = th.port.Call(func() {
		r := to.report.Load()
		switch {
		case s.report.Load() != nil:
			code = StreamSubscribe
			return
		case r != nil && r.dev != s.dev:
			code = ThreadSubscribe
			return
		case r == nil:
			r = &reporter{thread: to, dev: s.dev, mail: th.rt.machine.NewMailbox()}
			r.mail.Lost = th.rt.calls.drop
			to.report.Store(r)
		}
		r.streams++
		s.report.Store(r)
	})
	switch {
	case code == StreamSubscribe:
		return th.fail(code, callSubscribe.name, fmt.Sprintf("stream %d has a thread already", s.id), "unsubscribe it first")
	case code != 0:
		return th.fail(code, callSubscribe.name, fmt.Sprintf("thread %d serves another device", to.ID()), "use a thread for each device")
	}
	return th.blocked(callSubscribe.name, nil, err)
}

// UnsubscribeReport ends that thread from runs the callbacks of s; it waits for one that is being run
// (aclrtUnSubscribeReport).
func (th *Thread) UnsubscribeReport(from *Thread, s *Stream) (err error) {
	t := th.begin(callSubscribe)
	defer func() { th.end(callSubscribe, t, err) }()
	if s, err = th.use(s, callSubscribe); err != nil {
		return err
	}
	r := s.report.Load()
	if r == nil || r.thread != from {
		return th.fail(ThreadSubscribe, callSubscribe.name, fmt.Sprintf("thread %d does not serve stream %d", from.ID(), s.id), "")
	}
	_, err = th.port.WaitCond(&r.mail.Idle, func() bool {
		if r.mail.Busy() > 0 && from != th {
			return false
		}
		s.report.Store(nil)
		if r.streams--; r.streams == 0 {
			from.report.Store(nil)
		}
		return true
	}, 0, 0)
	return th.blocked(callSubscribe.name, nil, err)
}

// LaunchCallback has f run in stream order by the thread that SubscribeReport has named; with block the stream waits
// until it has returned (aclrtLaunchCallback). What LaunchHostFunc says of f holds here too.
func (th *Thread) LaunchCallback(f func(*Thread), block bool, s *Stream) error {
	s, err := th.use(s, callCallback)
	if err != nil {
		return err
	}
	if f == nil {
		return th.fail(ACLInvalidParam, callCallback.name, "function is null", "")
	}
	r := s.report.Load()
	if r == nil {
		return th.fail(NoCallback, callCallback.name, fmt.Sprintf("no thread is subscribed to stream %d", s.id), "call aclrtSubscribeReport first")
	}
	t := sim.Task{Kind: trace.HostFunc, A: r.mail.ID(), B: th.rt.calls.add(f)}
	if block {
		t.C = 1
	}
	if err = th.submit(s, &t, nil, callCallback); err != nil {
		th.rt.calls.drop(t.B)
	}
	return err
}

// ProcessReport runs the callbacks that are ready, in this thread; it waits up to ms virtual milliseconds for the first
// one, with -1 for ever (aclrtProcessReport). 507012 says that none came.
func (th *Thread) ProcessReport(ms int) (err error) {
	t := th.Clock()
	defer func() { th.end(callReport, t, err) }()
	if err = th.forbidden(callReport); err != nil {
		return err
	}
	if ms == 0 || ms < -1 {
		return th.fail(ACLInvalidParam, callReport.name, fmt.Sprintf("time-out %d ms", ms), "give -1 (for ever) or more than 0")
	}
	r := th.report.Load()
	if r == nil {
		return th.fail(ThreadSubscribe, callReport.name, "this thread is not subscribed to any stream", "call aclrtSubscribeReport first")
	}
	th.port.Spend(callReport.ns)
	timeout := int64(max(ms, 0)) * 1e6
	for ready := true; ready; {
		j, expired, err := th.port.Take(r.mail, timeout)
		if err != nil {
			return th.blocked(callReport.name, nil, err)
		}
		if expired {
			return th.fail(ReportTimeout, callReport.name, fmt.Sprintf("no callback in %d ms", ms), "")
		}
		if f := th.rt.calls.take(j.Call); f != nil {
			th.run(func() { f(th) })
		}
		if err := th.port.Done(j); err != nil {
			return th.blocked(callReport.name, nil, err)
		}
		if err := th.port.Call(func() { ready = r.mail.Waiting() > 0 }); err != nil {
			return th.blocked(callReport.name, nil, err)
		}
	}
	return nil
}
