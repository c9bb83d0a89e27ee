// Package live hands the records of a run to another process while it goes on: rings of tasks and host calls in a file that
// both have open, and the names that they use. Nothing is written while nobody looks: a reader says until when it wants
// records, and the writer asks that with one load for each batch.
//
// There is one writer at a time, which maps the file; a reader only reads and writes it, so that a writer that dies or
// shrinks the file does it no harm. A reader that falls behind loses the oldest records, and is told how many.
//
// The file is of one user and one build of this program: a header says how its rows lie in memory, and a reader of another
// build refuses it. It starts no goroutine.
package live

import (
	"sync/atomic"
	"time"

	"npu/internal/trace"
)

// Sizes of a file.
const (
	TaskRows  = 1 << 17
	SpanRows  = 1 << 16
	nameBytes = 1 << 18

	headWords = 64
	namesAt   = headWords * 8
	tasksAt   = namesAt + nameBytes
)

// Words of the header.
const (
	wordMark   = iota // magic and version, last
	wordLayout        // how rows lie in memory
	wordUntil         // Unix ns until which a reader wants records
	wordTasks         // tasks written so far
	wordSpans
	wordNames // bytes of names so far
	wordEnded // 1 when the writer has ended by itself
)

const mark = uint64(0x31_45_56_49_4c_55_50_4e) // "NPULIVE1"

// FileBytes is the size of a file. What nobody looks at takes no memory.
func FileBytes() int { return spansAt() + SpanRows*spanBytes }

func spansAt() int { return tasksAt + TaskRows*taskBytes }

// Writer writes the records of a run. Its methods but Wanted have one caller at a time.
type Writer struct {
	words []atomic.Uint64
	names []byte
	tasks []trace.Task
	spans []trace.Span
	known int // names written
	text  int // bytes of them
}

// NewWriter begins a file: mem is FileBytes of mapped memory, whose address is a multiple of 8, and all zero.
func NewWriter(mem []byte) *Writer {
	w := &Writer{
		words: wordsOf(mem[:namesAt]), names: mem[namesAt:tasksAt],
		tasks: tasksOf(mem[tasksAt:spansAt()]), spans: spansOf(mem[spansAt():FileBytes()]),
	}
	w.words[wordLayout].Store(layout())
	w.words[wordMark].Store(mark)
	return w
}

// Wanted says whether somebody looks. A nil writer is not looked at.
func (w *Writer) Wanted() bool {
	if w == nil {
		return false
	}
	until := w.words[wordUntil].Load()
	return until != 0 && int64(until) > time.Now().UnixNano()
}

// Tasks writes rows; names is the table that their ids are of, to which was only added since the last call.
func (w *Writer) Tasks(rows []trace.Task, names []string) {
	w.addNames(names)
	n := w.words[wordTasks].Load()
	for i := range rows {
		w.tasks[(n+uint64(i))%TaskRows] = rows[i]
		if i%64 == 63 { // a reader must not take rows for good that are being written over
			w.words[wordTasks].Store(n + uint64(i) + 1)
		}
	}
	w.words[wordTasks].Store(n + uint64(len(rows)))
}

// Spans writes host calls.
func (w *Writer) Spans(rows []trace.Span, names []string) {
	w.addNames(names)
	n := w.words[wordSpans].Load()
	for i := range rows {
		w.spans[(n+uint64(i))%SpanRows] = rows[i]
		if i%64 == 63 {
			w.words[wordSpans].Store(n + uint64(i) + 1)
		}
	}
	w.words[wordSpans].Store(n + uint64(len(rows)))
}

// End says that no record will come any more.
func (w *Writer) End() { w.words[wordEnded].Store(1) }

// addNames writes names that are not there yet, each behind its length. When there is no room, later rows have no names.
func (w *Writer) addNames(names []string) {
	for ; w.known < len(names); w.known++ {
		s := names[w.known]
		s = s[:min(len(s), 255)]
		if w.text+1+len(s) > len(w.names) {
			break
		}
		w.names[w.text] = byte(len(s))
		copy(w.names[w.text+1:], s)
		w.text += 1 + len(s)
	}
	w.words[wordNames].Store(uint64(w.text))
}
