package timeline

import (
	"testing"

	"pgregory.net/rapid"

	"npu/internal/trace"
	"npu/internal/trace/gen"
	"npu/internal/trace/stats"
)

// The statistics of the whole trace are those of "npu trace stats".
func TestCount_whole(t *testing.T) {
	for _, tr := range []*trace.Trace{job(), gen.Trace(gen.Options{Tasks: 4000, Devices: 3})} {
		d := NewData(tr, "x")
		c, want := count(d, d.From, d.To, nil), stats.New(tr)
		if c.Busy != want.BusyNs || c.Idle.EventNs != want.Idle.EventNs || c.Idle.EngineNs != want.Idle.EngineNs || c.Idle.HostNs != want.Idle.HostNs {
			t.Errorf("busy %d, idle %+v; expected %d, %+v", c.Busy, c.Idle, want.BusyNs, want.Idle)
		}
		if len(c.Ops) != len(want.OpTypes) {
			t.Fatalf("%d operators, expected %d", len(c.Ops), len(want.OpTypes))
		}
		for i, o := range c.Ops {
			if w := want.OpTypes[i]; o.Name != w.Name || int64(o.Count) != w.Count || o.Total != w.TotalNs || o.Top != w.MaxNs {
				t.Errorf("%+v, expected %+v", o, w)
			}
		}
		for i, got := range c.Devices {
			w := want.Devices[i]
			if got.Compute.Ns != w.ComputeNs || got.Comm.Ns != w.CommNs || got.exposed() != w.ExposedNs {
				t.Errorf("device %d: %+v, expected %+v", got.Device, got, w)
			}
		}
	}
}

// Two halves of any piece of time are the whole.
func TestCount_halves(t *testing.T) {
	d := NewData(gen.Trace(gen.Options{Tasks: 600, Devices: 2}), "x")
	rapid.Check(t, func(rt *rapid.T) {
		from := rapid.Int64Range(d.From, d.To-2).Draw(rt, "from")
		to := rapid.Int64Range(from+2, d.To).Draw(rt, "to")
		mid := from + (to-from)/2
		a, b, c := count(d, from, mid, nil), count(d, mid, to, nil), count(d, from, to, nil)
		if a.Busy+b.Busy != c.Busy {
			rt.Fatalf("busy %d and %d, together %d", a.Busy, b.Busy, c.Busy)
		}
		for i := range c.Devices {
			if x, y, z := a.Devices[i], b.Devices[i], c.Devices[i]; x.Compute.Ns+y.Compute.Ns != z.Compute.Ns || x.Free+y.Free != z.Free {
				rt.Fatalf("device %d: %+v and %+v, together %+v", i, x, y, z)
			}
		}
	})
}
