package flow

import (
	"flag"
	"testing"

	"npu/internal/trace/gen"
)

var benchTasks = flag.Int("tasks", 1_000_000, "tasks of the trace whose arrows BenchmarkNew finds")

func BenchmarkNew(b *testing.B) {
	t := gen.Trace(gen.Options{Tasks: *benchTasks, Devices: 4, Streams: 6})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			New(t)
		}
		b.ReportMetric(float64(t.Tasks.Len())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mtasks/s")
	})
	b.Run("submissions", func(b *testing.B) {
		for b.Loop() {
			t.Submissions()
		}
	})
	b.Run("waits", func(b *testing.B) {
		for b.Loop() {
			w := t.Waits()
			for i := range t.Tasks.Len() {
				w.Record(i)
			}
		}
	})
}
