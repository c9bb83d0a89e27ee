package sim

import "fmt"

// Instance is a sunk program on a device: queues whose descriptors were written once and are executed by one
// ModelExecute each time. Ring heads, notifies, bindings and the base of the argument blocks are the instance's own; the
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
	turns    int // of conditional loops, in this execution
	gone     bool

	caller *Queue   // the queue whose ModelExecute runs
	queued []*Queue // further executes, first come first served
	startT int64
	fault  *Fault
	ran    []bool // queues that were active in this execution, or turn of a loop
	active int    // queues that are, now
	bound  []Binding
	next   map[uint64][]Binding // of executions to come, by the number in their ModelExecute
	ended  uint64               // executions that have ended, or never will begin
	idle   Cond                 // signalled when one has ended
	replay replay
}

// Binding ties an external record or wait of one execution to a record of an event.
type Binding struct {
	Event *Event
	Gen   uint64
}

// Program is what an instance executes.
type Program struct {
	Queues   [][]Desc
	Heads    []int // queues that start with the execution; the others are activated
	Labels   []Label
	Notifies int
	// Priorities of the queues; nil: that of the instance.
	Priorities []uint8
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
	if len(m.queues)+len(p.Queues) > noQueue+max(0, len(m.freeQueues)-restingQueues) {
		return nil, ErrNoQueue
	}
	in := &Instance{
		dev: dev, heads: p.Heads, labels: p.Labels,
		notifies: make([]Notify, p.Notifies), args: args, ran: make([]bool, len(p.Queues)), next: map[uint64][]Binding{},
	}
	for i := range in.notifies {
		in.notifies[i].id = uint32(i)
	}
	for i, ring := range p.Queues {
		q := &Queue{
			id: uint16(len(m.queues)), dev: dev, space: space, prio: min(prio, 7), ring: ring, mask: ^uint64(0), room: uint64(len(ring)),
			instance: in, lane: i, name: streams[i], known: uint64(len(ring)), state: qOff, minWait: ^uint64(0), domain: &Domain{}, stepAt: never,
		}
		if p.Priorities != nil {
			q.prio = min(p.Priorities[i], 7)
		}
		if len(m.freeQueues) > restingQueues {
			q.id = m.freeQueues[0]
			m.freeQueues = m.freeQueues[1:]
			m.queues[q.id] = q
		} else {
			m.queues = append(m.queues, q)
		}
		in.queues = append(in.queues, q)
	}
	if n := len(m.freeInstances); n > 0 {
		in.id = m.freeInstances[n-1]
		m.freeInstances = m.freeInstances[:n-1]
		m.instances[in.id] = in
		return in, nil
	}
	in.id = uint32(len(m.instances))
	m.instances = append(m.instances, in)
	return in, nil
}

// DropInstance ends what runs of an instance and gives its queues back. Call it from Port.Call.
func (m *Machine) DropInstance(in *Instance) {
	if in.gone {
		return
	}
	in.gone = true
	in.queued = nil
	m.halt(in)
	for _, q := range in.queues {
		m.DropQueue(q)
	}
	m.instances[in.id] = nil
	m.freeInstances = append(m.freeInstances, in.id)
}

// ID is the operand of ModelExecute.
func (in *Instance) ID() uint64 { return uint64(in.id) }

// Idle says whether nothing of the instance runs and all of so many executions have ended or were dropped. Call it from
// Port.Call.
func (in *Instance) Idle(executions uint64) bool {
	return in.caller == nil && in.active == 0 && len(in.queued) == 0 && in.ended >= executions
}

// Ended is signalled when an execution has ended.
func (in *Instance) Ended() *Cond { return &in.idle }

// Bind keeps the bindings of the execution whose ModelExecute carries that number. Call it from Port.Call.
func (in *Instance) Bind(number uint64, b []Binding) { in.next[number] = b }

// AbortInstance ends the execution that runs; the task that started it fails with the code of an aborted model. Call it
// from Port.Call.
func (m *Machine) AbortInstance(in *Instance) {
	c := in.caller
	if c == nil {
		m.halt(in)
		return
	}
	m.fail(c, &Fault{Code: CodeAborted, Detail: "the model was aborted"})
	m.abortModel(in)
	m.faulted(c, m.now)
}

// execute starts an instance for the ModelExecute at the head of q, or queues behind the execution that runs.
func (m *Machine) execute(q *Queue, in *Instance) {
	m.hold(q, 0)
	switch {
	case in == nil:
		m.fail(q, &Fault{Code: CodeScheduler, Detail: "the model is destroyed"})
		m.faulted(q, m.now)
	case in.caller != nil || in.active > 0:
		in.queued = append(in.queued, q)
	default:
		m.startModel(q, in)
	}
}

func (m *Machine) startModel(q *Queue, in *Instance) {
	q.startT = m.now
	in.caller, in.startT, in.fault, in.turns = q, m.now, nil, 0
	if n := q.desc()[6]; n != 0 {
		in.bound = in.next[n]
		delete(in.next, n)
	}
	if m.shift(q, in) {
		return
	}
	m.learn(in)
	clear(in.ran)
	for _, h := range in.heads {
		m.activate(in.queues[h])
	}
}

