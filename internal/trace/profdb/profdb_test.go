package profdb

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"npu/internal/problem"
	"npu/internal/trace"
)

// made makes a database of statements.
func made(t testing.TB, sql string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a b?#%.db") // a name that a URI must quote
	db, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Exec("PRAGMA page_size=512;" + sql); err != nil {
		t.Fatal(err)
	}
	return path
}

const small = `
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO STRING_IDS VALUES (1,'KERNEL_AICORE'),(2,'conv1'),(3,'Conv2D'),(4,'aclrtLaunchKernel'),(5,'AI_CORE'),(6,'aic_total_cycles'),(7,'aic_mac_ratio'),(8,'N/A'),(9,'SDMA'),(10,'hcom_allReduce_'),(11,'EVENT_WAIT'),(12,'DSA_SQE'),(13,'STARS_COMMON');
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER, depth INTEGER);
INSERT INTO TASK VALUES (1000,2000,1,7,50,9,1,4294967295,3,5,4294967295,0),(2000,3000,1,8,51,9,5,4294967295,3,6,2,0),(2100,2900,1,8,52,9,1,0,3,6,2,0),
 (3000,4000,1,-1,53,9,5,4294967295,4,7,0,0),(3100,3900,1,-1,54,9,9,0,4,7,0,0),(4000,4100,1,-1,55,9,13,4294967295,4,8,0,0),(9,5,1,-1,56,9,1,0,1,1,0,0),(NULL,5,1,-1,57,9,1,0,1,1,0,0);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER, taskType INTEGER, opType INTEGER);
INSERT INTO COMPUTE_TASK_INFO VALUES (2,50,20,5,3),(2,52,8,5,3),(2,55,1,12,3);
CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER, globalTaskId INTEGER, taskType INTEGER, size INTEGER);
INSERT INTO COMMUNICATION_TASK_INFO VALUES (10,54,9,4096);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER, opId INTEGER, opType INTEGER);
INSERT INTO COMMUNICATION_OP VALUES (10,3000,4000,9,2,1,10);
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER PRIMARY KEY, name INTEGER);
INSERT INTO CANN_API VALUES (100,200,20000,38654705674,7,4),(300,400,10000,38654705674,9,4);
CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER, name INTEGER, value NUMERIC);
INSERT INTO TASK_PMU_INFO VALUES (50,6,1000),(50,7,0.25),(52,6,'x');
CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER); INSERT INTO RANK_DEVICE_MAP VALUES (5,1);
CREATE TABLE NPU_INFO (id INTEGER, name TEXT); INSERT INTO NPU_INFO VALUES (1,'Ascend910B');
CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, name INTEGER); INSERT INTO PYTORCH_API VALUES ('50','60',1,3),('x','60',1,3);
CREATE TABLE AICORE_FREQ (deviceId INTEGER, timestampNs NUMERIC, freq INTEGER); INSERT INTO AICORE_FREQ VALUES (1,100,1800);
CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER); INSERT INTO STEP_TIME VALUES (50,1000,4000);
CREATE VIEW endless AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c;
`

func TestRead(t *testing.T) {
	tr, err := Read(context.Background(), made(t, small))
	if err != nil {
		t.Fatal(err)
	}
	if tr.Tasks.Len() != 7 || tr.Spans.Len() != 3 || tr.Counters.Len() != 1 || tr.Source.BadRecords != 3 || tr.Source.Ranks != 1 || tr.Source.Format != "torch_npu database" || tr.Meta.Chip != "Ascend910B" {
		t.Fatalf("%d tasks, %d calls, %d values, %+v", tr.Tasks.Len(), tr.Spans.Len(), tr.Counters.Len(), tr.Source)
	}
	want := []struct {
		start int64
		kind  trace.Kind
		name  string
		op    string
		flags uint8
	}{
		{1000, trace.KernelAICore, "conv1", "Conv2D", 0},
		{2000, trace.KernelAICore, "conv1", "Conv2D", trace.FlagNoSubmit},
		{2100, trace.KernelAICore, "conv1", "Conv2D", trace.FlagNoSubmit | trace.FlagPart},
		{3000, trace.Communication, "hcom_allReduce_", "", trace.FlagNoSubmit},
		{3000, trace.Communication, "hcom_allReduce_", "hcom_allReduce_", trace.FlagNoSubmit | trace.FlagPart},
		{3100, trace.Memcpy, "hcom_allReduce_", "", trace.FlagNoSubmit | trace.FlagPart},
		{4000, trace.Other, "conv1", "DSA_SQE", trace.FlagNoSubmit},
	}
	for i, w := range want {
		k := tr.Tasks.At(i)
		if k.Start != w.start || k.Kind != w.kind || tr.String(k.Name) != w.name || tr.String(k.Op) != w.op || k.Flags != w.flags || k.Device != 1 {
			t.Errorf("row %d: %+v %s %s, want %+v", i, k, tr.String(k.Name), tr.String(k.Op), w)
		}
	}
	if k := tr.Tasks.At(0); tr.Account(k.Acct) != (trace.Account{Total: 1000, Cube: 250}) || k.Blocks != 20 || k.Submit != 200 || k.Thread == 0 {
		t.Errorf("%+v %+v", k, tr.Account(k.Acct))
	}
	if s := tr.Spans.At(1); tr.String(s.Name) != "AscendCL@aclrtLaunchKernel" || s.Stream != 3 || s.Task != 5 {
		t.Errorf("%+v %s", s, tr.String(s.Name))
	}
	if len(tr.Source.Steps) != 1 || tr.Source.Steps[0] != (trace.Step{Name: "50", Type: "rank", Index: "5", Total: 3000}) {
		t.Errorf("%+v", tr.Source.Steps)
	}
}

