package model

import (
	"cmp"
	"errors"
	"fmt"

	"npu/internal/model/graph"
	"npu/internal/model/plan"
	"npu/internal/problem"
	"npu/internal/runtime"
	"npu/internal/sim"
)

// World is models on devices of one process, one a rank: the same model on all, or a part of a network on each. What
// the models say to each other becomes tasks of the devices, so that the host takes no part in it. It belongs to the
// Thread that loaded it.
type World struct {
	th    *runtime.Thread
	ranks []*Session
	ctx   []*runtime.Context
	comm  *runtime.Comm // nil: the models say nothing to each other
	dry   bool          // see agree
}

// Collectives are the steps of communication of the model, those of branches included.
func (m *Model) Collectives() []*plan.Step {
	var list []*plan.Step
	var walk func(steps []plan.Step)
	walk = func(steps []plan.Step) {
		for i := range steps {
			if steps[i].Kind == plan.Communicate {
				list = append(list, &steps[i])
			}
			walk(steps[i].Then)
			walk(steps[i].Else)
		}
	}
	walk(m.Plan.Steps)
	return list
}

// Ranks is how many ranks the model was made for, 0 where it does not say it.
func (m *Model) Ranks() int {
	n := 0
	for _, s := range m.Collectives() {
		n = max(n, s.Comm.Ranks)
	}
	return n
}

// LoadWorld puts model r on device r. Models that would wait for each other for ever, since one communicates where
// others do not, are problem.Usage.
func LoadWorld(th *runtime.Thread, models []*Model, o LoadOptions) (*World, error) {
	w := &World{th: th}
	talk := false
	for r, m := range models {
		if len(models) > 1 {
			if err := th.SetDevice(r); err != nil {
				return nil, err
			}
		}
		ctx, err := th.CurrentContext()
		if err != nil {
			return nil, err
		}
		w.ctx = append(w.ctx, ctx)
		list := m.Collectives()
		if len(models) == 1 && len(list) > 0 {
			return nil, problem.Usagef("node %s (%s) communicates with other ranks: run the model on several devices, --devices N", list[0].Name, list[0].Op)
		}
		talk = talk || len(list) > 0
		s, err := m.prepare(th, o)
		if err != nil {
			return nil, err
		}
		w.ranks = append(w.ranks, s)
	}
	if err := w.agree(); err != nil {
		return nil, err
	}
	if o.Mode != Sunk {
		if !talk {
			return w, nil
		}
		var streams []*runtime.Stream
		for _, s := range w.ranks {
			streams = append(streams, s.stream)
		}
		var err error
		w.comm, err = th.NewComm(o.Collective, streams...)
		return w, err
	}
	return w, w.sink(talk, o.Collective)
}

// sink writes the models of all ranks, side by side: what they have in common comes into all of them at once.
func (w *World) sink(talk bool, alg runtime.Algorithm) error {
	var builders []*runtime.ModelBuilder
	for r, s := range w.ranks {
		if err := w.on(r); err != nil {
			return err
		}
		if err := s.begin(); err != nil {
			return err
		}
		builders = append(builders, s.builder)
	}
	if talk {
		var err error
		if w.conditional() {
			alg = runtime.Ring // the streams of a mesh start with the execution and would wait for ever
		}
		if w.comm, err = w.th.NewModelComm(alg, builders...); err != nil {
			return err
		}
		for r, s := range w.ranks {
			for _, p := range w.comm.Peers(r) {
				s.lanes[0].Active(p)
			}
		}
	}
	err := w.together(func(r int, meet func(*plan.Step, *runtime.SunkStream)) error {
		w.ranks[r].spread(meet)
		return nil
	})
	for r, s := range w.ranks {
		if err == nil {
			err = w.on(r)
		}
		if err == nil {
			err = s.finish()
		}
	}
	return err
}

// conditional says that some rank communicates inside a branch, which an execution may leave out.
func (w *World) conditional() bool {
	for _, s := range w.ranks {
		for i := range s.m.Plan.Steps {
			if x := &s.m.Plan.Steps[i]; x.Kind == plan.Branch && x.Communicates() {
				return true
			}
		}
	}
	return false
}

// on makes the device of rank r current.
func (w *World) on(r int) error {
	if len(w.ctx) == 1 {
		return nil
	}
	return w.th.SetCurrentContext(w.ctx[r])
}

// Session is the model of rank r.
func (w *World) Session(r int) *Session { return w.ranks[r] }

// On calls f with rank r's device current.
func (w *World) On(r int, f func(s *Session) error) error {
	if err := w.on(r); err != nil {
		return err
	}
	return f(w.ranks[r])
}

// Execute submits one execution of every rank and waits for nothing.
func (w *World) Execute() error {
	if w.comm == nil || w.ranks[0].mode == Sunk {
		for r := range w.ranks {
			if err := w.On(r, (*Session).Execute); err != nil {
				return w.named(r, err)
			}
		}
		return nil
	}
	return w.together(func(r int, meet func(*plan.Step, *runtime.SunkStream)) error {
		s := w.ranks[r]
		return s.eager(s.m.Plan.Steps, func(x *plan.Step) { meet(x, nil) })
	})
}

// Wait blocks until everything executed so far is done on all ranks; it reports the first fault. Ranks that wait in vain
// for one that has failed are not the fault.
func (w *World) Wait() error {
	var first error
	for r := range w.ranks {
		err := w.On(r, (*Session).Wait)
		if err == nil {
			continue
		}
		if err = w.named(r, err); first == nil || starved(first) && !starved(err) {
			first = err
		}
	}
	return first
}

// starved says that a wait ended without a fault of its own.
func starved(err error) bool {
	var f *sim.Fault
	return !errors.As(err, &f)
}

func (w *World) named(r int, err error) error {
	if len(w.ranks) == 1 {
		return err
	}
	return fmt.Errorf("rank %d: %w", r, err)
}

// Unload waits and frees what the ranks hold.
func (w *World) Unload() error {
	var first error
	for r := range w.ranks {
		first = cmp.Or(first, w.On(r, (*Session).Unload))
	}
	if w.comm != nil {
		first = cmp.Or(first, w.th.DestroyComm(w.comm))
	}
	return first
}

// perRank is one address of each rank.
func (w *World) perRank(list []*meeting, f func(x *plan.Step) plan.Operand) []runtime.Ptr {
	out := make([]runtime.Ptr, len(list))
	for r, m := range list {
		out[r] = w.ranks[r].addr(f(m.step).Buffer)
	}
	return out
}

// world says that a step is of all ranks, not of two.
func world(op string) bool { return op != graph.Send && op != graph.Receive }
