// Package profcsv reads comma-separated exports: the tables of tasks, operators, calls and steps that msprof, torch_npu and
// the cluster tools write, and those of this program. Columns go by name, in the spellings of all versions.
package profcsv

import (
	"cmp"
	"context"
	"io"
	"math"
	"strconv"
	"strings"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/ascend"
	own "npu/internal/trace/csv"
)

// Options is what a caller knows that the table does not say.
type Options struct {
	Name   string // of the table, by its file; empty when that says nothing: then only tables that this package knows are read
	Device uint16 // of rows that name none
	Side   bool   // the table stands beside one of tasks: sums are kept as a table, and are not those of the trace
}

// Read reads the table in in. What was read before damage is given with a problem.Damaged error; the trace is nil when the
// table is none that is known.
func Read(ctx context.Context, in io.Reader, o Options) (*trace.Trace, error) {
	name := o.Name
	t, err := openTable(ctx, in)
	if err != nil {
		return nil, problem.Damagedf("read CSV: %w", err)
	}
	r := &reading{table: t, Options: o, rec: trace.NewRecorder(), words: ascend.NewWords(), source: trace.Source{Records: map[string]int64{}},
		texts: map[string]string{}, counters: map[string]trace.StringID{}, series: map[trace.StringID][]trace.Counter{}}
	switch known := t.recognised(); {
	case strings.Join(t.header, ",") == own.Header:
		r.source.Format = "npu CSV"
		err = r.each(r.ownRow())
	case t.findTime(startNames...).at >= 0 && t.findTime(durationNames...).at >= 0 && t.find(labelNames...) >= 0:
		r.source.Format = "msprof CSV"
		err = r.each(r.taskRow())
		r.parts()
	case t.find("Computing") >= 0 && t.find("Free") >= 0:
		r.source.Format = "step times (CSV)"
		err = r.each(r.stepRow())
	case t.find("OP Type", "API Name") >= 0 && t.find("Count") >= 0 && !o.Side && !strings.HasPrefix(name, "communication_statistic"):
		r.source.Format = "operator statistics (CSV)"
		if t.find("API Name") >= 0 {
			r.source.Format = "API statistics (CSV)"
		}
		err = r.each(r.totalRow())
	case known != "" || name != "" && len(t.header) > 1 && t.named():
		// The file's name says more where two tables have the same columns, as those of network cards.
		table := cmp.Or(name, known)
		if known != "" && known != "op_blocks" && !strings.Contains(" nic roce hbm ddr hccs pcie qos sio ub llc_read_write llc_aicpu llc_ctrlcpu llc_bandwidth netdev_stats ", " "+name+" ") && !strings.HasPrefix(name, known) {
			table = known
		}
		r.source.Format = table + " (CSV)"
		if name == "kernel_details" || name == "op_summary" || name == "task_time" {
			r.source.Missing = append(r.source.Missing, "the columns of start, duration and name: its rows are not tasks, but a table")
		}
		row := r.sheetRow(table)
		if known == "op_basic_info" && !o.Side {
			row = r.operatorRow(row)
		}
		err = r.each(row)
	default:
		return nil, problem.Damagedf("read CSV: no table of tasks, operators, calls or steps: its columns are %s", list(t.header))
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.finish()
	out := r.rec.Finish()
	if err != nil {
		return out, problem.Damagedf("read CSV: %w; the %d rows before it are good", err, r.source.Records["rows"])
	}
	return out, nil
}

func list(header []string) string {
	const shown = 6
	s := strings.Join(header[:min(len(header), shown)], ", ")
	if len(s) > 200 {
		s = s[:200] + "..."
	}
	if len(header) > shown {
		s += ", ..."
	}
	return s
}

type reading struct {
	*table
	Options
	rec    *trace.Recorder
	words  *ascend.Words
	source trace.Source
	meta   trace.Meta
	tasks  []row
	ranks  map[string]bool

	sheet       *trace.Sheet // being read, with the number of its rows
	finishSheet func()
	texts       map[string]string
	counters    map[string]trace.StringID
	series      map[trace.StringID][]trace.Counter
}

func (r *reading) each(take func()) error {
	for {
		ok, err := r.next()
		if err != nil || !ok {
			return err
		}
		r.source.Records["rows"]++
		take()
	}
}

func (r *reading) finish() {
	for i := 0; i < len(r.tasks); i++ {
		r.rec.Tasks([]trace.Task{r.tasks[i].Task})
	}
	if r.finishSheet != nil {
		r.finishSheet()
		r.record()
	}
	if r.rest {
		r.source.Missing = append(r.source.Missing, "the end of the table: its last row was cut, and left out")
	}
	r.source.Ranks = len(r.ranks)
	r.source.Records["columns"] = int64(len(r.header))
	r.rec.SetMeta(r.meta)
	r.rec.SetSource(r.source)
}

// stepRow reads step times: of one rank, or of all ranks and stages of a cluster.
func (r *reading) stepRow() func() {
	name, kind, index := r.find("Step"), r.find("Type"), r.find("Index", "Device_id")
	r.ranks = map[string]bool{}
	columns := []int{
		r.find("Computing"), r.find("Communication"), r.find("Communication(Not Overlapped)"), r.find("Overlapped"), r.find("Free"),
		r.find("Stage"), r.find("Bubble"), r.find("Preparing"),
	}
	return func() {
		s := trace.Step{Name: r.cell(name), Type: r.cell(kind), Index: r.cell(index)}
		if s.Type == "" {
			s.Type = "rank"
		}
		for i, to := range []*int64{&s.Computing, &s.Communication, &s.NotOverlapped, &s.Overlapped, &s.Free, &s.Stage, &s.Bubble, &s.Preparing} {
			if columns[i] >= 0 && r.cell(columns[i]) != "" {
				ns, ok := r.rounded(columns[i])
				if !ok {
					r.source.BadRecords++
				}
				*to = ns
			}
		}
		if s.Type == "rank" && kind >= 0 {
			r.ranks[s.Index] = true
		}
		r.source.Records["rows of type "+s.Type]++
		r.source.Steps = append(r.source.Steps, s)
	}
}

// totalRow reads sums by operator type or by call.
func (r *reading) totalRow() func() {
	name, call := r.find("OP Type", "API Name"), r.find("API Name") >= 0
	count, total, longest := r.find("Count"), r.find("Total Time(us)", "Time(us)"), r.find("Max Time(us)", "Max(us)", "Max")
	return func() {
		ns, ok := r.rounded(total)
		if !ok {
			r.source.BadRecords++
			return
		}
		most, _ := r.rounded(longest)
		r.source.Totals = append(r.source.Totals, trace.Total{Name: r.cell(name), Call: call, Count: max(r.whole(count), 0), TotalNs: ns, MaxNs: most})
	}
}

// operatorRow reads the row of the one operator that "msprof op" ran, for a table and as a sum.
func (r *reading) operatorRow(row func()) func() {
	name, duration := r.find("Op Name"), r.find("Task Duration(us)")
	return func() {
		row()
		if ns, ok := r.rounded(duration); ok {
			r.source.Totals = append(r.source.Totals, trace.Total{Name: r.cell(name), Count: 1, TotalNs: ns, MaxNs: ns})
		}
	}
}

func u32(v int64) uint32 {
	if v < 0 || v > math.MaxUint32 {
		return 0
	}
	return uint32(v)
}

// ownRow reads a row of this program's own table.
func (r *reading) ownRow() func() {
	c := map[string]int{}
	for i, name := range r.header {
		c[name] = i
	}
	engines := map[string]trace.Engine{}
	for e := trace.EngineNone; e <= trace.EngineHost; e++ {
		engines[e.String()] = e
	}
	raw := func(i int) string {
		if i < len(r.row) {
			return r.row[i]
		}
		return ""
	}
	return func() {
		bad := false
		n := func(name string) int64 {
			v, err := strconv.ParseInt(raw(c[name]), 10, 64)
			bad = bad || err != nil
			return v
		}
		k := trace.Task{
			Submit: n("submit_ns"), Ready: n("ready_ns"), Start: n("start_ns"), End: n("end_ns"), Bytes: n("bytes"),
			Name: r.rec.Intern(raw(c["name"])), Op: r.rec.Intern(raw(c["op_type"])), Stream: u32(n("stream")), Task: u32(n("task")), Blocks: u32(n("block_dim")),
			Event: u32(n("event")), Gen: u32(n("generation")), Model: u32(n("model")), Iter: u32(n("iteration")), Code: u32(n("code")),
			Device: uint16(u32(n("device"))), Thread: uint16(u32(n("thread"))), Flags: uint8(u32(n("flags"))), Kind: trace.ParseKind(raw(c["kind"])), Engine: engines[raw(c["engine"])],
		}
		a := trace.Account{
			Total: n("cycles"), Cube: n("cube_cycles"), Vector: n("vector_cycles"), Scalar: n("scalar_cycles"), MTE1: n("mte1_cycles"), MTE2: n("mte2_cycles"),
			MTE3: n("mte3_cycles"), Fixpipe: n("fixpipe_cycles"), ICache: n("icache_miss_cycles"), ReadBytes: n("read_bytes"), WriteBytes: n("write_bytes"),
			L2Hits: n("l2_hits"), L2Misses: n("l2_misses"),
		}
		if bad || k.End < k.Start {
			r.source.BadRecords++
			return
		}
		for d := trace.HostToHost; d <= trace.DeviceToDevice; d++ {
			if d.String() == raw(c["direction"]) {
				k.Dir = d
			}
		}
		if name := raw(c["stream_name"]); name != "" {
			r.rec.NameStream(k.Device, k.Stream, name, 0)
		}
		k.Acct = r.rec.AddAccount(a)
		r.rec.Tasks([]trace.Task{k})
	}
}
