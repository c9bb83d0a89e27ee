package program

import (
	"fmt"

	"npu/internal/runtime"
)

// AttributeStmt is attribute STREAM NAME = VALUE and its like.
type AttributeStmt struct {
	Head
	What  Ref
	Name  Ref
	Sign  string // "" prints, "=" sets, "is" expects
	Word  string // a value that is a word
	Value Expr
}

// streamAttributes and poolAttributes are the names, with the words that stand for 0, 1, …; nil: a number.
var (
	streamAttributes = map[string][]string{"failure": {"continue", "stop"}, "overflow": {"off", "on"}, "priority": nil, "tag": nil}
	poolAttributes   = map[string][]string{"follow_events": {"off", "on"}, "opportunistic": {"off", "on"}, "internal_waits": {"off", "on"},
		"threshold": nil, "reserved": nil, "reserved_high": nil, "used": nil, "used_high": nil}
	poolNumbers = map[string]runtime.PoolAttr{"follow_events": runtime.ReuseFollowEvents, "opportunistic": runtime.ReuseOpportunistic, "internal_waits": runtime.ReuseInternalWaits,
		"threshold": runtime.PoolReleaseThreshold, "reserved": runtime.PoolReservedCurrent, "reserved_high": runtime.PoolReservedHighWater,
		"used": runtime.PoolUsedCurrent, "used_high": runtime.PoolUsedHighWater}
)

func parseAttribute(s *parser, h Head) Stmt {
	st := &AttributeStmt{Head: h, What: s.ref("the name of a stream or a pool", false), Name: s.ref("the name of an attribute", false)}
	switch {
	case s.punct("="):
		st.Sign = "="
	case s.word("is"):
		st.Sign = "is"
	default:
		return st
	}
	if st.Word = s.words("continue", "stop", "off", "on"); st.Word == "" {
		st.Value = s.expr()
	}
	return st
}

func (st *AttributeStmt) check(c *checker) {
	s := c.find(st.What, "stream", "pool")
	if s == nil {
		return
	}
	names, list := streamAttributes, "failure, overflow, priority or tag"
	if s.kind == "pool" {
		names, list = poolAttributes, "follow_events, opportunistic, internal_waits, threshold, reserved, reserved_high, used or used_high"
	}
	words, ok := names[st.Name.Name]
	switch {
	case !ok:
		c.fail(st.Name.Pos, "", "a %s has no attribute %s: expected %s", s.kind, st.Name.Name, list)
	case st.Sign == "":
	case words == nil && st.Word != "":
		c.fail(st.Name.Pos, "", "%s is a number, not %s", st.Name.Name, st.Word)
	case words != nil && st.Word == "":
		c.fail(st.Name.Pos, "", "%s is %s", st.Name.Name, orList(words))
	case words != nil && st.Word != words[0] && st.Word != words[1]:
		c.fail(st.Name.Pos, "", "%s is %s, not %s", st.Name.Name, orList(words), st.Word)
	case s.kind == "pool":
		c.unit(st.Value, Size)
	default:
		c.unit(st.Value, Plain)
		if st.Name.Name == "priority" && st.Sign == "=" {
			c.fail(st.Name.Pos, "stream NAME priority N", "the priority of a stream is given when it is made")
		}
	}
}

func (st *AttributeStmt) run(h *host) error {
	v, err := h.value(st.Value, 0)
	if err != nil {
		return err
	}
	name := st.Name.Name
	if p, ok := h.env[st.What.Name].(*runtime.StreamPool); ok {
		words := poolAttributes[name]
		if st.Sign == "=" {
			return h.th.SetPoolAttribute(p, poolNumbers[name], uint64(wordValue(words, st.Word, v)))
		}
		got, err := h.th.PoolAttribute(p, poolNumbers[name])
		if err != nil {
			return err
		}
		return h.compare(st, words, int64(got), wordValue(words, st.Word, v))
	}
	s, err := get[*runtime.Stream](h, st.What.Name)
	if err != nil {
		return err
	}
	words := streamAttributes[name]
	v = wordValue(words, st.Word, v)
	if st.Sign == "=" {
		return h.setAttribute(s, name, v)
	}
	got, err := h.attribute(s, name)
	if err != nil {
		return err
	}
	return h.compare(st, words, got, v)
}

// wordValue is the value of a word, or v.
func wordValue(words []string, word string, v int64) int64 {
	for i, w := range words {
		if w == word {
			return int64(i)
		}
	}
	return v
}

func (h *host) setAttribute(s *runtime.Stream, name string, v int64) error {
	switch name {
	case "failure":
		return h.th.SetStreamFailureMode(s, runtime.FailureMode(v))
	case "overflow":
		return h.th.SetStreamOverflowCheck(s, v != 0)
	}
	return h.th.SetStreamTag(s, uint32(v))
}

func (h *host) attribute(s *runtime.Stream, name string) (int64, error) {
	switch name {
	case "failure":
		m, err := h.th.StreamFailureMode(s)
		return int64(m), err
	case "overflow":
		on, err := h.th.StreamOverflowCheck(s)
		return wordValue([]string{"false", "true"}, fmt.Sprint(on), 0), err
	case "tag":
		tag, err := h.th.StreamTag(s)
		return int64(tag), err
	}
	p, err := h.th.StreamPriority(s)
	return int64(p), err
}

// compare prints the value of an attribute, or holds it against the one that is expected.
func (h *host) compare(st *AttributeStmt, words []string, got, want int64) error {
	text := func(v int64) string {
		if v >= 0 && v < int64(len(words)) {
			return words[v]
		}
		return fmt.Sprint(v)
	}
	if st.Sign == "" {
		h.say(fmt.Sprintf("%s %s: %s", st.What.Name, st.Name.Name, text(got)))
		return nil
	}
	if h.r.checked.Add(1); got != want {
		return fmt.Errorf("%s of %s is %s, expected %s", st.Name.Name, st.What.Name, text(got), text(want))
	}
	return nil
}
