package program

import (
	"npu/internal/runtime"
	"npu/internal/tensor"
)

// Statements of graphs.
type (
	// CaptureStmt: capture STREAM.
	CaptureStmt struct {
		Head
		What Ref
		Mode string // "", global, local, relaxed
	}
	// GraphStmt: graph NAME from STREAM.
	GraphStmt struct {
		Head
		Name string
		From Ref
	}
	// ExecuteStmt: execute GRAPH.
	ExecuteStmt struct {
		Head
		What Ref
		On   On
	}
	// ConditionStmt: condition NAME on STREAM.
	ConditionStmt struct {
		Head
		Name  string
		On    On
		Value Expr // nil: 0
	}
	// BodyStmt: if NAME on STREAM … end, while NAME on STREAM … end.
	BodyStmt struct {
		Head
		Cond Ref
		On   On
		Body []Stmt
	}
)

func graphForms() []Form {
	const g = "Graphs"
	body := func(s *parser, h Head) Stmt {
		st := &BodyStmt{Head: h, Cond: s.ref("the name of a condition", false)}
		if st.On = s.on(); s.bad == nil && st.On.Name == "" {
			s.fail("%v: expected on STREAM, the stream that is captured", s.peek())
		}
		return st
	}
	return []Form{
		{"capture", "capture STREAM [global | local | relaxed]", "aclmdlRICaptureBegin", "what is submitted to the stream from here on becomes a graph and does not run; the mode says whose synchronous copies are forbidden meanwhile", g,
			func(s *parser, h Head) Stmt {
				st := &CaptureStmt{Head: h, What: s.ref("the name of a stream", false)}
				for _, m := range []string{"global", "local", "relaxed"} {
					if s.word(m) {
						st.Mode = m
						break
					}
				}
				return st
			}},
		{"graph", "graph NAME from STREAM", "aclmdlRICaptureEnd", "ends the capture of the stream; NAME is the graph", g,
			func(s *parser, h Head) Stmt {
				st := &GraphStmt{Head: h, Name: s.name("graph")}
				if !s.word("from") {
					s.fail("%v: expected from", s.peek())
				}
				st.From = s.ref("the name of a stream", false)
				return st
			}},
		{"execute", "execute GRAPH [on STREAM]", "aclmdlRIExecuteAsync", "one execution of the graph, in the order of the stream", g,
			func(s *parser, h Head) Stmt {
				return &ExecuteStmt{Head: h, What: s.ref("the name of a graph", false), On: s.on()}
			}},
		{"condition", "condition NAME on STREAM [= N]", "aclmdlRICondHandleCreate", "a word of type i64[1] for if and while of the graph that the stream is captured for; it is N, or 0, at the begin of each execution", g,
			func(s *parser, h Head) Stmt {
				st := &ConditionStmt{Head: h, Name: s.name("condition"), On: s.on()}
				if s.punct("=") {
					st.Value = s.expr()
				}
				return st
			}},
		{"if", "if CONDITION on STREAM … end", "aclmdlRIAddCondTask, aclmdlRICaptureToModelRIBegin", "the device runs what is submitted to the stream up to end if the word is not 0", g, body},
		{"while", "while CONDITION on STREAM … end", "aclmdlRIAddCondTask, aclmdlRICaptureToModelRIBegin", "the device runs it again and again, as long as the word is not 0", g, body},
	}
}

func (c *checker) graphs(st Stmt) {
	switch st := st.(type) {
	case *CaptureStmt:
		c.on(On{Name: st.What.Name, Pos: st.What.Pos})
	case *GraphStmt:
		c.on(On{Name: st.From.Name, Pos: st.From.Pos})
		c.declare(&st.Head, st.Name, "graph")
	case *ExecuteStmt:
		c.find(st.What, "graph")
		c.on(st.On)
	case *ConditionStmt:
		c.on(st.On)
		c.unit(st.Value, Plain)
		b := &BufferStmt{Head: st.Head, Name: st.Name, Type: TypeRef{Pos: st.Pos, DType: tensor.Int64, Shape: tensor.Shape{1}}}
		c.declare(&st.Head, st.Name, "buffer").buffer = b
	case *BodyStmt:
		c.find(st.Cond, "buffer")
		c.on(st.On)
		c.block(st.Body)
	}
}

func (h *host) capture(st *CaptureStmt) error {
	s, err := get[*runtime.Stream](h, st.What.Name)
	if err != nil {
		return err
	}
	mode := runtime.CaptureGlobal
	switch st.Mode {
	case "local":
		mode = runtime.CaptureThreadLocal
	case "relaxed":
		mode = runtime.CaptureRelaxed
	}
	return h.th.CaptureBegin(s, mode)
}

func (h *host) graph(st *GraphStmt) error {
	s, err := get[*runtime.Stream](h, st.From.Name)
	if err != nil {
		return err
	}
	m, err := h.th.CaptureEnd(s)
	if err == nil {
		h.env[st.Name] = m
	}
	return err
}

func (h *host) execute(st *ExecuteStmt) error {
	m, err := get[*runtime.Model](h, st.What.Name)
	if err != nil {
		return err
	}
	s, err := h.on(st.On)
	if err != nil {
		return err
	}
	return h.th.ExecuteModel(m, s)
}

func (h *host) condition(st *ConditionStmt) error {
	s, err := h.on(st.On)
	if err != nil {
		return err
	}
	v, err := h.value(st.Value, 0)
	if err != nil {
		return err
	}
	_, m, err := h.th.CaptureInfo(s)
	if err != nil {
		return err
	}
	c, err := h.th.CreateCondition(m, uint64(v), true)
	if err != nil {
		return err
	}
	h.env[st.Name] = &buffer{name: st.Name, kind: OnDevice, dtype: tensor.Int64, count: 1, addr: c.Ptr(), cond: c}
	return nil
}

// body captures the lines of an if or while: the name of the stream stands for one of their own meanwhile.
func (h *host) body(st *BodyStmt) error {
	outer, err := h.on(st.On)
	if err != nil {
		return err
	}
	b, err := get[*buffer](h, st.Cond.Name)
	if err != nil {
		return err
	}
	kind := runtime.If
	if st.Verb == "while" {
		kind = runtime.While
	}
	bodies, err := h.th.AddCondition(outer, b.cond, kind, 1)
	if err != nil {
		return err
	}
	inner, err := h.th.CreateStream(runtime.StreamConfig{})
	if err != nil {
		return err
	}
	if err := h.th.CaptureToModel(inner, bodies[0], runtime.CaptureGlobal); err != nil {
		return err
	}
	h.env[st.On.Name] = inner
	err = h.block(st.Body)
	h.env[st.On.Name] = outer
	if err != nil {
		return err
	}
	if _, err := h.th.CaptureEnd(inner); err != nil {
		return err
	}
	return h.th.DestroyStream(inner)
}
