package program

import (
	"fmt"
	"slices"
	"strings"

	"npu/internal/runtime"
	"npu/internal/sim"
)

// Statements of faults, overflow and repair.
type (
	// InjectStmt: inject KIND ….
	InjectStmt struct {
		Head
		Kind      sim.InjectKind
		Op        *Ref // kernel
		On        On
		Task, Nth Expr // nil: any
		At        *Ref // what it touches
		After     Expr // device time; nil: now
		Chance    float64
		Seed      Expr
		Again     bool
	}
	// OverflowStmt: overflow saturate, overflow check STREAM, ….
	OverflowStmt struct {
		Head
		What string // saturate, infnan, watch, status, reset
		Ref  Ref    // of watch, status
		Off  bool
		On   On
	}
	// ErrorsStmt: errors, uce, with what is expected.
	ErrorsStmt struct {
		Head
		Is    string // of errors
		Count Expr   // of uce
	}
	// RepairStmt: repair memory, repair errors.
	RepairStmt struct {
		Head
		What string
	}
)

func faultForms() []Form {
	const g = "Faults and repair"
	var kinds []string
	for _, k := range sim.InjectKinds() {
		kinds = append(kinds, string(k))
	}
	return []Form{
		{"inject", "inject " + strings.Join(kinds, " | ") + " [op KERNEL] [on STREAM] [task N] [nth N] [at BUFFER[I]] [after TIME] [chance P [seed N]] [again]", "",
			"a fault for the next task that meets all conditions: a launch of the kernel, in the stream, with the task id, the N-th one, one that touches the element, one that starts at that device time or later. With a chance each such task has it, with again each", g, parseInject},
		{"overflow", "overflow saturate | infnan\noverflow watch STREAM [off]\noverflow status BUFFER [on STREAM]\noverflow reset [on STREAM]",
			"aclrtSetDeviceSatMode, aclrtSetStreamOverflowSwitch, aclrtGetOverflowStatus, aclrtResetOverflowStatus",
			"results beyond the range of their type become the greatest value, or infinite. In the first mode overflows of watched streams are noted in a status of 64 bytes. A stream with attribute overflow on returns them as errors", g, parseOverflow},
		{"errors", "errors [is none | memory | l2 | aicore | link | other]", "aclrtGetErrorVerbose", "what the latest error of the device is of: printed, or expected", g,
			func(s *parser, h Head) Stmt {
				st := &ErrorsStmt{Head: h}
				if s.word("is") {
					st.Is = s.oneOf("none", "memory", "l2", "aicore", "link", "other")
				}
				return st
			}},
		{"uce", "uce [is N]", "aclrtGetMemUceInfo", "memory that cannot be corrected: printed, or how many places of 4 KiB there should be", g,
			func(s *parser, h Head) Stmt {
				st := &ErrorsStmt{Head: h}
				if s.word("is") {
					st.Count = s.expr()
				}
				return st
			}},
		{"repair", "repair memory | errors", "aclrtMemUceRepair, aclrtRepairError", "replaces memory that cannot be corrected by zeros; or puts the latest error right, behind abort device", g,
			func(s *parser, h Head) Stmt { return &RepairStmt{h, s.oneOf("memory", "errors")} }},
	}
}

func parseInject(s *parser, h Head) Stmt {
	st := &InjectStmt{Head: h, On: On{Sync: true}}
	t := s.next()
	kind := t.text
	for t.kind == tokName && s.punct("-") { // names have no hyphens
		kind += "-" + s.next().text
	}
	if st.Kind = sim.InjectKind(kind); !slices.Contains(sim.InjectKinds(), st.Kind) {
		var all []string
		for _, k := range sim.InjectKinds() {
			all = append(all, string(k))
		}
		s.failAt(t.pos, fmt.Sprintf("%q is no fault: expected %s", kind, orList(all)), "")
		return st
	}
	for s.bad == nil {
		switch {
		case s.word("op"):
			r := s.ref("the name of a kernel", false)
			st.Op = &r
		case s.peek().text == "on":
			st.On = s.on()
		case s.word("task"):
			st.Task = s.expr()
		case s.word("nth"):
			st.Nth = s.expr()
		case s.word("at"):
			r := s.ref("a buffer", true)
			st.At = &r
		case s.word("after"):
			st.After = s.expr()
		case s.word("chance"):
			p := s.peek().pos
			if st.Chance = s.float(); s.bad == nil && !(st.Chance > 0 && st.Chance <= 1) {
				s.failAt(p, "a chance lies above 0 and is at most 1", "chance 0.01")
			}
			if s.word("seed") {
				st.Seed = s.expr()
			}
		case s.word("again"):
			st.Again = true
		default:
			return st
		}
	}
	return st
}

func parseOverflow(s *parser, h Head) Stmt {
	st := &OverflowStmt{Head: h, What: s.oneOf("saturate", "infnan", "watch", "status", "reset")}
	switch st.What {
	case "watch":
		st.Ref, st.Off = s.ref("the name of a stream", false), s.word("off")
	case "status":
		st.Ref = s.ref("a buffer of 64 bytes", true)
		st.On = s.on()
	case "reset":
		st.On = s.on()
	}
	return st
}

func (st *InjectStmt) check(c *checker) {
	if st.Op != nil {
		c.find(*st.Op, "kernel")
		if st.Kind == sim.InjectDMA {
			c.fail(st.Op.Pos, "leave it out", "dma is a fault of copies, not of kernels")
		}
	}
	c.on(st.On)
	for _, e := range []Expr{st.Task, st.Nth, st.Seed} {
		c.unit(e, Plain)
	}
	c.between(st.Task, 0, 1<<32, "task")
	c.between(st.Nth, 1, 1<<40, "nth")
	c.limit(st.After)
	if st.At != nil {
		if s, _ := c.buffer(*st.At); s != nil && s.buffer.Kind == Pageable {
			c.fail(st.At.Pos, "", "%s is pageable host memory, which no task touches", st.At.Name)
		}
	}
}

