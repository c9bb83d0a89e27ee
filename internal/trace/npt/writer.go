package npt

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"npu/internal/trace"
)

// Writer writes a capture while the run goes on. It is a trace.Sink and keeps the tables of a trace.Recorder, so a
// run may record into either. Rows are written every few thousand; a row costs no allocation. Errors of the file
// stick and are reported by Flush and Close.
type Writer struct {
	trace.Tables
	w        io.Writer
	zstd     *zstd.Encoder
	tasks    []trace.Task
	spans    []trace.Span
	counters []trace.Counter
	columns  columnWriter
	out      []byte // header and payload of the chunk at hand
	packed   []byte
	strings  int // written so far
	accounts int
	revision int
	total    counts
	err      error
}

var _ trace.Capture = (*Writer)(nil)

// NewWriter starts a capture on w, which stays the caller's to close.
func NewWriter(w io.Writer) (*Writer, error) {
	enc, err := newEncoder()
	if err != nil {
		return nil, fmt.Errorf("write capture: %w", err)
	}
	n := &Writer{
		Tables: trace.NewTables(), w: w, zstd: enc, strings: 1, accounts: 1, revision: -1,
		tasks: make([]trace.Task, 0, chunkRows), spans: make([]trace.Span, 0, chunkRows), counters: make([]trace.Counter, 0, chunkRows),
	}
	header := [fileHeader]byte{8: version}
	copy(header[:], Magic)
	_, n.err = w.Write(header[:])
	return n, n.err
}

// Tasks takes rows whose ids come from Intern and AddAccount of this writer.
func (n *Writer) Tasks(rows []trace.Task) {
	for len(rows) > 0 {
		k := min(len(rows), chunkRows-len(n.tasks))
		n.tasks = append(n.tasks, rows[:k]...)
		if rows = rows[k:]; len(n.tasks) == chunkRows {
			n.flushTasks()
		}
	}
}

// Spans takes host calls.
func (n *Writer) Spans(rows []trace.Span) {
	for len(rows) > 0 {
		k := min(len(rows), chunkRows-len(n.spans))
		n.spans = append(n.spans, rows[:k]...)
		if rows = rows[k:]; len(n.spans) == chunkRows {
			n.flushSpans()
		}
	}
}

// Counters takes counter values.
func (n *Writer) Counters(rows []trace.Counter) {
	for len(rows) > 0 {
		k := min(len(rows), chunkRows-len(n.counters))
		n.counters = append(n.counters, rows[:k]...)
		if rows = rows[k:]; len(n.counters) == chunkRows {
			n.flushCounters()
		}
	}
}

// Flush writes all rows taken so far, so that a reader finds them even if the writer dies later.
func (n *Writer) Flush() error {
	n.flushTables()
	n.flushTasks()
	n.flushSpans()
	n.flushCounters()
	return n.err
}

// Close writes what is left and the end chunk.
func (n *Writer) Close() error {
	n.Flush()
	n.columns.b = n.total.append(n.columns.b[:0])
	n.chunk(kindEnd, 1)
	n.zstd.Close()
	return n.err
}

// Write writes t as a complete capture.
func Write(w io.Writer, t *trace.Trace) error {
	n, err := NewWriter(w)
	if err != nil {
		return err
	}
	n.SetMeta(t.Meta)
	for _, s := range t.Strings {
		n.Intern(s)
	}
	for _, a := range t.Accounts {
		n.AddAccount(a)
	}
	for _, s := range t.Streams {
		n.NameStream(s.Device, s.ID, s.Name, s.Priority)
	}
	for _, th := range t.Threads {
		n.NameThread(th.ID, th.Name)
	}
	for _, k := range t.Tasks.All() {
		n.Tasks([]trace.Task{k})
	}
	for _, s := range t.Spans.All() {
		n.Spans([]trace.Span{*s})
	}
	for _, c := range t.Counters.All() {
		n.Counters([]trace.Counter{*c})
	}
	if n.Flush() == nil {
		for i := range t.Source.Sheets {
			n.sheet(&t.Source.Sheets[i])
		}
	}
	return n.Close()
}

func (n *Writer) flushTasks() {
	if len(n.tasks) == 0 {
		return
	}
	n.flushTables()
	n.columns.start(len(n.tasks))
	putTasks(&n.columns, n.tasks)
	n.chunk(kindTasks, len(n.tasks))
	n.total.tasks += uint64(len(n.tasks))
	n.tasks = n.tasks[:0]
}

func (n *Writer) flushSpans() {
	if len(n.spans) == 0 {
		return
	}
	n.flushTables()
	n.columns.start(len(n.spans))
	putSpans(&n.columns, n.spans)
	n.chunk(kindSpans, len(n.spans))
	n.total.spans += uint64(len(n.spans))
	n.spans = n.spans[:0]
}

func (n *Writer) flushCounters() {
	if len(n.counters) == 0 {
		return
	}
	n.flushTables()
	n.columns.start(len(n.counters))
	putCounters(&n.columns, n.counters)
	n.chunk(kindCounters, len(n.counters))
	n.total.counters += uint64(len(n.counters))
	n.counters = n.counters[:0]
}
