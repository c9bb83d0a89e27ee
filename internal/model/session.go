package model

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"npu/internal/model/plan"
	"npu/internal/problem"
	"npu/internal/runtime"
	"npu/internal/sim"
	"npu/internal/tensor"
)

// Mode is how a loaded model is executed.
type Mode string

// Modes: one launch per compiled task, or one sunk graph.
const (
	Eager Mode = "eager"
	Sunk  Mode = "graph"
)

// Loop is who drives the iterations.
type Loop string

// Loops: the host executes each iteration and waits for it, or the device counts.
const (
	HostLoop Loop = "host"
	SinkLoop Loop = "sink"
)

// LoadOptions is how a model is put on a device.
type LoadOptions struct {
	Mode Mode
	// SinkIterations > 0 makes one execution of the sunk model run so many iterations, counted on the device.
	SinkIterations int
	// Streams is how many streams parallel branches of a sunk model are spread over, at most; 0 leaves it to the loader.
	Streams int
	// Stream is the one that the model is executed on, if not one of its own. Where the program has registered an allocator
	// for it, the session's memory comes from that.
	Stream *runtime.Stream
	// Weights and Features are device memory of another session of the same model, loaded on as many streams: its weights
	// are shared, and so is its work memory as long as the two do not run at the same time. 0 allocates.
	Weights, Features runtime.Ptr
	// Collective is the way that communication between ranks takes.
	Collective runtime.Algorithm
}

// Session is a model on a device: weights resident, features, inputs and outputs in device memory, kernels loaded and,
// in graph mode, the steps sunk. It belongs to the Thread that loaded it.
type Session struct {
	m       *Model
	th      *runtime.Thread
	mode    Mode
	stream  *runtime.Stream
	weights runtime.Ptr
	feature runtime.Ptr
	inputs  []runtime.Ptr
	outputs []runtime.Ptr
	launch  map[*plan.Step]*launch
	streams *plan.Streams
	buffers []plan.Buffer         // with the places that this session has them at
	owned   []runtime.StreamBlock // to be freed
	lent    bool                  // stream is the caller's
	builder *runtime.ModelBuilder // until the model is written
	lanes   []*runtime.SunkStream // its streams, by lane of the plan's assignment
	head    *runtime.SunkStream
	sunk    *runtime.Model
	patches patches
	counter runtime.Ptr // iteration counter and limit of a sunk loop
	turns   int
	stepped *stepped // what cannot be compiled; nil: nothing
}

// launch is a step's kernel with its arguments.
type launch struct {
	kernel *runtime.Kernel
	args   []uint64
}

