package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"npu/internal/trace"
	"npu/internal/trace/msprof"
	"npu/internal/trace/profdb"
	"npu/internal/trace/query"
	"npu/internal/trace/stats"
)

// samples is the folder with profiling data of real devices; the test is skipped where there is none.
func samples(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Skip("no go.mod above the test")
		}
	}
	path := filepath.Join(dir, "..", "shared", "data", "prof")
	if _, err := os.Stat(path); err != nil {
		t.Skip("no profiling samples of real devices on this machine")
	}
	return path
}

// Figures of the samples' SOURCES.md, which come from a program of its own.
func TestRead_realSamples(t *testing.T) {
	root := samples(t)
	kinds := func(pairs ...any) map[string]int64 {
		m := map[string]int64{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = int64(pairs[i+1].(int))
		}
		return m
	}
	add := kinds("KERNEL_AIVEC", 700, "EVENT_RECORD", 10, "PROFILING_ENABLE", 1, "PROFILING_DISABLE", 1, "PLACE_HOLDER_SQE", 1)
	mul := kinds("KERNEL_AICPU", 201, "TASK_TIMEOUT_SET", 1, "EVENT_WAIT", 198, "EVENT_RECORD", 100, "KERNEL_MIX_AIC", 100, "PROFILING_ENABLE", 1, "PROFILING_DISABLE", 1)
	iteration := kinds("KERNEL_AICORE", 137, "KERNEL_AICPU", 2, "EVENT_RECORD", 4, "EVENT_WAIT", 4, "EVENT_RESET", 4, "REDUCE_ASYNC", 30, "NOTIFY_WAIT", 140, "NOTIFY_RECORD", 140, "MEMCPY_ASYNC", 29)
	for _, tt := range []struct {
		path    string // below the samples, may have a wildcard
		format  string
		tasks   int64
		time    int64 // ns; 0 when the figures do not say
		slack   int64 // of time: exporters cut and round
		span    int64
		kinds   map[string]int64
		records map[string]int64
		missing string // a word of what must be said
	}{
		{"raw/ascend910b/add-ascendc-b1", "msprof raw", 713, 1894552, 1, 19717834, add,
			kinds("stars_soc.data", 1426, "ffts_profile.data", 700, "ffts_profile.data of blocks", 0, "task_track", 714, "api_event.data", 742, "ts_track.data", 2, "expand_stream_spec", 1), ""},
		{"raw/ascend910b/add-ascendc-b1/PROF*/msprof*.db", "msprof database", 713, 1894552, 0, 19717834, add, kinds("TASK", 713), ""},
		{"raw/ascend910b/add-ascendc-b1/PROF*/mind*output/msprof*.json", "msprof JSON", 713, 1894552, 713, 19717834, add,
			kinds("events", 3604, "events X", 2855, "events M", 26, "events C", 3, "events s", 10, "events f", 710), ""},
		{"raw/ascend910b/add-ascendc-b1/PROF*/mind*output/task_time*.csv", "msprof CSV", 713, 1894552, 0, 19717834, add, kinds("rows", 713), ""},
		{"raw/ascend910b/add-ascendc-b1/PROF*/mind*output/op_summary*.csv", "msprof CSV", 700, 1894352, 0, 0, kinds("KERNEL_AIVEC", 700), nil, ""},
		{"raw/ascend910b/div-level1", "msprof raw", 523, 191467767, 0, 343795389, kinds("KERNEL_AIVEC", 510, "EVENT_RECORD", 10, "PROFILING_ENABLE", 1, "PROFILING_DISABLE", 1, "PLACE_HOLDER_SQE", 1),
			kinds("node_basic_info", 510, "api_event.data", 1056), ""},
		{"raw/ascend910b/div-level1/PROF*/msprof*.db", "msprof database", 523, 191467767, 0, 343795389, nil, kinds("TASK_PMU_INFO", 14280), ""},
		{"raw/ascend910b/mul-pypto-b1", "msprof raw", 602, 27096076 - 5770294, 0, 0, mul, kinds("stars_soc.data", 2*(602+100), "ffts_profile.data", 100+4000, "ffts_profile.data of blocks", 4000, "context_id_info", 100), ""},
		{"raw/ascend910b/mul-pypto-b1/PROF*/msprof*.db", "msprof database", 602, 27096076 - 5770294, 0, 0, mul, kinds("TASK", 702), ""},
		{"raw/ascend910b/mul-pypto-b1/PROF*/mind*output/msprof*.json", "msprof JSON", 602, 0, 0, 0, mul, kinds("events", 2963), ""},
		{"raw/ascend910b/matmul-ascendc-b1", "msprof raw", 68, 0, 0, 4429473560, kinds("KERNEL_AIVEC", 55, "EVENT_RECORD", 10, "PROFILING_ENABLE", 1, "PROFILING_DISABLE", 1, "PLACE_HOLDER_SQE", 1), nil, ""},
		{"raw/ascend910b/matmul-ascendc-b1/PROF*/mind*output/op_summary*.csv", "msprof CSV", 55, 4419269000, 0, 0, kinds("KERNEL_AIVEC", 55), nil, ""},
		{"raw/ascend910b/matmul-ascendc-b1/PROF*/mind*output/msprof*.json", "msprof JSON", 68, 0, 0, 4429473560, nil, kinds("events", 373), ""},
		{"raw/ascend910a-2020/JOB3", "msprof raw", 31385, 7490981920, 0, 53497947310, kinds("KERNEL_AICORE", 31385), kinds("hwts.data", 62847, "training_trace", 8372, "iterations", 322), "the ends of 77 tasks"},
		{"raw/ascend910a-2020/JOB1", "msprof raw", 0, 0, 0, 0, nil, kinds("training_trace", 240), "no task log"},
		{"export/ascend910a-2023/*COJG*/device_0/timeline/msprof_0_2_1.json", "msprof JSON", 490, 0, 0, 0, iteration, kinds("events", 1108, "step trace slices", 494-490), ""},
		{"export/ascend910a-2023/*COJG*/device_0/timeline/msprof_0_2_2.json", "msprof JSON", 490, 0, 0, 0, iteration, kinds("events", 1134, "step trace slices", 494-490), ""},
		{"export/ascend910a-2023", "msprof JSON", 3 * 490, 0, 0, 0, nil, kinds("events", 1108+1134+1119, "step trace slices", 3*(494-490)), ""},
		{"torch/ascend910b-ddp/text-level1/rank0_ascend_pt", "torch_npu JSON", 243, 0, 0, 0, nil, kinds("events", 10112, "events X", 4384, "events C", 4431, "events M", 80, "events s", 606, "events f", 611, "events s of HostToDevice", 210, "events f of HostToDevice", 215), ""},
		{"torch/ascend910b-ddp/text-level1/rank1_ascend_pt", "torch_npu JSON", 243, 0, 0, 0, nil, kinds("events", 9969), ""},
		{"torch/ascend910b-ddp/text-level1/rank0_ascend_pt/*/kernel_details.csv", "msprof CSV", 191, 114865613, 0, 0, kinds("COMMUNICATION", 4, "DSA_SQE", 2, "KERNEL_AICORE", 23, "KERNEL_AIVEC", 149, "KERNEL_MIX_AIV", 13), kinds("columns", 46), ""},
		{"torch/ascend910b-ddp/text-level1/rank1_ascend_pt/*/kernel_details.csv", "msprof CSV", 191, 109253559, 0, 0, nil, nil, ""},
		{"torch/ascend910b-ddp/db-level2/rank0_ascend_pt", "torch_npu database", 243, 330805257 - 147283611, 0, 0, nil, kinds("TASK", 552, "COMPUTE_TASK_INFO", 187, "COMMUNICATION_OP", 4, "PYTORCH_API", 2460, "CANN_API", 1133), ""},
		{"torch/ascend910b-ddp/db-level2/rank1_ascend_pt", "torch_npu database", 243, 0, 0, 0, nil, kinds("TASK", 552, "PYTORCH_API", 2492, "CANN_API", 1187), ""},
		{"torch/ascend910b-2023", "msprof CSV", 591, 396807040, 0, 0, kinds("KERNEL_AIVEC", 520, "COMMUNICATION", 19, "KERNEL_AICPU", 7, "DSA_SQE", 7, "KERNEL_AICORE", 13, "KERNEL_MIX_AIV", 25), kinds("columns", 33), ""},
		{"torch/ascend-2024/trace_view.json", "torch_npu JSON", 276, 0, 0, 0, nil, kinds("events", 3670, "events X", 2212, "overlap analysis slices", 547, "events s", 713, "events f", 713, "events M", 32), ""},
		{"cluster/msinsight", "step times (CSV)", 0, 0, 0, 0, nil, kinds("rows of type rank", 16, "rows of type stage", 2), ""},
		{"cluster/msprof-analyze", "step times (CSV)", 0, 0, 0, 0, nil, kinds("rows of type rank", 8, "rows of type stage", 1), ""},
	} {
		t.Run(tt.path, func(t *testing.T) {
			found, _ := filepath.Glob(filepath.Join(root, tt.path))
			if len(found) != 1 {
				t.Fatalf("found %v", found)
			}
			tr, err := File(context.Background(), found[0])
			if err != nil {
				t.Fatal(err)
			}
			in := stats.NewInfo(tr)
			if in.Format != tt.format || in.Tasks != tt.tasks || in.BadRecords != 0 || in.LostRecords != 0 {
				t.Errorf("format %s, %d tasks, %d bad, %d lost; want %s, %d", in.Format, in.Tasks, in.BadRecords, in.LostRecords, tt.format, tt.tasks)
			}
			if d := in.DeviceTimeNs - tt.time; tt.time != 0 && max(d, -d) > tt.slack {
				t.Errorf("device time %d, want %d", in.DeviceTimeNs, tt.time)
			}
			if tt.span != 0 && in.SpanNs != tt.span {
				t.Errorf("span %d, want %d", in.SpanNs, tt.span)
			}
			for k, n := range tt.kinds {
				if in.ByKind[k] != n {
					t.Errorf("%d of kind %s, want %d", in.ByKind[k], k, n)
				}
			}
			for k, n := range tt.records {
				if in.Records[k] != n {
					t.Errorf("%d records %s, want %d", in.Records[k], k, n)
				}
			}
			if said := strings.Join(in.Missing, "; "); tt.missing == "" && strings.HasPrefix(tt.path, "raw/ascend910b") && said != "" || !strings.Contains(said, tt.missing) {
				t.Errorf("missing: %q, want %q", said, tt.missing)
			}
			if err := tr.Check(); err != nil {
				t.Errorf("check: %v", err)
			}
		})
	}
}

