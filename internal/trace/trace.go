package trace

import "strconv"

// Trace is everything that was recorded of one run, or read from one file. It is immutable once it is made
// (Recorder.Finish), and any number of goroutines may read it.
type Trace struct {
	Meta     Meta
	Source   Source
	Strings  []string // by StringID; the first is empty
	Tasks    Tasks
	Spans    Rows[Span]    // host calls by start, the longer first, then by thread
	Counters Rows[Counter] // by time, device and name
	Accounts []Account     // by Task.Acct; the first is empty
	Streams  []Stream      // by device and stream; streams without a task may be named here, and not all need be
	Threads  []Thread      // by number
}

// Meta describes the run. Nothing in it differs between two runs of the same program: no wall time, pid or path.
type Meta struct {
	Chip        string // SoC name as in "npu soc list"
	Model       string // name of the model or stream program
	Policy      string // scheduling policy: preempt or reference
	Devices     int
	CubeCores   int // of one device
	VectorCores int
	DMAEngines  int
	AICPUs      int
	ClockMHz    int   // of the AI cores; 0 when unknown
	WallOrdered bool  // wall time decided the order of some tasks: another run may differ
	Lost        int64 // records that the device dropped
}

// Source says how the trace came here. It is not written to captures.
type Source struct {
	Format     string           // npt, msprof, ...; run for a trace recorded by this process
	Ranks      int              // communication ranks whose data is here; 0 when the source knows none
	Missing    []string         // what the source should have had and has not, one sentence each
	Notes      []string         // what the reader did that is worth telling, one sentence each
	Hints      []string         // what the source cannot tell, and how to collect it the next time
	BadRecords int64            // records that could not be read
	Records    map[string]int64 // how many records of each kind the source holds, by the source's own name
	Devices    []SourceDevice   // what the devices of the trace are in the source, by ID; empty when ID says it
	Steps      []Step           // step times that the source itself computed
	Totals     []Total          // sums by operator or call that the source itself computed, where it holds nothing else
	Sheets     []Sheet          // tables that the source holds beside its tasks
}

// SourceDevice says what device ID of the trace is: devices of several ranks or hosts may have the same number.
type SourceDevice struct {
	ID     uint16 `json:"id"`
	Rank   int    `json:"rank"`   // -1 when the source knows none
	Device int    `json:"device"` // number on its host
	Host   string `json:"host,omitempty"`
}

// Step is a training step or iteration as the vendor's tools sum it up. All times are nanoseconds; Free is the time in which
// the device neither computed nor communicated.
type Step struct {
	Name          string `json:"name"`
	Type          string `json:"type"`  // rank or stage
	Index         string `json:"index"` // rank number, or the ranks of the stage
	Total         int64  `json:"total_ns"`
	Computing     int64  `json:"computing_ns"`
	Communication int64  `json:"communication_ns"`
	NotOverlapped int64  `json:"communication_not_overlapped_ns"`
	Overlapped    int64  `json:"overlapped_ns"`
	Free          int64  `json:"free_ns"`
	Stage         int64  `json:"stage_ns"`
	Bubble        int64  `json:"bubble_ns"`
	Preparing     int64  `json:"preparing_ns"`
}

// Ranked says that s is of the rank of d, where it is of a rank that its source does not name, or names by its device.
func (s *Step) Ranked(d SourceDevice) {
	if s.Type == "rank" && d.Rank >= 0 && (s.Index == "" || s.Index == strconv.Itoa(d.Device)) {
		s.Index = strconv.Itoa(d.Rank)
	}
}

// Total is the count and time of one operator type or host call, as the vendor's tools sum it up.
type Total struct {
	Name    string
	Call    bool // of the host
	Count   int64
	TotalNs int64
	MaxNs   int64
}

// Stream names a stream.
type Stream struct {
	Device   uint16
	ID       uint32
	Name     string // empty: show the number
	Priority int    // as in aclrtCreateStreamWithConfig: 0 is the most urgent
}

// Thread names a host thread.
type Thread struct {
	ID   uint16
	Name string
}

// Counter is a value that holds from Time on until the next row of the same name and device.
type Counter struct {
	Time   int64
	Value  float64
	Name   StringID // with the unit: "HBM in use (bytes)"
	Device uint16
}

// String is the text of id. Ids out of range are empty, which Check reports.
func (t *Trace) String(id StringID) string {
	if int(id) < len(t.Strings) {
		return t.Strings[id]
	}
	return ""
}

// DeviceName is what views call a device: its number, and its rank where the source knows one.
func (t *Trace) DeviceName(id uint16) string {
	name := "NPU " + strconv.Itoa(int(id))
	for _, d := range t.Source.Devices {
		if d.ID == id && d.Rank >= 0 {
			name += " rank " + strconv.Itoa(d.Rank)
		}
	}
	return name
}

// Account is the cycle account of a task; the zero account when it has none.
func (t *Trace) Account(row uint32) Account {
	if int(row) < len(t.Accounts) {
		return t.Accounts[row]
	}
	return Account{}
}

// Label is what a reader calls a task: its own name, else its operator type, else its kind.
func (t *Trace) Label(k *Task) string {
	if s := t.String(k.Name); s != "" {
		return s
	}
	if s := t.String(k.Op); s != "" {
		return s
	}
	return k.Kind.String()
}
