package trace_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"npu/internal/trace"
	"npu/internal/trace/gen"
	"npu/internal/trace/image"
)

// A trace that was saved comes back the same, row by row.
func TestTrace_saved(t *testing.T) {
	for name, want := range map[string]*trace.Trace{
		"empty": trace.NewRecorder().Finish(),
		"large": gen.Trace(gen.Options{Tasks: 10_000, Devices: 3, Streams: 2}),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			w := image.NewWriter(f)
			if err := w.Close(want.Save(w), 1); err != nil {
				t.Fatal(err)
			}
			f.Close()
			var s trace.Saved
			file, err := image.Open(path, 1, &s)
			if err != nil {
				t.Fatal(err)
			}
			got, err := trace.Load(file, s)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Strings, want.Strings) || !reflect.DeepEqual(got.Meta, want.Meta) || got.Tasks.Len() != want.Tasks.Len() || got.Spans.Len() != want.Spans.Len() {
				t.Fatalf("%d tasks, %d calls", got.Tasks.Len(), got.Spans.Len())
			}
			for i, k := range want.Tasks.All() {
				if got.Tasks.At(i) != k {
					t.Fatalf("task %d: %+v, expected %+v", i, got.Tasks.At(i), k)
				}
			}
			for i, s := range want.Spans.All() {
				if *got.Spans.At(i) != *s {
					t.Fatalf("call %d: %+v, expected %+v", i, got.Spans.At(i), s)
				}
			}
			for i, c := range want.Counters.All() {
				if *got.Counters.At(i) != *c {
					t.Fatalf("value %d: %+v", i, got.Counters.At(i))
				}
			}
			s.Tasks += 4096
			if _, err := trace.Load(file, s); err == nil {
				t.Error("a wrong number of rows is not noticed")
			}
		})
	}
}
