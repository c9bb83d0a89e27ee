package top

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"npu/internal/runtime/telemetry"
)

// oneRun is a process with one device that has worked for n ms on 20 cores, half of them busy.
func oneRun(pid, device, n int) *telemetry.Snapshot {
	ns := int64(n) * 1e6
	return &telemetry.Snapshot{PID: pid, Started: 1, Program: "net", Devices: []telemetry.Device{{
		ID: device, Chip: "Ascend910B3", Ns: ns, Moved: uint64(n) * 1e6, Bandwidth: 4e9, InUse: 3 << 20, Peak: 4 << 20, Total: 64 << 20, Blocks: 5,
		Engines: []telemetry.Engine{{Name: "cube", Units: 20, BusyNs: 10 * ns}, {Name: "dma0", Units: 1, BusyNs: ns / 4}}}},
		Streams:   []telemetry.Stream{{Device: device, ID: 3, State: telemetry.Waiting, Waits: "event 1", Depth: 2, Tasks: 9}},
		Operators: []telemetry.Operator{{Device: device, Name: "a", Type: "Conv2D", Count: 4, Ns: 3000}, {Device: device, Name: "b", Type: "Relu", Count: 1, Ns: 1000}}}
}

func TestRuns(t *testing.T) {
	var list []*telemetry.Snapshot
	var fail error
	r := NewRuns(func() ([]*telemetry.Snapshot, error) { return list, fail }, time.Hour)
	defer r.Close()
	if f := r.Latest(); f.Waiting() || len(f.Devices) != 0 || f.Processes.Why != "" {
		t.Errorf("no runs: %+v", f)
	}
	look := func(l ...*telemetry.Snapshot) *Frame {
		list = l
		r.look()
		return r.Latest()
	}
	me := os.Getpid()
	f := look(oneRun(me, 0, 10))
	d := f.Devices[0]
	if d.Util != Num(50) || d.Engines[1].Util != Num(25) || d.Bandwidth != Num(25) || d.HBM != (Pair{Num(3), Num(64)}) || d.Health != "OK" {
		t.Errorf("since the start: %+v", d)
	}
	// The next 10 ms were twice as busy.
	next := oneRun(me, 0, 20)
	next.Devices[0].Engines[0].BusyNs = 300e6
	if f = look(next); f.Devices[0].Util != Num(100) {
		t.Errorf("since the last look: %+v", f.Devices[0])
	}
	if f = look(next); f.Devices[0].Util != Num(0) {
		t.Errorf("a device that stands still: %+v", f.Devices[0])
	}
	// Two processes on one device add up, another chip of the same number is another device.
	other := oneRun(4711, 0, 10)
	third := oneRun(4712, 0, 10)
	third.Devices[0].Chip, third.Devices[0].Faults = "Ascend310P3", 2
	f = look(oneRun(me, 0, 30), other, third)
	if len(f.Devices) != 2 || len(f.Processes.Rows) != 3 || len(f.Streams.Rows) != 3 {
		t.Fatalf("%d devices, %d processes, %d streams", len(f.Devices), len(f.Processes.Rows), len(f.Streams.Rows))
	}
	if a, b := f.Devices[0], f.Devices[1]; a.Key() == b.Key() || a.Health != "Warning" || a.HBM.Used != Num(3) || b.HBM.Used != Num(6) {
		t.Errorf("%+v\n%+v", a, b)
	}
	if p := f.Processes.Rows[0]; p.PID != me || p.Name != "net" || !p.HostMem.Known || p.Streams != Num(1) {
		t.Errorf("%+v", p)
	}
	if o := f.Operators.Rows[0]; o.Share != Num(75) || o.Mean != Num(0.8) || o.Total != Num(3) {
		t.Errorf("%+v", o)
	}
	sizes := map[string]float64{}
	for _, m := range f.Memory.Rows {
		sizes[m.Owner] += m.Size.N
	}
	if sizes["net"] != 9 || sizes["free"] != 128-9 {
		t.Errorf("memory %v", sizes)
	}
	fail = errors.New("no access")
	if f = look(); f.Sources[0].State != Failed || f.Streams.Why != "no access" {
		t.Errorf("%+v", f)
	}
}

// Next returns with the next look, and with the end of ctx; beside a machine without npu-smi too.
func TestRuns_next(t *testing.T) {
	r := NewRuns(func() ([]*telemetry.Snapshot, error) { return nil, nil }, time.Millisecond)
	src := Merge(NewNone(smiName, "not found", nil), r)
	defer src.Close()
	last := 0
	for range 5 {
		f := src.Next(t.Context(), last)
		if f.Seq <= last {
			t.Fatalf("frame %d after %d", f.Seq, last)
		}
		last = f.Seq
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	src.Interval(time.Hour)
	src.Next(ctx, 1<<30)
}
