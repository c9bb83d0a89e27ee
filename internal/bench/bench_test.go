package bench

import (
	"bytes"
	"context"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"npu/internal/problem"
	"npu/internal/sim"
	"npu/internal/sim/soc"
)

// peerEnv makes the test binary the second process of a benchmark.
const peerEnv = "NPU_BENCH_TEST_PEER"

func TestMain(m *testing.M) {
	if os.Getenv(peerEnv) != "" {
		if err := Peer(os.Stdin, os.Stdout); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func options(t testing.TB) Options {
	t.Helper()
	chip, err := soc.Lookup("Ascend910B3")
	if err != nil {
		t.Fatal(err)
	}
	again := func() (*exec.Cmd, error) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), peerEnv+"=1")
		return cmd, nil
	}
	return Options{Chip: chip, Count: 2, Duration: time.Millisecond, Peer: again}
}

// Every benchmark runs, its partner exists, and what must allocate nothing does not.
func TestRun(t *testing.T) {
	free := map[string]bool{
		"Launch/owned": true, "Launch/owned-no-args": true, "Launch/prepared": true, "Launch/shared": true, "Launch/default-stream": true,
		"Launch/ring-push": true, "Stream/synchronize-idle": true, "Stream/launch-synchronize": true, "Event/record-wait": true, "Event/record": true,
	}
	for _, f := range Families() {
		list, err := Run(context.Background(), f, options(t))
		if err != nil {
			t.Fatal(err)
		}
		results := Results(list)
		for _, r := range results {
			if !(r.NsPerOp > 0) || r.N <= 0 {
				t.Errorf("%s: %v ns, %d operations", r.Name, r.NsPerOp, r.N)
			}
			if _, ok := spec(r.Goal.Partner); r.Goal.Partner != "" && (!ok || r.Verdict.Ratio == "") {
				t.Errorf("%s: partner %s is not in the run", r.Name, r.Goal.Partner)
			}
			if (r.DeviceNsPerOp == nil) == (r.DeviceReason == "") {
				t.Errorf("%s: device time %v, reason %q", r.Name, r.DeviceNsPerOp, r.DeviceReason)
			}
			if free[r.Name] && r.AllocsPerOp > 0.01 {
				t.Errorf("%s allocates %g times", r.Name, r.AllocsPerOp)
			}
			delete(free, r.Name)
		}
	}
	for name := range free {
		if strings.Contains(name, "/") {
			t.Errorf("there is no %s", name)
		}
	}
}

// Simulated times are those of the model: exact, and the same in every run.
func TestRun_deviceTime(t *testing.T) {
	o := options(t)
	f, err := Select([]string{"streams"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Run(context.Background(), f[0], o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Run(context.Background(), f[0], o)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range Results(a) {
		if strings.HasPrefix(r.Name, latencyPrefix) {
			if other := Results(b)[i]; *r.DeviceNsPerOp != *other.DeviceNsPerOp {
				t.Errorf("%s: device time %v, then %v", r.Name, *r.DeviceNsPerOp, *other.DeviceNsPerOp)
			}
		}
		switch r.Name {
		case latencyName(1), latencyName(16): // no more kernels than cores: nobody waits
			if *r.DeviceNsPerOp != 100_000 {
				t.Errorf("%s: %v ns from submission to end, want the kernel's 100 µs", r.Name, *r.DeviceNsPerOp)
			}
		case latencyName(64):
			if *r.DeviceNsPerOp <= 100_000 {
				t.Errorf("%s: 64 kernels on %d cores take %v ns each: nobody waits", r.Name, cores(o.Chip), *r.DeviceNsPerOp)
			}
		}
	}
}

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  int
		class problem.Class
		text  string
	}{
		{nil, len(Families()), 0, ""},
		{[]string{"all"}, len(Families()), 0, ""},
		{[]string{"launch", "events"}, 2, 0, ""},
		{[]string{"ipc"}, 1, 0, ""},
		{[]string{"launches"}, 0, problem.Usage, "expected streams"},
	} {
		got, err := Select(c.names)
		switch {
		case c.class == 0 && (err != nil || len(got) != c.want):
			t.Errorf("%v: %d families, %v", c.names, len(got), err)
		case c.class != 0 && (err == nil || problem.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.text)):
			t.Errorf("%v: %v, want class %d with %q", c.names, err, c.class, c.text)
		}
	}
}

