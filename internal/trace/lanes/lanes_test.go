package lanes

import (
	"slices"
	"testing"

	"npu/internal/trace"
	"npu/internal/trace/gen"
)

func names(l *Layout) []string {
	var out []string
	for _, ln := range l.Lanes {
		out = append(out, ln.Name)
	}
	return out
}

func TestNew_namesAndOrder(t *testing.T) {
	r := trace.NewRecorder()
	r.NameStream(0, 2, "copy", 0)
	r.NameThread(1, "main")
	r.Tasks([]trace.Task{
		{Start: 0, End: 10, Stream: 2, Engine: trace.EngineDMA},
		{Start: 5, End: 15, Stream: 3, Engine: trace.EngineDMA},
		{Start: 10, End: 12, Stream: 2, Engine: trace.EngineDMA},
		{Start: 11, End: 13, Stream: 2}, // overlaps its stream, as contexts of imported traces do
		{Start: 1, End: 2, Device: 1, Engine: trace.EngineCube},
	})
	r.Spans([]trace.Span{{Start: 0, End: 9, Thread: 1}, {Start: 1, End: 3, Thread: 1}, {Start: 2, End: 5, Thread: 1}})
	tr := r.Finish()
	l := New(tr)
	want := []string{"Stream 2 copy", "Stream 2 copy (overlap 1)", "Stream 3", "DMA 1", "DMA 2", "Stream 0", "AI Core", "Thread 1 main", "Thread 1 main (overlap 1)"}
	if got := names(l); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if l.Span(0) != l.Span(1) || l.Span(0) == l.Span(2) {
		t.Errorf("spans on lanes %d, %d, %d: the second lies within the first, the third overlaps both", l.Span(0), l.Span(1), l.Span(2))
	}
}

func TestNew_noOverlap(t *testing.T) {
	tr := gen.Trace(gen.Options{Tasks: 5000, Devices: 2, Streams: 5})
	l := New(tr)
	free := make([]int64, len(l.Lanes))
	for i, k := range tr.Tasks.All() {
		for _, at := range []int{l.Stream(i), l.Engine(i)} {
			if at < 0 {
				if k.Engine != trace.EngineNone {
					t.Fatalf("row %d has no lane", i)
				}
				continue
			}
			ln := l.Lanes[at]
			if ln.Device != k.Device || ln.Of == Stream && ln.ID != k.Stream || ln.Of == Engine && ln.Engine != k.Engine {
				t.Fatalf("row %d lies on the lane of another: %+v", i, ln)
			}
			if k.Start < free[at] {
				t.Fatalf("row %d overlaps on %s", i, ln.Name)
			}
			free[at] = k.End
		}
	}
}

func TestNew_partsUseNoEngine(t *testing.T) {
	r := trace.NewRecorder()
	r.Tasks([]trace.Task{
		{Start: 0, End: 10, Kind: trace.KernelMix, Engine: trace.EngineCube},
		{Start: 1, End: 9, Kind: trace.KernelMix, Engine: trace.EngineCube, Flags: trace.FlagPart},
	})
	l := New(r.Finish())
	if l.Engine(0) < 0 || l.Engine(1) != -1 || l.Stream(0) == l.Stream(1) {
		t.Errorf("%+v", l)
	}
}
