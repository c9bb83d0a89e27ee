package profcsv

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"npu/internal/problem"
	"npu/internal/trace"
	own "npu/internal/trace/csv"
	"npu/internal/trace/gen"
)

func readText(text string) (*trace.Trace, error) {
	return Read(context.Background(), strings.NewReader(text), Options{})
}

func TestRead_tasks(t *testing.T) {
	text := "\ufeffDevice_id,Model ID,Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Block Num,Context ID,aic_total_cycles,aic_mac_ratio,aiv_total_cycles,aiv_vec_ratio\n" +
		"2,4294967295,7,3,\"conv, 1\",Conv2D,AI_CORE,1784177144514943.513\t,13.780,20,N/A,1000,0.5,0,0.0\n" +
		"2,1,8,3,mix,Mix,MIX_AIC,1784177144515000.000\t,10.000,8,N/A,10,0.1,20,0.2\n" +
		"2,1,8,3,mix,Mix,MIX_AIC,1784177144515001.000\t,8.000,8,0,10,0.1,20,0.2\n" +
		"2,1,9,3,level0,N/A,N/A,1784177144515020.000\t,1,0,N/A,0,0,77,0.0\n" +
		"2,1,9,3,helper,N/A,N/A,1784177144515022.000\t,1,0,N/A,N/A,N/A,N/A,N/A\n" +
		"2,1,9,3,bad,X,AI_CORE,N/A,1,0,N/A,0,0,0,0\n" +
		"2,1\n"
	tr, err := readText(text)
	if err != nil || tr.Tasks.Len() != 5 || tr.Source.BadRecords != 2 || tr.Source.Records["rows"] != 7 {
		t.Fatalf("%v, %+v", err, tr)
	}
	k := tr.Tasks.At(0)
	if k.Start != 1784177144514943513 || k.End-k.Start != 13780 || k.Device != 2 || k.Stream != 3 || k.Task != 7 || k.Blocks != 20 || k.Model != 0 ||
		k.Kind != trace.KernelAICore || tr.String(k.Name) != "conv, 1" || tr.String(k.Op) != "Conv2D" || tr.Account(k.Acct) != (trace.Account{Total: 1000, Cube: 500}) {
		t.Errorf("%+v %+v", k, tr.Account(k.Acct))
	}
	if m := tr.Tasks.At(1); m.Flags&trace.FlagPart != 0 || tr.Account(m.Acct) != (trace.Account{Total: 30, Cube: 1, Vector: 4}) {
		t.Errorf("%+v", m)
	}
	if m := tr.Tasks.At(2); m.Flags&trace.FlagPart == 0 {
		t.Errorf("%+v", m)
	}
	if m := tr.Tasks.At(3); m.Kind != trace.KernelAIVector {
		t.Errorf("%+v", m)
	}
	if m := tr.Tasks.At(4); m.Kind != trace.Other || tr.String(m.Op) != "UNKNOWN" {
		t.Errorf("%+v", m)
	}
}

func TestRead_otherTables(t *testing.T) {
	tr, err := readText("Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble\n2,rank,11,1.5,2,3,4,26675.27399999998,6,7\n2,stage,\"(0, 1)\",1,2,3,4,x,6,7\n")
	want := []trace.Step{
		{Name: "2", Type: "rank", Index: "11", Computing: 1500, NotOverlapped: 2000, Overlapped: 3000, Communication: 4000, Free: 26675274, Stage: 6000, Bubble: 7000},
		{Name: "2", Type: "stage", Index: "(0, 1)", Computing: 1000, NotOverlapped: 2000, Overlapped: 3000, Communication: 4000, Stage: 6000, Bubble: 7000},
	}
	if err != nil || !slices.Equal(tr.Source.Steps, want) || tr.Source.Ranks != 1 || tr.Source.BadRecords != 1 {
		t.Errorf("%v, %+v", err, tr.Source)
	}
	tr, err = readText("OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\nForeachAddList,AI_VECTOR_CORE,3,1959.079,624.152,653.026,706.614,22.077\n")
	if err != nil || len(tr.Source.Totals) != 1 || tr.Source.Totals[0] != (trace.Total{Name: "ForeachAddList", Count: 3, TotalNs: 1959079, MaxNs: 706614}) {
		t.Errorf("%v, %+v", err, tr.Source)
	}
	tr, err = readText("Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\nhost,acl,aclrtMalloc,35.56,1,35.56,35.56,35.56,0\n")
	if err != nil || len(tr.Source.Totals) != 1 || !tr.Source.Totals[0].Call {
		t.Errorf("%v, %+v", err, tr.Source)
	}
}

