package model

import (
	"context"
	"strings"
	"testing"

	"npu/internal/trace"
)

// The gap between iterations is from the last work of one to the first of the next, on each device, whatever the order in
// which tasks end; tasks of the scheduler and those of no model do not count.
func TestSummary_between(t *testing.T) {
	task := func(device uint16, iter uint32, start, end int64) trace.Task {
		return trace.Task{Device: device, Model: 1, Iter: iter, Start: start, End: end, Kind: trace.KernelAICore, Engine: trace.EngineCube}
	}
	s := newSummary(trace.NewRecorder())
	s.from.Store(0)
	if _, ok := s.between(); ok {
		t.Error("a gap without tasks")
	}
	s.add([]trace.Task{
		task(0, 0, 100, 200), task(0, 0, 150, 300),
		{Model: 1, Iter: 1, Start: 305, End: 306, Kind: trace.StreamActive}, {Start: 310, End: 320, Kind: trace.Memcpy, Engine: trace.EngineDMA},
		task(1, 0, 100, 500),
		task(0, 1, 360, 380), task(0, 1, 340, 400), // ends later, began first: 40 after the last one
		task(1, 1, 600, 700),
		task(0, 2, 480, 500),
	})
	if ns, ok := s.between(); !ok || ns != (40+80+100)/3 {
		t.Errorf("%d ns between iterations, want %d", ns, (40+80+100)/3)
	}
}

// A loop that the device counts needs a handful of interactions and leaves no gap longer than the switch takes; driven by
// the host there are two interactions an iteration, and a wait between two. The outputs are the same.
func TestRun_loops(t *testing.T) {
	const n = 1000
	m := openSmall(t)
	run := func(loop Loop, n int) *Result {
		res, err := m.Run(context.Background(), RunOptions{Chip: chip(t), Mode: Sunk, Loop: loop, Iterations: n, Inputs: smallInputs(true)})
		okAll(t, err)
		return res
	}
	sink, host, once := run(SinkLoop, n), run(HostLoop, n), run(SinkLoop, 1)
	if s, h := sink.Counters.Interactions(), host.Counters.Interactions(); s > 12 || h < n {
		t.Errorf("%d interactions sunk, %d driven by the host", s, h)
	}
	if sink.Between < 0 || sink.Between > 1000 || host.Between <= sink.Between || sink.DeviceTime >= host.DeviceTime || once.Between != -1 {
		t.Errorf("idle between iterations: %d ns sunk, %d ns by the host, %d ns of one", sink.Between, host.Between, once.Between)
	}
	for i, y := range sink.Outputs {
		if string(y.Data) != string(host.Outputs[i].Data) || string(y.Data) != string(once.Outputs[i].Data) {
			t.Errorf("output %d depends on who counts", i)
		}
	}
	for _, r := range []*Result{sink, host, once} {
		rep := NewReport([]*Model{m}, RunOptions{Chip: chip(t), Mode: Sunk}, r)
		if (rep.BetweenNs == nil) != (r.Between < 0) || (rep.BetweenNs == nil) != (rep.BetweenWhy != "") || !r.Ended {
			t.Errorf("report says %v (%s)", rep.BetweenNs, rep.BetweenWhy)
		}
	}
}

func TestMissing(t *testing.T) {
	if got := missing(&trace.Trace{}); got != nil {
		t.Errorf("%q", got)
	}
	if got := missing(&trace.Trace{Meta: trace.Meta{Lost: 7}}); len(got) != 1 || !strings.HasPrefix(got[0], "7 tasks and calls are missing") {
		t.Errorf("%q", got)
	}
}
