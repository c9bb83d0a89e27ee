package model

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"npu/internal/model/graph"
	"npu/internal/model/plan"
	"npu/internal/problem"
	"npu/internal/runtime"
	"npu/internal/sim"
)

// meeting is a step of communication that a rank has come to, and the stream of its model that it is on; nil in eager
// mode.
type meeting struct {
	step   *plan.Step
	stream *runtime.SunkStream
}

// traveller is a rank on its way through its steps. It stops at each step of communication.
type traveller struct {
	at   *meeting // nil: it is through
	next func() (*meeting, bool)
	stop func()
	err  error
}

// together goes through the steps of all ranks at once: each runs up to a step of communication, and goes on when those
// it concerns have come to it too. walk goes through the steps of one rank and calls meet at those.
func (w *World) together(walk func(r int, meet func(*plan.Step, *runtime.SunkStream)) error) error {
	list := make([]*traveller, len(w.ranks))
	for r := range list {
		t := &traveller{}
		gone := false
		t.next, t.stop = iter.Pull(func(yield func(*meeting) bool) {
			t.err = walk(r, func(x *plan.Step, st *runtime.SunkStream) {
				gone = gone || !yield(&meeting{x, st})
			})
		})
		defer t.stop()
		list[r] = t
	}
	for r := range list {
		if err := w.advance(list, r); err != nil {
			return err
		}
	}
	for {
		who, err := w.match(list)
		if err != nil || who == nil {
			return err
		}
		for _, r := range who {
			if err := w.advance(list, r); err != nil {
				return err
			}
		}
	}
}

// agree checks that the steps of communication of the ranks fit together, those of branches included, before anything is
// submitted.
func (w *World) agree() error {
	w.dry = true
	defer func() { w.dry = false }()
	return w.together(func(r int, meet func(*plan.Step, *runtime.SunkStream)) error {
		for _, x := range w.ranks[r].m.Collectives() {
			meet(x, nil)
		}
		return nil
	})
}

// advance lets rank r go on to its next step of communication.
func (w *World) advance(list []*traveller, r int) error {
	if !w.dry {
		if err := w.on(r); err != nil {
			return err
		}
	}
	t := list[r]
	t.at, _ = t.next()
	if t.err != nil {
		return w.named(r, t.err)
	}
	return nil
}

// match finds ranks that have come to a step in common, submits it and says who they are; none: all are through.
func (w *World) match(list []*traveller) (who []int, err error) {
	var all []*meeting
	for r, t := range list {
		if t.at == nil {
			continue
		}
		if all = append(all, t.at); t.at.step.Op != graph.Send {
			continue
		}
		c := t.at.step.Comm
		if c.Peer >= len(list) || c.Peer == r {
			return nil, problem.Usagef("rank %d: node %s sends to rank %d; the others are of 0 to %d", r, t.at.step.Name, c.Peer, len(list)-1)
		}
		to := list[c.Peer].at
		if to == nil || to.step.Op != graph.Receive || to.step.Comm.Peer != r || to.step.Comm.Tag != c.Tag {
			continue
		}
		return []int{r, c.Peer}, w.exchange(r, c.Peer, t.at, to)
	}
	if len(all) == 0 {
		return nil, nil
	}
	if len(all) < len(list) || slices.ContainsFunc(all, func(m *meeting) bool { return !alike(m.step, all[0].step) }) {
		return nil, stuck(list)
	}
	for r := range list {
		who = append(who, r)
	}
	return who, w.collective(all)
}

// alike says that two ranks take part in the same collective with these steps.
func alike(a, b *plan.Step) bool {
	x, y := a.Comm, b.Comm
	if !world(a.Op) || a.Op != b.Op || x.Group != y.Group || x.Reduction != y.Reduction || x.Root != y.Root || len(a.In) != len(b.In) {
		return false
	}
	for i := range a.InDesc {
		if a.InDesc[i].DType != b.InDesc[i].DType || a.InDesc[i].Shape.Count() != b.InDesc[i].Shape.Count() {
			return false
		}
	}
	return true
}

