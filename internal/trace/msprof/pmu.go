package msprof

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"npu/internal/trace"
)

// count8 is one PMU record: what the cores counted while a task or a block of it ran.
type count8 struct {
	stream, id uint32
	end        uint64
	total      int64
	counters   [10]int64
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
	total := int64(0)
	for _, s := range d.kinds["ffts_profile.data"] {
		total += s.size
	}
	d.pmu = slices.Grow(d.pmu, int(min(total/pmuRecord, 1<<20)))
	n, left, err := d.records(ctx, "ffts_profile.data", pmuRecord, func(rec []byte) {
		head := binary.LittleEndian.Uint16(rec)
		if binary.LittleEndian.Uint16(rec[2:]) != magic {
			d.bad++
			return
		}
		g.see(uint8(head >> 6 & 15))
		kind := head & 63
		if kind == pmuRecordV6 {
			d.pmu = append(d.pmu, v6Count(rec))
			return
		}
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
		for i := range 8 {
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
			for i := range 8 {
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

// v6Count reads a record of the 950 generation: one of a task, or of a block of it.
func v6Count(rec []byte) count8 {
	c := count8{
		id: binary.LittleEndian.Uint32(rec[4:]), total: int64(binary.LittleEndian.Uint64(rec[8:])), block: rec[17]&1 == 0, vector: rec[20]&1 == 1,
		end: binary.LittleEndian.Uint64(rec[120:]),
	}
	for i := range c.counters {
		c.counters[i] = int64(binary.LittleEndian.Uint64(rec[32+8*i:]))
	}
	return c
}

// account is the cycle account of what was counted. Negative sums of hostile counters do no harm.
func (s *kernelSum) account(cube, vector []uint16, v6 bool) (a trace.Account) {
	for kind, list := range [][]uint16{cube, vector} {
		c := &s.kinds[kind]
		a.Total += c.cycles
		for i, e := range list[:min(len(list), len(c.counters))] {
			if to := pipeOf(&a, e, v6); to != nil {
				*to += c.counters[i]
			}
		}
	}
	return a
}

// pipeOf is the place in a that event e counts for; nil for none.
func pipeOf(a *trace.Account, e uint16, v6 bool) *int64 {
	if v6 {
		switch e {
		case 0x501:
			return &a.Vector
		case 0x1:
			return &a.Scalar
		case 0x301:
			return &a.Cube
		case 0x701:
			return &a.MTE1
		case 0x202:
			return &a.MTE2
		case 0x203:
			return &a.MTE3
		case 0x714:
			return &a.Fixpipe
		}
		return nil
	}
	switch e {
	case 0x8:
		return &a.Vector
	case 0x9:
		return &a.Scalar
	case 0xa, 0x416, 0x417:
		return &a.Cube
	case 0xb, 0x302:
		return &a.MTE1
	case 0xc:
		return &a.MTE2
	case 0xd:
		return &a.MTE3
	case 0x303:
		return &a.Fixpipe
	case 0x500, 0x504, 0x508:
		return &a.L2Hits
	case 0x502, 0x506, 0x50a:
		return &a.L2Misses
	}
	return nil
}

// sum joins the PMU records with the tasks: same ids, and counted to the end before the task ended.
func (d *deviceData) sum() {
	if len(d.pmu) == 0 {
		return
	}
	rows := newChain(len(d.tasks))
	for i := range d.tasks {
		if t := &d.tasks[i]; t.context == noContext {
			rows.add(rowKey(0, t.stream, t.id), int32(i))
		}
	}
	d.summed = make([]int32, len(d.tasks))
	d.sums = make([]kernelSum, 0, min(len(d.pmu), len(d.tasks)))
	taken := map[uint64]int32{} // row of the record before that has no stamp
	// Records of whole tasks come first: those of blocks count only where no such record holds them.
	for _, blocks := range []bool{false, true} {
		for i := range d.pmu {
			c := &d.pmu[i]
			if c.block != blocks {
				continue
			}
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
			if d.summed[row] == 0 {
				d.sums = append(d.sums, kernelSum{})
				d.summed[row] = int32(len(d.sums))
			}
			kind := &d.sums[d.summed[row]-1].kinds[0]
			if c.vector {
				kind = &d.sums[d.summed[row]-1].kinds[1]
			}
			switch {
			case !blocks:
				kind.whole = true
			case kind.whole:
				continue
			}
			kind.add(c)
		}
	}
	d.pmu = nil
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
				if kind := binary.LittleEndian.Uint32(rec[4:]); kind == 0 {
					d.ticks = append(d.ticks, tick{binary.LittleEndian.Uint64(at), float64(binary.LittleEndian.Uint32(at[8:]))})
				}
				d.values = append(d.values, value{d.unix(binary.LittleEndian.Uint64(at)), float64(binary.LittleEndian.Uint32(at[8:])), name})
			}
		})
		d.count(kind, n, left)
		if err != nil {
			return err
		}
	}
	slices.SortStableFunc(d.ticks, func(a, b tick) int { return cmp.Compare(a.count, b.count) })
	d.stopped = slices.ContainsFunc(d.ticks, func(t tick) bool { return t.mhz == 0 })
	return nil
}