// The tasks of raw data and those that the vendor's tools make of it are the same: ids, names, and times to the nanosecond.
func TestRead_rawEqualsTheVendorsDatabase(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(samples(t), "raw/ascend910b/*/PROF*"))
	if len(dirs) != 4 {
		t.Fatalf("found %v", dirs)
	}
	for _, dir := range dirs {
		raw, err := msprof.Read(context.Background(), dir)
		files, _ := filepath.Glob(filepath.Join(dir, "msprof*.db"))
		vendor, err2 := profdb.Read(context.Background(), files[0])
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		a, b := rows(raw), rows(vendor)
		if len(a) != len(b) {
			t.Errorf("%s: %d tasks, the vendor has %d", dir, len(a), len(b))
			continue
		}
		for i := range a {
			x, y := a[i], b[i]
			if x != y {
				t.Errorf("%s: task %d is %+v, the vendor has %+v", filepath.Base(dir), i, x, y)
			}
		}
		clocks := map[trace.Counter]bool{}
		for _, c := range raw.Counters.All() {
			clocks[trace.Counter{Time: c.Time, Value: c.Value}] = true
		}
		for i, c := range vendor.Counters.All() {
			// The first values are those in force at the start, the last one is repeated at the end.
			if i > 1 && i < vendor.Counters.Len()-1 && !clocks[trace.Counter{Time: c.Time, Value: c.Value}] {
				t.Errorf("%s: no clock %+v", filepath.Base(dir), c)
			}
		}
		if raw.Spans.Len() != vendor.Spans.Len() {
			t.Errorf("%s: %d calls, the vendor has %d", dir, raw.Spans.Len(), vendor.Spans.Len())
		}
		for i, s := range raw.Spans.All() {
			if v := vendor.Spans.At(min(i, vendor.Spans.Len()-1)); s.Start != v.Start || s.End != v.End || !strings.HasPrefix(raw.String(s.Name), vendor.String(v.Name)) {
				t.Fatalf("%s: call %d is %d-%d %s, the vendor has %d-%d %s", dir, i, s.Start, s.End, raw.String(s.Name), v.Start, v.End, vendor.String(v.Name))
			}
		}
	}
}

