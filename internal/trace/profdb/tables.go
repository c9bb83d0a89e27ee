package profdb

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"npu/internal/trace"
)

// taken is the tables that other files of this package read, or that hold nothing to show.
const taken = " TASK COMPUTE_TASK_INFO COMMUNICATION_SCHEDULE_TASK_INFO MEMCPY_INFO COMMUNICATION_OP CANN_API PYTORCH_API TASK_PMU_INFO STRING_IDS NPU_INFO HOST_INFO RANK_DEVICE_MAP META_DATA " +
	"SESSION_TIME_INFO STEP_TIME StepTraceTime ClusterStepTraceTime CONNECTION_IDS PYTORCH_CALLCHAINS OVERLAP_ANALYSIS status_info connectionCats AICORE_FREQ NPU_MEM MSTX_EVENTS GC_RECORD OSRT_API "

// largest bounds the values of a table that is taken over as it stands.
const largest = 20 << 20

// known says how the columns of a table are called and what their units are, where its own names do not say.
type known struct {
	sheet   string
	columns map[string]unit
}

// unit is a column's name in a sheet and the factor to its unit; 0 leaves the value as it is.
type unit struct {
	name   string
	factor float64
}

func knownTables() map[string]known {
	bytes := func(names ...string) map[string]unit {
		out := map[string]unit{}
		for _, n := range names {
			out[n] = unit{trace.Word(n) + "_bytes", 0}
		}
		return out
	}
	ns := func(m map[string]unit, names ...string) map[string]unit {
		for _, n := range names {
			out := strings.TrimSuffix(trace.Word(n), "_ns")
			m[n] = unit{out + "_ns", 0}
		}
		return m
	}
	place := func(m map[string]unit) map[string]unit {
		m["hccl_op_name"], m["group_name"], m["step"], m["type"] = unit{"op", 0}, unit{"group_name", 0}, unit{"step", 0}, unit{"type", 0}
		m["transport_type"], m["transit_size"], m["transit_time"], m["bandwidth"] = unit{"transport", 0}, unit{"size_bytes", 1e6}, unit{"transit_ns", 1e6}, unit{"bandwidth_gb_s", 0}
		m["rank_id"], m["rankId"] = unit{"rank", 0}, unit{"rank", 0}
		return m
	}
	times := place(map[string]unit{
		"start_timestamp": {"start_ns", 1e3}, "elapse_time": {"elapse_ns", 1e6}, "wait_time": {"wait_ns", 1e6}, "synchronization_time": {"synchronization_ns", 1e6},
		"idle_time": {"idle_ns", 1e6}, "elapsed_time": {"elapse_ns", 1e6},
	})
	band := place(map[string]unit{"package_size": {"packet_bytes", 1e6}, "total_duration": {"total_ns", 1e6}})
	matrix := place(map[string]unit{"src_rank": {"src", 0}, "dst_rank": {"dst", 0}})
	totals := []string{"totalAllocated", "totalReserved", "totalActive"}
	return map[string]known{
		"CommAnalyzerTime": {"communication", times}, "ClusterCommAnalyzerTime": {"communication", times},
		"CommAnalyzerBandwidth": {"communication_bandwidth", band}, "ClusterCommAnalyzerBandwidth": {"communication_bandwidth", band},
		"CommAnalyzerMatrix": {"communication_matrix", matrix}, "ClusterCommAnalyzerMatrix": {"communication_matrix", matrix},
		"MEMORY_RECORD": {"memory_record", ns(bytes(totals...), "timestamp")},
		"OP_MEMORY": {"operator_memory", ns(bytes("size", "allocationTotalAllocated", "allocationTotalReserved", "allocationTotalActive", "releaseTotalAllocated", "releaseTotalReserved", "releaseTotalActive"),
			"allocationTime", "releaseTime", "activeReleaseTime", "duration", "activeDuration")},
		"NPU_OP_MEM":              {"npu_op_mem", bytes("size", "totalAllocate", "totalReserve")},
		"NPU_MODULE_MEM":          {"npu_module_mem", bytes("totalReserved")},
		"COMMUNICATION_TASK_INFO": {"communication_tasks", bytes("size")},
	}
}

// stringColumns is the columns that hold ids of STRING_IDS in all tables, and some only in tables of their own.
const stringColumns = " name opName groupName opType operatorName component category message taskType algType type mode "

// others takes over the tables that nothing else reads: as sheets, and as counters where their rows are stamped.
func (r *reader) others() error {
	var errs []error
	names := knownTables()
	for _, table := range slices.Sorted(maps.Keys(r.tables)) {
		if strings.Contains(taken, " "+table+" ") || strings.HasPrefix(table, "ENUM_") || strings.HasPrefix(table, "sqlite_") || strings.HasPrefix(table, "_") {
			continue
		}
		k, ok := names[table]
		if !ok {
			k.sheet = trace.Word(strings.ToLower(table))
			if strings.ContainsFunc(table, func(r rune) bool { return 'a' <= r && r <= 'z' }) {
				k.sheet = trace.Word(table)
			}
		}
		errs = append(errs, r.sheet(table, &k))
	}
	return errors.Join(errs...)
}

// enums is the words for the numbers of a column, by the table that holds them.
func (r *reader) enums() map[string]map[int64]string {
	out := map[string]map[int64]string{}
	for column, table := range map[string]string{
		"moduleId": "ENUM_MODULE", "transportType": "ENUM_HCCL_TRANSPORT_TYPE", "linkType": "ENUM_HCCL_LINK_TYPE", "dataType": "ENUM_HCCL_DATA_TYPE", "rdmaType": "ENUM_HCCL_RDMA_TYPE",
	} {
		words := map[int64]string{}
		_ = r.db.rows(table, "id name", func(s *sqlite3.Stmt) { words[s.ColumnInt64(0)] = s.ColumnText(1) }) // a table without words shows its numbers
		if len(words) > 0 {
			out[column] = words
		}
	}
	return out
}

