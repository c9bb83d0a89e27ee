package msprof

import (
	"context"
	"encoding/binary"
)

// readNano reads nano_stars_profile.data, the task log of small chips: 64 bytes a task, with its counters. u8 type, model; u16 task at 6; the
// start's lower half, duration and cycles from 8 on; their upper parts at 20; ten counters from 24 on.
func (d *deviceData) readNano(ctx context.Context) error {
	const kind = "nano_stars_profile.data"
	if !d.has(kind) {
		return nil
	}
	d.expect(d.about(kind, 64))
	d.stride = min(len(events(d.sample.CubeEvents)), 10)
	d.nominal = [2]float64{d.nominalMHz(false), d.nominalMHz(true)}
	n, left, err := d.records(ctx, kind, 64, func(rec []byte) {
		start := uint64(u32at(rec, 8)) | uint64(binary.LittleEndian.Uint16(rec[20:]))<<32 | uint64(rec[22])<<48
		d.tasks = append(d.tasks, task{start: start, end: start + uint64(u32at(rec, 12)), stream: uint32(rec[1]), id: uint32(binary.LittleEndian.Uint16(rec[6:])), context: noContext})
		d.of = append(d.of, 0)
		at := d.counted.place(int32(len(d.tasks)-1), false)
		c := &d.counts[at]
		c.whole, c.cycles, c.mhz = true, int64(u32at(rec, 16))|int64(rec[23])<<32, d.nominal[0]
		for i := range d.stride {
			d.counters[int(at)*d.stride+i] = int64(u32at(rec, 24+4*i))
		}
	})
	d.count(kind, n, left)
	return err
}