type vendorRow struct {
	start, end int64
	text       string
}

func rows(t *trace.Trace) (out []vendorRow) {
	for _, k := range t.Tasks.All() {
		part := k.Flags&trace.FlagPart != 0
		kind := k.Kind.String()
		if k.Kind == trace.Other {
			kind = t.String(k.Op)
		}
		name := t.String(k.Name)
		if !k.Kind.Kernel() {
			name = ""
		}
		out = append(out, vendorRow{k.Start, k.End, fmt.Sprint(kind, " ", name, " stream ", k.Stream, " task ", k.Task&0xFFFF, " part ", part, " ", !part && t.Account(k.Acct).Total > 0)})
	}
	slices.SortFunc(out, func(a, b vendorRow) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.text, b.text)) })
	return out
}

// Ranks of a job become devices of one trace, and the exporter's sums agree with ours.
func TestRead_ranksOfAJob(t *testing.T) {
	tr, err := File(context.Background(), filepath.Join(samples(t), "torch/ascend910b-ddp/text-level1"))
	if err != nil {
		t.Fatal(err)
	}
	st := stats.New(tr)
	if len(st.Devices) != 2 || tr.Source.Ranks != 2 || tr.Source.Format != "torch_npu JSON" {
		t.Fatalf("%+v, %+v", st.Devices, tr.Source)
	}
	for i, want := range []struct{ communication, computing, free int64 }{{105991878, 8873756, 25744050}, {100375286, 8878295, 26675274}} {
		d := st.Devices[i]
		// The vendor counts the random number generator (DSA) as computing.
		if d.Rank == nil || *d.Rank != i || d.CommNs != want.communication || d.ComputeNs > want.computing || d.ComputeNs < want.computing*999/1000 {
			t.Errorf("device %+v, want %+v", d, want)
		}
		steps := 0
		for _, s := range tr.Source.Steps {
			if s.Communication == want.communication && s.Computing == want.computing && s.Free == want.free {
				steps++
			}
		}
		if steps != 2 { // the table of steps and the overlap analysis
			t.Errorf("rank %d: %d steps, want 2: %+v", i, steps, tr.Source.Steps)
		}
	}
	for _, want := range []struct {
		name  string
		count int64
		ns    int64
	}{{"ForeachAddList", 3 + 3, 1959079 + 1954139}, {"TransData", 57 + 57, 0}} {
		found := false
		for _, o := range st.OpTypes {
			if o.Name == want.name {
				found = o.Count == want.count && (want.ns == 0 || max(o.TotalNs-want.ns, want.ns-o.TotalNs) <= want.count)
			}
		}
		if !found {
			t.Errorf("no %+v in %+v", want, st.OpTypes)
		}
	}
}

