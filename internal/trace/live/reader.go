package live

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"npu/internal/trace"
)

// File is what a reader needs of a file.
type File interface {
	io.ReaderAt
	io.WriterAt
}

// ErrOther is of a file that another build of this program writes.
var ErrOther = errors.New("the process runs another version of this program")

// Reader follows a run from the moment on at which it was made.
type Reader struct {
	f            File
	tasks, spans uint64 // rows taken or lost
	text         int    // bytes of names taken
	names        []string
	buf          []byte
}

// Batch is what was recorded since the last one.
type Batch struct {
	Tasks []trace.Task
	Spans []trace.Span
	Lost  int64    // records that were written over before they could be read
	Names []string // the table that ids are of; it only grows
	Ended bool     // the run has ended, and this is its last
}

// Follow begins to read f.
func Follow(f File) (*Reader, error) {
	r := &Reader{f: f, names: []string{}}
	head, err := r.head()
	if err != nil {
		return nil, err
	}
	r.tasks, r.spans = head[wordTasks], head[wordSpans]
	return r, r.want()
}

// patience is for how long a reader asks for records each time.
const patience = 3 * time.Second

func (r *Reader) want() error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(time.Now().Add(patience).UnixNano()))
	if _, err := r.f.WriteAt(b[:], wordUntil*8); err != nil {
		return fmt.Errorf("ask for records: %w", err)
	}
	return nil
}

// Stop says that nobody looks any more. Another reader of the same run asks again by itself.
func (r *Reader) Stop() {
	_, _ = r.f.WriteAt(make([]byte, 8), wordUntil*8) // a writer that has gone does not mind
}

func (r *Reader) head() (w [wordEnded + 1]uint64, err error) {
	var b [(wordEnded + 1) * 8]byte
	if _, err := r.f.ReadAt(b[:], 0); err != nil {
		return w, fmt.Errorf("records of a run: %w", err)
	}
	for i := range w {
		w[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	if w[wordMark] != mark || w[wordLayout] != layout() {
		return w, ErrOther
	}
	return w, nil
}

// Next gives what came since the last call, and asks for more.
func (r *Reader) Next() (b Batch, err error) {
	if err := r.want(); err != nil {
		return b, err
	}
	head, err := r.head()
	if err != nil {
		return b, err
	}
	b.Ended = head[wordEnded] != 0
	taken, err := ring(r, tasksAt, taskBytes, TaskRows, &r.tasks, head[wordTasks], wordTasks, &b.Lost)
	if err != nil {
		return b, err
	}
	b.Tasks = append(b.Tasks, tasksOf(taken)...)
	if taken, err = ring(r, spansAt(), spanBytes, SpanRows, &r.spans, head[wordSpans], wordSpans, &b.Lost); err != nil {
		return b, err
	}
	b.Spans = append(b.Spans, spansOf(taken)...)
	if err := r.takeNames(); err != nil {
		return b, err
	}
	b.Names = r.names
	return b, nil
}

// spare is how many rows the writer may be ahead of what it says.
const spare = 128

// ring copies the rows of a ring from *from up to to, without those that were written over meanwhile.
func ring(r *Reader, at, size, rows int, from *uint64, to uint64, word int, lost *int64) ([]byte, error) {
	if to < *from {
		return nil, fmt.Errorf("the file has %d records, and had %d before", to, *from)
	}
	if most := uint64(rows - spare); to-*from > most {
		*lost += int64(to - *from - most)
		*from = to - most
	}
	n := int(to - *from)
	if cap(r.buf) < n*size {
		r.buf = make([]byte, rows*size)
	}
	b := r.buf[:n*size]
	first := int(*from % uint64(rows))
	part := min(n, rows-first) * size
	if _, err := r.f.ReadAt(b[:part], int64(at+first*size)); err != nil {
		return nil, fmt.Errorf("records of a run: %w", err)
	}
	if _, err := r.f.ReadAt(b[part:], int64(at)); err != nil && part < len(b) {
		return nil, fmt.Errorf("records of a run: %w", err)
	}
	var now [8]byte
	if _, err := r.f.ReadAt(now[:], int64(word*8)); err != nil {
		return nil, fmt.Errorf("records of a run: %w", err)
	}
	// What the writer may have reached since lies one round before it.
	if reached := binary.LittleEndian.Uint64(now[:]) + spare; reached > *from+uint64(rows) {
		over := min(reached-*from-uint64(rows), uint64(n))
		*lost += int64(over)
		b = b[int(over)*size:]
	}
	*from = to
	return b, nil
}

// takeNames reads the names that came.
func (r *Reader) takeNames() error {
	head, err := r.head()
	if err != nil {
		return err
	}
	n := int(min(head[wordNames], nameBytes))
	if n <= r.text {
		return nil
	}
	b := make([]byte, n-r.text)
	if _, err := r.f.ReadAt(b, int64(namesAt+r.text)); err != nil {
		return fmt.Errorf("names of a run: %w", err)
	}
	for len(b) > 0 {
		k := int(b[0])
		if len(b) < 1+k {
			return errors.New("names of a run: the last one is cut")
		}
		r.names = append(r.names, string(b[1:1+k]))
		b, r.text = b[1+k:], r.text+1+k
	}
	return nil
}
