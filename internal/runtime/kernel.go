package runtime

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"npu/internal/sim"
	"npu/internal/sim/cost"
	"npu/internal/sim/kernels"
	"npu/internal/sim/pmu"
	"npu/internal/trace"
)

// Kernel is a loaded kernel function of a context.
type Kernel struct {
	ctx     *Context
	open    atomic.Pointer[Context] // ctx until it is unloaded
	id      uint32
	shot    sim.Shot
	kind    trace.Kind
	Name    string
	Account cost.Account // what one launch costs
	run     *kernels.Kernel
	in, out []int // operand sizes in bytes; -1: absent
	exec    kernels.Exec
	inDesc  []kernels.Desc // may be shorter than in, or nil
	outDesc []kernels.Desc
	body    func(*sim.Call) *sim.Fault
	fault   uint32 // device code of an error of the arithmetic
}

// KernelConfig is a compiled operator with what a launch needs to know of it.
type KernelConfig struct {
	Name string // of the node, for the trace
	Run  *kernels.Kernel
	// In and Out are the sizes of the operands in bytes, -1 for one that is left out.
	In, Out []int
	// InDesc and OutDesc are their types and shapes, for dumps and for saturation; they may be left out.
	InDesc, OutDesc []kernels.Desc
	Origin          []string // operators that were fused into it
	// Control makes the kernel compute even when the runtime is open for timing only: what the device does next
	// depends on its result.
	Control bool
}

// LoadKernel makes a compiled operator launchable. The arguments of a launch are the addresses of the operands that
// are there, inputs first, and, if Run.Workspace > 0, that of the workspace (aclrtBinaryGetFunction).
func (th *Thread) LoadKernel(c KernelConfig) (k *Kernel, err error) {
	t := th.begin(callLoadKernel)
	defer func() { th.end(callLoadKernel, t, err) }()
	if err = th.forbidden(callLoadKernel); err != nil {
		return nil, err
	}
	ctx, err := th.context(callLoadKernel)
	if err != nil {
		return nil, err
	}
	run := c.Run
	k = &Kernel{ctx: ctx, Name: c.Name, run: run, in: c.In, out: c.Out, inDesc: c.InDesc, outDesc: c.OutDesc}
	k.exec = kernels.Exec{In: make([][]byte, len(c.In)), Out: make([][]byte, len(c.Out)), Workers: th.rt.workers}
	chip := ctx.dev.hw.Chip()
	work := run.Work
	work.Type = run.Type // selects what was measured of this operator
	k.Account = cost.Estimate(chip, run.Core, run.Blocks, work)
	f := &sim.Function{Run: k.compute, Control: c.Control, Origin: c.Origin, Bytes: run.Work.ReadBytes + run.Work.WriteBytes}
	switch run.Core {
	case cost.AIV:
		f.Kind, k.fault = trace.KernelAIVector, sim.CodeVectorException
		if ctx.dev.hw.Units(trace.EngineVector) == 0 {
			f.Kind, k.fault = trace.KernelAICore, sim.CodeAICoreException // one kind of core does both
		}
	case cost.AICPU:
		f.Kind, k.fault = trace.KernelAICPU, sim.CodeAICPUException
	case cost.Mix:
		f.Kind, k.fault = trace.KernelMix, sim.CodeAICoreException
	default:
		f.Kind, k.fault = trace.KernelAICore, sim.CodeAICoreException
	}
	k.kind = f.Kind
	f.Blocks, f.BlockNs = uint32(max(1, k.Account.Blocks)), k.Account.BlockNs
	err = th.port.Call(func() {
		f.Name, f.Op = th.rt.strings.Intern(c.Name), th.rt.strings.Intern(run.Type)
		f.Operands = k.operands()
		f.Account = th.rt.strings.AddAccount(trace.Account(k.Account.Cycles))
		th.rt.count(k, run.Core, work)
		k.load(f)
	})
	return k, th.blocked(callLoadKernel.name, nil, err)
}

// count lets the PMU count a kernel that is loaded: it counts the same in each execution. Under Port.Call.
func (rt *Runtime) count(k *Kernel, core cost.Core, work cost.Work) {
	if rt.cfg.PMU == nil {
		return
	}
	if c, ok := rt.cfg.PMU.Count(core, k.Account, work); ok {
		if rt.counted == nil {
			rt.counted = map[pmu.Key]pmu.Counters{}
		}
		rt.counted[pmu.Key{Name: k.Name, Account: trace.Account(k.Account.Cycles)}] = c
	}
}

