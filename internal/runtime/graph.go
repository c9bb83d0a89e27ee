package runtime

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"npu/internal/sim"
	"npu/internal/trace"
)

// lane is a stream of a model: the tasks that become one queue of descriptors.
type lane struct {
	m       *Model
	head    bool
	stream  *Stream // that is captured, or bound; nil for those of a ModelBuilder
	label   string  // name in dumps and in the trace
	nodes   []node
	clock   []int   // by number of lane: how many of its nodes come before whatever follows here
	pending []*mark // waits that the next node begins with
	marks   []*mark
	index   int         // in the model
	turn    int         // how often it was emptied
	at      int         // queue of the program, see lower
	pos     []int       // descriptor of each node, and the end
	cuts    []int       // descriptors that begin a ring, see cascade
	rings   []int       // their queues of the program
	update  *taskUpdate // instead of all this: the stream is between TaskUpdateBegin and TaskUpdateEnd
}

// node is a task of a lane. One without a kind is only a place that waits.
type node struct {
	task    sim.Task
	args    []uint64
	argOff  int   // in the argument blocks of the model
	waits   []int // notifies to wait for before
	to      *lane // that it switches to or activates
	labels  []*Label
	cond    *conditional
	launch  int   // its number in a ModelBuilder, from 1; 0: it has none,
	lane    *lane // and where it is: node index of lane
	index   int
	replace bool // its arguments lie in a block of the model
}

// mark is a position of a lane that others wait for, with what had come before it. Each wait has a notify of its own,
// since notifies clear themselves: the second execution finds them as the first one did.
type mark struct {
	lane     *lane
	pos      int
	clock    []int
	notifies []int
}

// Label is a position that tasks of the same model jump to (aclrtLabel).
type Label struct {
	lane *lane
	pos  int
	turn int // of the lane
}

// placed says whether the label stands somewhere.
func (x *Label) placed() bool { return x.lane != nil && x.turn == x.lane.turn }

// add appends a task, behind the waits that are open.
func (l *lane) add(n node) {
	n.waits = l.settle()
	l.nodes = append(l.nodes, n)
}

// settle turns the open waits into notifies. A wait is left out if another order implies it: the lane itself comes
// after that mark already, or another one of the waits does.
func (l *lane) settle() (waits []int) {
	for i, a := range l.pending {
		implied := at(l.clock, a.lane.index) >= a.pos
		for j, b := range l.pending {
			if i != j && at(b.clock, a.lane.index) >= a.pos && (at(a.clock, b.lane.index) < b.pos || j < i) {
				implied = true
			}
		}
		if implied {
			continue
		}
		n := l.m.notify()
		a.notifies = append(a.notifies, n)
		waits = append(waits, n)
	}
	for _, a := range l.pending {
		for i, c := range a.clock {
			for len(l.clock) <= i {
				l.clock = append(l.clock, 0)
			}
			l.clock[i] = max(l.clock[i], c)
		}
	}
	l.pending = l.pending[:0]
	return waits
}

// mark notes the present end of the lane.
func (l *lane) mark() *mark {
	if len(l.pending) > 0 {
		l.add(node{})
	}
	k := &mark{lane: l, pos: len(l.nodes), clock: append([]int(nil), l.clock...)}
	for len(k.clock) <= l.index {
		k.clock = append(k.clock, 0)
	}
	k.clock[l.index] = k.pos
	l.marks = append(l.marks, k)
	return k
}

func at(clock []int, i int) int {
	if i < len(clock) {
		return clock[i]
	}
	return 0
}

// notify takes a notify of the model; bodies of conditions share those of their model.
func (m *Model) notify() int {
	r := m.root()
	r.notifies++
	return r.notifies - 1
}

func (m *Model) root() *Model {
	for m.parent != nil {
		m = m.parent
	}
	return m
}

// lane adds a stream to the model.
func (m *Model) lane(s *Stream, label string, head bool) *lane {
	l := &lane{m: m, stream: s, label: label, head: head, index: len(m.lanes)}
	m.lanes = append(m.lanes, l)
	return l
}

// lowering turns the lanes of a model, and of the bodies of its conditions, into a program.
type lowering struct {
	lanes  []*lane
	limit  int // entries of a ring
	prog   sim.Program
	more   []string // names of the rings that lanes go on in
	args   []byte
	fixups []labelFix
}

// labelFix is a label of the program whose position is known when all lanes are lowered: a label of the caller's, or
// descriptor at of a lane.
type labelFix struct {
	place int
	label *Label
	lane  *lane
	at    int
}

func (m *Model) lower() *lowering {
	w := &lowering{limit: max(64, m.dev.hw.Chip().RingDepth) - ringReserve}
	for _, l := range m.lanes {
		w.number(l)
	}
	w.bodies(m)
	w.prog.Queues = make([][]sim.Desc, len(w.lanes))
	for _, l := range w.lanes {
		p := uint8(0)
		if l.stream != nil {
			p = uint8(l.stream.priority)
		}
		w.prog.Priorities = append(w.prog.Priorities, p)
		if l.head && l.m == m {
			w.prog.Heads = append(w.prog.Heads, l.at)
		}
	}
	for _, l := range w.lanes {
		keep := map[int]bool{}
		w.cascade(l, w.tasks(l, keep), keep)
	}
	w.prog.Notifies = m.notifies
	for _, f := range w.fixups {
		x := &w.prog.Labels[f.place]
		if f.label != nil {
			f.lane, f.at = f.label.lane, f.label.lane.pos[f.label.pos]
		}
		x.Queue, x.Pos = f.lane.ring(f.at)
	}
	return w
}

