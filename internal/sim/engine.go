package sim

import (
	"math/bits"

	"npu/internal/trace"
)

// engines is the number of engine kinds, indexed by trace.Engine.
const engines = int(trace.EngineAICPU) + 1

// engine is the cores or channels of one kind.
type engine struct {
	units   uint32 // how many there are
	free    uint32
	ready   [ranks]fifo
	bits    uint16 // ranks with somebody in ready
	started *Queue // policy reference: the kernel that has begun and has blocks left
}

// group is some blocks of one kernel that started together on as many cores.
type group struct {
	q *Queue
	n uint32
	e uint8
}

// Function is a loaded kernel function: what one launch costs, and what it computes.
type Function struct {
	Kind    trace.Kind
	Name    trace.StringID // of the operator it was compiled for
	Op      trace.StringID
	Blocks  uint32 // block dim when the launch does not say
	BlockNs int64  // device time of one block
	Bytes   int64  // global memory traffic of a launch
	Device  int    // whose launches are counted for it
	Account uint32

	launched, work uint64 // launches that were ready, and their blocks: see live.go; beside what a launch reads anyway

	// Control makes it compute even where only time is wanted: the flow of the program depends on it.
	Control bool
	Origin  []string // names of the operators that were fused into it
	// Operands are in the order of the argument block; nil if nobody knows.
	Operands []Operand
	// Run computes a launch's result; nil computes nothing. A fault ends the task.
	Run func(c *Call) *Fault
}

// Call is one execution of a function: where it runs and its operands.
type Call struct {
	Device *Device
	Space  *Space
	Args   uint64 // device address of the argument block
	Desc   *Desc
	Stream uint32 // of the task
}

func (f *Function) engine() trace.Engine {
	switch f.Kind {
	case trace.KernelAIVector:
		return trace.EngineVector
	case trace.KernelAICPU:
		return trace.EngineAICPU
	default:
		return trace.EngineCube
	}
}

// Load makes a function known to the devices and returns its number for descriptors. Call it from Port.Call or
// before anything runs.
func (m *Machine) Load(f *Function) uint32 {
	f.Blocks = max(1, f.Blocks)
	if f.Run != nil && m.background.runs == 0 && !m.cfg.TimingOnly && !m.cfg.Foreground {
		m.background.heavy.Store(true) // until the first one has shown how long it takes
	}
	m.functions = append(m.functions, f)
	return uint32(len(m.functions) - 1)
}

// Unload forgets a function; a launch of it afterwards is a fault.
func (m *Machine) Unload(id uint32) {
	m.retireFunction(m.functions[id])
	m.functions[id] = nil
	m.unloads++
}

func (m *Machine) function(id uint32) *Function {
	if int(id) < len(m.functions) {
		return m.functions[id]
	}
	return nil
}

// fifo is a queue of queues that keeps its buffer.
type fifo struct {
	buf        []*Queue
	head, tail uint32
}

func (f *fifo) push(q *Queue) {
	if int(f.tail-f.head) == len(f.buf) {
		b := make([]*Queue, max(16, 2*len(f.buf)))
		for i := f.head; i != f.tail; i++ {
			b[i&uint32(len(b)-1)] = f.buf[i&uint32(len(f.buf)-1)]
		}
		f.buf = b
	}
	f.buf[f.tail&uint32(len(f.buf)-1)] = q
	f.tail++
}

func (f *fifo) peek() *Queue { return f.buf[f.head&uint32(len(f.buf)-1)] }

// remove takes q out, wherever it stands.
func (f *fifo) remove(q *Queue) {
	mask := uint32(len(f.buf) - 1)
	for i := f.head; i != f.tail; i++ {
		if f.buf[i&mask] == q {
			for j := i; j != f.head; j-- {
				f.buf[j&mask] = f.buf[(j-1)&mask]
			}
			f.head++
			return
		}
	}
}

// ready lets q's head wait for an engine.
func (m *Machine) ready(q *Queue, e trace.Engine, f *Function, blocks uint32, ns int64) {
	q.readyT = m.now
	q.fn, q.engine, q.blocks, q.left, q.inflight, q.blockNs = f, uint8(e), blocks, blocks, 0, max(1, ns)
	q.state = qReady
	en := &q.dev.engines[e]
	en.ready[q.prio].push(q)
	en.bits |= 1 << q.prio
	q.dev.dirty = true
	m.dirty = true
}

