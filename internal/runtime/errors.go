package runtime

import (
	"fmt"
	"strings"

	"npu/internal/sim"
)

// Code is an aclError.
type Code int

// Codes that this package returns (ACL_ERROR_RT_* and the ACL layer's).
const (
	InvalidParam      Code = 107000
	InvalidDevice     Code = 107001
	ContextNull       Code = 107002
	StreamContext     Code = 107003
	InvalidHandle     Code = 107017
	TaskTimeout       Code = 107020
	ACLInvalidParam   Code = 100000
	NotSupported      Code = 207000
	OutOfMemory       Code = 207001
	NoResource        Code = 207005
	NoEvent           Code = 207007
	NoStream          Code = 207008
	Internal          Code = 507000
	SchedulerError    Code = 507001
	ContextRelease    Code = 507007
	ModelExecute      Code = 507011
	SDMAError         Code = 507013
	AICoreTimeout     Code = 507014
	AICoreException   Code = 507015
	AICoreTrap        Code = 507016
	AICPUException    Code = 507018
	VectorTimeout     Code = 507034
	VectorException   Code = 507035
	StreamSyncTimeout Code = 507046
	EventSyncTimeout  Code = 507047
	DriverError       Code = 507899
	EventNotRecorded  Code = InvalidParam
	TimestampInvalid  Code = 107006
	RepeatedReset     Code = ContextRelease
)

var codeNames = map[Code]string{
	InvalidParam: "ACL_ERROR_RT_PARAM_INVALID", InvalidDevice: "ACL_ERROR_RT_INVALID_DEVICEID", ContextNull: "ACL_ERROR_RT_CONTEXT_NULL",
	StreamContext: "ACL_ERROR_RT_STREAM_CONTEXT", InvalidHandle: "ACL_ERROR_RT_INVALID_HANDLE", TaskTimeout: "ACL_ERROR_RT_TASK_TIMEOUT",
	ACLInvalidParam: "ACL_ERROR_INVALID_PARAM", NotSupported: "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", OutOfMemory: "ACL_ERROR_RT_MEMORY_ALLOCATION",
	NoResource: "ACL_ERROR_RT_RESOURCE_ALLOC_FAIL", NoEvent: "ACL_ERROR_RT_NO_EVENT_RESOURCE", NoStream: "ACL_ERROR_RT_NO_STREAM_RESOURCE",
	Internal: "ACL_ERROR_RT_INTERNAL_ERROR", SchedulerError: "ACL_ERROR_RT_TS_ERROR", ContextRelease: "ACL_ERROR_RT_CONTEXT_RELEASE_ERROR",
	ModelExecute: "ACL_ERROR_RT_MODEL_EXECUTE", SDMAError: "ACL_ERROR_RT_SDMA_ERROR", AICoreTimeout: "ACL_ERROR_RT_AICORE_TIMEOUT",
	AICoreException: "ACL_ERROR_RT_AICORE_EXCEPTION", AICoreTrap: "ACL_ERROR_RT_AICORE_TRAP_EXCEPTION", AICPUException: "ACL_ERROR_RT_AICPU_EXCEPTION",
	VectorTimeout: "ACL_ERROR_RT_VECTOR_CORE_TIMEOUT", VectorException: "ACL_ERROR_RT_VECTOR_CORE_EXCEPTION",
	StreamSyncTimeout: "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT", EventSyncTimeout: "ACL_ERROR_RT_EVENT_SYNC_TIMEOUT",
	DriverError: "ACL_ERROR_RT_DRV_INTERNAL_ERROR", TimestampInvalid: "ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID",
}

func (c Code) String() string {
	if n, ok := codeNames[c]; ok {
		return fmt.Sprintf("%s (%d)", n, int(c))
	}
	return fmt.Sprintf("aclError %d", int(c))
}

// Error is what a runtime call returns: the ACL code, the call, what was wrong and what to do.
type Error struct {
	Code   Code
	Call   string // aclrtMalloc
	Detail string // what was wrong: argument and value
	Hint   string // what to do
	Err    error  // the fault or deadlock behind it, if any
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
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// faultCode translates a device code; what is not listed is a scheduler error.
func faultCode(device uint32) Code {
	switch device {
	case sim.CodeAICoreTimeout:
		return AICoreTimeout
	case sim.CodeAICoreException:
		return AICoreException
	case sim.CodeAICoreTrap:
		return AICoreTrap
	case sim.CodeAICPUException:
		return AICPUException
	case sim.CodeVectorTimeout:
		return VectorTimeout
	case sim.CodeVectorException:
		return VectorException
	case sim.CodeSDMACopy:
		return SDMAError
	}
	return SchedulerError
}

// fail makes the error of a call and keeps it as the thread's last error.
func (th *Thread) fail(code Code, call, detail, hint string) error {
	e := &Error{Code: code, Call: call, Detail: detail, Hint: hint}
	th.last = e
	return e
}

// blocked turns what a wait met (a deadlock, a fault) into the call's error; nil for neither.
func (th *Thread) blocked(call string, f *sim.Fault, err error) error {
	var e *Error
	switch {
	case err != nil:
		e = &Error{Code: SchedulerError, Call: call, Err: err}
	case f != nil:
		e = &Error{Code: faultCode(f.Code), Call: call, Err: f,
			Detail: fmt.Sprintf("stream %d, task %d%s", f.Stream, f.Task&0xffff, th.rt.nameOf(f))}
	default:
		return nil
	}
	th.last = e
	return e
}

// PeekLastError is the last failing call's error, kept (aclrtPeekAtLastError); nil when there is none.
func (th *Thread) PeekLastError() *Error { return th.last }

// LastError is the last failing call's error, taken away (aclrtGetLastError).
func (th *Thread) LastError() *Error {
	e := th.last
	th.last = nil
	return e
}
