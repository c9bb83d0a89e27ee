// Package profdb reads the databases that the vendor's tools export: msprof_*.db, ascend_pytorch_profiler_*.db and
// analysis.db. It reads only, and never makes a file beside them. Tables and columns differ between builds: what is there is
// read, and what is not known is counted.
package profdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

// Magic starts an SQLite database.
const Magic = "SQLite format 3\x00"

// Read reads the database at path. Where it is damaged, what was read before the damage is given with a problem.Damaged
// error; the trace is nil when nothing can be read.
func Read(ctx context.Context, path string) (*trace.Trace, error) {
	d, err := open(ctx, path)
	if err != nil {
		return nil, problem.Damagedf("%s: %w", path, err)
	}
	defer d.close()
	r := &reader{
		db: d, rec: trace.NewRecorder(), words: ascend.NewWords(), strings: map[int64]trace.StringID{}, threads: map[int64]uint16{},
		calls: map[int64]launch{}, compute: map[int64]compute{}, pieces: map[int64]piece{}, accounts: map[int64]*ascend.Metrics{}, groups: map[int64]uint32{}, series: map[trace.StringID][]trace.Counter{},
		source: trace.Source{Format: "msprof database", Records: map[string]int64{}},
	}
	if !profile(d.tables) {
		return nil, problem.Damagedf("%s holds no profiling data: expected the table TASK, found %s", path, list(d.tables))
	}
	if d.tables["PYTORCH_API"] != nil {
		r.source.Format = "torch_npu database"
	}
	err = errors.Join(d.cut, r.read())
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.finish()
	t := r.rec.Finish()
	if err != nil {
		return t, problem.Damagedf("%s: %w", path, err)
	}
	return t, nil
}

// profile says whether tables are those of profiling data.
func profile(tables map[string]map[string]bool) bool {
	for name := range tables {
		switch name {
		case "TASK", "CANN_API", "StepTraceTime", "PYTORCH_API", "CommunicationGroup", "MEMORY_RECORD", "NPU_MEM", "AICORE_FREQ", "MSTX_EVENTS":
			return true
		}
		if strings.HasPrefix(name, "CommAnalyzer") || strings.HasPrefix(name, "Cluster") {
			return true
		}
	}
	return false
}

func list(tables map[string]map[string]bool) string {
	if len(tables) == 0 {
		return "no tables at all"
	}
	names := slices.Sorted(maps.Keys(tables))
	if len(names) > 8 {
		names = append(names[:8], fmt.Sprintf("and %d more", len(names)-8))
	}
	return strings.Join(names, ", ")
}

type reader struct {
	*db
	rec     *trace.Recorder
	words   *ascend.Words
	source  trace.Source
	meta    trace.Meta
	strings map[int64]trace.StringID

	threads  map[int64]uint16 // by globalTid
	calls    map[int64]launch // by connection id
	compute  map[int64]compute
	pieces   map[int64]piece
	accounts map[int64]*ascend.Metrics
	groups   map[int64]uint32 // streams of communication groups
	rows     []row
	metrics  *wide
	series   map[trace.StringID][]trace.Counter
}

// launch is a call that may have submitted tasks.
type launch struct {
	start, end int64
	thread     uint16
	stream     uint32
	task       uint32
	linked     bool
}

// read reads table by table. After an error it goes on: other tables may be good.
func (r *reader) read() error {
	errs := []error{r.names(), r.about(), r.launches(), r.computes(), r.communication(), r.pmu(), r.tasks()}
	r.record()
	errs = append(errs, r.operators())
	r.rows = nil
	errs = append(errs, r.operations(), r.spans(), r.torch(), r.marks(), r.counters(), r.others(), r.steps(), r.count())
	r.recordSeries()
	return errors.Join(errs...)
}

// names reads the strings.
func (r *reader) names() error {
	return r.db.rows("STRING_IDS", "id value", func(s *sqlite3.Stmt) {
		r.strings[s.ColumnInt64(0)] = r.rec.Intern(s.ColumnText(1))
	})
}

// str is the string of column i.
func (r *reader) str(s *sqlite3.Stmt, i int) trace.StringID {
	if null(s, i) {
		return 0
	}
	id, ok := r.strings[s.ColumnInt64(i)]
	if !ok {
		r.source.BadRecords++
	}
	return id
}

// named is str without the exporter's word for nothing.
func (r *reader) named(s *sqlite3.Stmt, i int) trace.StringID {
	id := r.str(s, i)
	if r.text(id) == "N/A" {
		return 0
	}
	return id
}

func (r *reader) text(id trace.StringID) string {
	if all := r.rec.StringTable(); int(id) < len(all) {
		return all[id]
	}
	return ""
}

// about reads what the tables say of chip, host and ranks.
func (r *reader) about() error {
	host := ""
	err := errors.Join(
		r.db.rows("NPU_INFO", "id name", func(s *sqlite3.Stmt) { r.meta.Chip, r.meta.Devices = s.ColumnText(1), r.meta.Devices+1 }),
		r.db.rows("HOST_INFO", "hostName", func(s *sqlite3.Stmt) { host = s.ColumnText(0) }),
	)
	return errors.Join(err, r.db.rows("RANK_DEVICE_MAP", "rankId deviceId", func(s *sqlite3.Stmt) {
		rank, device := s.ColumnInt64(0), s.ColumnInt64(1)
		if rank >= 0 && rank < 1<<24 && device >= 0 && device < 1<<16 {
			r.source.Devices = append(r.source.Devices, trace.SourceDevice{ID: uint16(device), Rank: int(rank), Device: int(device), Host: host})
			r.source.Ranks++
		}
	}))
}

// thread numbers host threads by first sight; the id in the operating system is the lower half.
func (r *reader) thread(global int64) uint16 {
	n, ok := r.threads[global]
	if !ok {
		n = uint16(min(len(r.threads)+1, 1<<16-1))
		r.threads[global] = n
		r.rec.NameThread(n, "tid "+strconv.FormatInt(global&0xFFFFFFFF, 10))
	}
	return n
}

// count says how many rows each table has, but those of names.
func (r *reader) count() error {
	var errs []error
	for table := range r.tables {
		if strings.HasPrefix(table, "ENUM_") || strings.HasPrefix(table, "sqlite_") || table == "STRING_IDS" {
			continue
		}
		errs = append(errs, r.query("SELECT count(*) FROM "+sqlite3.QuoteIdentifier(table), func(s *sqlite3.Stmt) {
			r.source.Records[table] = s.ColumnInt64(0)
		}))
	}
	return errors.Join(errs...)
}

// finish describes the source.
func (r *reader) finish() {
	if r.tables["TASK"] != nil || r.tables["PYTORCH_API"] != nil || r.tables["CANN_API"] != nil {
		for _, table := range []string{"TASK", "CANN_API"} {
			if r.tables[table] == nil {
				r.source.Missing = append(r.source.Missing, "table "+table)
			}
		}
	}
	if r.tables["TASK_PMU_INFO"] == nil && r.tables["TASK"] != nil {
		r.source.Hints = append(r.source.Hints, "no PMU counters: collect with --aic-metrics=PipeUtilization to see what bounds a kernel")
	}
	r.rec.SetMeta(r.meta)
	r.rec.SetSource(r.source)
}

// device is the device number in column i.
func (r *reader) device(s *sqlite3.Stmt, i int) uint16 {
	v := s.ColumnInt64(i)
	if v < 0 || v >= 1<<16 {
		r.source.BadRecords++
		return 0
	}
	return uint16(v)
}
