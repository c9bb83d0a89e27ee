package pmu

import (
	"npu/internal/sim/cost"
	"npu/internal/sim/soc"
	"npu/internal/tensor"
)

// meter holds the quantities of one execution of a kernel that events count, and turns them into counts.
type meter struct {
	cube   bool // a core with a cube
	cycles cost.Cycles

	macFloat, macInt   int64 // cycles of the cube by kind of operand
	fp16Steps, i8Steps int64 // cube instructions: one block of M×K×N each
	steps, outBlocks   int64 // the same of any type, and blocks of the result
	vec                [5]int64
	fetches, misses    int64 // of instructions

	read, written   int64 // bytes between global memory and the core
	l2Read          int64 // bytes that came through L2, those that were read again included
	l0aIn, l0bIn    int64 // bytes into L0
	outBytes        int64 // of the result in the accumulators
	lines, lineMiss int64 // of reads
	writeLines      int64
	writeMiss       int64
	conflicts
}

const (
	// lineBytes is the unit of the hit counters of an account, see constants.tsv of package cost.
	lineBytes = 512
	// missCycles is what one miss of the instruction cache stops a core for; assumed.
	missCycles = 100
)

// Kinds of vector instructions, in the order of the events 4b to 4f.
const (
	vecFP32 = iota
	vecFP16
	vecFP16Half
	vecInt32
	vecMisc
)

func newMeter(chip *soc.Chip, core cost.Core, a cost.Account, w cost.Work) meter {
	c := a.Cycles
	m := meter{cube: core != cost.AIV, cycles: c, read: c.ReadBytes, written: c.WriteBytes,
		fetches: c.Scalar, misses: c.ICache / missCycles}
	if m.cube && w.M > 0 {
		m.matrix(chip, &w)
	}
	lanes := int64(max(chip.VecLanes, 1))
	switch ops := w.VectorOps; {
	case ops == 0:
	case w.VectorType == tensor.Float32 || w.VectorType == tensor.BFloat16:
		m.vec[vecFP32] = ceil(ops, lanes/2)
	case w.VectorType == tensor.Float16:
		m.vec[vecFP16] = ceil(ops, lanes)
	case w.VectorType == tensor.Int32 || w.VectorType == tensor.Uint32:
		m.vec[vecInt32] = ceil(ops, lanes/2)
	default:
		m.vec[vecMisc] = ceil(ops, lanes/2)
	}
	for i := range m.vec { // an instruction takes a cycle at least
		m.vec[i] = min(m.vec[i], c.Vector)
	}
	m.conflicts = newConflicts(chip, core, &a, &w)
	m.cache()
	return m
}

// matrix is what the cube does: a step multiplies a block of M×K by one of K×N.
func (m *meter) matrix(chip *soc.Chip, w *cost.Work) {
	t := w.MacType
	if t.Bits() == 0 {
		t = tensor.Float16
	}
	b := chip.MKN(t)
	batch := max(w.Batch, 1)
	rows, cols, depth := ceil(w.M, int64(b.M)), ceil(w.N, int64(b.N)), ceil(w.K, int64(b.K))
	m.outBlocks = rows * cols * batch
	m.steps = m.outBlocks * depth
	bits := int64(max(t.Bits(), 4))
	// MTE1 brings in each operand once for each block of the result that it takes part in; blocks of a tile share them.
	m.l0aIn = rows * int64(b.M) * depth * int64(b.K) * bits / 8 * ceil(cols*int64(b.N), 256) * batch
	m.l0bIn = cols * int64(b.N) * depth * int64(b.K) * bits / 8 * ceil(rows*int64(b.M), 128) * batch
	m.outBytes = m.outBlocks * int64(b.M) * int64(b.N) * 4
	if t.Float() {
		m.macFloat, m.fp16Steps = m.cycles.Cube, m.steps
	} else {
		m.macInt, m.i8Steps = m.cycles.Cube, m.steps
	}
}

// cache shares the hits and misses of L2 out between reads and writes: misses are reads first, as in the account.
func (m *meter) cache() {
	c := &m.cycles
	all := c.L2Hits + c.L2Misses
	m.writeLines = min(ceil(m.written, lineBytes), all)
	m.lines = all - m.writeLines
	m.lineMiss = min(c.L2Misses, m.lines)
	m.writeMiss = min(c.L2Misses-m.lineMiss, m.writeLines)
	m.l2Read = max(m.lines*lineBytes, m.read)
}

func ceil(a, b int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	return (a + b - 1) / b
}