// sheet takes one table over.
func (r *reader) sheet(table string, k *known) error {
	words := r.enums()
	var s *trace.Sheet
	stamp, labels := -1, []int{}
	values := 0
	var units []unit
	var text []bool
	err := r.query("SELECT * FROM "+sqlite3.QuoteIdentifier(table), func(st *sqlite3.Stmt) {
		n := st.ColumnCount()
		if s == nil {
			var columns []trace.SheetColumn
			for i := range n {
				name := st.ColumnName(i)
				u, ok := k.columns[name]
				if !ok {
					u.name = trace.Word(name)
				}
				if name == "deviceId" || name == "device_id" {
					u.name = "device"
				}
				if name == "rankId" || name == "rank_id" {
					u.name = "rank"
				}
				units = append(units, u)
				text = append(text, strings.Contains(stringColumns, " "+name+" "))
				columns = append(columns, trace.IntColumn(u.name))
				switch {
				case name == "timestampNs" || u.name == "timestamp_ns":
					stamp = i
				case text[i] || words[name] != nil || strings.HasSuffix(strings.ToLower(name), "id"):
					labels = append(labels, i)
				}
			}
			s = trace.NewSheet(k.sheet, columns...)
		}
		if values += n; values > largest {
			return
		}
		for i := range n {
			s.Columns[i].Take(r.value(st, i, units[i].factor, text[i], words[st.ColumnName(i)]))
		}
		s.Rows++
		if stamp >= 0 {
			r.sampled(table, s, stamp, labels, text)
		}
	})
	if err != nil {
		err = fmt.Errorf("table %s: %w", table, err)
	}
	if s == nil {
		return err
	}
	if values > largest {
		r.source.Missing = append(r.source.Missing, "table "+table+": only its first "+strconv.Itoa(s.Rows)+" rows are shown")
	}
	s.Trim()
	r.source.AddSheet(s)
	return err
}

// value is the value of column i: a string where it holds the id of one.
func (r *reader) value(st *sqlite3.Stmt, i int, factor float64, text bool, words map[int64]string) any {
	switch st.ColumnType(i) {
	case sqlite3.INTEGER:
		v := st.ColumnInt64(i)
		if word, ok := words[v]; ok {
			return word
		}
		if id, ok := r.strings[v]; ok && text {
			return r.text(id)
		}
		if factor != 0 {
			return scaled(float64(v), factor)
		}
		return v
	case sqlite3.FLOAT:
		v := st.ColumnFloat(i)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		if factor != 0 {
			return scaled(v, factor)
		}
		return v
	case sqlite3.TEXT:
		s := st.ColumnText(i)
		if s == "N/A" {
			return nil
		}
		if v, err := strconv.ParseInt(s, 10, 64); err == nil && strconv.FormatInt(v, 10) == s {
			if factor != 0 {
				return scaled(float64(v), factor)
			}
			return v // PYTORCH tables keep numbers as text
		}
		if v, err := strconv.ParseFloat(s, 64); err == nil && factor != 0 && !math.IsInf(v, 0) {
			return scaled(v, factor)
		}
		return s
	}
	return nil
}

// scaled is v in its new unit, a whole number. The part behind the point is multiplied by itself: the product of a time since
// 1970 in microseconds is only good to 256 ns.
func scaled(v, factor float64) any {
	if !(math.Abs(v*factor) < math.MaxInt64/2) {
		return nil
	}
	whole, rest := math.Modf(v)
	return int64(whole)*int64(factor) + int64(math.Round(rest*factor))
}

// sampled makes counters of the last row of s: one a column that measures something.
func (r *reader) sampled(table string, s *trace.Sheet, stamp int, labels []int, text []bool) {
	row := s.Rows - 1
	at, ok := s.Columns[stamp].Value(row).(int64)
	if !ok {
		r.source.BadRecords++
		return
	}
	device := uint16(0)
	if c := s.Column("device"); c != nil {
		if v, ok := c.Value(row).(int64); ok && v >= 0 && v < 1<<16 {
			device = uint16(v)
		}
	}
	label := ""
	for _, i := range labels {
		if s.Columns[i].Name == "device" || s.Columns[i].Name == "global_tid" {
			continue
		}
		switch v := s.Columns[i].Value(row).(type) {
		case string:
			label += " " + v
		case int64:
			label += " " + strings.TrimSuffix(s.Columns[i].Name, "_id") + " " + strconv.FormatInt(v, 10)
		}
	}
	for i := range s.Columns {
		c := &s.Columns[i]
		if i == stamp || slices.Contains(labels, i) || c.Name == "device" || c.Name == "addr" || strings.HasSuffix(c.Name, "_ptr") || c.Name == "global_tid" {
			continue
		}
		v := 0.0
		switch x := c.Value(row).(type) {
		case int64:
			v = float64(x)
		case float64:
			v = x
		default:
			continue
		}
		name, sized := strings.CutSuffix(c.Name, "_bytes")
		name = s.Name + label + " " + strings.ReplaceAll(name, "_", " ")
		if sized {
			name += " (bytes)"
		}
		id := r.rec.Intern(name)
		r.series[id] = append(r.series[id], trace.Counter{Time: at, Value: v, Name: id, Device: device})
	}
}

// record records the series that ever left zero.
func (r *reader) recordSeries() {
	for _, id := range slices.Sorted(maps.Keys(r.series)) {
		if slices.ContainsFunc(r.series[id], func(c trace.Counter) bool { return c.Value != 0 }) {
			r.rec.Counters(r.series[id])
		}
	}
}
