package npt

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

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
	d := reader{in: bufio.NewReaderSize(r, 1<<16), out: out, strings: 1, accounts: 1}
	if err := d.header(); err != nil {
		return nil, err
	}
	err := d.all()
	return d.out.Finish(), err
}

// all reads up to the end chunk, and tells the recorder where the rows come from.
func (d *reader) all() error {
	d.err = d.chunks()
	d.source.Format = "npt"
	if d.err == nil {
		d.out.SetSource(d.source)
		return nil
	}
	d.source.Missing = []string{fmt.Sprintf("the records after offset %#x: %v", d.offset, d.err)}
	d.out.SetSource(d.source)
	return problem.Damagedf("read capture: at offset %#x: %w; the %d records before it are good", d.offset, d.err, d.total.sum())
}

// reader reads chunks and hands their rows to the recorder in the order of the file; others decode them meanwhile.
type reader struct {
	out      *trace.Recorder
	skim     *skim // nil: the recorder takes tasks and calls
	in       *bufio.Reader
	offset   int64 // of the chunk at hand
	accounts int   // known so far, with the empty one
	strings  int
	total    counts
	source   trace.Source // with the tables that were read
	ended    bool
	err      error
}

// mostDecoders is how many goroutines decode at most: reading and what comes behind it keep no more of them busy.
const mostDecoders = 8

// chunks reads up to the end chunk. The decoders are always a few chunks ahead of the recorder.
func (d *reader) chunks() error {
	n := min(runtime.GOMAXPROCS(0), mostDecoders)
	work := make(chan *chunk, 2*n)
	var decoders sync.WaitGroup
	for range n {
		decoders.Go(func() {
			var z decoder
			defer z.close()
			for c := range work {
				c.decode(&z, d.skim)
				c.done <- struct{}{}
			}
		})
	}
	defer decoders.Wait()
	defer close(work)
	ring := make([]*chunk, cap(work))
	for i := range ring {
		ring[i] = &chunk{done: make(chan struct{}, 1)}
	}
	for first, next, last := 0, 0, false; ; {
		for next-first < len(ring) && !last {
			c := ring[next%len(ring)]
			last = !d.read(c)
			work <- c
			next++
		}
		c := ring[first%len(ring)]
		first++
		<-c.done
		if err := c.err; err != nil {
			return err
		}
		if err := d.take(c); err != nil {
			return fmt.Errorf("chunk of %s: %w", c.kind, err)
		}
		d.offset += chunkHead + int64(c.stored)
		if d.ended {
			return nil
		}
	}
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

// read reads what is stored of the next chunk; false when no other follows, since it is the last or cannot be read.
func (d *reader) read(c *chunk) bool {
	c.err = c.fetch(d.in)
	return c.err == nil && c.kind != kindEnd
}
