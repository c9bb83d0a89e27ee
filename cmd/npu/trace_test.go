package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// traceCLI runs a command line as a pipe or terminal sees it and returns its exit code and output.
func traceCLI(t *testing.T, tty bool, args ...string) (code int, out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(context.Background(), &streams{in: strings.NewReader(""), out: &o, err: &e, outTTY: tty}, args)
	return code, o.String(), e.String()
}

func generated(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.npt")
	if code, _, e := traceCLI(t, false, "trace", "gen", "--tasks", "500", "--devices", "2", "-o", path); code != 0 {
		t.Fatalf("exit %d: %s", code, e)
	}
	return path
}

func TestTraceInfo(t *testing.T) {
	path := generated(t)
	code, out, e := traceCLI(t, false, "trace", "info", "--json", path)
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil {
		t.Fatalf("exit %d, %v: %s", code, err, e)
	}
	sum := 0.0
	for _, n := range got["by_kind"].(map[string]any) {
		sum += n.(float64)
	}
	if got["format"] != "npt" || got["devices"] != 2.0 || got["tasks"].(float64) < 500 || sum != got["tasks"] || got["streams"] != 12.0 {
		t.Errorf("%s", out)
	}
	if code, out, _ := traceCLI(t, false, "trace", "info", path); code != 0 || !strings.Contains(out, "KERNEL_AICORE") {
		t.Errorf("exit %d: %s", code, out)
	}
}

func TestTraceStats(t *testing.T) {
	path := generated(t)
	code, out, e := traceCLI(t, false, "trace", "stats", "--json", path)
	var got struct {
		OpTypes []map[string]any `json:"op_types"`
		Ops     []map[string]any
		Idle    map[string]float64
		Union   float64 `json:"union_ns"`
		Busy    float64 `json:"busy_ns"`
	}
	if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil {
		t.Fatalf("exit %d, %v: %s", code, err, e)
	}
	for _, key := range []string{"name", "count", "total_ns", "mean_ns", "max_ns"} {
		if _, ok := got.OpTypes[0][key]; !ok {
			t.Errorf("no %s in %v", key, got.OpTypes[0])
		}
	}
	if got.Busy < got.Union || got.Union <= 0 || got.Idle["event_ns"] <= 0 {
		t.Errorf("%s", out)
	}
	code, out, _ = traceCLI(t, false, "trace", "stats", path)
	if code != 0 || !strings.Contains(out, "count\ttotal_ns\tmean_ns\tmax_ns\tcycles\tbytes\top\n") || strings.Contains(out, "µs") {
		t.Errorf("in a pipe, exit %d: %s", code, out)
	}
	code, out, _ = traceCLI(t, true, "trace", "stats", "-n", "2", path)
	if code != 0 || !strings.Contains(out, "ms") || strings.Contains(out, "\t") || strings.Count(out, "Conv2D") > 3 {
		t.Errorf("on a terminal, exit %d: %s", code, out)
	}
}

