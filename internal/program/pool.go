package program

import "npu/internal/runtime"

// Statements of memory in stream order.
type (
	// PoolStmt: pool NAME.
	PoolStmt struct {
		Head
		Name  string
		Limit Expr // nil: all of the device's memory
	}
	// AllocateStmt: allocate NAME TYPE from POOL.
	AllocateStmt struct {
		Head
		Name string
		Type TypeRef
		From Ref
		On   On
	}
	// ReleaseStmt: release BUFFER.
	ReleaseStmt struct {
		Head
		What Ref
		On   On
	}
	// TrimStmt: trim POOL SIZE.
	TrimStmt struct {
		Head
		What Ref
		Keep Expr
	}
)

func poolForms() []Form {
	const g = "Memory in stream order"
	return []Form{
		{"pool", "pool NAME [limit SIZE]", "aclrtMemPoolCreate", "a pool of the current device, which hands out memory in the order of streams; of all its memory if nothing is said", g,
			func(s *parser, h Head) Stmt {
				st := &PoolStmt{Head: h, Name: s.name("pool")}
				if s.word("limit") {
					st.Limit = s.expr()
				}
				return st
			}},
		{"allocate", "allocate NAME TYPE from POOL [on STREAM]", "aclrtMemPoolMallocAsync", "a device buffer for tasks of the stream from here on; what is in it nobody knows", g,
			func(s *parser, h Head) Stmt {
				st := &AllocateStmt{Head: h, Name: s.name("buffer"), Type: s.typeRef()}
				if !s.word("from") {
					s.fail("%v: expected from", s.peek())
				}
				st.From, st.On = s.ref("the name of a pool", false), s.on()
				return st
			}},
		{"release", "release BUFFER [on STREAM]", "aclrtMemPoolFreeAsync", "gives the memory back behind what the stream has to do; also memory that is of no pool", g,
			func(s *parser, h Head) Stmt {
				return &ReleaseStmt{Head: h, What: s.ref("the name of a buffer", false), On: s.on()}
			}},
		{"trim", "trim POOL SIZE", "aclrtMemPoolTrimTo", "gives idle memory of the pool back until no more than this is reserved", g,
			func(s *parser, h Head) Stmt {
				return &TrimStmt{h, s.ref("the name of a pool", false), s.expr()}
			}},
	}
}

func (st *PoolStmt) check(c *checker) {
	c.unit(st.Limit, Size)
	c.declare(&st.Head, st.Name, "pool")
}

func (st *PoolStmt) run(h *host) error {
	n, err := h.value(st.Limit, 0)
	if err != nil {
		return err
	}
	p, err := h.th.CreatePool(n)
	if err == nil {
		h.env[st.Name] = p
	}
	return err
}

func (st *AllocateStmt) check(c *checker) {
	c.find(st.From, "pool")
	c.on(st.On)
	c.declare(&st.Head, st.Name, "buffer").buffer = &BufferStmt{Head: st.Head, Name: st.Name, Type: st.Type}
}

func (st *AllocateStmt) run(h *host) error {
	p, err := get[*runtime.StreamPool](h, st.From.Name)
	if err != nil {
		return err
	}
	s, err := h.on(st.On)
	if err != nil {
		return err
	}
	n, err := st.Type.Shape.Bytes(st.Type.DType)
	if err != nil {
		return err
	}
	count, err := st.Type.Shape.Elements()
	if err != nil {
		return err
	}
	addr, err := h.th.PoolMalloc(p, int64(n), s)
	if err == nil {
		h.env[st.Name] = &buffer{name: st.Name, kind: OnDevice, dtype: st.Type.DType, count: count, addr: addr}
	}
	return err
}

func (st *ReleaseStmt) check(c *checker) {
	if s := c.find(st.What, "buffer"); s != nil && s.buffer.Kind != OnDevice {
		c.fail(st.What.Pos, "free "+st.What.Name, "%s is host memory", st.What.Name)
	}
	c.on(st.On)
}

func (st *ReleaseStmt) run(h *host) error {
	b, err := get[*buffer](h, st.What.Name)
	if err != nil {
		return err
	}
	s, err := h.on(st.On)
	if err != nil {
		return err
	}
	return h.th.PoolFree(b.addr, s)
}

func (st *TrimStmt) check(c *checker) {
	c.find(st.What, "pool")
	c.unit(st.Keep, Size)
}

func (st *TrimStmt) run(h *host) error {
	p, err := get[*runtime.StreamPool](h, st.What.Name)
	if err != nil {
		return err
	}
	n, err := h.value(st.Keep, 0)
	if err != nil {
		return err
	}
	return h.th.TrimPool(p, n)
}
