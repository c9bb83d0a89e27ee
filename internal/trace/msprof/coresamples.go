package msprof

import (
	"context"
	"fmt"

	"npu/internal/trace"
)

// readCoreSamples reads PMU counters that were sampled by time and not by task: 96 bytes a sample of a core, 112 on 950. On
// chips with the log of stars those of both kinds of core lie in one file; cube cores have the small numbers.
func (d *deviceData) readCoreSamples(ctx context.Context, host *hostData) error {
	if d.sample.Mode != "sample-based" {
		return nil
	}
	size, counters, likely := 96, 8, asDevice
	if d.v6() {
		size, counters, likely = 112, 10, asStamp
	}
	for _, k := range []struct {
		kind string
		both bool
		list string
	}{{"ffts_profile.data", true, ""}, {"aicore.data", false, d.sample.CubeEvents}, {"aiVectorCore.data", false, d.sample.VectorEvents}} {
		if !d.has(k.kind) {
			continue
		}
		cube, vector := d.coreSheet("aicore_samples", d.sample.CubeEvents, counters), d.coreSheet("aivector_core_samples", d.sample.VectorEvents, counters)
		one := cube
		if k.kind == "aiVectorCore.data" {
			one = vector
		}
		n, left, err := d.records(ctx, k.kind, size, func(rec []byte) {
			to, core := one, int64(rec[size-7])
			if k.both && core >= firstVectorCore {
				to = vector
			}
			values := []int64{int64(d.number), int64(u64at(rec, size-16)), core, int64(u64at(rec, size-24))}
			for i := range len(to.Columns) - 4 {
				v := int64(u64at(rec, 8+8*i))
				if i >= int(rec[size-8]) {
					v = trace.NoInt
				}
				values = append(values, v)
			}
			addInts(to, values...)
		})
		d.count(k.kind, n, left)
		if err != nil {
			return err
		}
		for _, s := range []*trace.Sheet{cube, vector} {
			settleStamps(s.Columns[1].Int, &place{pick: func(lo, hi uint64, likely cellType) func(uint64) int64 { return d.pick(host, lo, hi, likely) }}, likely)
			s.Trim()
			d.out.AddSheet(s)
		}
	}
	return nil
}

// firstVectorCore is the first number of a vector core where both kinds count together.
const firstVectorCore = 25

func (d *deviceData) coreSheet(name, list string, counters int) *trace.Sheet {
	columns := []trace.SheetColumn{trace.IntColumn("device"), trace.IntColumn("time_ns"), trace.IntColumn("core"), trace.IntColumn("total_cycles")}
	all := events(list)
	for _, e := range all[:min(len(all), counters)] {
		columns = append(columns, trace.IntColumn(fmt.Sprintf("event_0x%x", e)))
	}
	return trace.NewSheet(name, columns...)
}
