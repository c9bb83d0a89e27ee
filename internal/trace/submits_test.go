package trace

import (
	"slices"
	"testing"
)

func TestSubmissions_taskIdsComeAgain(t *testing.T) {
	r := NewRecorder()
	r.Tasks([]Task{
		{Submit: 10, Ready: 10, Start: 10, End: 20, Stream: 1, Task: 5, Thread: 1},
		{Submit: 110, Ready: 110, Start: 110, End: 120, Stream: 1, Task: 5, Thread: 1},
		{Submit: 111, Ready: 111, Start: 120, End: 121, Stream: 1, Task: 6}, // of a graph
		{Submit: 50, Ready: 50, Start: 130, End: 131, Stream: 2, Task: 5, Thread: 1},
	})
	r.Spans([]Span{
		{Start: 5, End: 9, Thread: 1, Stream: 1, Task: 5},
		{Start: 40, End: 45, Thread: 1, Stream: 2, Task: 5},
		{Start: 100, End: 109, Thread: 1, Stream: 1, Task: 5},
		{Start: 101, End: 102, Thread: 1, Stream: 1, Task: 6},
		{Start: 102, End: 103, Thread: 2, Stream: 1, Task: 5},
		{Start: 103, End: 104, Thread: 1, Task: NoTask},
		{Start: 200, End: 201, Thread: 1, Stream: 1, Task: 5},
	})
	want := []int32{0, 3, 1, -1, -1, -1, -1}
	if got := r.Finish().Submissions(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
