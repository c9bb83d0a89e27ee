package runtime

import (
	"npu/internal/sim"
	"npu/internal/trace"
)

// Thread is a host thread: a clock, the current context with its stack, the last error. It belongs to one goroutine.
type Thread struct {
	rt    *Runtime
	port  *sim.Port
	ctx   *Context
	stack []*Context
	last  *Error
	spans []hostSpan
	copyQ *Stream // hidden stream of synchronous copies
	ended *sim.Notify
	task  sim.Task // scratch of launches, so that they allocate nothing
}

// Clock is the thread's time on the device's time line, in ns.
func (th *Thread) Clock() int64 { return th.port.Clock() }

// Runtime is what the thread is attached to.
func (th *Thread) Runtime() *Runtime { return th.rt }

// Work lets the thread's clock go on by ns, as if the host computed for so long.
func (th *Thread) Work(ns int64) { th.port.Spend(max(0, ns)) }

// Outside brackets anything that blocks outside the runtime; meanwhile the thread holds the devices' time back no
// more. Order against other threads is then that of wall time, and the trace says so.
func (th *Thread) Outside(f func()) { th.port.Outside(f) }

// Detach ends the thread.
func (th *Thread) Detach() {
	th.flushSpans()
	th.port.Detach(nil)
}

// Child is a thread started by Go.
type Child struct {
	ended *sim.Notify
	err   error
	done  chan struct{}
}

// Go starts f on a new host thread whose clock begins at this thread's. It inherits the current context, as a child
// thread does that calls aclrtSetCurrentContext first.
func (th *Thread) Go(f func(*Thread) error) (*Child, error) {
	th.port.Spend(1000)
	port, err := th.port.Spawn()
	if err != nil {
		return nil, th.blocked("thread start", nil, err)
	}
	c := &Child{done: make(chan struct{})}
	var q *Stream
	if err := th.port.Call(func() { c.ended = th.rt.machine.Devices()[0].NewNotify() }); err != nil {
		return nil, th.blocked("thread start", nil, err)
	}
	child := &Thread{rt: th.rt, port: port, ctx: th.ctx}
	if q, err = th.rt.devices[0].hiddenStream(th, "thread end"); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.done)
		port.Adopt()
		c.err = f(child)
		// The end of the thread is a record in virtual time: whoever waits for it goes on at that time.
		_, err := port.Submit(q.q, &sim.Task{Kind: trace.NotifyRecord, A: c.ended.ID()}, nil, 100)
		if c.err == nil {
			c.err = child.blocked("thread end", nil, err)
		}
		child.Detach()
	}()
	return c, nil
}

// Wait blocks until the children have ended, in virtual time, and returns the first error.
func (th *Thread) Wait(children ...*Child) error {
	var first error
	for _, c := range children {
		_, err := th.port.WaitNotify(c.ended, 0, 500)
		if err = th.blocked("thread join", nil, err); err == nil {
			<-c.done // it only has to detach
			err = c.err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// begin opens a host call: its cost is spent, and the returned clock is the start of its span.
func (th *Thread) begin(c call) int64 {
	t := th.port.Clock()
	th.port.Spend(c.ns)
	return t
}

// end closes a host call that submitted no task.
func (th *Thread) end(c call, start int64, err error) {
	if th.rt.spans {
		th.span(c, start, 0, trace.NoTask, err)
	}
}

// spanChunk bounds the spans that a thread keeps before it hands them over.
const spanChunk = 4096

// hostSpan is a span whose name has no number yet: the string table belongs to the driver.
type hostSpan struct {
	trace.Span
	name string
}

func (th *Thread) span(c call, start int64, stream, task uint32, err error) {
	var code uint32
	if e, ok := err.(*Error); ok && e != nil {
		code = uint32(e.Code)
	}
	th.spans = append(th.spans, hostSpan{name: c.name, Span: trace.Span{
		Start: start, End: max(start+1, th.port.Clock()), Thread: th.port.ID(), Stream: stream, Task: task, Code: code,
	}})
	if len(th.spans) == spanChunk {
		th.flushSpans()
	}
}

func (th *Thread) flushSpans() {
	if len(th.spans) == 0 {
		return
	}
	rows := make([]trace.Span, len(th.spans))
	_ = th.port.Call(func() { // a deadlock has been reported where it was met
		for i, s := range th.spans {
			rows[i] = s.Span
			rows[i].Name = th.rt.strings.Intern(s.name)
		}
		th.rt.strings.Spans(rows)
	})
	th.spans = th.spans[:0]
}
