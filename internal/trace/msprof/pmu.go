package msprof

import (
	"context"
	"encoding/binary"
	"strconv"
	"strings"

	"npu/internal/trace"
)

// count8 is one PMU record: what the cores counted while a task or a block of it ran.
type count8 struct {
	stream, id uint32
	end        uint64
	total      int64
	counters   [8]int64
	vector     bool // counted on vector cores
	block      bool // a block of the other core kind of a MIX kernel, or of a block trace
}

// events is the list of event ids that sample.json gives: the order of the counters in every record.
func events(list string) (out []uint16) {
	for f := range strings.SplitSeq(list, ",") {
		v, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(strings.ToLower(f)), "0x"), 16, 16)
		if err == nil {
			out = append(out, uint16(v))
		}
	}
	return out
}

// readStarsPMU reads ffts_profile.data.
func (d *deviceData) readStarsPMU(ctx context.Context) error {
	var g gaps
	n, left, err := d.records(ctx, "ffts_profile.data", pmuRecord, func(rec []byte) {
		head := binary.LittleEndian.Uint16(rec)
		if binary.LittleEndian.Uint16(rec[2:]) != magic {
			d.bad++
			return
		}
		g.see(uint8(head >> 6 & 15))
		kind := head & 63
		if kind != contextRecord && kind != blockRecord {
			d.skipped++
			return
		}
		c := count8{block: kind == blockRecord, end: binary.LittleEndian.Uint64(rec[120:]), total: int64(binary.LittleEndian.Uint64(rec[32:]))}
		c.stream, c.id = d.ids.decode(uint8(head>>10), binary.LittleEndian.Uint16(rec[4:]), binary.LittleEndian.Uint16(rec[6:]))
		if c.block {
			c.vector = rec[20]&1 == 1
		} else {
			ffts, part := rec[21]>>5, rec[16]
			c.vector = ffts != 0 && (ffts != 4 || part != 0 && part != 6)
		}
		for i := range c.counters {
			c.counters[i] = int64(binary.LittleEndian.Uint64(rec[48+8*i:]))
		}
		d.pmu = append(d.pmu, c)
	})
	d.lost += g.lost
	d.count("ffts_profile.data", n, left)
	return err
}

// readCorePMU reads the task-based aicore.data of the hwts generation.
func (d *deviceData) readCorePMU(ctx context.Context) error {
	for _, kind := range []string{"aicore.data", "aiVectorCore.data"} {
		if !d.has(kind) || d.sample.Mode == "sample-based" {
			continue
		}
		n, left, err := d.records(ctx, kind, pmuRecord, func(rec []byte) {
			c := count8{
				vector: kind != "aicore.data", id: uint32(binary.LittleEndian.Uint16(rec[6:])), total: int64(binary.LittleEndian.Uint64(rec[16:])),
				stream: binary.LittleEndian.Uint32(rec[96:]) % 2048,
			}
			for i := range c.counters {
				c.counters[i] = int64(binary.LittleEndian.Uint64(rec[32+8*i:]))
			}
			d.pmu = append(d.pmu, c)
		})
		d.count(kind, n, left)
		if err != nil {
			return err
		}
	}
	return nil
}

// hasPlace says whether event e is a part of cycle accounts.
func hasPlace(e uint16) bool {
	switch e {
	case 0x8, 0x9, 0xa, 0xb, 0xc, 0xd, 0x302, 0x303, 0x416, 0x417, 0x500, 0x502, 0x504, 0x506, 0x508, 0x50a:
		return true
	}
	return false
}

// addTo adds a record to the account of its task. Negative sums of hostile counters do no harm.
func (c *count8) addTo(a *trace.Account, events []uint16) {
	a.Total += c.total
	for i, e := range events[:min(len(events), len(c.counters))] {
		v := c.counters[i]
		switch e {
		case 0x8:
			a.Vector += v
		case 0x9:
			a.Scalar += v
		case 0xa, 0x416, 0x417:
			a.Cube += v
		case 0xb, 0x302:
			a.MTE1 += v
		case 0xc:
			a.MTE2 += v
		case 0xd:
			a.MTE3 += v
		case 0x303:
			a.Fixpipe += v
		case 0x500, 0x504, 0x508:
			a.L2Hits += v
		case 0x502, 0x506, 0x50a:
			a.L2Misses += v
		}
	}
}

// accounts sums the PMU records by task: same ids, and counted to the end before the task ended.
func (d *deviceData) accounts() []trace.Account {
	if len(d.pmu) == 0 {
		return nil
	}
	rows := newChain(len(d.tasks))
	for i := range d.tasks {
		if t := &d.tasks[i]; t.context == noContext {
			rows.add(rowKey(0, t.stream, t.id), int32(i))
		}
	}
	cube, vector := events(d.sample.CubeEvents), events(d.sample.VectorEvents)
	out := make([]trace.Account, len(d.tasks))
	taken := map[uint64]int32{} // row of the record before that has no stamp
	for i := range d.pmu {
		c := &d.pmu[i]
		k := rowKey(0, c.stream, c.id)
		row := int32(-1)
		if c.end == 0 { // no stamp: in the order of the log
			if before, ok := taken[k]; ok {
				row = rows.next[before]
			} else {
				row = rows.first(k)
			}
			if row >= 0 {
				taken[k] = row
			}
		} else if row = rows.latest(k, func(row int32) bool { return d.tasks[row].start <= c.end }); row >= 0 && c.end > d.tasks[row].end {
			row = -1
		}
		if row < 0 {
			d.strayPMU++
			continue
		}
		list8 := cube
		if c.vector {
			list8 = vector
		}
		c.addTo(&out[row], list8)
	}
	return out
}

// readFrequency reads the core's clock and voltage: 55 stamped values a record.
func (d *deviceData) readFrequency(ctx context.Context) error {
	names := map[uint32]string{0: "AI Core frequency (MHz)", 1: "AI Core voltage (mV)", 2: "bus voltage (mV)"}
	for _, kind := range []string{"lpmFreqConv.data", "lpmInfoConv.data"} {
		if !d.has(kind) {
			continue
		}
		n, left, err := d.records(ctx, kind, 888, func(rec []byte) {
			name, ok := names[binary.LittleEndian.Uint32(rec[4:])]
			values := binary.LittleEndian.Uint32(rec)
			if !ok || values > 55 {
				d.bad++
				return
			}
			for i := range int(values) {
				at := rec[8+16*i:]
				d.values = append(d.values, value{d.unix(binary.LittleEndian.Uint64(at)), float64(binary.LittleEndian.Uint32(at[8:])), name})
			}
		})
		d.count(kind, n, left)
		if err != nil {
			return err
		}
	}
	return nil
}
