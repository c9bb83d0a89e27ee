package program

import (
	"encoding/binary"
	"fmt"

	"npu/internal/runtime"
	"npu/internal/sim"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
	"npu/internal/trace"
)

// kernel is a loaded kernel with what a launch of it needs.
type kernel struct {
	decl   *KernelStmt
	k      *runtime.Kernel
	consts map[int]runtime.Ptr // of the inputs that are constants
	work   int64               // bytes of scratch memory
}

func (h *host) kernel(st *KernelStmt) error {
	k := &kernel{decl: st}
	var err error
	if st.Own != nil {
		k.k, err = h.ownKernel(st.Name, st.Own)
	} else {
		err = h.opKernel(k, st.Name, st.Op)
	}
	if err == nil {
		h.env[st.Name] = k
	}
	return err
}

// opKernel loads an operator and brings its constants to the device.
func (h *host) opKernel(k *kernel, name string, op *OpKernel) error {
	c := runtime.KernelConfig{Name: name, Run: op.run}
	k.consts, k.work = map[int]runtime.Ptr{}, int64(op.run.Workspace)
	c.InDesc, c.OutDesc = op.spec.In, op.spec.Out
	for i, d := range op.spec.In {
		if d.Absent() {
			c.In = append(c.In, -1)
			continue
		}
		n, err := d.Shape.Bytes(d.DType)
		if err != nil {
			return err
		}
		if d.Const != nil {
			data := packed(op.run, i, d.Const.Data)
			n = len(data)
			if k.consts[i], err = h.th.Malloc(int64(max(1, n))); err != nil {
				return err
			}
			if err := h.th.MemcpyFromHost(k.consts[i], data); err != nil {
				return err
			}
		}
		c.In = append(c.In, n)
	}
	for _, d := range op.spec.Out {
		n, err := d.Shape.Bytes(d.DType)
		if err != nil {
			return err
		}
		c.Out = append(c.Out, n)
	}
	var err error
	k.k, err = h.th.LoadKernel(c)
	return err
}

// packed is a constant in the layout that the kernel wants.
func packed(k *kernels.Kernel, input int, data []byte) []byte {
	for _, w := range k.Weights {
		if w.Input == input {
			p := make([]byte, w.Bytes)
			w.Pack(p, data)
			return p
		}
	}
	return data
}

// ownKernel makes a plain kernel. Its launches carry the address, the bytes and the type of the first argument.
func (h *host) ownKernel(name string, o *OwnKernel) (*runtime.Kernel, error) {
	blocks, err := h.value(o.Blocks, 1)
	if err != nil {
		return nil, err
	}
	ns, err := h.value(o.Time, 1000)
	if err != nil {
		return nil, err
	}
	if blocks < 1 || blocks > 1<<20 || ns < 1 || ns > maxTime {
		return nil, fmt.Errorf("%d blocks of %d ns", blocks, ns)
	}
	core := o.Core
	if core == trace.KernelAIVector && h.r.chip.VectorCores == 0 {
		core = trace.KernelAICore // one kind of core does both
	}
	if o.Fault == "hang" {
		ns = sim.Endless
	}
	return h.th.NewKernel(name, core, uint32(blocks), ns, o.body(coreException(core)))
}

// coreException is the device code of an exception on a kind of core.
func coreException(k trace.Kind) uint32 {
	switch k {
	case trace.KernelAIVector:
		return sim.CodeVectorException
	case trace.KernelAICPU:
		return sim.CodeAICPUException
	}
	return sim.CodeAICoreException
}

// far is beyond every mapping: an index that was computed wrongly.
const far = 1 << 38

// body is what a plain kernel does to the memory of its first argument; nil for nothing.
func (o *OwnKernel) body(exception uint32) func(*sim.Call) *sim.Fault {
	switch {
	case o.Fault == "divzero":
		return func(*sim.Call) *sim.Fault { return sim.DivisionFault(exception) }
	case o.Fault == "hang", o.Fault == "" && o.Effect == "":
		return nil
	}
	return func(c *sim.Call) *sim.Fault {
		var addr, n uint64
		var t tensor.DType
		if c.Args != 0 {
			args, bad := c.Space.Resolve(c.Args, 24, sim.Read)
			if bad != nil {
				return bad
			}
			addr, n = binary.LittleEndian.Uint64(args), binary.LittleEndian.Uint64(args[8:])
			t = tensor.DType(args[16])
		}
		if o.Fault == "oob" {
			addr, n = addr+n+far, 32
		}
		mem, bad := c.Space.Resolve(addr, int(n), sim.ReadWrite)
		if bad != nil {
			if bad.Code != sim.CodeMemoryECC {
				bad.Code = exception
			}
			return bad
		}
		return o.change(mem, t, exception)
	}
}