// What this program writes as CSV it reads again.
func TestRead_ownTable(t *testing.T) {
	want := gen.Trace(gen.Options{Tasks: 2000, Devices: 2, Streams: 3})
	var b bytes.Buffer
	if err := own.Write(&b, want); err != nil {
		t.Fatal(err)
	}
	got, err := Read(context.Background(), &b, Options{})
	if err != nil || got.Tasks.Len() != want.Tasks.Len() || got.Source.Format != "npu CSV" {
		t.Fatalf("%v, %+v", err, got)
	}
	for i, k := range got.Tasks.All() {
		w := want.Tasks.At(i)
		x, y := fmt.Sprint(got.String(k.Name), got.String(k.Op), got.Account(k.Acct)), fmt.Sprint(want.String(w.Name), want.String(w.Op), want.Account(w.Acct))
		k.Name, k.Op, k.Acct, w.Name, w.Op, w.Acct = 0, 0, 0, 0, 0, 0
		if k != w || x != y {
			t.Fatalf("row %d is %+v %s, want %+v %s", i, k, x, w, y)
		}
	}
	for i, s := range got.Streams {
		if w := want.Streams[i]; s.Name != w.Name || s.ID != w.ID {
			t.Errorf("stream %+v, want %+v", s, w)
		}
	}
}

func TestRead_errors(t *testing.T) {
	for text, want := range map[string]string{
		"": "is empty", "a,b\n1,2\n": "its columns are a, b", "\n\n": "is empty",
	} {
		if tr, err := readText(text); tr != nil || problem.ClassOf(err) != problem.Damaged || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", text, tr, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("Op Name,Task Start Time(us),Task Duration(us),Context ID,aic_total_cycles\na,1.5,2,N/A,1e300\nb,1\t,-2,0,x\n")
	f.Add("Step,Computing,Free,Type,Index\n1,1e30,NaN,rank,0\n")
	f.Add("OP Type,Count,Total Time(us)\n\"a,3,4\n")
	f.Add(own.Header + "\n0,1,,2\n")
	f.Add("Component,Timestamp(us),Total Reserved(KB),Device\nA,1e15,\"2,NPU:1\nB,-1,1e99,x")
	f.Add("Device_id;Metric;Read(MB/s)\n0;a;NaN\n1;;9999999999999999999")
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = Read(context.Background(), strings.NewReader(text), Options{Name: "hbm", Side: true})
		if tr, _ := readText(text); tr != nil && tr.Tasks.Len() > len(text) {
			t.Errorf("%d tasks of %d bytes", tr.Tasks.Len(), len(text))
		}
	})
}

