//go:build !race

// The race detector's own memory would be counted.

package model

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"

	"npu/internal/demo"
	"npu/internal/runtime"
	"npu/internal/tensor"
)

// minorFaults are the pages that all threads of the process have touched for the first time.
func minorFaults(t *testing.T) int64 {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return r.Minflt
}

// From the second inference on no page of memory is touched that the process did not have, and nothing is allocated. A
// page of code that had not run before, or a stack that Go makes for a goroutine, may come between: the least of a few
// fresh sessions counts, and the median of groups of inferences after the second.
func TestSession_noNewPageInTheSecondInference(t *testing.T) {
	const sessions, more = 6, 3
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	try := func(t *testing.T, m *Model, in map[string]*tensor.Tensor, mode Mode, threads int) {
		list, _, err := m.Fill(in, 1)
		if err != nil {
			t.Fatal(err)
		}
		second, rest := int64(-1), int64(-1)
		for range sessions {
			rt, err := runtime.Open(runtime.Config{Chip: chip(t), Workers: threads})
			if err != nil {
				t.Fatal(err)
			}
			th := rt.Attach()
			if err := th.SetDevice(0); err != nil {
				t.Fatal(err)
			}
			s, err := m.Load(th, LoadOptions{Mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			once := inference(t, s, list)
			once()
			from := minorFaults(t)
			once()
			after := minorFaults(t)
			var counts [9]int64
			for i := range counts {
				from := minorFaults(t)
				for range more {
					once()
				}
				counts[i] = minorFaults(t) - from
			}
			if n := after - from; second < 0 || n < second {
				second = n
			}
			if n := middle(counts[:]); rest < 0 || n < rest {
				rest = n
			}
			if a := min(testing.AllocsPerRun(4, once), testing.AllocsPerRun(4, once)); a != 0 { // twice: garbage collection empties the pools
				t.Errorf("an inference allocates %v times", a)
			}
			if err := rt.Close(th); err != nil {
				t.Fatal(err)
			}
			debug.FreeOSMemory()
			if second == 0 && rest == 0 {
				return
			}
		}
		t.Errorf("new pages: %d in the second inference, %d in the next %d; want none", second, rest, more)
	}
	check := func(name string, m *Model, in map[string]*tensor.Tensor) {
		for _, mode := range []Mode{Sunk, Eager} {
			for _, threads := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s %s %d threads", name, mode, threads), func(t *testing.T) { try(t, m, in, mode, threads) })
			}
		}
	}
	m, err := OpenBytes("demo", demo.Model(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	check("demo", m, nil)
	root := filepath.Join(dataDir(t), "onnx")
	for _, name := range []string{"silero-vad-v5", "oww-embedding", "synthetic-bert-tiny", "ppocr-v4-det"} {
		dir := filepath.Join(root, name)
		_, shapes, in := loadCase(t, dir)
		m, err := Open(filepath.Join(dir, "model.onnx"), Options{Shapes: shapes})
		if err != nil {
			t.Fatal(err)
		}
		check(name, m, in)
	}
}

func middle(v []int64) int64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// inference is one inference of a session, inputs and outputs copied.
func inference(t *testing.T, s *Session, in []*tensor.Tensor) func() {
	t.Helper()
	out := make([][]byte, len(s.m.Plan.Outputs))
	for i := range out {
		o, err := s.Output(i)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = o.Data
	}
	return func() {
		for i, x := range in {
			if err := s.SetInput(i, x); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Execute(); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(); err != nil {
			t.Fatal(err)
		}
		for i := range out {
			if err := s.ReadOutput(i, out[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
}
