package npt

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"npu/internal/trace"
)

// chunk is a chunk of a file on its way to the recorder. It is used again for another: its memory is as large as the
// largest that came by.
type chunk struct {
	head
	header  [chunkHead]byte
	packed  bytes.Buffer // what is stored
	opened  []byte       // memory to unpack into
	payload []byte       // what it holds
	columns columnReader
	err     error
	done    chan struct{} // takes a value when it is decoded

	// Rows of whole chunks are handed on as they are; those of others, and of all other tables, are copied.
	part     *trace.Part
	small    trace.Part
	spans    []trace.Span
	counters []trace.Counter
	accounts []trace.Account
	name     int64 // the largest id of a name of the rows
	acct     int64 // and of an account
	ordered  bool  // for Skim: the tasks stand in canonical order
}

// fetch reads what is stored.
func (c *chunk) fetch(in io.Reader) error {
	if n, err := io.ReadFull(in, c.header[:]); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return errors.New("the end chunk is missing (was the run interrupted?)")
		}
		return cut(err, chunkHead, n)
	}
	c.head.get(c.header[:])
	switch {
	case c.stored > maxRaw || c.raw > maxRaw || c.rows > maxRows:
		return fmt.Errorf("chunk says %d rows and %d bytes, more than the format allows", c.rows, max(c.stored, c.raw))
	case c.kind != kindMeta && c.stored < c.rows:
		return fmt.Errorf("chunk says %d rows in %d bytes, less than a byte a row", c.rows, c.stored)
	}
	c.packed.Reset()
	if n, err := io.CopyN(&c.packed, in, int64(c.stored)); err != nil {
		return cut(err, int(c.stored), int(n))
	}
	return nil
}

func cut(err error, want, got int) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%d bytes are due, and %d are left (was the file cut short?)", want, got)
	}
	return err
}

// decoder unpacks chunks of one goroutine.
type decoder struct{ zstd *zstd.Decoder }

func (z *decoder) close() {
	if z.zstd != nil {
		z.zstd.Close()
	}
}

// decode takes what is stored apart, as far as that needs no other chunk.
func (c *chunk) decode(z *decoder, s *skim) {
	if c.err != nil {
		return
	}
	packed := c.packed.Bytes()
	if got := sum(c.header[:], packed); got != c.hash {
		c.err = fmt.Errorf("chunk of %s has the checksum %016x, and says %016x", c.kind, got, c.hash)
		return
	}
	if c.err = c.unpack(z, packed); c.err == nil {
		c.err = c.split(s)
	}
	if c.err != nil {
		c.err = fmt.Errorf("chunk of %s: %w", c.kind, c.err)
	}
}

func (c *chunk) unpack(z *decoder, packed []byte) (err error) {
	switch c.encoding {
	case storedRaw:
		c.payload = packed
	case storedZstd:
		if z.zstd == nil {
			if z.zstd, err = newDecoder(); err != nil {
				return err
			}
		}
		if cap(c.opened) < int(c.raw) {
			c.opened = make([]byte, 0, c.raw)
		}
		if c.payload, err = z.zstd.DecodeAll(packed, c.opened[:0:c.raw]); err != nil {
			return fmt.Errorf("decompress: %w", err)
		}
	default:
		return fmt.Errorf("encoding %d is unknown", c.encoding)
	}
	if len(c.payload) != int(c.raw) {
		return fmt.Errorf("%d bytes of payload, and the header says %d", len(c.payload), c.raw)
	}
	return nil
}

// split decodes columns.
func (c *chunk) split(s *skim) error {
	rows := int(c.rows)
	c.columns.start(c.payload, rows)
	switch c.kind {
	case kindTasks:
		if c.part = &c.small; s == nil && rows == trace.ChunkRows {
			c.part = &trace.Part{}
		}
		c.part.Reset(rows)
		c.name, c.acct = takeTasks(&c.columns, c.part, s)
		c.ordered = s != nil && c.columns.err == nil && c.part.Tasks().Ordered()
	case kindSpans:
		if s == nil && rows == trace.ChunkRows {
			c.spans = make([]trace.Span, rows)
		}
		c.spans = resize(c.spans, rows)
		takeSpans(&c.columns, c.spans)
		c.name = 0
		for i := range c.spans {
			c.name = max(c.name, int64(c.spans[i].Name))
		}
	case kindCounters:
		c.counters = resize(c.counters, rows)
		takeCounters(&c.columns, c.counters)
	case kindAccounts:
		c.accounts = resize(c.accounts, rows)
		takeAccounts(&c.columns, c.accounts)
	default:
		return nil
	}
	return c.columns.done()
}
