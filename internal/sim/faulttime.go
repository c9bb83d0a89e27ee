package sim

import (
	"fmt"

	"npu/internal/trace"
)

// Time-outs of kernels. The chip counts in ticks.
const (
	OpTick       = int64(1) << 32 // ns
	OpTicksMax   = 254
	opTimeoutMax = OpTicksMax * OpTick // 1091 s, also the default
)

// Endless is a block time of a kernel that never ends by itself.
const Endless = int64(1) << 61

// SetOpTimeout limits the execution of every later kernel, rounded up to ticks and capped; 0 is the maximum. It returns
// what holds then. Call it from Port.Call.
func (m *Machine) SetOpTimeout(ns int64) int64 {
	m.opTimeout = opTimeoutMax
	if ns > 0 && ns < opTimeoutMax {
		m.opTimeout = (ns + OpTick - 1) / OpTick * OpTick
	}
	return m.opTimeout
}

// overtime is the fault of a kernel that takes longer than it may, nil for others.
func (m *Machine) overtime(q *Queue) *Fault {
	if q.blocks <= 1<<16 && q.blockNs <= m.opTimeout>>16 {
		return nil // nearly always, and without a division
	}
	units := int64(q.dev.engines[q.engine].units)
	if waves := (int64(q.blocks) + units - 1) / units; q.blockNs <= m.opTimeout/waves {
		return nil
	}
	return m.endless(q, "the kernel does not end")
}

// endless lets the head of q, a kernel, run until its time is over.
func (m *Machine) endless(q *Queue, what string) *Fault {
	q.blockNs = m.opTimeout
	q.left = min(q.left, q.dev.engines[q.engine].units)
	f := &Fault{Code: CodeAICoreTimeout, cause: causeHang, Operand: -1,
		Detail: fmt.Sprintf("%s within the %d ms that it has", what, m.opTimeout/1e6)}
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
