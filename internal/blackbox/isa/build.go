package isa

// Operand is an operand of a kernel: what the moves carry.
type Operand struct {
	Bytes int64 // 0: unknown
	Out   bool
}

// Kernel is what Build needs to know of a kernel.
type Kernel struct {
	Cube     bool // runs on the cube pipe rather than on the vector pipe
	Blocks   int
	Operands []Operand // in the order of the argument block, inputs first; those beyond MaxOperands are not moved
}

// MaxOperands is how many operands have registers: X1 on.
const MaxOperands = 20

// Registers of a kernel beside X1 to X20, the addresses of the operands.
const (
	RegTurns  = 0  // tiles that this block has left
	RegBlock  = 24 // number of this block
	RegTiles  = 25 // tiles of the whole kernel
	RegBlocks = 26 // blocks of the kernel
)

// tileMax bounds a move: 32 KiB.
const tileMax = 1024

// Program is a kernel's text with what its instructions are for.
type Program struct {
	Words   []uint32
	Turns   int   // tiles of a block
	Steps   []int // units of 32 bytes that operand k moves on with each tile; 0 if all blocks take the whole of it
	Lens    []int // units that a move of it carries
	Moves   []int // index of the instruction that moves operand k, −1 if none does
	Divide  int
	Compute int
	operand int // count
}

// Build makes a kernel's text. Each block walks over its part of every operand in Turns tiles.
func Build(k Kernel) *Program {
	n := min(len(k.Operands), MaxOperands)
	p := &Program{Turns: 1, Moves: make([]int, n), Steps: make([]int, n), Lens: make([]int, n), operand: n}
	blocks := int64(max(1, k.Blocks))
	for _, o := range k.Operands[:n] {
		p.Turns = max(p.Turns, int((o.Bytes/32+blocks*tileMax-1)/(blocks*tileMax)))
	}
	p.Turns = min(p.Turns, MaxImm)
	for i, o := range k.Operands[:n] {
		parts := blocks * int64(p.Turns)
		p.Lens[i] = int(min(MaxImm, max(1, (o.Bytes+32*parts-1)/(32*parts))))
		if p.Steps[i] = p.Lens[i]; o.Bytes > 0 && o.Bytes < 32*parts { // as a bias: too small to be shared out
			p.Steps[i], p.Lens[i] = 0, int(min(tileMax, (o.Bytes+31)/32))
		}
	}
	add := func(op Op, d, a, imm int) int {
		p.Words = append(p.Words, Inst{op, uint8(d), uint8(a), imm}.Word())
		return len(p.Words) - 1
	}
	add(Tag, 0, 0, Version)
	add(Block, RegBlock, 0, 0)
	add(Mov, RegTiles, 0, min(MaxImm, p.Turns*int(blocks)))
	add(Mov, RegBlocks, 0, min(MaxImm, int(blocks)))
	p.Divide = add(Div, RegTurns, RegTiles, RegBlocks)
	for i := range n {
		add(LoadArg, i+1, 0, i)
		add(MulAdd, i+1, RegBlock, min(MaxImm, p.Steps[i]*p.Turns))
	}
	head := len(p.Words)
	out := PipeMTE3
	load, pipe := LoadUB, PipeVector
	if k.Cube {
		out, load, pipe = PipeFixp, LoadL1, PipeCube
	}
	for i, o := range k.Operands[:n] {
		if p.Moves[i] = -1; !o.Out {
			p.Moves[i] = add(load, i, i+1, p.Lens[i])
		}
	}
	if k.Cube {
		add(SetFlag, PipeMTE2, PipeMTE1, 0)
		add(Wait, PipeMTE2, PipeMTE1, 0)
		for i := range min(2, n) {
			add(LoadL0, i, 0, 0)
		}
		add(SetFlag, PipeMTE1, pipe, 0)
		add(Wait, PipeMTE1, pipe, 0)
		p.Compute = add(Cube, 0, 0, 0)
	} else {
		add(SetFlag, PipeMTE2, pipe, 0)
		add(Wait, PipeMTE2, pipe, 0)
		p.Compute = add(Vector, 0, 0, n)
	}
	add(SetFlag, pipe, out, 0)
	add(Wait, pipe, out, 0)
	for i, o := range k.Operands[:n] {
		switch {
		case o.Out && k.Cube:
			p.Moves[i] = add(StoreL0, i, i+1, p.Lens[i])
		case o.Out:
			p.Moves[i] = add(StoreUB, i, i+1, p.Lens[i])
		}
	}
	for i := range n {
		add(Add, i+1, 0, p.Steps[i])
	}
	add(Sub, RegTurns, 0, 1)
	add(Loop, RegTurns, 0, len(p.Words)-head)
	add(End, 0, 0, 0)
	for range 8 { // a core runs on for some instructions after a fault
		add(End, 0, 0, 0)
	}
	return p
}

// State is the scalar side of a core.
type State struct {
	PC int // index of the instruction
	X  [32]uint64
}

// Run executes the scalar instructions of block number block until the instruction at stop has come up for the turn-th
// time (0: the first), and says whether it came to that. Moves and computations have no effect here.
func (p *Program) Run(block int, args []uint64, stop, turn int) (s State, ok bool) {
	for steps := 0; s.PC < len(p.Words) && steps < 1<<22; steps++ {
		if s.PC == stop {
			if turn--; turn < 0 {
				return s, true
			}
		}
		i, _ := Decode(p.Words[s.PC])
		d := &s.X[i.D]
		s.PC++
		switch i.Op {
		case Block:
			*d = uint64(block)
		case Mov:
			*d = uint64(i.Imm)
		case LoadArg:
			if *d = 0; i.Imm < len(args) {
				*d = args[i.Imm]
			}
		case Div:
			if by := s.X[i.Imm&31]; by != 0 {
				*d = s.X[i.A] / by
			}
		case MulAdd:
			*d += s.X[i.A] * uint64(i.Imm) * 32
		case Add:
			*d += uint64(i.Imm) * 32
		case Sub:
			*d -= uint64(i.Imm)
		case Loop:
			if *d != 0 {
				s.PC -= i.Imm + 1
			}
		case End:
			return s, false
		}
	}
	return s, false
}
