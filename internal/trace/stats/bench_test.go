package stats

import (
	"testing"

	"npu/internal/trace/gen"
)

func BenchmarkNew(b *testing.B) {
	t := gen.Trace(gen.Options{Tasks: 1_000_000, Streams: 8})
	b.ResetTimer()
	for b.Loop() {
		New(t)
	}
	b.ReportMetric(float64(t.Tasks.Len())*float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}