func (w *lowering) number(l *lane) {
	l.at = len(w.lanes)
	w.lanes = append(w.lanes, l)
}

// bodies numbers the lanes of conditional bodies: the first lanes of one condition's bodies one after the other.
func (w *lowering) bodies(m *Model) {
	for _, l := range m.lanes {
		for i := range l.nodes {
			c := l.nodes[i].cond
			if c == nil {
				continue
			}
			for _, b := range c.bodies {
				w.number(b.lanes[0])
			}
			for _, b := range c.bodies {
				for _, x := range b.lanes[1:] {
					w.number(x)
				}
				w.bodies(b)
			}
		}
	}
}

// tasks are the descriptors of a lane. Records come where the lane was marked, once for each wait. keep is told of those
// that belong to the one before.
func (w *lowering) tasks(l *lane, keep map[int]bool) []sim.Task {
	var out []sim.Task
	body := l.m.parent != nil && l.index == 0
	if body {
		for _, x := range l.m.lanes[1:] {
			out = append(out, sim.Task{Kind: trace.StreamActive, A: uint64(x.at)})
		}
	}
	if l.m.parent == nil && l.index == 0 {
		out = append(out, l.m.initial...)
	}
	records := make([][]int, len(l.nodes)+1)
	for _, k := range l.marks {
		records[k.pos] = append(records[k.pos], k.notifies...)
	}
	l.pos = l.pos[:0]
	for i := 0; ; i++ {
		for _, n := range records[i] {
			out = append(out, sim.Task{Kind: trace.NotifyRecord, A: uint64(n)})
		}
		if i == len(l.nodes) {
			break
		}
		n := &l.nodes[i]
		for _, x := range n.waits {
			out = append(out, sim.Task{Kind: trace.NotifyWait, A: uint64(x)})
		}
		l.pos = append(l.pos, len(out))
		if n.task.Kind != trace.KindNone {
			out = w.task(out, l, n)
		}
		if n.cond != nil {
			for k := l.pos[i] + 1; k < len(out); k++ {
				keep[k] = true
			}
		}
	}
	l.pos = append(l.pos, len(out))
	if body {
		out = append(out, sim.Task{Kind: trace.NotifyRecord, A: uint64(l.m.done)})
	}
	if len(out) == l.pos[len(l.nodes)] && len(l.nodes) == 0 || len(out) == 0 {
		out = append(out, sim.Task{Kind: trace.Nop}) // a label at the end, or an empty lane, has something to run
	}
	return out
}

// task is the descriptors of one node.
func (w *lowering) task(out []sim.Task, l *lane, n *node) []sim.Task {
	t := n.task
	switch {
	case n.cond != nil:
		c := n.cond
		t.Flags |= sim.FlagCondition
		t.A, t.B, t.C = uint64(c.handle.word), uint64(c.bodies[0].lanes[0].at), uint64(len(c.bodies))|uint64(c.kind)<<32
		at := len(out)
		out = append(out, t, sim.Task{Kind: trace.NotifyWait, A: uint64(c.done)})
		if c.kind == While {
			out = append(out, sim.Task{Kind: trace.LabelGoto, A: uint64(len(w.prog.Labels))})
			w.fixups = append(w.fixups, labelFix{place: len(w.prog.Labels), lane: l, at: at})
			w.prog.Labels = append(w.prog.Labels, sim.Label{})
		}
		return out
	case t.Kind == trace.StreamSwitch:
		t.C |= uint64(n.to.at)
	case t.Kind == trace.StreamActive:
		t.A = uint64(n.to.at)
	case len(n.labels) > 0:
		first := len(w.prog.Labels)
		for i, x := range n.labels {
			w.fixups = append(w.fixups, labelFix{place: first + i, label: x})
		}
		w.prog.Labels = append(w.prog.Labels, make([]sim.Label, len(n.labels))...)
		if t.Kind == trace.LabelGoto {
			t.A = uint64(first)
		} else {
			t.B, t.C = uint64(first), uint64(len(n.labels))
		}
	case t.Kind.Kernel() && n.replace:
		n.argOff = len(w.args)
		for _, a := range n.args {
			w.args = binary.LittleEndian.AppendUint64(w.args, a)
		}
		t.Args, t.Words = uint64(n.argOff), uint8(min(len(n.args), 255))
	case t.Kind.Kernel():
		t.Flags |= sim.FlagAbsolute
	}
	return append(out, t)
}

// captures are the captures that go on in the program. A mutex guards the models under construction too: a capture may
// take in streams of several threads.
type captures struct {
	n    atomic.Int32 // of list
	mu   sync.Mutex
	list []*Model
}