// What MindSpore made of the hwts log of 2020: every row is a task of ours.
func TestRead_hwtsEqualsMindSpore(t *testing.T) {
	root := samples(t)
	tr, err := File(context.Background(), filepath.Join(root, "raw/ascend910a-2020/JOB3"))
	b, err2 := os.ReadFile(filepath.Join(root, "raw/ascend910a-2020/expected/output_timeline_data_1.txt"))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	named := 0
	for _, k := range tr.Tasks.All() {
		have[fmt.Sprintf("%s,%d,%d", tr.String(k.Name), k.Stream, k.Start/10)] = true
		if k.Name != 0 {
			named++
		}
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")[1:]
	for _, line := range lines {
		f := strings.Split(strings.TrimSpace(line), ",")
		ticks := strings.ReplaceAll(f[2], ".", "")
		ticks += strings.Repeat("0", 5-len(f[2][strings.IndexByte(f[2], '.')+1:]))
		if key := f[0] + "," + f[1] + "," + ticks; !have[key] {
			t.Fatalf("no task %s", key)
		}
	}
	if len(lines) != 2817 || named != 2817 {
		t.Errorf("%d rows, %d named tasks, want 2817", len(lines), named)
	}
}

// Nothing is written beside the data.
func TestRead_writesNothing(t *testing.T) {
	dir := t.TempDir()
	root := samples(t)
	copies := []string{"torch/ascend910b-ddp/db-level2/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db", "torch/ascend-2024/trace_view.json", "torch/ascend910b-2023/kernel_details.csv"}
	for _, c := range copies {
		b, err := os.ReadFile(filepath.Join(root, c))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(c)), b, 0o444); err != nil {
			t.Fatal(err)
		}
		if _, err := File(context.Background(), filepath.Join(dir, filepath.Base(c))); err != nil {
			t.Error(err)
		}
	}
	os.Chmod(dir, 0o555)
	defer os.Chmod(dir, 0o755)
	if _, err := File(context.Background(), dir); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != len(copies) {
		t.Errorf("%v", entries)
	}
}

