package cost

import (
	"npu/internal/sim/soc"
	"npu/internal/tensor"
)

// Units is how many cores of a kind the chip has: the width of a wave.
func Units(chip *soc.Chip, core Core) int {
	switch core {
	case AIV:
		return chip.VectorUnits()
	case AICPU:
		return max(chip.AICPUs, 1)
	}
	return chip.CubeUnits()
}

// Estimate says what w costs on cores of a kind. blocks is the block dim that the kernel asks for at most: fewer are
// used when there is too little to split; 0 leaves it to the tiling, which takes one block a core. Beyond the number of
// cores the kernel is cut into whole waves, up to eight; that changes when it can be interrupted, not how long it takes.
//
// Measured constants of the operator type (Work.Type) come from the embedded profile, see Profile.
func Estimate(chip *soc.Chip, core Core, blocks int, w Work) Account {
	return embedded().Estimate(chip, core, blocks, w)
}

// Estimate is the package's Estimate with the constants of p.
func (p *Profile) Estimate(chip *soc.Chip, core Core, blocks int, w Work) Account {
	return p.Constants(chip, core, w.Type).Estimate(chip, core, blocks, w)
}

// Estimate is the package's Estimate with these constants, all of which must be given.
//
// The model: each resource (cube, vector, memory, ...) needs the time of its longest block; the pipes overlap, so the
// core is busy for the longest of them plus one fill and drain; every kernel pays a start. It never gets faster by
// more work. All other figures come from package soc and constants.tsv. Estimate does not allocate.
func (c Constants) Estimate(chip *soc.Chip, core Core, blocks int, w Work) Account {
	k := constantsOf(chip.Short)
	w.M, w.N, w.K, w.Batch = count(w.M), count(w.N), count(w.K), count(w.Batch)
	w.VectorOps, w.ScalarOps = count(w.VectorOps), count(w.ScalarOps)
	w.ReadBytes, w.WriteBytes = count(w.ReadBytes), count(w.WriteBytes)
	w.WeightBytes = min(count(w.WeightBytes), w.ReadBytes)
	w.Elements, w.Runs = count(w.Elements), count(w.Runs)
	if w.M > 0 && w.Batch == 0 {
		w.Batch = 1
	}
	if w.MacType.Bits() == 0 {
		w.MacType = tensor.Float16
	}
	if core == AICPU {
		return cpu(chip, k, c[Start], blocks, w)
	}
	m := newModel(chip, k, core, blocks)
	m.op = c
	m.matrix(&w)
	m.vector(&w)
	m.scalar(&w)
	m.memory(&w)
	return m.account(blocks, &w)
}

// model gathers, for one kernel, the cycles of its longest block by pipe and the totals over all blocks.
type model struct {
	chip    *soc.Chip
	k       *constants
	op      Constants
	core    Core
	hasCube bool
	cores   int64 // of this kind
	n       int64 // blocks that may run at a time
	used    int64 // blocks over which the work is really spread
	mhz     int64

	block, total  Cycles // total: cube, vector, scalar and MTE1 only
	l2Bytes, miss int64  // through L2, and of those from or to main memory
	memBound      int64  // cycles of the longest block for all its transfers
}

func newModel(chip *soc.Chip, k *constants, core Core, blocks int) model {
	m := model{chip: chip, k: k, core: core, hasCube: core != AIV, used: 1}
	m.mhz = int64(chip.CubeMHz)
	if core == AIV && chip.VectorCores > 0 {
		m.mhz = int64(chip.VectorMHz())
	}
	m.cores = int64(max(Units(chip, core), 1))
	m.n = m.cores
	if blocks > 0 {
		m.n = min(m.n, int64(blocks))
	}
	return m
}

func (m *model) spread(x, grain int64) int64 {
	m.used = max(m.used, parts(x, grain, m.n))
	return share(x, grain, m.n)
}

