package trace

import (
	"math/rand/v2"
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

// Every call gets the first task of its id that its thread handed over from its start on, as looking at all of them says.
func TestSubmissions_any(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 2))
		r := NewRecorder()
		for range 200 {
			at := rng.Int64N(500)
			r.Tasks([]Task{{Submit: at, Ready: at, Start: at, End: at + 1, Device: uint16(rng.IntN(2)), Stream: uint32(rng.IntN(3)), Task: uint32(rng.IntN(8)), Thread: uint16(rng.IntN(3))}})
			r.Spans([]Span{{Start: rng.Int64N(500), Device: uint16(rng.IntN(2)), Stream: uint32(rng.IntN(3)), Task: uint32(rng.IntN(8)), Thread: uint16(1 + rng.IntN(2))}})
		}
		tr := r.Finish()
		got := tr.Submissions()
		for i, s := range tr.Spans.All() {
			first := int64(-1)
			for _, k := range tr.Tasks.All() {
				if k.Thread == s.Thread && k.Device == s.Device && k.Stream == s.Stream && k.Task == s.Task && k.Submit >= s.Start && (first < 0 || k.Submit < first) {
					first = k.Submit
				}
			}
			have := int64(-1)
			if got[i] >= 0 {
				k := tr.Tasks.At(int(got[i]))
				if have = k.Submit; k.Thread != s.Thread || k.Device != s.Device || k.Stream != s.Stream || k.Task != s.Task {
					t.Fatalf("seed %d: call %+v has task %+v", seed, s, k)
				}
			}
			if have != first {
				t.Fatalf("seed %d: call %+v has a task handed over at %d, expected %d", seed, s, have, first)
			}
		}
	}
}
