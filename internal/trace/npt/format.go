// Package npt reads and writes captures (.npt): the own file format of a task trace, small, quick to read, and good
// up to the last complete chunk when the writer was killed. docs/formats/npt.md is its description, byte by byte.
// A Writer has one owner at a time. Read runs a goroutine a processor, which end before Read does.
package npt

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// Suffix is the suffix of captures.
const Suffix = ".npt"

// Magic starts a capture. A transfer that changes line ends or drops the eighth bit breaks it visibly.
const Magic = "\x89NPT\r\n\x1a\n"

const (
	version    = 1
	fileHeader = 16 // magic, u16 version, 6 bytes 0
	chunkHead  = 24 // kind, encoding, 2 bytes 0, u32 rows, u32 stored, u32 raw, u64 hash

	chunkRows = 4096     // rows of the chunks that Writer makes
	maxRows   = 65536    // rows of a chunk that Reader accepts
	maxRaw    = 16 << 20 // bytes of a chunk before compression
	maxString = 1 << 20
)

// kind is what a chunk holds.
type kind uint8

const (
	kindMeta kind = iota + 1
	kindStrings
	kindAccounts
	kindStreams
	kindThreads
	kindTasks
	kindSpans
	kindCounters
	kindSheets
	kindEnd kind = 255
)

func (k kind) String() string {
	switch k {
	case kindMeta:
		return "meta"
	case kindStrings:
		return "strings"
	case kindAccounts:
		return "accounts"
	case kindStreams:
		return "streams"
	case kindThreads:
		return "threads"
	case kindTasks:
		return "tasks"
	case kindSpans:
		return "spans"
	case kindCounters:
		return "counters"
	case kindSheets:
		return "tables"
	case kindEnd:
		return "end"
	}
	return "unknown"
}

// Encodings of a chunk's payload.
const (
	storedRaw  = 0
	storedZstd = 1
)

// head is the header of a chunk. The hash covers the header before it and the stored payload.
type head struct {
	kind     kind
	encoding uint8
	rows     uint32
	stored   uint32
	raw      uint32
	hash     uint64
}

func (h *head) put(b []byte) {
	b[0], b[1], b[2], b[3] = byte(h.kind), h.encoding, 0, 0
	binary.LittleEndian.PutUint32(b[4:], h.rows)
	binary.LittleEndian.PutUint32(b[8:], h.stored)
	binary.LittleEndian.PutUint32(b[12:], h.raw)
	binary.LittleEndian.PutUint64(b[16:], h.hash)
}

func (h *head) get(b []byte) {
	h.kind, h.encoding = kind(b[0]), b[1]
	h.rows = binary.LittleEndian.Uint32(b[4:])
	h.stored = binary.LittleEndian.Uint32(b[8:])
	h.raw = binary.LittleEndian.Uint32(b[12:])
	h.hash = binary.LittleEndian.Uint64(b[16:])
}

// sum hashes a chunk: its header up to the hash, then what is stored.
func sum(header, payload []byte) uint64 {
	var d xxhash.Digest
	d.Reset()
	d.Write(header[:16])
	d.Write(payload)
	return d.Sum64()
}

// newEncoder makes the compressor. One thread and a fixed level: the same rows give the same bytes on any machine.
func newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithZeroFrames(true))
}

func newDecoder() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRaw), zstd.WithDecodeAllCapLimit(true))
}
