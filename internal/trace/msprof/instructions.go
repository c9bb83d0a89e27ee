package msprof

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"

	"npu/internal/trace"
)

// Control types of the words of an instruction trace of 950.
const (
	wordStamp = 14
	wordState = 15
)

// readInstructions reads the instruction traces of the cores: states of the pipes on 950, counts of cycles and of traffic before.
func (d *deviceData) readInstructions(ctx context.Context) error {
	states := trace.NewSheet("instruction_states", trace.IntColumn("device"), trace.IntColumn("group_id"), trace.TextColumn("core"), trace.IntColumn("block"), trace.TextColumn("pipe"), trace.IntColumn("start_ns"), trace.IntColumn("duration_ns"), trace.IntColumn("checkpoint"))
	cycles := trace.NewSheet("biu_cycles", trace.IntColumn("device"), trace.IntColumn("group_id"), trace.TextColumn("core"), trace.IntColumn("count"), trace.IntColumn("vector_cycles"), trace.IntColumn("scalar_cycles"), trace.IntColumn("cube_cycles"),
		trace.IntColumn("mte1_cycles"), trace.IntColumn("mte2_cycles"), trace.IntColumn("mte3_cycles"))
	flow := trace.NewSheet("biu_flow", trace.IntColumn("device"), trace.IntColumn("group_id"), trace.TextColumn("core"), trace.IntColumn("count"), trace.IntColumn("read_commands"), trace.IntColumn("write_commands"), trace.IntColumn("read_latency"), trace.IntColumn("write_latency"),
		trace.IntColumn("read_flux"), trace.IntColumn("write_flux"), trace.IntColumn("read_flux_l2"), trace.IntColumn("write_flux_l2"), trace.IntColumn("l2_hits"))
	for _, kind := range slices.Sorted(maps.Keys(d.kinds)) {
		group, core, words, ok := instructionCore(kind)
		if !ok {
			continue
		}
		var n, left int64
		var err error
		if words {
			in := instructionTrace{d: d, group: group, core: core, to: states, pace: d.countsPerCycle()}
			n, left, err = d.records(ctx, kind, 4, in.word)
			d.bad += in.bad
		} else {
			n, left, err = d.monitors(ctx, kind, group, core, cycles, flow)
		}
		d.count(kind, n, left)
		if err != nil {
			return err
		}
	}
	for _, s := range []*trace.Sheet{states, cycles, flow} {
		s.Trim()
		d.out.AddSheet(s)
	}
	return nil
}

// countsPerCycle is how many counts of the device's counter a cycle of the cores takes.
func (d *deviceData) countsPerCycle() float64 {
	if mhz := d.nominalMHz(false); mhz > 0 {
		return d.clock.mhz / mhz
	}
	return 0
}

// instructionTrace reads the words of one core of 950: u16 cycles since the word before, and 12 bits of what happened with 4 of
// what kind it is. Four words of stamps give the count and the block.
type instructionTrace struct {
	d      *deviceData
	group  int64
	core   string
	to     *trace.Sheet
	pace   float64
	stamps [4]uint32
	n      int // of stamps that came in a row
	base   float64
	block  int64
	since  [7]float64
	state  uint16
	filler bool
	bad    int64
}

var pipeWords = [...]string{"SU", "VEC", "CUBE", "MTE1", "MTE2", "MTE3", "FIXP"}

func (t *instructionTrace) word(rec []byte) {
	w := binary.LittleEndian.Uint32(rec)
	switch {
	case w == 0xEFFFFFFF: // the end of what one kernel left; padding follows
		t.filler = true
		return
	case t.filler && w == 0xDDDDDDDD:
		return
	}
	t.filler = false
	kind := w >> 28
	if kind == wordStamp {
		t.stamps[t.n] = w
		if t.n++; t.n == len(t.stamps) {
			t.n = 0
			count := uint64(0)
			for i, v := range t.stamps {
				count |= uint64(v&0xFFFF) << (16 * i)
			}
			t.base = float64(count)
			t.block = int64(t.stamps[1]>>16&0xFF<<8 | t.stamps[0]>>16&0xFF)
		}
		return
	}
	if t.n > 0 { // a stamp without its rest
		t.bad++
		t.n = 0
	}
	t.base += float64(w&0xFFFF) * t.pace
	events := uint16(w >> 16 & 0xFFF)
	switch {
	case kind == wordState:
		for i := range pipeWords {
			on, was := events>>i&1, t.state>>i&1
			if on > was {
				t.since[i] = t.base
			} else if on < was {
				t.add(pipeWords[i], t.since[i], t.base, trace.NoInt)
			}
		}
		t.state = events
	case int(kind) < len(pipeWords):
		t.add(pipeWords[kind], t.base, t.base, int64(events))
	default:
		t.bad++
	}
}

