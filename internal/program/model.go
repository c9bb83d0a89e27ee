package program

import (
	"npu/internal/runtime"
	"npu/internal/sim"
	"npu/internal/tensor"
)

// Statements of models that are built by hand.
type (
	// ModelStmt: model NAME, build NAME.
	ModelStmt struct {
		Head
		Name string
		Ref  Ref
	}
	// BindStmt: bind STREAM to MODEL, unbind STREAM from MODEL.
	BindStmt struct {
		Head
		What  Ref
		Model Ref
		Later bool // starts when it is activated
	}
	// EndTaskStmt: endtask MODEL on STREAM.
	EndTaskStmt struct {
		Head
		What Ref
		On   On
	}
	// ActivateStmt: activate STREAM on STREAM.
	ActivateStmt struct {
		Head
		What Ref
		On   On
	}
	// BranchStmt: branch WORD < WORD to STREAM on STREAM.
	BranchStmt struct {
		Head
		Left, Right Ref
		Cond        sim.Condition
		To          Ref
		On          On
	}
	// LabelStmt: label NAME.
	LabelStmt struct {
		Head
		Name string
	}
	// JumpStmt: place LABEL on STREAM, goto LABEL on STREAM, jump WORD to LABEL LABEL … on STREAM.
	JumpStmt struct {
		Head
		Index  Ref // of jump
		Labels []Ref
		On     On
	}
)

// comparisons are the conditions of a branch.
var comparisons = map[string]sim.Condition{"==": sim.Equal, "!=": sim.NotEqual, ">": sim.Greater, ">=": sim.GreaterOrEqual, "<": sim.Less, "<=": sim.LessOrEqual}

func modelForms() []Form {
	const g = "Models built by hand"
	bind := func(s *parser, h Head) Stmt {
		st := &BindStmt{Head: h, What: s.ref("the name of a stream", false)}
		word := map[string]string{"bind": "to", "unbind": "from"}[h.Verb]
		if !s.word(word) {
			s.fail("%v: expected %s", s.peek(), word)
		}
		st.Model = s.ref("the name of a model", false)
		st.Later = h.Verb == "bind" && s.word("later")
		return st
	}
	label := func(s *parser, h Head) Stmt {
		return &JumpStmt{Head: h, Labels: []Ref{s.ref("the name of a label", false)}, On: s.onStream("a stream of the model")}
	}
	return []Form{
		{"model", "model NAME", "aclmdlRIBuildBegin", "begins a graph that is built by hand: from its persistent streams, which are bound to it; execute, show, abort and destroy take it as well", g,
			func(s *parser, h Head) Stmt { return &ModelStmt{Head: h, Name: s.name("model")} }},
		{"bind", "bind STREAM to MODEL [later]", "aclmdlRIBindStream", "what is submitted to the persistent stream belongs to the model; it starts with each execution, with later only when it is activated", g, bind},
		{"unbind", "unbind STREAM from MODEL", "aclmdlRIUnbindStream", "gives the stream back", g, bind},
		{"endtask", "endtask MODEL on STREAM", "aclmdlRIEndTask", "an execution ends when the stream comes here; once in a model", g,
			func(s *parser, h Head) Stmt {
				return &EndTaskStmt{h, s.ref("the name of a model", false), s.onStream("a stream of the model")}
			}},
		{"build", "build MODEL", "aclmdlRIBuildEnd", "the model is complete and can be executed", g,
			func(s *parser, h Head) Stmt { return &ModelStmt{Head: h, Ref: s.ref("the name of a model", false)} }},
		{"activate", "activate STREAM on STREAM", "aclrtActiveStream", "when the second stream comes here, the first one starts from its first task and runs beside it", g,
			func(s *parser, h Head) Stmt {
				return &ActivateStmt{h, s.ref("the name of a stream", false), s.onStream("a stream of the model")}
			}},
		{"branch", "branch WORD[I] == | != | > | >= | < | <= WORD[I] to STREAM on STREAM", "aclrtSwitchStream", "compares two words of device memory, i64 or i32: if it holds, the first stream starts and the second one stops here", g, parseBranch},
		{"label", "label NAME", "aclrtCreateLabel", "a place in a stream of a model to jump to", g,
			func(s *parser, h Head) Stmt { return &LabelStmt{h, s.name("label")} }},
		{"place", "place LABEL on STREAM", "aclrtSetLabel", "the label is here; once", g, label},
		{"goto", "goto LABEL on STREAM", "rtLabelGoto", "the stream goes on at the label", g, label},
		{"jump", "jump WORD[I] to LABEL LABEL … on STREAM", "aclrtSwitchLabelByIndex", "the stream goes on at the label that an i32 in device memory numbers, from 0; beyond the list at the last one", g,
			func(s *parser, h Head) Stmt {
				st := &JumpStmt{Head: h, Index: s.ref("an i32 buffer", true)}
				if !s.word("to") {
					s.fail("%v: expected to", s.peek())
				}
				for s.bad == nil && s.peek().kind == tokName && s.peek().text != "on" && len(st.Labels) < 256 {
					st.Labels = append(st.Labels, s.ref("the name of a label", false))
				}
				st.On = s.onStream("a stream of the model")
				return st
			}},
	}
}

