// Package trace is the task trace: what ran on the device and when. It holds the columnar data model, the capture
// file (.npt) and the analyses; foreign formats live in packages below it. It knows no simulator and no runtime.
package trace

// Kind is what a task does. The names are those of the scheduler and of msprof's task types.
type Kind uint8

// Task kinds.
const (
	KindNone Kind = iota
	KernelAICore
	KernelAIVector
	KernelMix
	KernelAICPU
	EventRecord
	EventWait
	EventReset
	NotifyRecord
	NotifyWait
	Memcpy
	Memset
	ModelExecute
	ModelEnd
	StreamActive
	StreamSwitch
	LabelSwitch
	LabelGoto
	LabelSet
	ValueWrite
	ValueWait
	HostFunc
	Flip
	Nop
	Reduce
	KernelMixAIV
	Communication // a collective operation, or a piece of one
	Other         // what this program has no name for: Op holds the source's own
	CacheOp       // of the device's cache: prefetch, write-back, invalidation, flush
	kindCount
)

var kindNames = [kindCount]string{
	"NONE", "KERNEL_AICORE", "KERNEL_AIVEC", "KERNEL_MIX_AIC", "KERNEL_AICPU", "EVENT_RECORD", "EVENT_WAIT", "EVENT_RESET",
	"NOTIFY_RECORD", "NOTIFY_WAIT", "MEMCPY_ASYNC", "MEMSET_ASYNC", "MODEL_EXECUTE", "MODEL_END_GRAPH",
	"STREAM_ACTIVE", "STREAM_SWITCH", "LABEL_SWITCH_BY_INDEX", "LABEL_GOTO", "LABEL_SET", "VALUE_WRITE", "VALUE_WAIT", "HOST_FUNC",
	"FLIP", "NOP", "REDUCE_ASYNC", "KERNEL_MIX_AIV", "COMMUNICATION", "OTHER", "CMO",
}

func (k Kind) String() string {
	if k < kindCount {
		return kindNames[k]
	}
	return "UNKNOWN"
}

// ParseKind is the inverse of String; KindNone for other words.
func ParseKind(s string) Kind {
	for k, n := range kindNames {
		if n == s {
			return Kind(k)
		}
	}
	return KindNone
}

// Kernel says whether the task is a kernel of some core.
func (k Kind) Kernel() bool { return k >= KernelAICore && k <= KernelAICPU || k == KernelMixAIV }

// Envelope says whether the task lasts from the first to the last of other tasks that have rows of their own, as the
// execution of a sunk model does. Sums of time leave it out.
func (k Kind) Envelope() bool { return k == ModelExecute }

// Engine is the hardware unit that executed a task.
type Engine uint8

// Engines. Scheduler tasks (events, switches) occupy none.
const (
	EngineNone Engine = iota
	EngineCube
	EngineVector
	EngineDMA
	EngineAICPU
	EngineHost
	engineCount
)

var engineNames = [engineCount]string{"Scheduler", "AI Core", "AI Vector Core", "DMA", "AI CPU", "Host"}

func (e Engine) String() string {
	if e < engineCount {
		return engineNames[e]
	}
	return "unknown"
}

// Dir is the direction of a copy.
type Dir uint8

// Copy directions, numbered as aclrtMemcpyKind.
const (
	HostToHost Dir = iota
	HostToDevice
	DeviceToHost
	DeviceToDevice
)

func (d Dir) String() string { return [...]string{"H2H", "H2D", "D2H", "D2D"}[d&3] }

// StringID names a string of the trace's string table; 0 is the empty string.
type StringID uint32

// Task is one row: a task that ran on a device. All times are device nanoseconds.
type Task struct {
	Submit int64 // when its doorbell reached the device; for sunk tasks the start of the execution of the model
	Ready  int64 // when it was at the head of its stream with its dependencies met
	Start  int64 // first block on an engine (or the scheduler's action)
	End    int64
	Bytes  int64    // moved by a copy, or read and written by a kernel
	Name   StringID // the operator's or copy's own name ("conv1")
	Op     StringID // operator type (Conv2D); empty for other kinds
	Stream uint32
	Task   uint32 // flip count << 16 | task id
	Blocks uint32 // block dim
	Event  uint32 // event, notify or label id of record and wait tasks, else 0
	Gen    uint32 // generation of that event: a wait belongs to the record with the same Event and Gen
	Model  uint32 // model instance that the task belongs to; 0 for eager tasks
	Iter   uint32 // execution number of that model instance, from 0
	Code   uint32 // device error code (0: good)
	Acct   uint32 // row of the cycle-account table; 0 for none
	Device uint16
	Thread uint16 // host thread that submitted it, counted from 1; 0 for sunk tasks
	Kind   Kind
	Engine Engine
	Dir    Dir
	Flags  uint8
}

// Span is a call on a host thread. Times are the thread's modelled clock on the device's time line.
type Span struct {
	Start, End int64
	Name       StringID // aclrtLaunchKernel, aclrtMemcpyAsync, ...
	Thread     uint16
	Device     uint16
	Stream     uint32 // the stream and task that the call submitted; Task is NoTask when it submitted none
	Task       uint32
	Code       uint32 // aclError
}

// NoTask marks a Span that submitted nothing.
const NoTask = ^uint32(0)

// Account is the cycle account of one kernel: how many cycles each pipe of one core is busy, summed over the cores.
type Account struct {
	Total, Cube, Vector, Scalar, MTE1, MTE2, MTE3, Fixpipe, ICache int64
	ReadBytes, WriteBytes, L2Hits, L2Misses                        int64
}

// Sink takes rows as the device finishes them, in order of End within a stream. The slice is the caller's and is
// reused after the call.
type Sink interface {
	Tasks(rows []Task)
	Spans(rows []Span)
}

// Swapper takes a block of rows as a Sink does, but keeps it and gives an empty one, so that nothing is copied: see Drain.
type Swapper interface {
	Swap(b *Block) (empty *Block)
}