func TestRead_tablesThatMayBeMissing(t *testing.T) {
	for name, tt := range map[string]struct {
		sql, missing string
	}{
		"only tasks":  {"CREATE TABLE TASK (startNs INTEGER, endNs INTEGER);INSERT INTO TASK VALUES(1,2)", "table CANN_API"},
		"only calls":  {"CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER);INSERT INTO CANN_API VALUES(1,2)", "table TASK"},
		"step times":  {"CREATE TABLE StepTraceTime (deviceId, step TEXT, computing NUMERIC, free NUMERIC);INSERT INTO StepTraceTime VALUES(0,'7',1.5,2)", ""},
		"odd columns": {"CREATE TABLE TASK (x INTEGER, startNs BLOB);INSERT INTO TASK VALUES(1,x'00')", "table CANN_API"},
	} {
		tr, err := Read(context.Background(), made(t, tt.sql))
		if err != nil || !strings.Contains(strings.Join(tr.Source.Missing, ";"), tt.missing) {
			t.Errorf("%s: %v, %+v", name, err, tr)
		}
	}
	for name, sql := range map[string]string{
		"an empty shell": "CREATE TABLE x (id INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE x",
		"nothing":        "",
		"a view":         "CREATE VIEW TASK AS SELECT 1 startNs",
		"other tables":   "CREATE TABLE people (name TEXT)",
	} {
		path := made(t, sql)
		if tr, err := Read(context.Background(), path); tr != nil || problem.ClassOf(err) != problem.Damaged {
			t.Errorf("%s: %v, %v", name, tr, err)
		}
	}
	if _, err := Read(context.Background(), filepath.Join(t.TempDir(), "none.db")); problem.ClassOf(err) != problem.Damaged || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
}

// Times are microseconds since 1970 as floating point numbers, numbers may be text.
func TestRead_units(t *testing.T) {
	tr, err := Read(context.Background(), made(t, `CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, wait_time TEXT);
		INSERT INTO CommAnalyzerTime VALUES ('hcom_allReduce__1_0', 1764246877147674.5, 0.43614, '2'), ('hcom_allReduce__1_1', 1764246877147675, -1.5, '0.5'), ('x', 1e300, NULL, 'N/A')`))
	if err != nil {
		t.Fatal(err)
	}
	s := tr.Source.Sheet("communication")
	for column, want := range map[string][]int64{
		"start_ns": {1764246877147674500, 1764246877147675000, trace.NoInt}, "elapse_ns": {436140, -1500000, trace.NoInt}, "wait_ns": {2000000, 500000, trace.NoInt},
	} {
		if c := s.Column(column); c == nil || !slices.Equal(c.Int, want) {
			t.Errorf("%s: %+v, want %v", column, c, want)
		}
	}
}

func TestRead_damagedPagesKeepTheRest(t *testing.T) {
	path := made(t, small+"CREATE TABLE HBM (deviceId, timestampNs, bandwidth);"+"BEGIN;"+strings.Repeat("INSERT INTO HBM VALUES (1,2,3);", 200)+"COMMIT;")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(b) - 1024; i < len(b); i++ {
		b[i] = 0xFF
	}
	cut := filepath.Join(t.TempDir(), "cut.db")
	if err := os.WriteFile(cut, b, 0o644); err != nil {
		t.Fatal(err)
	}
	tr, err := Read(context.Background(), cut)
	if tr == nil || tr.Tasks.Len() != 7 || problem.ClassOf(err) != problem.Damaged || !strings.Contains(err.Error(), "HBM") {
		t.Errorf("%v, %v", tr, err)
	}
}

// A table whose name a damaged file has a NUL in is left out; the others are there.
func TestRead_nameWithNUL(t *testing.T) {
	path := made(t, small+"CREATE TABLE DAMAGED (deviceId);")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b, []byte("DAMAGED")); n < 2 {
		t.Fatalf("the name is there %d times", n)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(b, []byte("DAMAGED"), []byte("DAM\x00GED")), 0o644); err != nil {
		t.Fatal(err)
	}
	if tr, err := Read(context.Background(), path); tr == nil || tr.Tasks.Len() != 7 {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) {
	b, err := os.ReadFile(made(f, small))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:1000])
	path := filepath.Join(f.TempDir(), "x.db")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if tr, _ := Read(context.Background(), path); tr != nil && tr.Tasks.Len() > len(b)*8 {
			t.Errorf("%d tasks of %d bytes", tr.Tasks.Len(), len(b))
		}
	})
}
