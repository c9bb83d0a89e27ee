package msprof

import (
	"context"
	"encoding/binary"

	"npu/internal/trace"
)

// Function types of what is sampled beside the tasks, in stars_soc.data or stars_soc_profile.data.
const (
	qosSample  = 0x18
	dieLink    = 0x19
	chipLink   = 0x1B
	lowPower   = 0x1D
	blockStart = 0x24
	blockEnd   = 0x25
)

// socTables is the tables that samples of the scheduler become.
type socTables struct{ sio, chips, qos, power, blocks *trace.Sheet }

func (d *deviceData) socSheet(s **trace.Sheet, name string, ints ...string) *trace.Sheet {
	if *s == nil {
		columns := []trace.SheetColumn{trace.IntColumn("device"), trace.IntColumn("time_ns")}
		for _, c := range ints {
			columns = append(columns, trace.IntColumn(c))
		}
		*s = trace.NewSheet(name, columns...)
	}
	return *s
}

// addInts adds a row of whole numbers.
func addInts(s *trace.Sheet, values ...int64) {
	for i, v := range values {
		s.Columns[i].Int = append(s.Columns[i].Int, v)
	}
	s.Rows++
}

// readSocProfile reads stars_soc_profile.data: records of 64 bytes on all chips.
func (d *deviceData) readSocProfile(ctx context.Context) error {
	var g gaps
	n, left, err := d.records(ctx, "stars_soc_profile.data", starsRecord, func(rec []byte) {
		head := binary.LittleEndian.Uint16(rec)
		if d.v6() && head&63 == dieLink { // the 16 bits are two fields of 8 there
			head &= 63
		} else if binary.LittleEndian.Uint16(rec[2:]) != magic {
			d.bad++
			return
		} else {
			g.see(uint8(head >> 6 & 15))
		}
		if !d.socSample(head, rec) {
			d.skipped++
		}
	})
	d.lost += g.lost
	d.count("stars_soc_profile.data", n, left)
	return err
}

// socSample takes a sample of 64 bytes; it says whether it was one.
func (d *deviceData) socSample(head uint16, rec []byte) bool {
	count := u64at(rec, 8)
	at, device, high := d.unix(count), int64(d.number), int64(head>>10)
	at32 := func(from int) int64 { return int64(u32at(rec, from)) }
	switch head & 63 {
	case acceleratorPMU:
		id := binary.LittleEndian.Uint16(rec[18:]) & 63
		for i, name := range []string{"read bandwidth level", "write bandwidth level", "read outstanding level", "write outstanding level"} {
			d.values = append(d.values, value{at, float64(u64at(rec, 32+8*i)), d.label("accelerator", id, name)})
		}
	case interSoC:
		levels := binary.LittleEndian.Uint16(rec[32:])
		d.values = append(d.values, value{at, float64(levels >> 3 & 0xFF), "L2 buffer bandwidth level"}, value{at, float64(levels & 7), "MATA bandwidth level"})
	case dieLink:
		s := d.socSheet(&d.soc.sio, "sio", "link", "request_rx", "response_rx", "snoop_rx", "data_rx", "request_tx", "response_tx", "snoop_tx", "data_tx")
		if d.v6() {
			addInts(s, device, at, int64(rec[1]>>2), at32(28), at32(32), at32(36), at32(40), at32(48), at32(52), at32(56), at32(60))
		} else {
			addInts(s, device, at, int64(binary.LittleEndian.Uint16(rec[18:])), at32(32), at32(36), at32(40), at32(44), at32(48), at32(52), at32(56), at32(60))
		}
	case chipLink:
		s := d.socSheet(&d.soc.chips, "chip_trans", "type", "id", "rx_or_write", "tx_or_read")
		if d.v6() {
			addInts(s, device, at, trace.NoInt, high, int64(u64at(rec, 16)), int64(u64at(rec, 24)))
		} else {
			addInts(s, device, at, high, int64(binary.LittleEndian.Uint16(rec[18:])&63), int64(u64at(rec, 32)), int64(u64at(rec, 40)))
		}
	case qosSample:
		s := d.socSheet(&d.soc.qos, "qos", append([]string{"die"}, numberedNames("bandwidth_%d", 10)...)...)
		addInts(s, device, at, high, at32(24), at32(28), at32(32), at32(36), at32(40), at32(44), at32(48), at32(52), at32(56), at32(60))
	case lowPower:
		s := d.socSheet(&d.soc.power, "low_power", append(append([]string{"die"}, numberedNames("data%d_hard", 10)...), numberedNames("data%d_soft", 10)...)...)
		values := []int64{device, at, high}
		for i := range 20 {
			values = append(values, int64(binary.LittleEndian.Uint16(rec[24+2*(i^1):]))) // pairs come with the second first
		}
		addInts(s, values...)
	default:
		return false
	}
	return true
}

// blockKey names a block of a task on its core.
type blockKey struct {
	task        uint32
	block       uint16
	kind, core  uint8
	contextType uint8
}

// readBlocks reads stars_block.data: 32 bytes when a block of a kernel starts on a core, and when it ends.
func (d *deviceData) readBlocks(ctx context.Context) error {
	n, left, err := d.records(ctx, "stars_block.data", starsRecordV6, func(rec []byte) {
		head := binary.LittleEndian.Uint16(rec)
		if binary.LittleEndian.Uint16(rec[2:]) != magic {
			d.bad++
			return
		}
		if !d.block(head, rec) {
			d.skipped++
		}
	})
	d.count("stars_block.data", n, left)
	return err
}

// block takes a start or an end of a block; it says whether it was one.
func (d *deviceData) block(head uint16, rec []byte) bool {
	kind := head & 63
	if kind != blockStart && kind != blockEnd {
		return false
	}
	key := blockKey{u32at(rec, 4), binary.LittleEndian.Uint16(rec[26:]), rec[20] & 1, rec[21], rec[16]}
	if d.openBlocks == nil {
		d.openBlocks = map[blockKey]uint64{}
	}
	count := u64at(rec, 8)
	if kind == blockStart {
		if _, again := d.openBlocks[key]; again {
			d.cutBlocks++
		}
		d.openBlocks[key] = count
		return true
	}
	start, ok := d.openBlocks[key]
	if !ok || start > count {
		d.cutBlocks++
		return true
	}
	delete(d.openBlocks, key)
	stream, task := int64(trace.NoInt), int64(key.task)
	if !d.v6() {
		s, id := d.ids.decode(uint8(head>>10), uint16(key.task), uint16(key.task>>16))
		stream, task = int64(s), int64(id)
	}
	s := d.socSheet(&d.soc.blocks, "block_detail", "duration_ns", "stream", "task", "vector", "core", "block")
	from, to := d.clock.span(start, count)
	addInts(s, int64(d.number), from+d.offset, to-from, stream, task, int64(key.kind), int64(key.core), int64(key.block))
	return true
}

// addSocTables hands the tables on.
func (d *deviceData) addSocTables() {
	if n := int64(len(d.openBlocks)) + d.cutBlocks; n > 0 {
		d.missing("the starts or ends of %d blocks, which were left out", n)
	}
	for _, s := range []*trace.Sheet{d.soc.sio, d.soc.chips, d.soc.qos, d.soc.power, d.soc.blocks} {
		if s != nil {
			s.Trim()
			d.out.AddSheet(s)
		}
	}
}
