package program

import (
	"errors"
	"fmt"
	"maps"

	"npu/internal/runtime"
	"npu/internal/sim"
)

// host is a host thread of the program: its clock, and the names that it knows. It belongs to one goroutine.
type host struct {
	r         *runner
	th        *runtime.Thread
	name      string
	env       map[string]any
	vars      map[string]int64
	children  []*child
	reporters []*reporter
	scratches map[scratchOf]runtime.Ptr
	seq       int
}

// child is a started thread block.
type child struct {
	name string
	c    *runtime.Child
}

// errStop ends a thread behind a statement that failed and was reported.
var errStop = errors.New("stopped")

// main runs the program's own statements and waits for its threads.
func (h *host) main() {
	if !h.r.prog.Setup.Bare {
		if err := h.th.SetDevice(0); err != nil {
			h.r.failed(h, nil, err)
			return
		}
	}
	_ = h.block(h.r.prog.Body) // what failed is in the list of failures
	h.collect()
}

// collect waits for the threads that are left. What can never end, as a report thread or a thread that waits for one
// that has failed, ends in a deadlock, which ends all waits: this one as well, and then those threads end soon.
func (h *host) collect() {
	var left []*runtime.Child
	for _, c := range h.children {
		if c.c != nil {
			left = append(left, c.c)
		}
	}
	for _, r := range h.reporters {
		left = append(left, r.c)
	}
	var dead *sim.Deadlock
	for _, c := range left {
		for range 1000 {
			if err := h.th.Wait(c); !errors.As(err, &dead) {
				break
			}
		}
	}
}

func (h *host) block(list []Stmt) error {
	for _, st := range list {
		if err := h.r.ctx.Err(); err != nil {
			return err
		}
		h.r.statements.Add(1)
		if err := h.verdict(st, h.stmt(st)); err != nil {
			return err
		}
	}
	return nil
}

// verdict compares what a statement gave with what it should give.
func (h *host) verdict(st Stmt, err error) error {
	want := st.head().Want
	var e *runtime.Error
	h.r.reported(err)
	switch {
	case err == errStop || h.r.ctx.Err() != nil:
		return errStop
	case errors.Is(err, sim.ErrInterrupted):
		return err
	case want == nil && err == nil:
		return nil
	case want == nil:
	case err == nil:
		h.r.checked.Add(1)
		err = fmt.Errorf("succeeded, expected %s", codeText(want.Code))
	default:
		h.r.checked.Add(1)
		if errors.As(err, &e) && int(e.Code) == want.Code {
			return nil
		}
		err = fmt.Errorf("expected %s: %w", codeText(want.Code), err)
	}
	h.r.failed(h, st, err)
	return errStop
}

// say prints at the thread's time.
func (h *host) say(text string) {
	h.seq++
	h.r.say(h.name, h.th.Clock(), h.seq, text)
}

// value computes an expression; def if there is none.
func (h *host) value(e Expr, def int64) (int64, error) {
	if e == nil {
		return def, nil
	}
	return eval(e, func(n string) (int64, bool) { v, ok := h.vars[n]; return v, ok })
}

// get is the object that a name stands for.
func get[T any](h *host, name string) (T, error) {
	v, ok := h.env[name].(T)
	if !ok {
		return v, fmt.Errorf("%s does not exist: its declaration has not run", name)
	}
	return v, nil
}

// on is the stream of a submission; nil is the default stream.
func (h *host) on(o On) (*runtime.Stream, error) {
	if o.Name == "" {
		return nil, nil
	}
	return get[*runtime.Stream](h, o.Name)
}

// graphOn is a graph and the stream that something is done with it on.
func (h *host) graphOn(what Ref, o On) (*runtime.Model, *runtime.Stream, error) {
	m, err := get[*runtime.Model](h, what.Name)
	if err != nil {
		return nil, nil, err
	}
	s, err := h.on(o)
	return m, s, err
}

// observe runs f when everything that the device has done by now has happened.
func (h *host) observe(f func() error) error {
	if _, err := h.th.Counters(); err != nil {
		return err
	}
	return f()
}

// thread starts a thread block.
func (h *host) thread(st *ThreadStmt) error {
	t := &host{r: h.r, name: st.Name, env: maps.Clone(h.env), vars: maps.Clone(h.vars)}
	c, err := h.th.Go(func(th *runtime.Thread) error {
		t.th = th
		h.r.nameThread(th.ID(), st.Name)
		_ = t.block(st.Body) // what failed is in the list of failures
		t.collect()
		return nil
	})
	if err != nil {
		return err
	}
	started := &child{st.Name, c}
	h.children = append(h.children, started)
	h.env[st.Name] = started
	return nil
}

func (h *host) join(st *JoinStmt) error {
	if len(st.Names) == 0 {
		for _, c := range h.children {
			if err := h.joinOne(c); err != nil {
				return err
			}
		}
		return nil
	}
	for _, n := range st.Names {
		c, err := get[*child](h, n.Name)
		if err != nil {
			return err
		}
		if err := h.joinOne(c); err != nil {
			return err
		}
	}
	return nil
}

func (h *host) joinOne(c *child) error {
	if c.c == nil {
		return nil
	}
	err := h.th.Wait(c.c)
	if err == nil {
		c.c = nil
	}
	return err
}

// repeat runs a loop.
func (h *host) repeat(st *RepeatStmt) error {
	n, err := h.value(st.Count, 0)
	if err != nil {
		return err
	}
	for i := range n {
		if st.As != "" {
			h.vars[st.As] = i
		}
		if err := h.block(st.Body); err != nil {
			return err
		}
	}
	delete(h.vars, st.As)
	return nil
}
