package runtime

import (
	"encoding/binary"
	"fmt"

	"npu/internal/sim"
	"npu/internal/trace"
)

// ConditionKind is what a condition does with its bodies (aclmdlRICondTaskType).
type ConditionKind = sim.Choice

// Kinds of conditions.
const (
	If     = sim.ChooseIf     // one body, or one for not 0 and one for 0
	While  = sim.ChooseLoop   // one body, as long as the word is not 0
	Switch = sim.ChooseSwitch // the body that the word numbers
)

// Condition is a word of 64 bits on the device that kernels write and conditions read (aclmdlRICondHandle). It
// belongs to a model.
type Condition struct {
	m    *Model
	word Ptr
}

// Ptr is the address of the condition's word (aclmdlRICondGetCondPtr).
func (c *Condition) Ptr() Ptr { return c.word }

// conditional is a condition in a lane.
type conditional struct {
	handle *Condition
	kind   ConditionKind
	bodies []*Model
	done   int // notify
}

// CreateCondition makes a condition word for a model that is being captured. With assign the word takes the value
// initial at the begin of each execution; otherwise it has it once (aclmdlRICondHandleCreate).
func (th *Thread) CreateCondition(m *Model, initial uint64, assign bool) (c *Condition, err error) {
	t := th.begin(callCondition)
	defer func() { th.end(callCondition, t, err) }()
	if m == nil {
		return nil, th.fail(ACLInvalidParam, callCondition.name, "model is null", "")
	}
	if m = m.root(); m.State() != ModelActive || m.thread == nil {
		return nil, th.fail(InvalidParam, callCondition.name, "the model is not being captured", "make conditions during the capture")
	}
	c = &Condition{m: m}
	if c.word, err = th.Malloc(8); err != nil {
		return nil, err
	}
	if err = th.Upload(c.word, 8, func(b []byte) { binary.LittleEndian.PutUint64(b, initial) }); err != nil {
		return nil, err
	}
	g := &th.rt.graphs
	g.mu.Lock()
	defer g.mu.Unlock()
	m.conditions = append(m.conditions, c)
	if assign {
		m.initial = append(m.initial, sim.Task{Kind: trace.ValueWrite, A: uint64(c.word), B: initial})
	}
	return c, nil
}

// AddCondition puts a condition with n bodies into a captured stream and returns the bodies, which are then captured
// with CaptureToModel (aclmdlRIAddCondTask). The stream goes on when the body that ran has ended.
func (th *Thread) AddCondition(s *Stream, h *Condition, kind ConditionKind, n int) (bodies []*Model, err error) {
	t := th.begin(callCondTask)
	defer func() { th.end(callCondTask, t, err) }()
	l, err := th.capturing(s, callCondTask)
	if err != nil {
		return nil, err
	}
	switch {
	case h == nil || h.m != l.m.root():
		return nil, th.sinkRefuse(l, InvalidParam, callCondTask, "a condition of another model")
	case kind > Switch, n < 1, kind == If && n > 2, kind == While && n > 1:
		return nil, th.sinkRefuse(l, InvalidParam, callCondTask, fmt.Sprintf("kind %d with %d bodies", kind, n))
	case l.m.group != nil:
		return nil, th.sinkRefuse(l, TaskType, callCondTask, "a condition inside a task group")
	}
	g := &th.rt.graphs
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &conditional{handle: h, kind: kind, done: l.m.notify()}
	for i := range n {
		b := newModel(l.m.ctx)
		b.parent, b.done = l.m, c.done
		b.name = fmt.Sprintf("body %d", i)
		c.bodies = append(c.bodies, b)
	}
	l.m.bodies = append(l.m.bodies, c.bodies...)
	l.add(node{task: sim.Task{Kind: trace.StreamSwitch}, cond: c})
	return c.bodies, nil
}