// one answers a query with one value.
type one struct{ text string }

func (o *one) Columns([]string) error { return nil }

func (o *one) Row(values []any) error {
	for _, v := range values {
		o.text += query.Format(v) + " "
	}
	return nil
}

// The figures of SOURCES.md that are sums over some of the rows, asked as users would.
func TestRead_figuresBySQL(t *testing.T) {
	root := samples(t)
	for _, tt := range []struct{ path, sql, want string }{
		{"torch/ascend910b-ddp/db-level2/rank0_ascend_pt", "select count(*), sum(duration_ns) from tasks where kind = 'KERNEL_AIVEC' and not part", "149 5798872 "},
		{"torch/ascend910b-ddp/db-level2/rank0_ascend_pt", "select count(*), sum(duration_ns) from tasks where kind = 'NOTIFY_WAIT'", "112 118128141 "},
		// The table of tasks calls KERNEL_AICORE what the table of operators calls MIX_AIV, and counts it with its contexts.
		{"torch/ascend910b-ddp/db-level2/rank0_ascend_pt", "select count(*), sum(duration_ns) from tasks where kind = 'KERNEL_AICORE' or kind = 'KERNEL_MIX_AIV' and name like 'aclnn%'", "39 3084442 "},
		{"torch/ascend910b-ddp/db-level2/rank0_ascend_pt", "select count(*), sum(duration_ns) from tasks where stream < 1073741824", "552 330805257 "}, // collectives stand beside
		{"torch/ascend910b-ddp/db-level2/rank1_ascend_pt", "select count(*), sum(duration_ns) from tasks where stream < 1073741824", "552 372929064 "},
		{"torch/ascend910b-ddp/db-level2/rank0_ascend_pt", "select name, total_ns from steps where total_ns > 0", "50 143741870 "},
		{"torch/ascend910b-ddp/db-level2/rank0_ascend_pt", "select count(*) from op_details", "187 "},
		{"torch/ascend910b-ddp/db-level2/rank0_ascend_pt", "select computing_ns, communication_ns from steps where computing_ns > 0", "8900456 94107521 "},
		{"torch/ascend910b-ddp/db-level2/rank0_ascend_pt", "select count(*) from communication_tasks", "296 "},
		{"torch/ascend910b-ddp/text-level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv", "select count(*), sum(duration_ns) from tasks where name like 'hcom_allReduce_%'", "4 105991876 "},
		{"torch/ascend910b-ddp/text-level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv", "select count(*), sum(duration_ns) from tasks where op_type = 'TransData'", "57 1423202 "},
		{"torch/ascend910b-ddp/text-level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv", "select count(*), sum(duration_ns) from tasks where op_type = 'ForeachAddList'", "3 1959079 "},
		{"torch/ascend910b-2023", "select count(*), sum(duration_ns) from tasks where op_type like 'hcom_broadcast_%'", "2 308989620 "},
		{"torch/ascend910b-2023", "select count(*), sum(duration_ns) from tasks where op_type like 'hcom_allReduce_%'", "14 27867580 "},
		{"torch/ascend910b-2023", "select count(*), sum(duration_ns) from tasks where op_type = 'MatMul'", "9 14070560 "},
		{"torch/ascend910b-2023", "select aiv_time_us, aiv_total_cycles, aiv_vec_int32_ratio, aiv_vector_fops from pmu where name = 'ZerosLike46'", "587.05 5.2130051e+07 0.0822 1.3717632e+08 "},
		{"cluster/msinsight", "select distinct name, sum(preparing_ns) from steps", "2 0 "},
		{"cluster/msprof-analyze", "select distinct '<' || name || '>' from steps", "<> "},
		{"cluster/msinsight", "select idx, not_overlapped_ns from steps where type = 'rank' order by 2 desc limit 1", "11 231698200 "},
		{"cluster/msprof-analyze", "select idx, not_overlapped_ns from steps where type = 'rank' and idx in ('1', '5') order by 2 desc", "5 756374860 1 133385977 "},
		{"export/ascend910a-2023/*COJG*", "select computing_ns, communication_ns, free_ns from steps where type = 'device'", "5914580 41534300 113630 5928100 9303050 114640 "},
		{"export/ascend910a-2023/*COJG*", "select total_ns from steps where name = 'Iteration 1'", "47587810 "},
		{"export/ascend910a-2023/*GQFA*", "select computing_ns, communication_ns, free_ns from steps where type = 'device'", "5927580 51464470 115110 "},
		{"export/ascend910a-2023/*COJG*/device_0/timeline/step_trace_0_2_1.json", "select count(*), max(total_ns) from steps", "10 47587810 "},
		{"export/ascend910a-2023/*COJG*/device_0/timeline/hccl_0_2_1.json", "select count(*) from tasks where part", "338 "},
		{"raw/ascend910b/mul-pypto-b1", "select count(*), sum(duration_ns) from tasks where kind = 'KERNEL_MIX_AIC' and not part", "100 5974498 "},
		{"raw/ascend910b/mul-pypto-b1", "select count(*), sum(duration_ns) from tasks where part", "100 5770294 "},
		{"raw/ascend910b/mul-pypto-b1", "select count(*), sum(duration_ns) from tasks where engine = 'AI CPU'", "201 15052260 "},
		{"raw/ascend910b/add-ascendc-b1", "select stream, count(*) from tasks group by 1", "46 710 49 3 "},
		{"raw/ascend910b/div-level1", "select stream, count(*) from tasks group by 1", "34 520 39 3 "},
		{"raw/ascend910b/div-level1", "select sum(duration_ns) from tasks where name = 'div_kernel'", "191467587 "},
		{"raw/ascend910b/matmul-ascendc-b1", "select count(*), sum(duration_ns) from tasks where name = 'matmul_kernel'", "55 4419269000 "},
		{"raw/ascend910a-2020/JOB3", "select count(distinct stream), min(stream), max(stream) from tasks", "59 513 574 "},
		{"torch/ascend-2024/trace_view.json", "select count(*) from calls where thread_name like 'Python%'", "1007 "},
		{"torch/ascend-2024/trace_view.json", "select count(*) from calls where thread_name like 'CANN%'", "382 "},
	} {
		found, _ := filepath.Glob(filepath.Join(root, tt.path))
		if len(found) != 1 {
			t.Fatalf("%s: found %v", tt.path, found)
		}
		tr, err := File(context.Background(), found[0])
		if err != nil {
			t.Fatal(err)
		}
		var got one
		if err := query.Run(context.Background(), tr, tt.sql, &got); err != nil || got.text != tt.want {
			t.Errorf("%s: %s: %v\n got %q\nwant %q", tt.path, tt.sql, err, got.text, tt.want)
		}
	}
}

