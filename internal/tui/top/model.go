// Package top is the live screen of devices and what runs on them, and the same facts as plain table, CSV and JSON.
//
// Where figures come from is a Source; this package owns that interface. There is one over npu-smi (real devices), one
// over the runs of this tool and one over a recording; Merge puts several into one screen. A Source never blocks the screen, never changes the system,
// and says of what it does not know why it does not.
//
// Facts are described once, as fields (key, unit, where it lies) and columns (title, width, how it is shown): screen,
// table, CSV, JSON and recordings are made from the same ones.
//
// Goroutines belong to the sources; the screen runs on Bubble Tea's.
package top

import "time"

// Value is one figure, or the reason why there is none.
type Value struct {
	N     float64
	Known bool
	Why   string
}

// Num is a known figure, Unknown a missing one with its reason.
func Num(n float64) Value { return Value{N: n, Known: true} }

// Unknown is a missing figure with its reason.
func Unknown(why string) Value { return Value{Why: why} }

// Text is a word, or the reason why there is none: S is empty then.
type Text struct{ S, Why string }

// Pair is "used of total".
type Pair struct{ Used, Total Value }

// Share is Used/Total from 0 to 1; known only if both are and the total is not 0.
func (p Pair) Share() Value {
	switch {
	case !p.Total.Known:
		return Unknown(p.Total.Why)
	case !p.Used.Known:
		return Unknown(p.Used.Why)
	case p.Total.N <= 0:
		return Unknown("there is none")
	}
	return Num(p.Used.N / p.Total.N)
}

// List is rows, or the reason why a source has none to give. Known and empty is not the same as unknown.
type List[T any] struct {
	Rows []T
	Why  string // empty when the rows are known
}

// Key names a device over frames. Chip is -1 where the device has no chip id. Ids are the driver's: neither contiguous
// nor an index.
type Key struct {
	Source    string
	NPU, Chip int
}

// Device is one chip.
type Device struct {
	Source     string // "npu-smi", "simulator"
	Index      int    // place in the source's order; what a program sees as device number without a visibility list
	NPU        int    // card id
	Chip       Value  // chip in the card
	Phy, Logic Value  // physical and logical id
	Name       string
	Health     string // OK, Warning, Alarm, Critical, UNKNOWN, Lost; empty where the source does not say
	Bus        Text   // PCIe address
	Power      Value  // W
	Temp       Value  // °C
	Util       Value  // per cent, of what UtilKind says
	UtilKind   string // "aicore" or "npu"
	Memory     Pair   // DDR, MiB
	HBM        Pair   // MiB
	Hugepages  Pair   // pages of 2 MiB
	Bandwidth  Value  // HBM bandwidth in use, per cent
	Faults     Value  // since the source knows the device
	Engines    []Engine
	Facts      []Fact // what else is known, only for a device that is watched; nil before the answer
}

// Engine is one unit of a device: cube, vector, a DMA engine.
type Engine struct {
	Name string
	Util Value // per cent
}

// Fact is one more thing that is known of a device, in the words of its source.
type Fact struct{ Group, Name, Value, Unit string }

// Key of the device.
func (d *Device) Key() Key { return Key{d.Source, d.NPU, chipOf(d.Chip)} }

func chipOf(v Value) int {
	if !v.Known {
		return -1
	}
	return int(v.N)
}

// Mem is the memory that matters: HBM where the device has some, else DDR.
func (d *Device) Mem() Pair {
	if d.HBM.Total.Known && d.HBM.Total.N > 0 {
		return d.HBM
	}
	if d.Memory.Total.Known && d.Memory.Total.N > 0 {
		return d.Memory
	}
	if !d.HBM.Total.Known && d.HBM.Total.Why != "" && !d.Memory.Total.Known {
		return d.HBM
	}
	return d.Memory
}

// free is what is left of the memory that matters, in MiB.
func (d *Device) free() Value {
	m := d.Mem()
	if !m.Used.Known || !m.Total.Known {
		return Unknown("its memory is not known")
	}
	return Num(m.Total.N - m.Used.N)
}

// Severity of a device's health: 0 fine, 1 warning, 2 alarm, 3 critical or lost.
func (d *Device) Severity() int { return severity(d.Health) }

func severity(health string) int {
	switch health {
	case "OK", "": // or nobody says
		return 0
	case "Alarm":
		return 2
	case "Critical", "Lost":
		return 3
	}
	return 1
}

// Process is one process on one device; a process on several devices has a row for each.
type Process struct {
	Source       string
	NPU          int
	Chip         Value
	PID          int
	ContainerPID Value
	Name         string // as the source says it; may be empty
	Command      Text   // whole command line
	User         Text
	Mem          Value // device memory, MiB
	HostMem      Value // resident memory of the host, MiB
	CPU          Value // host time, per cent of one core
	Age          Value // seconds since its start
	Streams      Value // number of streams
}

// Key of the device that the process uses.
func (p *Process) Key() Key { return Key{p.Source, p.NPU, chipOf(p.Chip)} }

// Stream is one stream of a process.
type Stream struct {
	Source   string
	NPU      int
	Chip     Value
	PID      int
	ID       int
	State    string // idle, running, waiting, failed
	Waits    Text   // what it waits for
	Depth    Value  // tasks submitted and not ended
	Tasks    Value  // tasks ended
	Priority Value
}

// Memory is one share of a device's memory: a process, a pool, what the system keeps, what is free.
type Memory struct {
	Source string
	NPU    int
	Chip   Value
	Owner  string
	PID    Value
	Size   Value // MiB
	Peak   Value // MiB
	Blocks Value
}

// Key of the device whose memory it is.
func (m *Memory) Key() Key { return Key{m.Source, m.NPU, chipOf(m.Chip)} }

// Operator is what one operator took on a device.
type Operator struct {
	Source string
	NPU    int
	Chip   Value
	PID    int
	Name   string
	Type   string
	Count  Value
	Total  Value // µs of device time
	Mean   Value // µs
	Share  Value // per cent of the device time seen
}

// State of a source.
type State string

// States.
const (
	Waiting State = "waiting" // the first answer is not there yet
	Live    State = "live"
	Stale   State = "stale"  // the last good frame is shown; Says tells why
	Failed  State = "failed" // no good frame, Says tells why
	Ended   State = "ended"  // a recording is at its end
)

// Status is how a source fares.
type Status struct {
	Name    string // "npu-smi"
	Version string // of the tool and driver, as one text
	State   State
	At      time.Time     // when the figures were taken; zero without any
	Took    time.Duration // what taking them took
	Since   time.Time     // start of the question that is being asked; zero when none is
	Says    string        // what is wrong, in words
	Text    string        // the same in the words of the tool
	Found   []string      // what was found wrong on this machine
	Try     []string      // what to do about it
}

// Frame is everything that is known at one time. It is not changed once given out.
type Frame struct {
	Seq       int // grows with each frame of a source
	Time      time.Time
	Sources   []Status
	Devices   []Device
	Processes List[Process]
	Streams   List[Stream]
	Memory    List[Memory]
	Operators List[Operator]
	Notes     []string // what could not be read
}

// At is when the oldest figures of the frame were taken; zero without any.
func (f *Frame) At() time.Time {
	var t time.Time
	for _, s := range f.Sources {
		if !s.At.IsZero() && (t.IsZero() || s.At.Before(t)) {
			t = s.At
		}
	}
	return t
}

// Waiting reports whether a source has not answered yet.
func (f *Frame) Waiting() bool {
	for _, s := range f.Sources {
		if s.State == Waiting {
			return true
		}
	}
	return false
}
