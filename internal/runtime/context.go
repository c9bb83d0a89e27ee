package runtime

import (
	"sync"
	"sync/atomic"

	"npu/internal/sim"
)

// Context owns streams and loaded kernels and accounts for the memory that was allocated in it. Memory itself belongs
// to the device and process, except in an isolated context (aclrtContext).
type Context struct {
	dev       *Device
	handle    Handle
	stream    *Stream // the default stream
	primary   bool
	isolated  bool
	destroyed atomic.Bool // the object stays as a tombstone for threads that have it current
	domain    *sim.Domain
	pages     *pageTable
	hostCalls atomic.Pointer[service] // runs its host functions, from the first one on

	barrierMu sync.Mutex
	barriers  []barrierEvent

	// Under Port.Call.
	params  [sysParams]sysParam
	stop    bool // failure mode of its streams is StopOnFailure
	streams []*Stream
	kernels []*Kernel
	models  []*Model // that lie on the device
	bytes   int64
	tag     uint32 // of its blocks of memory
}

// ContextConfig says what a context is made for.
type ContextConfig struct {
	// Isolated gives the context a page table of its own: its tasks reach only what was allocated in it, and nobody
	// else reaches that. It goes beyond the real runtime, where that takes a process of its own.
	Isolated bool
}

// Device is the number of the context's device.
func (c *Context) Device() int { return c.dev.id }

// DefaultStream is the default stream of the current context (aclrtCtxGetCurrentDefaultStream).
func (th *Thread) DefaultStream() (*Stream, error) {
	c, err := th.context(call{name: "aclrtCtxGetCurrentDefaultStream"})
	if err != nil {
		return nil, err
	}
	return c.stream, nil
}

// CreateContext makes a context with its own default stream and makes it current (aclrtCreateContext).
func (th *Thread) CreateContext(id int) (*Context, error) {
	return th.CreateContextWith(id, ContextConfig{})
}

// CreateContextWith is CreateContext with choices.
func (th *Thread) CreateContextWith(id int, cfg ContextConfig) (c *Context, err error) {
	t := th.begin(callCreateContext)
	defer func() { th.end(callCreateContext, t, err) }()
	if err = th.forbidden(callCreateContext); err != nil {
		return nil, err
	}
	d, err := th.device(id, callCreateContext)
	if err != nil {
		return nil, err
	}
	if c, err = th.newContext(d, cfg, false, callCreateContext); err != nil {
		return nil, err
	}
	th.setContext(c)
	return c, nil
}

// newContext makes a context, or takes one more reference to the device's primary one.
func (th *Thread) newContext(d *Device, cfg ContextConfig, primary bool, in call) (c *Context, err error) {
	var code Code
	err = th.port.Call(func() {
		if primary && d.primary != nil {
			c = d.primary
			d.refs++
			return
		}
		c = &Context{dev: d, primary: primary, isolated: cfg.Isolated, domain: &sim.Domain{}, pages: d.memory.shared}
		if cfg.Isolated {
			c.pages = d.memory.newTable()
		}
		c.stream = &Stream{ctx: c, dev: d, def: true}
		if code = c.stream.make(th, StreamConfig{}); code != 0 {
			return
		}
		c.stream.q.Share() // it serves whoever names no stream
		c.handle = d.rt.handles.add(contextHandle, c)
		d.contexts = append(d.contexts, c)
		if primary {
			d.primary = c
			d.refs = 1
		}
	})
	if err != nil {
		return nil, th.blocked(in.name, nil, err)
	}
	if code != 0 {
		return nil, th.noStream(d, code, in)
	}
	return c, nil
}

// SetCurrentContext makes c current in this thread (aclrtSetCurrentContext).
func (th *Thread) SetCurrentContext(c *Context) (err error) {
	t := th.begin(callSetContext)
	defer func() { th.end(callSetContext, t, err) }()
	if c == nil {
		return th.fail(InvalidParam, callSetContext.name, "context is null", "")
	}
	if c.destroyed.Load() {
		return th.failAs(InvalidParam, "EE1017", callSetContext.name, "context is destroyed", "create a new one or set the device again")
	}
	th.setContext(c)
	return nil
}

