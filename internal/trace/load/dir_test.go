package load

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/ncruces/go-sqlite3"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/export"
	"npu/internal/trace/gen"
)

func TestRead_directoryWithABadPart(t *testing.T) {
	dir := t.TempDir()
	good := gen.Trace(gen.Options{Tasks: 100})
	for _, name := range []string{"a", "b"} {
		if err := export.Write(filepath.Join(dir, name+".npt"), good); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(filepath.Join(dir, "c.npt"), []byte("\x89NPT nothing"), 0o644)
	tr, err := File(context.Background(), dir)
	if tr == nil || tr.Tasks.Len() != 2*good.Tasks.Len() || problem.ClassOf(err) != problem.Damaged || !strings.Contains(strings.Join(tr.Source.Missing, ";"), "c.npt") {
		t.Fatalf("%v, %v", err, tr)
	}
	if tr.Meta.Devices != 2 || tr.Source.Records["parts"] != 2 {
		t.Errorf("%+v, %+v", tr.Meta, tr.Source)
	}
	if _, err := File(context.Background(), t.TempDir()); problem.ClassOf(err) != problem.Damaged || !strings.Contains(err.Error(), "holds no profiling data") {
		t.Errorf("empty directory: %v", err)
	}
}

// A rank whose data nobody analysed: raw data below the framework's directory.
func TestRead_rankWithoutAnalysis(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "host_1_2_ascend_pt")
	raw := filepath.Join(dir, "PROF_1", "host", "data")
	os.MkdirAll(raw, 0o755)
	os.WriteFile(filepath.Join(dir, "profiler_info.json"), []byte(`{"rank_id":7}`), 0o644)
	os.MkdirAll(filepath.Join(dir, "PROF_1", "device_3", "data"), 0o755)
	os.WriteFile(filepath.Join(raw, "aging.api_event.data.slice_0"), nil, 0o644)
	log := make([]byte, 128)
	for i, kind := range []byte{0, 1} {
		copy(log[64*i:], []byte{kind | byte(i)<<6, 0, 0xD3, 0x6B, 1, 0, 1, 0, byte(i)})
	}
	os.WriteFile(filepath.Join(dir, "PROF_1", "device_3", "data", "stars_soc.data.3.slice_0"), log, 0o644)
	tr, err := File(context.Background(), dir)
	if err != nil || tr.Tasks.Len() != 1 || len(tr.Source.Devices) != 1 || tr.Source.Devices[0] != (trace.SourceDevice{ID: 3, Rank: 7, Device: 3}) {
		t.Fatalf("%v, %+v", err, tr)
	}
}

// Parts are read at once only as far as they fit into the memory together.
func TestReadAll_staysWithinItsMemory(t *testing.T) {
	var now, most, count atomic.Int64
	sizes := []int64{10, 30, 60, 5, 200, 1, 1, 45}
	var parts []part
	for _, n := range sizes {
		parts = append(parts, part{bytes: n, read: func(context.Context) (*trace.Trace, error) {
			need := min(n*growth, 200)
			at := now.Add(need)
			for {
				m := most.Load()
				if at <= m || most.CompareAndSwap(m, at) {
					break
				}
			}
			count.Add(1)
			now.Add(-need)
			return trace.NewRecorder().Finish(), nil
		}})
	}
	traces, errs := readAll(context.Background(), parts, Options{Memory: 200, Workers: 4})
	if most.Load() > 200 || count.Load() != int64(len(sizes)) {
		t.Errorf("%d bytes at once, %d parts", most.Load(), count.Load())
	}
	for i := range traces {
		if traces[i] == nil || errs[i] != nil {
			t.Errorf("part %d: %v, %v", i, traces[i], errs[i])
		}
	}
}