// stuck is the error of ranks that would wait for each other for ever.
func stuck(list []*traveller) error {
	var parts []string
	for r, t := range list {
		if t.at == nil {
			parts = append(parts, fmt.Sprintf("rank %d ends", r))
			continue
		}
		x := t.at.step
		s := fmt.Sprintf("rank %d comes to %s %s", r, x.Op, x.Name)
		switch {
		case x.Op == graph.Send:
			s += fmt.Sprintf(" to rank %d, tag %d", x.Comm.Peer, x.Comm.Tag)
		case x.Op == graph.Receive:
			s += fmt.Sprintf(" from rank %d, tag %d", x.Comm.Peer, x.Comm.Tag)
		default:
			s += fmt.Sprintf(" of %v[%v]", x.InDesc[0].DType, x.InDesc[0].Shape)
			if x.Op == graph.Broadcast {
				s += fmt.Sprintf(" from rank %d", x.Comm.Root)
			}
		}
		parts = append(parts, s)
	}
	return problem.Usagef("the ranks would wait for each other for ever: %s", strings.Join(parts, "; "))
}

// place says where the next tasks of rank r go.
func (w *World) place(r int, m *meeting) {
	if m.stream != nil {
		w.comm.Place(r, m.stream)
	}
}

// exchange submits a send and its receive.
func (w *World) exchange(from, to int, a, b *meeting) error {
	src, dst := a.step.In[0], b.step.Out[0]
	if src.Bytes != dst.Bytes || a.step.InDesc[0].DType != b.step.OutDesc[0].DType {
		return problem.Usagef("rank %d sends %v[%v] (%s), rank %d receives %v[%v] (%s)", from, a.step.InDesc[0].DType, a.step.InDesc[0].Shape, a.step.Name,
			to, b.step.OutDesc[0].DType, b.step.OutDesc[0].Shape, b.step.Name)
	}
	if w.dry {
		return nil
	}
	w.place(from, a)
	w.place(to, b)
	err := w.labelled(a.step, func() error {
		return w.th.SendTo(w.comm, from, to, w.ranks[from].addr(src.Buffer), w.ranks[to].addr(dst.Buffer), src.Bytes)
	})
	if err != nil {
		return err
	}
	return w.labelled(b.step, func() error { return w.th.ReceiveFrom(w.comm, from, to) })
}

// labelled calls f with the tasks it submits named after a step.
func (w *World) labelled(x *plan.Step, f func() error) error {
	if err := w.th.Label(x.Name, x.Op); err != nil {
		return err
	}
	if err := f(); err != nil {
		return problem.Mark(problem.Failed, fmt.Errorf("node %s (%s): %w", x.Name, x.Op, err))
	}
	return w.th.Label("", "")
}

// collective submits a step that all ranks have come to.
func (w *World) collective(all []*meeting) error {
	x := all[0].step
	c := x.Comm
	if c.Ranks > 0 && c.Ranks != len(all) {
		return problem.Usagef("node %s (%s) was made for %d ranks, not for %d: run it with --devices %d", x.Name, x.Op, c.Ranks, len(all), c.Ranks)
	}
	if c.Root >= len(all) {
		return problem.Usagef("node %s (%s): the root is rank %d of %d", x.Name, x.Op, c.Root, len(all))
	}
	if w.dry {
		return nil
	}
	for r, m := range all {
		w.place(r, m)
	}
	in := func(i int) []runtime.Ptr { return w.perRank(all, func(s *plan.Step) plan.Operand { return s.In[i] }) }
	out := func(i int) []runtime.Ptr { return w.perRank(all, func(s *plan.Step) plan.Operand { return s.Out[i] }) }
	d := x.InDesc[0]
	n := int64(d.Shape.Count())
	op := map[string]sim.ReduceOp{"sum": sim.ReduceSum, "max": sim.ReduceMax, "min": sim.ReduceMin}[c.Reduction]
	return w.labelled(x, func() error {
		switch x.Op {
		case graph.AllReduce:
			return w.th.AllReduce(w.comm, in(0), out(0), n, d.DType, op)
		case graph.ReduceScatter:
			return w.th.ReduceScatter(w.comm, in(0), out(0), n/int64(len(all)), d.DType, op)
		case graph.AllGather:
			return w.th.AllGather(w.comm, in(0), out(0), n, d.DType)
		}
		for i, d := range x.InDesc {
			if err := w.th.Broadcast(w.comm, out(i), int64(d.Shape.Count()), d.DType, c.Root); err != nil {
				return err
			}
		}
		return nil
	})
}