// count is the count of an event; ok is false for one that is not modelled. It knows the sizes of the pieces in which the real events count, which are those of the formulas of package ascend.
func (m *meter) count(e uint16, group string) (int64, bool) {
	c := &m.cycles
	onCube := func(n int64) int64 {
		if m.cube {
			return n
		}
		return 0
	}
	onVector := func(n int64) int64 { return n - onCube(n) }
	if group == memoryAccess {
		switch e {
		case 0x32: // to L1, and from L0C to it, of which there is none
			return onCube(ceil(m.l2Read, 256)), true
		case 0x3d:
			return onVector(ceil(m.written, 128)), true
		case 0x3e:
			return onVector(ceil(m.read, 128)), true
		}
	}
	if group == conflictRatio && e == 0x502 { // of the 950; elsewhere it is a hit counter
		return c.Vector, true
	}
	switch e {
	case 0x8, 0x501:
		return c.Vector, true
	case 0x9, 0x1:
		return c.Scalar, true
	case 0xa, 0x301:
		return c.Cube, true
	case 0xb, 0x302, 0x701:
		return c.MTE1, true
	case 0xc, 0x202:
		return c.MTE2, true
	case 0xd, 0x203:
		return c.MTE3, true
	case 0xe, 0x7:
		return c.Total, true
	case 0x303, 0x714:
		return c.Fixpipe, true
	case 0x12c:
		return c.Vector, true
	case 0x416:
		return m.macFloat, true
	case 0x417:
		return m.macInt, true
	case 0x54, 0x34:
		return m.fetches, true
	case 0x55, 0x35:
		return m.misses, true
	case 0x49, 0x323:
		return m.fp16Steps, true
	case 0x4a, 0x324:
		return m.i8Steps, true
	case 0x4b, 0x4c, 0x4d, 0x4e, 0x4f:
		return m.vec[e-0x4b], true
	case 0xf:
		return ceil(m.l2Read, 256), true
	case 0x10:
		return ceil(m.written, 256), true
	case 0x12, 0x400:
		return ceil(m.read, 8), true
	case 0x13, 0x401:
		return ceil(m.written, 8), true
	case 0x15, 0x56f: // what the vector unit reads and writes of UB
		return onVector(ceil(m.read, 128)), true
	case 0x16, 0x570:
		return onVector(ceil(m.written, 128)), true
	case 0x1b, 0x304: // the cube takes 512 bytes of each operand a step
		return m.steps, true
	case 0x1c, 0x703:
		return ceil(m.l0aIn, 512), true
	case 0x21, 0x306:
		return m.steps, true
	case 0x22, 0x705:
		return ceil(m.l0bIn, 256), true
	case 0x27, 0x712: // results leave the accumulators
		return onCube(ceil(m.outBytes, 256)), true
	case 0x28, 0x30a: // the first step of a block adds to nothing
		return m.steps - m.outBlocks, true
	case 0x29:
		return 0, true
	case 0x2a, 0x308:
		return m.steps, true
	case 0x31, 0x707:
		return onCube(ceil(m.l0aIn+m.l0bIn, 512)), true
	case 0x32, 0x709:
		return onCube(ceil(m.l2Read, 128)), true
	case 0x3d, 0x204: // MTE3 takes results out of UB, MTE2 brings operands in
		return onVector(ceil(m.written, 128)), true
	case 0x3e, 0x206:
		if e == 0x206 && group == memoryAccess {
			return 0, true
		}
		return onVector(ceil(m.read, 128)), true
	case 0x43, 0x571:
		return onVector(ceil(m.read, 32)), true
	case 0x44, 0x572:
		return onVector(ceil(m.written, 32)), true
	case 0x64:
		return m.group, true
	case 0x65:
		return m.bank, true
	case 0x66, 0x528:
		return m.transfer, true
	case 0x540:
		return m.group + m.bank, true
	case 0x556:
		return m.group + m.bank + m.transfer, true
	case 0x20c:
		return onCube(ceil(m.written, 128)), true
	case 0x50c:
		return ceil(m.written, 128), true
	case 0x50d: // two ports, which share the reads
		return ceil(m.read, 128) - ceil(m.read, 128)/2, true
	case 0x50e:
		return ceil(m.read, 128) / 2, true
	case 0x500, 0x42a:
		return m.writeLines - m.writeMiss, true
	case 0x502, 0x42b:
		return m.writeMiss, true
	case 0x504:
		return m.lines - m.lineMiss - (m.lines-m.lineMiss)/2, true
	case 0x506:
		return m.lineMiss - m.lineMiss/2, true
	case 0x508:
		return (m.lines - m.lineMiss) / 2, true
	case 0x50a:
		return m.lineMiss / 2, true
	case 0x424:
		return m.lines - m.lineMiss, true
	case 0x425:
		return m.lineMiss, true
	}
	return 0, false
}
