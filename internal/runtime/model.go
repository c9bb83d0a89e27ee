package runtime

import (
	"fmt"
	"slices"
	"sync/atomic"

	"npu/internal/sim"
	"npu/internal/trace"
)

// ModelState is where a model stands in its life, numbered as aclmdlRI's states.
type ModelState int32

// Model states.
const (
	ModelNone ModelState = iota
	ModelActive
	ModelInvalidated
	ModelUpdating
	ModelFault
	ModelReady
)

func (s ModelState) String() string {
	return [...]string{"empty", "under construction", "invalidated", "being updated", "faulty", "ready"}[s]
}

// Model is a program of tasks that lies on the device and is executed by one task (aclmdlRI). It is made by a
// ModelBuilder, from bound streams (NewModel) or by capture (CaptureBegin). Its ring heads, notifies, condition words
// and argument blocks are its own; executions of one model follow each other.
type Model struct {
	dev       *Device
	ctx       *Context
	name      string
	state     atomic.Int32
	destroyed atomic.Bool
	lanes     []*lane
	notifies  int
	ended     bool // has its end task

	// Captured models. Under Runtime.captures.mu while the capture goes on.
	thread  *Thread
	mode    CaptureMode
	invalid error // what has made the capture invalid
	group   *TaskGroup
	parent  *Model // of the body of a condition
	done    int    // notify that the body's end records
	bodies  []*Model
	outside []external

	inst       *sim.Instance
	args       Ptr
	nargs      int64
	launches   []*node
	conditions []*Condition
	initial    []sim.Task // of the condition words, at the begin of each execution
	ids        []uint32   // stream numbers in the trace that are the model's own
	kept       []uint64   // host functions
	executions atomic.Uint64
}

func newModel(ctx *Context) *Model {
	m := &Model{dev: ctx.dev, ctx: ctx}
	m.state.Store(int32(ModelActive))
	return m
}

// State is where the model stands.
func (m *Model) State() ModelState { return ModelState(m.state.Load()) }

// Name is the model's in traces and dumps.
func (m *Model) Name() string { return m.name }

// ArgBytes is the size of the model's argument blocks.
func (m *Model) ArgBytes() int64 { return m.nargs }

// finish writes the descriptors and argument blocks to the device.
func (m *Model) finish(th *Thread, c call) (err error) {
	w := m.lower()
	m.nargs = int64(len(w.args))
	if len(w.args) > 0 {
		if m.args, err = th.Malloc(m.nargs); err != nil {
			return err
		}
		if err = th.Upload(m.args, m.nargs, func(dst []byte) { copy(dst, w.args) }); err != nil {
			return err
		}
	}
	var failed error
	err = th.port.Call(func() {
		d := m.dev
		ids := make([]uint32, len(w.prog.Queues))
		for i, l := range w.lanes {
			if l.stream != nil && l.stream.flags&Persistent != 0 {
				ids[i] = l.stream.id
				continue
			}
			ids[i] = d.streamID()
			m.ids = append(m.ids, ids[i])
			label := l.label
			if label == "" {
				label = fmt.Sprintf("%s stream %d", m.name, i)
			}
			d.rt.strings.NameStream(uint16(d.hw.ID()), ids[i], label, int(w.prog.Priorities[i]))
		}
		for i, name := range w.more {
			n := len(w.lanes) + i
			ids[n] = d.streamID()
			m.ids = append(m.ids, ids[n])
			d.rt.strings.NameStream(uint16(d.hw.ID()), ids[n], m.name+" "+name, int(w.prog.Priorities[n]))
		}
		if used, most := d.rings(), d.hw.Chip().Limits.StreamsPhysical; most > 0 && used > most {
			failed = fmt.Errorf("device %d has %d rings: %d are in use by streams and models, this model takes %d", d.id, most, used-len(m.ids), len(m.ids))
			m.dropIDs()
			return
		}
		m.inst, failed = d.rt.machine.NewInstance(d.hw, m.ctx.pages.space, &w.prog, uint64(m.args), 0, ids)
		if failed != nil {
			m.dropIDs()
			return
		}
		m.ctx.models = append(m.ctx.models, m)
	})
	if err == nil && failed != nil {
		return th.fail(NoStream, c.name, failed.Error(), "destroy models that are not used")
	}
	if err != nil {
		return th.blocked(c.name, nil, err)
	}
	m.state.Store(int32(ModelReady))
	return nil
}

// rings counts the hardware rings of the device that streams and models hold.
func (d *Device) rings() (n int) {
	for _, used := range d.ids {
		if used {
			n++
		}
	}
	return n
}

func (m *Model) dropIDs() {
	for _, id := range m.ids {
		m.dev.ids[id] = false
	}
	m.ids = nil
}

// executable checks the model and stream of an execution.
func (th *Thread) executable(m *Model, s *Stream, c call) (*Stream, error) {
	switch {
	case m == nil:
		return nil, th.fail(ACLInvalidParam, c.name, "model is null", "")
	case m.destroyed.Load():
		return nil, th.fail(InvalidHandle, c.name, "model is destroyed", "")
	case m.parent != nil:
		return nil, th.fail(InvalidParam, c.name, "this is the body of a condition", "execute the model that it belongs to")
	case m.thread != nil && m.State() == ModelActive || m.State() == ModelInvalidated:
		return nil, th.fail(ModelCaptured, c.name, "the model is being captured", "end the capture first")
	case m.State() != ModelReady:
		return nil, th.fail(ModelExecute, c.name, fmt.Sprintf("the model is %v", m.State()), "give it an end task and finish building it")
	case s != nil && s.flags&Persistent != 0:
		return nil, th.fail(NotSupported, c.name, fmt.Sprintf("stream %d keeps its tasks for a model", s.id), "execute on an ordinary stream")
	}
	s, err := th.use(s, c)
	if err != nil {
		return nil, err
	}
	if l := s.lane.Load(); l != nil {
		if l.m != nil {
			th.invalidate(l.m, c.name)
		}
		return nil, th.fail(StreamCaptured, c.name, fmt.Sprintf("stream %d is being captured", s.id), "execute on another stream")
	}
	if m.ctx != s.ctx {
		return nil, th.fail(ModelContext, c.name, "the model belongs to another context", "make its context current")
	}
	return s, nil
}

