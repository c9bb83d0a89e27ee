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

// The same with a PMU record a task, of which the metrics are derived.
func BenchmarkRead_metrics(b *testing.B) {
	const n = 200_000
	var log, host, pmu strings.Builder
	for i := range n {
		log.WriteString(starsRecordOf(acsqStart, uint16(2*i%16), 0, uint16(i%8), uint16(i/8), uint64(i)*100))
		log.WriteString(starsRecordOf(acsqEnd, uint16((2*i+1)%16), 0, uint16(i%8), uint16(i/8), uint64(i)*100+50))
		host.WriteString(trackOf(uint16(i%8), uint32(i/8), 0, 66, uint64(i)*200))
		rec := []byte(starsRecordOf(contextRecord, uint16(i%16), 0, uint16(i%8), uint16(i/8), 0) + strings.Repeat("\x01", 64))
		copy(rec[32:], words64(1000+uint64(i), 0, uint64(i), 2, 3, uint64(i)%777, 5, 6, 7, 8, uint64(i)*100, uint64(i)*100+50))
		pmu.Write(rec)
	}
	dir := collection(b, control(map[string]string{
		"device_0/data/stars_soc.data.0.slice_0": log.String(), "host/data/aging.compact.task_track.slice_0": host.String(), "device_0/data/ffts_profile.data.0.slice_0": pmu.String(),
		"device_0/sample.json": `{"ai_core_profiling_events":"0x416,0x417,0x9,0x302,0xc,0x303,0x54,0x55","aiv_profiling_events":"0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55"}`,
	}))
	b.ResetTimer()
	for b.Loop() {
		t, err := Read(context.Background(), dir)
		if err != nil || t.Tasks.Len() != n || t.Source.Sheet("pmu").Rows != n {
			b.Fatal(err, t.Tasks.Len())
		}
	}
	b.ReportMetric(4*n*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
