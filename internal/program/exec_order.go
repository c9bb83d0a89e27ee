package program

import (
	"fmt"

	"npu/internal/runtime"
)

func (h *host) event(st *EventStmt) error {
	var e *runtime.Event
	var err error
	switch st.Kind {
	case "plain":
		e, err = h.th.CreateEvent()
	case "sync":
		e, err = h.th.CreateEventWithFlag(runtime.EventSync | runtime.EventTimeLine)
	default:
		e, err = h.th.CreateEventExWithFlag(runtime.EventSync | runtime.EventTimeLine)
	}
	if err == nil {
		h.env[st.Name] = e
	}
	return err
}

// order is record, wait and reset, of an event or a notify.
func (h *host) order(st *OrderStmt) error {
	s, err := h.on(st.On)
	if err != nil {
		return err
	}
	ns, err := h.value(st.Timeout, 0)
	if err != nil {
		return err
	}
	seconds := int(ns / 1e9)
	if n, ok := h.env[st.What.Name].(*runtime.Notify); ok {
		if st.Verb == "record" {
			return h.th.RecordNotify(n, s)
		}
		return h.th.WaitNotify(n, s, seconds)
	}
	e, err := get[*runtime.Event](h, st.What.Name)
	switch {
	case err != nil:
		return err
	case st.External && st.Verb == "record":
		return h.th.RecordEventExternal(e, s)
	case st.External:
		return h.th.WaitEventExternal(s, e)
	case st.Verb == "record":
		return h.th.RecordEvent(e, s)
	case st.Verb == "reset":
		return h.th.ResetEvent(e, s)
	case st.Timeout != nil:
		return h.th.WaitEventTimeout(s, e, seconds)
	}
	return h.th.WaitEvent(s, e)
}

func (h *host) sync(st *SyncStmt) error {
	ns, err := h.value(st.Timeout, 0)
	if err != nil {
		return err
	}
	ms := int(ns / 1e6)
	timed := st.Timeout != nil
	switch st.What.Name {
	case "device":
		if timed {
			return h.th.SynchronizeDeviceTimeout(ms)
		}
		return h.th.SynchronizeDevice()
	case "default":
		if timed {
			return h.th.SynchronizeStreamTimeout(nil, ms)
		}
		return h.th.SynchronizeStream(nil)
	}
	switch x := h.env[st.What.Name].(type) {
	case *runtime.Stream:
		if timed {
			return h.th.SynchronizeStreamTimeout(x, ms)
		}
		return h.th.SynchronizeStream(x)
	case *runtime.Event:
		if timed {
			return h.th.SynchronizeEventTimeout(x, ms)
		}
		return h.th.SynchronizeEvent(x)
	}
	_, err = get[*runtime.Stream](h, st.What.Name)
	return err
}

func (h *host) query(st *QueryStmt) error {
	var done bool
	var err error
	if e, ok := h.env[st.What.Name].(*runtime.Event); ok {
		done, err = h.th.QueryEvent(e)
	} else {
		s, e := h.on(On{Name: streamName(st.What.Name)})
		if e != nil {
			return e
		}
		done, err = h.th.QueryStream(s)
	}
	if err != nil {
		return err
	}
	is := "pending"
	if done {
		is = "done"
	}
	if st.Is == "" {
		h.say(fmt.Sprintf("%s is %s", st.What.Name, is))
		return nil
	}
	h.r.checked.Add(1)
	if is != st.Is {
		return fmt.Errorf("%s is %s, expected %s", st.What.Name, is, st.Is)
	}
	return nil
}

// streamName is the name for On: the default stream has none.
func streamName(s string) string {
	if s == "default" {
		return ""
	}
	return s
}

func (h *host) elapsed(st *ElapsedStmt) error {
	a, err := get[*runtime.Event](h, st.A.Name)
	if err != nil {
		return err
	}
	b, err := get[*runtime.Event](h, st.B.Name)
	if err != nil {
		return err
	}
	ns, err := h.th.ElapsedTime(a, b)
	if err != nil {
		return err
	}
	if st.Is == nil {
		h.say(fmt.Sprintf("%s to %s: %s", st.A.Name, st.B.Name, Micros(ns)))
		return nil
	}
	want, err := h.value(st.Is, 0)
	if err != nil {
		return err
	}
	tol, err := h.value(st.Within, 0)
	if err != nil {
		return err
	}
	h.r.checked.Add(1)
	if d := ns - want; d > tol || d < -tol {
		return fmt.Errorf("%s from %s to %s, expected %s within %s", Micros(ns), st.A.Name, st.B.Name, Micros(want), Micros(tol))
	}
	return nil
}

// Micros is a time for people and machines alike: microseconds with three decimals.
func Micros(ns int64) string {
	sign := ""
	if ns < 0 {
		sign, ns = "-", -ns
	}
	return fmt.Sprintf("%s%d.%03d µs", sign, ns/1000, ns%1000)
}

func (h *host) print(st *PrintStmt) error {
	text := ""
	for i, p := range st.Parts {
		if i > 0 {
			text += " "
		}
		if p.Ref == nil {
			text += p.Text
			continue
		}
		s, err := h.span(*p.Ref)
		if err != nil {
			return err
		}
		count := s.n / s.dtype.Size()
		s.n = min(count, maxPrint) * s.dtype.Size()
		b, err := h.read(s)
		if err != nil {
			return err
		}
		v, err := valuesText(b, s.dtype, count)
		if err != nil {
			return err
		}
		text += v
	}
	h.say(text)
	return nil
}

func (h *host) expect(st *ExpectStmt) error {
	s, err := h.span(st.What)
	if err != nil {
		return err
	}
	if st.At != nil {
		o, err := h.span(*st.At)
		if err != nil {
			return err
		}
		if h.r.checked.Add(1); s.ptr() != o.ptr() {
			return fmt.Errorf("%s lies at 0x%x and %s at 0x%x", s.name, uint64(s.ptr()), o.name, uint64(o.ptr()))
		}
		return nil
	}
	b, err := h.read(s)
	if err != nil {
		return err
	}
	h.r.checked.Add(1)
	differ, err := st.Init.compare(b, s.dtype, s.n/s.dtype.Size(), st.Tol)
	if err == nil && differ != "" {
		err = fmt.Errorf("%s", differ)
	}
	return err
}
