package npt

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// Modes of a column.
const (
	modeConst = 0 // one value for all rows
	modePlain = 1 // a value a row
	modeDelta = 2 // the difference to the row above; the row above the first is 0
)

// columnWriter appends columns of numbers to a payload: a byte with the mode, then zigzag varints.
type columnWriter struct {
	b []byte
	v []int64 // the column at hand
	// The first column of a chunk is never constant, so that a chunk is at least one byte a row and a small file
	// cannot claim a huge number of rows.
	first bool
}

func (c *columnWriter) start(rows int) {
	if cap(c.v) < rows {
		c.v = make([]int64, rows)
	}
	c.b, c.v, c.first = c.b[:0], c.v[:rows], true
}

// put appends the column of one field; the closure is inlined.
func put[R any](c *columnWriter, rows []R, field func(*R) int64) {
	for i := range rows {
		c.v[i] = field(&rows[i])
	}
	c.write()
}

func (c *columnWriter) write() {
	plain, delta, same, prev := 0, 0, true, int64(0)
	for i, v := range c.v {
		plain += varintLen(zigzag(v))
		delta += varintLen(zigzag(v - prev))
		same = same && (i == 0 || v == prev)
		prev = v
	}
	switch {
	case same && !c.first:
		c.b = binary.AppendUvarint(append(c.b, modeConst), zigzag(c.v[0]))
	case delta < plain:
		c.b = append(c.b, modeDelta)
		prev = 0
		for _, v := range c.v {
			c.b = binary.AppendUvarint(c.b, zigzag(v-prev))
			prev = v
		}
	default:
		c.b = append(c.b, modePlain)
		for _, v := range c.v {
			c.b = binary.AppendUvarint(c.b, zigzag(v))
		}
	}
	c.first = false
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
func varintLen(u uint64) int  { return (bits.Len64(u|1) + 6) / 7 }

// columnReader takes columns from a payload. After an error it takes nothing and keeps the error.
type columnReader struct {
	b     []byte
	v     []int64 // the column at hand
	at    []int64 // the times from which it holds distances
	first bool
	zero  bool // the column at hand is all zero
	err   error
}

func (c *columnReader) start(payload []byte, rows int) {
	if cap(c.v) < rows {
		c.v = make([]int64, rows)
	}
	*c = columnReader{b: payload, v: c.v[:rows], at: c.at, first: true}
}

// take reads the next column into a field of all rows, which are zero so far. Values above limit, and negative ones
// when there is a limit, are an error; limit 0 means that any value will do.
func take[R any](c *columnReader, rows []R, limit uint64, set func(*R, int64)) {
	if !c.read(limit) {
		return
	}
	v := c.v[:len(rows)]
	for i := range rows {
		set(&rows[i], v[i])
	}
}

// read decodes the next column into c.v. It reports false when there is nothing to set.
func (c *columnReader) read(limit uint64) bool {
	if c.err != nil {
		return false
	}
	c.zero = false
	c.err = c.decode()
	c.first = false
	if c.err != nil || c.zero && limit > 0 {
		return false // a field without a limit may be a distance from another
	}
	all := uint64(0)
	for _, v := range c.v {
		all |= uint64(v)
	}
	if limit > 0 && all > limit {
		c.err = errLarge
	}
	return c.err == nil
}

// largest is the largest value of the column at hand, which has no negative ones.
func (c *columnReader) largest() (most int64) {
	for _, v := range c.v {
		most = max(most, v)
	}
	return most
}

var (
	errShort = errors.New("a column ends early")
	errMode  = errors.New("a column has an unknown mode")
	errConst = errors.New("the first column is constant")
	errLarge = errors.New("a value is larger than its field")
)

func (c *columnReader) decode() error {
	if len(c.b) == 0 {
		return errShort
	}
	mode := c.b[0]
	c.b = c.b[1:]
	switch {
	case mode > modeDelta:
		return errMode
	case mode == modeConst && c.first:
		return errConst
	case mode == modeConst:
		u, n := binary.Uvarint(c.b)
		if n <= 0 {
			return errShort
		}
		c.b = c.b[n:]
		c.zero = u == 0
		for i := range c.v {
			c.v[i] = unzigzag(u)
		}
		return nil
	}
	b := c.b
	prev, keep := int64(0), -int64(mode>>1) // all ones for deltas
	for i := range c.v {
		var u uint64
		switch {
		case len(b) > 0 && b[0] < 0x80:
			u, b = uint64(b[0]), b[1:]
		case len(b) > 1 && b[1] < 0x80:
			u, b = uint64(b[0]&0x7f)|uint64(b[1])<<7, b[2:]
		case len(b) > 2 && b[2] < 0x80:
			u, b = uint64(b[0]&0x7f)|uint64(b[1]&0x7f)<<7|uint64(b[2])<<14, b[3:]
		default:
			var n int
			if u, n = binary.Uvarint(b); n <= 0 {
				return errShort
			}
			b = b[n:]
		}
		prev = prev&keep + unzigzag(u)
		c.v[i] = prev
	}
	c.b = b
	return nil
}
