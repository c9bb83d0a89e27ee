package runtime

import (
	"fmt"
	"sync/atomic"

	"npu/internal/sim"
)

// Stream is a queue of tasks on a device, strictly in order (aclrtStream). It belongs to the Thread that made it;
// Share lets others submit too.
type Stream struct {
	q         *sim.Queue
	ctx       *Context
	dev       *Device
	id        uint32
	handle    Handle
	def       bool
	hidden    bool // the runtime's own
	flags     StreamFlags
	priority  int
	args      uint64                  // device address of its argument ring
	open      atomic.Pointer[Context] // ctx while plain submissions are welcome, else nil: see use
	lane      atomic.Pointer[lane]    // of a model, while its tasks go there: captured, bound or updating
	abortAt   atomic.Int64            // an abort began at this time,
	abortTo   atomic.Int64            // goes on until this one,
	abortCode atomic.Int64            // and this is what submissions get
	destroyed atomic.Bool
	report    atomic.Pointer[reporter] // runs its callbacks
	tag       atomic.Uint32

	allocator atomic.Pointer[Allocator] // of the program, for memory of the work on it
}

// StreamFlags are the flags of aclrtCreateStreamWithConfig.
type StreamFlags uint32

// Stream flags.
const (
	FastLaunch    StreamFlags = 1 << iota // resources for submission are reserved at creation, their memory is committed
	FastSync                              // the host spins while it waits
	Persistent                            // tasks are kept for a model
	HugeRing                              // ignored
	CPUSchedule                           // for the AI CPU's own scheduling
	DeviceUseOnly                         // only the device submits
	allStreamFlags
)

// leastPriority is the number of the lowest priority; 0 is the greatest.
const leastPriority = 7

// StreamConfig says what a stream is made for (aclrtCreateStreamWithConfig).
type StreamConfig struct {
	Name     string // in the trace; empty: its number
	Priority int    // 0 greatest … 7 least, clamped
	Flags    StreamFlags
}

// CreateStream makes a stream of the current context (aclrtCreateStream, aclrtCreateStreamWithConfig).
func (th *Thread) CreateStream(c StreamConfig) (s *Stream, err error) {
	t := th.begin(callCreateStream)
	defer func() { th.end(callCreateStream, t, err) }()
	if err = th.forbidden(callCreateStream); err != nil {
		return nil, err
	}
	if c.Flags >= allStreamFlags {
		return nil, th.fail(InvalidParam, callCreateStream.name, fmt.Sprintf("flags 0x%x", uint32(c.Flags)), "use the six known bits only")
	}
	ctx, err := th.context(callCreateStream)
	if err != nil {
		return nil, err
	}
	s = &Stream{ctx: ctx, dev: ctx.dev, flags: c.Flags}
	var code Code
	err = th.port.Call(func() {
		if code = s.make(th, c); code == 0 {
			ctx.streams = append(ctx.streams, s)
		}
	})
	if err != nil {
		return nil, th.blocked(callCreateStream.name, nil, err)
	}
	if code != 0 {
		return nil, th.noStream(ctx.dev, code, callCreateStream)
	}
	th.tellState(s, StreamCreated)
	return s, nil
}

func (th *Thread) noStream(d *Device, code Code, in call) error {
	return th.fail(code, in.name, fmt.Sprintf("device %d has no stream left, %d are in use", d.id, d.streamLimit()), "destroy streams that are not used")
}

// streamLimit is how many streams the device gives out.
func (d *Device) streamLimit() int {
	l := d.hw.Chip().Limits
	switch {
	case l.StreamsDocumented > 0:
		return l.StreamsDocumented
	case l.StreamsPhysical > 0:
		return l.StreamsPhysical
	}
	return 1024
}

// make creates the hardware queue. Under Port.Call.
func (s *Stream) make(th *Thread, c StreamConfig) Code {
	d := s.dev
	if !s.hidden && d.public >= d.streamLimit() {
		return NoResource
	}
	chip := d.hw.Chip()
	qc := sim.QueueConfig{Space: s.ctx.pages.space, Default: s.def, Quiet: s.hidden, Depth: 64, Owner: th.port}
	if !s.hidden {
		qc.Domain = s.ctx.domain
		qc.Depth = max(64, chip.RingDepth)
		qc.Usable = min(chip.RingUsable, qc.Depth-1)
		var ok bool
		if s.args, ok = d.memory.alloc(uint64(sim.ArgBytes(qc.Depth)), nil, s.ctx.pages); !ok {
			return NoResource
		}
		qc.Args = s.args
	}
	s.priority = min(max(c.Priority, 0), leastPriority)
	qc.Priority = uint8(s.priority)
	s.id = d.streamID()
	qc.Stream = s.id
	q, err := d.rt.machine.NewQueue(d.hw, qc)
	if err != nil {
		d.memory.release(s.args)
		d.ids[s.id] = false
		return NoStream
	}
	s.q = q
	if s.flags&FastLaunch != 0 {
		q.Commit()
	}
	if !s.hidden {
		d.public++
		s.handle = d.rt.handles.add(streamHandle, s)
	}
	d.streams = append(d.streams, s)
	name := c.Name
	if name == "" {
		if name = fmt.Sprintf("stream %d", s.id); s.def {
			name = "default stream"
		}
	}
	d.rt.strings.NameStream(uint16(d.hw.ID()), s.id, name, s.priority)
	if s.flags&(Persistent|CPUSchedule|DeviceUseOnly) == 0 {
		s.open.Store(s.ctx)
	}
	return 0
}