func parseBranch(s *parser, h Head) Stmt {
	st := &BranchStmt{Head: h, Left: s.ref("an i64 or i32 buffer", true)}
	t := s.next()
	cond, ok := comparisons[t.text]
	if st.Cond = cond; t.kind != tokPunct || !ok {
		s.failAt(t.pos, t.String()+": expected ==, !=, >, >=, < or <=", "")
	}
	if st.Right = s.ref("an i64 or i32 buffer", true); !s.word("to") {
		s.fail("%v: expected to", s.peek())
	}
	st.To, st.On = s.ref("the name of a stream", false), s.onStream("a stream of the model")
	return st
}

func (st *ModelStmt) check(c *checker) {
	if st.Verb == "model" {
		c.declare(&st.Head, st.Name, "graph")
	} else {
		c.find(st.Ref, "graph")
	}
}

func (st *ModelStmt) run(h *host) error {
	if st.Verb == "model" {
		m, err := h.th.BuildModelBegin(st.Name)
		if err == nil {
			h.env[st.Name] = m
		}
		return err
	}
	m, err := get[*runtime.Model](h, st.Ref.Name)
	if err != nil {
		return err
	}
	return h.th.BuildModelEnd(m)
}

func (st *BindStmt) check(c *checker) {
	c.on(On{Name: st.What.Name, Pos: st.What.Pos})
	c.find(st.Model, "graph")
}

func (st *BindStmt) run(h *host) error {
	s, err := get[*runtime.Stream](h, st.What.Name)
	if err != nil {
		return err
	}
	m, err := get[*runtime.Model](h, st.Model.Name)
	switch {
	case err != nil:
		return err
	case st.Verb == "unbind":
		return h.th.UnbindStream(m, s)
	}
	return h.th.BindStream(m, s, !st.Later)
}

func (st *EndTaskStmt) check(c *checker) {
	c.find(st.What, "graph")
	c.on(st.On)
}

func (st *EndTaskStmt) run(h *host) error {
	m, s, err := h.graphOn(st.What, st.On)
	if err != nil {
		return err
	}
	return h.th.EndTask(m, s)
}

func (st *ActivateStmt) check(c *checker) {
	c.on(On{Name: st.What.Name, Pos: st.What.Pos})
	c.on(st.On)
}

func (st *ActivateStmt) run(h *host) error {
	target, err := get[*runtime.Stream](h, st.What.Name)
	if err != nil {
		return err
	}
	s, err := h.on(st.On)
	if err != nil {
		return err
	}
	return h.th.ActiveStream(target, s)
}

// oneWord resolves a word of device memory; types are those it may have.
func (c *checker) oneWord(r Ref, types ...tensor.DType) tensor.DType {
	s, n := c.buffer(r)
	if s == nil {
		return types[0]
	}
	t := s.buffer.Type.DType
	ok := false
	for _, want := range types {
		ok = ok || t == want
	}
	switch {
	case !ok:
		c.fail(r.Pos, "", "%s holds %v: a word here is %v", r.Name, t, types[0])
	case n > 1 && r.Lo != nil:
		c.fail(r.Pos, r.Name+"[0]", "a word is one element")
	case s.buffer.Kind != OnDevice:
		c.fail(r.Pos, "", "%s is host memory: the device reads the word when it comes to it", r.Name)
	}
	return t
}

func (st *BranchStmt) check(c *checker) {
	l := c.oneWord(st.Left, tensor.Int64, tensor.Uint64, tensor.Int32)
	r := c.oneWord(st.Right, tensor.Int64, tensor.Uint64, tensor.Int32)
	if (l == tensor.Int32) != (r == tensor.Int32) {
		c.fail(st.Right.Pos, "", "%s is %v and %s %v: both words have one width", st.Left.Name, l, st.Right.Name, r)
	}
	c.on(On{Name: st.To.Name, Pos: st.To.Pos})
	c.on(st.On)
}

func (st *BranchStmt) run(h *host) error {
	l, err := h.span(st.Left)
	if err != nil {
		return err
	}
	r, err := h.span(st.Right)
	if err != nil {
		return err
	}
	to, err := get[*runtime.Stream](h, st.To.Name)
	if err != nil {
		return err
	}
	s, err := h.on(st.On)
	if err != nil {
		return err
	}
	width := runtime.Int64
	if l.dtype == tensor.Int32 {
		width = runtime.Int32
	}
	return h.th.SwitchStream(l.ptr(), st.Cond, r.ptr(), width, to, nil, s)
}

func (st *LabelStmt) check(c *checker) { c.declare(&st.Head, st.Name, "label") }

func (st *LabelStmt) run(h *host) error {
	h.env[st.Name] = h.th.CreateLabel()
	return nil
}

func (st *JumpStmt) check(c *checker) {
	if st.Verb == "jump" {
		c.oneWord(st.Index, tensor.Int32)
		if len(st.Labels) == 0 {
			c.fail(st.Pos, "name the labels behind to", "a jump without labels")
		}
	}
	for _, l := range st.Labels {
		c.find(l, "label")
	}
	c.on(st.On)
}

func (st *JumpStmt) run(h *host) error {
	s, err := h.on(st.On)
	if err != nil {
		return err
	}
	var list []*runtime.Label
	for _, r := range st.Labels {
		l, err := get[*runtime.Label](h, r.Name)
		if err != nil {
			return err
		}
		list = append(list, l)
	}
	switch st.Verb {
	case "place":
		return h.th.SetLabel(list[0], s)
	case "goto":
		return h.th.GotoLabel(list[0], s)
	}
	w, err := h.span(st.Index)
	if err != nil {
		return err
	}
	return h.th.SwitchLabelByIndex(w.ptr(), list, s)
}