func TestRead_tablesBesideTasks(t *testing.T) {
	tr, err := readText("Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Stream Ptr,Device Type\nPTA,1736408883573957.920\t,1.5,2,18446744073709551615,NPU:3\nPTA,1736408883573958.920\t,,0,7,NPU:3\nGE,x,0,0,8,NPU:3\n")
	s := tr.Source.Sheet("memory_record")
	if err != nil || s == nil || s.Rows != 3 || s.Column("timestamp_ns").Int[0] != 1736408883573957920 || s.Column("total_allocated_bytes").Int[0] != 3<<19 || s.Column("total_allocated_bytes").Value(1) != nil ||
		s.Column("device").Int[0] != 3 || s.Column("stream_ptr").Text[0] != "18446744073709551615" || tr.Source.BadRecords != 1 {
		t.Fatalf("%v, %+v", err, s)
	}
	got := ""
	for _, c := range tr.Counters.All() {
		got += fmt.Sprintln(c.Time, c.Device, tr.String(c.Name), c.Value)
	}
	want := "1736408883573957920 3 memory_record PTA total allocated (bytes) 1.572864e+06\n1736408883573957920 3 memory_record PTA total reserved (bytes) 2.097152e+06\n1736408883573958920 3 memory_record PTA total reserved (bytes) 0\n"
	if got != want {
		t.Errorf("counters\n%swant\n%s", got, want)
	}
	tr, err = Read(context.Background(), strings.NewReader("Device_id,Metric,Read(MB/s),Write(MB/s)\n0,Average,1.5,2\n"), Options{Name: "ddr"})
	if s := tr.Source.Sheet("ddr"); err != nil || s == nil || s.Column("read_mb_s").Float[0] != 1.5 {
		t.Errorf("%v, %+v", err, tr.Source)
	}
	for text, o := range map[string]Options{"a,b\n1,2\n": {}, "1,2\n3,4\n": {Name: "x"}, "a\n1\n": {Name: "x"}} {
		if tr, err := Read(context.Background(), strings.NewReader(text), o); tr != nil || err == nil {
			t.Errorf("%q: %+v, %v", text, tr, err)
		}
	}
}

// The metrics of all groups are kept, also those that this program has no name for.
func TestRead_metrics(t *testing.T) {
	tr, err := readText("Op Name,Start Time(us),Duration(us),Input Shapes,Context ID,aicore_time(us),aic_total_cycles,aic_mac_fp16_ratio,ub_read_bw(GB/s),read_main_memory_datas(KB),new_thing\n" +
		"a,1,2,\"\"\"4,5\"\"\",N/A,1.5,1000,0.25,3.5,8,77\nb,5,2,,N/A,N/A,N/A,N/A,N/A,N/A,N/A\n")
	s := tr.Source.Sheet("pmu")
	if err != nil || s == nil || s.Rows != 1 {
		t.Fatalf("%v, %+v", err, s)
	}
	for name, want := range map[string]float64{"aicore_time_us": 1.5, "aic_total_cycles": 1000, "aic_mac_fp16_ratio": 0.25, "ub_read_bw_gb_s": 3.5, "read_main_memory_datas_kb": 8, "new_thing": 77} {
		if c := s.Column(name); c == nil || c.Float[0] != want {
			t.Errorf("%s: %+v, want %v", name, c, want)
		}
	}
	if a := tr.Account(tr.Tasks.At(0).Acct); a.ReadBytes != 8192 || a.Total != 1000 {
		t.Errorf("%+v", a)
	}
	if d := tr.Source.Sheet("op_details"); d == nil || d.Rows != 2 || d.Column("input_shapes").Text[0] != "4,5" {
		t.Errorf("%+v", d)
	}
}

func TestRead_cutRow(t *testing.T) {
	tr, err := readText("Op Name,Start Time(us),Duration(us),Block Num\na,1,2,3\nb,5,2")
	if err != nil || tr.Tasks.Len() != 1 || len(tr.Source.Missing) != 1 {
		t.Errorf("%v, %d tasks, %v", err, tr.Tasks.Len(), tr.Source.Missing)
	}
	if tr, _ := readText("Op Name,Start Time(us),Duration(us),Block Num\na,1,2,3\nb,5,2,4"); tr.Tasks.Len() != 2 || len(tr.Source.Missing) != 0 {
		t.Errorf("%d tasks, %v", tr.Tasks.Len(), tr.Source.Missing)
	}
	tr, err = Read(context.Background(), strings.NewReader("Name,Start Time(us)\na,1\n"), Options{Name: "kernel_details"})
	if err != nil || tr.Tasks.Len() != 0 || len(tr.Source.Missing) != 1 || tr.Source.Sheet("kernel_details").Rows != 1 {
		t.Errorf("%v, %+v", err, tr.Source)
	}
}

