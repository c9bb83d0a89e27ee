package npt

import (
	"encoding/binary"
	"errors"
	"math"

	"npu/internal/trace"
)

// Fields of the meta chunk. A field is its number, its length in bytes and its value: text, or a zigzag varint.
const (
	metaChip = iota + 1
	metaModel
	metaPolicy
	metaDevices
	metaCubeCores
	metaVectorCores
	metaDMAEngines
	metaAICPUs
	metaClockMHz
	metaWallOrdered
	metaLost
)

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendMeta(b []byte, m trace.Meta) (out []byte, fields int) {
	text := func(field uint64, s string) {
		if s != "" {
			b = appendString(binary.AppendUvarint(b, field), s)
			fields++
		}
	}
	number := func(field uint64, v int64) {
		if v != 0 {
			u := zigzag(v)
			b = binary.AppendUvarint(b, field)
			b = binary.AppendUvarint(b, uint64(varintLen(u)))
			b = binary.AppendUvarint(b, u)
			fields++
		}
	}
	text(metaChip, m.Chip)
	text(metaModel, m.Model)
	text(metaPolicy, m.Policy)
	number(metaDevices, int64(m.Devices))
	number(metaCubeCores, int64(m.CubeCores))
	number(metaVectorCores, int64(m.VectorCores))
	number(metaDMAEngines, int64(m.DMAEngines))
	number(metaAICPUs, int64(m.AICPUs))
	number(metaClockMHz, int64(m.ClockMHz))
	if m.WallOrdered {
		number(metaWallOrdered, 1)
	}
	number(metaLost, m.Lost)
	return b, fields
}

// cursor takes values from a payload. After an error it gives zero values and keeps the error.
type cursor struct {
	b   []byte
	err error
}

var errTable = errors.New("a value ends early or is too large")

func (c *cursor) uvarint(limit uint64) uint64 {
	u, n := binary.Uvarint(c.b)
	if n <= 0 || u > limit {
		c.fail()
		return 0
	}
	c.b = c.b[n:]
	return u
}

func (c *cursor) varint() int64 { return unzigzag(c.uvarint(math.MaxUint64)) }

func (c *cursor) bytes() []byte {
	n := c.uvarint(maxString)
	if n > uint64(len(c.b)) {
		c.fail()
		return nil
	}
	v := c.b[:n]
	c.b = c.b[n:]
	return v
}

func (c *cursor) fail() {
	c.b = nil
	if c.err == nil {
		c.err = errTable
	}
}

func (c *cursor) done() error {
	if c.err == nil && len(c.b) > 0 {
		return errors.New("bytes are left after the last row")
	}
	return c.err
}

// takeMeta reads the fields that it knows and skips those of later versions.
func takeMeta(payload []byte, rows int) (trace.Meta, error) {
	var m trace.Meta
	c := cursor{b: payload}
	for range rows {
		field := c.uvarint(math.MaxUint32)
		value := c.bytes()
		if c.err != nil {
			break
		}
		v := cursor{b: value}
		switch field {
		case metaChip:
			m.Chip = string(value)
		case metaModel:
			m.Model = string(value)
		case metaPolicy:
			m.Policy = string(value)
		case metaDevices:
			m.Devices = int(v.varint())
		case metaCubeCores:
			m.CubeCores = int(v.varint())
		case metaVectorCores:
			m.VectorCores = int(v.varint())
		case metaDMAEngines:
			m.DMAEngines = int(v.varint())
		case metaAICPUs:
			m.AICPUs = int(v.varint())
		case metaClockMHz:
			m.ClockMHz = int(v.varint())
		case metaWallOrdered:
			m.WallOrdered = v.varint() != 0
		case metaLost:
			m.Lost = v.varint()
		}
		if v.err != nil {
			return m, v.err
		}
	}
	return m, c.done()
}

func takeStrings(payload []byte, rows int) ([]string, error) {
	c := cursor{b: payload}
	out := make([]string, 0, min(rows, len(payload)))
	for i := 0; i < rows && c.err == nil; i++ {
		out = append(out, string(c.bytes()))
	}
	return out, c.done()
}

func appendStreams(b []byte, streams []trace.Stream) []byte {
	for _, s := range streams {
		b = binary.AppendUvarint(b, uint64(s.Device))
		b = binary.AppendUvarint(b, uint64(s.ID))
		b = binary.AppendUvarint(b, zigzag(int64(s.Priority)))
		b = appendString(b, s.Name)
	}
	return b
}

func takeStreams(payload []byte, rows int, each func(trace.Stream)) error {
	c := cursor{b: payload}
	for i := 0; i < rows && c.err == nil; i++ {
		s := trace.Stream{Device: uint16(c.uvarint(math.MaxUint16)), ID: uint32(c.uvarint(math.MaxUint32)), Priority: int(c.varint())}
		if s.Name = string(c.bytes()); c.err == nil {
			each(s)
		}
	}
	return c.done()
}

func appendThreads(b []byte, threads []trace.Thread) []byte {
	for _, t := range threads {
		b = appendString(binary.AppendUvarint(b, uint64(t.ID)), t.Name)
	}
	return b
}

func takeThreads(payload []byte, rows int, each func(trace.Thread)) error {
	c := cursor{b: payload}
	for i := 0; i < rows && c.err == nil; i++ {
		t := trace.Thread{ID: uint16(c.uvarint(math.MaxUint16))}
		if t.Name = string(c.bytes()); c.err == nil {
			each(t)
		}
	}
	return c.done()
}

// counts is what the end chunk holds: all rows of the file.
type counts struct{ tasks, spans, counters uint64 }

func (n counts) append(b []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(b, n.tasks), n.spans), n.counters)
}

func takeCounts(payload []byte) (counts, error) {
	c := cursor{b: payload}
	n := counts{c.uvarint(math.MaxUint64), c.uvarint(math.MaxUint64), c.uvarint(math.MaxUint64)}
	return n, c.done()
}
