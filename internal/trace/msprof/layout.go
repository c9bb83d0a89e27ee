package msprof

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"

	"npu/internal/trace"
)

// layout is a kind of records of one size, and the table that they become: a row a record, a column a cell.
type layout struct {
	kind, table string
	size        int
	magic       uint16 // at 0; 0 for none
	cells       []cell
}

// cell is a value within a record.
type cell struct {
	name string
	at   int
	as   cellType
}

type cellType uint8

const (
	asU8 cellType = iota
	asU16
	asU32
	asU64
	asI64
	asCount   // of the counter of host or device: a time
	asStamp   // of a clock that is found out
	asMicros  // the same, most likely microseconds of the monotonic clock of the host
	asDevice  // nanoseconds of that of the device
	asHost    // nanoseconds of that of the host
	asHash    // the number of a string
	asText16  // text of 16 bytes, or up to a zero
	asText64  // the same of 64
	asAddress // an address, as text: it may fill 64 bits
)

// place is where the records of a folder come from, and how their times are told.
type place struct {
	device int // -1 for the host
	unix   func(count uint64) int64
	dict   *dictionary
	pick   func(lo, hi uint64, likely cellType) func(uint64) int64 // the clock of stamps between lo and hi; nil when none fits
}

// table reads the records of a layout. It gives the table, nil without rows, how many records there were and how many of those
// were bad, and how many bytes were left over.
func (f *folder) table(ctx context.Context, l *layout, p *place) (s *trace.Sheet, n, bad, left int64, err error) {
	columns := []trace.SheetColumn{}
	rows := f.about(l.kind, l.size)
	ints := func(name string) {
		columns = append(columns, trace.SheetColumn{Name: name, Type: trace.ColumnInt, Int: make([]int64, 0, rows)})
	}
	if p.device >= 0 {
		ints("device")
	}
	first := len(columns)
	for i := range l.cells {
		switch c := &l.cells[i]; c.as {
		case asHash, asText16, asText64, asAddress:
			columns = append(columns, trace.TextColumn(c.name))
		default:
			ints(c.name)
		}
	}
	texts := map[string]string{}
	n, left, err = f.records(ctx, l.kind, l.size, func(rec []byte) {
		if l.magic != 0 && binary.LittleEndian.Uint16(rec) != l.magic {
			bad++
			return
		}
		if p.device >= 0 {
			columns[0].Int = append(columns[0].Int, int64(p.device))
		}
		for i := range l.cells {
			c, to := &l.cells[i], &columns[first+i]
			if to.Type == trace.ColumnText {
				to.Text = append(to.Text, c.text(rec, p, texts))
			} else {
				to.Int = append(to.Int, c.number(rec, p))
			}
		}
	})
	s = trace.NewSheet(l.table, columns...)
	s.Rows = int(n - bad)
	for i := range l.cells {
		if as := l.cells[i].as; as >= asStamp && as <= asHost {
			settleStamps(s.Columns[first+i].Int, p, as)
		}
	}
	return s, n, bad, left, err
}

// number is the value of a cell that is no text; NoInt for what does not fit.
func (c *cell) number(rec []byte, p *place) int64 {
	switch c.as {
	case asU8:
		return int64(rec[c.at])
	case asU16:
		return int64(binary.LittleEndian.Uint16(rec[c.at:]))
	case asU32:
		return int64(u32at(rec, c.at))
	}
	v := u64at(rec, c.at)
	switch {
	case c.as == asI64:
		return int64(v)
	case c.as == asCount && v == 0, v > math.MaxInt64:
		return trace.NoInt
	case c.as == asCount:
		return p.unix(v)
	}
	return int64(v)
}

// text is the value of a cell that is text; equal ones share their memory.
func (c *cell) text(rec []byte, p *place, texts map[string]string) string {
	var b []byte
	switch c.as {
	case asHash:
		return p.dict.name(u64at(rec, c.at))
	case asAddress:
		return "0x" + hexOf(u64at(rec, c.at))
	case asText16:
		b, _, _ = bytes.Cut(rec[c.at:c.at+16], []byte{0})
	default:
		b, _, _ = bytes.Cut(rec[c.at:c.at+64], []byte{0})
	}
	if s, ok := texts[string(b)]; ok {
		return s
	}
	s := string(bytes.ToValidUTF8(b, []byte("\ufffd")))
	texts[string(b)] = s
	return s
}

func hexOf(v uint64) string {
	const digits = "0123456789abcdef"
	var b [16]byte
	at := len(b)
	for at == len(b) || v > 0 {
		at--
		b[at] = digits[v&15]
		v >>= 4
	}
	return string(b[at:])
}

// settleStamps makes times of stamps, or none where no clock fits.
func settleStamps(list []int64, p *place, likely cellType) {
	lo, hi, some := uint64(math.MaxUint64), uint64(0), false
	for _, v := range list {
		if v >= 0 {
			lo, hi, some = min(lo, uint64(v)), max(hi, uint64(v)), true
		}
	}
	if !some {
		return
	}
	at := p.pick(lo, hi, likely)
	for i, v := range list {
		if list[i] = trace.NoInt; at != nil && v >= 0 {
			list[i] = at(uint64(v))
		}
	}
}