func (st *InjectStmt) run(h *host) error {
	i := &sim.Injection{Kind: st.Kind, Task: -1, Stream: -1, Chance: st.Chance, Seed: 1, Again: st.Again || st.Chance > 0, Spec: h.r.prog.Line(st.Pos.Line)}
	if st.Op != nil {
		i.Op = st.Op.Name
	}
	var err error
	set := func(to *int64, e Expr) {
		if v, bad := h.value(e, *to); bad != nil {
			err = bad
		} else {
			*to = v
		}
	}
	set(&i.Task, st.Task)
	set(&i.Nth, st.Nth)
	set(&i.After, st.After)
	seed := int64(i.Seed)
	set(&seed, st.Seed)
	i.Seed = uint64(seed)
	if err != nil {
		return err
	}
	if st.On.Name != "" {
		s, err := get[*runtime.Stream](h, st.On.Name)
		if err != nil {
			return err
		}
		i.Stream = int64(s.ID())
	} else if !st.On.Sync {
		s, err := h.th.DefaultStream()
		if err != nil {
			return err
		}
		i.Stream = int64(s.ID())
	}
	if st.At != nil {
		s, err := h.span(*st.At)
		if err != nil {
			return err
		}
		i.Addr = uint64(s.ptr())
	}
	if err := h.th.Inject(i); err != nil {
		return err
	}
	h.r.inject(st, i)
	return nil
}

func (st *OverflowStmt) check(c *checker) {
	switch st.What {
	case "watch":
		c.on(On{Name: st.Ref.Name, Pos: st.Ref.Pos})
	case "status":
		if s, n := c.buffer(st.Ref); s != nil && n >= 0 && n*s.buffer.Type.DType.Size() != 64 {
			c.fail(st.Ref.Pos, "declare it: buffer "+st.Ref.Name+" device u32[16]", "the status has 64 bytes, %s has %d", st.Ref.Name, n*s.buffer.Type.DType.Size())
		} else if s != nil && s.buffer.Kind == Pageable {
			c.fail(st.Ref.Pos, "take device or pinned memory", "%s is pageable host memory, which the device does not write", st.Ref.Name)
		}
		c.on(st.On)
	case "reset":
		c.on(st.On)
	}
}

func (st *OverflowStmt) run(h *host) error {
	switch st.What {
	case "saturate":
		return h.th.SetOverflowMode(runtime.Saturate)
	case "infnan":
		return h.th.SetOverflowMode(runtime.InfNaN)
	case "watch":
		s, err := get[*runtime.Stream](h, st.Ref.Name)
		if err != nil {
			return err
		}
		return h.th.SetStreamOverflowSwitch(s, !st.Off)
	}
	s, err := h.on(st.On)
	if err != nil {
		return err
	}
	if st.What == "reset" {
		return h.th.ResetOverflowStatus(s)
	}
	b, err := h.span(st.Ref)
	if err != nil {
		return err
	}
	return h.th.OverflowStatus(b.ptr(), int64(b.n), s)
}

func (st *ErrorsStmt) check(c *checker) {
	c.unit(st.Count, Plain)
	c.between(st.Count, 0, 128, "places")
}

func (st *ErrorsStmt) run(h *host) error {
	d, err := h.th.Device()
	if err != nil {
		return err
	}
	if st.Verb == "uce" {
		return st.memory(h, d)
	}
	x, err := h.th.ErrorVerbose(d)
	if err != nil {
		return err
	}
	if st.Is != "" {
		if h.r.checked.Add(1); x.Kind.String() != st.Is {
			return fmt.Errorf("the latest error is of %v, expected %s", x.Kind, st.Is)
		}
		return nil
	}
	text := "latest error: " + x.Kind.String()
	if x.Kind == runtime.CoreError {
		text += ", cause: " + x.Core.String()
	}
	if x.TryRepair {
		text += ", can be repaired"
	}
	h.say(text)
	return nil
}

// memory lists what cannot be corrected.
func (st *ErrorsStmt) memory(h *host, device int) error {
	list, err := h.th.MemUceInfo(device)
	if err != nil {
		return err
	}
	if st.Count != nil {
		want, err := h.value(st.Count, 0)
		if err != nil {
			return err
		}
		if h.r.checked.Add(1); int64(len(list)) != want {
			return fmt.Errorf("%d places of memory cannot be corrected, expected %d", len(list), want)
		}
		return nil
	}
	text := "all memory is sound"
	for i, u := range list {
		if i == 0 {
			text = "uncorrectable:"
		}
		text += fmt.Sprintf(" 0x%x (%d bytes)", uint64(u.Addr), u.Bytes)
	}
	h.say(text)
	return nil
}

func (st *RepairStmt) check(*checker) {}

func (st *RepairStmt) run(h *host) error {
	d, err := h.th.Device()
	if err != nil {
		return err
	}
	if st.What == "errors" {
		x, err := h.th.ErrorVerbose(d)
		if err != nil {
			return err
		}
		return h.th.RepairError(d, x)
	}
	list, err := h.th.MemUceInfo(d)
	for err == nil && len(list) > 0 {
		n := min(len(list), 20) // of one call
		err = h.th.MemUceRepair(d, list[:n])
		list = list[n:]
	}
	return err
}
