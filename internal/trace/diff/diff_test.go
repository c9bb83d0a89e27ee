package diff

import (
	"testing"

	"npu/internal/trace"
)

func TestNew(t *testing.T) {
	made := func(ends map[string]int64) *trace.Trace {
		r := trace.NewRecorder()
		for name, d := range ends {
			r.Spans([]trace.Span{{End: 2 * d, Task: trace.NoTask, Name: r.Intern("launch " + name)}})
			r.Tasks([]trace.Task{{End: d, Kind: trace.KernelAICore, Engine: trace.EngineCube, Op: r.Intern(name), Name: r.Intern(name + "_0")}})
		}
		return r.Finish()
	}
	d := New(made(map[string]int64{"Conv": 10, "Relu": 5, "Old": 2}), made(map[string]int64{"Conv": 4, "Relu": 5, "New": 1}))
	want := []Op{
		{Name: "Conv", CountA: 1, CountB: 1, TotalA: 10, TotalB: 4, Delta: -6}, {Name: "Old", CountA: 1, TotalA: 2, Delta: -2},
		{Name: "New", CountB: 1, TotalB: 1, Delta: 1}, {Name: "Relu", CountA: 1, CountB: 1, TotalA: 5, TotalB: 5},
	}
	if len(d.OpTypes) != len(want) {
		t.Fatalf("%+v", d.OpTypes)
	}
	for i, w := range want {
		if d.OpTypes[i] != w {
			t.Errorf("%d: %+v, want %+v", i, d.OpTypes[i], w)
		}
	}
	if d.A.DeviceTimeNs != 17 || d.B.DeviceTimeNs != 10 || len(d.Ops) != 4 || d.Ops[0].Type != "Conv" {
		t.Errorf("%+v", d)
	}
	if c := (Op{Name: "launch Conv", CountA: 1, CountB: 1, TotalA: 20, TotalB: 8, Delta: -12}); len(d.Calls) != 4 || d.Calls[0] != c {
		t.Errorf("%+v", d.Calls)
	}
}
