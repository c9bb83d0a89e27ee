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
		c, want := count(d, d.From, d.To), stats.New(tr)
		if c.busy != want.BusyNs || c.idle.EventNs != want.Idle.EventNs || c.idle.EngineNs != want.Idle.EngineNs || c.idle.HostNs != want.Idle.HostNs {
			t.Errorf("busy %d, idle %+v; expected %d, %+v", c.busy, c.idle, want.BusyNs, want.Idle)
		}
		if len(c.ops) != len(want.OpTypes) {
			t.Fatalf("%d operators, expected %d", len(c.ops), len(want.OpTypes))
		}
		for i, o := range c.ops {
			if w := want.OpTypes[i]; o.name != w.Name || int64(o.count) != w.Count || o.total != w.TotalNs || o.top != w.MaxNs {
				t.Errorf("%+v, expected %+v", o, w)
			}
		}
		for i, got := range c.devices {
			w := want.Devices[i]
			if got.compute.ns != w.ComputeNs || got.comm.ns != w.CommNs || got.exposed() != w.ExposedNs {
				t.Errorf("device %d: %+v, expected %+v", got.device, got, w)
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
		a, b, c := count(d, from, mid), count(d, mid, to), count(d, from, to)
		if a.busy+b.busy != c.busy {
			rt.Fatalf("busy %d and %d, together %d", a.busy, b.busy, c.busy)
		}
		for i := range c.devices {
			if x, y, z := a.devices[i], b.devices[i], c.devices[i]; x.compute.ns+y.compute.ns != z.compute.ns || x.free+y.free != z.free {
				rt.Fatalf("device %d: %+v and %+v, together %+v", i, x, y, z)
			}
		}
	})
}
