package msprof

import (
	"context"
	"encoding/binary"
	"strings"

	"npu/internal/trace"
)

// readCCU reads the records of the communication units of the two dies: what a mission did, and how busy the channels are.
func (d *deviceData) readCCU(ctx context.Context) error {
	for die, name := range []string{"ccu0", "ccu1"} {
		if err := d.readMissions(ctx, die, name+".instr"); err != nil {
			return err
		}
		if err := d.readChannels(ctx, die, name+".stat"); err != nil {
			return err
		}
	}
	return nil
}

// readMissions reads records of 64 bytes: 16 x u16 how much later, in units of 4 counts, the others signalled; u64 start and u16
// instruction of the signal; u64 end, start and u16 instruction of the loop; stream and task.
func (d *deviceData) readMissions(ctx context.Context, die int, kind string) error {
	if !d.has(kind) {
		return nil
	}
	s := trace.NewSheet("ccu_mission", trace.IntColumn("device"), trace.IntColumn("die"), trace.IntColumn("stream"), trace.IntColumn("task"), trace.IntColumn("loop_instr"), trace.IntColumn("loop_start_ns"), trace.IntColumn("loop_duration_ns"),
		trace.IntColumn("signal_instr"), trace.IntColumn("signal_start_ns"), trace.IntColumn("other"), trace.IntColumn("signal_end_ns"))
	when := func(count uint64) int64 {
		if count == 0 {
			return trace.NoInt
		}
		return d.unix(count)
	}
	n, left, err := d.records(ctx, kind, 64, func(rec []byte) {
		signal, end, start := u64at(rec, 32), u64at(rec, 42), u64at(rec, 50)
		stream, task := int64(trace.NoInt), int64(u32at(rec, 60))
		if !d.v6() {
			a, b := d.ids.decode(0, binary.LittleEndian.Uint16(rec[60:]), binary.LittleEndian.Uint16(rec[62:]))
			stream, task = int64(a), int64(b)
		}
		duration := int64(trace.NoInt)
		if start > 0 && end >= start {
			duration = d.unix(end) - d.unix(start)
		}
		row := func(other, to int64) {
			addInts(s, int64(d.number), int64(die), stream, task, int64(binary.LittleEndian.Uint16(rec[58:])), when(start), duration, int64(binary.LittleEndian.Uint16(rec[40:])), when(signal), other, to)
		}
		if signal == 0 {
			row(trace.NoInt, trace.NoInt)
			return
		}
		for i := range 16 {
			row(int64(15-i), d.unix(signal+4*uint64(binary.LittleEndian.Uint16(rec[2*i:]))))
		}
	})
	d.count(kind, n, left)
	s.Trim()
	d.out.AddSheet(s)
	return err
}

// readChannels reads records of 704 x u32: 128 channels of five words each, some with more words that mean nothing: u64 count, average,
// least and greatest bandwidth.
func (d *deviceData) readChannels(ctx context.Context, die int, kind string) error {
	if !d.has(kind) {
		return nil
	}
	s := trace.NewSheet("ccu_channel", trace.IntColumn("device"), trace.IntColumn("die"), trace.IntColumn("channel"), trace.IntColumn("time_ns"), trace.IntColumn("min_bandwidth"), trace.IntColumn("avg_bandwidth"), trace.IntColumn("max_bandwidth"))
	n, left, err := d.records(ctx, kind, 704*4, func(rec []byte) {
		at := 0
		for channel := range 128 {
			words := 5
			switch {
			case channel < 120 && channel%12 == 11:
				words = 9
			case channel >= 120 && channel%4 != 1 && channel%4 != 2:
				words = 11
			}
			from := at
			if channel == 120 || channel == 124 {
				from += 6 * 4
			}
			if count := u64at(rec, from); count > 0 {
				addInts(s, int64(d.number), int64(die), int64(channel), d.unix(count), int64(u32at(rec, from+12)), int64(u32at(rec, from+8)), int64(u32at(rec, from+16)))
			}
			at += words * 4
		}
	})
	d.count(kind, n, left)
	s.Trim()
	d.out.AddSheet(s)
	return err
}

// instructionCore takes the name of an instruction trace apart: instr.group_3_aiv0, or instr.biu_perf_group3_aiv0 on 950.
func instructionCore(kind string) (group int64, core string, new, ok bool) {
	rest, found := strings.CutPrefix(kind, "instr.")
	if !found {
		return 0, "", false, false
	}
	if name, is := strings.CutPrefix(rest, "biu_perf_group"); is {
		rest, new = name, true
	} else if rest, found = strings.CutPrefix(rest, "group_"); !found {
		return 0, "", false, false
	}
	number, core, _ := strings.Cut(rest, "_")
	group, ok = word(number).int()
	return group, core, new, ok && (core == "aic" || core == "aiv0" || core == "aiv1")
}
