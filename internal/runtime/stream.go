package runtime

import (
	"fmt"

	"npu/internal/sim"
)

// Stream is a queue of tasks on a device, strictly in order (aclrtStream). It belongs to the Thread that made it;
// Share lets others submit too.
type Stream struct {
	q         *sim.Queue
	ctx       *Context
	dev       *Device
	id        uint32
	def       bool
	destroyed bool
}

// StreamConfig says what a stream is made for (aclrtCreateStreamWithConfig).
type StreamConfig struct {
	Name     string // in the trace; empty: its number
	Priority int    // 0 greatest … 7 least, clamped
	quiet    bool   // the runtime's own: its doorbells and waits are no interactions of the program
}

// CreateStream makes a stream of the current context (aclrtCreateStream).
func (th *Thread) CreateStream(c StreamConfig) (s *Stream, err error) {
	t := th.begin(callCreateStream)
	defer func() { th.end(callCreateStream, t, err) }()
	ctx, err := th.context(callCreateStream)
	if err != nil {
		return nil, err
	}
	return th.newStream(ctx, c, false, callCreateStream)
}

func (th *Thread) newStream(ctx *Context, c StreamConfig, def bool, in call) (*Stream, error) {
	d := ctx.dev
	s := &Stream{ctx: ctx, dev: d, def: def}
	var code Code
	err := th.port.Call(func() { code = s.make(c) })
	if err := th.blocked(in.name, nil, err); err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, th.fail(code, in.name, fmt.Sprintf("device %d has no stream left", d.id), "EE1023: destroy streams that are not used")
	}
	if !def {
		ctx.streams[s] = true
	}
	return s, nil
}

// make creates the hardware queue. Under Port.Call.
func (s *Stream) make(c StreamConfig) Code {
	d := s.dev
	id, ok := d.streamID()
	if !ok {
		return NoStream
	}
	depth := max(64, d.hw.Chip().RingDepth)
	usable := d.hw.Chip().RingUsable
	args, ok := d.alloc(uint64(sim.ArgBytes(depth)), 0)
	if !ok {
		return NoResource
	}
	prio := uint8(min(max(c.Priority, 0), 7))
	q, err := d.rt.machine.NewQueue(d.hw, sim.QueueConfig{
		Space: d.space, Priority: prio, Default: s.def, Depth: depth, Usable: min(usable, depth-1), Stream: id, Args: args, Quiet: c.quiet,
	})
	if err != nil {
		d.release(args)
		d.ids[id] = false
		return NoResource
	}
	s.q, s.id = q, id
	d.streams = append(d.streams, s)
	name := c.Name
	if name == "" {
		if name = fmt.Sprintf("stream %d", id); s.def {
			name = "default stream"
		}
	}
	d.rt.strings.NameStream(uint16(d.id), id, name, int(prio))
	return 0
}

// streamID takes the lowest free number.
func (d *Device) streamID() (uint32, bool) {
	for i, used := range d.ids {
		if !used {
			d.ids[i] = true
			return uint32(i), true
		}
	}
	if n := d.hw.Chip().StreamMax; n > 0 && len(d.ids) >= n {
		return 0, false
	}
	d.ids = append(d.ids, true)
	return uint32(len(d.ids) - 1), true
}

// remove takes the queue away. Under Port.Call; the queue is empty.
func (s *Stream) remove() {
	if s.destroyed {
		return
	}
	s.destroyed = true
	d := s.dev
	d.rt.machine.DropQueue(s.q)
	d.release(s.q.Args())
	for i, x := range d.streams {
		if x == s {
			d.streams = append(d.streams[:i], d.streams[i+1:]...)
			break
		}
	}
	if int(s.id) < len(d.ids) {
		d.ids[s.id] = false
	}
}

// hiddenStream is the device's stream for the runtime's own tasks (ends of threads), shared by all.
func (d *Device) hiddenStream(th *Thread, in string) (*Stream, error) {
	err := th.port.Call(func() {
		if d.hidden == nil {
			s := &Stream{dev: d}
			if s.make(StreamConfig{Name: "runtime", quiet: true}) == 0 {
				s.q.Share()
				d.hidden = s
			}
		}
	})
	if err != nil {
		return nil, th.blocked(in, nil, err)
	}
	if d.hidden == nil {
		return nil, th.fail(NoStream, in, "no stream left for the runtime's own tasks", "")
	}
	return d.hidden, nil
}

// Share lets several threads submit to the stream; submission then takes a lock. It cannot be undone.
func (s *Stream) Share() { s.q.Share() }