// Copies that lack something: what is there is read, and of what holds no tasks the exports beside it.
func TestRead_partialCopies(t *testing.T) {
	found, _ := filepath.Glob(filepath.Join(samples(t), "raw/ascend910b/matmul-ascendc-b1/PROF*"))
	if len(found) != 1 {
		t.Fatalf("found %v", found)
	}
	for _, tt := range []struct {
		name   string
		lose   string // a pattern
		format string
		tasks  int
	}{
		{"nothing", "none", "msprof raw", 68},
		{"the host", "host", "msprof raw", 68},
		{"the device", "device_0", "msprof database", 68},
		{"the device and the database", "device_0 msprof_*.db", "msprof JSON", 68},
		{"marks of the collector", "*/data/*.done */*.done */data/*.complete", "msprof raw", 68},
		{"control files", "*/*.json* */*_info* */*.log*", "msprof raw", 68},
		{"all raw data", "*/data", "msprof database", 68},
	} {
		dir := filepath.Join(t.TempDir(), filepath.Base(found[0]))
		if err := os.CopyFS(dir, os.DirFS(found[0])); err != nil {
			t.Fatal(err)
		}
		for _, pattern := range strings.Fields(tt.lose) {
			gone, _ := filepath.Glob(filepath.Join(dir, pattern))
			for _, path := range gone {
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
			}
		}
		tr, err := File(context.Background(), dir)
		if err != nil || tr.Source.Format != tt.format || tr.Tasks.Len() != tt.tasks {
			t.Errorf("without %s: %v, %+v", tt.name, err, tr)
		}
	}
}

