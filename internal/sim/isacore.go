package sim

import (
	"fmt"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/isa"
	"npu/internal/trace"
)

// Operand is an operand of a kernel function, in the order of the argument block.
type Operand struct {
	Role  string // input, output, workspace
	Index int    // among those of its role
	Bytes int64
	Out   bool
}

// CoreState is a core as it stood when a kernel failed.
type CoreState struct {
	Vector   bool
	ID       int // among the cores of its kind
	Block    int // that it ran
	Failed   bool
	PC       uint64 // as the core reports it: some instructions after the fault, exact after a hang
	FaultPC  uint64 // of the instruction that failed
	LR       uint64
	X        [32]uint64
	Raised   aicore.Raised // error words or codes, and info words, in the form of the chip's family
	Args     uint64
	Executed uint64 // tiles that were through
}

// Name is AIC or AIV with the number.
func (c *CoreState) Name() string {
	if c.Vector {
		return fmt.Sprintf("AIV %d", c.ID)
	}
	return fmt.Sprintf("AIC %d", c.ID)
}

// codeBase is where the text of kernel functions lies on a device: beyond its memory, 64 KiB for each.
const codeBase = uint64(0xF0) << 32

// CodeAddr is where the text of function fn lies on d.
func (d *Device) CodeAddr(fn uint32) uint64 {
	return deviceBase + uint64(d.id)*deviceStride + codeBase + uint64(fn&0xffff)<<16
}

// programOf is the text of a kernel function, launched with so many blocks and arguments.
func programOf(f *Function, blocks uint32, args int) *isa.Program {
	k := isa.Kernel{Cube: f.engine() == trace.EngineCube, Blocks: int(blocks)}
	for _, o := range f.Operands {
		k.Operands = append(k.Operands, isa.Operand{Bytes: o.Bytes, Out: o.Out})
	}
	for len(k.Operands) < args { // a kernel that says nothing of its operands
		k.Operands = append(k.Operands, isa.Operand{})
	}
	return isa.Build(k)
}

// cause is what kind of error a core raises, and where.
type cause int

const (
	causeMTE     cause = iota // the move of an operand to or from global memory
	causeUB                   // the computation reaches beyond UB or L0C
	causeDivide               // scalar division
	causeVecDiv               // division of the vector unit
	causeIllegal              // instruction
	causeBus                  // the bus refuses the move of an operand
	causeHang
)

// cores fills in the state of the cores that run the failing kernel of q. It runs on the driver, for faults only.
func (m *Machine) cores(q *Queue, f *Fault) {
	fn := q.fn
	if fn == nil || fn.engine() == trace.EngineAICPU {
		return
	}
	d := q.desc()
	blocks := max(1, q.blocks)
	args := m.argWords(q)
	p := programOf(fn, blocks, max(f.ArgWords, len(fn.Operands)))
	base := q.dev.CodeAddr(d.function())
	units := min(blocks, q.dev.engines[q.engine].units)
	bad, turn := m.missed(q, p, f, args, blocks)
	stop := 0
	switch f.cause {
	case causeMTE, causeBus:
		if f.Operand >= 0 && f.Operand < len(p.Moves) {
			stop = p.Moves[f.Operand]
		}
	case causeDivide:
		stop = p.Divide
	default:
		stop = p.Compute
	}
	f.Text, f.TextAddr, f.Blocks = p.Words, base, blocks
	if f.cause == causeIllegal {
		f.Text[stop] = 0xffffffff
	}
	for c := range units {
		block := int(c)
		s := CoreState{Vector: q.engine == uint8(trace.EngineVector), ID: int(c), Args: f.Args, LR: base + uint64(4*len(p.Words)-4)}
		if c == bad%units {
			block = int(bad)
		}
		s.Block = block
		at, t := stop, turn
		failed := c == bad%units || f.cause == causeHang
		if !failed { // the others were stopped where they were: at their computation
			at, t = p.Compute, min(turn, p.Turns-1)
		}
		st, _ := p.Run(block, args, at, t)
		s.X, s.Executed = st.X, uint64(t)
		s.FaultPC = base + uint64(4*at)
		s.PC = s.FaultPC
		if failed && f.cause != causeHang {
			s.Failed = true
			s.PC += 4 * uint64(min(3+int(f.Task)%5, len(p.Words)-1-at))
			m.raise(q, &s, f, stop, p)
		}
		f.Cores = append(f.Cores, s)
	}
}

