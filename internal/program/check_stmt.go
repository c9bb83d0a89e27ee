package program

import (
	"errors"
	"maps"
	"slices"

	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// stmt checks one statement.
func (c *checker) stmt(st Stmt) {
	h := st.head()
	if h.Want != nil && !callsRuntime(st) {
		c.fail(h.Want.Pos, "", "%s calls nothing that could give a code", h.Verb)
	}
	switch st := st.(type) {
	case *DeviceStmt:
		c.device(st.N)
	case *ContextStmt:
		c.device(st.Device)
		c.declare(h, st.Name, "context")
	case *UseStmt:
		if h.Verb != "pop" {
			c.find(st.Ref, "context")
		}
	case *StreamStmt:
		c.unit(st.Priority, Plain)
		c.unit(st.Flags, Plain)
		c.declare(h, st.Name, "stream").stream = st
	case *EventStmt:
		c.declare(h, st.Name, "event").event = st
	case *NotifyStmt:
		c.declare(h, st.Name, "notify")
	case *MutexStmt:
		c.declare(h, st.Name, "mutex")
	case *BufferStmt:
		n, _ := st.Type.Shape.Elements()
		bytes, _ := st.Type.Shape.Bytes(st.Type.DType)
		if bytes > maxHost && (st.Kind != OnDevice || st.Init != nil) {
			c.fail(st.Type.Pos, "larger ones only in device memory, without data", "%s needs %d bytes of this machine's memory, 4 GiB is the most", st.Name, bytes)
		}
		c.data(st.Init, st, n)
		c.declare(h, st.Name, "buffer").buffer = st
	case *KernelStmt:
		c.kernel(st)
		c.declare(h, st.Name, "kernel").kernel = st
	case *CopyStmt:
		c.copies(st)
	case *MemsetStmt:
		if s, _ := c.buffer(st.Dst); s != nil && s.buffer.Kind == Pageable {
			c.fail(st.Dst.Pos, "write it with: set "+st.Dst.Name+" = fill 0", "%s is pageable host memory, which no DMA fills", st.Dst.Name)
		}
		c.unit(st.Value, Plain)
		c.between(st.Value, 0, 255, "byte")
		c.on(st.On)
	case *SetStmt:
		if s, n := c.buffer(st.Dst); s != nil {
			if s.buffer.Kind == OnDevice {
				c.fail(st.Dst.Pos, "set a host buffer and copy it", "%s lies in device memory, where the host cannot write", st.Dst.Name)
			}
			c.data(st.Init, s.buffer, n)
		}
	case *LaunchStmt:
		c.launch(st)
	case *OrderStmt:
		c.order(st)
	case *ValueStmt:
		c.value(st)
	case *HostStmt:
		c.limit(st.Time)
		c.on(st.On)
	case *SyncStmt:
		c.limit(st.Timeout)
		c.waitable(st.What, true)
	case *QueryStmt:
		c.waitable(st.What, false)
	case *ElapsedStmt:
		c.find(st.A, "event")
		c.find(st.B, "event")
		c.limit(st.Is)
		c.limit(st.Within)
	case *ModeStmt:
		c.on(On{Name: st.What.Name, Pos: st.What.Pos})
	case *LimitStmt:
		if st.Of == "wait" {
			c.seconds(st.Time)
		} else {
			c.limit(st.Time)
		}
	case *DestroyStmt:
		c.destroy(st)
	case *ResetDeviceStmt:
		c.device(st.N)
	case *PeerStmt:
		c.device(st.N)
	case *WorkStmt:
		c.limit(st.Time)
	case *PrintStmt:
		for _, p := range st.Parts {
			if p.Ref != nil {
				c.buffer(*p.Ref)
			}
		}
	case *ExpectStmt:
		if st.At != nil {
			c.buffer(st.What)
			c.buffer(*st.At)
		} else if s, n := c.buffer(st.What); s != nil {
			c.data(st.Init, s.buffer, n)
		}
	case *RepeatStmt:
		c.repeat(st)
	case *ThreadStmt:
		c.threadBlock(st)
	case selfStmt:
		st.check(c)
	case *GroupStmt, *CollectiveStmt:
		c.collectives(st)
	case *JoinStmt:
		for _, n := range st.Names {
			c.find(n, "thread")
		}
	}
}

// callsRuntime says whether the statement can give an error code.
func callsRuntime(st Stmt) bool {
	switch st.(type) {
	case *SetStmt, *WorkStmt, *PrintStmt, *ExpectStmt, *RepeatStmt, *ThreadStmt, *LastStmt, *WatchStmt, *MutexStmt:
		return false
	}
	return true
}

// device checks a number of a device; a wrong one is the program's wish, it gives 107001.
func (c *checker) device(e Expr) { c.unit(e, Plain) }

func (c *checker) repeat(st *RepeatStmt) {
	c.unit(st.Count, Plain)
	c.between(st.Count, 0, 1<<40, "count")
	if st.As != "" {
		if c.names[st.As] != nil || c.vars[st.As] {
			c.fail(st.Pos, "choose another name", "%s is in use", st.As)
		}
		c.vars[st.As] = true
		defer delete(c.vars, st.As)
	}
	c.block(st.Body)
}

// threadBlock checks a thread: it sees what was declared before, and nobody sees what it declares.
func (c *checker) threadBlock(st *ThreadStmt) {
	c.declare(&st.Head, st.Name, "thread")
	names := maps.Clone(c.names)
	c.thread = st.Name
	c.block(st.Body)
	c.names, c.thread = names, ""
}

func (c *checker) kernel(st *KernelStmt) {
	if k := st.Own; k != nil {
		c.unit(k.Blocks, Plain)
		c.between(k.Blocks, 1, 1<<20, "blocks")
		c.limit(k.Time)
		if k.Time != nil {
			c.between(k.Time, 1, maxTime, "time in ns")
		}
		return
	}
	k := st.Op
	if _, ok := kernels.Lookup(k.Type); !ok {
		c.fail(k.Pos, "operators have their ONNX names: Add, MatMul, Conv, Softmax; plain kernels begin with vector, cube, mix or aicpu", "%s is no operator of the library", k.Type)
		return
	}
	for _, o := range k.In {
		if n, err := o.Shape.Bytes(o.DType); !o.Absent && (err != nil || n > maxHost) {
			c.fail(o.Pos, "", "an operand of more than 4 GiB")
			return
		}
	}
	spec, bad := k.makeSpec()
	if bad != nil {
		c.mistakes = append(c.mistakes, bad)
		return
	}
	err := kernels.Infer(spec)
	if err == nil {
		for _, d := range spec.Out {
			if !d.Shape.Static() {
				err = errors.New("the shape of a result depends on a value: give that input as a constant, i64[2] = [2 3]")
			}
		}
	}
	if err == nil {
		k.run, err = kernels.Compile(spec)
	}
	if err != nil {
		c.fail(k.Pos, "", "%s: %v", k.Type, err)
		return
	}
	k.spec = spec
}

func (c *checker) copies(st *CopyStmt) {
	dst, n := c.buffer(st.Dst)
	src, m := c.buffer(st.Src)
	c.unit(st.Bytes, Size)
	c.on(st.On)
	if dst == nil || src == nil {
		return
	}
	if dst.buffer.Kind != OnDevice && src.buffer.Kind != OnDevice && !st.On.Sync &&
		(dst.buffer.Kind == Pageable || src.buffer.Kind == Pageable) {
		c.fail(st.Pos, "leave out the stream", "both sides are host memory and one is pageable: no DMA copies that")
	}
	d, s := n*dst.buffer.Type.DType.Size(), m*src.buffer.Type.DType.Size()
	if st.Bytes == nil && n >= 0 && m >= 0 && d != s {
		c.fail(st.Pos, "name a range as x[0:16], or say how much: bytes N", "%s has %d bytes and %s has %d", st.Dst.Name, d, st.Src.Name, s)
	}
}

func (c *checker) launch(st *LaunchStmt) {
	k := c.find(st.Kernel, "kernel")
	c.on(st.On)
	c.limit(st.Timeout)
	var args []*symbol
	var counts []int
	for _, a := range st.Args {
		s, n := c.buffer(a)
		if s != nil && s.buffer.Kind == Pageable {
			c.fail(a.Pos, "copy it to a device buffer first", "%s is pageable host memory, which no kernel reaches", a.Name)
		}
		args, counts = append(args, s), append(counts, n)
	}
	if k == nil || k.kernel.Op == nil {
		if k != nil && k.kernel.Own.Effect != "" && len(args) == 0 {
			c.fail(st.Kernel.Pos, "launch "+st.Kernel.Name+"(x)", "the kernel %ss a value: it needs a buffer", k.kernel.Own.Effect)
		}
		return
	}
	spec := k.kernel.Op.spec
	if spec == nil {
		return // its declaration is a mistake
	}
	var want []kernels.Desc
	inputs := 0
	for _, d := range spec.In {
		if !d.Absent() && d.Const == nil {
			want = append(want, d)
			inputs++
		}
	}
	want = append(want, spec.Out...)
	if len(args) != len(want) || st.Inputs != inputs {
		c.fail(st.Kernel.Pos, launchForm(st.Kernel.Name, inputs, len(spec.Out)), "%s takes %d inputs and %d results, here are %d and %d",
			st.Kernel.Name, inputs, len(spec.Out), st.Inputs, len(args)-st.Inputs)
		return
	}
	for i, d := range want {
		if args[i] == nil {
			continue
		}
		t := args[i].buffer.Type
		n := tensor.Shape(d.Shape).Count()
		if t.DType != d.DType || counts[i] >= 0 && counts[i] != n {
			c.fail(st.Args[i].Pos, "", "%s is %s: %s wants %s here", st.Args[i].Name, operandText(t.DType, t.Shape), st.Kernel.Name, operandText(d.DType, d.Shape))
		}
	}
}

// launchForm shows how a kernel is launched.
func launchForm(name string, in, out int) string {
	s := "launch " + name + "("
	for i := range in + out {
		switch {
		case i == in && i > 0:
			s += " -> "
		case i == in:
			s += "-> "
		case i > 0:
			s += ", "
		}
		s += string(rune('a' + i%26))
	}
	return s + ")"
}

func (c *checker) order(st *OrderStmt) {
	kinds := []string{"event", "notify"}
	if st.Verb == "reset" {
		kinds = kinds[:1]
	}
	if st.External {
		kinds = []string{"event"}
	}
	s := c.find(st.What, kinds...)
	if st.External && st.Timeout != nil {
		c.fail(st.Timeout.at(), "leave it out", "an external event is waited for without a limit")
	}
	c.seconds(st.Timeout)
	c.on(st.On)
	if s == nil {
		return
	}
	switch st.Verb {
	case "record":
		s.recorded = true
	case "wait":
		if s.waited.Line == 0 && st.Want == nil {
			s.waited = st.Pos
		}
	}
}

func (c *checker) value(st *ValueStmt) {
	s, n := c.buffer(st.Word)
	c.unit(st.Value, Plain)
	c.on(st.On)
	if s == nil {
		return
	}
	if t := s.buffer.Type.DType; t != tensor.Uint64 && t != tensor.Int64 {
		c.fail(st.Word.Pos, "declare it: buffer "+st.Word.Name+" device u64[1] = 0", "%s holds %v: a word is a u64", st.Word.Name, t)
	}
	if n > 1 && st.Word.Lo != nil {
		c.fail(st.Word.Pos, "write "+st.Word.Name+"[0]", "a word is one element")
	}
}

// waitable resolves what sync and query take.
func (c *checker) waitable(r Ref, device bool) {
	if r.Name == "default" || device && r.Name == "device" {
		return
	}
	if s := c.find(r, "stream", "event"); s != nil && s.kind == "event" && s.waited.Line == 0 {
		s.waited = r.Pos
	}
}

// destroyKinds is what the statements with one name take.
var destroyKinds = map[string][]string{
	"destroy": {"stream", "event", "notify", "context", "kernel", "graph", "group", "pool"}, "free": {"buffer"}, "abort": {"stream", "graph"}, "stop": {"stream"},
	"subscribe": {"stream"}, "unsubscribe": {"stream"}, "lock": {"mutex"}, "unlock": {"mutex"},
}

func (c *checker) destroy(st *DestroyStmt) {
	if st.Device != nil {
		c.device(st.Device)
		return
	}
	s := c.find(st.What, destroyKinds[st.Verb]...)
	if s == nil {
		return
	}
	if s.stream != nil && s.thread != c.thread {
		s.stream.shared = true
	}
	if st.Force && !slices.Contains([]string{"stream", "context"}, s.kind) {
		c.fail(st.What.Pos, "", "only streams and contexts are destroyed by force")
	}
}
