package diagnose

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"npu/internal/blackbox/plog"
)

// data finds the folder with samples beside the repository; tests that need it skip without it.
func data(t testing.TB, elem ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Skip("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	p := filepath.Join(append([]string{dir, "..", "shared", "data"}, elem...)...)
	if _, err := os.Stat(p); err != nil {
		t.Skip("the samples are not here")
	}
	return p
}

var all = Options{Level: plog.Event, Since: plog.NoTime}

func run(t testing.TB, o Options, paths ...string) []Finding {
	t.Helper()
	rep, err := Run(context.Background(), paths, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	return rep.Findings
}

func asMap(t testing.TB, f Finding) map[string]any {
	t.Helper()
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Every key of expected.json that is a fact (not prose) must come out.
func TestExpected(t *testing.T) {
	dir := data(t, "plog")
	b, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]map[string]any
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	facts := []string{"acl", "cores", "errcode", "bits", "bus", "pc_start", "pc_start_raw", "current", "pc_fixed", "pc_repair", "offset", "offsets",
		"pc_fixed_candidates", "kernel", "stream", "task", "flip", "inner", "drv", "error_codes", "args", "ts", "follow", "sdma", "codes", "names", "bystanders"}
	n := 0
	for name, w := range want {
		t.Run(name, func(t *testing.T) {
			var paths []string
			for _, f := range strings.Split(name, "+") {
				paths = append(paths, filepath.Join(dir, strings.TrimSpace(f)))
			}
			fs := run(t, all, paths...)
			if len(fs) != 1 {
				t.Errorf("%d findings, expected one cause", len(fs))
			}
			got := asMap(t, fs[0])
			for _, k := range facts {
				wv, ok := w[k]
				if !ok {
					continue
				}
				gv := got[k]
				if wv == nil && reflect.DeepEqual(gv, []any{}) {
					gv = nil
				}
				if !reflect.DeepEqual(gv, wv) {
					t.Errorf("%s is %v, expected %v", k, gv, wv)
				}
				n++
			}
		})
	}
	if n < 60 {
		t.Errorf("only %d facts compared", n)
	}
}

func TestPairOfRanks(t *testing.T) {
	dir := data(t, "plog")
	folder := t.TempDir()
	for _, f := range []string{"12-rank3-notify-timeout.log", "12-rank5-aicore.log"} {
		b, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, f), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fs := run(t, all, folder)
	f := fs[0]
	if len(fs) != 1 || *f.Device != 5 || f.Bits[0] != 4 || f.PCFixed != "0x12c0c0600470" || f.Offset != "0x470" || f.ACL != 507015 {
		t.Errorf("cause: %+v", f)
	}
	if len(f.Followups) != 1 || !strings.Contains(f.Followups[0].What, "notify 155 waited 204 s for rank 5") || f.Follow != 507048 {
		t.Errorf("followups: %+v", f.Followups)
	}
}

// Real logs: facts from their description.
func TestRealLogs(t *testing.T) {
	for _, c := range []struct {
		file string
		want map[string]any
	}{
		{"plog-588579_20250402071926352.log", map[string]any{"acl": 507035.0, "kernel": "AddCustom_ab1b6750d7f510985325b603cb06dc8b_0", "pc_fixed": "0x12c0c002e5a8",
			"offset": "0x5a8", "serial": 48.0, "block_dim": 8.0, "tiling_key": "0", "device": 0.0, "stream": 2.0, "task": 0.0, "flip": 0.0, "ts": "0x31",
			"cores": []any{14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0}, "bits": []any{33.0}}},
		{"plog-1592007_20240912164003456.log", map[string]any{"acl": 507015.0, "kernel": "FlashAttentionScore_5881aeec01e51adb01fb1db8be1c04f0_10000000000022420943_mix_aic",
			"offset": "0x23c4", "pc_repair": false, "sub_err_type": 2.0, "stream": 42.0, "task": 1.0, "block_dim": 20.0, "ts": "0x26", "inner": "0x07150026", "cores": []any{0.0}}},
		{"plog-17890_202506017074109552.log", map[string]any{"acl": 507035.0, "kernel": "GatherV3_7869a97190b9b4d296d9414a005b954b_high_performance_10330",
			"offset": "0x83c", "pc_repair": false, "tiling_key": "10330", "block_dim": 2.0, "cores": []any{10.0}}},
		{"plog_20201224011051563.log", map[string]any{"acl": 507011.0, "kernel": "te_transdata_a603142389973648_c50cf465894adb0d_1__kernel0", "offset": "0xa4",
			"pc_repair": false, "stream": 517.0, "task": 3.0, "ts": "0x91", "bits": []any{4.0}, "cores": []any{0.0, 1.0}}},
		{"plog-156072_20230117025353069.log", map[string]any{"kernel": "te_gatherv2_097ab5be870f5abfbee16f82ff39732eccfee1dbe76f3bcd6ef32b08996dd346_1__kernel0",
			"node": "00_11_2_GatherV2", "stream": 5.0, "task": 0.0, "pid": 1385916.0}},
	} {
		fs := run(t, all, data(t, "dump", "plog-real", c.file))
		if len(fs) == 0 {
			t.Errorf("%s: nothing found", c.file)
			continue
		}
		got := asMap(t, fs[0])
		for k, w := range c.want {
			if !reflect.DeepEqual(got[k], w) {
				t.Errorf("%s: %s is %v, expected %v", c.file, k, got[k], w)
			}
		}
	}
	for file, n := range map[string]int{"plog-1592007_20240912164003456.log": 308, "plog-17890_202506017074109552.log": 35, "plog-588579_20250402071926352.log": 12} {
		if fs := run(t, all, data(t, "dump", "plog-real", file)); len(fs) == 0 || len(fs[0].Args) != n {
			t.Errorf("%s: expected %d argument words", file, n)
		}
	}
	for _, quiet := range []string{"run-plog-1592007_20240912163952762.log", "host-0_20200909152234009.head.log"} {
		if fs := run(t, all, data(t, "dump", "plog-real", quiet)); len(fs) != 0 {
			t.Errorf("%s: found %+v in a log without errors", quiet, fs)
		}
	}
	assert := run(t, all, data(t, "dump", "plog-real", "plog-17890_202506017074109552.log"))[0]
	if !strings.Contains(assert.Cause, "Index 1000001 out of range[0 1)") {
		t.Errorf("the assertion is the cause: %s", assert.Cause)
	}
}

// Host log, device log and history of one event; the device runs eight hours behind.
func TestClocksJoin(t *testing.T) {
	fs := run(t, all, data(t, "dump", "plog-real", "plog_20201224011051563.log"), data(t, "dump", "device-log", "device-0_20201224011054112.head.log"), data(t, "dump", "bbox"))
	if len(fs) != 1 || !strings.Contains(fs[0].Clock, "8 h behind") {
		t.Fatalf("%d findings, clock %q", len(fs), fs[0].Clock)
	}
	files := map[string]bool{}
	for _, e := range fs[0].Evidence {
		files[filepath.Base(e.File)] = true
	}
	for _, n := range []string{"plog_20201224011051563.log", "device-0_20201224011054112.head.log", "history.log"} {
		if !files[n] {
			t.Errorf("%s is not among the evidence", n)
		}
	}
}

// The same logs after a trip through an issue tracker give the same answer.
func TestPastedExcerpts(t *testing.T) {
	dir := data(t, "plog")
	key := func(f Finding) string {
		return fmt.Sprint(f.ACL, f.Bits, f.Codes, f.PCStart, f.PCFixed, f.Offset, f.Kernel, f.Cores, f.Bus)
	}
	forms := map[string]func(string) string{
		"crlf":      func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"quote":     func(s string) string { return "> " + strings.ReplaceAll(s, "\n", "\n> ") },
		"colour":    func(s string) string { return strings.ReplaceAll(s, "[ERROR]", "\x1b[31m[ERROR]\x1b[0m") },
		"launcher":  func(s string) string { return "[rank0]:" + strings.ReplaceAll(s, "\n", "\n[rank0]:") },
		"container": func(s string) string { return "app-1  | " + strings.ReplaceAll(s, "\n", "\napp-1  | ") },
		"collector": func(s string) string { return inJSON(s) },
		"engine": func(s string) string {
			return "(EngineCore pid=7) " + strings.ReplaceAll(s, "\n", "\n(EngineCore pid=7) ")
		},
		"fenced":   func(s string) string { return "It fails:\n```\n" + s + "\n```\nAny idea?\n" },
		"terminal": func(s string) string { return fold80(s, 120) },
		"narrow":   func(s string) string { return fold80(s, 80) },
		"reflowed": func(s string) string { return reflow(s, 100) },
		"headless": headless,
		"both":     func(s string) string { return "> " + strings.ReplaceAll(reflow(headless(s), 90), "\n", "\r\n> ") },
	}
	for _, f := range []string{"01-blocktable-oob.log", "02-mte-write-overflow.log", "04-mpu-scalar.log", "08-vector-timeout-sync.log", "13-ub-wrap.log", "16-950-decimal-list.log", "06-310p-illegal-instruction.log"} {
		b, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		want := key(run(t, all, filepath.Join(dir, f))[0])
		for name, form := range forms {
			rep, err := Run(context.Background(), []string{"-"}, strings.NewReader(form(string(b))), all)
			if err != nil || len(rep.Findings) == 0 {
				t.Errorf("%s as %s: %v, %d findings", f, name, err, len(rep.Findings))
				continue
			}
			if got := key(rep.Findings[0]); got != want {
				t.Errorf("%s as %s:\n got %s\nwant %s", f, name, got, want)
			}
		}
	}
}

// inJSON is each line as a collector of containers writes it.
func inJSON(s string) string {
	var b strings.Builder
	for _, l := range strings.Split(s, "\n") {
		line, _ := json.Marshal(map[string]string{"log": l + "\n", "stream": "stderr"}) // strings always encode
		b.Write(append(line, '\n'))
	}
	return b.String()
}

// fold80 breaks lines as a terminal does when text is copied from it.
func fold80(s string, w int) string {
	var b strings.Builder
	for _, l := range strings.Split(s, "\n") {
		for len(l) > w {
			b.WriteString(strings.TrimRight(l[:w], " ") + "\n")
			l = l[w:]
		}
		b.WriteString(l + "\n")
	}
	return b.String()
}

// reflow breaks lines at words, as a mail program does.
func reflow(s string, w int) string {
	var b strings.Builder
	for _, l := range strings.Split(s, "\n") {
		n := 0
		for i, f := range strings.Fields(l) {
			switch {
			case i == 0:
			case n+1+len(f) > w:
				b.WriteString("\n")
				n = 0
			default:
				b.WriteString(" ")
				n++
			}
			b.WriteString(f)
			n += len(f)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// headless cuts everything up to the message, as people do.
func headless(s string) string {
	var b strings.Builder
	for _, l := range strings.Split(s, "\n") {
		if strings.HasPrefix(l, "[") {
			if _, rest, ok := strings.Cut(l, "] "); ok {
				if _, msg, ok := strings.Cut(rest, "]"); ok {
					l = strings.TrimLeft(msg, " 0123456789")
					if i := strings.IndexByte(l, ':'); i > 0 && i < 48 && !strings.ContainsAny(l[:i], " (,=") {
						l = strings.TrimSpace(l[i+1:])
					}
				}
			}
		}
		b.WriteString(l + "\n")
	}
	return b.String()
}

// What torch_npu prints: the block of the error manager, without any log head.
const torchPaste = `Traceback (most recent call last):
  File "train.py", line 88, in <module>
    loss.item()
RuntimeError: The Inner error is reported as above.
[ERROR] 2024-06-27-10:50:39 (PID:6210, Device:2, RankID:7) ERR00100 PTA call acl api failed
EZ9999: Inner Error!
EZ9999: [PID: 6210] 2024-06-27-10:50:38.123.456 The error from device(chipId:0, dieId:0), serial number is 5, there is an aivec error exception, core id is 3, error code = 0x800000, dump info: pc start: 0x12c0c0a40000, current: 0x12c0c0a41c64, vec error info: 0x1a0000410e, mte error info: 0x702004114, ifu error info: 0x38a0121c0080, ccu error info: 0x2b4000003800114, cube error info: 0, biu error info: 0, aic error mask: 0x6500020bd000288, para base: 0x12c1c0000400.[FUNC:ProcessStarsCoreErrorInfo][FILE:device_error_proc.cc][LINE:1157]
        TraceBack (most recent call last):
        The extend info: errcode:(0x800000, 0, 0) errorStr: The DDR address of the MTE instruction is out of range. fixp_error0 info: 0x2004114, fixp_error1 info: 0x7, fsmId:0, tslot:0, thread:0, ctxid:0, blk:0, sublk:0, subErrType:4.[FUNC:ProcessStarsCoreErrorInfo][FILE:device_error_proc.cc][LINE:1169]
        Kernel task happen error, retCode=0x31, [vector core exception].[FUNC:PreCheckTaskErr][FILE:davinci_kernel_task.cc][LINE:1213]
        Aicore kernel execute failed, device_id=2, stream_id=2, report_stream_id=2, task_id=4, flip_num=0, fault kernel_name=Index_7_2, fault kernel info ext=none, program id=12, hash=11.[FUNC:GetError][FILE:stream.cc][LINE:1082]
        rtStreamSynchronize execute failed, reason=[vector core exception][FUNC:FuncErrorReason][FILE:error_message_manage.cc][LINE:53]
        synchronize stream failed, runtime result = 507035[FUNC:ReportCallError][FILE:log_inner.cpp][LINE:161]
`

func TestErrorManagerBlock(t *testing.T) {
	rep, err := Run(context.Background(), []string{"-"}, strings.NewReader(torchPaste), all)
	if err != nil || len(rep.Findings) != 1 {
		t.Fatalf("%v: %+v", err, rep.Findings)
	}
	f := rep.Findings[0]
	if f.ACL != 507035 || f.Kernel != "Index_7_2" || f.PCFixed != "0x12c0c0a41c50" || len(f.Bits) != 1 || f.Bits[0] != 23 || *f.Stream != 2 || *f.Device != 2 || f.TS != "0x31" {
		t.Errorf("%+v", f)
	}
	if f.Rank == nil || *f.Rank != 7 || f.PID == nil || *f.PID != 6210 {
		t.Errorf("rank %v, pid %v", f.Rank, f.PID)
	}
}

// Forms of lines that public reports show, each with the fact it must give.
func TestSingleLines(t *testing.T) {
	for _, c := range []struct {
		text string
		want map[string]any
	}{
		{"RuntimeError: ACL stream synchronize failed, error code:507035\n", map[string]any{"acl": 507035.0}},
		{"RuntimeError: NPU function error: c10_npu::acl::AclrtSynchronizeStream(stream), error code is 507014\n", map[string]any{"acl": 507014.0}},
		{"[ERROR] GE(7,python):2025-01-01-00:00:00.000.001 [a.cc:1]7 f: Call rt api rtStreamSynchronize failed, ret: 0x7BC83\n", map[string]any{"acl": 507011.0}},
		{"EZ9999: [PID: 9] 2025-09-01-12:34:56.789.012 (EZ9999):  The error from device(chipId:0, dieId:0), serial number is 1, an exception occurred during AICPU execution, stream_id:78, task_id:742, errcode:11006, msg:inner error[FUNC:x]\n",
			map[string]any{"acl": 507018.0, "stream": 78.0, "task": 742.0, "kind": "aicpu"}},
		{"[ERROR] RUNTIME(7,python):2025-01-01-00:00:00.000.001 [a.cc:1]7 f:fftsplus task execute failed, device_id=3, stream_id=8, report_stream_id=8, task_id=2, flip_num=0, fault kernel_name=abc_mix_aic, fault kernel info ext=none.\n",
			map[string]any{"kernel": "abc_mix_aic", "device": 3.0}},
		{"[ERROR] RUNTIME(7,python):2025-01-01-00:00:00.000.001 [a.cc:1]7 f:ErrCode=507054, desc=[hbm Multi-bit ECC error], InnerCode=0x7010027\n", map[string]any{"acl": 507054.0, "kind": "hardware"}},
		{"[ERROR] HCCL(7,python):2025-01-01-00:00:00.000.001 [t.cc:1] [7][TaskExceptionHandler][Callback]Task run failed, base information is streamID:[5], taskID[3]\nEI0006: 2025-01-01-00:00:00.000.002 Getting socket times out.\n",
			map[string]any{"kind": "wait", "error_codes": []any{"EI0006"}}},
		{"[ERROR] DRV(7,python):2025-01-01-00:00:00.000.001 [a.c:1][ascend][curpid: 7, 7][drv][devmm]<errno:12> alloc failed, drvRetCode=6\n", map[string]any{"drv": 6.0}},
	} {
		rep, err := Run(context.Background(), []string{"-"}, strings.NewReader(c.text), all)
		if err != nil || len(rep.Findings) == 0 {
			t.Errorf("%q: %v, %d findings", c.text, err, len(rep.Findings))
			continue
		}
		got := asMap(t, rep.Findings[0])
		for k, w := range c.want {
			if !reflect.DeepEqual(got[k], w) {
				t.Errorf("%q: %s is %v, expected %v", c.text, k, got[k], w)
			}
		}
	}
}

// Launchers mix the ranks line by line: the block of each rank stays together.
func TestInterleavedRanks(t *testing.T) {
	second := strings.NewReplacer("6210", "6211", "Device:2", "Device:3", "RankID:7", "RankID:8", "core id is 3", "core id is 5", "Index_7_2", "Other_1", "device_id=2", "device_id=3", "serial number is 5", "serial number is 6",
		"pc start: 0x12c0c0a40000", "pc start: 0x12c0c0a30000").Replace(torchPaste)
	a, b := strings.Split(torchPaste, "\n"), strings.Split(second, "\n")
	var mixed strings.Builder
	for i := range a {
		mixed.WriteString("[rank7]:" + a[i] + "\n[rank8]:" + b[i] + "\n")
	}
	rep, err := Run(context.Background(), []string{"-"}, strings.NewReader(mixed.String()), all)
	if err != nil || len(rep.Findings) != 2 {
		t.Fatalf("%v, %d findings", err, len(rep.Findings))
	}
	for i, want := range []string{"Index_7_2 [3] 2", "Other_1 [5] 3"} {
		f := rep.Findings[i]
		if got := fmt.Sprint(f.Kernel, " ", f.Cores, " ", *f.Device); got != want {
			t.Errorf("finding %d: %s, expected %s", i, got, want)
		}
	}
}

func TestKernelSymbols(t *testing.T) {
	sym, err := LoadSymbols(data(t, "dump", "writer", "core", "DemoScatter_5f0c1d2e3a4b5968778695a4b3c2d1e0.o"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(torchPaste, "Index_7_2", "DemoScatter_5f0c1d2e3a4b5968778695a4b3c2d1e0_0")
	text = strings.ReplaceAll(text, "pc start: 0x12c0c0a40000", "pc start: 0x12c0c0a41c28") // repaired 0x...1c50 = entry + 0x28
	rep, err := Run(context.Background(), []string{"-"}, strings.NewReader(text), Options{Level: plog.Event, Since: plog.NoTime, Symbol: sym})
	if err != nil || rep.Findings[0].Source != "DemoScatter_5f0c1d2e3a4b5968778695a4b3c2d1e0_0+0x28 (demo_scatter.c:21)" {
		t.Errorf("%v %q", err, rep.Findings[0].Source)
	}
}

// A log cut or flipped anywhere must not change the rest, panic or hang.
func TestDamagedLogs(t *testing.T) {
	b, err := os.ReadFile(data(t, "plog", "01-blocktable-oob.log"))
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut < len(b); cut += 97 {
		if _, err := Run(context.Background(), []string{"-"}, bytes.NewReader(b[:cut]), all); err != nil {
			t.Fatal(err)
		}
		c := bytes.Clone(b)
		c[cut] ^= 0x15
		rep, err := Run(context.Background(), []string{"-"}, bytes.NewReader(c), all)
		if err != nil || len(rep.Findings) == 0 {
			t.Fatalf("one flipped byte at %d: %v, %d findings", cut, err, len(rep.Findings))
		}
	}
}

func TestParseSince(t *testing.T) {
	now := time.Date(2025, 4, 2, 12, 0, 0, 0, time.Local)
	for s, want := range map[string]string{"10m": "2025-04-02 11:50:00", "07:19": "2025-04-02 07:19:00", "2025-04-01": "2025-04-01 00:00:00", "2025-04-01 01:02:03": "2025-04-01 01:02:03"} {
		us, err := ParseSince(s, now)
		if err != nil || !strings.HasPrefix(plog.Clock(us), want) {
			t.Errorf("%s: %s %v", s, plog.Clock(us), err)
		}
	}
	if _, err := ParseSince("yesterday", now); err == nil {
		t.Error("nonsense must be refused")
	}
}

func TestFollow(t *testing.T) {
	name := filepath.Join(t.TempDir(), "grow.log")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	go func() { // the job that dies while we watch
		io.WriteString(f, "[INFO] GE(1,p):2025-01-01-00:00:01.000.000 [a:1]1 f: i\n")
		time.Sleep(50 * time.Millisecond)
		io.WriteString(f, torchPaste)
	}()
	got := 0
	err = Follow(ctx, []string{name}, nil, all, func(rep *Report) error {
		got = rep.Findings[0].ACL
		if got == 507035 {
			cancel()
		}
		return nil
	})
	if got != 507035 {
		t.Errorf("%v, found %d", err, got)
	}
}

func FuzzAnalyzer(f *testing.F) {
	f.Add([]byte(torchPaste))
	f.Add([]byte("coreId( 0): 1 2 3\nerror code = 1,2,3, su error info: 1,2\nerrcode:(\nargs(99999999999 to 2) after execute:1,2\n"))
	f.Add([]byte("[EVENT] DRV(1,p):2025-01-01-00:00:01.000.000 [a:1]1 event_id=0x80e01801; device_id=99999999999999999999; \n"))
	f.Add([]byte("[ERROR]\n[rank0]: RuntimeError: EZ9999: Inner Error!\nTried to allocate 1 GiB (NPU 0; 2 GiB total capacity; 1 GiB already allocated; 1 GiB free; 0 bytes reserved in total; out of memory)\n"))
	f.Add([]byte("[ERROR] HCCL(5,p):2026-02-03-04:05:06.000.001 [a.cc:1] [5]listen on ip[1.2.3.4] specific port[5] Failed to connect agent[1,2]\nw: EI0005: x\n[ERROR] HCCP(5,p):2026-02-03-04:05:06.000.001 [a.cc:1] [5]cqe err status[12] ip:[\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		rep, err := Run(context.Background(), []string{"-"}, bytes.NewReader(b), all)
		if err != nil {
			return // packed input that is damaged
		}
		if err := Write(io.Discard, rep, Style{Width: 60}); err != nil {
			t.Fatal(err)
		}
		for _, f := range rep.Findings {
			if f.Cause == "" {
				t.Fatalf("a finding without a cause: %+v", f)
			}
			asMap(t, f)
		}
	})
}

// A gigabyte of mixed log: most of it lines at info level, some errors.
func BenchmarkRun(b *testing.B) {
	var text bytes.Buffer
	for text.Len() < 128<<20 {
		for i := range 60 {
			fmt.Fprintf(&text, "[INFO] RUNTIME(9120,test):2026-02-19-09:41:55.%03d.321 [stream.cc:297]9120 Launch:stream_id=%d, task_id=%d, something that a run at info level prints\n", i, i, i)
		}
		for i := range 10 {
			fmt.Fprintf(&text, "[ERROR] RUNTIME(9120,test):2026-02-19-09:41:55.%03d.321 [stream.cc:297]9120 GetError:Stream Synchronize failed, stream_id=%d, retCode=0x31, [vector core exception].\n", i, i)
		}
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Run(context.Background(), []string{"-"}, bytes.NewReader(text.Bytes()), all); err != nil {
			b.Fatal(err)
		}
	}
}
