package runtime

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"npu/internal/runtime/ipc"
	"npu/internal/runtime/telemetry"
	"npu/internal/trace"
)

// seen is the one process that a run directory shows.
func seen(t testing.TB, dir string) *telemetry.Snapshot {
	t.Helper()
	d := must[*ipc.Dir](t)(ipc.Look(dir))
	if d == nil {
		t.Fatal("there is no run directory")
	}
	defer d.Close()
	list := d.Processes()
	if len(list) != 1 || list[0].Err != nil {
		t.Fatalf("processes: %+v", list)
	}
	return list[0].Snapshot
}

// What others see of a process is what it does: figures by hand.
func TestTelemetry(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := newRig(t, Config{RunDir: dir, Program: "a program"})
	if err := r.rt.Alone(); err != nil {
		t.Fatal(err)
	}
	s := r.stream(StreamConfig{Priority: 3})
	p := must[Ptr](t)(r.Malloc(10 << 20))
	for range 4 {
		r.ok(r.LaunchKernel(r.tiny, nil, s))
	}
	r.ok(r.SynchronizeStream(s))
	r.ok(r.LaunchKernel(r.boom, nil, s))
	if r.SynchronizeStream(s) == nil {
		t.Fatal("the faulting kernel did not fail")
	}
	n := must[*Notify](t)(r.CreateNotify(0))
	r.ok(r.WaitNotify(n, s, 0), r.LaunchKernel(r.tiny, nil, s))
	e := must[*Stream](t)(r.CreateStream(StreamConfig{}))
	r.ok(r.LaunchKernel(r.tiny, nil, e), r.SynchronizeStream(e))
	r.rt.machine.WantSample()
	x := seen(t, dir)
	if x.PID != os.Getpid() || x.Program != "a program" || x.Faults != 1 || len(x.Devices) != 1 {
		t.Errorf("%+v", x)
	}
	d := x.Devices[0]
	if d.Chip != "Ascend910B3" || d.InUse < 10<<20 || d.Total <= d.InUse || d.Faults != 1 || d.Bandwidth == 0 {
		t.Errorf("device %+v", d)
	}
	if d.Engines[0].Name != "cube" || d.Engines[0].BusyNs != 5*1000 {
		t.Errorf("cube %+v, want 5 µs", d.Engines[0])
	}
	var mine *telemetry.Stream
	for i := range x.Streams {
		if x.Streams[i].ID == s.ID() {
			mine = &x.Streams[i]
		}
	}
	if mine == nil || mine.State != telemetry.Waiting || mine.Waits == "" || mine.Depth != 2 || mine.Tasks != 5 || mine.Priority != 3 {
		t.Errorf("stream %+v", mine)
	}
	if o := x.Operators[0]; o.Name != "tiny" || o.Count != 5 || o.Ns < 5000 {
		t.Errorf("operators %+v", x.Operators)
	}
	r.ok(r.RecordNotify(n, e), r.SynchronizeStream(s), r.SynchronizeStream(e), r.DestroyNotify(n), r.Free(p))
	closeOnce(t, r.rt, r.Thread)
	l := must[*ipc.Dir](t)(ipc.Look(dir))
	defer l.Close()
	if list := l.Processes(); len(list) != 0 {
		t.Errorf("after the end: %+v", list)
	}
}

// A run is the same with and without telemetry, and one that has no run directory works alone.
func TestTelemetry_changesNothing(t *testing.T) {
	run := func(c Config) []trace.Task {
		r := newRig(t, c)
		a, b := r.stream(), r.stream()
		e := must[*Event](t)(r.CreateEvent())
		for i := range 200 {
			r.ok(r.inc(a), r.RecordEvent(e, a), r.WaitEvent(b, e), r.inc(b))
			if i%20 == 0 {
				r.ok(r.SynchronizeStream(b))
				if r.rt.process != nil {
					r.rt.machine.WantSample()
				}
			}
		}
		r.ok(r.SynchronizeDevice())
		return rowsOf(r.trace(), "add")
	}
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := run(Config{})
	for _, dir := range []string{filepath.Join(t.TempDir(), "run"), blocked, filepath.Join(blocked, "below")} {
		got := run(Config{RunDir: dir})
		if len(got) != len(want) {
			t.Fatalf("%s: %d rows, want %d", dir, len(got), len(want))
		}
		for i := range got {
			if got[i].Start != want[i].Start || got[i].End != want[i].End {
				t.Fatalf("%s: row %d differs", dir, i)
			}
		}
	}
}

// A paced run takes at least its device time.
func TestConfig_pace(t *testing.T) {
	start := time.Now()
	r := newRig(t, Config{Pace: true})
	s := r.stream()
	r.ok(r.LaunchKernel(r.long, nil, s), r.SynchronizeStream(s))
	if wall := time.Since(start); wall < 50*time.Millisecond {
		t.Errorf("50 ms of device time in %v", wall)
	}
}
