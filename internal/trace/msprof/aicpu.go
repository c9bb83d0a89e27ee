package msprof

import (
	"context"
	"encoding/binary"

	"npu/internal/trace"
)

// aicpuTag marks the records of tasks in aicpu.data.
const aicpuTag = 60

// readAICPU reads aicpu.data, and what older collectors call DATA_PREPROCESS, as a table: u16 magic, tag, stream, task; counts of start and end at 16 and 56; between them stamps in
// microseconds around computing and copying; the time of dispatch at 108.
func (d *deviceData) readAICPU(ctx context.Context) error {
	if !d.has("aicpu.data") && !d.has("DATA_PREPROCESS.AICPU") {
		return nil
	}
	s := trace.NewSheet("aicpu", trace.IntColumn("device"), trace.IntColumn("stream"), trace.IntColumn("task"), trace.IntColumn("start_ns"), trace.IntColumn("duration_ns"),
		trace.IntColumn("compute_us"), trace.IntColumn("memcpy_us"), trace.IntColumn("dispatch_us"))
	take := func(rec []byte) {
		if binary.LittleEndian.Uint16(rec) != hostMagic {
			d.bad++
			return
		}
		if binary.LittleEndian.Uint16(rec[2:]) != aicpuTag {
			d.skipped++
			return
		}
		start, end := u64at(rec, 16), u64at(rec, 56)
		if start == 0 || end < start {
			d.bad++
			return
		}
		between := func(from, to int) any {
			if a, b := u64at(rec, from), u64at(rec, to); b >= a && b-a < 1<<40 {
				return int64(b - a)
			}
			return nil
		}
		at := d.unix(start)
		s.Add(int64(d.number), int64(binary.LittleEndian.Uint16(rec[4:])%2048), int64(binary.LittleEndian.Uint16(rec[6:])), at, d.unix(end)-at, between(24, 32), between(32, 40), int64(u32at(rec, 108)))
	}
	for _, kind := range []string{"aicpu.data", "DATA_PREPROCESS.AICPU"} {
		n, left, err := d.records(ctx, kind, 128, take)
		d.count(kind, n, left)
		if err != nil {
			return err
		}
	}
	s.Trim()
	d.out.AddSheet(s)
	return nil
}
