package runtime

import (
	"encoding/binary"
	"fmt"

	"npu/internal/sim"
	"npu/internal/trace"
)

// TaskGroup is kernels of a captured model whose arguments can be changed between executions.
type TaskGroup struct {
	m     *Model
	lane  *lane
	nodes []int
}

// taskUpdate collects the tasks that replace those of a group.
type taskUpdate struct {
	group *TaskGroup
	nodes []node
	wrong error
}

// maxUpdate is how many tasks one update changes.
const maxUpdate = 1_000_000

// TaskGroupBegin opens a group on a captured stream: the kernels up to TaskGroupEnd belong to it
// (aclmdlRICaptureTaskGrpBegin).
func (th *Thread) TaskGroupBegin(s *Stream) error {
	th.port.Spend(callTaskGroup.ns)
	l, err := th.capturing(s, callTaskGroup)
	if err != nil {
		return err
	}
	if l.m.group != nil {
		th.invalidate(l.m, callTaskGroup.name)
		return th.fail(TaskGroupState, callTaskGroup.name, "a task group is open", "end it first")
	}
	l.m.group = &TaskGroup{m: l.m, lane: l}
	return nil
}

// TaskGroupEnd closes the group that is open and returns it (aclmdlRICaptureTaskGrpEnd).
func (th *Thread) TaskGroupEnd(s *Stream) (*TaskGroup, error) {
	th.port.Spend(callTaskGroupEnd.ns)
	l, err := th.capturing(s, callTaskGroupEnd)
	if err != nil {
		return nil, err
	}
	g := l.m.group
	switch {
	case g == nil || g.lane != l:
		th.invalidate(l.m, callTaskGroupEnd.name)
		return nil, th.fail(TaskGroupState, callTaskGroupEnd.name, "no task group is open on the stream", "")
	case l.m.State() == ModelInvalidated:
		l.m.group = nil
		return nil, th.fail(CaptureInvalid, callTaskGroupEnd.name, "an illegal call has made the capture invalid", "end it")
	}
	l.m.group = nil
	return g, nil
}

// capturing is the lane of a stream that is being captured.
func (th *Thread) capturing(s *Stream, c call) (*lane, error) {
	if s == nil {
		return nil, th.fail(ACLInvalidParam, c.name, "stream is null", "")
	}
	l := s.lane.Load()
	if l == nil || l.m == nil || l.m.thread == nil {
		return nil, th.fail(NotCaptured, c.name, fmt.Sprintf("stream %d is not being captured", s.id), "")
	}
	return l, nil
}

// TaskUpdateBegin makes the stream collect the new form of the group's kernels, up to TaskUpdateEnd
// (aclmdlRICaptureTaskUpdateBegin).
func (th *Thread) TaskUpdateBegin(s *Stream, g *TaskGroup) error {
	c := callUpdateBegin
	th.port.Spend(c.ns)
	if g == nil {
		return th.fail(ACLInvalidParam, c.name, "task group is null", "")
	}
	if err := th.ownStream(s, c); err != nil {
		return err
	}
	switch {
	case g.m.destroyed.Load():
		return th.fail(InvalidHandle, c.name, "the model of the group is destroyed", "")
	case g.m.root().inst == nil:
		return th.fail(ModelCaptured, c.name, "the model of the group is not ready", "end its capture first")
	case s.lane.Load() != nil:
		return th.fail(TaskGroupState, c.name, fmt.Sprintf("stream %d is captured or updates already", s.id), "")
	}
	s.lane.Store(&lane{stream: s, update: &taskUpdate{group: g}})
	s.open.Store(nil)
	return nil
}

// sinkUpdate collects one task of an update.
func (th *Thread) sinkUpdate(l *lane, n node, c call) error {
	u := l.update
	switch {
	case !n.replace:
		u.wrong = th.fail(TaskType, c.name, fmt.Sprintf("%v in a task update", n.task.Kind), "launch the kernels of the group again, nothing else")
		return u.wrong
	case len(u.nodes) == maxUpdate:
		return th.fail(UpdateFailed, c.name, fmt.Sprintf("more than %d tasks in one update", maxUpdate), "")
	}
	u.nodes = append(u.nodes, n)
	return nil
}

// TaskUpdateEnd submits the change to the stream: it happens in stream order, in place, and counts for executions
// that begin later (aclmdlRICaptureTaskUpdateEnd).
func (th *Thread) TaskUpdateEnd(s *Stream) (err error) {
	t := th.begin(callUpdateEnd)
	defer func() { th.end(callUpdateEnd, t, err) }()
	var u *taskUpdate
	if s != nil {
		if l := s.lane.Load(); l != nil {
			u = l.update
		}
	}
	if u == nil {
		return th.fail(TaskGroupState, callUpdateEnd.name, "no update is open on the stream", "begin one with TaskUpdateBegin")
	}
	s.lane.Store(nil)
	g := u.group
	if u.wrong != nil {
		return th.fail(UpdateFailed, callUpdateEnd.name, "a task of the update was refused", "")
	}
	if len(u.nodes) != len(g.nodes) {
		return th.fail(UpdateFailed, callUpdateEnd.name, fmt.Sprintf("%d kernels, the group has %d", len(u.nodes), len(g.nodes)), "launch the same kernels again, with other arguments")
	}
	for i, n := range u.nodes {
		old := &g.lane.nodes[g.nodes[i]]
		if n.task.Kind != old.task.Kind {
			return th.fail(UpdateUnsupported, callUpdateEnd.name, fmt.Sprintf("kernel %d of the group is a %v, now a %v", i, old.task.Kind, n.task.Kind), "launch kernels of the same kind")
		}
		if len(n.args) != len(old.args) {
			return th.fail(UpdateFailed, callUpdateEnd.name, fmt.Sprintf("kernel %d has %d argument words, it had %d", i, len(n.args), len(old.args)), "give as many arguments")
		}
	}
	return th.patch(s, g, u.nodes)
}

// patch submits the task that changes the group.
func (th *Thread) patch(s *Stream, g *TaskGroup, nodes []node) error {
	m := g.m.root()
	task := sim.Task{Kind: trace.Nop}
	err := th.port.Call(func() {
		task.Name = th.rt.strings.Intern("task update")
		task.A = th.rt.machine.NewUpdate(func() {
			for i := range nodes {
				n, old := &nodes[i], &g.lane.nodes[g.nodes[i]]
				b := m.dev.hw.Bytes(uint64(m.args)+uint64(old.argOff), 8*len(n.args))
				for j, a := range n.args {
					binary.LittleEndian.PutUint64(b[8*j:], a)
				}
				queue, pos := g.lane.place(g.nodes[i])
				m.inst.Patch(queue, pos, &n.task)
			}
		})
	})
	if err != nil {
		return th.blocked(callUpdateEnd.name, nil, err)
	}
	if err := th.submit(s, &task, nil, callUpdateEnd); err != nil {
		return err
	}
	for i := range nodes { // what dumps show and later updates are compared with
		old := &g.lane.nodes[g.nodes[i]]
		old.args, old.task.Kind, old.task.Func = nodes[i].args, nodes[i].task.Kind, nodes[i].task.Func
	}
	return nil
}
