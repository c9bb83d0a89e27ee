package program

import (
	"fmt"

	"npu/internal/runtime"
	"npu/internal/sim"
	"npu/internal/tensor"
)

// Statements of collectives.
type (
	// GroupStmt: group NAME STREAM STREAM ….
	GroupStmt struct {
		Head
		Name    string
		Mesh    bool
		Streams []Ref
	}
	// CollectiveStmt: allreduce GROUP X Y -> X Y, and its like.
	CollectiveStmt struct {
		Head
		Group   Ref
		Op      string // sum, max, min
		In, Out []Ref
		Root    Expr // of a broadcast
	}
)

// maxRanks bounds the lists of a collective while it is parsed.
const maxRanks = 16

func collectiveForms() []Form {
	const g = "Collectives"
	refs := func(s *parser, what string, ranged bool) (list []Ref) {
		for s.bad == nil && s.peek().kind == tokName && s.peek().text != "expect" && s.peek().text != "root" && len(list) < maxRanks {
			list = append(list, s.ref(what, ranged))
		}
		return list
	}
	parse := func(s *parser, h Head) Stmt {
		st := &CollectiveStmt{Head: h, Group: s.ref("the name of a group", false), Op: "sum"}
		if h.Verb == "allreduce" || h.Verb == "reducescatter" {
			for _, w := range []string{"sum", "max", "min"} {
				if s.word(w) {
					st.Op = w
					break
				}
			}
		}
		st.In = refs(s, "a buffer", true)
		if h.Verb == "broadcast" {
			if s.word("root") {
				st.Root = s.expr()
			}
			return st
		}
		s.need("->")
		st.Out = refs(s, "a buffer", true)
		return st
	}
	return []Form{
		{"group", "group NAME [ring | mesh] STREAM STREAM …", "HcclCommInitAll", "2 to 8 devices that compute together, each by one of its streams; ring if nothing is said", g,
			func(s *parser, h Head) Stmt {
				st := &GroupStmt{Head: h, Name: s.name("group")}
				if st.Mesh = s.word("mesh"); !st.Mesh {
					s.word("ring")
				}
				st.Streams = refs(s, "the name of a stream", false)
				return st
			}},
		{"allreduce", "allreduce GROUP [sum | max | min] BUFFER … -> BUFFER …", "HcclAllReduce", "combines a buffer of each rank; each gets the result", g, parse},
		{"reducescatter", "reducescatter GROUP [sum | max | min] BUFFER … -> BUFFER …", "HcclReduceScatter", "combines them; each rank gets its part", g, parse},
		{"allgather", "allgather GROUP BUFFER … -> BUFFER …", "HcclAllGather", "each rank gets the buffers of all, one behind the other", g, parse},
		{"broadcast", "broadcast GROUP BUFFER … [root N]", "HcclBroadcast", "each rank gets what the root's buffer holds; rank 0 if nothing is said", g, parse},
	}
}

func (c *checker) collectives(st Stmt) {
	switch st := st.(type) {
	case *GroupStmt:
		for _, r := range st.Streams {
			c.on(On{Name: r.Name, Pos: r.Pos})
		}
		c.declare(&st.Head, st.Name, "group")
	case *CollectiveStmt:
		c.find(st.Group, "group")
		c.unit(st.Root, Plain)
		for _, list := range [][]Ref{st.In, st.Out} {
			for _, r := range list {
				if s, _ := c.buffer(r); s != nil && s.buffer.Kind != OnDevice {
					c.fail(r.Pos, "copy it to a device buffer", "%s is host memory, collectives work on device memory", r.Name)
				}
			}
		}
	}
}

func (h *host) group(st *GroupStmt) error {
	var streams []*runtime.Stream
	for _, r := range st.Streams {
		s, err := get[*runtime.Stream](h, r.Name)
		if err != nil {
			return err
		}
		streams = append(streams, s)
	}
	alg := runtime.Ring
	if st.Mesh {
		alg = runtime.Mesh
	}
	c, err := h.th.NewComm(alg, streams...)
	if err == nil {
		h.env[st.Name] = c
	}
	return err
}

func (h *host) collective(st *CollectiveStmt) error {
	c, err := get[*runtime.Comm](h, st.Group.Name)
	if err != nil {
		return err
	}
	in, dt, n, err := h.ranks(st.In)
	if err != nil {
		return err
	}
	out, odt, m, err := h.ranks(st.Out)
	if err != nil {
		return err
	}
	need, count := n, n
	switch st.Verb {
	case "allgather":
		need = n * int64(c.Ranks())
	case "reducescatter":
		count = n / int64(c.Ranks())
		need = count
	}
	if st.Verb != "broadcast" && (m < need || odt != dt) {
		return &runtime.Error{Code: runtime.InvalidParam, Call: "Hccl", Detail: fmt.Sprintf("results of %d %v, %d %v are needed", m, odt, need, dt)}
	}
	op := map[string]sim.ReduceOp{"sum": sim.ReduceSum, "max": sim.ReduceMax, "min": sim.ReduceMin}[st.Op]
	switch st.Verb {
	case "allreduce":
		return h.th.AllReduce(c, in, out, count, dt, op)
	case "reducescatter":
		return h.th.ReduceScatter(c, in, out, count, dt, op)
	case "allgather":
		return h.th.AllGather(c, in, out, count, dt)
	}
	root, err := h.value(st.Root, 0)
	if err != nil {
		return err
	}
	return h.th.Broadcast(c, in, count, dt, int(root))
}

// ranks are the addresses of one buffer a rank, with their type and the elements that each of them has.
func (h *host) ranks(list []Ref) (p []runtime.Ptr, t tensor.DType, n int64, err error) {
	for i, r := range list {
		s, err := h.span(r)
		if err != nil {
			return nil, t, 0, err
		}
		count := int64(s.n / s.dtype.Size())
		if i > 0 && (s.dtype != t || count != n) {
			return nil, t, 0, &runtime.Error{Code: runtime.InvalidParam, Call: "Hccl", Detail: fmt.Sprintf("%s has %d %v, the first buffer %d %v", s.name, count, s.dtype, n, t)}
		}
		t, n = s.dtype, count
		p = append(p, s.ptr())
	}
	return p, t, n, nil
}
