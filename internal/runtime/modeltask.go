package runtime

import (
	"fmt"
	"slices"

	"npu/internal/sim"
	"npu/internal/trace"
)

// ModelTask is a task of a model that is built (aclmdlRITask).
type ModelTask struct {
	Kind trace.Kind
	m    *Model
	lane *lane
	node int
}

// ModelStreams is how many streams a model has, those of the bodies of its conditions not counted (aclmdlRIGetStreams).
func (th *Thread) ModelStreams(m *Model) (int, error) {
	if m == nil || m.destroyed.Load() {
		return 0, th.fail(InvalidHandle, "aclmdlRIGetStreams", "the model is destroyed", "")
	}
	return len(m.lanes), nil
}

// ModelTasks are the tasks of a stream of the model, in order; waits and records between its streams are none of them
// (aclmdlRIGetTasksByStream).
func (th *Thread) ModelTasks(m *Model, stream int) ([]ModelTask, error) {
	n, err := th.ModelStreams(m)
	if err != nil {
		return nil, err
	}
	if stream < 0 || stream >= n {
		return nil, th.fail(InvalidParam, "aclmdlRIGetTasksByStream", fmt.Sprintf("stream %d of %d", stream, n), "")
	}
	var list []ModelTask
	l := m.lanes[stream]
	for i := range l.nodes {
		if k := l.nodes[i].task.Kind; k != trace.KindNone {
			list = append(list, ModelTask{k, m, l, i})
		}
	}
	return list, nil
}

// Args are the argument words of a kernel, as they were captured or last set (aclmdlRITaskGetParams).
func (t ModelTask) Args() []uint64 { return slices.Clone(t.lane.nodes[t.node].args) }

// SetTask replaces kernel and arguments of a kernel task for executions that are submitted from here on, in the order of
// the stream; there must be as many arguments (aclmdlRITaskSetParams, aclmdlRIUpdate).
func (th *Thread) SetTask(t ModelTask, k *Kernel, args []uint64, s *Stream) error {
	c := callUpdateEnd
	s, err := th.editable(t, s)
	if err != nil {
		return err
	}
	if err := th.kernel(k, c); err != nil {
		return err
	}
	n := &t.lane.nodes[t.node]
	if !n.replace || len(args) != len(n.args) {
		return th.fail(UpdateFailed, c.name, fmt.Sprintf("a %v with %d argument words, now %d", t.Kind, len(n.args), len(args)), "change kernels only, and give as many arguments")
	}
	g := &TaskGroup{m: t.m, lane: t.lane, nodes: []int{t.node}}
	next := node{task: sim.Task{Kind: k.kind, Func: k.id}, args: slices.Clone(args), replace: true}
	return th.patch(s, g, []node{next})
}

// DisableTask makes a kernel, copy or fill of the model do nothing from the next execution of the stream on
// (aclmdlRITaskDisable).
func (th *Thread) DisableTask(t ModelTask, s *Stream) error {
	s, err := th.editable(t, s)
	if err != nil {
		return err
	}
	if !t.Kind.Kernel() && t.Kind != trace.Memcpy && t.Kind != trace.Memset && t.Kind != trace.ValueWrite {
		return th.fail(UpdateFailed, callUpdateEnd.name, fmt.Sprintf("a %v", t.Kind), "disable kernels, copies, fills and writes only")
	}
	task := sim.Task{Kind: trace.Nop}
	err = th.port.Call(func() {
		task.Name = th.rt.strings.Intern("task update")
		queue, pos := t.lane.place(t.node)
		task.A = th.rt.machine.NewUpdate(func() { t.m.inst.Disable(queue, pos) })
	})
	if err != nil {
		return th.blocked(callUpdateEnd.name, nil, err)
	}
	return th.submit(s, &task, nil, callUpdateEnd)
}

// editable checks the task and the stream of a change.
func (th *Thread) editable(t ModelTask, s *Stream) (*Stream, error) {
	s, err := th.use(s, callUpdateEnd)
	if err != nil {
		return nil, err
	}
	if t.m == nil || t.m.destroyed.Load() || t.m.inst == nil {
		return nil, th.fail(InvalidHandle, callUpdateEnd.name, "the model of the task is not loaded", "")
	}
	if s.lane.Load() != nil {
		return nil, th.fail(StreamCaptured, callUpdateEnd.name, "the stream's tasks go to a model", "change the task on another stream")
	}
	return s, nil
}
