package cost

// memory charges the pipes that move data between global memory and the core. All bytes pass through L2. What the
// kernel reads besides weights and what it writes is found there when both fit into it; weights never, since those of
// the rest of the network came by since the last execution.
func (m *model) memory(w *Work) {
	traffic := w.ReadBytes
	if m.hasCube && w.M > 0 {
		// Each operand is read again for every tile of the other dimension. Operands given as an implicit product of
		// a convolution count only once what they really are.
		bits := int64(max(w.MacType.Bits(), 4))
		a := min(mul(mulDiv(mul(w.M, w.K), bits, 8), w.Batch), w.ReadBytes)
		b := min(mul(mulDiv(mul(w.K, w.N), bits, 8), w.Batch), w.ReadBytes)
		again := mul(a, ceilDiv(w.N, m.k.tileN)) + mul(b, ceilDiv(w.M, m.tileM()))
		traffic = min(max(traffic, again), ceiling)
	}
	// What finds room in L2 moves at its own rate, the rest at that of the memory.
	miss := w.WeightBytes + max(w.ReadBytes+w.WriteBytes-w.WeightBytes-m.chip.L2Bytes, 0)
	if w.Cold {
		miss = w.ReadBytes + w.WriteBytes
	}
	hit := w.ReadBytes + w.WriteBytes - miss
	missIn := min(miss, w.ReadBytes)
	loads := missIn + mulDiv(w.ReadBytes-missIn, 100, m.op[L2Gain])
	stores := miss - missIn + mulDiv(w.WriteBytes-(miss-missIn), 100, m.op[L2Gain])
	both := min(miss+mulDiv(hit, 100, m.op[L2Gain]), loads+stores)
	read, write, alone := m.rates()
	in, out := m.fromL2(traffic, read), m.fromL2(w.WriteBytes, write)
	m.block.MTE2 = max(in, m.fromDDR(loads, alone))
	store := max(out, m.fromDDR(stores, alone))
	m.memBound = max(in, out, m.fromDDR(both, alone), m.pieces(w.Runs)) // the ports work side by side, the memory is one

	switch {
	case !m.hasCube:
		m.block.MTE3 = store
	case m.core == Mix || !m.chip.Split: // the vector unit stores; what the cube made went through L0C before
		m.block.MTE3 = store
		if w.M > 0 {
			m.block.Fixpipe = ceilDiv(m.spread(w.WriteBytes, m.k.grainBytes), int64(max(m.chip.Rates.L0CToUB, 1)))
		}
	default:
		m.block.Fixpipe = max(store, ceilDiv(m.spread(w.WriteBytes, m.k.grainBytes), int64(max(m.chip.Rates.L0CToUB, 1))))
		m.memBound = max(m.memBound, m.block.Fixpipe)
	}
	m.l2Bytes, m.miss = min(traffic+w.WriteBytes, ceiling), miss
}

// rates are a core's L2 read and write rates and what it can draw from main memory when the others are idle, in bytes
// a cycle.
func (m *model) rates() (read, write, alone int64) {
	r := &m.chip.Rates
	if m.core == AIV && m.chip.VectorCores > 0 {
		return int64(r.VecL2), int64(r.VecUBToL2), int64(r.VecDDR) * m.k.coreBandwidth
	}
	return int64(r.L2Read), int64(r.L2Write), int64(r.DDRRead) * m.k.coreBandwidth
}

func (m *model) fromL2(bytes, rate int64) int64 {
	return mulDiv(m.spread(bytes, m.k.grainBytes), 100, max(rate*m.k.l2Percent, 1))
}

// pieces is the time of the longest block for its contiguous pieces, each of which is a transfer of its own.
func (m *model) pieces(runs int64) int64 { return mul(m.spread(runs, 1), m.op[Run]) }

// fromDDR is bound by the core and by the memory as a whole.
func (m *model) fromDDR(bytes, alone int64) int64 {
	own := ceilDiv(m.spread(bytes, m.k.grainBytes), max(alone, 1))
	bandwidth := m.chip.BandwidthBytes()
	if nominal := m.chip.NominalMBs * 1e6; nominal > 0 {
		bandwidth = min(bandwidth, nominal/100*m.k.memoryPercent)
	}
	bandwidth = bandwidth / 1000 * m.op[Stream]
	return max(own, mulDiv(bytes, m.mhz*1e6, max(bandwidth, 1)))
}

// account puts the pipes together.
func (m *model) account(blocks int, w *Work) Account {
	launch, buffer := m.op[Start]*m.k.launchVector/(m.k.launchVector+m.k.rampVector), int64(m.chip.VecUB)/8
	read, _, _ := m.rates()
	if m.hasCube {
		launch, buffer = m.op[Start]*m.k.launchCube/(m.k.launchCube+m.k.rampCube), int64(m.chip.L1)/4
	}
	ramp := m.op[Start] - launch
	b := &m.block
	compute := max(b.Cube, b.Vector, b.Scalar, b.MTE1, b.Fixpipe)
	// With double buffering the longest pipe hides the others except for the first load and the last store; what
	// fits into one buffer overlaps with nothing.
	fill := min(compute, m.memBound, mulDiv(buffer, 100, max(read*m.k.l2Percent, 1)))
	core := mulDiv(ramp, m.mhz, 1000) + max(compute, m.memBound) + fill

	waves := int64(1)
	if m.used == m.cores {
		waves = min(max(int64(blocks)/m.cores, 1), m.k.maxWaves)
	}
	n := m.used
	total := mul(core, n)
	c := Cycles{ // the minimum matters only where counts saturated
		Total: total, Cube: min(m.total.Cube, total), Vector: min(m.total.Vector, total), MTE1: min(m.total.MTE1, total),
		Scalar: min(m.total.Scalar+m.k.scalar*n, total), ICache: min(m.k.icache*n, total),
		MTE2: min(b.MTE2*n, total), MTE3: min(b.MTE3*n, total), Fixpipe: min(b.Fixpipe*n, total),
		ReadBytes: w.ReadBytes, WriteBytes: w.WriteBytes,
	}
	c.L2Misses = ceilDiv(m.miss, m.k.line)
	c.L2Hits = max(ceilDiv(m.l2Bytes, m.k.line)-c.L2Misses, 0)
	ns := launch + (n-1)*m.k.dispatch + mulDiv(core, 1000, m.mhz)
	return Account{Blocks: int(n * waves), BlockNs: ceilDiv(ns, waves), Cycles: c}
}