// Load puts the model on the current device of th. A model that communicates needs other ranks: see LoadWorld.
func (m *Model) Load(th *runtime.Thread, o LoadOptions) (*Session, error) {
	if c := m.Collectives(); len(c) > 0 {
		return nil, problem.Usagef("node %s (%s) communicates with other devices: run the model on several, --devices N", c[0].Name, c[0].Op)
	}
	s, err := m.prepare(th, o)
	if err == nil && o.Mode == Sunk {
		if err = s.begin(); err == nil {
			s.spread(nil)
			err = s.finish()
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// prepare is the first part of Load: memory, weights and kernels.
func (m *Model) prepare(th *runtime.Thread, o LoadOptions) (*Session, error) {
	s := &Session{m: m, th: th, mode: o.Mode, launch: map[*plan.Step]*launch{}, turns: o.SinkIterations}
	var err error
	if s.stream, s.lent = o.Stream, o.Stream != nil; !s.lent {
		if s.stream, err = th.CreateStream(runtime.StreamConfig{Name: "model", Flags: runtime.FastLaunch}); err != nil {
			return nil, err
		}
	}
	p := m.Plan
	s.streams = m.assign(th.Runtime().Chip(), o)
	s.buffers = slices.Clone(p.Buffers)
	s.weights, s.feature = o.Weights, o.Features
	for _, r := range []struct {
		to *runtime.Ptr
		n  int64
	}{{&s.weights, p.Memory.WeightBytes}, {&s.feature, p.Memory.FeatureBytes}} {
		if r.n > 0 && *r.to == 0 {
			if *r.to, err = s.malloc(r.n); err != nil {
				return nil, err
			}
		}
	}
	if s.inputs, err = s.ports(p.Inputs); err != nil {
		return nil, err
	}
	if s.outputs, err = s.ports(p.Outputs); err != nil {
		return nil, err
	}
	if o.Weights == 0 {
		if err := s.loadWeights(); err != nil {
			return nil, err
		}
	}
	s.loadStepped()
	return s, s.loadKernels(p.Steps)
}

func (s *Session) ports(list []plan.Port) ([]runtime.Ptr, error) {
	out := make([]runtime.Ptr, len(list))
	for i, p := range list {
		var err error
		if out[i], err = s.malloc(max(1, p.Bytes)); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return out, nil
}

// malloc allocates memory that Unload frees.
func (s *Session) malloc(n int64) (runtime.Ptr, error) {
	b, err := s.th.MallocFor(s.stream, n)
	if err == nil {
		s.owned = append(s.owned, b)
	}
	return b.Addr, err
}

// Memory is where the weights and the work memory of the session lie, for LoadOptions of another one.
func (s *Session) Memory() (weights, features runtime.Ptr) { return s.weights, s.feature }

// Streams is how many streams the sunk model has; 1 in eager mode.
func (s *Session) Streams() int { return len(s.streams.Lanes) }

// Unload waits for what was executed and frees the session's memory on the device. Sessions that share it must be
// unloaded before.
func (s *Session) Unload() error {
	err := s.Wait()
	if s.stepped != nil {
		err = cmp.Or(err, s.closeStepped())
	}
	if s.sunk != nil {
		err = cmp.Or(err, s.th.DestroyModel(s.sunk))
	}
	for _, p := range s.owned {
		err = cmp.Or(err, s.th.FreeFor(p))
	}
	if s.lent {
		return err
	}
	return cmp.Or(err, s.th.DestroyStream(s.stream))
}

// addr is the device address of a buffer.
func (s *Session) addr(buffer int) runtime.Ptr {
	b := &s.buffers[buffer]
	switch b.Region {
	case plan.Weights:
		return s.weights + runtime.Ptr(b.Offset)
	case plan.Input:
		return s.inputs[b.Index]
	case plan.Output:
		return s.outputs[b.Index]
	}
	return s.feature + runtime.Ptr(b.Offset)
}

// loadWeights fills the resident region in one upload: one copy on the bus, no second copy in host memory.
func (s *Session) loadWeights() error {
	p := s.m.Plan
	if p.Memory.WeightBytes == 0 {
		return nil
	}
	err := s.th.Upload(s.weights, p.Memory.WeightBytes, func(dst []byte) {
		for i := range p.Weights {
			w := &p.Weights[i]
			b := &p.Buffers[w.Buffer]
			to := dst[b.Offset : b.Offset+b.Bytes]
			if w.Pack != nil {
				w.Pack(to, w.Source.Data)
			} else {
				copy(to, w.Source.Data)
			}
		}
	})
	return err
}

func (s *Session) loadKernels(steps []plan.Step) error {
	for i := range steps {
		st := &steps[i]
		if st.Kind == plan.Launch {
			l, err := s.loadKernel(st)
			if err != nil {
				return err
			}
			s.launch[st] = l
		}
		if err := s.loadKernels(st.Then); err != nil {
			return err
		}
		if err := s.loadKernels(st.Else); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) loadKernel(st *plan.Step) (*launch, error) {
	l := &launch{}
	sizes := func(ops []plan.Operand) []int {
		n := make([]int, len(ops))
		for i, o := range ops {
			n[i] = -1
			if o.Buffer >= 0 {
				n[i] = int(o.Bytes)
				l.args = append(l.args, uint64(s.addr(o.Buffer)))
			}
		}
		return n
	}
	c := runtime.KernelConfig{Name: st.Name, Run: st.Kernel, Control: st.Control, InDesc: st.InDesc, OutDesc: st.OutDesc, Origin: st.Origin}
	c.In = sizes(st.In)
	c.Out = sizes(st.Out)
	if st.Workspace.Buffer >= 0 {
		l.args = append(l.args, uint64(s.addr(st.Workspace.Buffer)))
	}
	var err error
	if l.kernel, err = s.th.LoadKernel(c); err != nil {
		return nil, fmt.Errorf("node %s: %w", st.Name, err)
	}
	// More arguments than a launch carries: they get a block of their own, written once.
	if len(l.args) > sim.ArgWords && s.mode == Eager {
		block, err := s.malloc(int64(8 * len(l.args)))
		if err != nil {
			return nil, err
		}
		err = s.th.Upload(block, int64(8*len(l.args)), func(dst []byte) {
			for i, a := range l.args {
				binary.LittleEndian.PutUint64(dst[8*i:], a)
			}
		})
		if err != nil {
			return nil, err
		}
		l.args = []uint64{uint64(block)}
	}
	return l, nil
}

// Execute submits one execution and waits for nothing. In graph mode that is one task; in eager mode one a step, and
// at a branch the host waits and reads the condition.
//
// A stepped part follows; it waits wherever a size or a decision depends on data.
func (s *Session) Execute() error {
	if s.stepped == nil {
		return s.compiled()
	}
	if len(s.m.Plan.Steps) > 0 {
		if err := s.compiled(); err != nil {
			return err
		}
	}
	return s.step()
}

// compiled submits the compiled part.
func (s *Session) compiled() error {
	if s.mode == Sunk {
		if err := s.patches.apply(s); err != nil {
			return err
		}
		return s.th.ExecuteModel(s.sunk, s.stream)
	}
	return s.eager(s.m.Plan.Steps, nil)
}

// eager submits steps one by one. meet is called at those of communication.
func (s *Session) eager(steps []plan.Step, meet func(*plan.Step)) error {
	for i := range steps {
		x := &steps[i]
		var err error
		switch x.Kind {
		case plan.Launch:
			if l := s.launch[x]; l.kernel.Words() > sim.ArgWords {
				err = s.th.LaunchPrepared(l.kernel, runtime.Ptr(l.args[0]), s.stream)
			} else {
				err = s.th.LaunchKernel(l.kernel, l.args, s.stream)
			}
		case plan.Copy:
			err = s.th.MemcpyAsync(s.addr(x.Out[0].Buffer), s.addr(x.In[0].Buffer), x.Out[0].Bytes, s.stream)
		case plan.Communicate:
			meet(x)
		case plan.Branch:
			var word [4]byte
			if err = s.th.SynchronizeStream(s.stream); err != nil {
				break
			}
			if err = s.th.MemcpyToHost(word[:], s.addr(x.Cond.Buffer)); err != nil {
				break
			}
			if binary.LittleEndian.Uint32(word[:]) != 0 {
				err = s.eager(x.Then, meet)
			} else {
				err = s.eager(x.Else, meet)
			}
		}
		if err != nil {
			return fmt.Errorf("node %s: %w", x.Name, err)
		}
	}
	return nil
}

// Wait blocks until everything executed so far is done; it reports the first fault.
func (s *Session) Wait() error { return s.th.SynchronizeStream(s.stream) }

// SetInput copies a host tensor into an input of the model.
func (s *Session) SetInput(i int, t *tensor.Tensor) error {
	p := s.m.Plan.Inputs[i]
	if t.DType != p.DType || !t.Shape.Equal(p.Shape) {
		return problem.Usagef("input %q is %v[%v], got %v", p.Name, p.DType, p.Shape, t)
	}
	if len(t.Data) == 0 {
		return nil
	}
	return s.th.MemcpyFromHost(s.inputs[i], t.Data)
}

// SetInputFrom copies an input of the model from pinned host memory (aclrtMallocHost): once, where pageable memory is
// copied twice. from holds as many bytes as the input.
func (s *Session) SetInputFrom(i int, from runtime.HostMem) error {
	if p := s.m.Plan.Inputs[i]; int64(len(from.Bytes)) != p.Bytes {
		return problem.Usagef("input %q is %v[%v], %d bytes, got %d", p.Name, p.DType, p.Shape, p.Bytes, len(from.Bytes))
	}
	return s.th.Memcpy(s.inputs[i], from.Addr, int64(len(from.Bytes)))
}

// ReadOutputTo copies an output of the model to pinned host memory of the output's length.
func (s *Session) ReadOutputTo(i int, to runtime.HostMem) error {
	return s.th.Memcpy(to.Addr, s.outputs[i], int64(len(to.Bytes)))
}

// Output copies an output of the model to the host.
func (s *Session) Output(i int) (*tensor.Tensor, error) {
	p := s.m.Plan.Outputs[i]
	t, err := tensor.New(p.DType, p.Shape)
	if err != nil {
		return t, err
	}
	return t, s.ReadOutput(i, t.Data)
}

// ReadOutput copies an output of the model into dst, which has the length of the output in bytes.
func (s *Session) ReadOutput(i int, dst []byte) error {
	if len(dst) == 0 {
		return nil
	}
	return s.th.MemcpyToHost(dst, s.outputs[i])
}