func (t *instructionTrace) add(pipe string, from, to float64, checkpoint int64) {
	if from < 0 || to < from || to >= 1<<63 {
		t.bad++
		return
	}
	start := t.d.unix(uint64(from))
	s := t.to
	s.Columns[0].Int, s.Columns[1].Int, s.Columns[2].Text = append(s.Columns[0].Int, int64(t.d.number)), append(s.Columns[1].Int, t.group), append(s.Columns[2].Text, t.core)
	s.Columns[3].Int, s.Columns[4].Text = append(s.Columns[3].Int, t.block), append(s.Columns[4].Text, pipe)
	s.Columns[5].Int, s.Columns[6].Int, s.Columns[7].Int = append(s.Columns[5].Int, start), append(s.Columns[6].Int, t.d.unix(uint64(to))-start), append(s.Columns[7].Int, checkpoint)
	s.Rows++
}

// monitors reads the counts of one core before 950: 96 bytes of a cube core, of which two monitors have every other 8 from 32 on, or 64
// of a vector core.
func (d *deviceData) monitors(ctx context.Context, kind string, group int64, core string, cycles, flow *trace.Sheet) (n, left int64, err error) {
	size, cube := 64, core == "aic"
	if cube {
		size = 96
	}
	var last [6]int64
	text := func(s *trace.Sheet, values ...int64) {
		for i, v := range values {
			c := &s.Columns[i]
			if i >= 2 {
				c = &s.Columns[i+1]
			}
			c.Int = append(c.Int, v)
		}
		s.Columns[2].Text = append(s.Columns[2].Text, core)
		s.Rows++
	}
	return d.records(ctx, kind, size, func(rec []byte) {
		var m, f [32]byte
		copy(m[:], rec[32:])
		if cube {
			for i := range 4 {
				copy(m[8*i:], rec[40+16*i:][:8])
				copy(f[8*i:], rec[32+16*i:][:8])
			}
		}
		count := int64(0)
		for i, at := range []int{7, 8, 14, 15} {
			count |= twelve(&m, at) << (12 * i)
		}
		count |= int64(binary.LittleEndian.Uint16(m[30:])) << 48
		if cube { // the stamp of its first monitor means nothing
			count = int64(u64at(f[:], 22))
			at := func(i int) int64 { return int64(f[4+3*i]) | int64(f[5+3*i])<<8 | int64(f[6+3*i])<<16 }
			text(flow, int64(d.number), group, count, int64(binary.LittleEndian.Uint16(f[:])), int64(binary.LittleEndian.Uint16(f[2:])), at(0), at(1), at(2), at(3), at(4), at(5), int64(binary.LittleEndian.Uint16(f[30:])))
		}
		// vector, scalar, cube and three load and store units: counters of 12 bits
		var since [6]int64
		for i := range since {
			v := twelve(&m, i)
			since[i] = (v - last[i]) & 0xFFF
			last[i] = v
		}
		if cube {
			since[0] = 0
		} else {
			since[2] = 0
		}
		text(cycles, int64(d.number), group, count, since[0], since[1], since[2], since[3], since[4], since[5])
	})
}

// twelve is value i of a row of numbers of 12 bits.
func twelve(b *[32]byte, i int) int64 {
	at := i / 2 * 3
	if v := int64(b[at]) | int64(b[at+1])<<8 | int64(b[at+2])<<16; i%2 == 0 {
		return v & 0xFFF
	} else {
		return v >> 12
	}
}
