package telemetry

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
)

// Writer writes one page. It has one user at a time.
type Writer struct {
	words []atomic.Uint64
	enc   encoder
}

// NewWriter writes to a mapped page of PageBytes, whose address is a multiple of 8.
func NewWriter(page []byte) (*Writer, error) {
	if len(page) != PageBytes {
		return nil, fmt.Errorf("a telemetry page of %d bytes: expected %d", len(page), PageBytes)
	}
	w := &Writer{words: wordsOf(page), enc: encoder{b: make([]byte, 0, PageBytes-header)}}
	if s := w.words[1].Load(); s&1 != 0 { // the one before died while it wrote
		w.words[1].Store(s + 1)
	}
	w.words[2].Store(0)
	w.words[0].Store(magic)
	return w, nil
}

// Write publishes s. It takes a few microseconds, makes no system call and allocates nothing.
func (w *Writer) Write(s *Snapshot) {
	body := w.enc.encode(s)
	n := len(body)
	for len(body)%8 != 0 {
		body = append(body, 0)
	}
	seq := w.words[1].Load()
	w.words[1].Store(seq + 1)
	w.words[2].Store(uint64(n))
	for i := 0; i < len(body); i += 8 {
		w.words[header/8+i/8].Store(binary.LittleEndian.Uint64(body[i:]))
	}
	w.words[1].Store(seq + 2)
}

// ReaderAt is where a page is read from: its file. Reading a file cannot fail in ways that touching a mapping of it can.
type ReaderAt interface {
	ReadAt(b []byte, off int64) (int, error)
}

// Read reads a page that may be written at the same time.
func Read(f ReaderAt) (*Snapshot, error) {
	page := make([]byte, PageBytes)
	var again [8]byte
	for range 100 {
		// The sequence number before, the whole, the number after.
		if _, err := f.ReadAt(again[:], 8); err != nil {
			return nil, fmt.Errorf("telemetry page: %w", err)
		}
		before := binary.LittleEndian.Uint64(again[:])
		if before&1 != 0 {
			continue
		}
		if _, err := f.ReadAt(page, 0); err != nil {
			return nil, fmt.Errorf("telemetry page: %w", err)
		}
		if _, err := f.ReadAt(again[:], 8); err != nil {
			return nil, fmt.Errorf("telemetry page: %w", err)
		}
		if binary.LittleEndian.Uint64(again[:]) == before && binary.LittleEndian.Uint64(page[8:]) == before {
			return Decode(page)
		}
	}
	return nil, ErrBusy
}
