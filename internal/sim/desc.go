package sim

import "npu/internal/trace"

// Desc is a task descriptor: 64 bytes, as the scheduler fetches it from a ring. Eight words rather than fields, since
// eight stores into a ring slot are what a launch costs.
//
//	word 0  kind 8 | engine 8 | flags 16 | queue 16 | task id 16
//	word 1  arrival: device ns at which its doorbell reaches the scheduler (0 in sunk programs)
//	word 2  function 32 | block dim 32 (other kinds: the operator type that the task is a part of)
//	word 3  host thread 16 | copy direction 8 | argument words 8 | name 32
//	word 4  device address of the argument block
//	word 5  A   word 6  B   word 7  C
//
// Words 5 to 7 of a kernel hold nothing, but with FlagLimit word 5 is how long it may run, in ns. Operands by kind:
//
//	EventRecord, EventWait    A event, B generation (0: the event's flag), C time-out of a wait in ns (0: none)
//	EventReset                A event
//	NotifyRecord, NotifyWait  A notify, C time-out of a wait in ns (0: none)
//	Memcpy                    A destination, B source, C bytes
//	Memset                    A destination, B value, C bytes
//	CacheOp                   A address, B CacheOp of package runtime, C bytes
//	Reduce                    as Memcpy; the function word holds ReduceCode
//	ModelExecute              A instance
//	ModelEnd                  –
//	StreamActive              A queue
//	StreamSwitch              with FlagCondition: A address of a 64-bit word, B first body's queue,
//	                          C number of bodies | Choice<<32; where none runs, the tasks up to the next body's end are
//	                          skipped (one wait; with Loop also the jump back)
//	StreamSwitch              A address of the left word, B address of the right word, C queue | condition<<32 | width<<40
//	LabelSwitch               A address of an int32 index, B first label, C number of labels
//	LabelGoto                 A label
//	ValueWrite                A address, B value; with FlagAdd the value is added
//	ValueWait                 A address, B value, C condition
//	Nop                       A number of an update (Machine.NewUpdate), 0 none
//	HostFunc                  A mailbox, B number of the call, C 1 if the queue waits for its end
type Desc [8]uint64

// Flags of a descriptor.
const (
	FlagAdd       uint16 = 1 << iota // ValueWrite adds instead of storing
	Flag32                           // ValueWrite, ValueWait: the word is 32 bits wide
	FlagAbsolute                     // kernel of a sunk queue: Args is an address, not an offset into the instance's blocks
	FlagDevice                       // NotifyRecord, NotifyWait of a sunk queue: a notify of the machine, not of the instance
	FlagCondition                    // StreamSwitch: conditional bodies
	FlagExternal                     // EventRecord, EventWait of a sunk queue: B is the place of its Binding
	FlagLimit                        // kernel: A is its own limit
	FlagContinue                     // StreamActive: the queue goes on in the one that it starts
)

func (d *Desc) kind() trace.Kind     { return trace.Kind(d[0]) }
func (d *Desc) flags() uint16        { return uint16(d[0] >> 16) }
func (d *Desc) arrival() int64       { return int64(d[1]) }
func (d *Desc) function() uint32     { return uint32(d[2]) }
func (d *Desc) blocks() uint32       { return uint32(d[2] >> 32) }
func (d *Desc) thread() uint16       { return uint16(d[3]) }
func (d *Desc) dir() trace.Dir       { return trace.Dir(d[3] >> 16) }
func (d *Desc) argWords() int        { return int(uint8(d[3] >> 24)) }
func (d *Desc) name() trace.StringID { return trace.StringID(d[3] >> 32) }

// Task is what a host thread or a compiled model wants done: the operand words of a descriptor before it has a place
// in a ring.
type Task struct {
	Kind    trace.Kind
	Engine  trace.Engine
	Flags   uint16
	Func    uint32 // kernel function, see Machine.Load
	Blocks  uint32 // block dim, 0 takes the function's own; of other kinds the operator type that they are a part of
	Dir     trace.Dir
	Name    trace.StringID
	Words   uint8 // argument words at Args, for reports of faults
	Args    uint64
	A, B, C uint64
}

// put writes t into a ring slot.
func (t *Task) put(d *Desc, queue, task, thread uint16, arrival int64) {
	d[0] = uint64(t.Kind) | uint64(t.Engine)<<8 | uint64(t.Flags)<<16 | uint64(queue)<<32 | uint64(task)<<48
	d[1] = uint64(arrival)
	d[2] = uint64(t.Func) | uint64(t.Blocks)<<32
	d[3] = uint64(thread) | uint64(t.Dir)<<16 | uint64(t.Words)<<24 | uint64(t.Name)<<32
	d[4] = t.Args
	d[5] = t.A
	d[6] = t.B
	d[7] = t.C
}

// Condition compares two words in StreamSwitch and ValueWait, numbered as aclrtCondition and the value-wait flags.
type Condition uint8

// Conditions of StreamSwitch.
const (
	Equal Condition = iota
	NotEqual
	Greater
	GreaterOrEqual
	Less
	LessOrEqual
)

func (c Condition) holds(l, r int64) bool {
	switch c {
	case Equal:
		return l == r
	case NotEqual:
		return l != r
	case Greater:
		return l > r
	case GreaterOrEqual:
		return l >= r
	case Less:
		return l < r
	default:
		return l <= r
	}
}

// Choice is how a StreamSwitch with FlagCondition picks the body that runs, numbered as aclmdlRICondTaskType.
type Choice uint8

// Choices.
const (
	ChooseIf     Choice = iota // not 0: the first body; 0: the second one, if there is one
	ChooseLoop                 // the body for as long as the word is not 0
	ChooseSwitch               // the body that the word numbers, none beyond the list
)

// body is the chosen one of n, or -1.
func (c Choice) body(word uint64, n int) int {
	switch {
	case c == ChooseSwitch && word < uint64(n):
		return int(word)
	case c == ChooseSwitch:
		return -1
	case word != 0:
		return 0
	case c == ChooseIf && n > 1:
		return 1
	}
	return -1
}

// WaitCondition is when a ValueWait passes, numbered as the flags of aclrtValueWait.
type WaitCondition uint8

// Conditions of ValueWait on the word at an address.
const (
	WaitGEQ WaitCondition = iota // int64(word − value) ≥ 0
	WaitEQ                       // word == value
	WaitAND                      // word & value ≠ 0
	WaitNOR                      // ^(word | value) ≠ 0
)

func (c WaitCondition) holds(word, value uint64) bool {
	switch c {
	case WaitGEQ:
		return int64(word-value) >= 0
	case WaitEQ:
		return word == value
	case WaitAND:
		return word&value != 0
	default:
		return ^(word | value) != 0
	}
}
