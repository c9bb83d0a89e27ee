// Package smi asks real Ascend devices for their state: it finds, runs and reads npu-smi, the vendor's tool, whose
// only output is text for people. It reads the table of "npu-smi info" in every layout that versions 1.8 to 26.1 print,
// and the "key : value" blocks of "npu-smi info -t". It only asks; no call here changes a device.
//
// What cannot be read becomes an unknown value with its reason, never a zero and never a lost device. Failures become a
// Fault that says in words what is wrong and what to try.
//
// A Poller owns one goroutine, and that goroutine runs at most one npu-smi at a time; Close ends both. Its mutex guards
// the last reading only and is held across no call.
package smi

// Value is one figure of the vendor tool.
type Value struct {
	N     float64
	Known bool
	Why   string // why it is unknown; empty when known
}

func known(n float64) Value    { return Value{N: n, Known: true} }
func unknown(why string) Value { return Value{Why: why} }

// Usage is a figure of the form "used / total".
type Usage struct{ Used, Total Value }

// Table is the content of one "npu-smi info".
type Table struct {
	Tool, Driver string // versions; empty when the banner is missing
	Devices      []Device
	Processes    []Process
	ProcessTable bool     // there was a process table; without one nothing is known of processes
	Idle         []int    // NPU ids that the tool lists as without processes
	Notes        []string // lines that could not be read, and warnings of the tool
	Cut          bool     // the text ends inside a table
}

// Device is one chip (die). NPU is the id that npu-smi takes for -i: neither contiguous nor an index, and shared by the
// chips of a card.
type Device struct {
	NPU       int
	Chip      Value  // chip in the card, as printed; unknown on 950
	Phy       Value  // physical id (A3)
	Logic     Value  // logic id (310, 310P, 310B)
	Name      string // "910B3"; may be digits only
	Health    string // OK, Warning, Alarm, Critical, UNKNOWN, or Lost when the tool printed no first line
	Bus       string // PCIe address; empty when the tool has none
	Power     Value  // W
	Temp      Value  // °C
	Util      Value  // per cent; of the AI cores, or of the whole NPU where UtilNPU
	UtilNPU   bool
	Memory    Usage // DDR, MiB
	HBM       Usage // MiB
	Hugepages Usage // pages of 2 MiB
}

// Process is one row of the process table: one process on one chip. The same pid may appear on several chips.
type Process struct {
	NPU          int
	Chip         Value
	PID          int    // in the name space of the host
	Name         string // at most 15 characters; empty when the pid is in no name space that npu-smi sees
	Memory       Value  // MiB of device memory
	ContainerPID Value  // from 26.0 on
}
