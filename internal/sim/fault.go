package sim

import (
	"fmt"

	"npu/internal/blackbox/aicore"
	"npu/internal/blackbox/errring"
	"npu/internal/trace"
)

// Device codes of faults, as a completion entry carries them.
const (
	CodeScheduler          = 0x01 // what the scheduler itself refuses
	CodeAICoreTimeout      = 0x25
	CodeAICoreException    = 0x26
	CodeAICoreTrap         = 0x27
	CodeAICPUTimeout       = 0x28
	CodeAICPUException     = 0x2A
	CodeAICoreOverflow     = 0x2F // not fatal: the results are there
	CodeVectorTimeout      = 0x30
	CodeVectorException    = 0x31
	CodeVectorOverflow     = 0x33
	CodeTaskTimeout        = 0x105 // a wait on the device took longer than its limit
	CodeAborted            = 0x10E
	CodeSDMACopy           = 0x217
	CodeMemoryECC          = 0x07010028 // an inner code: the memory cannot be corrected
	CodeIllegalInstruction = CodeAICoreException
)

// Fault is what went wrong on the device: an asynchronous error of one task.
type Fault struct {
	Code   uint32 // device code
	Addr   uint64 // address that missed, if HasAddr
	Detail string // in words

	HasAddr  bool
	Device   int
	Stream   uint32
	Task     uint32 // flip count << 16 | task id
	Time     int64
	Name     uint32 // string id of the kernel or copy
	Model    uint32 // model instance, 0 none
	Thread   uint16 // that submitted it
	Kind     trace.Kind
	Func     uint32 // of a kernel
	Blocks   uint32
	ArgWords int      // of the argument block, as far as the launch has said
	Args     uint64   // address of the argument block
	Words    []uint64 // the operands A, B, C of the descriptor

	Operand  int         // number of the operand that missed, among the argument words
	Cores    []CoreState // that ran the kernel; the failed one among them
	Text     []uint32    // of the kernel, as the device holds it
	TextAddr uint64

	cause    cause
	injected bool
}

func (f *Fault) Error() string {
	s := fmt.Sprintf("device fault 0x%x", f.Code)
	if f.HasAddr {
		s += fmt.Sprintf(" at address 0x%x", f.Addr)
	}
	if f.Detail != "" {
		s += ": " + f.Detail
	}
	return s
}

// Benign says that the task has done its work all the same: its code is returned, and nothing stops for it.
func (f *Fault) Benign() bool { return f.Code == CodeAICoreOverflow || f.Code == CodeVectorOverflow }

// Hung says that a core ran over its time.
func (f *Fault) Hung() bool { return f.Code == CodeAICoreTimeout || f.Code == CodeVectorTimeout }

// Software says that the program is to blame: the core met an address, an instruction or a number that it cannot work
// with.
func (f *Fault) Software() bool {
	switch f.cause {
	case causeBus, causeHang:
		return false
	}
	return f.Code == CodeAICoreException || f.Code == CodeVectorException
}

// Where names the core that failed, " on AIV 3"; empty if it was none, or all.
func (f *Fault) Where() string {
	for i := range f.Cores {
		if c := &f.Cores[i]; c.Failed {
			return " on " + c.Name()
		}
	}
	return ""
}

// ArithmeticFault is the fault of a computation that cannot be done: a division by zero.
func ArithmeticFault(code uint32, err error) *Fault {
	return &Fault{Code: code, Detail: err.Error(), cause: causeVecDiv}
}

// DivisionFault is the fault of a kernel whose scalar unit divides by zero.
func DivisionFault(code uint32) *Fault {
	return &Fault{Code: code, Detail: "integer division by zero", cause: causeDivide}
}

// fail marks the head task of q as failed. The fault is the queue's when the task ends.
func (m *Machine) fail(q *Queue, f *Fault) {
	d := q.desc()
	f.Device, f.Stream, f.Time = q.dev.id, q.name, m.now
	f.Task = q.task
	f.Name = uint32(d.name())
	if q.fn != nil && f.Name == 0 {
		f.Name = uint32(q.fn.Name)
	}
	f.Thread, f.Kind, f.Func = d.thread(), d.kind(), d.function()
	if !f.Kind.Kernel() {
		f.Words = []uint64{d[5], d[6], d[7]}
	} else {
		f.Args, f.ArgWords, f.Blocks = d[4], d.argWords(), d.blocks()
		f.Args = q.argsOf(d)
	}
	if f.cause == causeHang {
		f.Time += q.blockNs
	}
	if !f.Benign() {
		m.cores(q, f)
		q.dev.lastFault = f
	}
	q.code, q.pending = f.Code, f
	if in := q.instance; in != nil {
		f.Task, f.Model = uint32(q.cur), in.id+1
		if in.fault == nil {
			in.fault = f
		}
	}
	if m.onFault != nil {
		m.onFault(f)
	}
}

// errorSlots is how many errors the ring between device and host holds.
func (m *Machine) errorSlots() int {
	family, _ := aicore.FamilyOfChip(m.devices[0].chip.Short)
	return errring.FormOf(family).Slots
}

// faulted ends the head task of q, which has failed, at time end. If faults are reported, the queue waits for that: for
// room in the error ring first, if the host is behind.
func (m *Machine) faulted(q *Queue, end int64) {
	if m.reports == nil || q.pending == nil {
		m.settle(q, end)
		return
	}
	q.state, q.endT = qBlocked, end
	q.job = &Job{Fault: q.pending, queue: q}
	if m.ringUsed >= m.errorSlots() {
		m.ringWait = append(m.ringWait, q.job)
		m.stats.RingWaits++
		return
	}
	m.ringUsed++
	m.post(m.reports, q.job)
}

// ringRead takes one error out of the ring; one that waits for room comes in.
func (m *Machine) ringRead() {
	m.ringUsed--
	for len(m.ringWait) > 0 && m.ringUsed < m.errorSlots() {
		j := m.ringWait[0]
		m.ringWait = append(m.ringWait[:0], m.ringWait[1:]...)
		if j.queue != nil { // else its queue was aborted
			m.ringUsed++
			m.post(m.reports, j)
		}
	}
}

// settle retires the head of q and lets q go on. A failed task leaves its fault to the queue, or under STOP to the
// whole domain, and then everything behind it is dropped.
func (m *Machine) settle(q *Queue, end int64) {
	if f := q.pending; f != nil && q.instance == nil {
		q.fault, q.faultPos = f, q.cur
		if q.domain.stop && !f.Benign() {
			if q.domain.fault == nil {
				q.domain.fault = f
			}
			q.halted, q.special = true, true
		}
	}
	m.retire(q, end)
	if q.halted {
		m.drop(q, q.arrivedBy(m.now))
	}
	m.fetch(q, m.now+gap)
}
