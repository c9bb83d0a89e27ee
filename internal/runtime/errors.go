package runtime

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"npu/internal/blackbox/errcode"
	"npu/internal/sim"
)

// Error is what a runtime call returns: the ACL code, the call, what was wrong and what to do.
type Error struct {
	Code    Code
	Message string // message code, EE1017
	Call    string // aclrtMalloc
	Detail  string // what was wrong: argument and value
	Hint    string // what to do
	Err     error  // the fault or deadlock behind it, if any
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v", e.Call, e.Code)
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	switch {
	case e.Hint != "":
		fmt.Fprintf(&b, " (%s: %s)", e.Message, e.Hint)
	case e.Message != "":
		fmt.Fprintf(&b, " (%s)", e.Message)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// text is the message as aclGetRecentErrMsg shows it. It holds no time and no process, so that it is the same in
// every run.
func (e *Error) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Message, e.Detail)
	if e.Err != nil {
		if e.Detail != "" {
			b.WriteString(": ")
		}
		b.WriteString(e.Err.Error())
	}
	m, _ := errcode.Message(e.Message)
	if cause := m.Causes; cause != "" {
		fmt.Fprintf(&b, "\n        Possible Cause: %s", cause)
	}
	if hint := e.Hint; hint != "" || m.Next != "" {
		if hint == "" {
			hint = m.Next
		}
		fmt.Fprintf(&b, "\n        Solution: %s", hint)
	}
	fmt.Fprintf(&b, "\n        TraceBack (most recent call last):\n        %s returned %v\n", e.Call, e.Code)
	return b.String()
}

// recentMax is how many failures of a thread RecentErrorMessage remembers.
const recentMax = 16

// keep makes e the thread's last error.
func (th *Thread) keep(e *Error) error {
	th.last = e
	if th.rt.acl.shared.Load() {
		th.keepShared(e)
		return e
	}
	if len(th.recent) == recentMax {
		th.recent = append(th.recent[:0], th.recent[1:]...)
	}
	th.recent = append(th.recent, e)
	return e
}

// fail makes the error of a call and keeps it as the thread's last error.
func (th *Thread) fail(code Code, call, detail, hint string) error {
	return th.keep(&Error{Code: code, Message: messageOf(code), Call: call, Detail: detail, Hint: hint})
}

// failAs is fail with a message code that is not the usual one of the code.
func (th *Thread) failAs(code Code, message, call, detail, hint string) error {
	return th.keep(&Error{Code: code, Message: message, Call: call, Detail: detail, Hint: hint})
}

// blocked turns what a wait met (a deadlock, a fault) into the call's error; nil for neither.
func (th *Thread) blocked(call string, f *sim.Fault, err error) error {
	switch {
	case errors.Is(err, sim.ErrNotOwner):
		return th.fail(InvalidParam, call, "the stream belongs to another thread", "let its thread call Share before others submit")
	case err != nil:
		return th.keep(&Error{Code: SchedulerError, Message: "EE9999", Call: call, Err: err})
	case f != nil:
		return th.keep(th.rt.faultError(call, f))
	}
	return nil
}

func (rt *Runtime) faultError(call string, f *sim.Fault) *Error {
	c := faultCode(f.Code)
	return &Error{Code: c, Message: messageOf(c), Call: call, Err: f,
		Detail: fmt.Sprintf("stream %d, task %d%s%s", f.Stream, f.Task&0xffff, rt.nameOf(f), f.Where())}
}

// PeekLastError is the last failing call's error, kept (aclrtPeekAtLastError); nil when there is none.
func (th *Thread) PeekLastError() *Error { return th.last }

// LastError is the last failing call's error, taken away (aclrtGetLastError).
func (th *Thread) LastError() *Error {
	e := th.last
	th.last = nil
	return e
}

// RecentErrorMessage is the text of this thread's last failures, of those of all threads if Init was told so, newest on
// top; reading it clears it. It is empty when
// there is none (aclGetRecentErrMsg).
func (th *Thread) RecentErrorMessage() string {
	var b strings.Builder
	for _, e := range slices.Backward(append(th.recent, th.rt.acl.takeShared()...)) {
		b.WriteString(e.text())
	}
	th.recent = th.recent[:0]
	return b.String()
}

// RunMode says where the program runs.
type RunMode int

// Run modes. Programs of this runtime run on the host.
const (
	RunOnDevice RunMode = iota
	RunOnHost
)

// GetRunMode says where the program runs (aclrtGetRunMode); m must not be nil.
func (th *Thread) GetRunMode(m *RunMode) error {
	if m == nil {
		return th.fail(ACLInvalidParam, "aclrtGetRunMode", "the pointer for the run mode is null", "give a place for the result")
	}
	*m = RunOnHost
	return nil
}