// ID is the stream's number on its device (aclrtStreamGetId).
func (s *Stream) ID() uint32 { return s.id }

// use resolves a stream argument for a submission: nil is the current context's default stream.
func (th *Thread) use(s *Stream, c call) (*Stream, error) {
	if s == nil {
		ctx, err := th.context(c)
		if err != nil {
			return nil, err
		}
		return ctx.stream, nil
	}
	if s.destroyed {
		return nil, th.fail(InvalidHandle, c.name, "stream is destroyed", "EE1017")
	}
	if s.ctx != th.ctx {
		if _, err := th.context(c); err != nil {
			return nil, err
		}
		return nil, th.fail(StreamContext, c.name, fmt.Sprintf("stream %d belongs to another context", s.id), "EE1010: make its context current")
	}
	return s, nil
}

// SynchronizeStream waits until everything submitted before is done, and returns the stream's pending fault
// (aclrtSynchronizeStream).
func (th *Thread) SynchronizeStream(s *Stream) error { return th.syncStream(s, 0) }

// SynchronizeStreamTimeout is SynchronizeStream with a limit in virtual milliseconds; -1 waits for ever
// (aclrtSynchronizeStreamWithTimeout).
func (th *Thread) SynchronizeStreamTimeout(s *Stream, ms int) error {
	if ms == 0 || ms < -1 {
		return th.fail(InvalidParam, callSyncStream.name+"WithTimeout", fmt.Sprintf("time-out %d ms", ms), "give -1 (for ever) or more than 0")
	}
	return th.syncStream(s, int64(max(ms, 0))*1e6)
}

func (th *Thread) syncStream(s *Stream, timeout int64) (err error) {
	t := th.Clock()
	defer func() { th.end(callSyncStream, t, err) }()
	if s == nil {
		ctx, err := th.context(callSyncStream)
		if err != nil {
			return err
		}
		s = ctx.stream
	}
	if s.destroyed {
		return th.fail(InvalidHandle, callSyncStream.name, "stream is destroyed", "EE1017")
	}
	return th.waitStream(s, timeout, callSyncStream)
}

func (th *Thread) waitStream(s *Stream, timeout int64, c call) error {
	th.port.Spend(syncEntry)
	o, err := th.port.WaitQueue(s.q, sim.Everything, timeout, c.ns)
	if o.Expired {
		return th.fail(StreamSyncTimeout, c.name, fmt.Sprintf("stream %d is not done after %d ms", s.id, timeout/1e6), "EE1002: the tasks go on")
	}
	return th.blocked(c.name, o.Fault, err)
}

// drain waits for a stream whose owner may be gone.
func (th *Thread) drain(s *Stream) error {
	if s.destroyed {
		return nil
	}
	return th.waitStream(s, 0, callSyncStream)
}

// SynchronizeDevice waits for all streams of the current device (aclrtSynchronizeDevice).
func (th *Thread) SynchronizeDevice() (err error) {
	t := th.Clock()
	defer func() { th.end(callSyncDevice, t, err) }()
	ctx, err := th.context(callSyncDevice)
	if err != nil {
		return err
	}
	for _, s := range append([]*Stream(nil), ctx.dev.streams...) {
		if e := th.drain(s); e != nil && err == nil {
			err = e
		}
	}
	return err
}

// QueryStream says whether everything submitted before is done (aclrtStreamQuery).
func (th *Thread) QueryStream(s *Stream) (done bool, err error) {
	t := th.begin(callQueryStream)
	defer func() { th.end(callQueryStream, t, err) }()
	if s, err = th.use(s, callQueryStream); err != nil {
		return false, err
	}
	pos := s.q.Submitted()
	err = th.port.Call(func() { done = s.q.Retired() >= pos })
	return done, th.blocked(callQueryStream.name, nil, err)
}

// DestroyStream waits for the stream's tasks and destroys it (aclrtDestroyStream).
func (th *Thread) DestroyStream(s *Stream) (err error) {
	t := th.begin(callDestroyStream)
	defer func() { th.end(callDestroyStream, t, err) }()
	if s == nil {
		return th.fail(ACLInvalidParam, callDestroyStream.name, "stream is null", "")
	}
	if s.def {
		return th.fail(InvalidParam, callDestroyStream.name, "this is the default stream of its context", "it goes with the context")
	}
	if s, err = th.use(s, callDestroyStream); err != nil {
		return err
	}
	waitErr := th.waitStream(s, 0, callDestroyStream)
	err = th.port.Call(s.remove)
	delete(s.ctx.streams, s)
	if waitErr != nil {
		return waitErr
	}
	return th.blocked(callDestroyStream.name, nil, err)
}