// matrix charges the cube and MTE1, which feeds it from L1.
func (m *model) matrix(w *Work) {
	if w.M == 0 || w.N == 0 || w.K == 0 || !m.hasCube {
		return
	}
	b := m.chip.MKN(w.MacType)
	cm, ck, cn := ceilDiv(w.M, int64(b.M)), ceilDiv(w.K, int64(b.K)), ceilDiv(w.N, int64(b.N))
	rate := m.op[Cube]
	if w.MacType == tensor.Float32 && b == m.chip.MKN(tensor.Float16) {
		percent := m.k.cubeFP32Percent
		if w.HF32 {
			percent = max(percent, m.k.cubeHF32Percent)
		}
		rate = rate * percent / 100
	}
	if w.TransA {
		rate = rate * m.op[TransA] / 100
	}
	if w.TransB {
		rate = rate * m.op[TransB] / 100
	}
	cycles := func(cm, cn int64) int64 { return mulDiv(mul(mul(cm, cn), ck), 1000, max(rate, 1)) }
	gm, gn := min(cm, m.k.grainCube/int64(b.M)), min(cn, m.k.grainCube/int64(b.N))
	m.total.Cube = mul(cycles(cm, cn), w.Batch)
	m.block.Cube = m.spread(m.total.Cube, cycles(gm, gn))
	// Whole tiles leave cores without work in the last round. Kernels choose smaller ones before they waste much.
	tm, tn := max(m.tileM()/int64(b.M), 1), max(m.k.tileN/int64(b.N), 1)
	rounds := ceilDiv(mul(mul(ceilDiv(cm, tm), ceilDiv(cn, tn)), w.Batch), m.n)
	most := mulDiv(m.block.Cube, 100+m.k.tileWaste, 100)
	m.block.Cube = max(m.block.Cube, min(mul(rounds, cycles(min(cm, tm), min(cn, tn))), most))

	bits := int64(max(w.MacType.Bits(), 4))
	tiles := func(cm, cn int64) int64 { // MTE1 loads both operands of each output tile into L0
		a := mul(mul(cm*int64(b.M), ck*int64(b.K)), ceilDiv(cn*int64(b.N), m.k.tileN))
		c := mul(mul(cn*int64(b.N), ck*int64(b.K)), ceilDiv(cm*int64(b.M), m.tileM()))
		r := &m.chip.Rates
		return mulDiv(a, bits, 8*int64(max(r.L1ToL0A, 1))) + mulDiv(c, bits, 8*int64(max(r.L1ToL0B, 1)))
	}
	m.total.MTE1 = mul(tiles(cm, cn), w.Batch)
	m.block.MTE1 = m.spread(m.total.MTE1, tiles(gm, gn))
}

// tileM is how many rows of the usual output tile L0C holds.
func (m *model) tileM() int64 { return max(int64(m.chip.L0C)/4/m.k.tileN, 16) }

// vector charges the vector unit. Matrix products on a core without a cube land here too.
func (m *model) vector(w *Work) {
	hundredths := mul(w.VectorOps, 100)
	if instr := m.op[Instr]; instr > 0 {
		hundredths = mul(elements(w), instr)
	}
	if !m.hasCube {
		hundredths = min(hundredths+mul(mul(mul(w.M, w.N), mul(w.K, w.Batch)), 100), ceiling)
	}
	ops := ceilDiv(hundredths, 100)
	if ops == 0 {
		return
	}
	// An instruction works on 256 bytes; 8-bit types are computed as 16-bit ones, 64-bit ones are put together from
	// several instructions. Bfloat16 is computed as float32, and so is more than plain arithmetic on float16.
	lanes := int64(m.chip.VecLanes)
	switch bits := w.VectorType.Bits(); {
	case bits >= 64:
		lanes /= 16
	case bits == 32, w.VectorType == tensor.BFloat16, w.VectorType == tensor.Float16 && LookupOperator(w.Type).Instr > plainInstr:
		lanes /= 2
	}
	lanes = max(lanes, 1) * int64(m.chip.VecPipes)
	if m.hasCube && m.chip.Split {
		lanes *= 2 // two vector cores go with a cube core
	}
	m.block.Vector = ceilDiv(m.spread(ops, m.k.grainOps), lanes)
	m.total.Vector = ceilDiv(ops, lanes)
}

// plainInstr is up to how many instructions an element of an operator count as plain arithmetic.
const plainInstr = 4

// elements is how many elements the vector unit passes: as given, or those of the longer direction.
func elements(w *Work) int64 {
	if w.Elements > 0 {
		return w.Elements
	}
	return max(w.ReadBytes, w.WriteBytes) / int64(max(w.VectorType.Size(), 1))
}

func (m *model) scalar(w *Work) {
	m.block.Scalar = m.spread(w.ScalarOps, m.k.grainOps)
	m.total.Scalar = w.ScalarOps
}
