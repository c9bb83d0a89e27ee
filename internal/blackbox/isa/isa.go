// Package isa is the instruction set of the simulated AI core: enough of one that a program counter means something. A
// kernel is a scalar loop around moves in, a computation, moves out, and the flags between the pipes; what it computes is
// the business of package kernels. Words are 32 bits, little-endian. docs/faults.md shows the encoding.
// It imports nothing of this module.
package isa

import "fmt"

// Op is an operation code, bits 31 to 24 of a word.
type Op uint8

// Operations. D and A are scalar registers X0 to X31, Imm is signed.
const (
	Tag     Op = 0x7e // first word of a kernel: the instruction set's version
	Mov     Op = 0x01 // D = Imm
	LoadArg Op = 0x02 // D = word Imm of the argument block
	Block   Op = 0x03 // D = number of this block
	Div     Op = 0x04 // D = A / X[Imm]
	MulAdd  Op = 0x05 // D = D + A × Imm × 32
	Add     Op = 0x06 // D = D + Imm × 32
	Sub     Op = 0x07 // D = D − Imm
	Loop    Op = 0x08 // if D is not 0 go Imm words back
	End     Op = 0x0f
	LoadUB  Op = 0x10 // MTE2: Imm × 32 bytes from the address in A to UB slot D
	LoadL1  Op = 0x11 // MTE2: … to L1 slot D
	LoadL0  Op = 0x12 // MTE1: L1 slot D to L0A (even) or L0B (odd)
	StoreUB Op = 0x13 // MTE3: Imm × 32 bytes from UB slot D to the address in A
	StoreL0 Op = 0x14 // FIXP: Imm × 32 bytes from L0C to the address in A
	Vector  Op = 0x20 // the kernel's computation on the slots of UB
	Cube    Op = 0x21 // multiply L0A by L0B into L0C
	SetFlag Op = 0x30 // pipe D tells pipe A, flag Imm
	Wait    Op = 0x31 // pipe A waits for pipe D, flag Imm
)

// Version is the Imm of Tag.
const Version = 1

// Pipes as SetFlag and Wait number them.
const (
	PipeScalar = iota
	PipeVector
	PipeCube
	PipeMTE1
	PipeMTE2
	PipeMTE3
	PipeFixp
)

var pipes = [...]string{"s", "v", "m", "mte1", "mte2", "mte3", "fix"}

// Inst is one instruction: op 8 | d 5 | a 5 | imm 14.
type Inst struct {
	Op   Op
	D, A uint8
	Imm  int
}

// MaxImm is the greatest immediate.
const MaxImm = 1<<13 - 1

// Word encodes i; what does not fit is cut.
func (i Inst) Word() uint32 {
	return uint32(i.Op)<<24 | uint32(i.D&31)<<19 | uint32(i.A&31)<<14 | uint32(i.Imm)&0x3fff
}

// Decode is the instruction of a word; ok is false for an operation that the core does not have.
func Decode(w uint32) (i Inst, ok bool) {
	i = Inst{Op: Op(w >> 24), D: uint8(w >> 19 & 31), A: uint8(w >> 14 & 31), Imm: int(int32(w<<18) >> 18)}
	_, ok = forms[i.Op]
	return i, ok
}

// IsKernel says whether text whose first word is w is in this instruction set.
func IsKernel(w uint32) bool { return w == Inst{Op: Tag, Imm: Version}.Word() }

var forms = map[Op]func(i Inst) string{
	Tag:     func(i Inst) string { return fmt.Sprintf(".isa %d", i.Imm) },
	Mov:     func(i Inst) string { return fmt.Sprintf("mov x%d, #%d", i.D, i.Imm) },
	LoadArg: func(i Inst) string { return fmt.Sprintf("ld_arg x%d, [%d]", i.D, i.Imm) },
	Block:   func(i Inst) string { return fmt.Sprintf("block x%d", i.D) },
	Div:     func(i Inst) string { return fmt.Sprintf("div x%d, x%d, x%d", i.D, i.A, i.Imm) },
	MulAdd:  func(i Inst) string { return fmt.Sprintf("madd x%d, x%d, #%d", i.D, i.A, 32*i.Imm) },
	Add:     func(i Inst) string { return fmt.Sprintf("add x%d, #%d", i.D, 32*i.Imm) },
	Sub:     func(i Inst) string { return fmt.Sprintf("sub x%d, #%d", i.D, i.Imm) },
	Loop:    func(i Inst) string { return fmt.Sprintf("loop x%d, -%d", i.D, i.Imm) },
	End:     func(Inst) string { return "end" },
	LoadUB:  func(i Inst) string { return fmt.Sprintf("mte2 ub%d, [x%d], %d", i.D, i.A, 32*i.Imm) },
	LoadL1:  func(i Inst) string { return fmt.Sprintf("mte2 l1.%d, [x%d], %d", i.D, i.A, 32*i.Imm) },
	LoadL0:  func(i Inst) string { return fmt.Sprintf("mte1 l0%c, l1.%d", 'a'+rune(i.D&1), i.D) },
	StoreUB: func(i Inst) string { return fmt.Sprintf("mte3 [x%d], ub%d, %d", i.A, i.D, 32*i.Imm) },
	StoreL0: func(i Inst) string { return fmt.Sprintf("fixp [x%d], l0c, %d", i.A, 32*i.Imm) },
	Vector:  func(i Inst) string { return fmt.Sprintf("vec ub, %d operands", i.Imm) },
	Cube:    func(Inst) string { return "mmad l0c, l0a, l0b" },
	SetFlag: func(i Inst) string { return fmt.Sprintf("set_flag %s, %s, %d", pipe(i.D), pipe(i.A), i.Imm) },
	Wait:    func(i Inst) string { return fmt.Sprintf("wait_flag %s, %s, %d", pipe(i.D), pipe(i.A), i.Imm) },
}

func pipe(n uint8) string {
	if int(n) < len(pipes) {
		return pipes[n]
	}
	return fmt.Sprintf("pipe%d", n)
}

func (i Inst) String() string {
	if f := forms[i.Op]; f != nil {
		return f(i)
	}
	return fmt.Sprintf(".word 0x%08x (illegal)", i.Word())
}

// Reads are the general registers that the instruction reads, the address of a move first.
func (i Inst) Reads() []int {
	switch i.Op {
	case Div:
		return []int{int(i.A), i.Imm & 31}
	case MulAdd:
		return []int{int(i.D), int(i.A)}
	case Add, Sub, Loop:
		return []int{int(i.D)}
	case LoadUB, LoadL1, StoreUB, StoreL0:
		return []int{int(i.A)}
	}
	return nil
}

// Disassemble is the instruction of a word in words.
func Disassemble(w uint32) string {
	if i, ok := Decode(w); ok {
		return i.String()
	}
	return fmt.Sprintf(".word 0x%08x (illegal)", w)
}