func TestRun_interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	o := options(t)
	o.Progress = func(done, _ int, _ string) {
		if done == 3 {
			cancel()
		}
	}
	if _, err := Run(ctx, Families()[0], o); err != context.Canceled {
		t.Errorf("error %v, want that of the context", err)
	}
}

// series are made-up samples.
func series(name string, ns ...float64) Series {
	sp, ok := spec(name)
	if !ok {
		sp = Spec{Name: name}
	}
	s := Series{Spec: sp}
	for _, v := range ns {
		s.Samples = append(s.Samples, Sample{N: 1000, Ns: v, DeviceNs: math.NaN()})
	}
	return s
}

// A ratio is the median of the ratios within a round, not the ratio of the medians.
func TestResults(t *testing.T) {
	list := Results([]Series{series("Launch/owned", 10, 40, 12), series(channelSend, 20, 80, 15), series("Event/record-wait", 100, 130, 125)})
	r := list[0]
	if r.NsPerOp != 12 || r.Metrics["ratio_to_channel_send"] != 0.5 || r.Metrics["goal_ratio"] != 0.9 || !r.Verdict.Met {
		t.Errorf("%+v", r)
	}
	if r.N != 3000 || r.Spread != 15.0/12 {
		t.Errorf("%d operations, spread %g", r.N, r.Spread)
	}
	if r := list[2]; r.Verdict.Met || !r.Verdict.Goal || r.Metrics["goal_ns_per_op"] != 120 || r.Verdict.Ratio != "" {
		t.Errorf("%+v", r)
	}
}

func TestGoFormat_roundTrip(t *testing.T) {
	o := options(t)
	in := []Series{series("Launch/owned", 10.25, 11), series("Copy/sync-h2d-4KiB", 300), series("Stream/scheduler-8-streams", 50, 60)}
	in[1].Samples[0].DeviceNs = 1234.5
	in[0].Samples[1].Allocs, in[0].Samples[1].Bytes = 2, 48.5
	var b bytes.Buffer
	if err := WriteGo(&b, in, Conditions(o)); err != nil {
		t.Fatal(err)
	}
	out, conditions, err := ReadGo(bytes.NewReader(b.Bytes()), "x")
	if err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	if len(conditions) != len(Conditions(o)) || len(out) != len(in) {
		t.Fatalf("%d series, conditions %v\n%s", len(out), conditions, &b)
	}
	for i := range in {
		if out[i].Name != in[i].Name || len(out[i].Samples) != len(in[i].Samples) {
			t.Fatalf("series %d is %s with %d samples", i, out[i].Name, len(out[i].Samples))
		}
		for j, want := range in[i].Samples {
			got := out[i].Samples[j]
			if math.IsNaN(got.DeviceNs) && math.IsNaN(want.DeviceNs) {
				got.DeviceNs, want.DeviceNs = 0, 0
			}
			if got != want {
				t.Errorf("%s: %+v, want %+v", in[i].Name, got, want)
			}
		}
	}
	if !strings.Contains(b.String(), "tasks/s") || !strings.Contains(b.String(), "MB/s") {
		t.Errorf("rates are missing:\n%s", &b)
	}
}

func TestReadGo_damaged(t *testing.T) {
	for _, c := range []struct{ in, text string }{
		{"", "no benchmark lines"},
		{"hello\nworld\n", "no benchmark lines"},
		{"BenchmarkX-2 10 5 B/op\n", "line 1: no ns/op"},
		{"BenchmarkX-2 10 5 ns/op\nBenchmarkY-2 ten 5 ns/op\n", "line 2"},
		{"BenchmarkX-2 10 -5 ns/op\n", "line 1"},
	} {
		list, _, err := ReadGo(strings.NewReader(c.in), "f")
		if err == nil || problem.ClassOf(err) != problem.Damaged || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: %v, want %q", c.in, err, c.text)
		}
		if strings.HasPrefix(c.in, "BenchmarkX-2 10 5 ns") && (len(list) != 1 || list[0].Name != "X") {
			t.Errorf("%q: the good line is lost: %v", c.in, list)
		}
	}
}