// The smallest sample, with each of its raw files cut in many places, with NPU_EVERY_CUT=1 at every 7th byte: nothing fails.
func TestRead_cutAnywhere(t *testing.T) {
	found, _ := filepath.Glob(filepath.Join(samples(t), "raw/ascend910b/matmul-ascendc-b1/PROF*"))
	if len(found) != 1 {
		t.Fatalf("found %v", found)
	}
	dir := filepath.Join(t.TempDir(), "PROF_1")
	for _, part := range []string{"device_0", "host"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(found[0], part))); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "data", "*slice_?"))
	control, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	for _, path := range append(files, control...) {
		whole, err := os.ReadFile(path)
		if err != nil || len(whole) == 0 {
			continue // a folder
		}
		step := 7 * (1 + len(whole)/140)
		if os.Getenv("NPU_EVERY_CUT") != "" {
			step = 7
		}
		for n := 0; n < len(whole); n += step {
			if err := os.WriteFile(path, whole[:n], 0o644); err != nil {
				t.Fatal(err)
			}
			tr, err := msprof.Read(context.Background(), dir)
			if err != nil {
				t.Fatalf("%s cut at %d: %v", path, n, err)
			}
			if tr.Tasks.Len() > 68 {
				t.Fatalf("%s cut at %d: %d tasks", path, n, tr.Tasks.Len())
			}
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
