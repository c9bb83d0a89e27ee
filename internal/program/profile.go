package program

import (
	"fmt"

	"npu/internal/runtime"
)

// Statements of profiling.
type (
	// ProfileStmt: profile start, profile stop, profile model GRAPH, profile records GRAPH.
	ProfileStmt struct {
		Head
		What             string
		Graph            Ref
		Off              bool
		Include, Exclude []string
	}
	// MarkStmt: mark TEXT.
	MarkStmt struct {
		Head
		Text   string
		Domain string // empty: the default one
		On     On
	}
	// RangeStmt: range push TEXT, range pop, range start NAME TEXT, range stop NAME.
	RangeStmt struct {
		Head
		What   string
		Name   Ref
		Text   string
		Domain string
	}
)

// maxDomains bounds the list of a profile start.
const maxDomains = 64

func profileForms() []Form {
	const g = "Profiling"
	return []Form{
		{"profile", "profile start [include DOMAIN … | exclude DOMAIN …]\nprofile stop\nprofile model GRAPH [off]\nprofile records GRAPH",
			"aclprofInit, aclprofCreateConfig, aclprofStart, aclprofFinalize, aclprofModelSubscribe, aclprofModelUnSubscribe",
			"keeps marks from here on, on all devices, of some domains only or of all but some; or no more. Or subscribes to the operators of a graph, and prints those of the executions that have ended since the last time", g, parseProfile},
		{"mark", "mark TEXT [domain NAME] [on STREAM]", "aclprofMark, aclprofMarkEx, mstxMarkA", "a mark of this thread in the trace; with a stream also one between its tasks", g,
			func(s *parser, h Head) Stmt {
				st := &MarkStmt{Head: h, Text: s.str("a text"), Domain: parseDomain(s)}
				if st.On = s.on(); st.Domain != "" && !st.On.Sync {
					s.failAt(st.On.Pos, "a mark of a domain in a stream", "give one of them")
				}
				return st
			}},
		{"range", "range push TEXT\nrange pop\nrange start NAME TEXT [domain NAME]\nrange stop NAME",
			"aclprofPush, aclprofPop, aclprofRangeStart, aclprofRangeStop, mstxRangeStartA, mstxRangeEnd",
			"a range in the trace: between push and pop of one thread, which nest, or from start to stop, which any thread may call", g,
			func(s *parser, h Head) Stmt {
				st := &RangeStmt{Head: h, What: s.oneOf("push", "pop", "start", "stop")}
				switch st.What {
				case "push":
					st.Text = s.str("a text")
				case "stop":
					st.Name = s.ref("the name of a range", false)
				case "start":
					st.Name = Ref{Pos: s.peek().pos, Name: s.name("range")}
					st.Text, st.Domain = s.str("a text"), parseDomain(s)
				}
				return st
			}},
	}
}

func parseProfile(s *parser, h Head) Stmt {
	st := &ProfileStmt{Head: h, What: s.oneOf("start", "stop", "model", "records")}
	names := func() (list []string) {
		for s.bad == nil && len(list) < maxDomains {
			t := s.peek()
			if len(list) > 0 && (t.kind != tokName || t.text == "expect" || t.text == "include" || t.text == "exclude") {
				break
			}
			list = append(list, s.ref("the name of a domain", false).Name)
		}
		return list
	}
	switch {
	case st.What == "model":
		st.Graph = s.ref("the name of a graph", false)
		st.Off = s.word("off")
	case st.What == "records":
		st.Graph = s.ref("the name of a graph", false)
	case st.What == "start" && s.word("include"):
		st.Include = names()
	case st.What == "start" && s.word("exclude"):
		st.Exclude = names()
	}
	return st
}

// parseDomain takes "domain NAME" if it stands there.
func parseDomain(s *parser) string {
	if !s.word("domain") {
		return ""
	}
	return s.ref("the name of a domain, or default", false).Name
}

func (st *ProfileStmt) check(c *checker) {
	if st.Graph.Name != "" {
		c.find(st.Graph, "graph")
	}
}

func (st *MarkStmt) check(c *checker) { c.on(st.On) }

func (st *RangeStmt) check(c *checker) {
	switch st.What {
	case "start":
		c.declare(&st.Head, st.Name.Name, "range")
	case "stop":
		c.find(st.Name, "range")
	}
}

func (st *ProfileStmt) run(h *host) error {
	switch st.What {
	case "start":
		o := runtime.ProfOptions{Metrics: runtime.ProfNoMetrics, Mask: runtime.ProfTX | runtime.ProfTaskTime, Include: st.Include, Exclude: st.Exclude}
		for d := range h.r.rt.Devices() {
			o.Devices = append(o.Devices, d)
		}
		c, err := h.th.CreateProfConfig(o)
		if err != nil {
			return err
		}
		if err := h.th.ProfInit(h.r.prog.Name); err != nil {
			return err
		}
		return h.th.ProfStart(c)
	case "stop":
		return h.th.ProfFinalize() // ends what runs: any thread may say so, whoever has begun it
	}
	g, err := get[*runtime.Model](h, st.Graph.Name)
	if err != nil {
		return err
	}
	key := "profile of " + st.Graph.Name // no name of the program has a blank
	if st.What == "model" && !st.Off {
		sub, err := h.th.SubscribeModel(g)
		if err == nil {
			h.env[key] = sub
		}
		return err
	}
	sub, ok := h.env[key].(*runtime.Subscription)
	switch {
	case !ok:
		return fmt.Errorf("%s is not subscribed: profile model %s comes first", st.Graph.Name, st.Graph.Name)
	case st.Off:
		return h.th.UnsubscribeModel(sub)
	}
	return h.records(st.Graph.Name, sub)
}

// records prints what a subscription holds.
func (h *host) records(graph string, sub *runtime.Subscription) error {
	list, lost, err := h.th.ReadSubscription(sub)
	if err != nil {
		return err
	}
	h.say(fmt.Sprintf("%s: %d operators, %d lost", graph, len(list), lost))
	for _, r := range list {
		h.say(h.r.named(fmt.Sprintf("%s %s from %.3f µs to %.3f µs, %.3f µs, thread %d", r.Type, r.Name, float64(r.Start)/1e3, float64(r.End)/1e3, r.Duration, r.Thread)))
	}
	return nil
}

// domain is what a mark names; nil is the default one.
func (h *host) domain(name string) (*runtime.Domain, error) {
	if name == "" || name == runtime.DefaultDomain {
		return nil, nil
	}
	return h.th.CreateDomain(name)
}

func (st *MarkStmt) run(h *host) error {
	if !st.On.Sync {
		s, err := h.on(st.On)
		if err != nil {
			return err
		}
		return h.th.MarkEx(st.Text, s)
	}
	d, err := h.domain(st.Domain)
	if err != nil {
		return err
	}
	return h.th.Mark(d, st.Text)
}

func (st *RangeStmt) run(h *host) error {
	switch st.What {
	case "push":
		return h.th.PushRange(st.Text)
	case "pop":
		return h.th.PopRange()
	case "stop":
		id, err := get[runtime.RangeID](h, st.Name.Name)
		if err != nil {
			return err
		}
		return h.th.StopRange(id)
	}
	d, err := h.domain(st.Domain)
	if err != nil {
		return err
	}
	id, err := h.th.StartRange(d, st.Text)
	if err == nil {
		h.env[st.Name.Name] = id
	}
	return err
}
