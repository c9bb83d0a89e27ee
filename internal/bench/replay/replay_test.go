package replay

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/problem"
	"npu/internal/sim/soc"
)

func chip(t testing.TB) *soc.Chip {
	t.Helper()
	c, err := soc.Lookup("Ascend910B3")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRead_formats(t *testing.T) {
	for _, c := range []struct {
		name, text string
		ops        int
		bad        string
	}{
		{"csv", "op,id,size,stream\na,1,100,0\na,2,5000000,3\nf,1,0,0\ns,0,0,0\nf,2,0,3\n", 5, ""},
		{"snapshot", `{"segments":[{"a":[1]}],"device_traces":[[],[{"action":"alloc","addr":4096,"size":512,"stream":0,"frames":[]},{"action":"free_requested","addr":4096,"size":512,"stream":0},{"action":"free_completed","addr":4096,"size":512,"stream":0}]]}`, 2, ""},
		{"events", `[{"action":"segment_alloc","addr":1,"size":2},{"action":"alloc","addr":7,"size":512},{"action":"free_completed","addr":9,"size":1}]`, 1, ""},
		{"twice", "a,1,100,0\na,1,100,0\n", 1, "line 2"},
		{"unknown", "a,1,100,0\nf,2,0,0\n", 1, "line 2"},
		{"no number", "a,x,100,0\n", 0, "line 1"},
		{"fields", "a,1,100\n", 0, "line 1"},
		{"zero", "a,1,0,0\n", 0, "line 1"},
		{"cut json", `[{"action":"alloc","addr":7,"size":512},{"action":"al`, 1, "offset"},
		{"no events", `{"segments":[]}`, 0, "no allocations"},
		{"cut device", `{"device_traces":[[{"action":"alloc","addr":7,"size":512},{"action":"free_completed","addr":7,"size":512},{"action":"alloc","ad`, 2, "offset 124"},
		{"cut behind", `{"device_traces":[[{"action":"alloc","addr":7,"size":512}]],"segments":[`, 1, "unexpected EOF"},
		{"several devices", `[[{"action":"alloc","addr":7,"size":512}],null,[],[{"action":"alloc","addr":7,"size":512},{"action":"alloc","addr":9,"size":1}]]`, 3, ""},
		{"requests only", `[{"action":"alloc","addr":7,"size":512},{"action":"free_requested","addr":7,"size":512}]`, 2, ""},
		{"requested, not completed", `[{"action":"alloc","addr":7,"size":512},{"action":"free_requested","addr":7,"size":512},{"action":"free_completed","addr":8,"size":1}]`, 1, ""},
		{"numbers", `[{"action":"alloc","addr":"0x7f00","size":512.0,"stream":-1},{"action":"free_completed","addr":32512,"stream":null}]`, 2, ""},
		{"strange events", `[{"action":3,"addr":1,"size":2},{},{"action":"alloc","addr":[1],"size":2},{"action":"alloc","addr":1,"size":0},{"action":"oom","size":"?"},{"action":"alloc","addr":1,"size":2}]`, 1, ""},
		{"mark", "\ufeff[{\"action\":\"alloc\",\"addr\":7,\"size\":512}]", 1, ""},
		{"pickle", "\x80\x04}", 0, "pickle"},
		{"no lists", `{"device_traces":5}`, 0, "expected a list"},
		{"null", `{"device_traces":null}`, 0, "no allocations"},
		{"numbers for events", `[[5]]`, 0, "expected an event"},
		{"empty", " \n", 0, "no operations"},
	} {
		list, err := Read(strings.NewReader(c.text), c.name)
		ops := 0
		for _, tr := range list {
			ops += len(tr.Ops)
		}
		if ops != c.ops {
			t.Errorf("%s: %d operations, want %d", c.name, ops, c.ops)
		}
		switch {
		case c.bad == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.bad != "" && (err == nil || !strings.Contains(err.Error(), c.bad) || problem.ClassOf(err) != problem.Damaged):
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}

// The model against what is known of the real allocator: which segments a request makes.
func TestTorch_segments(t *testing.T) {
	p := newTorch(32)
	for _, c := range []struct{ ask, reserved uint64 }{
		{1000, 2 << 20}, {512 << 10, 2 << 20}, {1 << 20, 22 << 20}, // 1 MiB and the padding is large already
		{5 << 20, 22 << 20}, {12 << 20, 22 << 20}, {11<<20 + 5, 34 << 20},
	} {
		p.alloc(c.ask, 0)
		if p.reserved != c.reserved {
			t.Fatalf("after %d bytes %d are reserved, want %d", c.ask, p.reserved, c.reserved)
		}
	}
	p.alloc(1000, 1) // no other stream's memory
	if p.reserved != 36<<20 {
		t.Errorf("a second stream: %d reserved", p.reserved)
	}
}

// traces makes the three traces with the generator beside the repository.
func traces(t testing.TB) map[string]string {
	t.Helper()
	gen, err := filepath.Abs("../../../../shared/data/alloc/gen.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command("python3", gen)
	cmd.Dir = dir
	if err := cmd.Run(); err != nil {
		t.Skipf("no allocation traces: %s: %v", gen, err)
	}
	out := map[string]string{}
	for _, n := range []string{"train", "infer", "small"} {
		out[n] = filepath.Join(dir, n+".csv")
	}
	return out
}

// What the pool reserves at the most is at most 1.15 of what is in use, and no more than PyTorch's policy.
func TestReplay_traces(t *testing.T) {
	for name, path := range traces(t) {
		list, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		tr := list[0]
		ours, err := Pool(tr, chip(t), true)
		if err != nil {
			t.Fatal(err)
		}
		torch := Torch(tr, chip(t))
		thread, err := Thread(tr, chip(t))
		if err != nil || thread.PeakBytes != ours.PeakBytes || thread.Ratio > 1.15 || thread.Ratio > torch.Ratio || thread.Ratio < 1 {
			t.Errorf("%s: with a thread's cache %+v, %v; PyTorch's %.3f", name, thread, err, torch.Ratio)
		}
		if ours.PeakBytes != torch.PeakBytes {
			t.Errorf("%s: the policies count %d and %d bytes in use", name, ours.PeakBytes, torch.PeakBytes)
		}
		if ours.Ratio > 1.15 || ours.Ratio > torch.Ratio || ours.Ratio < 1 {
			t.Errorf("%s: reserved/in use %.3f, PyTorch's %.3f", name, ours.Ratio, torch.Ratio)
		}
		if len(ours.AtPeak) == 0 || len(Picture(ours.AtPeak, 64, 16)) < 2 {
			t.Errorf("%s: no picture", name)
		}
		t.Logf("%s: %.4f against %.4f", name, ours.Ratio, torch.Ratio)
	}
}

func TestOpen_missing(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "none.csv"))
	if err == nil || problem.ClassOf(err) != problem.Damaged {
		t.Errorf("error %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("a,1,100,0\nf,1,0,0\n"))
	f.Add([]byte(`[{"action":"alloc","addr":7,"size":512}]`))
	f.Add([]byte(`{"device_traces":[[{"action":"free","addr":7}]]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := Read(strings.NewReader(string(b)), "fuzz")
		if len(list) == 0 && err == nil {
			t.Fatal("neither a trace nor an error")
		}
		for _, tr := range list {
			live := map[int32]bool{}
			for _, op := range tr.Ops {
				if op.Kind == Sync {
					continue
				}
				if live[op.Block] == (op.Kind == Alloc) || int(op.Block) >= tr.Blocks {
					t.Fatalf("operation %+v", op)
				}
				live[op.Block] = op.Kind == Alloc
			}
		}
	})
}

// What a snapshot with several devices, and with events that make no sense, becomes.
func TestRead_snapshot(t *testing.T) {
	list, err := Read(strings.NewReader(`{"device_traces":[[{"action":"alloc","addr":7,"size":512}],[],[{"action":"alloc","addr":7,"size":512},{"action":"free_completed","addr":8},{"size":1}]],"segments":[]}`), "x.json")
	if err != nil || len(list) != 2 {
		t.Fatalf("%d traces, %v", len(list), err)
	}
	if list[0].Name != "x.json device 0" || list[1].Name != "x.json device 2" || list[1].Unmatched != 1 || list[1].Strange != 1 {
		t.Errorf("%+v, %+v", list[0], list[1])
	}
}

// The rows of docs/memory.md are those that the command prints, but for their last column, the wall time.
func TestReplay_documented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/memory.md")
	if err != nil {
		t.Fatal(err)
	}
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	doc := squeeze(string(text))
	want := func(r Result) {
		row := fmt.Sprintf("%s %s %d %d %.1f %.1f %.4f", r.Trace, r.Policy, r.Ops, r.Streams, float64(r.PeakBytes)/(1<<20), float64(r.PeakReserved)/(1<<20), r.Ratio)
		if !strings.Contains(doc, row) {
			t.Errorf("docs/memory.md has no row %q: print it anew with npu bench memory", row)
		}
	}
	mixed, err := Pool(Mixed(), chip(t), true)
	if err != nil {
		t.Fatal(err)
	}
	want(mixed)
	thread, err := Thread(Mixed(), chip(t))
	if err != nil {
		t.Fatal(err)
	}
	want(thread)
	want(Torch(Mixed(), chip(t)))
	for _, line := range append(Picture(mixed.AtPeak, 64, 16), Summary(mixed.AtPeak)) {
		if !strings.Contains(string(text), line) {
			t.Errorf("docs/memory.md does not show %q", line)
		}
	}
	for _, path := range traces(t) {
		list, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		tr := list[0]
		r, err := Pool(tr, chip(t), false)
		if err != nil {
			t.Fatal(err)
		}
		want(r)
		if r, err = Thread(tr, chip(t)); err != nil {
			t.Fatal(err)
		}
		want(r)
		want(Torch(tr, chip(t)))
	}
}
