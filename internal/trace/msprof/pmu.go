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

// counted is what the cores counted during the tasks.
type counted struct {
	counts   []count
	counters []int64 // stride of them for each of counts
	stride   int
	nominal  [2]float64 // clocks of the kinds of core
	of       []int32    // by task: place in counts plus one; nil without PMU records
	blocks   []count8   // records of blocks, which count where no record of the whole task holds them
}

// count is what was counted during one task on one kind of core.
type count struct {
	cycles int64
	mhz    float64 // clock in force when the task ended
	other  int32   // place in counts of the other kind of core plus one
	vector bool
	whole  bool // a record of the whole task was seen: those of its blocks are in it
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

// readPMU reads the PMU records, and joins them with the tasks: same ids, and counted to the end before the task ended.
func (d *deviceData) readPMU(ctx context.Context) error {
	if d.sample.Mode == "sample-based" {
		return nil
	}
	kinds := []string{"ffts_profile.data", "aicore.data", "aiVectorCore.data"}
	records := 0
	for _, kind := range kinds {
		records += d.about(kind, pmuRecord)
	}
	if records == 0 {
		return nil
	}
	d.stride = min(max(len(events(d.sample.CubeEvents)), len(events(d.sample.VectorEvents))), 10)
	d.nominal = [2]float64{d.nominalMHz(false), d.nominalMHz(true)}
	expected := min(records, len(d.tasks))
	d.of, d.counts, d.counters = make([]int32, len(d.tasks)), make([]count, 0, expected), make([]int64, 0, expected*d.stride)
	rows := newChain(len(d.tasks))
	for i := range d.tasks {
		if t := &d.tasks[i]; t.context == noContext {
			rows.add(rowKey(0, t.stream, t.id), int32(i))
		}
	}
	if err := d.readStarsPMU(ctx, rows); err != nil {
		return err
	}
	for _, kind := range kinds[1:] {
		if err := d.readCorePMU(ctx, kind, rows); err != nil {
			return err
		}
	}
	for i := range d.blocks {
		d.join(&d.blocks[i], rows)
	}
	d.blocks = nil
	return nil
}

// readStarsPMU reads ffts_profile.data.
func (d *deviceData) readStarsPMU(ctx context.Context, rows *chain) error {
	var g gaps
	var c count8
	n, left, err := d.records(ctx, "ffts_profile.data", pmuRecord, func(rec []byte) {
		head := binary.LittleEndian.Uint16(rec)
		if binary.LittleEndian.Uint16(rec[2:]) != magic {
			d.bad++
			return
		}
		g.see(uint8(head >> 6 & 15))
		switch head & 63 {
		case pmuRecordV6:
			c.takeV6(rec)
		case contextRecord, blockRecord:
			c.take(rec)
			c.stream, c.id = d.ids.decode(uint8(head>>10), binary.LittleEndian.Uint16(rec[4:]), binary.LittleEndian.Uint16(rec[6:]))
		default:
			d.skipped++
			return
		}
		if c.block {
			d.blocks = append(d.blocks, c)
			return
		}
		d.join(&c, rows)
	})
	d.lost += g.lost
	d.count("ffts_profile.data", n, left)
	d.count("ffts_profile.data of blocks", int64(len(d.blocks)), 0)
	return err
}

// take reads a record of a task or of one of its blocks, without its ids.
func (c *count8) take(rec []byte) {
	c.block, c.end, c.total = binary.LittleEndian.Uint16(rec)&63 == blockRecord, u64at(rec, 120), int64(u64at(rec, 32))
	if c.block {
		c.vector = rec[20]&1 == 1
	} else {
		ffts, part := rec[21]>>5, rec[16]
		c.vector = ffts != 0 && (ffts != 4 || part != 0 && part != 6)
	}
	for i := range 8 {
		c.counters[i] = int64(u64at(rec, 48+8*i))
	}
}

// readCorePMU reads the task-based records of the hwts generation: of the AI cores, or on 310P of its vector cores. They have no
// stamp: those of the same ids follow each other as the tasks do.
func (d *deviceData) readCorePMU(ctx context.Context, kind string, rows *chain) error {
	if !d.has(kind) {
		return nil
	}
	c := count8{vector: kind != "aicore.data"}
	n, left, err := d.records(ctx, kind, pmuRecord, func(rec []byte) {
		c.id, c.total, c.stream = uint32(binary.LittleEndian.Uint16(rec[6:])), int64(u64at(rec, 16)), u32at(rec, 96)%2048
		for i := range 8 {
			c.counters[i] = int64(u64at(rec, 32+8*i))
		}
		d.join(&c, rows)
	})
	d.count(kind, n, left)
	return err
}

// takeV6 reads a record of the 950 generation: one of a task, or of a block of it.
func (c *count8) takeV6(rec []byte) {
	*c = count8{id: u32at(rec, 4), total: int64(u64at(rec, 8)), block: rec[17]&1 == 0, vector: rec[20]&1 == 1, end: u64at(rec, 120)}
	for i := range c.counters {
		c.counters[i] = int64(u64at(rec, 32+8*i))
	}
}

// join adds what a record says to its task.
func (d *deviceData) join(c *count8, rows *chain) {
	key, row := rowKey(0, c.stream, c.id), int32(-1)
	if c.end == 0 {
		row = rows.following(key)
	} else if row = rows.latest(key, func(row int32) bool { return d.tasks[row].start <= c.end }); row >= 0 && c.end > d.tasks[row].end {
		row = -1
	}
	if row < 0 {
		d.strayPMU++
		return
	}
	at := d.counted.place(row, c.vector)
	to := &d.counts[at]
	switch {
	case !c.block:
		to.whole = true
	case to.whole:
		return
	}
	to.cycles += c.total
	to.mhz = d.mhzAt(c.end, d.nominal[0])
	if c.vector {
		to.mhz = d.mhzAt(c.end, d.nominal[1])
	}
	for i := range d.stride {
		d.counters[int(at)*d.stride+i] += c.counters[i]
	}
}

// place is where the counts of a task on a kind of core are; they are made when there are none.
func (d *counted) place(row int32, vector bool) int32 {
	at := d.of[row] - 1
	if at >= 0 && d.counts[at].vector != vector {
		if other := d.counts[at].other; other > 0 {
			return other - 1
		}
	} else if at >= 0 {
		return at
	}
	n := int32(len(d.counts))
	d.counts = append(d.counts, count{vector: vector})
	d.counters = append(d.counters, make([]int64, d.stride)...)
	if at >= 0 {
		d.counts[at].other = n + 1
	} else {
		d.of[row] = n + 1
	}
	return n
}

// kind is where the counts of the task row on a kind of core are; -1 for none.
func (d *counted) kind(row int32, vector bool) int32 {
	at := d.of[row] - 1
	if at >= 0 && d.counts[at].vector != vector {
		at = d.counts[at].other - 1
	}
	return at
}

// values is the counters of place at.
func (d *counted) values(at int32) []int64 { return d.counters[int(at)*d.stride:][:d.stride] }

// kernelsCounted is of how many tasks something was counted.
func (d *counted) kernelsCounted() (n int) {
	for _, at := range d.of {
		if at > 0 {
			n++
		}
	}
	return n
}

// accounts fills in the cycle accounts of the tasks of which something was counted, in the order in which they are recorded.
func (d *deviceData) accounts(rows []trace.Account) {
	pipes := d.pipes()
	n := 0
	for i := range d.inOrder() {
		if d.of[i] > 0 {
			rows[n] = d.account(int32(i), &pipes)
			n++
		}
	}
}

// account is the cycle account of what was counted during the task row. Negative sums of hostile counters do no harm.
func (d *deviceData) account(row int32, pipes *[2][10]pipe) (a trace.Account) {
	for kind := range pipes {
		at := d.counted.kind(row, kind == 1)
		if at < 0 {
			continue
		}
		a.Total += d.counts[at].cycles
		for i, v := range d.counted.values(at) {
			pipes[kind][i].add(&a, v)
		}
	}
	return a
}

// pipe is what an event counts in a cycle account.
type pipe uint8

const (
	noPipe pipe = iota
	vectorPipe
	scalarPipe
	cubePipe
	mte1Pipe
	mte2Pipe
	mte3Pipe
	fixpipePipe
	l2Hits
	l2Misses
)

func (p pipe) add(a *trace.Account, v int64) {
	switch p {
	case vectorPipe:
		a.Vector += v
	case scalarPipe:
		a.Scalar += v
	case cubePipe:
		a.Cube += v
	case mte1Pipe:
		a.MTE1 += v
	case mte2Pipe:
		a.MTE2 += v
	case mte3Pipe:
		a.MTE3 += v
	case fixpipePipe:
		a.Fixpipe += v
	case l2Hits:
		a.L2Hits += v
	case l2Misses:
		a.L2Misses += v
	}
}

// pipes is what the device's events count, by kind of core and place.
func (d *deviceData) pipes() (out [2][10]pipe) {
	for kind, list := range []string{d.sample.CubeEvents, d.sample.VectorEvents} {
		for i, e := range events(list) {
			if i < len(out[kind]) {
				out[kind][i] = pipeOf(e, d.v6())
			}
		}
	}
	return out
}

func pipeOf(e uint16, v6 bool) pipe {
	if v6 {
		switch e {
		case 0x501:
			return vectorPipe
		case 0x1:
			return scalarPipe
		case 0x301:
			return cubePipe
		case 0x701:
			return mte1Pipe
		case 0x202:
			return mte2Pipe
		case 0x203:
			return mte3Pipe
		case 0x714:
			return fixpipePipe
		}
		return noPipe
	}
	switch e {
	case 0x8:
		return vectorPipe
	case 0x9:
		return scalarPipe
	case 0xa, 0x416, 0x417:
		return cubePipe
	case 0xb, 0x302:
		return mte1Pipe
	case 0xc:
		return mte2Pipe
	case 0xd:
		return mte3Pipe
	case 0x303:
		return fixpipePipe
	case 0x500, 0x504, 0x508:
		return l2Hits
	case 0x502, 0x506, 0x50a:
		return l2Misses
	}
	return noPipe
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
