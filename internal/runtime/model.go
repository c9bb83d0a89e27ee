package runtime

import (
	"encoding/binary"
	"fmt"

	"npu/internal/sim"
	"npu/internal/trace"
)

// ModelBuilder collects the tasks of a sunk model: streams whose descriptors are written once and executed by the
// device on one ExecuteModel (aclmdlRIBuildBegin … BuildEnd). Errors are kept and reported by Build.
type ModelBuilder struct {
	th      *Thread
	ctx     *Context
	queues  [][]sim.Task
	heads   []int
	labels  []sim.Label
	placed  []bool
	notify  int
	args    []byte
	argOff  []int // offset of each launch's argument block
	ended   bool
	problem error
}

// SunkStream is a stream of a model under construction.
type SunkStream struct {
	b *ModelBuilder
	i int
}

// SunkLabel is a position in a sunk stream that Goto and SwitchByIndex jump to (aclrtLabel).
type SunkLabel struct{ i int }

// BuildModel begins a sunk model of the current context.
func (th *Thread) BuildModel() (*ModelBuilder, error) {
	ctx, err := th.context(callLoadModel)
	if err != nil {
		return nil, err
	}
	return &ModelBuilder{th: th, ctx: ctx}, nil
}

// Stream adds a stream; a head stream starts with the execution, another one when it is activated
// (aclmdlRIBindStream).
func (b *ModelBuilder) Stream(head bool) *SunkStream {
	s := &SunkStream{b, len(b.queues)}
	b.queues = append(b.queues, nil)
	if head {
		b.heads = append(b.heads, s.i)
	}
	return s
}

func (s *SunkStream) add(t sim.Task) { s.b.queues[s.i] = append(s.b.queues[s.i], t) }

// Launch adds a kernel launch and returns its number for Model.SetArgs.
func (s *SunkStream) Launch(k *Kernel, args []uint64) int {
	off := len(s.b.args)
	for _, a := range args {
		s.b.args = binary.LittleEndian.AppendUint64(s.b.args, a)
	}
	s.add(sim.Task{Kind: k.kind, Func: k.id, Args: uint64(off)})
	s.b.argOff = append(s.b.argOff, off)
	return len(s.b.argOff) - 1
}

// Copy adds a copy within the device, named for the trace.
func (s *SunkStream) Copy(name string, dst, src Ptr, n int64) {
	t := copyTask(dst, src, n, trace.DeviceToDevice)
	if err := s.b.th.port.Call(func() { t.Name = s.b.th.rt.strings.Intern(name) }); err != nil {
		s.b.keep(err)
	}
	s.add(t)
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
	b.labels = append(b.labels, sim.Label{})
	b.placed = append(b.placed, false)
	return SunkLabel{len(b.labels) - 1}
}

// Place puts a label at the stream's present end (aclrtSetLabel).
func (s *SunkStream) Place(l SunkLabel) {
	if s.b.placed[l.i] {
		s.b.keep(fmt.Errorf("label %d is placed twice", l.i))
	}
	s.b.placed[l.i] = true
	s.b.labels[l.i] = sim.Label{Queue: s.i, Pos: uint64(len(s.b.queues[s.i]))}
}

// Goto jumps to a label of this stream.
func (s *SunkStream) Goto(l SunkLabel) { s.add(sim.Task{Kind: trace.LabelGoto, A: uint64(l.i)}) }

// SwitchByIndex jumps to the label that the int32 at p numbers; beyond the list, to the last
// (aclrtSwitchLabelByIndex). The labels must have been made one after the other.
func (s *SunkStream) SwitchByIndex(p Ptr, labels ...SunkLabel) {
	for i, l := range labels {
		if l.i != labels[0].i+i {
			s.b.keep(fmt.Errorf("labels of a switch are not consecutive"))
		}
	}
	s.add(sim.Task{Kind: trace.LabelSwitch, A: uint64(p), B: uint64(labels[0].i), C: uint64(len(labels))})
}

// Switch compares two 64-bit words; if cond holds, target starts and this stream stops here, else it goes on
// (aclrtSwitchStream).
func (s *SunkStream) Switch(left Ptr, cond sim.Condition, right Ptr, target *SunkStream) {
	s.add(sim.Task{Kind: trace.StreamSwitch, A: uint64(left), B: uint64(right), C: uint64(target.i) | uint64(cond)<<32 | 1<<40})
}

