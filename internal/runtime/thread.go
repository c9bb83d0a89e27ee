package runtime

import (
	"sync/atomic"

	"npu/internal/sim"
	"npu/internal/trace"
)

// Thread is a host thread: a clock, the current context with its stack, the last error. It belongs to one goroutine.
type Thread struct {
	rt     *Runtime
	port   *sim.Port
	ctx    *Context
	open   *Context // ctx, where a submission needs no further checks; else nil
	stack  []*Context
	failed []failure // contexts that this thread knows to have failed
	inside bool      // runs user code for the runtime: most calls are forbidden
	last   *Error
	recent []*Error
	spans  []hostSpan
	ranges []openMark // pushed and not popped
	copyQ  *Stream    // hidden stream of synchronous copies
	stage  HostMem    // pinned memory that copies of pageable memory go through
	mem    *memoryCall
	pooled *poolCall
	cache  *threadCache // of open, or nil
	caches []*threadCache
	report atomic.Pointer[reporter]
	mode   CaptureMode // which captures forbid its unsafe calls
	task   sim.Task    // scratch of launches, so that they allocate nothing

	label, operator trace.StringID // see Label
}

// failure is a context that stands still since a task failed under StopOnFailure. It is known to a thread from the
// call that told it, so that what the thread sees does not depend on how fast the machine is.
type failure struct {
	ctx   *Context
	fault *sim.Fault
}

// Clock is the thread's time on the device's time line, in ns.
func (th *Thread) Clock() int64 { return th.port.Clock() }

// Runtime is what the thread is attached to.
func (th *Thread) Runtime() *Runtime { return th.rt }

// ID is the thread's number, from 1, as traces and exceptions show it.
func (th *Thread) ID() uint16 { return th.port.ID() }

// Work lets the thread's clock go on by ns, as if the host computed for so long.
func (th *Thread) Work(ns int64) { th.port.Spend(max(0, ns)) }

// Outside brackets anything that blocks outside the runtime; meanwhile the thread holds the devices' time back no
// more. Order against other threads is then that of wall time, and the trace says so.
func (th *Thread) Outside(f func()) { th.port.Outside(f) }

// Detach ends the thread. What it has submitted goes on.
func (th *Thread) Detach() { th.detach(nil) }

// detach ends the thread; last runs in virtual time at its end.
func (th *Thread) detach(last func()) {
	th.flushSpans()
	th.dropCopyStream()
	th.dropStage()
	th.port.Detach(func() {
		th.dropCaches()
		if last != nil {
			last()
		}
	})
}

// setContext changes the current context.
func (th *Thread) setContext(c *Context) {
	th.ctx = c
	th.open = nil
	if c != nil && !th.inside && !th.rt.spans && !c.dev.memory.strict.on.Load() && th.failure(c) == nil {
		th.open = c
	}
	th.findCache()
}

// failure is the fault that this thread knows c to have failed with.
func (th *Thread) failure(c *Context) *sim.Fault {
	for _, f := range th.failed {
		if f.ctx == c {
			return f.fault
		}
	}
	return nil
}

// noteFailure remembers that c has failed.
func (th *Thread) noteFailure(c *Context, f *sim.Fault) {
	if th.failure(c) == nil {
		th.failed = append(th.failed, failure{c, f})
		th.setContext(th.ctx)
	}
}

// forbidden is the error of a call that user code run by the runtime must not make: it could wait for itself.
func (th *Thread) forbidden(c call) error {
	if !th.inside {
		return nil
	}
	return th.failAs(NotSupported, "EE1016", c.name, "the runtime runs this code as a callback", "allocate, submit and synchronise outside callbacks")
}

// run makes user code f run on this thread as a callback.
func (th *Thread) run(f func()) {
	th.inside = true
	th.setContext(th.ctx)
	f()
	th.inside = false
	th.setContext(th.ctx)
}

// LastTask is the stream and the task id of the thread's last submission (aclrtGetThreadLastTaskId); ok is false if
// there was none.
func (th *Thread) LastTask() (stream, task uint32, ok bool) {
	return th.port.Last()
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
		th.span(c, start, nil, 0, err)
	}
}

// spanChunk bounds the spans that a thread keeps before it hands them over.
const spanChunk = 4096

// spansWatched is how many it keeps while another process looks.
const spansWatched = 64

// hostSpan is a span whose name has no number yet: the string table belongs to the driver.
type hostSpan struct {
	trace.Span
	name string
}

// span records a call that submitted the task at pos of s; nil for one that submitted nothing.
func (th *Thread) span(c call, start int64, s *Stream, pos uint64, err error) {
	x := hostSpan{name: c.name, Span: trace.Span{Start: start, End: max(start+1, th.port.Clock()), Thread: th.port.ID(), Task: trace.NoTask}}
	if e, ok := err.(*Error); ok && e != nil {
		x.Code = uint32(e.Code)
	}
	if s != nil {
		x.Device, x.Stream, x.Task = uint16(s.dev.id), s.id, taskID(pos)
	}
	th.keepSpan(x)
}

// keepSpan keeps a span until it is handed over.
func (th *Thread) keepSpan(x hostSpan) {
	th.spans = append(th.spans, x)
	if n := len(th.spans); n == spanChunk || n%spansWatched == 0 && th.rt.watched.wanted() {
		th.flushSpans()
	}
}

func (th *Thread) flushSpans() {
	if len(th.spans) == 0 {
		return
	}
	_ = th.port.Call(func() { // a deadlock has been reported where it was met
		th.rt.watched.spans(th.spans)
		if th.rt.watched.wanted() { // who looks sees what the calls did as soon as the calls
			th.rt.machine.Flush()
			th.rt.watched.flush()
		}
	})
	th.spans = th.spans[:0]
}

// taskID is the number of a task in the trace: flip count in the upper half, the 16-bit id, which runs to 65534, in
// the lower.
func taskID(pos uint64) uint32 { return uint32(pos/65535)<<16 | uint32(pos%65535) }