// streamID takes the lowest free number.
func (d *Device) streamID() uint32 {
	for i, used := range d.ids {
		if !used {
			d.ids[i] = true
			return uint32(i)
		}
	}
	d.ids = append(d.ids, true)
	return uint32(len(d.ids) - 1)
}

// remove takes the queue away. Under Port.Call.
func (s *Stream) remove() {
	if s.destroyed.Load() {
		return
	}
	s.destroyed.Store(true)
	s.open.Store(nil)
	d := s.dev
	d.overflow.forget(s.id)
	d.rt.hostMem.order.dropStream(s)
	d.rt.machine.DropQueue(s.q)
	if s.args != 0 {
		d.memory.release(s.args)
	}
	drop := func(l []*Stream) []*Stream {
		for i, x := range l {
			if x == s {
				return append(l[:i], l[i+1:]...)
			}
		}
		return l
	}
	d.streams = drop(d.streams)
	if !s.hidden {
		s.ctx.streams = drop(s.ctx.streams)
		d.public--
		d.rt.handles.remove(s.handle)
	}
	d.ids[s.id] = false
}

// Share lets several threads submit to the stream; submission then takes a lock. It cannot be undone. Call it before
// the other threads submit.
func (s *Stream) Share() { s.q.Share() }

// ID is the stream's number on its device (aclrtStreamGetId).
func (s *Stream) ID() uint32 { return s.id }

// Flags are those that the stream was made with (aclrtStreamGetFlags).
func (s *Stream) Flags() StreamFlags { return s.flags }

// Priority is the stream's, 0 greatest … 7 least (aclrtStreamGetPriority).
func (s *Stream) Priority() int { return s.priority }

// defaultStream is the current context's, where nothing speaks against using it; else nil.
func (th *Thread) defaultStream() *Stream {
	if c := th.open; c != nil && th.rt.graphs.n.Load() == 0 {
		return c.stream
	}
	return nil
}

// use resolves a stream argument for a submission, nil being the current context's default stream, and says why the
// stream takes none.
func (th *Thread) use(s *Stream, c call) (*Stream, error) {
	if s == nil {
		s = th.defaultStream()
	}
	if s != nil && th.open != nil && s.open.Load() == th.open {
		return s, nil
	}
	if err := th.forbidden(c); err != nil {
		return nil, err
	}
	ctx, err := th.context(c)
	if err != nil {
		return nil, err
	}
	if s == nil {
		s = ctx.stream
	}
	switch {
	case s.destroyed.Load():
		return nil, th.fail(InvalidHandle, c.name, "stream is destroyed", "")
	case s.ctx != ctx:
		return nil, th.fail(StreamContext, c.name, fmt.Sprintf("stream %d belongs to another context", s.id), "make its context current")
	case s.flags&DeviceUseOnly != 0:
		return nil, th.failAs(InvalidParam, "EE1006", c.name, fmt.Sprintf("stream %d is for the device's use only", s.id), "")
	case s.def && th.captures():
		return nil, th.implicit(c)
	case s.lane.Load() != nil:
		return s, nil
	case s.flags&(Persistent|CPUSchedule) != 0:
		return nil, th.fail(NotSupported, c.name, fmt.Sprintf("stream %d keeps its tasks for a model", s.id), "bind it to a model with BindStream")
	}
	if f := th.failure(ctx); f != nil {
		return nil, th.keep(th.rt.faultError(c.name, f))
	}
	if s.open.Load() == nil {
		switch {
		case th.Clock() >= s.abortTo.Load():
			s.open.Store(ctx)
		case s.abortAt.Load() <= th.port.Answered():
			return nil, th.fail(Code(s.abortCode.Load()), c.name, fmt.Sprintf("stream %d is being aborted", s.id), "submit again when the abort has returned")
		}
		// A thread that does not know of the abort yet submits, and the device drops the task.
	}
	return s, nil
}

