package smi

import (
	"regexp"
	"strconv"
	"strings"
)

// What a text of npu-smi may be.
const (
	InfoReport  = "info"       // npu-smi info, once or several times
	MapReport   = "info -m"    // ids
	ListReport  = "info -l"    // cards
	FieldReport = "info -t"    // key : value
	TopoReport  = "info topo"  // links
	WatchReport = "info watch" // samples
	ErrorReport = "error"      // it says why it has nothing
)

// Report is what somebody saved of npu-smi, whatever they asked it.
type Report struct {
	Kind      string // one of the above; empty if the text is not from npu-smi
	Tables    []*Table
	Map       []Mapped
	Peers     []string
	Links     []Links
	Watch     *Watch
	Blocks    []Block
	Processes []Process // of "info -t proc-mem", with the chip of their block
	Fault     *Fault
}

// ReadReport finds out what text is and reads it; of several outputs in one text the one that says most.
func ReadReport(text string) Report {
	if all := ReadReports(text); len(all) > 0 {
		return all[0]
	}
	return Report{}
}

// ReadReports reads all that a text holds, as scripts collect it: the outputs of several commands one behind the other.
// The one that says most comes first.
func ReadReports(text string) []Report {
	text = plain(text)
	var out []Report
	if tables := Tables(text); len(tables) > 0 {
		out = append(out, Report{Kind: InfoReport, Tables: tables})
	}
	if w := ParseWatch(text); w != nil && len(out) == 0 { // it takes every line behind its header for a sample
		return append(out, Report{Kind: WatchReport, Watch: w})
	}
	if m := ParseMap(text); len(m) > 0 {
		out = append(out, Report{Kind: MapReport, Map: m})
	}
	if peers, rows := ParseTopo(text); len(rows) > 0 && len(peers) > 1 {
		out = append(out, Report{Kind: TopoReport, Peers: peers, Links: rows})
	}
	if blocks, procs := fields(text); ours(blocks) || len(procs) > 0 {
		kind := FieldReport
		// A saved text may have lines of processes and no field beside them, so no block either.
		if len(blocks) > 0 && blocks[0].counts() {
			kind = ListReport
		}
		out = append(out, Report{Kind: kind, Blocks: blocks, Processes: procs})
	}
	if len(out) == 0 {
		if t := ParseTable(text); t.Tool != "" || t.ProcessTable {
			return append(out, Report{Kind: ErrorReport, Fault: &Fault{Kind: Garbled, Says: "the table holds no device",
				Try: []string{"save the whole output: the rows of the devices are missing in this text", "npu-smi info -l (the cards that the driver knows)"}}})
		}
		if f := Diagnose(text, 1); f.Kind != Garbled && toolWords.MatchString(text) {
			out = append(out, Report{Kind: ErrorReport, Fault: f})
		}
	}
	return out
}

// toolWords stand in the errors of npu-smi; others have texts with "initialize" and "ret is" too.
var toolWords = regexp.MustCompile(`(?i)\bdcmi|npu-smi|DrvMng|no NPU card|get card number|get board type`)

// Tables reads the tables of a text that holds those of several calls, one behind the other: each banner begins one.
func Tables(text string) []*Table {
	var out []*Table
	begin := 0
	add := func(part string) {
		if t := ParseTable(part); len(t.Devices) > 0 {
			out = append(out, t)
		}
	}
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			break
		}
		if line := strings.TrimSpace(text[at : at+end]); strings.HasPrefix(line, "|") && strings.Contains(line, "npu-smi") && at > begin {
			// The rule above the banner may say how wide the table is.
			from := at
			if above := strings.LastIndexByte(strings.TrimRight(text[begin:at], "\r\n"), '\n'); above >= 0 && strings.HasPrefix(strings.TrimSpace(text[begin+above+1:at]), "+") {
				from = begin + above + 1
			}
			if from > begin {
				add(text[begin:from])
				begin = from
			}
		}
		at += end + 1
	}
	add(text[begin:])
	return out
}

// known keys of "key : value" outputs; two of them make a text one of npu-smi.
var knownKeys = regexp.MustCompile(`(?i)^(npu id|chip id|chip name|chip count|total count|card count|(ddr|hbm) .*|ai(core|vector|cpu|cube) .*|ctrlcpu .*|npu (temperature|utilization|real-time power).*|software version|firmware version|health( status)?|error code|pcie bus info|fault event .*|board id|product name|temperature|memory usage rate|real-time power)$`)

// counts says whether this is the first block of "npu-smi info -l", which says how many devices follow.
func (b Block) counts() bool {
	_, total := b.Find("Total Count")
	_, cards := b.Find("Card Count")
	return total || cards
}

func ours(blocks []Block) bool {
	n := 0
	for _, b := range blocks {
		if b.Chip != "" {
			n++
		}
		for _, f := range b.Fields {
			if knownKeys.MatchString(f.Key) {
				n++
			}
		}
	}
	return n >= 2
}

var procLine = regexp.MustCompile(`^\s*Process id:(\d+)\s+Process name:(.*?)\s*Process memory\(MB\):(\d+)\s*$`)

// fields reads "key : value" lines and the process lines between them, whose chip is that of their block.
func fields(text string) ([]Block, []Process) {
	blocks := ParseBlocks(text)
	var procs []Process
	npu := -1
	for _, b := range blocks {
		if f, ok := b.Find("NPU ID"); ok {
			if n, err := strconv.Atoi(f.Value); err == nil {
				npu = n
			}
		}
	}
	from := 0 // processes of the block that has not ended
	chip := unknown("npu-smi names no chip here")
	end := func() {
		for i := from; i < len(procs); i++ {
			procs[i].Chip = chip
		}
		from, chip = len(procs), unknown("npu-smi names no chip here")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := procLine.FindStringSubmatch(line); m != nil && len(procs) < maxFields {
			pid, err := strconv.Atoi(m[1])
			if err != nil {
				continue
			}
			procs = append(procs, Process{NPU: npu, PID: pid, Name: m[2], Memory: number(m[3]), ContainerPID: unknown("this version prints no pid of the container")})
			continue
		}
		if line == "" {
			end()
		}
		if key, value, ok := cutField(line); ok && strings.EqualFold(key, "Chip ID") {
			chip = number(value)
		}
	}
	end()
	return blocks, procs
}
