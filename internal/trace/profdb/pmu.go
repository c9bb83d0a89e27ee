package profdb

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

// wide is the table of metrics with a row a kernel and a column a metric.
type wide struct {
	columns map[int64]*wideColumn // by string id of the metric
	rows    map[int64]int         // by global task id
	globals []int64
}

type wideColumn struct {
	name   string
	factor float64
	values []float64
}

// metricName is a metric as all readers call it, and the factor to the unit in its name: databases hold nanoseconds and bytes a
// second.
func metricName(name string) (string, float64) {
	switch name {
	case "aic_total_time", "total_time":
		return "aicore_time_us", 1e-3
	case "aiv_total_time":
		return "aiv_time_us", 1e-3
	}
	word := trace.Word(name)
	switch {
	case strings.HasSuffix(word, "_time"):
		return word + "_us", 1e-3
	case strings.HasSuffix(word, "_bw") || strings.Contains(word, "_bw_"):
		return word + "_gb_s", 1.0 / (1 << 30)
	case strings.HasSuffix(word, "_datas"):
		return word + "_kb", 1
	}
	return word, 1
}

// pmu reads the long table of counters: a row a metric.
func (r *reader) pmu() error {
	metrics := map[int64]ascend.Metric{}
	for id, name := range r.strings {
		if m := ascend.MetricOf(r.text(name)); m.Known() {
			metrics[id] = m
		}
	}
	w := wide{map[int64]*wideColumn{}, map[int64]int{}, nil}
	err := r.db.rows("TASK_PMU_INFO", "globalTaskId name value", func(s *sqlite3.Stmt) {
		global, id, v := s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnFloat(2)
		if math.IsNaN(v) || math.IsInf(v, 0) || null(s, 2) {
			return
		}
		if m, ok := metrics[id]; ok {
			sum := r.accounts[global]
			if sum == nil {
				sum = &ascend.Metrics{}
				r.accounts[global] = sum
			}
			sum.Set(m, v)
		}
		w.add(global, id, v, func() string { return r.text(r.strings[id]) })
	})
	r.metrics = &w
	return err
}

func (w *wide) add(global, id int64, v float64, name func() string) {
	row, ok := w.rows[global]
	if !ok {
		row = len(w.globals)
		w.rows[global] = row
		w.globals = append(w.globals, global)
	}
	c := w.columns[id]
	if c == nil {
		c = &wideColumn{}
		c.name, c.factor = metricName(name())
		w.columns[id] = c
	}
	for len(c.values) <= row {
		c.values = append(c.values, math.NaN())
	}
	c.values[row] = v * c.factor
}

// metricSheet is the table of metrics, once the tasks are known.
func (r *reader) metricSheet() {
	w := r.metrics
	if w == nil || len(w.globals) == 0 {
		return
	}
	keys := []trace.SheetColumn{trace.IntColumn("device"), trace.IntColumn("stream"), trace.IntColumn("task"), trace.IntColumn("start_ns"), trace.IntColumn("duration_ns"),
		trace.TextColumn("name"), trace.TextColumn("op_type")}
	of := map[int64]int{}
	for i := range r.rows {
		if k := &r.rows[i]; !k.part || of[k.global] == 0 {
			of[k.global] = i + 1
		}
	}
	for _, global := range w.globals {
		var values [7]any
		if at := of[global]; at > 0 {
			k := &r.rows[at-1]
			values = [7]any{int64(k.device), int64(k.stream), int64(k.task), k.start, k.end - k.start}
		}
		c := r.compute[global]
		values[5], values[6] = r.text(c.name), r.text(c.op)
		for i := range keys {
			keys[i].Add(values[i])
		}
	}
	var list []trace.SheetColumn
	for _, id := range slices.Sorted(maps.Keys(w.columns)) {
		c := w.columns[id]
		for len(c.values) < len(w.globals) {
			c.values = append(c.values, math.NaN())
		}
		list = append(list, trace.SheetColumn{Name: c.name, Type: trace.ColumnFloat, Float: c.values})
	}
	s := trace.NewSheet("pmu", append(keys, list...)...)
	s.Rows = len(w.globals)
	s.Trim()
	r.source.AddSheet(s)
}

// operators is what COMPUTE_TASK_INFO says of kernels beside what a task holds.
func (r *reader) operators() error {
	s := trace.NewSheet("op_details", trace.IntColumn("device"), trace.IntColumn("stream"), trace.IntColumn("task"), trace.IntColumn("start_ns"), trace.IntColumn("duration_ns"),
		trace.TextColumn("name"), trace.TextColumn("op_type"), trace.TextColumn("op_state"), trace.TextColumn("hf32_eligible"), trace.IntColumn("mix_block_num"), trace.TextColumn("input_shapes"),
		trace.TextColumn("input_data_types"), trace.TextColumn("input_formats"), trace.TextColumn("output_shapes"), trace.TextColumn("output_data_types"), trace.TextColumn("output_formats"))
	of := map[int64]int{}
	for i := range r.rows {
		if k := &r.rows[i]; !k.part || of[k.global] == 0 {
			of[k.global] = i + 1
		}
	}
	err := r.db.rows("COMPUTE_TASK_INFO", "globalTaskId name opType opState hf32Eligible mixBlockNum|mixBlockDim inputShapes inputDataTypes inputFormats outputShapes outputDataTypes outputFormats", func(st *sqlite3.Stmt) {
		var values [16]any
		if at := of[st.ColumnInt64(0)]; at > 0 {
			k := &r.rows[at-1]
			values = [16]any{int64(k.device), int64(k.stream), int64(k.task), k.start, k.end - k.start}
		}
		word := func(i int) any { return strings.Trim(r.text(r.named(st, i)), `"`) }
		values[5], values[6], values[7], values[8] = word(1), word(2), word(3), word(4)
		if !null(st, 5) {
			values[9] = st.ColumnInt64(5)
		}
		for i := range 6 {
			values[10+i] = word(6 + i)
		}
		s.Add(values[:]...)
	})
	s.Trim()
	r.source.AddSheet(s)
	return err
}

// marks reads user ranges, garbage collections and calls of the operating system.
func (r *reader) marks() error {
	span := func(s *sqlite3.Stmt, start, end int64, thread int64, name trace.StringID) {
		if null(s, 0) || null(s, 1) || end < start {
			r.source.BadRecords++
			return
		}
		r.rec.Spans([]trace.Span{{Start: start, End: end, Thread: r.thread(thread), Name: name, Device: r.hostDevice(), Task: trace.NoTask}})
	}
	for _, t := range []struct{ table, columns, prefix string }{{"MSTX_EVENTS", "startNs endNs globalTid message", "mstx@"}, {"GC_RECORD", "startNs endNs globalTid -", "GC"}, {"OSRT_API", "startNs endNs globalTid name", "OS@"}} {
		err := r.db.rows(t.table, t.columns, func(s *sqlite3.Stmt) {
			span(s, s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2), r.rec.Intern(t.prefix+r.text(r.str(s, 3))))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
