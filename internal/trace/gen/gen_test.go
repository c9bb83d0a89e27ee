package gen

import (
	"reflect"
	"testing"

	"npu/internal/trace"
)

func TestTrace_isConsistentAndRepeatable(t *testing.T) {
	for _, o := range []Options{{}, {Tasks: 1000}, {Tasks: 20000, Devices: 3, Streams: 4, Seed: 7}} {
		a, b := Trace(o), Trace(o)
		if err := a.Check(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
		if a.Tasks.Len() < o.Tasks || a.Spans.Len() < a.Tasks.Len() {
			t.Errorf("%+v: %d tasks, %d spans", o, a.Tasks.Len(), a.Spans.Len())
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%+v: two runs differ", o)
		}
		w, waits := a.Waits(), 0
		for i, k := range a.Tasks.All() {
			if k.Kind == trace.EventWait {
				if row, ok := w.Record(i); !ok || a.Tasks.End.At(row) > k.End {
					t.Fatalf("%+v: wait in row %d has record %d, %v", o, i, row, ok)
				}
				waits++
			}
		}
		if o.Tasks > 0 && waits == 0 {
			t.Errorf("%+v: no waits", o)
		}
	}
}
