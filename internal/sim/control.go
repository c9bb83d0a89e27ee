package sim

import (
	"npu/internal/trace"
)

// Instance is a sunk program on a device: queues whose descriptors were written once and are executed by one
// ModelExecute each time. Ring heads, notifies and the base of the argument blocks are the instance's own; the
// descriptors may be shared by several instances.
type Instance struct {
	id       uint32
	dev      *Device
	queues   []*Queue
	heads    []int
	labels   []Label
	notifies []Notify
	args     uint64
	iter     uint32

	caller *Queue   // the queue whose ModelExecute runs
	queued []*Queue // further executes, first come first served
	startT int64
	fault  *Fault
	ran    []bool // queues that were active in this execution
}

// Program is what an instance executes.
type Program struct {
	Queues   [][]Desc
	Heads    []int // queues that start with the execution; the others are activated
	Labels   []Label
	Notifies int
}

// Label is a position in a queue of a program.
type Label struct {
	Queue int
	Pos   uint64
}

// Assemble turns tasks into the descriptors of one sunk queue.
func Assemble(tasks []Task) []Desc {
	d := make([]Desc, len(tasks))
	for i := range tasks {
		tasks[i].put(&d[i], 0, uint16(i%65535), 0, 0)
	}
	return d
}

// NewInstance binds a program to a device. The argument addresses of its descriptors are relative to args. streams
// numbers its queues in the trace. Call it from Port.Call or before anything runs.
func (m *Machine) NewInstance(dev *Device, space *Space, p *Program, args uint64, prio uint8, streams []uint32) (*Instance, error) {
	if len(m.queues)+len(p.Queues) > noQueue {
		return nil, ErrNoQueue
	}
	in := &Instance{
		id: uint32(len(m.instances)), dev: dev, heads: p.Heads, labels: p.Labels,
		notifies: make([]Notify, p.Notifies), args: args, ran: make([]bool, len(p.Queues)),
	}
	for i := range in.notifies {
		in.notifies[i].id = uint32(i)
	}
	for i, ring := range p.Queues {
		q := &Queue{
			id: uint16(len(m.queues)), dev: dev, space: space, prio: min(prio, 7), ring: ring, mask: ^uint64(0), room: uint64(len(ring)),
			instance: in, name: streams[i], known: uint64(len(ring)), state: qOff, minWait: ^uint64(0), domain: &Domain{}, stepAt: never,
		}
		m.queues = append(m.queues, q)
		in.queues = append(in.queues, q)
	}
	m.instances = append(m.instances, in)
	return in, nil
}

// ID is the operand of ModelExecute.
func (in *Instance) ID() uint64 { return uint64(in.id) }

// execute starts an instance for the ModelExecute at the head of q, or queues behind the execution that runs.
func (m *Machine) execute(q *Queue, in *Instance) {
	m.hold(q, 0)
	if in.caller != nil {
		in.queued = append(in.queued, q)
		return
	}
	m.startModel(q, in)
}

func (m *Machine) startModel(q *Queue, in *Instance) {
	q.startT = m.now
	in.caller, in.startT, in.fault = q, m.now, nil
	clear(in.ran)
	for _, h := range in.heads {
		m.activate(in.queues[h])
	}
}

// activate starts a sunk queue at its first descriptor. A queue that runs again in the same execution is the next
// turn of a loop.
func (m *Machine) activate(q *Queue) {
	in := q.instance
	i := int(q.id - in.queues[0].id)
	if in.ran[i] {
		in.iter++
	}
	in.ran[i] = true
	q.cur = 0
	m.stepLater(q, m.now+gap)
}

// jump retires the head of q and goes on at a label.
func (m *Machine) jump(q *Queue, label uint64) {
	m.retire(q, m.now)
	q.cur = q.instance.labels[label].Pos
	m.fetch(q, m.now+gap)
}

// endModel retires the execution that q's program belongs to, and starts the next one that waits.
func (m *Machine) endModel(q *Queue) {
	in := q.instance
	m.retire(q, m.now)
	q.state = qOff
	c := in.caller
	in.caller = nil
	if in.fault != nil {
		c.pending, c.code = in.fault, in.fault.Code // its report was that of the failing task
	}
	m.settle(c, m.now)
	in.iter++
	m.nextModel(in)
}

// nextModel starts the execution that waits for the instance, if any.
func (m *Machine) nextModel(in *Instance) {
	if len(in.queued) > 0 {
		next := in.queued[0]
		in.queued = append(in.queued[:0], in.queued[1:]...)
		m.startModel(next, in)
	}
}

// record writes the trace row of q's head descriptor.
func (m *Machine) record(q *Queue, end int64) {
	if m.cfg.Recorder == nil {
		return
	}
	if len(m.rows) == cap(m.rows) {
		m.flush()
	}
	m.rows = m.rows[:len(m.rows)+1]
	d := q.desc()
	r := &m.rows[len(m.rows)-1]
	*r = trace.Task{
		Submit: d.arrival(), Ready: q.startT, Start: q.startT, End: end,
		Name: d.name(), Stream: q.name, Task: uint32(q.flip)<<16 | uint32(q.taskID),
		Blocks: q.blocks, Code: q.code,
		Device: uint16(q.dev.id), Thread: d.thread(), Kind: d.kind(), Dir: d.dir(),
	}
	if in := q.instance; in != nil {
		r.Submit, r.Model, r.Iter, r.Task = in.startT, in.id+1, in.iter, uint32(q.cur)
	}
	if f := q.fn; f != nil {
		r.Op, r.Bytes, r.Acct = f.Op, f.Bytes, f.Account
		if r.Name == 0 {
			r.Name = f.Name
		}
	}
	switch {
	case q.blocks > 0:
		r.Engine = trace.Engine(q.engine)
		r.Ready = q.readyT
	case q.waited:
		r.Ready = q.readyT
	}
	if d.kind() == trace.HostFunc {
		r.Engine = trace.EngineHost
	}
	switch d.kind() {
	case trace.EventRecord, trace.EventWait:
		r.Event, r.Gen = uint32(d[5])+1, uint32(d[6])
	case trace.EventReset:
		r.Event = uint32(d[5]) + 1
	case trace.NotifyRecord, trace.NotifyWait:
		r.Event = uint32(d[5]) + 1
	case trace.Memcpy, trace.Memset:
		r.Bytes = int64(d[7])
	case trace.ModelExecute:
		r.Model, r.Iter = uint32(d[5])+1, m.instances[d[5]].iter
	}
}

// flush hands the rows to the sink.
func (m *Machine) flush() {
	if len(m.rows) > 0 && m.cfg.Recorder != nil {
		m.cfg.Recorder.Tasks(m.rows)
		m.rows = m.rows[:0]
	}
}