// CurrentContext is the thread's context (aclrtGetCurrentContext).
func (th *Thread) CurrentContext() (*Context, error) {
	return th.context(call{name: "aclrtGetCurrentContext"})
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
	th.setContext(th.stack[len(th.stack)-1])
	th.stack = th.stack[:len(th.stack)-1]
	return nil
}

// DestroyContext finishes the context's streams and destroys them; memory stays, but for that of an isolated context
// (aclrtDestroyContext).
func (th *Thread) DestroyContext(c *Context) (err error) {
	t := th.begin(callDestroyCtx)
	defer func() { th.end(callDestroyCtx, t, err) }()
	if err = th.forbidden(callDestroyCtx); err != nil {
		return err
	}
	switch {
	case c == nil:
		return th.fail(ACLInvalidParam, callDestroyCtx.name, "context is null", "")
	case c.primary:
		return th.fail(ContextNull, callDestroyCtx.name, "this is the primary context of its device", "use aclrtResetDevice")
	case c.destroyed.Load():
		return th.fail(ContextNull, callDestroyCtx.name, "context is destroyed already", "")
	}
	return th.endContext(c, callDestroyCtx)
}

// endContext finishes and removes everything that c owns.
func (th *Thread) endContext(c *Context, in call) error {
	var streams []*Stream
	if err := th.port.Call(func() { streams = append(append(streams, c.streams...), c.stream) }); err != nil {
		return th.blocked(in.name, nil, err)
	}
	var first error
	for _, s := range streams {
		if err := th.waitStream(s, 0, in); err != nil && first == nil {
			first = err
		}
	}
	if err := th.dropBarriers(c); err != nil && first == nil {
		first = err
	}
	err := th.port.Call(func() {
		if c.destroyed.Load() {
			return
		}
		c.destroyed.Store(true)
		for _, s := range streams {
			s.remove()
		}
		c.streams = nil
		for _, k := range c.kernels {
			k.unload()
		}
		c.kernels = nil
		for _, m := range c.models {
			m.unload()
		}
		c.models = nil
		if c.isolated {
			c.dev.memory.freeTable(c.pages)
		}
		d := c.dev
		for i, x := range d.contexts {
			if x == c {
				d.contexts = append(d.contexts[:i], d.contexts[i+1:]...)
				break
			}
		}
		if d.primary == c {
			d.primary = nil
		}
		d.rt.handles.remove(c.handle)
	})
	c.hostCalls.Swap(nil).end()
	if first == nil {
		first = th.blocked(in.name, nil, err)
	}
	return first
}

// context is the current context, or the error of a call that needs one. A thread leaves a destroyed context here, and
// sets the default device of Init.
func (th *Thread) context(c call) (*Context, error) {
	if th.ctx != nil && th.ctx.destroyed.Load() {
		th.setContext(nil)
		return nil, th.fail(ContextNull, c.name, "the current context is destroyed", "make another one current")
	}
	if d := th.rt.acl.device.Load(); th.ctx == nil && d > 0 && !th.inside {
		if err := th.SetDevice(int(d) - 1); err != nil {
			return nil, err
		}
	}
	if th.ctx == nil {
		return nil, th.fail(ContextNull, c.name, "this thread has no current context", "call aclrtSetDevice or aclrtSetCurrentContext first")
	}
	return th.ctx, nil
}

// Allocated is the bytes that were allocated in the context and are not freed yet.
func (th *Thread) Allocated(c *Context) (n int64, err error) {
	err = th.port.Call(func() {
		th.flushCaches()
		n = c.bytes
	})
	return n, th.blocked("context memory", nil, err)
}
