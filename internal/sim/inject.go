package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"npu/internal/problem"
	"npu/internal/trace"
)

// InjectKind is a kind of fault that can be raised on purpose.
type InjectKind string

// Kinds.
const (
	InjectOOB     InjectKind = "aicore-oob"    // a move reaches beyond an operand
	InjectUB      InjectKind = "ub-oob"        // the computation reaches beyond the core's buffer
	InjectDivZero InjectKind = "div-zero"      // the scalar unit divides by zero
	InjectIllegal InjectKind = "illegal-instr" // an instruction that the core does not have
	InjectBus     InjectKind = "bus-error"     // the bus refuses an access
	InjectECC     InjectKind = "ecc"           // uncorrectable memory under an address or operand
	InjectHang    InjectKind = "hang"          // the kernel never ends
	InjectDMA     InjectKind = "dma"           // a copy fails
)

// InjectKinds lists all kinds.
func InjectKinds() []InjectKind {
	return []InjectKind{InjectOOB, InjectUB, InjectDivZero, InjectIllegal, InjectBus, InjectECC, InjectHang, InjectDMA}
}

// Injection is a fault to raise: its kind, and which task it meets. Conditions that are −1 or empty do not matter.
type Injection struct {
	Kind   InjectKind
	Op     string  // name of the kernel, or one of those that were fused into it
	Task   int64   // task id, in a sunk graph the position in its stream
	Stream int64   // stream id
	Nth    int64   // the n-th task that the other conditions let through, from 1; with Again each n-th
	Addr   uint64  // ecc: memory that cannot be corrected; others: what the task touches
	After  int64   // device ns before which nothing happens
	Chance float64 // of each task, 0 is certain
	Seed   uint64
	Again  bool   // not only once
	Spec   string // what was asked for, for messages: "--inject ecc@op=conv1"

	seen  int64
	fired uint64
	rng   *rand.Rand
}

// Fired is how often the fault was raised. Read it when nothing runs.
func (i *Injection) Fired() uint64 { return i.fired }

// Unmet is the error of the first injection that met no task although it was certain to; nil if there is none.
func Unmet(list []*Injection) error {
	for _, i := range list {
		if i.fired == 0 && i.Chance == 0 {
			return problem.Failedf("%s: no task met these conditions: see the names with --trace run.npt and 'npu trace stats run.npt'", i.Spec)
		}
	}
	return nil
}

// Inject raises these faults as well from now on; nameOf is the text of a string id. Call it from Port.Call or before
// anything runs.
func (m *Machine) Inject(list []*Injection, nameOf func(trace.StringID) string) {
	m.injections, m.nameOf = append(m.injections, list...), nameOf
	for _, i := range list {
		i.rng = rand.New(rand.NewPCG(i.Seed, 0x6e7075))
		if i.Kind == InjectECC && i.Addr != 0 {
			for _, d := range m.devices {
				if d.Bytes(i.Addr, 1) != nil {
					d.Poison(i.Addr)
					i.fired++
				}
			}
		}
	}
}

// injected raises a fault at the head of q, which is about to start, if one is to meet it.
func (m *Machine) injected(q *Queue) *Fault {
	for _, i := range m.injections {
		if i.Kind == InjectECC && i.Addr != 0 || i.fired > 0 && !i.Again || !m.meets(i, q) {
			continue
		}
		operand := 0
		if i.Addr != 0 {
			if operand = m.touched(q, i.Addr); operand < 0 {
				continue
			}
		}
		i.seen++
		if i.Nth > 0 && i.seen%i.Nth != 0 || i.Chance > 0 && i.rng.Float64() >= i.Chance {
			continue
		}
		i.fired++
		return m.makeFault(i, q, operand)
	}
	return nil
}

