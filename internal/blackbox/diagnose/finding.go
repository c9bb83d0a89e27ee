// Package diagnose reads what a dead job left in its logs and says what failed first, where, why, and what to do.
// It collects the lines of one event (task, cores, error words, arguments, codes) into an incident, orders the
// incidents of all files, processes and ranks, and folds what only follows from the first one under it. It never
// matches on the vendor's explanations of error words (they changed and some were wrong): numbers decide.
package diagnose

import "encoding/json"

// Finding is one cause, with what followed from it. The first finding of a report is the first cause. Field names in
// JSON are a contract with scripts; addresses are hex strings.
type Finding struct {
	Cause      string   `json:"cause"`
	Kind       string   `json:"kind"`
	Where      string   `json:"where,omitempty"`
	Why        []string `json:"why,omitempty"`
	Advice     []string `json:"advice,omitempty"`
	Confidence string   `json:"confidence,omitempty"`

	ACL        int      `json:"acl,omitempty"`
	ACLName    string   `json:"acl_name,omitempty"`
	Inner      string   `json:"inner,omitempty"`
	TS         string   `json:"ts,omitempty"`
	Drv        *int     `json:"drv,omitempty"`
	ErrorCodes []string `json:"error_codes,omitempty"`
	Chip       string   `json:"chip,omitempty"`

	Cores        []int             `json:"cores"`
	CoreType     string            `json:"core_type,omitempty"`
	Bystanders   []int             `json:"bystanders,omitempty"`
	ErrCode      []string          `json:"errcode,omitempty"`
	Codes        []int             `json:"codes,omitempty"` // 950: decimal list
	Bits         []int             `json:"bits"`
	Names        []string          `json:"names,omitempty"`
	Bus          string            `json:"bus,omitempty"`
	SubErrType   *int              `json:"sub_err_type,omitempty"`
	PCStart      string            `json:"pc_start,omitempty"`
	PCStartRaw   string            `json:"pc_start_raw,omitempty"`
	Current      string            `json:"current,omitempty"`
	PCFixed      string            `json:"pc_fixed,omitempty"`
	PCFixedBy    string            `json:"pc_fixed_by,omitempty"`
	PCCandidates map[string]string `json:"pc_fixed_candidates,omitempty"`
	PCDoubtful   string            `json:"pc_doubtful,omitempty"`
	PCRepair     bool              `json:"pc_repair"`
	Offset       string            `json:"offset,omitempty"`
	Offsets      map[string]int    `json:"offsets,omitempty"` // offset → number of cores
	Source       string            `json:"source,omitempty"`  // function and line, with --kernel
	Addresses    []string          `json:"addresses,omitempty"`

	Kernel    Name     `json:"kernel"`
	Node      string   `json:"node,omitempty"`
	Task      *int     `json:"task"`
	Stream    *int     `json:"stream"`
	Flip      *int     `json:"flip,omitempty"`
	Device    *int     `json:"device,omitempty"`
	Rank      *int     `json:"rank,omitempty"`
	PID       *int     `json:"pid,omitempty"`
	Process   string   `json:"process,omitempty"`
	Serial    *int     `json:"serial,omitempty"`
	Blocks    int      `json:"block_dim,omitempty"`
	TilingKey string   `json:"tiling_key,omitempty"`
	Args      []string `json:"args,omitempty"`
	SDMA      *SDMA    `json:"sdma,omitempty"`
	Notify    *Notify  `json:"notify,omitempty"`
	Size      int64    `json:"size_bytes,omitempty"`
	Hardware  string   `json:"hardware,omitempty"` // the event of the device that came with it
	Assert    string   `json:"assert,omitempty"`

	Time      string     `json:"time,omitempty"`
	Clock     string     `json:"device_clock,omitempty"` // how the device's clock differs
	Root      string     `json:"root"`
	Follow    int        `json:"follow,omitempty"`  // code of the first followup
	Fallout   []int      `json:"fallout,omitempty"` // codes of all followups
	Followups []Followup `json:"followups,omitempty"`
	Evidence  []Evidence `json:"evidence"`
}

// Name is a string that is null in JSON when it is empty.
type Name string

// MarshalJSON writes null for the empty name.
func (n Name) MarshalJSON() ([]byte, error) {
	if n == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(n))
}

// SDMA is what a copy engine reported.
type SDMA struct {
	Channel int    `json:"channel"`
	CQE     string `json:"cqe,omitempty"`
	Size    int64  `json:"size,omitempty"`
}

// Notify is a wait that ran out of time.
type Notify struct {
	ID      int  `json:"id"`
	Seconds int  `json:"timeout_s,omitempty"`
	Peer    *int `json:"remote_rank,omitempty"`
}

// Followup is an error that follows from the finding it stands under.
type Followup struct {
	What   string `json:"what"`
	ACL    int    `json:"acl,omitempty"`
	Time   string `json:"time,omitempty"`
	PID    *int   `json:"pid,omitempty"`
	Rank   *int   `json:"rank,omitempty"`
	Device *int   `json:"device,omitempty"`
	Count  int    `json:"count,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
}

// Evidence is a line that the finding rests on.
type Evidence struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Report is the result of a run over some logs.
type Report struct {
	Findings []Finding
	Files    []FileInfo
	Notes    []string // what was odd: files cut short, lines cut
	Bytes    int64
	Lines    int64
}

// FileInfo is what was seen of one file.
type FileInfo struct {
	Name           string
	Lines, Records int64
	First, Last    string
}
