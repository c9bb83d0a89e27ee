package profcsv

import (
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"npu/internal/trace"
	"npu/internal/trace/ascend"
)

// known is the columns by which a table without a telling name is recognised, the most telling first.
var known = []struct {
	name    string
	columns []string
}{
	{"operator_memory", []string{"Allocation Time(us)", "Name"}},
	{"memory_record", []string{"Component", "Timestamp(us)", "Total Allocated"}},
	{"npu_module_mem", []string{"Component", "Timestamp(us)", "Total Reserved"}},
	{"npu_mem", []string{"event", "hbm(KB)"}},
	{"l2_cache", []string{"Hit Rate", "Victim Rate"}},
	{"soc_pmu", []string{"TLB Hit Rate"}},
	{"fusion_op", []string{"Fusion Op", "Original Ops"}},
	{"aicpu", []string{"Node", "Compute_time(us)"}},
	{"aicpu_mi", []string{"Node Name", "Queue Size"}},
	{"data_preprocess", []string{"Action", "Cached Buffer Size"}},
	{"static_op_mem", []string{"Node Index Start", "Op Name"}},
	{"step_trace", []string{"Iteration ID", "FP Start(us)"}},
	{"operator_details", []string{"Name", "Host Self Duration(us)"}},
	{"network", []string{"Timestamp(us)", "Rx Bandwidth efficiency(%)"}},
	{"msprof_tx", []string{"message_type", "message"}},
	{"acc_pmu", []string{"accId"}},
	{"bandwidth", []string{"Metric", "Read(MB/s)"}},
	{"soc_bandwidth", []string{"Metric", "L2Buffer_bandwidth_level"}},
	{"ub", []string{"PortId"}},
	{"ccu_mission", []string{"Instruction ID"}},
	{"ccu_channel", []string{"Channel Id", "Max Bandwidth(MB/s)"}},
	{"cpu_usage", []string{"Cpu Type"}},
	{"process_cpu_usage", []string{"PID", "CPU(%)"}},
	{"process_mem", []string{"PID", "Resident(pages)"}},
	{"sys_mem", []string{"Memory Total", "Memory Free"}},
	{"dvpp", []string{"Dvpp Id"}},
	{"cpu_pmu_events", []string{"Event", "Name", "Count"}},
	{"cpu_top_function", []string{"Function", "Cycles"}},
	{"os_runtime_statistic", []string{"Thread ID", "Name", "Time(%)"}},
	{"op_basic_info", []string{"Op Name", "Task Duration(us)", "Rated Freq"}},
	{"op_blocks", []string{"block_id", "sub_block_id"}},
}

// recognised is the name of a table by its columns; empty when it is none that this package knows.
func (t *table) recognised() string {
	for _, k := range known {
		all := true
		for _, want := range k.columns {
			some := false
			for _, have := range t.header {
				some = some || have == want || strings.HasPrefix(have, want) && strings.HasPrefix(have[len(want):], "(")
			}
			all = all && some
		}
		if all {
			return k.name
		}
	}
	return ""
}

var fileName = regexp.MustCompile(`^(.*?)(?:_slice_\d+)?(?:_\d+)*(?:\.csv)?(?:\.gz)?$`)

// named says whether the header could be one: most of its cells are words.
func (t *table) named() bool {
	words := 0
	for _, h := range t.header {
		if _, err := strconv.ParseFloat(h, 64); err != nil && h != "" {
			words++
		}
	}
	return words*2 > len(t.header)
}

// modules is the names that the vendor's tools give their tables.
const modules = " op_summary op_statistic task_time api_statistic communication_statistic hccl_statistic step_trace l2_cache memory_record operator_memory npu_mem npu_module_mem fusion_op " +
	"aicpu aicpu_mi dp data_preprocess static_op_mem hbm ddr nic roce pcie hccs llc_read_write llc_aicpu llc_ctrlcpu llc_bandwidth qos sio ub ccu_mission ccu_channel soc_pmu acc_pmu " +
	"stars_soc stars_chip_trans inter_soc low_power freq voltage netdev_stats dvpp cpu_usage process_cpu_usage sys_mem process_mem host_cpu_usage host_mem_usage host_network_usage " +
	"host_disk_usage os_runtime_statistic os_runtime_api ai_core_utilization aiv_utilization ai_vector_core_utilization msprof_tx ge_op_execute prof_rule_0 kernel_details operator_details " +
	"step_trace_time api event block_detail biu_group biu_perf instr ts_cpu_top_function ai_cpu_top_function ctrl_cpu_top_function ai_cpu_pmu_events ctrl_cpu_pmu_events ts_cpu_pmu_events page_fault dpu " +
	"op_basic_info arithmetic_utilization l2cache memory_l0 memory_ub pipe_utilization resource_conflict_ratio "