// DestroyStream waits for the stream's tasks and destroys it (aclrtDestroyStream).
func (th *Thread) DestroyStream(s *Stream) error { return th.destroyStream(s, false) }

// DestroyStreamForce destroys the stream at once; tasks that are not done are dropped (aclrtDestroyStreamForce).
func (th *Thread) DestroyStreamForce(s *Stream) error { return th.destroyStream(s, true) }

func (th *Thread) destroyStream(s *Stream, force bool) (err error) {
	t := th.begin(callDestroyStream)
	defer func() { th.end(callDestroyStream, t, err) }()
	if err = th.ownStream(s, callDestroyStream); err != nil {
		return err
	}
	if err = th.notSunk(s, callDestroyStream); err != nil {
		return err
	}
	th.tellState(s, StreamDestroying)
	var waitErr error
	if !force {
		waitErr = th.waitStream(s, 0, callDestroyStream)
	}
	err = th.port.Call(func() {
		if !s.destroyed.Load() {
			if force {
				th.rt.machine.Abort(s.q, 0)
			}
			s.remove()
		}
	})
	if waitErr != nil {
		return waitErr
	}
	return th.blocked(callDestroyStream.name, nil, err)
}

// ownStream checks the stream argument of a call that manages an explicit stream of the current context.
func (th *Thread) ownStream(s *Stream, c call) error {
	if err := th.forbidden(c); err != nil {
		return err
	}
	if s == nil {
		return th.fail(ACLInvalidParam, c.name, "stream is null", "")
	}
	ctx, err := th.context(c)
	if err != nil {
		return err
	}
	switch {
	case s.destroyed.Load():
		return th.fail(InvalidHandle, c.name, "stream is destroyed", "")
	case s.def:
		return th.fail(InvalidParam, c.name, "this is the default stream of its context", "it lives as long as the context")
	case s.ctx != ctx:
		return th.fail(StreamContext, c.name, fmt.Sprintf("stream %d belongs to another context", s.id), "make its context current")
	}
	return nil
}

// abortNs is how long an abort takes on the host's clock; submissions in this time are refused.
const abortNs = 50_000

// AbortStream ends the stream's running task and drops the queued ones. The stream is usable again when it returns;
// submissions meanwhile are refused with 107023 (aclrtStreamAbort).
func (th *Thread) AbortStream(s *Stream) (err error) {
	t := th.Clock()
	defer func() { th.end(callAbortStream, t, err) }()
	if err = th.ownStream(s, callAbortStream); err != nil {
		return err
	}
	if err = th.notSunk(s, callAbortStream); err != nil {
		return err
	}
	start := th.Clock()
	err = th.port.Call(func() {
		if !s.destroyed.Load() {
			s.abort(start+abortNs, StreamAbort)
		}
	})
	th.port.Spend(callAbortStream.ns)
	return th.blocked(callAbortStream.name, nil, err)
}

// abort drops the stream's tasks, and what other threads submit before they know of it, until the host's time to.
// Under Port.Call.
func (s *Stream) abort(to int64, code Code) {
	m := s.dev.rt.machine
	s.abortAt.Store(m.Now())
	s.abortTo.Store(to)
	s.abortCode.Store(int64(code))
	s.open.Store(nil)
	m.Abort(s.q, abortNs)
}

// AbortDevice ends the running tasks of all streams that this process has on the device and drops the queued ones;
// submissions meanwhile are refused with 107022 (aclrtDeviceTaskAbort).
func (th *Thread) AbortDevice(id int) (err error) {
	t := th.Clock()
	defer func() { th.end(callAbortDevice, t, err) }()
	if err = th.forbidden(callAbortDevice); err != nil {
		return err
	}
	d, err := th.device(id, callAbortDevice)
	if err != nil {
		return err
	}
	start := th.Clock()
	err = th.port.Call(func() {
		for _, s := range d.streams {
			if !s.hidden {
				s.abort(start+abortNs, DeviceTaskAbort)
			}
		}
		d.aborted = d.hw.LastFault()
	})
	th.port.Spend(callAbortDevice.ns)
	return th.blocked(callAbortDevice.name, nil, err)
}

// StopStream lets the stream's running task end and dispatches nothing more; only destroying it by force, or an abort,
// gets rid of the rest (aclrtStreamStop).
func (th *Thread) StopStream(s *Stream) (err error) {
	t := th.begin(callStopStream)
	defer func() { th.end(callStopStream, t, err) }()
	if err = th.ownStream(s, callStopStream); err != nil {
		return err
	}
	err = th.port.Call(func() { th.rt.machine.Stop(s.q) })
	return th.blocked(callStopStream.name, nil, err)
}
