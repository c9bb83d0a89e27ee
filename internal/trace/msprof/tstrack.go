package msprof

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"npu/internal/trace"
)

// flip is a mark that the task ids of a stream start again at 0.
type flip struct {
	count     uint64
	stream    uint32
	id        uint32
	number    uint16
	destroyed bool // the stream ended: ids of a new stream with its number follow
}

const destroyed = 0xFFFF

// readTrack reads the scheduler's marks.
func (d *deviceData) readTrack(ctx context.Context) error {
	size, log := 40, !d.has("stars_soc.data") && !d.hwts && !d.has("nano_stars_profile.data")
	if log && d.platform == 0 && d.info.Platform != "" {
		size = 32 // the chips whose scheduler tells of tasks here, and of nothing else
	}
	for _, kind := range []string{"ts_track.data", "ts_track.aiv_data"} {
		if err := d.readTrackLog(ctx, kind, size, log); err != nil {
			return err
		}
	}
	if log {
		d.settle()
	}
	return nil
}

// States of a task in the log of the oldest chips.
const (
	tsRunning  = 2
	tsComplete = 3
)

func (d *deviceData) readTrackLog(ctx context.Context, kind string, size int, log bool) error {
	n, left, err := d.records(ctx, kind, size, func(rec []byte) {
		switch tag := rec[1]; {
		case tag == 3 && log:
			key := pairKey{stream: uint32(binary.LittleEndian.Uint16(rec[12:]) % 2048), id: uint32(binary.LittleEndian.Uint16(rec[14:])), context: noContext}
			switch binary.LittleEndian.Uint16(rec[10:]) {
			case tsRunning:
				d.begin(key, u64at(rec, 16), uint8(min(binary.LittleEndian.Uint16(rec[8:]), 255)), 0)
			case tsComplete:
				d.finish(key, u64at(rec, 16))
			}
			return
		case size < 40:
			d.skipped++
			return
		}
		switch rec[1] {
		case 14:
			f := flip{count: binary.LittleEndian.Uint64(rec[8:]), stream: uint32(binary.LittleEndian.Uint16(rec[16:])), number: binary.LittleEndian.Uint16(rec[18:]), id: uint32(binary.LittleEndian.Uint16(rec[22:]))}
			f.destroyed = f.number == destroyed
			d.flips = append(d.flips, f)
		case 10:
			tag := binary.LittleEndian.Uint16(rec[36:])
			if d.v6() {
				tag = binary.LittleEndian.Uint16(rec[32:])
			}
			d.step(binary.LittleEndian.Uint64(rec[8:]), tag)
		default:
			d.skipped++
		}
	})
	d.count(kind, n, left)
	return err
}

// readTraining reads the step marks of 2020: u64 tag, u16 task, u16 stream, u64 count.
func (d *deviceData) readTraining(ctx context.Context) error {
	n, left, err := d.records(ctx, "training_trace", 20, func(rec []byte) {
		tag := binary.LittleEndian.Uint64(rec)
		if tag > 0xFFFF {
			d.bad++
			return
		}
		d.step(binary.LittleEndian.Uint64(rec[12:]), uint16(tag))
	})
	d.count("training_trace", n, left)
	return err
}

// step keeps a mark of the training loop as the value of a counter.
func (d *deviceData) step(count uint64, tag uint16) {
	d.marks = append(d.marks, mark{count, tag})
	if tag == 1 {
		d.iterations++
	}
}

type mark struct {
	count uint64
	tag   uint16
}

// value is a sampled value of the counter name.
type value struct {
	at   int64
	v    float64
	name string
}

// recordCounters records what was sampled, and the marks of the training loop.
func (d *deviceData) recordCounters(rec *trace.Recorder) {
	for _, v := range d.values {
		rec.Counters([]trace.Counter{{Time: v.at, Value: v.v, Name: rec.Intern(v.name), Device: d.number}})
	}
	for _, m := range d.marks {
		rec.Counters([]trace.Counter{{Time: d.unix(m.count), Value: float64(m.tag), Name: rec.Intern("step trace tag"), Device: d.number}})
	}
}

// batches numbers the wraps of task ids for each task by the marks of its stream. Several threads draw ids around a wrap:
// tasks just before a mark whose id is below the mark's are of the new batch already.
func (d *deviceData) batches() {
	if len(d.flips) == 0 {
		return
	}
	marks := map[uint32][]flip{}
	for _, f := range d.flips {
		marks[f.stream] = append(marks[f.stream], f)
	}
	for _, list := range marks {
		slices.SortStableFunc(list, func(a, b flip) int { return cmp.Compare(a.count, b.count) })
	}
	rows := map[uint32][]int32{}
	for i := range d.tasks {
		if s := d.tasks[i].stream; marks[s] != nil {
			rows[s] = append(rows[s], int32(i))
		}
	}
	for stream, list := range rows {
		slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(d.tasks[a].start, d.tasks[b].start) })
		d.walk(list, marks[stream])
	}
}

func (d *deviceData) walk(rows []int32, marks []flip) {
	batch, gone := uint32(0), uint32(0)
	first := 0 // row after the last mark
	for at, row := range rows {
		for len(marks) > 0 && marks[0].count <= d.tasks[row].start {
			m := marks[0]
			marks = marks[1:]
			if m.destroyed {
				gone += 1 << 16
				batch = gone
			} else {
				batch = uint32(m.number) + gone
				for k := at - 1; k >= first && d.tasks[rows[k]].id < m.id; k-- {
					d.tasks[rows[k]].batch = batch
				}
			}
			first = at
		}
		d.tasks[row].batch = batch
	}
}