// walk tells of each tile of operand k which a block of the kernel moves, until visit returns false.
func walk(fn *Function, p *isa.Program, blocks uint32, k int, visit func(block uint32, turn int, off, n int64) bool) {
	n := int64(32 * p.Lens[k])
	bytes := n
	if k < len(fn.Operands) {
		bytes = fn.Operands[k].Bytes
	}
	for b := range blocks {
		for t := range p.Turns {
			off := int64(int(b)*p.Turns+t) * int64(32*p.Steps[k])
			if off >= bytes {
				break
			}
			if !visit(b, t, off, min(n, bytes-off)) {
				return
			}
		}
	}
}

// missed is the block and its tile that first touch what cannot be touched. An injected fault that is not at an address
// which a tile covers takes a block in the middle.
func (m *Machine) missed(q *Queue, p *isa.Program, f *Fault, args []uint64, blocks uint32) (block uint32, turn int) {
	k := f.Operand
	moves := (f.cause == causeMTE || f.cause == causeBus) && k >= 0 && k < len(p.Moves) && k < len(args)
	if f.injected {
		block = blocks / 2
	}
	if !moves || p.Moves[k] < 0 {
		return block, 0
	}
	whole := !f.injected && f.cause == causeMTE && f.Addr == args[k] // the operand was resolved in one piece
	walk(q.fn, p, blocks, k, func(b uint32, t int, off, n int64) bool {
		at := args[k] + uint64(off)
		hit := f.HasAddr && f.Addr-at < uint64(n)
		if whole {
			_, miss := q.space.Resolve(at, int(n), Read)
			if hit = miss != nil; hit {
				f.Addr, f.HasAddr = at, true
			}
		}
		if hit {
			block, turn = b, t
		}
		return !hit
	})
	return block, turn
}

// middle is where the block in the middle begins to move operand k, which lies at start.
func (m *Machine) middle(q *Queue, k int, start uint64) uint64 {
	blocks := max(1, q.blocks)
	p := programOf(q.fn, blocks, k+1)
	at := start
	if k < len(p.Moves) && p.Moves[k] >= 0 {
		walk(q.fn, p, blocks, k, func(b uint32, _ int, off, _ int64) bool {
			at = start + uint64(off)
			return b < blocks/2
		})
	}
	return at
}

// raise sets what the core that failed reports.
func (m *Machine) raise(q *Queue, s *CoreState, f *Fault, stop int, p *isa.Program) {
	i, _ := isa.Decode(p.Words[stop])
	condition, bus := aicore.MoveRefused, aicore.ReadDecode
	switch f.cause {
	case causeMTE, causeBus:
		if f.HasAddr {
			s.X[i.A] = f.Addr // what the address register really held
		}
		if f.cause == causeBus {
			bus = aicore.ReadBus
		}
		if i.Op == isa.StoreUB || i.Op == isa.StoreL0 {
			bus += aicore.WriteBus - aicore.ReadBus
		}
	case causeUB:
		condition = aicore.BufferOverrun
	case causeVecDiv:
		condition = aicore.VectorDivide
	case causeDivide:
		condition = aicore.ScalarDivide
		s.X[isa.RegBlocks] = 0
	case causeIllegal:
		condition = aicore.IllegalCommand
	}
	family, _ := aicore.FamilyOfChip(q.dev.chip.Short)
	s.Raised = aicore.Raise(family, condition, s.Vector, s.FaultPC, f.Addr, bus)
}