func TestTraceExport(t *testing.T) {
	path := generated(t)
	dir := t.TempDir()
	for format, name := range map[string]string{"chrome": "x.json", "pprof": "x.pb.gz", "perfetto": "x.pftrace", "csv": "x.csv", "npt": "y.npt", "": "z.json.gz"} {
		args := []string{"trace", "export", path, "-o", filepath.Join(dir, name)}
		if format != "" {
			args = append(args, "-f", format)
		}
		if code, _, e := traceCLI(t, false, args...); code != 0 {
			t.Errorf("%s: exit %d: %s", name, code, e)
		}
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, _ := os.ReadFile(path)
	if b, _ := os.ReadFile(filepath.Join(dir, "y.npt")); !bytes.Equal(a, b) {
		t.Error("a capture written again differs")
	}
	code, out, _ := traceCLI(t, false, "trace", "export", "-f", "csv", path, "-o", "-")
	if code != 0 || !strings.HasPrefix(out, "device,stream,") {
		t.Errorf("exit %d: %.80s", code, out)
	}
}

func TestTrace_errors(t *testing.T) {
	path := generated(t)
	dir := t.TempDir()
	jsonFile, cut := filepath.Join(dir, "x.json"), filepath.Join(dir, "cut.npt")
	whole, _ := os.ReadFile(path)
	os.WriteFile(jsonFile, []byte("{}"), 0o644)
	strict := filepath.Join(dir, "strict.json")
	os.WriteFile(strict, []byte(`[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]`), 0o644)
	os.WriteFile(cut, whole[:len(whole)-10], 0o644)
	for _, tt := range []struct {
		tty  bool
		args []string
		code int
		want string
	}{
		{false, []string{"trace", "info"}, 2, "requires at least 1 arg"},
		{false, []string{"trace", "info", jsonFile}, 3, "no traceEvents"},
		{false, []string{"trace", "info", "--mem", "5x", path}, 2, "--mem \"5x\""},
		{false, []string{"trace", "diff", path}, 2, "accepts 2 arg"},
		{false, []string{"trace", "cut", path}, 2, "no output"},
		{false, []string{"trace", "cut", "--from", "x", path, "-o", filepath.Join(dir, "x.npt")}, 2, "--from \"x\""},
		{false, []string{"trace", "cut", "--from", "5us", "--to", "2us", path, "-o", filepath.Join(dir, "x.npt")}, 2, "not after"},
		{false, []string{"trace", "cut", "--stream", "77", path, "-o", filepath.Join(dir, "x.npt")}, 1, "nothing is left"},
		{false, []string{"trace", "merge", path}, 2, "no output"},
		{false, []string{"trace", "query", "selec", path}, 2, "syntax error"},
		{false, []string{"trace", "query", "--format", "x", "select 1", path}, 2, "--format \"x\""},
		{false, []string{"trace", "info", "--strict", strict}, 1, "1 things missing"},
		{false, []string{"trace", "stats", filepath.Join(dir, "none")}, 3, "no such file"},
		{false, []string{"trace", "stats", "-n", "-1", path}, 2, "--limit -1"},
		{false, []string{"trace", "export", path}, 2, "no output"},
		{false, []string{"trace", "export", path, "-o", "-"}, 2, "no format"},
		{false, []string{"trace", "export", path, "-o", filepath.Join(dir, "x.xyz")}, 2, "names no trace format"},
		{false, []string{"trace", "export", "-f", "xyz", path, "-o", filepath.Join(dir, "x")}, 2, "no trace format \"xyz\""},
		{true, []string{"trace", "export", "-f", "pprof", path, "-o", "-"}, 2, "is binary"},
		{false, []string{"trace", "export", path, "-o", filepath.Join(dir, "no", "x.json")}, 1, "no such file"},
		{false, []string{"trace", "gen"}, 2, "no output"},
		{false, []string{"trace", "gen", "--devices", "0", "-o", cut}, 2, "--devices 0"},
		{false, []string{"trace", "check", cut}, 3, "cut.npt"},
		{false, []string{"trace", "xyz"}, 2, "unknown command"},
	} {
		code, _, e := traceCLI(t, tt.tty, tt.args...)
		if code != tt.code || !strings.Contains(e, tt.want) || strings.Count(e, "\n") != 1 {
			t.Errorf("npu %s: exit %d, %q; want %d, %q", strings.Join(tt.args, " "), code, e, tt.code, tt.want)
		}
	}
	// A damaged file is shown as far as it goes.
	if code, out, _ := traceCLI(t, false, "trace", "info", cut); code != 3 || !strings.Contains(out, "missing") {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, out, _ := traceCLI(t, false, "trace", "check", path); code != 0 || !strings.Contains(out, "all consistent") {
		t.Errorf("exit %d: %s", code, out)
	}
}

func TestTraceExport_interrupted(t *testing.T) {
	path := generated(t)
	out := filepath.Join(t.TempDir(), "x.json")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var o, e bytes.Buffer
	if code := run(ctx, &streams{out: &o, err: &e}, []string{"trace", "export", path, "-o", out}); code != 130 {
		t.Errorf("exit %d: %s", code, e.String())
	}
	if entries, _ := os.ReadDir(filepath.Dir(out)); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// Every command that reads traces reads all of them, and a piece or a merge is a trace again.
func TestTrace_commandsWorkTogether(t *testing.T) {
	path := generated(t)
	dir := t.TempDir()
	ok := func(args ...string) string {
		t.Helper()
		code, out, e := traceCLI(t, false, args...)
		if code != 0 {
			t.Fatalf("npu %s: exit %d: %s", strings.Join(args, " "), code, e)
		}
		return out
	}
	tasks := func(paths ...string) float64 {
		t.Helper()
		var got map[string]any
		if err := json.Unmarshal([]byte(ok(append([]string{"trace", "info", "--json"}, paths...)...)), &got); err != nil {
			t.Fatal(err)
		}
		return got["tasks"].(float64)
	}
	all := tasks(path)
	for _, format := range []string{"x.npt", "x.json", "x.json.gz", "x.csv"} {
		out := filepath.Join(dir, format)
		ok("trace", "export", path, "-o", out)
		if got := tasks(out); got != all {
			t.Errorf("%s: %v tasks, want %v", format, got, all)
		}
		ok("trace", "check", out)
	}
	one := filepath.Join(dir, "one.npt")
	ok("trace", "cut", "--device", "1", path, "-o", one)
	if got := tasks(one); got == 0 || got >= all {
		t.Errorf("cut: %v tasks of %v", got, all)
	}
	both := filepath.Join(dir, "both.npt")
	ok("trace", "merge", one, path, "-o", both)
	if got := tasks(both); got != all+tasks(one) {
		t.Errorf("merged: %v tasks", got)
	}
	var d struct {
		OpTypes []struct {
			Delta float64 `json:"delta_ns"`
		} `json:"op_types"`
	}
	if err := json.Unmarshal([]byte(ok("trace", "diff", "--json", path, filepath.Join(dir, "x.csv"))), &d); err != nil || len(d.OpTypes) == 0 || d.OpTypes[0].Delta != 0 {
		t.Errorf("diff: %v, %+v", err, d)
	}
	var p map[string]any
	if err := json.Unmarshal([]byte(ok("trace", "critical-path", "--json", path)), &p); err != nil || p["total_ns"].(float64) == 0 {
		t.Errorf("critical path: %v, %v", err, p)
	}
	var rows []map[string]any
	if err := json.Unmarshal([]byte(ok("trace", "query", "--format", "json", "select count(*) n from tasks", path)), &rows); err != nil || rows[0]["n"] != all {
		t.Errorf("query: %v, %v", err, rows)
	}
	if out := ok("trace", "query", "select kind, count(*) from tasks group by 1", path); !strings.HasPrefix(out, "kind\tcount(*)\n") {
		t.Errorf("query: %s", out)
	}
	for _, args := range [][]string{{"stats"}, {"diff", path}, {"critical-path"}} {
		ok(append(append([]string{"trace"}, args...), path)...)
	}
}
