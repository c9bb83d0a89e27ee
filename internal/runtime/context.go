package runtime

import (
	"fmt"

	"npu/internal/runtime/mempool"
	"npu/internal/sim"
)

// Device is one device as this process uses it: its primary context, the memory that was taken from it, its streams.
type Device struct {
	rt      *Runtime
	hw      *sim.Device
	id      int
	primary *Context
	refs    int // SetDevice minus ResetDevice

	// Under Port.Call.
	space   *sim.Space
	pool    *mempool.Pool
	pages   []uint16 // blocks per 2 MiB page
	pending []pendingFree
	streams []*Stream // alive, hidden ones included
	ids     []bool    // stream numbers in use
	hidden  *Stream
}

func newDevice(rt *Runtime, hw *sim.Device) *Device {
	base, size := hw.Memory()
	d := &Device{rt: rt, hw: hw, id: hw.ID(), space: hw.NewSpace(), pages: make([]uint16, size/sim.Page)}
	// The first page stays unmapped, so that small numbers are no pointers into it.
	d.pool = mempool.New(base+sim.Page, uint64(size-sim.Page))
	return d
}

// Context owns streams and loaded kernels. Memory belongs to the device and process (aclrtCreateContext).
type Context struct {
	dev       *Device
	stream    *Stream // the default stream
	primary   bool
	destroyed bool
	streams   map[*Stream]bool
}

// Device is the number of the context's device.
func (c *Context) Device() int { return c.dev.id }

// SetDevice makes the device's primary context current, which is created if need be, and clears an explicit one
// (aclrtSetDevice).
func (th *Thread) SetDevice(id int) (err error) {
	t := th.begin(callSetDevice)
	defer func() { th.end(callSetDevice, t, err) }()
	if id < 0 || id >= len(th.rt.devices) {
		return th.fail(InvalidDevice, callSetDevice.name, fmt.Sprintf("device %d", id),
			fmt.Sprintf("EE1001: there are %d devices, from 0 to %d", len(th.rt.devices), len(th.rt.devices)-1))
	}
	d := th.rt.devices[id]
	if d.primary == nil || d.primary.destroyed {
		c, err := th.newContext(d, callSetDevice)
		if err != nil {
			return err
		}
		c.primary = true
		d.primary = c
	}
	d.refs++
	th.ctx = d.primary
	return nil
}

// ResetDevice drops one reference to the device. With the last one its streams are finished and its memory is freed
// (aclrtResetDevice).
func (th *Thread) ResetDevice(id int) (err error) {
	t := th.begin(callResetDevice)
	defer func() { th.end(callResetDevice, t, err) }()
	if id < 0 || id >= len(th.rt.devices) {
		return th.fail(InvalidDevice, callResetDevice.name, fmt.Sprintf("device %d", id), "")
	}
	d := th.rt.devices[id]
	if d.refs == 0 {
		return th.fail(RepeatedReset, callResetDevice.name, fmt.Sprintf("device %d is reset more often than set", id), "EE1018")
	}
	if d.refs--; d.refs > 0 {
		return nil
	}
	err = th.destroyContext(d.primary, callResetDevice)
	if th.ctx == d.primary {
		th.ctx = nil
	}
	return err
}

// CreateContext makes a context with its own default stream and makes it current (aclrtCreateContext).
func (th *Thread) CreateContext(id int) (c *Context, err error) {
	t := th.begin(callCreateContext)
	defer func() { th.end(callCreateContext, t, err) }()
	if id < 0 || id >= len(th.rt.devices) {
		return nil, th.fail(InvalidDevice, callCreateContext.name, fmt.Sprintf("device %d", id), "")
	}
	if c, err = th.newContext(th.rt.devices[id], callCreateContext); err != nil {
		return nil, err
	}
	th.ctx = c
	return c, nil
}

func (th *Thread) newContext(d *Device, in call) (*Context, error) {
	c := &Context{dev: d, streams: map[*Stream]bool{}}
	var err error
	c.stream, err = th.newStream(c, StreamConfig{}, true, in)
	if err != nil {
		return nil, err
	}
	c.stream.Share() // a default stream serves whoever names none
	return c, nil
}

// SetCurrentContext makes c current in this thread (aclrtSetCurrentContext).
func (th *Thread) SetCurrentContext(c *Context) (err error) {
	t := th.begin(callSetContext)
	defer func() { th.end(callSetContext, t, err) }()
	if c == nil || c.destroyed {
		return th.fail(InvalidParam, callSetContext.name, "context is null or destroyed", "EE1017: create it or set the device again")
	}
	th.ctx = c
	return nil
}

// CurrentContext is the thread's context (aclrtGetCurrentContext).
func (th *Thread) CurrentContext() (*Context, error) {
	return th.context(call{"aclrtGetCurrentContext", 0})
}

// PushContext makes c current and keeps the one before; PopContext goes back to it. The real runtime has one slot
// and no stack; this is sugar over it.
func (th *Thread) PushContext(c *Context) error {
	old := th.ctx
	if err := th.SetCurrentContext(c); err != nil {
		return err
	}
	th.stack = append(th.stack, old)
	return nil
}

// PopContext undoes the last PushContext.
func (th *Thread) PopContext() error {
	if len(th.stack) == 0 {
		return th.fail(InvalidParam, "context pop", "the stack is empty", "each pop needs a push")
	}
	th.ctx = th.stack[len(th.stack)-1]
	th.stack = th.stack[:len(th.stack)-1]
	return nil
}

// DestroyContext finishes the context's streams and destroys them; memory stays (aclrtDestroyContext).
func (th *Thread) DestroyContext(c *Context) (err error) {
	t := th.begin(callDestroyCtx)
	defer func() { th.end(callDestroyCtx, t, err) }()
	switch {
	case c == nil:
		return th.fail(ACLInvalidParam, callDestroyCtx.name, "context is null", "")
	case c.primary:
		return th.fail(ContextNull, callDestroyCtx.name, "this is the primary context of its device", "EE1017: use aclrtResetDevice")
	case c.destroyed:
		return th.fail(ContextNull, callDestroyCtx.name, "context is destroyed already", "")
	}
	return th.destroyContext(c, callDestroyCtx)
}

func (th *Thread) destroyContext(c *Context, in call) error {
	var first error
	for _, s := range c.dev.streams {
		if s.ctx != c {
			continue
		}
		if err := th.drain(s); err != nil && first == nil {
			first = err
		}
	}
	err := th.port.Call(func() {
		for s := range c.streams {
			s.remove()
		}
		c.stream.remove()
	})
	c.destroyed = true
	if first == nil {
		first = th.blocked(in.name, nil, err)
	}
	return first
}

// context is the current context, or the error of a call that needs one.
func (th *Thread) context(c call) (*Context, error) {
	if th.ctx == nil || th.ctx.destroyed {
		return nil, th.fail(ContextNull, c.name, "this thread has no current context", "call SetDevice or SetCurrentContext first")
	}
	return th.ctx, nil
}
