package program

import (
	"fmt"

	"npu/internal/runtime"
)

// stmt executes one statement.
func (h *host) stmt(st Stmt) error {
	switch st := st.(type) {
	case *DeviceStmt:
		n, err := h.value(st.N, 0)
		if err != nil {
			return err
		}
		return h.th.SetDevice(int(n))
	case *ContextStmt:
		return h.context(st)
	case *UseStmt:
		return h.use(st)
	case *StreamStmt:
		return h.stream(st)
	case *EventStmt:
		return h.event(st)
	case *NotifyStmt:
		return h.notify(st)
	case *MutexStmt:
		return h.mutex(st)
	case *BufferStmt:
		return h.buffer(st)
	case *KernelStmt:
		return h.kernel(st)
	case *CopyStmt:
		return h.copy(st)
	case *MemsetStmt:
		return h.memset(st)
	case *SetStmt:
		return h.set(st)
	case *LaunchStmt:
		return h.launch(st)
	case *OrderStmt:
		return h.order(st)
	case *ValueStmt:
		return h.word(st)
	case *HostStmt:
		return h.call(st)
	case *SyncStmt:
		return h.sync(st)
	case *QueryStmt:
		return h.query(st)
	case *ElapsedStmt:
		return h.elapsed(st)
	case *ModeStmt:
		return h.mode(st)
	case *LimitStmt:
		return h.limit(st)
	case *DestroyStmt:
		return h.destroy(st)
	case *ResetDeviceStmt:
		return h.resetDevice(st)
	case *PeerStmt:
		return h.peer(st)
	case *WorkStmt:
		ns, err := h.value(st.Time, 0)
		h.th.Work(ns)
		return err
	case *PrintStmt:
		return h.print(st)
	case *ExpectStmt:
		return h.expect(st)
	case *LastStmt:
		return h.last(st)
	case *WatchStmt:
		return h.watch()
	case *RepeatStmt:
		return h.repeat(st)
	case *ThreadStmt:
		return h.thread(st)
	case *JoinStmt:
		return h.join(st)
	case selfStmt:
		return st.run(h)
	case *GroupStmt:
		return h.group(st)
	case *CollectiveStmt:
		return h.collective(st)
	}
	return fmt.Errorf("%s is no statement", st.head().Verb)
}

func (h *host) context(st *ContextStmt) error {
	n, err := h.value(st.Device, 0)
	if err != nil {
		return err
	}
	c, err := h.th.CreateContextWith(int(n), runtime.ContextConfig{Isolated: st.Isolated})
	if err == nil {
		h.env[st.Name] = c
	}
	return err
}

func (h *host) use(st *UseStmt) error {
	if st.Verb == "pop" {
		return h.th.PopContext()
	}
	c, err := get[*runtime.Context](h, st.Ref.Name)
	switch {
	case err != nil:
		return err
	case st.Verb == "push":
		return h.th.PushContext(c)
	}
	return h.th.SetCurrentContext(c)
}

func (h *host) stream(st *StreamStmt) error {
	prio, err := h.value(st.Priority, 0)
	if err != nil {
		return err
	}
	flags, err := h.value(st.Flags, 0)
	if err != nil {
		return err
	}
	f := runtime.StreamFlags(flags)
	if st.Persistent {
		f |= runtime.Persistent
	}
	s, err := h.th.CreateStream(runtime.StreamConfig{Name: st.Name, Priority: int(prio), Flags: f})
	if err != nil {
		return err
	}
	if st.shared {
		s.Share()
	}
	h.env[st.Name] = s
	d, err := h.th.Device()
	h.r.nameStream(d, s.ID(), st.Name)
	return err
}

func (h *host) resetDevice(st *ResetDeviceStmt) error {
	n, err := h.value(st.N, 0)
	if err != nil {
		return err
	}
	if st.Force {
		return h.th.ResetDeviceForce(int(n))
	}
	return h.th.ResetDevice(int(n))
}

// last compares the thread's last error with what it should be.
func (h *host) last(st *LastStmt) error {
	get := h.th.LastError
	if st.Keep {
		get = h.th.PeekLastError
	}
	h.r.checked.Add(1)
	code := 0
	if e := get(); e != nil {
		code = int(e.Code)
	}
	if code != st.Code {
		return fmt.Errorf("the last error is %s, expected %s", lastText(code), lastText(st.Code))
	}
	return nil
}

func lastText(code int) string {
	if code == 0 {
		return "none"
	}
	return codeText(code)
}
