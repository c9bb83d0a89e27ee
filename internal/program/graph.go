package program

import (
	"fmt"
	"strings"

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
	// BodyStmt: if NAME on STREAM … else … end, while NAME on STREAM … end, switch NAME on STREAM case … case … end.
	BodyStmt struct {
		Head
		Cond   Ref
		On     On
		Bodies [][]Stmt

		cased bool // of a switch: a case has begun
	}
	// ShowStmt: show GRAPH json, show GRAPH dot.
	ShowStmt struct {
		Head
		What Ref
		Form string
	}
	// CapturedStmt: captured STREAM is active.
	CapturedStmt struct {
		Head
		What Ref
		Is   string // "" prints
	}
	// ExchangeStmt: exchange relaxed.
	ExchangeStmt struct {
		Head
		Mode string
	}
)

func (st *BodyStmt) take(list []Stmt) { st.Bodies = append(st.Bodies, list) }
func (st *BodyStmt) parts() [][]Stmt  { return st.Bodies }

// captureModes are the words of the modes.
var captureModes = map[string]runtime.CaptureMode{"": runtime.CaptureGlobal, "global": runtime.CaptureGlobal, "local": runtime.CaptureThreadLocal, "relaxed": runtime.CaptureRelaxed}

// part ends a body of an if or switch and begins the next one. The lines before the first case must be none.
func (s *parser) part(h Head) {
	b := s.open[len(s.open)-1]
	st, ok := b.stmt.(*BodyStmt)
	switch {
	case h.Verb == "else" && (!ok || st.Verb != "if" || len(st.Bodies) > 0):
		s.failAt(h.Pos, "else without an if", "if CONDITION on STREAM, then lines, else, lines, end")
	case h.Verb == "case" && (!ok || st.Verb != "switch"):
		s.failAt(h.Pos, "case without a switch", "switch CONDITION on STREAM, then case and lines for each value, end")
	case h.Verb == "case" && !st.cased && len(b.body) > 0:
		s.failAt(b.body[0].head().Pos, "a statement before the first case", "each one belongs to a case")
	case h.Verb == "case" && !st.cased:
		st.cased = true
	default:
		st.take(b.body)
		b.body = nil
	}
}

