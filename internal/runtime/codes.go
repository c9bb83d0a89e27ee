package runtime

import (
	"fmt"

	"npu/internal/blackbox/errcode"
	"npu/internal/sim"
)

// Code is an aclError. Names and meanings of all codes are the error catalogue's (npu errcode).
type Code int

// Codes that this package returns.
const (
	InvalidParam      Code = 107000
	InvalidDevice     Code = 107001
	ContextNull       Code = 107002
	StreamContext     Code = 107003
	ModelContext      Code = 107004
	StreamNotInModel  Code = 107005
	TimestampInvalid  Code = 107006
	AddrUnaligned     Code = 107008
	StreamSubscribe   Code = 107011
	ThreadSubscribe   Code = 107012
	NoCallback        Code = 107015
	InvalidHandle     Code = 107017
	TaskTimeout       Code = 107020
	OptionNotSet      Code = 107021
	DeviceTaskAbort   Code = 107022
	StreamAbort       Code = 107023
	CaptureDependency Code = 107024
	CaptureUnjoined   Code = 107025
	ModelCaptured     Code = 107026
	StreamCaptured    Code = 107027
	EventCaptured     Code = 107028
	NotCaptured       Code = 107029
	CaptureForbids    Code = 107030
	CaptureImplicit   Code = 107031
	CaptureConflict   Code = 107032
	TaskGroupState    Code = 107033
	TaskGroupBroken   Code = 107034
	CaptureUnmatched  Code = 107036
	ModelRunning      Code = 107037
	CaptureThread     Code = 107038
	UpdateFailed      Code = 107040
	SubgraphCapturing Code = 107045
	ACLInvalidParam   Code = 100000
	RepeatInit        Code = 100002
	InvalidFile       Code = 100003
	ParseFile         Code = 100006
	FileAttr          Code = 100008
	DumpConfig        Code = 100009
	ProfilingConfig   Code = 100010
	RepeatFinalize    Code = 100037
	ProfAlreadyRun    Code = 100042
	ProfNotRun        Code = 100043
	RepeatSubscribe   Code = 148046
	ProfAPIConflict   Code = 148047
	NotSupported      Code = 207000
	OutOfMemory       Code = 207001
	CoreOverflow      Code = 207003
	NoResource        Code = 207005
	NoPermission      Code = 207006
	NoEvent           Code = 207007
	NoStream          Code = 207008
	NoNotify          Code = 207009
	Internal          Code = 507000
	SchedulerError    Code = 507001
	TaskType          Code = 507009
	ContextRelease    Code = 507007
	ModelExecute      Code = 507011
	ReportTimeout     Code = 507012
	SDMAError         Code = 507013
	AICoreTimeout     Code = 507014
	AICoreException   Code = 507015
	AICoreTrap        Code = 507016
	AICPUTimeout      Code = 507017
	AICPUException    Code = 507018
	KernelLookup      Code = 507027
	VectorTimeout     Code = 507034
	VectorException   Code = 507035
	StreamSyncTimeout Code = 507046
	EventSyncTimeout  Code = 507047
	MemoryECC         Code = 507054
	DriverError       Code = 507899
	CaptureInvalid    Code = 507903
	VectorOverflow    Code = 207016
	UpdateUnsupported Code = 207019
)

func (c Code) String() string {
	if e, ok := errcode.ACL(int(c)); ok && e.Name != "" {
		return fmt.Sprintf("%s (%d)", e.Name, int(c))
	}
	return fmt.Sprintf("aclError %d", int(c))
}

// faultCode translates a device code; what is not listed is a scheduler error.
func faultCode(device uint32) Code {
	if device == sim.CodeMemoryECC {
		return MemoryECC
	}
	if e, ok := errcode.Scheduler(device); ok && e.ACL != 0 {
		return Code(e.ACL)
	}
	return SchedulerError
}

// messageOf is the message code (EE1017) that the runtime usually reports with a code.
func messageOf(c Code) string {
	switch c {
	case InvalidDevice:
		return "EE1001"
	case StreamSyncTimeout, EventSyncTimeout:
		return "EE1002"
	case ACLInvalidParam:
		return "EE1004"
	case NotSupported:
		return "EE1005"
	case StreamContext:
		return "EE1010"
	case InvalidHandle, ContextNull:
		return "EE1017"
	case ModelContext:
		return "EE1011"
	case StreamNotInModel:
		return "EE1007"
	case StreamCaptured, EventCaptured, NotCaptured, CaptureForbids, CaptureImplicit:
		return "EE1016"
	case NoCallback, ContextRelease, ModelExecute, OptionNotSet, RepeatInit, RepeatFinalize, ProfAlreadyRun, ProfNotRun, RepeatSubscribe, ProfAPIConflict:
		return "EE1018"
	case NoEvent, NoStream, NoNotify, NoResource, OutOfMemory:
		return "EE1023"
	case InvalidFile, ParseFile, FileAttr, DumpConfig, ProfilingConfig:
		return "EH0001"
	case InvalidParam, AddrUnaligned, ThreadSubscribe, StreamSubscribe:
		return "EE1003"
	case AICoreException, AICoreTimeout, AICoreTrap, VectorException, VectorTimeout:
		return "EZ9999"
	}
	return "EE9999"
}