// Module says whether name is one that the vendor's tools give a table.
func Module(name string) bool { return name != "" && strings.Contains(modules, " "+name+" ") }

// TableName is what the file at path calls its table: op_summary of op_summary_slice_0_20260716124548.csv.
func TableName(path string) string {
	m := fileName.FindStringSubmatch(filepath.Base(path))
	if m == nil {
		return ""
	}
	return trace.Word(m[1])
}

// column is a column of a sheet that is being read. Its type is settled by its cells.
type column struct {
	trace.SheetColumn
	at    int
	unit  int64 // of times: nanoseconds; 0 for others
	scale int64 // of sizes: bytes; 0 for others
}

// unitOf takes the unit off the name of a column.
func unitOf(header string) (name string, ns, bytes int64) {
	for _, u := range []struct {
		text      string
		ns, bytes int64
	}{{"(us)", 1000, 0}, {"(ms)", 1_000_000, 0}, {"(ns)", 1, 0}, {"(KB)", 0, 1 << 10}, {"(MB)", 0, 1 << 20}, {"(Byte)", 0, 1}, {"(B)", 0, 1}} {
		if rest, ok := strings.CutSuffix(header, u.text); ok {
			return rest, u.ns, u.bytes
		}
	}
	if lower := strings.ToLower(header); lower == "timestamp" {
		return header, 1000, 0
	}
	return header, 0, 0
}

// sheetRow reads a table as it stands. Times become nanoseconds and sizes bytes. What is stamped with a time becomes counters
// as well.
func (r *reading) sheetRow(name string) func() {
	r.sheet = &trace.Sheet{Name: name}
	columns := make([]column, 0, len(r.header))
	device, component, stamp := -1, r.find("Component", "Metric", "Mode", "event"), -1
	for i, h := range r.header {
		if h == "" {
			continue
		}
		base, ns, bytes := unitOf(h)
		c := column{at: i, unit: ns, scale: bytes}
		switch c.Name = trace.Word(base); {
		case ns > 0:
			c.Name, c.SheetColumn.Type = c.Name+"_ns", trace.ColumnInt
			if stamp < 0 && strings.EqualFold(base, "Timestamp") {
				stamp = len(columns)
			}
		case bytes > 0:
			c.Name, c.SheetColumn.Type = c.Name+"_bytes", trace.ColumnInt
		case h == "Device_id" || h == "Device Id" || h == "Device" || h == "Device Type":
			if device >= 0 {
				continue
			}
			c.Name, c.SheetColumn.Type, device = "device", trace.ColumnInt, i
		default:
			c.SheetColumn.Type = trace.ColumnInt
		}
		columns = append(columns, c)
	}
	r.finishSheet = func() {
		list := make([]trace.SheetColumn, len(columns))
		for i := range columns {
			list[i] = columns[i].SheetColumn
		}
		s := trace.NewSheet(name, list...)
		s.Rows = r.sheet.Rows
		s.Trim()
		r.source.AddSheet(s)
	}
	return func() {
		r.sheet.Rows++
		bad := false
		for i := range columns {
			bad = !columns[i].take(r, device) || bad
		}
		if bad {
			r.source.BadRecords++
		}
		if stamp >= 0 {
			r.sampled(columns, stamp, component, device)
		}
	}
}

