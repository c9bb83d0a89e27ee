package msprof

import (
	"context"
	"strings"
	"testing"
)

// records is a task log of n tasks with a host record each.
func BenchmarkRead(b *testing.B) {
	const n = 200_000
	var log, host strings.Builder
	for i := range n {
		log.WriteString(starsRecordOf(acsqStart, uint16(2*i%16), 0, uint16(i%8), uint16(i/8), uint64(i)*100))
		log.WriteString(starsRecordOf(acsqEnd, uint16((2*i+1)%16), 0, uint16(i%8), uint16(i/8), uint64(i)*100+50))
		host.WriteString(trackOf(uint16(i%8), uint32(i/8), 0, 66, uint64(i)*200))
	}
	dir := collection(b, control(map[string]string{"device_0/data/stars_soc.data.0.slice_0": log.String(), "host/data/aging.compact.task_track.slice_0": host.String()}))
	b.ResetTimer()
	for b.Loop() {
		t, err := Read(context.Background(), dir)
		if err != nil || t.Tasks.Len() != n {
			b.Fatal(err, t.Tasks.Len())
		}
	}
	b.ReportMetric(3*n*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