// files writes a directory: what, by path below it.
func files(t *testing.T, what map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range what {
		full := filepath.Join(dir, filepath.FromSlash(path))
		os.MkdirAll(filepath.Dir(full), 0o755)
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	kernels = "Name,Type,Accelerator Core,Start Time(us),Duration(us),Block Dim,Context ID,aic_total_cycles\nconv,Conv2D,AI_CORE,1700000000000000.000\t,2.5,8,N/A,100\n"
	memory  = "Component,Timestamp(us),Total Reserved(KB),Device\nAPP,1700000000000001.000\t,4,NPU:5\n"
)

// What cannot be read does not hide what stands beside it.
func TestRead_nextForm(t *testing.T) {
	out := "x_ascend_pt/ASCEND_PROFILER_OUTPUT/"
	dir := files(t, map[string]string{"x_ascend_pt/profiler_info_2.json": "{}", out + "trace_view.json": "", out + "kernel_details.csv": kernels, out + "memory_record.csv": memory, out + "l2_cache.csv": ""})
	tr, err := File(context.Background(), dir)
	if problem.ClassOf(err) != problem.Damaged || tr == nil || tr.Tasks.Len() != 1 || tr.Source.Sheet("npu_module_mem") != nil && tr.Source.Sheet("memory_record") != nil {
		t.Fatalf("%v, %+v", err, tr)
	}
	if !strings.Contains(strings.Join(tr.Source.Missing, ";"), "trace_view.json is no trace: it is empty") || tr.Source.Devices[0].Rank != 2 {
		t.Errorf("%+v", tr.Source)
	}
	dir = files(t, map[string]string{out + "trace_view.json": "", out + "memory_record.csv": memory})
	if tr, err := File(context.Background(), dir); tr == nil || err == nil || len(tr.Source.Sheets) != 1 || tr.Counters.Len() != 1 {
		t.Errorf("tables alone: %v, %+v", err, tr)
	}
	dir = files(t, map[string]string{out + "trace_view.json": ""})
	if tr, err := File(context.Background(), dir); tr != nil || err == nil {
		t.Errorf("nothing: %v, %+v", err, tr)
	}
}

// Tables beside a timeline are of its device, whatever number they give it, and packed files count as others do.
func TestRead_sidesAreOfTheDevice(t *testing.T) {
	var packed strings.Builder
	z := gzip.NewWriter(&packed)
	z.Write([]byte(memory))
	z.Close()
	out := "x_ascend_pt/ASCEND_PROFILER_OUTPUT/"
	dir := files(t, map[string]string{"x_ascend_pt/profiler_info_2.json": "{}", out + "npu_module_mem.csv.gz": packed.String(), out + "kernel_details.csv": kernels, out + "l2_cache.csv": "Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n1,2,0.5,0,conv\n",
		out + "trace_view.json": `[{"ph":"M","name":"process_name","pid":1,"args":{"name":"Ascend Hardware"}},{"ph":"X","name":"conv","pid":1,"tid":3,"ts":"1700000000000000.000","dur":2.5,"args":{"Task Type":"AI_CORE","Task Id":1}}]`})
	tr, err := File(context.Background(), dir)
	if err != nil || tr.Tasks.Len() != 1 || len(tr.Source.Devices) != 1 {
		t.Fatalf("%v, %+v", err, tr)
	}
	if k := tr.Tasks.At(0); tr.String(k.Op) != "Conv2D" || k.Blocks != 8 || tr.Account(k.Acct).Total != 100 {
		t.Errorf("%+v", k)
	}
	for _, name := range []string{"npu_module_mem", "l2_cache", "pmu"} {
		if s := tr.Source.Sheet(name); s == nil || s.Column("device").Int[0] != int64(tr.Tasks.Device.At(0)) {
			t.Errorf("table %s: %+v", name, s)
		}
	}
	if c := tr.Counters.At(0); c.Value != 4096 || c.Device != tr.Tasks.Device.At(0) {
		t.Errorf("%+v", c)
	}
	whole, err := File(context.Background(), filepath.Join(dir, "x_ascend_pt", "profiler_info_2.json"))
	if err != nil || whole.Tasks.Len() != 1 || len(whole.Source.Notes) != 1 {
		t.Errorf("a part: %v, %+v", err, whole)
	}
}

// What torch_npu recorded and nobody analysed: the framework and the device become one trace of one rank.
func TestRead_neverAnalysed(t *testing.T) {
	op := append(make([]byte, 58), "\x02\x00\x04\x00\x00\x00add1"...)
	op[8] = 9 // ends at 9
	record := append([]byte{1, 0, byte(len(op)), 0, 0, 0}, op...)
	log := make([]byte, 128)
	for i, kind := range []byte{0, 1} {
		copy(log[64*i:], []byte{kind | byte(i)<<6, 0, 0xD3, 0x6B, 1, 0, 1, 0, byte(i)})
	}
	dir := files(t, map[string]string{
		"h_1_2_ascend_pt/profiler_info_4.json": `{"rank_id":4}`, "h_1_2_ascend_pt/FRAMEWORK/torch.op_range": string(record),
		"h_1_2_ascend_pt/PROF_000001_1_A/device_6/data/stars_soc.data.6.slice_0": string(log),
	})
	tr, err := File(context.Background(), dir)
	if err != nil || tr.Tasks.Len() != 1 || tr.Spans.Len() != 1 || len(tr.Source.Devices) != 1 || tr.Source.Devices[0].Rank != 4 || tr.String(tr.Spans.At(0).Name) != "add1" {
		t.Fatalf("%v, %+v", err, tr)
	}
}

// put writes the files of dir; databases are made of their statements.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, ".db") {
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		db, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Exec(content), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// A collection that was exported as text and as database says everything twice: it counts once.
func TestRead_bothForms(t *testing.T) {
	sides := map[string]string{
		"profiler_info_7.json":                       "{}",
		"ASCEND_PROFILER_OUTPUT/step_trace_time.csv": "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n4,13,1,2,3,4,5\n",
		"ASCEND_PROFILER_OUTPUT/communication.json":  `{"step13":{"collective":{"hcom_allReduce__1_0@99":{"Communication Time Info":{"Start Timestamp(us)":10.5,"Elapse Time(ms)":2}}}}}`,
		"ASCEND_PROFILER_OUTPUT/analysis.db": `CREATE TABLE StepTraceTime (deviceId, step TEXT, computing NUMERIC, free NUMERIC); INSERT INTO StepTraceTime VALUES (4,'13',1,5);
			CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, step TEXT, type TEXT);
			INSERT INTO CommAnalyzerTime VALUES ('hcom_allReduce__1_0','99',10.5,2,'step13','collective');`,
	}
	kernels := "Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n4,conv,Conv2D,AI_CORE,100,2\n"
	for name, tt := range map[string]struct {
		more  map[string]string
		tasks int
	}{
		"tables alone": {nil, 0},
		"kernels":      {map[string]string{"ASCEND_PROFILER_OUTPUT/kernel_details.csv": kernels}, 1},
		"databases": {map[string]string{
			"ASCEND_PROFILER_OUTPUT/memory_record.csv": "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device Type\nPTA,1,2,3,NPU:4\n",
			"ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_7.db": `CREATE TABLE TASK (startNs, endNs, deviceId, globalTaskId); INSERT INTO TASK VALUES (100,200,4,1);
				CREATE TABLE RANK_DEVICE_MAP (rankId, deviceId); INSERT INTO RANK_DEVICE_MAP VALUES (7,4);
				CREATE TABLE STEP_TIME (id, startNs, endNs); INSERT INTO STEP_TIME VALUES (13,100,200);
				CREATE TABLE MEMORY_RECORD (component, timestamp, totalAllocated, totalReserved, deviceId); INSERT INTO MEMORY_RECORD VALUES ('PTA',1000,2097152,3145728,4);`,
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "host_1_2_ascend_pt")
			put(t, dir, sides)
			put(t, dir, tt.more)
			tr, err := File(context.Background(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if s := tr.Source.Sheet("communication"); s == nil || s.Rows != 1 || tr.Tasks.Len() != tt.tasks {
				t.Errorf("%d tasks, %+v", tr.Tasks.Len(), s)
			}
			if s := tr.Source.Steps; len(s) != 1 || s[0].Name != "13" || s[0].Index != "7" || s[0].Computing != 1000 {
				t.Errorf("%+v", s)
			}
			if name == "databases" && tr.Counters.Len() != 2 {
				t.Errorf("%d values", tr.Counters.Len())
			}
		})
	}
}

// The folders that "msprof op" leaves: tables of one operator each.
func TestRead_operator(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "OPPROF_20260911105016_ABCDEFGH")
	blocks := "block_id,sub_block_id,aic_time(us),\n0,cube0,401.5,\n"
	for _, kernel := range []string{"add/0", "mul/0"} {
		put(t, filepath.Join(dir, kernel), map[string]string{
			"OpBasicInfo.csv":     "Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq,\n" + kernel + ",mix,4.5,1,2,0,5,1800,1800,\n",
			"PipeUtilization.csv": blocks, "Memory.csv": blocks, "L2Cache.csv": blocks,
		})
	}
	tr, err := File(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, rows := range map[string]int{"op_basic_info": 2, "pipe_utilization": 2, "memory": 2, "l2cache": 2} {
		if s := tr.Source.Sheet(name); s == nil || s.Rows != rows {
			t.Errorf("%s: %+v, want %d rows", name, s, rows)
		}
	}
	if len(tr.Source.Totals) != 2 {
		t.Errorf("%+v", tr.Source.Totals)
	}
}