// meets says whether the conditions of i hold for the head of q.
func (m *Machine) meets(i *Injection, q *Queue) bool {
	if kernel := q.fn != nil && q.fn.engine() != trace.EngineAICPU; kernel == (i.Kind == InjectDMA) {
		return false
	}
	task := int64(uint16(q.task))
	if q.instance != nil {
		task = int64(q.cur)
	}
	switch {
	case m.now < i.After, i.Task >= 0 && i.Task != task, i.Stream >= 0 && i.Stream != int64(q.name):
		return false
	case i.Op == "":
		return true
	}
	id := q.desc().name()
	if q.fn != nil && id == 0 {
		id = q.fn.Name
	}
	name := m.nameOf(id)
	return name == i.Op || q.fn != nil && slices.Contains(q.fn.Origin, i.Op)
}

// touched is the number of the operand of q's head that lies around an address, -1 if none does. Of a kernel that says
// nothing of its operands the first PoisonUnit bytes of each count.
func (m *Machine) touched(q *Queue, addr uint64) int {
	d := q.desc()
	if q.fn == nil {
		switch {
		case addr-d[5] < d[7]:
			return 0
		case d.kind() != trace.Memset && d.kind() != trace.CacheOp && addr-d[6] < d[7]:
			return 1
		}
		return -1
	}
	for k, a := range m.argWords(q) {
		n := uint64(PoisonUnit)
		if k < len(q.fn.Operands) {
			n = uint64(q.fn.Operands[k].Bytes)
		}
		if addr-a < n {
			return k
		}
	}
	return -1
}

// argWords are the arguments of the kernel at the head of q, as far as the launch or the function says how many there
// are.
func (m *Machine) argWords(q *Queue) []uint64 {
	d := q.desc()
	var args []uint64
	b, bad := q.space.Resolve(q.argsOf(d), 8*max(d.argWords(), len(q.fn.Operands)), Read)
	for ; bad == nil && len(b) >= 8; b = b[8:] {
		args = append(args, le64(b))
	}
	return args
}

// makeFault is the fault of the head of q, at one of its operands.
func (m *Machine) makeFault(i *Injection, q *Queue, operand int) *Fault {
	if i.Kind == InjectDMA {
		f := &Fault{Code: CodeSDMACopy, Addr: q.desc()[5+operand], HasAddr: true, Operand: operand, injected: true, Detail: "the copy engine met an error (injected)"}
		if i.Addr != 0 {
			f.Addr = i.Addr
		}
		return f
	}
	f := &Fault{Code: CodeAICoreException, injected: true, Operand: operand}
	if q.engine == uint8(trace.EngineVector) {
		f.Code = CodeVectorException
	}
	op := Operand{Role: "argument", Index: operand}
	if operand < len(q.fn.Operands) {
		op = q.fn.Operands[operand]
	}
	at := i.Addr
	var start uint64
	if args := m.argWords(q); operand < len(args) {
		start = args[operand]
	}
	if at == 0 && (i.Kind == InjectBus || i.Kind == InjectECC) {
		at = m.middle(q, operand, start)
	}
	switch i.Kind {
	case InjectOOB:
		f.cause, f.Addr, f.HasAddr = causeMTE, start+uint64(op.Bytes+63)&^31, true
		f.Detail = fmt.Sprintf("MTE access beyond the end of %s %d (injected)", op.Role, op.Index)
	case InjectBus:
		f.cause, f.Addr, f.HasAddr = causeBus, at, true
		f.Detail = fmt.Sprintf("the bus refused an access to %s %d (injected)", op.Role, op.Index)
	case InjectUB:
		f.cause, f.Detail = causeUB, "the computation reaches beyond the buffer of the core (injected)"
	case InjectDivZero:
		f.cause, f.Detail = causeDivide, "scalar division by zero (injected)"
	case InjectIllegal:
		f.cause, f.Detail = causeIllegal, "illegal instruction (injected)"
	case InjectECC:
		q.dev.Poison(at)
		f.Code, f.cause, f.Addr, f.HasAddr = CodeMemoryECC, causeBus, at, true
		f.Detail = fmt.Sprintf("uncorrectable error of the memory under %s %d (injected)", op.Role, op.Index)
	case InjectHang:
		return m.endless(q, "the kernel does not end (injected)")
	}
	return f
}