// Active starts target from its first task (aclrtActiveStream).
func (s *SunkStream) Active(target *SunkStream) {
	s.add(sim.Task{Kind: trace.StreamActive, A: uint64(target.i)})
}

// Notify makes a flag between streams of this model.
func (b *ModelBuilder) Notify() int {
	b.notify++
	return b.notify - 1
}

// Record sets a notify of the model, Wait waits for it and clears it.
func (s *SunkStream) Record(n int) { s.add(sim.Task{Kind: trace.NotifyRecord, A: uint64(n)}) }

// Wait is described with Record.
func (s *SunkStream) Wait(n int) { s.add(sim.Task{Kind: trace.NotifyWait, A: uint64(n)}) }

// End ends the execution; once per model (aclmdlRIEndTask).
func (s *SunkStream) End() {
	if s.b.ended {
		s.b.keep(fmt.Errorf("a model ends twice"))
	}
	s.b.ended = true
	s.add(sim.Task{Kind: trace.ModelEnd})
}

func (b *ModelBuilder) keep(err error) {
	if b.problem == nil {
		b.problem = err
	}
}

// Model is a sunk model, ready for execution (aclmdlRI).
type Model struct {
	dev    *Device
	inst   *sim.Instance
	args   Ptr
	argOff []int
	nargs  int64
}

// Build writes the descriptors and argument blocks to the device (aclmdlRIBuildEnd). name is the model's in the trace.
func (b *ModelBuilder) Build(name string) (m *Model, err error) {
	th := b.th
	t := th.begin(callLoadModel)
	defer func() { th.end(callLoadModel, t, err) }()
	for i, ok := range b.placed {
		if !ok {
			b.keep(fmt.Errorf("label %d has no place", i))
		}
	}
	if !b.ended {
		b.keep(fmt.Errorf("the model has no end"))
	}
	if b.problem != nil {
		return nil, th.fail(InvalidParam, callLoadModel.name, b.problem.Error(), "")
	}
	m = &Model{dev: b.ctx.dev, argOff: b.argOff, nargs: int64(len(b.args))}
	if len(b.args) > 0 {
		if m.args, err = th.Malloc(int64(len(b.args))); err != nil {
			return nil, err
		}
		if err = th.Upload(m.args, int64(len(b.args)), func(dst []byte) { copy(dst, b.args) }); err != nil {
			return nil, err
		}
	}
	p := &sim.Program{Heads: b.heads, Labels: b.labels, Notifies: b.notify}
	for _, q := range b.queues {
		p.Queues = append(p.Queues, sim.Assemble(q))
	}
	var failed error
	err = th.port.Call(func() {
		d := b.ctx.dev
		ids := make([]uint32, len(b.queues))
		for i := range ids {
			id := d.streamID()
			ids[i] = id
			d.rt.strings.NameStream(uint16(d.hw.ID()), id, fmt.Sprintf("%s stream %d", name, i), 0)
		}
		m.inst, failed = d.rt.machine.NewInstance(d.hw, b.ctx.pages.space, p, uint64(m.args), 0, ids)
	})
	if err == nil && failed != nil {
		return nil, th.fail(NoStream, callLoadModel.name, failed.Error(), "EE1023")
	}
	return m, th.blocked(callLoadModel.name, nil, err)
}

// ExecuteModel puts one execution of the model into the stream; the device does the rest (aclmdlRIExecuteAsync).
func (th *Thread) ExecuteModel(m *Model, s *Stream) error {
	s, err := th.use(s, callExecute)
	if err != nil {
		return err
	}
	return th.submit(s, &sim.Task{Kind: trace.ModelExecute, A: m.inst.ID()}, nil, callExecute)
}

// SetArg changes one argument word of a launch of the sunk model, on the device; the model must not be executing.
func (th *Thread) SetArg(m *Model, launch, word int, v uint64) error {
	off := Ptr(m.argOff[launch] + 8*word)
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return th.MemcpyFromHost(m.args+off, b[:])
}

// ArgBytes is the size of the model's argument blocks.
func (m *Model) ArgBytes() int64 { return m.nargs }
