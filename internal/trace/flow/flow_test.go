package flow

import (
	"slices"
	"testing"

	"npu/internal/trace"
)

func TestNew(t *testing.T) {
	r := trace.NewRecorder()
	r.Tasks([]trace.Task{
		{Submit: 1, Ready: 1, Start: 5, End: 5, Stream: 1, Task: 1, Thread: 1, Kind: trace.EventRecord, Event: 1, Gen: 1},
		{Start: 2, End: 5, Stream: 2, Kind: trace.EventWait, Event: 1, Gen: 1},
		{Start: 6, End: 6, Stream: 3, Kind: trace.EventWait, Event: 1, Gen: 1},
		{Start: 7, End: 7, Stream: 3, Kind: trace.EventWait, Event: 9, Gen: 1},
	})
	r.Spans([]trace.Span{{Start: 0, End: 1, Thread: 1, Stream: 1, Task: 1}, {Start: 0, End: 1, Thread: 1, Task: trace.NoTask}})
	a := New(r.Finish())
	// In canonical order the first wait is row 0 and the record row 1.
	if want := []int32{1, -1, 1, -1}; !slices.Equal(a.Records, want) {
		t.Errorf("records %v, want %v", a.Records, want)
	}
	if want := []int32{-1, 0, -1, -1}; !slices.Equal(a.Callers, want) {
		t.Errorf("callers %v, want %v", a.Callers, want)
	}
	if want := []int32{1, -1}; !slices.Equal(a.Submits, want) {
		t.Errorf("submits %v, want %v", a.Submits, want)
	}
	if got, want := a.Released(1), []Release{{1, 0}, {1, 2}}; !slices.Equal(got, want) || len(a.Released(2)) > 0 {
		t.Errorf("released %v, want %v", got, want)
	}
}

func TestNew_tasksBeforeTheirCallHaveNoArrow(t *testing.T) {
	r := trace.NewRecorder()
	r.Tasks([]trace.Task{{Submit: 20, Ready: 20, Start: 5, End: 8, Stream: 1, Task: 1, Thread: 1}})
	r.Spans([]trace.Span{{Start: 10, End: 11, Thread: 1, Stream: 1, Task: 1}})
	if a := New(r.Finish()); a.Submits[0] != -1 || a.Callers[0] != -1 {
		t.Errorf("%v %v", a.Submits, a.Callers)
	}
}

func TestSequence_recordsBeforeWaits(t *testing.T) {
	r := trace.NewRecorder()
	const n = 3 * deepest // a chain over two streams: each waits for the one after it in the file
	for i := range uint32(n) {
		r.Tasks([]trace.Task{
			{Stream: 1, Task: i, Kind: trace.EventWait, Event: 1 + i, Gen: 1},
			{Stream: 2, Task: i, Kind: trace.EventRecord, Event: 1 + i, Gen: 1},
		})
	}
	tr := r.Finish()
	a := New(tr)
	s := NewSequence(a, 3, func(row int) int { return int(tr.Tasks.Stream.At(row)) })
	order := slices.Clone(s.Next(0, tr.Tasks.Len()))
	place := make([]int, len(order))
	for at, row := range order {
		place[row] = at
	}
	if len(order) != tr.Tasks.Len() {
		t.Fatalf("%d rows, want %d", len(order), tr.Tasks.Len())
	}
	for row, record := range a.Records {
		if record >= 0 && place[record] > place[row] {
			t.Fatalf("wait in row %d comes before its record in row %d", row, record)
		}
	}
	for row := range n - 1 {
		if place[row] > place[row+1] {
			t.Fatalf("stream 1 lost its order at row %d", row)
		}
	}
}

func TestSequence_contradictionsEnd(t *testing.T) {
	r := trace.NewRecorder() // each stream waits for what the other does after its own wait
	r.Tasks([]trace.Task{
		{Stream: 1, Kind: trace.EventWait, Event: 2, Gen: 1}, {Stream: 1, Kind: trace.EventRecord, Event: 1, Gen: 1},
		{Stream: 2, Kind: trace.EventWait, Event: 1, Gen: 1}, {Stream: 2, Kind: trace.EventRecord, Event: 2, Gen: 1},
	})
	tr := r.Finish()
	s := NewSequence(New(tr), 3, func(row int) int { return int(tr.Tasks.Stream.At(row)) })
	if got := slices.Sorted(slices.Values(s.Next(0, 4))); !slices.Equal(got, []int32{0, 1, 2, 3}) {
		t.Errorf("rows %v", got)
	}
}