func FuzzReadGo(f *testing.F) {
	f.Add("goos: linux\nBenchmarkLaunch/owned-2 1000 11.2 ns/op 0 B/op 0 allocs/op 3000 device-ns/op\n")
	f.Add("Unit ns/op better=lower\nBenchmarkX 1 1e400 ns/op\n")
	f.Fuzz(func(t *testing.T, in string) {
		list, _, err := ReadGo(strings.NewReader(in), "f")
		if err == nil && len(list) == 0 {
			t.Error("neither series nor error")
		}
		Results(list)
		Compare(list, list)
	})
}

func TestCompare(t *testing.T) {
	old := []Series{series("Launch/owned", 10, 10.1, 10.2, 9.9, 9.8, 10), series("A", 1, 2, 3, 1, 2, 3), series("Gone", 1)}
	fresh := []Series{series("Launch/owned", 20, 20.1, 20.2, 19.9, 19.8, 20), series("A", 2, 3, 1, 2, 3, 1), series("New", 1)}
	got := Compare(old, fresh)
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	if d := got[0]; d.Name != "Launch/owned" || !d.Differs || d.Change != "+100.00%" || math.Abs(d.DeltaPercent-100) > 1e-9 || d.OldN != 6 {
		t.Errorf("%+v", d)
	}
	if d := got[1]; d.Differs || d.Change != "~" {
		t.Errorf("the same values differ: %+v", d)
	}
}

// Under preempt a high-priority kernel starts within a block of the low one, under reference behind the whole kernel,
// and before the next one.
func TestPreempt(t *testing.T) {
	chip := options(t).Chip
	p, err := Preempt(chip, sim.Preempt)
	if err != nil {
		t.Fatal(err)
	}
	if p.WaitNs() > blockNs || p.WaitNs() <= 0 {
		t.Errorf("preempt: the high kernel waits %d ns, a block is %d", p.WaitNs(), blockNs)
	}
	if p.High.End > p.Low[0].End {
		t.Errorf("preempt: the high kernel ends at %d, the low one at %d", p.High.End, p.Low[0].End)
	}
	p, err = Preempt(chip, sim.Reference)
	if err != nil {
		t.Fatal(err)
	}
	if p.High.Start != p.Low[0].End {
		t.Errorf("reference: the high kernel starts at %d, the low one ends at %d", p.High.Start, p.Low[0].End)
	}
	if p.Low[1].Start < p.High.End {
		t.Errorf("reference: the second low kernel starts at %d, before the high one ends", p.Low[1].Start)
	}
}

func TestPlot(t *testing.T) {
	list := Results([]Series{series("Launch/owned", 10), series(channelSend, 20)})
	got, err := Plot("launch", list, options(t), 40, false)
	want := "launch: wall time of an operation\n" +
		"owned        10.0 ns |#########\n" +
		"channel-send 20.0 ns |##################\n"
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// What goes wrong in the second process is an error here, and no process stays.
func TestPeer_fails(t *testing.T) {
	o := options(t)
	if _, err := startPeer(&o, t.TempDir()+"\x00/x"); err == nil || !strings.Contains(err.Error(), "second process") {
		t.Error(err)
	}
	o.Peer = nil
	if _, err := startPeer(&o, t.TempDir()); err == nil {
		t.Error("nobody was started")
	}
	o = options(t)
	p, err := startPeer(&o, t.TempDir()+"/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"dance", "import x y", "import 1 00", ""} {
		if _, err := p.ask("%s", c); err == nil {
			t.Errorf("%q was done", c)
		}
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}
