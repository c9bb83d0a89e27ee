package sim

import (
	"fmt"

	"npu/internal/sim/soc"
	"npu/internal/trace"
)

// Time-outs of kernels. The chip counts in ticks.
const (
	OpTick       = int64(1) << 32 // ns
	OpTicksMax   = 254
	opTimeoutMax = OpTicksMax * OpTick // 1091 s
)

// Endless is a block time of a kernel that never ends by itself.
const Endless = int64(1) << 61

// opDefault is how long a kernel may run on a chip when nobody has said so, in ns.
func opDefault(chip *soc.Chip, aicpu bool) int64 {
	seconds := int64(0)
	switch {
	case chip.Short == "Ascend310P" && !aicpu:
		seconds = 547
	case chip.Short == "Ascend910" && !aicpu:
		seconds = 68
	case aicpu && (chip.Short == "Ascend310P" || chip.Short == "Ascend910" || chip.Short == "Ascend310B"):
		seconds = 28
	default:
		return opTimeoutMax
	}
	return seconds * 1e9
}

// SetOpTimeout limits the execution of every later kernel, rounded up to ticks and capped; 0 is the maximum. It returns
// what holds then. Call it from Port.Call.
func (m *Machine) SetOpTimeout(ns int64) int64 {
	m.opTimeout = OpTicks(ns)
	m.shortNs = m.opTimeout >> 16
	return m.opTimeout
}

// OpTicks is the limit that the chip makes of one in ns: rounded up to ticks and capped; 0 is the maximum.
func OpTicks(ns int64) int64 {
	if ns > 0 && ns < opTimeoutMax {
		return (ns + OpTick - 1) / OpTick * OpTick
	}
	return opTimeoutMax
}

// limit is how long the kernel at the head of q may run.
func (m *Machine) limit(q *Queue, d *Desc) int64 {
	switch {
	case d.flags()&FlagLimit != 0:
		return int64(d[5])
	case m.opTimeout > 0:
		return m.opTimeout
	case q.engine == uint8(trace.EngineAICPU):
		return q.dev.cpuDefault
	}
	return q.dev.opDefault
}

// overtime is the fault of a kernel that takes longer than it may, nil for others.
func (m *Machine) overtime(q *Queue) *Fault {
	d := q.desc()
	if d[0]&(uint64(FlagLimit)<<16) == 0 && q.blocks <= 1<<16 && q.blockNs <= m.shortNs {
		return nil // nearly always, and without a division
	}
	limit := m.limit(q, d)
	units := int64(q.dev.engines[q.engine].units)
	if waves := (int64(q.blocks) + units - 1) / units; q.blockNs <= limit/waves {
		return nil
	}
	return m.endless(q, "the kernel does not end")
}

// endless lets the head of q, a kernel, run until its time is over.
func (m *Machine) endless(q *Queue, what string) *Fault {
	limit := m.limit(q, q.desc())
	q.blockNs = limit
	q.left = min(q.left, q.dev.engines[q.engine].units)
	f := &Fault{Code: CodeAICoreTimeout, cause: causeHang, Operand: -1,
		Detail: fmt.Sprintf("%s within the %d ms that it has", what, limit/1e6)}
	switch q.fn.engine() {
	case trace.EngineVector:
		f.Code = CodeVectorTimeout
	case trace.EngineAICPU:
		f.Code = CodeAICPUTimeout
	}
	return f
}

// disturbed is what keeps the head of q, which is about to start, from doing its work: an injected fault, or its time.
func (m *Machine) disturbed(q *Queue) *Fault {
	if m.injections != nil {
		if f := m.injected(q); f != nil {
			return f
		}
	}
	if q.fn != nil {
		return m.overtime(q)
	}
	return nil
}

// copying makes the fault of an address that of a copy.
func (f *Fault) copying() {
	if f.Code != CodeMemoryECC {
		f.Code = CodeSDMACopy
	}
}