func graphForms() []Form {
	const g = "Graphs"
	body := func(s *parser, h Head) Stmt {
		st := &BodyStmt{Head: h, Cond: s.ref("the name of a condition", false)}
		st.On = s.onStream("the stream that is captured")
		return st
	}
	part := func(s *parser, h Head) Stmt { s.part(h); return nil }
	return []Form{
		{"capture", "capture STREAM [global | local | relaxed]", "aclmdlRICaptureBegin", "what is submitted to the stream from here on becomes a graph and does not run; the mode says whose synchronous copies are forbidden meanwhile", g,
			func(s *parser, h Head) Stmt {
				st := &CaptureStmt{Head: h, What: s.ref("the name of a stream", false)}
				st.Mode = s.words("global", "local", "relaxed")
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
		{"condition", "condition NAME on STREAM [= N]", "aclmdlRICondHandleCreate", "a word of type i64[1] for if, while and switch of the graph that the stream is captured for; it is N, or 0, at the begin of each execution", g,
			func(s *parser, h Head) Stmt {
				st := &ConditionStmt{Head: h, Name: s.name("condition"), On: s.on()}
				if s.punct("=") {
					st.Value = s.expr()
				}
				return st
			}},
		{"if", "if CONDITION on STREAM … [else …] end", "aclmdlRIAddCondTask, aclmdlRICaptureToModelRIBegin", "the device runs what is submitted to the stream up to end if the word is not 0; if it is 0, what stands behind else", g, body},
		{"else", "else", "", "begins the other half of an if", g, part},
		{"while", "while CONDITION on STREAM … end", "aclmdlRIAddCondTask, aclmdlRICaptureToModelRIBegin", "the device runs it again and again, as long as the word is not 0", g, body},
		{"switch", "switch CONDITION on STREAM case … case … end", "aclmdlRIAddCondTask, aclmdlRICaptureToModelRIBegin", "the device runs the case that the word numbers, from 0; none if there are fewer", g, body},
		{"case", "case", "", "begins a case of a switch", g, part},
		{"taskgroup", "taskgroup NAME on STREAM … end", "aclmdlRICaptureTaskGrpBegin, aclmdlRICaptureTaskGrpEnd", "the launches up to end are a group of the captured graph, which can be updated", g,
			func(s *parser, h Head) Stmt {
				return &TaskGroupStmt{Head: h, Name: s.name("task group"), On: s.onStream("the stream that is captured")}
			}},
		{"update", "update TASKGROUP on STREAM … end", "aclmdlRICaptureTaskUpdateBegin, aclmdlRICaptureTaskUpdateEnd", "the launches up to end take the place of those of the group, in the order of the stream, for executions behind it", g,
			func(s *parser, h Head) Stmt {
				return &UpdateStmt{Head: h, What: s.ref("the name of a task group", false), On: s.onStream("the stream in whose order it happens")}
			}},
		{"exchange", "exchange global | local | relaxed", "aclmdlRICaptureThreadExchangeMode", "what calls this thread may make while something is captured", g,
			func(s *parser, h Head) Stmt { return &ExchangeStmt{h, s.oneOf("global", "local", "relaxed")} }},
		{"captured", "captured STREAM [is none | active | invalidated]", "aclmdlRICaptureGetInfo", "the state of the stream's capture: printed, or expected", g,
			func(s *parser, h Head) Stmt {
				st := &CapturedStmt{Head: h, What: s.ref("the name of a stream", false)}
				if s.word("is") {
					st.Is = s.oneOf("none", "active", "invalidated")
				}
				return st
			}},
		{"show", "show GRAPH json | dot", "aclmdlRIDebugJsonPrint", "prints the graph: its streams, tasks and order", g,
			func(s *parser, h Head) Stmt {
				return &ShowStmt{h, s.ref("the name of a graph", false), s.oneOf("json", "dot")}
			}},
	}
}

func (st *CaptureStmt) check(c *checker) { c.on(On{Name: st.What.Name, Pos: st.What.Pos}) }

func (st *CaptureStmt) run(h *host) error {
	s, err := get[*runtime.Stream](h, st.What.Name)
	if err != nil {
		return err
	}
	return h.th.CaptureBegin(s, captureModes[st.Mode])
}

func (st *GraphStmt) check(c *checker) {
	c.on(On{Name: st.From.Name, Pos: st.From.Pos})
	c.declare(&st.Head, st.Name, "graph")
}

func (st *GraphStmt) run(h *host) error {
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

func (st *ExecuteStmt) check(c *checker) {
	c.find(st.What, "graph")
	c.on(st.On)
}

func (st *ExecuteStmt) run(h *host) error {
	m, s, err := h.graphOn(st.What, st.On)
	if err != nil {
		return err
	}
	return h.th.ExecuteModel(m, s)
}

func (st *ConditionStmt) check(c *checker) {
	c.on(st.On)
	c.unit(st.Value, Plain)
	b := &BufferStmt{Head: st.Head, Name: st.Name, Type: TypeRef{Pos: st.Pos, DType: tensor.Int64, Shape: tensor.Shape{1}}}
	c.declare(&st.Head, st.Name, "buffer").buffer = b
}

func (st *ConditionStmt) run(h *host) error {
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

func (st *BodyStmt) check(c *checker) {
	c.find(st.Cond, "buffer")
	c.on(st.On)
	if st.Verb == "switch" && !st.cased {
		c.fail(st.Pos, "a line \"case\" before the tasks of each value", "a switch without a case")
	}
	for _, b := range st.Bodies {
		c.block(b)
	}
}

// run captures the lines of the bodies: the name of the stream stands for one of their own meanwhile.
func (st *BodyStmt) run(h *host) error {
	outer, err := h.on(st.On)
	if err != nil {
		return err
	}
	b, err := get[*buffer](h, st.Cond.Name)
	if err != nil {
		return err
	}
	kind := map[string]runtime.ConditionKind{"if": runtime.If, "while": runtime.While, "switch": runtime.Switch}[st.Verb]
	bodies, err := h.th.AddCondition(outer, b.cond, kind, len(st.Bodies))
	if err != nil {
		return err
	}
	for i, body := range st.Bodies {
		if err := h.captureBody(st.On.Name, bodies[i], body); err != nil {
			return err
		}
	}
	return nil
}

// captureBody captures the lines of one body.
func (h *host) captureBody(name string, m *runtime.Model, lines []Stmt) error {
	outer := h.env[name]
	inner, err := h.th.CreateStream(runtime.StreamConfig{})
	if err != nil {
		return err
	}
	if err := h.th.CaptureToModel(inner, m, runtime.CaptureGlobal); err != nil {
		return err
	}
	h.env[name] = inner
	err = h.block(lines)
	h.env[name] = outer
	if err != nil {
		return err
	}
	if _, err := h.th.CaptureEnd(inner); err != nil {
		return err
	}
	return h.th.DestroyStream(inner)
}

func (st *ShowStmt) check(c *checker) { c.find(st.What, "graph") }

func (st *ShowStmt) run(h *host) error {
	m, err := get[*runtime.Model](h, st.What.Name)
	if err != nil {
		return err
	}
	var b strings.Builder
	if st.Form == "json" {
		err = h.th.WriteModelJSON(m, &b)
	} else {
		err = h.th.WriteModelDOT(m, &b)
	}
	if err == nil {
		h.say(strings.TrimSpace(b.String()))
	}
	return err
}

func (st *CapturedStmt) check(c *checker) { c.on(On{Name: st.What.Name, Pos: st.What.Pos}) }

func (st *CapturedStmt) run(h *host) error {
	s, err := get[*runtime.Stream](h, st.What.Name)
	if err != nil {
		return err
	}
	got, _, err := h.th.CaptureInfo(s)
	switch {
	case err != nil:
		return err
	case st.Is == "":
		h.say(fmt.Sprintf("the capture of %s is %s", st.What.Name, captureStates[got]))
		return nil
	}
	if h.r.checked.Add(1); captureStates[got] != st.Is {
		return fmt.Errorf("the capture of %s is %s, expected %s", st.What.Name, captureStates[got], st.Is)
	}
	return nil
}

// captureStates are the words for the states of a capture.
var captureStates = map[runtime.CaptureStatus]string{runtime.CaptureStatusNone: "none", runtime.CaptureStatusActive: "active", runtime.CaptureStatusInvalidated: "invalidated"}

func (st *ExchangeStmt) check(*checker) {}

func (st *ExchangeStmt) run(h *host) error {
	_, err := h.th.ExchangeCaptureMode(captureModes[st.Mode])
	return err
}