// take adds the cell of the row at hand. It is false for a time or a size that is no number.
func (c *column) take(r *reading, device int) bool {
	cell := r.cell(c.at)
	switch {
	case strings.EqualFold(cell, "nan") || cell == "None" || cell == "null":
		cell = ""
	case c.at == device:
		cell = deviceNumber(cell)
	}
	if cell == "" {
		c.Add(nil)
		return true
	}
	if factor := max(c.unit, c.scale); factor > 0 {
		v, ok := exact(cell, factor)
		if !ok {
			c.Add(nil)
			return false
		}
		c.Add(v)
		return true
	}
	if v, err := strconv.ParseInt(cell, 10, 64); c.SheetColumn.Type == trace.ColumnInt && err == nil && strconv.FormatInt(v, 10) == cell && v != trace.NoInt {
		c.Take(v)
		return true
	}
	if v, err := strconv.ParseFloat(cell, 64); c.SheetColumn.Type != trace.ColumnText && err == nil && !math.IsInf(v, 0) && !long(cell) {
		c.Take(v)
		return true
	}
	c.Take(r.once(cell))
	return true
}

// long says whether cell is a whole number that a float would not keep.
func long(cell string) bool {
	return !strings.ContainsAny(cell, ".eE") && len(strings.TrimLeft(cell, "-0")) > 15
}

// exact is a number of units of factor, rounded to whole ones.
func exact(cell string, factor int64) (int64, bool) {
	v, ok := ascend.Nanos(cell, factor*1000)
	if !ok {
		v, ok = ascend.Nanos(cell, factor)
		return v, ok
	}
	if v < 0 {
		return (v - 500) / 1000, true
	}
	return (v + 500) / 1000, true
}

// once is s with the memory of an equal cell before.
func (r *reading) once(s string) string {
	if have, ok := r.texts[s]; ok {
		return have
	}
	s = strings.Clone(s)
	r.texts[s] = s
	return s
}

// deviceNumber is the number in NPU:3, NPU 3 or 3; nothing for the host.
func deviceNumber(cell string) string {
	s := strings.TrimLeft(strings.TrimPrefix(strings.ToUpper(cell), "NPU"), " :")
	if _, err := strconv.ParseUint(s, 10, 16); err != nil {
		return ""
	}
	return s
}

// sampled makes counters of the row at hand: a value a column, by component.
func (r *reading) sampled(columns []column, stamp, component, device int) {
	at := columns[stamp].Int[len(columns[stamp].Int)-1]
	if at == trace.NoInt || at > math.MaxInt64/2 || at < math.MinInt64/2 {
		return
	}
	number := r.Device
	if device >= 0 {
		if n, err := strconv.ParseUint(deviceNumber(r.cell(device)), 10, 16); err == nil {
			number = uint16(n)
		}
	}
	what := r.cell(component)
	for i := range columns {
		c := &columns[i]
		if i == stamp || c.at == device || c.at == component || c.SheetColumn.Type == trace.ColumnText || c.unit > 0 || isKey(c.Name) {
			continue
		}
		v := 0.0
		switch x := c.Value(r.sheet.Rows - 1).(type) {
		case int64:
			v = float64(x)
		case float64:
			v = x
		default:
			continue
		}
		name := r.counterName(what, c)
		r.series[name] = append(r.series[name], trace.Counter{Time: at, Value: v, Name: name, Device: number})
	}
}

// isKey says whether a column names something, so that its numbers measure nothing.
func isKey(name string) bool {
	return strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_ptr") || name == "funcid" || name == "func_id" || name == "port_id" || name == "task_id" || name == "stream_id"
}

// record records the series. Those that never left zero say nothing: exporters list all modules that could use memory.
func (r *reading) record() {
	for _, name := range slices.Sorted(maps.Keys(r.series)) {
		list := r.series[name]
		if slices.ContainsFunc(list, func(c trace.Counter) bool { return c.Value != 0 }) {
			r.rec.Counters(list)
		}
	}
}

func (r *reading) counterName(component string, c *column) trace.StringID {
	key := component + "\x00" + c.Name
	id, ok := r.counters[key]
	if !ok {
		text := r.sheet.Name
		if component != "" {
			text += " " + component
		}
		name, bytes := strings.CutSuffix(c.Name, "_bytes")
		text += " " + strings.ReplaceAll(name, "_", " ")
		if bytes {
			text += " (bytes)"
		}
		id = r.rec.Intern(text)
		r.counters[key] = id
	}
	return id
}