// change writes the kernel's value, or adds it, to all elements.
func (o *OwnKernel) change(mem []byte, t tensor.DType, exception uint32) *sim.Fault {
	var part [512]float64
	n := len(mem) / max(1, t.Size())
	for at := 0; at < n; at += len(part) {
		v := part[:min(len(part), n-at)]
		if o.Effect == "add" {
			if err := tensor.DecodeFloats(v, t, mem, at); err != nil {
				return &sim.Fault{Code: exception, Detail: err.Error()}
			}
		} else {
			clear(v)
		}
		for i := range v {
			v[i] += o.Value
		}
		if err := tensor.EncodeFloats(mem, t, at, v); err != nil {
			return &sim.Fault{Code: exception, Detail: err.Error()}
		}
	}
	return nil
}

func (h *host) launch(st *LaunchStmt) error {
	k, err := get[*kernel](h, st.Kernel.Name)
	if err != nil {
		return err
	}
	s, err := h.on(st.On)
	if err != nil {
		return err
	}
	var spans []span
	for _, a := range st.Args {
		sp, err := h.span(a)
		if err != nil {
			return err
		}
		spans = append(spans, sp)
	}
	var args []uint64
	if k.decl.Own != nil {
		args = ownArgs(k.decl.Own, spans)
	} else if args, err = h.opArgs(k, spans, st.On.Name); err != nil {
		return err
	}
	if st.Timeout == nil {
		return h.th.LaunchKernel(k.k, args, s)
	}
	ns, err := h.value(st.Timeout, 0)
	if err != nil {
		return err
	}
	return h.th.LaunchKernelWith(k.k, args, s, runtime.LaunchAttrs{TimeoutMicros: ns / 1000})
}

// ownArgs are the argument words of a plain kernel.
func ownArgs(o *OwnKernel, spans []span) []uint64 {
	var args []uint64
	if len(spans) > 0 && (o.Effect != "" || o.Fault != "") {
		first := spans[0]
		args = append(args, uint64(first.ptr()), uint64(first.n), uint64(first.dtype))
		spans = spans[1:]
	}
	for _, s := range spans {
		args = append(args, uint64(s.ptr()))
	}
	return args
}

// opArgs are the argument words of an operator: inputs, results, scratch memory. A range must be as long as the
// operand, which Check could not see if its bounds are computed.
func (h *host) opArgs(k *kernel, spans []span, stream string) ([]uint64, error) {
	spec := k.decl.Op.spec
	var args []uint64
	next := func(d kernels.Desc) error {
		s := spans[0]
		spans = spans[1:]
		n, err := d.Shape.Bytes(d.DType)
		if err == nil && n != s.n {
			err = fmt.Errorf("%s has %d bytes here: the kernel wants %d", s.name, s.n, n)
		}
		args = append(args, uint64(s.ptr()))
		return err
	}
	for i, d := range spec.In {
		if p, ok := k.consts[i]; ok {
			args = append(args, uint64(p))
		} else if !d.Absent() {
			if err := next(d); err != nil {
				return nil, err
			}
		}
	}
	for _, d := range spec.Out {
		if err := next(d); err != nil {
			return nil, err
		}
	}
	if k.work > 0 {
		p, err := h.scratch(k, stream)
		if err != nil {
			return nil, err
		}
		args = append(args, uint64(p))
	}
	return args, nil
}

// scratchOf tells scratch memory apart: launches of one stream may share it, they follow each other.
type scratchOf struct {
	k      *kernel
	stream string
}

// scratch is the memory that launches of the kernel in one stream use.
func (h *host) scratch(k *kernel, stream string) (runtime.Ptr, error) {
	key := scratchOf{k, stream}
	if p, ok := h.scratches[key]; ok {
		return p, nil
	}
	p, err := h.th.Malloc(k.work)
	if err != nil {
		return 0, err
	}
	if h.scratches == nil {
		h.scratches = map[scratchOf]runtime.Ptr{}
	}
	h.scratches[key] = p
	return p, nil
}
