package runtime

import (
	"fmt"
	"testing"

	"npu/internal/trace"
)

// R10: with the recorder on, a hundred launches on two streams give a hundred rows with the kernels' names, in order
// on each stream; the host calls that made them stand in the spans, end before their tasks start, and name them.
func TestR10_taskTimeAndRuntimeAPI(t *testing.T) {
	rec := trace.NewRecorder()
	rt, th := open(t, Config{Recorder: rec, Spans: true})
	var streams [2]*Stream
	var kernels [2]*Kernel
	for i := range streams {
		streams[i] = must[*Stream](t)(th.CreateStream(StreamConfig{}))
		kernels[i] = must[*Kernel](t)(th.NewKernel(fmt.Sprintf("kernel %d", i), trace.KernelAICore, 4, int64(2000*(i+1)), nil))
	}
	for i := range 100 {
		if err := th.LaunchKernel(kernels[i%2], nil, streams[i%2]); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range streams {
		if err := th.SynchronizeStream(s); err != nil {
			t.Fatal(err)
		}
	}
	ids := [2]uint32{streams[0].ID(), streams[1].ID()}
	closeOnce(t, rt, th)
	tr := rec.Finish()
	if err := tr.Check(); err != nil {
		t.Fatal(err)
	}
	type key struct{ stream, task uint32 }
	launches := map[key]trace.Span{}
	for _, s := range tr.Spans.All() {
		if tr.String(s.Name) == callLaunch.name {
			launches[key{s.Stream, s.Task}] = *s
		}
	}
	if len(launches) != 100 {
		t.Errorf("%d launch calls in the spans, want 100", len(launches))
	}
	rows := 0
	last := map[uint32]trace.Task{}
	for _, k := range tr.Tasks.All() {
		if !k.Kind.Kernel() {
			continue
		}
		rows++
		want := 0
		if k.Stream == ids[1] {
			want = 1
		}
		if name := tr.String(k.Name); name != fmt.Sprintf("kernel %d", want) || k.Stream != ids[want] {
			t.Errorf("task %d of stream %d is called %q", k.Task, k.Stream, name)
		}
		if k.End-k.Start != int64(2000*(want+1)) {
			t.Errorf("task %d of stream %d takes %d ns", k.Task, k.Stream, k.End-k.Start)
		}
		if l, ok := last[k.Stream]; ok && (k.Start < l.End || k.Task != l.Task+1) {
			t.Errorf("stream %d: task %d at %d after task %d, which ends at %d", k.Stream, k.Task, k.Start, l.Task, l.End)
		}
		last[k.Stream] = k
		// Host and device share one time line: the doorbell leaves at the end of the call and arrives within 1 µs.
		if s := launches[key{k.Stream, k.Task}]; k.Submit < s.End || k.Submit-s.End > 1000 || s.Start >= s.End {
			t.Errorf("task %d of stream %d arrives at %d, its launch ran from %d to %d", k.Task, k.Stream, k.Submit, s.Start, s.End)
		}
	}
	if rows != 100 {
		t.Errorf("%d kernel rows, want 100", rows)
	}
}
