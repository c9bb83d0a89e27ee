package perfetto

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"npu/internal/problem"
)

// Begins says whether head, the first bytes of a file, are those of a packet: its field, and no text behind it. JSON may begin
// with the same byte, a line feed.
func Begins(head []byte) bool {
	return len(head) > 2 && head[0] == '\n' && bytes.ContainsFunc(head, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == utf8.RuneError
	})
}

// Summary is what a Perfetto trace holds, and what is wrong with it.
type Summary struct {
	Packets, Tracks, Slices, Instants, Values, Arrows int64

	Problems int64    // in all
	First    []string // the first of them, each with its place in the file
}

const sayFirst = 10

// Check reads a trace as the public schema and the viewer's importer have it: every field has the number, wire type and place
// that the schema gives it, names are known before they are used, tracks are described, slices end in the order in which they
// began, and arrows point forward in time. It knows the part of the schema that Write uses; what lies beyond is a problem, too.
// Where the trace ends within a packet, what was read until there is given with a problem.Damaged error.
func Check(in io.Reader) (Summary, error) {
	c := &checker{r: bufio.NewReaderSize(in, 1<<16), tracks: map[uint64]*track{}, known: map[protowire.Number]map[uint64]bool{}, arrows: map[uint64]int64{}}
	err := c.packets()
	for uuid, t := range c.tracks {
		if len(t.open) > 0 {
			c.say("%d slices of track %d never end", len(t.open), uuid)
		}
	}
	if len(c.arrows) > 0 {
		c.say("%d arrows have no end", len(c.arrows))
	}
	return c.Summary, problem.Mark(problem.Damaged, err)
}

type checker struct {
	Summary
	r     *bufio.Reader
	at    int64  // in the file, of the packet at hand
	next  int64  // of the one after it
	b     []byte // the packet
	begun bool   // the state was cleared and the clock is known
	now   int64

	tracks map[uint64]*track
	known  map[protowire.Number]map[uint64]bool // interned ids by table: the field of InternedData
	arrows map[uint64]int64                     // by id: when the slice began that it comes from
}

// track is a track with the begins of its open slices.
type track struct {
	counter, process bool
	open             []int64
}

func (c *checker) say(format string, args ...any) {
	if c.Problems++; len(c.First) < sayFirst {
		c.First = append(c.First, fmt.Sprintf("at offset %#x: ", c.at)+fmt.Sprintf(format, args...))
	}
}

func (c *checker) packets() error {
	for {
		c.at = c.next
		head, err := c.r.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read Perfetto trace: %w", err)
		}
		if head != byte(protowire.EncodeTag(tracePacket, framed)) {
			return fmt.Errorf("read Perfetto trace: at offset %#x: byte %#02x where a packet starts with 0x0a", c.at, head)
		}
		size, n, err := uvarint(c.r)
		if err != nil {
			return fmt.Errorf("read Perfetto trace: at offset %#x: the length of the packet: %w", c.at, err)
		}
		if c.b, err = take(c.r, c.b, size); err != nil {
			return fmt.Errorf("read Perfetto trace: at offset %#x: the packet has %d bytes of %d: %w", c.at, len(c.b), size, err)
		}
		c.next = c.at + 1 + int64(n) + int64(size)
		c.Packets++
		c.packet(c.b)
	}
}

// take reads size bytes into b. It grows by what arrives, not by what was announced.
func take(r io.Reader, b []byte, size uint64) ([]byte, error) {
	b = b[:0]
	for size > 0 {
		n := min(size, 1<<16)
		from := len(b)
		b = append(b, make([]byte, n)...)
		got, err := io.ReadFull(r, b[from:])
		b = b[:from+got]
		if err != nil {
			return b, io.ErrUnexpectedEOF
		}
		size -= n
	}
	return b, nil
}

// uvarint reads a number of at most 63 bits, and says how many bytes it has.
func uvarint(r io.ByteReader) (v uint64, n int, err error) {
	for n < 9 {
		b, err := r.ReadByte()
		if err != nil {
			return 0, n, io.ErrUnexpectedEOF
		}
		v |= uint64(b&0x7f) << (7 * n)
		if n++; b < 0x80 {
			return v, n, nil
		}
	}
	return 0, n, errors.New("longer than 63 bits")
}
