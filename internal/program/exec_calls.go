package program

import (
	"fmt"
	"slices"

	"npu/internal/runtime"
	"npu/internal/sim"
)

func (h *host) notify(st *NotifyStmt) error {
	n, err := h.th.CreateNotify(0)
	if err == nil {
		h.env[st.Name] = n
	}
	return err
}

func (h *host) mutex(st *MutexStmt) error {
	h.env[st.Name] = &runtime.Mutex{}
	return nil
}

// conditions of await.
var conditions = map[string]sim.WaitCondition{">=": sim.WaitGEQ, "==": sim.WaitEQ, "&": sim.WaitAND, "~": sim.WaitNOR}

// word writes a word of device memory in stream order, or waits for one.
func (h *host) word(st *ValueStmt) error {
	w, err := h.span(st.Word)
	if err != nil {
		return err
	}
	v, err := h.value(st.Value, 0)
	if err != nil {
		return err
	}
	s, err := h.on(st.On)
	switch {
	case err != nil:
		return err
	case st.Verb == "write":
		return h.th.ValueWrite(w.ptr(), uint64(v), s)
	}
	return h.th.ValueWait(w.ptr(), uint64(v), conditions[st.Cond], s)
}

// call launches a host function or a callback, which prints and computes for a while.
func (h *host) call(st *HostStmt) error {
	ns, err := h.value(st.Time, 0)
	if err != nil {
		return err
	}
	s, err := h.on(st.On)
	if err != nil {
		return err
	}
	h.seq++
	r, name, seq := h.r, h.name+" "+st.Verb, h.seq
	f := func(cb *runtime.Thread) {
		r.say(name, cb.Clock(), seq, st.Text)
		cb.Work(ns)
	}
	if st.Verb == "host" {
		return h.th.LaunchHostFunc(s, f)
	}
	return h.th.LaunchCallback(f, !st.NoBlock, s)
}

func (h *host) mode(st *ModeStmt) error {
	s, err := get[*runtime.Stream](h, st.What.Name)
	if err != nil {
		return err
	}
	m := runtime.ContinueOnFailure
	if st.Mode == "stop" {
		m = runtime.StopOnFailure
	}
	return h.th.SetStreamFailureMode(s, m)
}

func (h *host) limit(st *LimitStmt) error {
	ns, err := h.value(st.Time, 0)
	if err != nil {
		return err
	}
	if st.Of == "kernel" {
		if ns < 0 {
			ns -= 999 // a negative limit stays one
		}
		_, err = h.th.SetOpExecuteTimeoutMicros(ns / 1000)
		return err
	}
	return h.th.SetOpWaitTimeout(int(ns / 1e9))
}

func (h *host) peer(st *PeerStmt) error {
	n, err := h.value(st.N, 0)
	switch {
	case err != nil:
		return err
	case st.Off:
		return h.th.DisablePeerAccess(int(n))
	}
	return h.th.EnablePeerAccess(int(n), 0)
}

// watch prints each fault when its exception callback is called.
func (h *host) watch() error {
	r, name := h.r, h.name+" exception"
	return h.th.RegisterExceptionCallback(&runtime.ExceptionCallback{Func: func(cb *runtime.Thread, e *runtime.Exception) {
		what := e.Kind.String()
		if e.Kernel != "" {
			what = "kernel " + e.Kernel
		}
		text := fmt.Sprintf("%v: device %d, stream %s, task %d, %s%s, submitted by thread %d", e.Code, e.Device, r.streamName(e.Device, e.Stream), e.Task, what, e.Fault.Where(), e.Thread)
		if e.Fault.HasAddr {
			text += fmt.Sprintf(", address 0x%x", e.Fault.Addr)
		}
		if e.Fault.Detail != "" {
			text += ": " + e.Fault.Detail
		}
		r.say(name, cb.Clock(), 0, text)
	}})
}

// destroy ends what one name stands for.
func (h *host) destroy(st *DestroyStmt) error {
	if st.Device != nil {
		n, err := h.value(st.Device, 0)
		if err != nil {
			return err
		}
		return h.th.AbortDevice(int(n))
	}
	name := st.What.Name
	switch st.Verb {
	case "free":
		return h.free(name)
	case "lock", "unlock":
		m, err := get[*runtime.Mutex](h, name)
		switch {
		case err != nil:
			return err
		case st.Verb == "lock":
			return h.th.Lock(m)
		}
		return h.th.Unlock(m)
	}
	switch x := h.env[name].(type) {
	case *runtime.Stream:
		return h.endStream(st, x)
	case *runtime.Event:
		return h.th.DestroyEvent(x)
	case *runtime.Notify:
		return h.th.DestroyNotify(x)
	case *runtime.Context:
		return h.th.DestroyContext(x)
	case *kernel:
		return h.th.UnloadKernel(x.k)
	case *runtime.Model:
		if st.Verb == "abort" {
			return h.th.AbortModel(x)
		}
		return h.th.DestroyModel(x)
	case *runtime.StreamPool:
		return h.th.DestroyPool(x)
	case *runtime.Comm:
		return h.th.DestroyComm(x)
	}
	_, err := get[*runtime.Stream](h, name)
	return err
}

// endStream does to a stream what the verb says.
func (h *host) endStream(st *DestroyStmt, s *runtime.Stream) error {
	switch {
	case st.Verb == "abort":
		return h.th.AbortStream(s)
	case st.Verb == "stop":
		return h.th.StopStream(s)
	case st.Verb == "subscribe":
		return h.subscribe(s)
	case st.Verb == "unsubscribe":
		return h.unsubscribe(s)
	case st.Force:
		return h.th.DestroyStreamForce(s)
	}
	return h.th.DestroyStream(s)
}

// reporter is a thread that does nothing but run the callbacks of a stream.
type reporter struct {
	th     *runtime.Thread
	c      *runtime.Child
	stream *runtime.Stream // nil: none any more
	quit   bool            // written and read on the reporter's thread
}

// subscribe starts a report thread for the stream.
func (h *host) subscribe(s *runtime.Stream) error {
	r := &reporter{}
	hello, served := runtime.NewChan(1), runtime.NewChan(1)
	c, err := h.th.Go(func(th *runtime.Thread) error {
		if err := th.Send(hello, th); err != nil {
			return err
		}
		if _, ok, err := th.Recv(served); err != nil || !ok {
			return err // there is no subscription
		}
		for !r.quit {
			if err := th.ProcessReport(-1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	v, _, err := h.th.Recv(hello)
	if err != nil {
		return err
	}
	r.th, r.c = v.(*runtime.Thread), c
	if err := h.th.SubscribeReport(r.th, s); err != nil {
		h.reporters = append(h.reporters, r) // to be collected
		if e := h.th.CloseChan(served); e != nil {
			return e
		}
		return err
	}
	r.stream = s
	h.reporters = append(h.reporters, r)
	return h.th.Send(served, true)
}

// unsubscribe ends the report thread of the stream behind the callbacks that are under way.
func (h *host) unsubscribe(s *runtime.Stream) error {
	i := slices.IndexFunc(h.reporters, func(r *reporter) bool { return r.stream == s })
	if i < 0 {
		return h.th.UnsubscribeReport(h.th, s) // it says what is wrong
	}
	r := h.reporters[i]
	if err := h.th.LaunchCallback(func(*runtime.Thread) { r.quit = true }, true, s); err != nil {
		return err
	}
	if err := h.th.SynchronizeStream(s); err != nil {
		return err
	}
	r.stream = nil
	if err := h.th.UnsubscribeReport(r.th, s); err != nil {
		return err
	}
	return h.th.Wait(r.c)
}