// ExecuteModel puts one execution of the model into the stream; the device does the rest (aclmdlExecuteAsync,
// aclmdlRIExecuteAsync). What comes behind it in the stream waits for its end.
func (th *Thread) ExecuteModel(m *Model, s *Stream) error {
	s, err := th.executable(m, s, callExecute)
	if err != nil {
		return err
	}
	t := sim.Task{Kind: trace.ModelExecute, A: m.inst.ID()}
	n := m.executions.Add(1)
	if len(m.outside) > 0 {
		b, err := th.bind(m)
		if err != nil {
			return err
		}
		if err := th.port.Call(func() { m.inst.Bind(n, b) }); err != nil {
			return th.blocked(callExecute.name, nil, err)
		}
		t.B = n
	}
	return th.submit(s, &t, nil, callExecute)
}

// ExecuteModelSync executes the model and waits for ms virtual milliseconds, -1 for ever (aclmdlRIExecute). When they
// are over the model is aborted.
func (th *Thread) ExecuteModelSync(m *Model, ms int) error {
	limit, err := th.timeout(ms, call{name: "aclmdlRIExecute"})
	if err != nil {
		return err
	}
	if err := th.ExecuteModel(m, nil); err != nil {
		return err
	}
	s := th.ctx.stream
	err = th.waitStream(s, limit, callSyncStream)
	if e, ok := err.(*Error); ok && e.Code == StreamSyncTimeout {
		if a := th.AbortModel(m); a != nil {
			return a
		}
		_ = th.waitStream(s, 0, callSyncStream) // it reports the abort that was just asked for
	}
	return err
}

// AbortModel ends the execution that runs; its stream reports 507023 (aclmdlRIAbort).
func (th *Thread) AbortModel(m *Model) (err error) {
	t := th.begin(callAbortModel)
	defer func() { th.end(callAbortModel, t, err) }()
	if m == nil || m.inst == nil || m.destroyed.Load() {
		return th.fail(InvalidHandle, callAbortModel.name, "model is not loaded", "")
	}
	err = th.port.Call(func() { th.rt.machine.AbortInstance(m.inst) })
	return th.blocked(callAbortModel.name, nil, err)
}

// destroyPatience is how long DestroyModel waits for executions to end, in virtual ns.
const destroyPatience = 10_000 * 1_000_000

// DestroyModel waits until the model's executions have ended, up to ten virtual seconds, and frees what it holds on
// the device. Bound streams are unbound (aclmdlRIDestroy).
func (th *Thread) DestroyModel(m *Model) (err error) {
	t := th.begin(callDestroyModel)
	defer func() { th.end(callDestroyModel, t, err) }()
	if err = th.forbidden(callDestroyModel); err != nil {
		return err
	}
	switch {
	case m == nil:
		return th.fail(ACLInvalidParam, callDestroyModel.name, "model is null", "")
	case m.destroyed.Load():
		return th.fail(InvalidHandle, callDestroyModel.name, "model is destroyed", "")
	case m.thread != nil && (m.State() == ModelActive || m.State() == ModelInvalidated):
		return th.fail(ModelCaptured, callDestroyModel.name, "the model is being captured", "end the capture first")
	}
	if m.inst != nil {
		n := m.executions.Load()
		expired, err := th.port.WaitCond(m.inst.Ended(), func() bool { return m.inst.Idle(n) }, destroyPatience, 0)
		if err != nil {
			return th.blocked(callDestroyModel.name, nil, err)
		}
		if expired {
			return th.fail(ModelRunning, callDestroyModel.name, "the model is still running after 10 s", "abort it first")
		}
	}
	return th.dropModel(m)
}

// unload takes the model's queues and numbers away. Under Port.Call.
func (m *Model) unload() {
	m.destroyed.Store(true)
	if m.inst != nil {
		m.dev.rt.forgetModel(m)
		m.dev.rt.machine.DropInstance(m.inst)
	}
	m.dropIDs()
}

// dropModel frees what a model holds.
func (th *Thread) dropModel(m *Model) error {
	m.destroyed.Store(true)
	for _, l := range m.lanes {
		if s := l.stream; s != nil && s.lane.Load() == l {
			s.lane.Store(nil)
		}
	}
	for _, n := range m.kept {
		th.rt.calls.release(n)
	}
	err := th.port.Call(func() {
		m.unload()
		if i := slices.Index(m.ctx.models, m); i >= 0 {
			m.ctx.models = slices.Delete(m.ctx.models, i, i+1)
		}
	})
	if err != nil {
		return th.blocked(callDestroyModel.name, nil, err)
	}
	if m.args != 0 {
		err = th.Free(m.args)
	}
	for _, c := range m.conditions {
		if e := th.Free(c.word); e != nil && err == nil {
			err = e
		}
	}
	return err
}