// NewKernel makes a kernel that is not compiled from an operator: for stream programs, benchmarks and tests. It runs
// blocks blocks of blockNs device nanoseconds each; body, which may be nil, is its effect. A body's fault is the
// kernel's fault.
func (th *Thread) NewKernel(name string, kind trace.Kind, blocks uint32, blockNs int64, body func(*sim.Call) *sim.Fault) (k *Kernel, err error) {
	t := th.begin(callLoadKernel)
	defer func() { th.end(callLoadKernel, t, err) }()
	if err = th.forbidden(callLoadKernel); err != nil {
		return nil, err
	}
	ctx, err := th.context(callLoadKernel)
	if err != nil {
		return nil, err
	}
	k = &Kernel{ctx: ctx, kind: kind, Name: name, body: body}
	err = th.port.Call(func() {
		id := th.rt.strings.Intern(name)
		k.load(&sim.Function{Kind: kind, Name: id, Op: id, Blocks: blocks, BlockNs: blockNs, Run: body})
	})
	return k, th.blocked(callLoadKernel.name, nil, err)
}

// load makes k known to the devices. Under Port.Call.
func (k *Kernel) load(f *sim.Function) {
	f.Device = k.ctx.dev.hw.ID()
	k.id = k.ctx.dev.rt.machine.Load(f)
	k.shot = sim.NewShot(f.Kind, k.id)
	k.ctx.kernels = append(k.ctx.kernels, k)
	k.open.Store(k.ctx)
}

// Words is how many argument words a launch of a compiled operator takes.
func (k *Kernel) Words() int {
	n := 0
	for _, s := range k.in {
		if s >= 0 {
			n++
		}
	}
	for _, s := range k.out {
		if s >= 0 {
			n++
		}
	}
	if k.run != nil && k.run.Workspace > 0 {
		n++
	}
	return n
}

// compute reads the argument block and runs the operator on the memory that it names.
func (k *Kernel) compute(c *sim.Call) *sim.Fault {
	var args []byte
	var f *sim.Fault
	if words := k.Words(); words > 0 { // a launch without operands has no block
		if args, f = c.Space.Resolve(c.Args, 8*words, sim.Read); f != nil {
			return f
		}
	}
	n := -1 // operand
	next := func(size int, want sim.Access) ([]byte, *sim.Fault) {
		n++
		a := binary.LittleEndian.Uint64(args)
		args = args[8:]
		return c.Space.Resolve(a, size, want)
	}
	for i, size := range k.in {
		k.exec.In[i] = nil
		if size >= 0 {
			if k.exec.In[i], f = next(size, sim.Read); f != nil {
				return k.mte(f, "input", i, n)
			}
		}
	}
	for i, size := range k.out {
		k.exec.Out[i] = nil
		if size >= 0 {
			if k.exec.Out[i], f = next(size, sim.ReadWrite); f != nil {
				return k.mte(f, "output", i, n)
			}
		}
	}
	if k.run.Workspace > 0 {
		if k.exec.Workspace, f = next(k.run.Workspace, sim.ReadWrite); f != nil {
			return k.mte(f, "workspace", 0, n)
		}
	}
	if err := k.run.Run(&k.exec); err != nil {
		return sim.ArithmeticFault(k.fault, err)
	}
	if o := &k.ctx.dev.overflow; o.saturate {
		return o.saturated(c.Device, c.Stream, k.kind == trace.KernelAIVector, k.exec.Out, k.outDesc)
	}
	return nil
}

// mte completes the fault of an operand's address.
func (k *Kernel) mte(f *sim.Fault, what string, i, operand int) *sim.Fault {
	if f.Code != sim.CodeMemoryECC {
		f.Code = k.fault
	}
	f.Operand = operand
	f.Detail = fmt.Sprintf("%s (%s %d)", f.Detail, what, i)
	return f
}

// operands describes the argument words, in their order.
func (k *Kernel) operands() []sim.Operand {
	var out []sim.Operand
	add := func(role string, i, size int) {
		if size >= 0 {
			out = append(out, sim.Operand{Role: role, Index: i, Bytes: int64(size), Out: role == "output"})
		}
	}
	for i, n := range k.in {
		add("input", i, n)
	}
	for i, n := range k.out {
		add("output", i, n)
	}
	if n := k.run.Workspace; n > 0 {
		add("workspace", 0, n)
	}
	return out
}
