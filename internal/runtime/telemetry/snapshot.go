package telemetry

// Limits of a page: what does not fit is left out, and counted where there is a count.
const (
	MaxDevices   = 16
	MaxEngines   = 12
	MaxStreams   = 128
	MaxOperators = 48
	maxText      = 63 // bytes of a name
)

// Snapshot is what a process says of itself at one moment. Times named Ns are device time.
type Snapshot struct {
	PID     int
	Wall    int64 // Unix ns of the sample, host clock
	Started int64 // Unix ns of the process's start, host clock
	Program string
	Faults  uint64 // device faults so far

	Devices   []Device
	Streams   []Stream
	Operators []Operator // the ones with most device time, most first
	Hidden    int        // streams that did not fit
}

// Device is one device as its process has used it.
type Device struct {
	ID        int
	Chip      string
	Ns        int64 // device time that has been simulated
	Engines   []Engine
	Moved     uint64 // bytes to and from HBM so far, as the kernels account them
	Bandwidth uint64 // bytes a second that the HBM can do; 0 unknown
	InUse     uint64 // HBM bytes of this process
	Peak      uint64
	Total     uint64
	Blocks    uint64 // allocations
	Tasks     uint64 // ended
	Faults    uint64
}

// Engine is one kind of core, or one DMA channel.
type Engine struct {
	Name   string
	Units  int
	BusyNs int64 // device time summed over the units
}

// State of a stream.
type State uint8

// States of a stream.
const (
	Idle State = iota
	Running
	Waiting
	Failed
)

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

var stateNames = [...]string{"idle", "running", "waiting", "failed"}

// Stream is one stream of a process.
type Stream struct {
	Device   int
	ID       uint32
	Priority int
	State    State
	Waits    string // what it waits for; empty when it does not
	Depth    uint64 // tasks submitted and not ended
	Tasks    uint64 // ended
}

// Operator is what the kernels of one name took.
type Operator struct {
	Device int
	Name   string
	Type   string
	Count  uint64
	Ns     int64
}