// Versions differ in the names of columns, in units and in what stands between cells.
func TestRead_otherSpellings(t *testing.T) {
	for _, text := range []string{
		"Op Name,Task Start Time,Task Duration,Task Type\na,10.5,2,AI_CORE\n", "op_name;start time(us);duration(us);Accelerator Core\na;10.5;2;AI_CORE\n",
		"NAME\tSTART TIME(ns)\tDURATION(ns)\tTask Type\na\t10500\t2000\tAI_CORE\n", "\ufeff\"Name\",\"Start Time(us)\",\"Duration(us)\",\"Task Type\"\r\n\"a\",\"10.5\t\",\"1.9999999999\",\"AI_CORE\"\r\n",
		"Name,Start Time(us),Duration(us),Task Type\ra,10.5,2,AI_CORE\r", "\ufeffName,Start Time(us) ,Duration(us),Task Type\nName,Start Time(us) ,Duration(us),Task Type\na,10.5,2,AI_CORE\n",
	} {
		tr, err := readText(text)
		if err != nil || tr.Tasks.Len() != 1 {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if k := tr.Tasks.At(0); k.Start != 10500 || k.End != 12500 || tr.String(k.Name) != "a" || k.Kind != trace.KernelAICore || tr.Source.BadRecords != 0 {
			t.Errorf("%q: %+v", text, k)
		}
	}
}

// "msprof op" describes one operator: its time, and what its blocks did.
func TestRead_operator(t *testing.T) {
	tr, err := readText("Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq,\nadd_custom_0_mix_aic,mix,454.299988,1,2,3,4805,1800,1800,\n")
	if err != nil {
		t.Fatal(err)
	}
	s := tr.Source.Sheet("op_basic_info")
	if s == nil || s.Column("task_duration_ns").Int[0] != 454300 || s.Column("device").Int[0] != 3 || s.Column("current_freq").Int[0] != 1800 ||
		len(tr.Source.Totals) != 1 || tr.Source.Totals[0] != (trace.Total{Name: "add_custom_0_mix_aic", Count: 1, TotalNs: 454300, MaxNs: 454300}) {
		t.Errorf("%+v, %+v", s, tr.Source.Totals)
	}
	const blocks = "block_id,sub_block_id,aic_time(us),aiv_vec_ratio,aiv_mte2_active_bw(GB/s),\n0,cube0,401.5,NA,NA,\n0,vector0,NA,0.25,5.5,\n"
	for name, want := range map[string]string{"pipe_utilization": "pipe_utilization", "": "op_blocks", "memory": "memory"} {
		tr, err := Read(context.Background(), strings.NewReader(blocks), Options{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		s := tr.Source.Sheet(want)
		if s == nil || s.Rows != 2 || len(s.Columns) != 5 || s.Column("aic_time_ns").Int[0] != 401500 || s.Column("aic_time_ns").Int[1] != trace.NoInt || s.Column("aiv_mte2_active_bw_gb_s") == nil || tr.Source.BadRecords != 0 {
			t.Errorf("%s: %+v", want, tr.Source.Sheets)
		}
	}
}

// An end that lies centuries behind its start is none.
func TestRead_absurdStop(t *testing.T) {
	tr, err := readText("kernel_name,kernel_type,task_time(us),task_start(us),task_stop(us)\na,AI_CORE,2,-3000000000000000,3000000000000000\nb,AI_CORE,2.52,10,12.521\n")
	if err != nil || tr.Tasks.Len() != 2 {
		t.Fatalf("%v, %+v", err, tr)
	}
	if a, b := tr.Tasks.At(0), tr.Tasks.At(1); a.End-a.Start != 2000 || b.End-b.Start != 2521 {
		t.Errorf("%+v, %+v", a, b)
	}
}