// dispatch gives the free engines of all devices to those who wait for them.
func (m *Machine) dispatch() {
	m.dirty = false
	for _, d := range m.devices {
		if !d.dirty {
			continue
		}
		d.dirty = false
		for e := range d.engines {
			m.dispatchEngine(d, uint8(e))
		}
	}
}

func (m *Machine) dispatchEngine(d *Device, e uint8) {
	en := &d.engines[e]
	for en.free > 0 {
		q := en.started
		if q == nil || m.cfg.Policy == Preempt {
			if en.bits == 0 {
				return
			}
			q = en.ready[bits.TrailingZeros16(en.bits)].peek()
		}
		if q.inflight == 0 && q.left == q.blocks {
			m.begin(q)
		}
		n := min(en.free, q.left)
		en.free -= n
		q.left -= n
		q.inflight += n
		en.started = q
		if q.left == 0 {
			f := &en.ready[q.prio]
			f.remove(q)
			if f.head == f.tail {
				en.bits &^= 1 << q.prio
			}
			en.started = nil
		}
		m.pending.push(item{m.now + q.blockNs, evBlocksEnd | uint64(q.id)<<32 | uint64(m.newGroup(q, n, e))})
	}
}

// begin starts the head of q. Its effect happens here, at dispatch, since its length or a fault may depend on data;
// events, completion and record come at its end.
func (m *Machine) begin(q *Queue) {
	q.startT = m.now
	q.state = qRunning
	if in := q.instance; in != nil && in.replay.state == replayLearning {
		m.noteBegin(q)
	}
	if q.fn == nil {
		m.countCopy(q)
	}
	if q.fn != nil || m.injections != nil {
		if f := m.disturbed(q); f != nil {
			m.fail(q, f)
			return
		}
	}
	if m.cfg.TimingOnly && q.fn != nil && !q.fn.Control {
		return
	}
	d := q.desc()
	var f *Fault
	switch {
	case q.fn != nil && q.fn.Run != nil:
		q.dev.call = Call{Device: q.dev, Space: q.space, Args: q.argsOf(d), Desc: d, Stream: q.name}
		f = m.compute(q.fn, &q.dev.call)
	case d.kind() == trace.Memcpy:
		f = m.copyMemory(q, d)
	case d.kind() == trace.Memset:
		f = m.setMemory(q, d)
	case d.kind() == trace.Reduce:
		f = m.reduceMemory(q, d)
	case d.kind() == trace.CacheOp:
		f = m.cacheMemory(q, d)
	}
	if f != nil {
		m.fail(q, f)
	}
}

// argsOf is the address of the argument block of a kernel.
func (q *Queue) argsOf(d *Desc) uint64 {
	if q.instance != nil && d.flags()&FlagAbsolute == 0 {
		return d[4] + q.instance.args
	}
	return d[4]
}

func (m *Machine) newGroup(q *Queue, n uint32, e uint8) uint32 {
	if l := len(m.freeGroups); l > 0 {
		g := m.freeGroups[l-1]
		m.freeGroups = m.freeGroups[:l-1]
		m.groups[g] = group{q, n, e}
		return g
	}
	m.groups = append(m.groups, group{q, n, e})
	return uint32(len(m.groups) - 1)
}

// blocksEnd frees the cores of a group; with the last one the task ends.
func (m *Machine) blocksEnd(g uint32) {
	q, n, e := m.groups[g].q, m.groups[g].n, m.groups[g].e
	m.groups[g].q = nil
	m.freeGroups = append(m.freeGroups, g)
	if q == nil {
		return // aborted: its cores are free already
	}
	en := &q.dev.engines[e]
	en.free += n
	if en.bits != 0 {
		q.dev.dirty = true
		m.dirty = true
	}
	q.inflight -= n
	if q.inflight > 0 || q.left > 0 {
		return
	}
	if len(m.valueWaits) > 0 {
		m.valueChanged() // a kernel or copy may have written a word that somebody polls
	}
	if q.code != 0 {
		m.faulted(q, m.now)
		return
	}
	m.retire(q, m.now)
	t := m.now + gap
	if q.cur < q.known && !m.dirty && t < m.bound && q.desc().arrival() <= t && (len(m.pending) == 0 || m.pending[0].t > t) {
		q.state, m.now = qQueued, t // nothing can come in between
		m.step(q)
		return
	}
	m.fetch(q, t)
}

// NameOf is the name of a loaded function, 0 if there is none. Call it from Port.Call.
func (m *Machine) NameOf(id uint32) trace.StringID {
	if f := m.function(id); f != nil {
		return f.Name
	}
	return 0
}
