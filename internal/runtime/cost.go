package runtime

// call is a runtime call, with its public name and its modelled host cost.
type call struct {
	name string
	ns   int64
}

// launchNs is the cost of a launch; it stands apart since the launch path must not load it from memory.
const launchNs = 3000

// The calls and what they cost the host thread, in ns of its clock. The order of magnitude is that of a launch on a
// real host (a few microseconds); waiting is charged on return.
var (
	callThread        = call{"thread start", 1000}
	callJoin          = call{"thread join", 500}
	callLock          = call{"mutex lock", 50}
	callUnlock        = call{"mutex unlock", 50}
	callSend          = call{"channel send", 50}
	callRecv          = call{"channel receive", 50}
	callSetDevice     = call{"aclrtSetDevice", 5000}
	callResetDevice   = call{"aclrtResetDevice", 20000}
	callPeer          = call{"aclrtDeviceEnablePeerAccess", 10000}
	callCreateContext = call{"aclrtCreateContext", 20000}
	callSetContext    = call{"aclrtSetCurrentContext", 100}
	callDestroyCtx    = call{"aclrtDestroyContext", 20000}
	callCreateStream  = call{"aclrtCreateStream", 20000}
	callDestroyStream = call{"aclrtDestroyStream", 10000}
	callAbortStream   = call{"aclrtStreamAbort", abortNs}
	callAbortDevice   = call{"aclrtDeviceTaskAbort", abortNs}
	callStopStream    = call{"aclrtStreamStop", 5000}
	callStreamAttr    = call{"aclrtSetStreamAttribute", 1000}
	callStateCallback = call{"aclrtRegStreamStateCallback", 1000}
	callDeviceState   = call{"aclrtRegDeviceStateCallback", 1000}
	callInit          = call{"aclInit", 100000}
	callFinalize      = call{"aclFinalize", 100000}
	callSetSysParam   = call{"aclrtSetSysParamOpt", 500}
	callCtxSysParam   = call{"aclrtCtxSetSysParamOpt", 500}
	callCleanStream   = call{"aclrtPersistentTaskClean", 5000}
	callSyncStream    = call{"aclrtSynchronizeStream", 4000}
	callSyncDevice    = call{"aclrtSynchronizeDevice", 4000}
	callQueryStream   = call{"aclrtStreamQuery", 1000}
	callCreateEvent   = call{"aclrtCreateEvent", 2000}
	callDestroyEvent  = call{"aclrtDestroyEvent", 1000}
	callRecordEvent   = call{"aclrtRecordEvent", 1500}
	callWaitEvent     = call{"aclrtStreamWaitEvent", 1500}
	callResetEvent    = call{"aclrtResetEvent", 1500}
	callSyncEvent     = call{"aclrtSynchronizeEvent", 4000}
	callQueryEvent    = call{"aclrtQueryEventStatus", 1000}
	callElapsed       = call{"aclrtEventElapsedTime", 1000}
	callCreateNotify  = call{"aclrtCreateNotify", 2000}
	callDestroyNotify = call{"aclrtDestroyNotify", 1000}
	callRecordNotify  = call{"aclrtRecordNotify", 1500}
	callWaitNotify    = call{"aclrtWaitAndResetNotify", 1500}
	callValueWrite    = call{"aclrtValueWrite", 1500}
	callValueWait     = call{"aclrtValueWait", 1500}
	callHostFunc      = call{"aclrtLaunchHostFunc", 3000}
	callCallback      = call{"aclrtLaunchCallback", 3000}
	callSubscribe     = call{"aclrtSubscribeReport", 5000}
	callReport        = call{"aclrtProcessReport", 1000}
	callException     = call{"aclrtExceptionInfoCallbackRegister", 1000}
	callMalloc        = call{"aclrtMalloc", 2000}
	callFree          = call{"aclrtFree", 1000}
	callMallocHost    = call{"aclrtMallocHost", 5000}
	callFreeHost      = call{"aclrtFreeHost", 3000}
	callMemcpy        = call{"aclrtMemcpy", 4000}
	callMemcpyAsync   = call{"aclrtMemcpyAsync", 3000}
	callMemset        = call{"aclrtMemset", 4000}
	callMemsetAsync   = call{"aclrtMemsetAsync", 3000}
	callMemInfo       = call{"aclrtGetMemInfo", 1000}
	callLoadKernel    = call{"aclrtBinaryLoad", 10000}
	callFindKernel    = call{"aclrtBinaryGetFunction", 1000}
	callUnloadKernel  = call{"aclrtBinaryUnLoad", 10000}
	callLaunch        = call{"aclrtLaunchKernel", launchNs}
	callLoadModel     = call{"aclmdlLoad", 50000}
	callCaptureBegin  = call{"aclmdlRICaptureBegin", 3000}
	callCaptureEnd    = call{"aclmdlRICaptureEnd", 50000}
	callCaptureInfo   = call{"aclmdlRICaptureGetInfo", 500}
	callTaskGroup     = call{"aclmdlRICaptureTaskGrpBegin", 1000}
	callTaskGroupEnd  = call{"aclmdlRICaptureTaskGrpEnd", 1000}
	callUpdateBegin   = call{"aclmdlRICaptureTaskUpdateBegin", 1000}
	callUpdateEnd     = call{"aclmdlRICaptureTaskUpdateEnd", 3000}
	callCondition     = call{"aclmdlRICondHandleCreate", 2000}
	callCondTask      = call{"aclmdlRIAddCondTask", 2000}
	callBuildModel    = call{"aclmdlRIBuildBegin", 2000}
	callBindStream    = call{"aclmdlRIBindStream", 1000}
	callUnbindStream  = call{"aclmdlRIUnbindStream", 1000}
	callEndTask       = call{"aclmdlRIEndTask", 1500}
	callBuildEnd      = call{"aclmdlRIBuildEnd", 50000}
	callAbortModel    = call{"aclmdlRIAbort", 5000}
	callDestroyModel  = call{"aclmdlRIDestroy", 20000}
	callSwitchStream  = call{"aclrtSwitchStream", 1500}
	callActiveStream  = call{"aclrtActiveStream", 1500}
	callSetLabel      = call{"aclrtSetLabel", 1000}
	callSwitchLabel   = call{"aclrtSwitchLabelByIndex", 1500}
	callReduce        = call{"aclrtReduceAsync", 3000}
	callCommInit      = call{"HcclCommInitAll", 100000}
	callCollective    = call{"HcclAllReduce", 5000}
	callExecute       = call{"aclmdlExecuteAsync", 5000}
	callProfInit      = call{"aclprofInit", 100000}
	callProfSet       = call{"aclprofSetConfig", 1000}
	callProfStart     = call{"aclprofStart", 50000}
	callProfStop      = call{"aclprofStop", 50000}
	callProfFinalize  = call{"aclprofFinalize", 100000}
	callProfSubscribe = call{"aclprofModelSubscribe", 20000}
	callMark          = call{"aclprofMark", 200}
	callMarkEx        = call{"aclprofMarkEx", 1500}
	callPush          = call{"aclprofPush", 200}
	callPop           = call{"aclprofPop", 200}
	callRangeStart    = call{"aclprofRangeStart", 200}
	callRangeStop     = call{"aclprofRangeStop", 200}
)

// syncEntry is the part of a synchronising call that is spent before it waits.
const syncEntry = 500
