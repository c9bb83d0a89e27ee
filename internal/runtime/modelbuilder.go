package runtime

import (
	"errors"
	"fmt"

	"npu/internal/sim"
	"npu/internal/trace"
)

// ModelBuilder collects the tasks of a model in its own streams, without any of the program's: what a loader of
// compiled models does. Errors are kept and reported by Build.
type ModelBuilder struct {
	th      *Thread
	m       *Model
	placed  int
	labels  int
	problem error
}

// SunkStream is a stream of a model under construction.
type SunkStream struct {
	b *ModelBuilder
	l *lane
}

// SunkLabel is a position in a sunk stream that Goto and SwitchByIndex jump to (aclrtLabel).
type SunkLabel struct{ l *Label }

// BuildModel begins a sunk model of the current context.
func (th *Thread) BuildModel() (*ModelBuilder, error) {
	ctx, err := th.context(callLoadModel)
	if err != nil {
		return nil, err
	}
	return &ModelBuilder{th: th, m: newModel(ctx)}, nil
}

// Stream adds a stream; a head stream starts with the execution, another one when it is activated.
func (b *ModelBuilder) Stream(head bool) *SunkStream { return &SunkStream{b, b.m.lane(nil, "", head)} }

func (s *SunkStream) add(t sim.Task) { s.l.add(node{task: t}) }

// Launch adds a kernel launch and returns its number for SetArg.
func (s *SunkStream) Launch(k *Kernel, args []uint64) int {
	n := len(s.b.m.launches)
	s.l.add(node{task: sim.Task{Kind: k.kind, Func: k.id}, args: args, replace: true, launch: n + 1})
	s.b.m.launches = append(s.b.m.launches, nil)
	return n
}

// Copy adds a copy within the device, named for the trace. It returns its number, as Launch does.
func (s *SunkStream) Copy(name string, dst, src Ptr, n int64) int {
	t := copyTask(dst, src, n, trace.DeviceToDevice)
	if err := s.b.th.port.Call(func() { t.Name = s.b.th.rt.strings.Intern(name) }); err != nil {
		s.b.keep(err)
	}
	i := len(s.b.m.launches)
	s.l.add(node{task: t, launch: i + 1})
	s.b.m.launches = append(s.b.m.launches, nil)
	return i
}

// WriteValue stores a 64-bit word; AddValue adds to it.
func (s *SunkStream) WriteValue(p Ptr, v uint64) {
	s.add(sim.Task{Kind: trace.ValueWrite, A: uint64(p), B: v})
}

// AddValue adds to a 64-bit word.
func (s *SunkStream) AddValue(p Ptr, v uint64) {
	s.add(sim.Task{Kind: trace.ValueWrite, Flags: sim.FlagAdd, A: uint64(p), B: v})
}

// Label makes a label; Place puts it.
func (b *ModelBuilder) Label() SunkLabel {
	b.labels++
	return SunkLabel{&Label{}}
}

// Place puts a label at the stream's present end (aclrtSetLabel).
func (s *SunkStream) Place(l SunkLabel) {
	if l.l.lane != nil {
		s.b.keep(fmt.Errorf("a label is placed twice"))
		return
	}
	s.b.placed++
	*l.l = Label{lane: s.l, pos: len(s.l.nodes)}
}

// Goto jumps to a label of this stream.
func (s *SunkStream) Goto(l SunkLabel) {
	s.l.add(node{task: sim.Task{Kind: trace.LabelGoto}, labels: []*Label{l.l}})
}

// SwitchByIndex jumps to the label that the int32 at p numbers; beyond the list, to the last
// (aclrtSwitchLabelByIndex).
func (s *SunkStream) SwitchByIndex(p Ptr, labels ...SunkLabel) {
	n := node{task: sim.Task{Kind: trace.LabelSwitch, A: uint64(p)}}
	for _, l := range labels {
		n.labels = append(n.labels, l.l)
	}
	s.l.add(n)
}

// Switch compares two 64-bit words; if cond holds, target starts and this stream stops here, else it goes on
// (aclrtSwitchStream).
func (s *SunkStream) Switch(left Ptr, cond sim.Condition, right Ptr, target *SunkStream) {
	s.l.add(node{task: sim.Task{Kind: trace.StreamSwitch, A: uint64(left), B: uint64(right), C: uint64(cond)<<32 | 1<<40}, to: target.l})
}

// Active starts target from its first task (aclrtActiveStream).
func (s *SunkStream) Active(target *SunkStream) {
	s.l.add(node{task: sim.Task{Kind: trace.StreamActive}, to: target.l})
}

// Notify makes a flag between streams of this model.
func (b *ModelBuilder) Notify() int { return b.m.notify() }

// Record sets a notify of the model, Wait waits for it and clears it.
func (s *SunkStream) Record(n int) { s.add(sim.Task{Kind: trace.NotifyRecord, A: uint64(n)}) }

// Wait is described with Record.
func (s *SunkStream) Wait(n int) { s.add(sim.Task{Kind: trace.NotifyWait, A: uint64(n)}) }

// End ends the execution; once per model (aclmdlRIEndTask).
func (s *SunkStream) End() {
	if s.b.m.ended {
		s.b.keep(fmt.Errorf("a model ends twice"))
	}
	s.b.m.ended = true
	s.add(sim.Task{Kind: trace.ModelEnd})
}

func (b *ModelBuilder) keep(err error) {
	if b.problem == nil {
		b.problem = err
	}
}

// Build writes the descriptors and argument blocks to the device. name is the model's in the trace.
func (b *ModelBuilder) Build(name string) (m *Model, err error) {
	th := b.th
	t := th.begin(callLoadModel)
	defer func() { th.end(callLoadModel, t, err) }()
	if b.placed < b.labels {
		b.keep(fmt.Errorf("%d labels have no place", b.labels-b.placed))
	}
	if !b.m.ended {
		b.keep(fmt.Errorf("the model has no end"))
	}
	if b.problem != nil {
		return nil, th.fail(InvalidParam, callLoadModel.name, b.problem.Error(), "")
	}
	b.m.name = name
	if err := b.m.finish(th, callLoadModel); err != nil {
		return nil, errors.Join(err, th.dropModel(b.m))
	}
	for _, l := range b.m.lanes {
		for i := range l.nodes {
			if n := &l.nodes[i]; n.launch > 0 {
				n.lane, n.index = l, i
				b.m.launches[n.launch-1] = n
			}
		}
	}
	return b.m, nil
}