// activate starts a sunk queue at its first descriptor. A queue that runs again in the same turn of a loop begins the next
// one.
func (m *Machine) activate(q *Queue) {
	in := q.instance
	if in.ran[q.lane] {
		in.iter++
		clear(in.ran)
	}
	in.ran[q.lane] = true
	in.active++
	q.cur = 0
	m.stepLater(q, m.now+gap)
}

// start is activate for a task of the queue by; a queue that runs already is a fault of that task.
func (m *Machine) start(by *Queue, lane uint64) {
	q := by.instance.queues[lane]
	if q.state != qOff {
		m.fail(by, &Fault{Code: CodeScheduler, Detail: "the stream to activate is running"})
		return
	}
	m.activate(q)
}

// off ends the activity of a sunk queue; with the last one of an execution that has ended, the next one starts.
func (m *Machine) off(q *Queue) {
	q.state = qOff
	in := q.instance
	if in.active--; in.active == 0 && in.caller == nil {
		m.nextModel(in)
	}
}

// jump retires the head of q and goes on at a label. It says whether it could.
func (m *Machine) jump(q *Queue, label uint64) bool {
	l := q.instance.labels[label]
	if l.Queue == q.lane && l.Pos <= q.cur && m.looped(q) {
		return false
	}
	return m.goOn(q, l.Queue, l.Pos)
}

// goOn retires the head of q and goes on at a place of a queue of the same program: another ring of the same stream ends
// the activity of this one. A ring that runs already is a fault, and nothing happens.
func (m *Machine) goOn(q *Queue, lane int, pos uint64) bool {
	to := q.instance.queues[lane]
	if to != q && to.state != qOff {
		m.fail(q, &Fault{Code: CodeScheduler, Detail: "the ring to go on in is running"})
		return false
	}
	m.retire(q, m.now)
	if to != q {
		q.state = qOff
		q.instance.ran[lane] = true
	}
	to.cur = pos
	m.fetch(to, m.now+gap)
	return true
}

// looped counts a turn of a loop that the head of q closes; after too many the task fails.
func (m *Machine) looped(q *Queue) bool {
	if !m.cfg.AllLoops {
		return false
	}
	if q.instance.turns++; q.instance.turns <= m.cfg.LoopTurns {
		return false
	}
	m.fail(q, &Fault{Code: CodeTaskTimeout, Detail: fmt.Sprintf("a loop is not over after %d turns", m.cfg.LoopTurns)})
	return true
}

// choose starts the body that the condition word at the head of q picks; without one, q skips what follows a body.
func (m *Machine) choose(q *Queue, d *Desc) {
	word, ok := m.loadWord(q, d[5], 64)
	if !ok {
		return
	}
	n, c := int(uint32(d[7])), Choice(d[7]>>32)
	i := c.body(uint64(word), n)
	if c == ChooseLoop && i >= 0 {
		if q.instance.turns++; q.instance.turns > m.cfg.LoopTurns {
			m.fail(q, &Fault{Code: CodeTaskTimeout, Detail: fmt.Sprintf("a loop is not over after %d turns", m.cfg.LoopTurns)})
			i = -1
		}
	}
	if i >= 0 {
		m.start(q, d[6]+uint64(i))
		return
	}
	q.skip = 1
	if c == ChooseLoop {
		q.skip = 2
	}
}

// endModel retires the execution that q's program belongs to, and starts the next one that waits.
func (m *Machine) endModel(q *Queue) {
	in := q.instance
	m.retire(q, m.now)
	c := in.caller
	if c == nil { // it has ended before
		m.off(q)
		return
	}
	if in.replay.state == replayLearning {
		m.learned(in)
	}
	in.caller = nil
	if in.fault != nil {
		c.pending, c.code = in.fault, in.fault.Code // its report was that of the failing task
	}
	m.settle(c, m.now)
	in.iter++
	m.off(q)
	m.countEnd(in)
}

// countEnd counts an execution that is over.
func (m *Machine) countEnd(in *Instance) {
	if in.ended++; len(in.idle.ports) > 0 {
		m.Signal(&in.idle)
	}
}

// nextModel starts the execution that waits for the instance, if any.
func (m *Machine) nextModel(in *Instance) {
	if len(in.queued) > 0 {
		next := in.queued[0]
		in.queued = append(in.queued[:0], in.queued[1:]...)
		m.startModel(next, in)
	} else if len(in.idle.ports) > 0 {
		m.Signal(&in.idle)
	}
}

// abortModel ends an execution where it stands.
func (m *Machine) abortModel(in *Instance) {
	m.halt(in)
	in.iter++
	m.nextModel(in)
	m.countEnd(in)
}

// halt stops every queue of an instance.
func (m *Machine) halt(in *Instance) {
	in.caller = nil
	if in.replay.state == replayLearning {
		in.replay.forget()
	}
	for _, q := range in.queues {
		m.unschedule(q)
		q.state = qOff
		q.code, q.pending, q.waited, q.fn, q.blocks, q.skip = 0, nil, false, nil, 0, 0
	}
	in.active = 0
	for i := range in.notifies {
		in.notifies[i].set = false
	}
}

// external is the event and the generation that the head of a sunk queue names.
func (q *Queue) external(d *Desc) Binding {
	if b := q.instance.bound; d[6] < uint64(len(b)) {
		return b[d[6]]
	}
	return Binding{}
}
