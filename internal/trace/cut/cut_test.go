package cut

import (
	"testing"

	"npu/internal/trace"
	"npu/internal/trace/gen"
)

func TestTrace(t *testing.T) {
	tr := gen.Trace(gen.Options{Tasks: 2000, Devices: 2, Streams: 3})
	tr.Source.Devices = []trace.SourceDevice{{ID: 1, Rank: 5}}
	start := Start(tr)
	for name, tt := range map[string]struct {
		o    Options
		keep func(*trace.Task) bool
	}{
		"all":     {Options{}, func(*trace.Task) bool { return true }},
		"window":  {Options{From: 10_000, To: 50_000}, func(k *trace.Task) bool { return k.End >= start+10_000 && k.Start <= start+50_000 }},
		"streams": {Options{Streams: []uint32{1, 2}}, func(k *trace.Task) bool { return k.Stream == 1 || k.Stream == 2 }},
		"device":  {Options{Devices: []uint16{0}}, func(k *trace.Task) bool { return k.Device == 0 }},
		"rank":    {Options{Ranks: []int{5}}, func(k *trace.Task) bool { return k.Device == 1 }},
	} {
		var want []trace.Task
		for _, k := range tr.Tasks.All() {
			if tt.keep(&k) {
				want = append(want, k)
			}
		}
		got := Trace(tr, tt.o)
		if got.Tasks.Len() != len(want) || len(want) == 0 {
			t.Errorf("%s: %d tasks, want %d", name, got.Tasks.Len(), len(want))
			continue
		}
		for i, k := range got.Tasks.All() {
			w := want[i]
			if got.Label(&k) != tr.Label(&w) || got.Account(k.Acct) != tr.Account(w.Acct) || k.Start != w.Start || k.Stream != w.Stream {
				t.Fatalf("%s: row %d is %+v, want %+v", name, i, k, w)
			}
		}
	}
}
