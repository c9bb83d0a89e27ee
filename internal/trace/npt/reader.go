package npt

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"npu/internal/problem"
	"npu/internal/trace"
)

// Open reads the capture at path. See Read.
func Open(path string) (*trace.Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	defer f.Close()
	t, err := Read(f)
	if err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Read reads a capture. Where it is damaged or was cut short, Read gives the trace up to the last complete chunk and a
// problem.Damaged error with the offset and the number of good records. The trace is nil only when the file is no
// capture, or of a later version. Memory stays in proportion to what r holds, whatever the lengths in it claim.
func Read(r io.Reader) (*trace.Trace, error) { return ReadInto(r, trace.NewRecorder()) }

// ReadInto is as Read, by way of a recorder that is empty: one that has a tap, say, or a limit.
func ReadInto(r io.Reader, out *trace.Recorder) (*trace.Trace, error) {
	d := reader{
		in: bufio.NewReaderSize(r, 1<<16), out: out, strings: 1, accounts: 1,
		full: make(chan *batch, inFlight), free: make(chan *batch, inFlight),
	}
	var err error
	if d.zstd, err = newDecoder(); err != nil {
		return nil, fmt.Errorf("read capture: %w", err)
	}
	defer d.zstd.Close()
	if err := d.header(); err != nil {
		return nil, err
	}
	for range inFlight {
		d.free <- &batch{}
	}
	go func() {
		defer close(d.full)
		for !d.ended && d.err == nil {
			d.err = d.chunk()
		}
	}()
	for b := range d.full {
		d.out.Tasks(b.tasks)
		d.out.Spans(b.spans)
		d.out.Counters(b.counters)
		d.free <- b
	}
	d.source.Format = "npt"
	if d.err == nil {
		d.out.SetSource(d.source)
		return d.out.Finish(), nil
	}
	d.source.Missing = []string{fmt.Sprintf("the records after offset %#x: %v", d.offset, d.err)}
	d.out.SetSource(d.source)
	return d.out.Finish(), problem.Damagedf("read capture: at offset %#x: %w; the %d records before it are good", d.offset, d.err, d.total.sum())
}

// inFlight is how many batches of rows are on their way from the decoder to the recorder.
const inFlight = 3

// batch is the rows of one chunk.
type batch struct {
	tasks    []trace.Task
	spans    []trace.Span
	counters []trace.Counter
}

// reader decodes in a goroutine of its own, while the caller's records. The decoder alone touches the recorder's
// tables, and the caller alone its rows, until the decoder has closed full.
type reader struct {
	out        *trace.Recorder
	full, free chan *batch

	in       *bufio.Reader
	zstd     *zstd.Decoder
	offset   int64 // of the chunk at hand
	head     [chunkHead]byte
	stored   bytes.Buffer
	raw      []byte
	columns  columnReader
	accounts int // known so far, with the empty one
	strings  int
	total    counts
	source   trace.Source // with the tables that were read
	ended    bool
	err      error
}

func (d *reader) header() error {
	var b [fileHeader]byte
	n, err := io.ReadFull(d.in, b[:])
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return problem.Damagedf("read capture: %w", err)
	case n < len(Magic) || string(b[:len(Magic)]) != Magic:
		return problem.Damagedf("read capture: not an .npt capture: it does not start with the magic \"\\x89NPT\"")
	case n < fileHeader:
		return problem.Damagedf("read capture: the file ends inside its header, after %d bytes", n)
	case b[8] != version || b[9] != 0:
		return problem.Damagedf("read capture: version %d is newer than the %d that this program reads", int(b[8])|int(b[9])<<8, version)
	}
	d.offset = fileHeader
	return nil
}

// chunk reads one chunk and moves the offset past it.
func (d *reader) chunk() error {
	if n, err := io.ReadFull(d.in, d.head[:]); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return errors.New("the end chunk is missing (was the run interrupted?)")
		}
		return cut(err, chunkHead, n)
	}
	var h head
	h.get(d.head[:])
	switch {
	case h.stored > maxRaw || h.raw > maxRaw || h.rows > maxRows:
		return fmt.Errorf("chunk says %d rows and %d bytes, more than the format allows", h.rows, max(h.stored, h.raw))
	case h.kind != kindMeta && h.stored < h.rows:
		return fmt.Errorf("chunk says %d rows in %d bytes, less than a byte a row", h.rows, h.stored)
	}
	d.stored.Reset()
	if n, err := io.CopyN(&d.stored, d.in, int64(h.stored)); err != nil {
		return cut(err, int(h.stored), int(n))
	}
	payload := d.stored.Bytes()
	if got := sum(d.head[:], payload); got != h.hash {
		return fmt.Errorf("chunk of %s has the checksum %016x, and says %016x", h.kind, got, h.hash)
	}
	payload, err := d.unpack(&h, payload)
	if err == nil {
		err = d.rows(&h, payload)
	}
	if err != nil {
		return fmt.Errorf("chunk of %s: %w", h.kind, err)
	}
	d.offset += chunkHead + int64(h.stored)
	return nil
}

func cut(err error, want, got int) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%d bytes are due, and %d are left (was the file cut short?)", want, got)
	}
	return err
}

func (d *reader) unpack(h *head, stored []byte) ([]byte, error) {
	switch h.encoding {
	case storedRaw:
	case storedZstd:
		if cap(d.raw) < int(h.raw) {
			d.raw = make([]byte, 0, h.raw)
		}
		var err error
		if stored, err = d.zstd.DecodeAll(stored, d.raw[:0:h.raw]); err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
	default:
		return nil, fmt.Errorf("encoding %d is unknown", h.encoding)
	}
	if len(stored) != int(h.raw) {
		return nil, fmt.Errorf("%d bytes of payload, and the header says %d", len(stored), h.raw)
	}
	return stored, nil
}
