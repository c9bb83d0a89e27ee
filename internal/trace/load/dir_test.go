package load

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"npu/internal/problem"
	"npu/internal/trace"
	"npu/internal/trace/export"
	"npu/internal/trace/gen"
)

func TestRead_directoryWithABadPart(t *testing.T) {
	dir := t.TempDir()
	good := gen.Trace(gen.Options{Tasks: 100})
	for _, name := range []string{"a", "b"} {
		if err := export.Write(filepath.Join(dir, name+".npt"), good); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(filepath.Join(dir, "c.npt"), []byte("\x89NPT nothing"), 0o644)
	tr, err := File(context.Background(), dir)
	if tr == nil || tr.Tasks.Len() != 2*good.Tasks.Len() || problem.ClassOf(err) != problem.Damaged || !strings.Contains(strings.Join(tr.Source.Missing, ";"), "c.npt") {
		t.Fatalf("%v, %v", err, tr)
	}
	if tr.Meta.Devices != 2 || tr.Source.Records["parts"] != 2 {
		t.Errorf("%+v, %+v", tr.Meta, tr.Source)
	}
	if _, err := File(context.Background(), t.TempDir()); problem.ClassOf(err) != problem.Damaged || !strings.Contains(err.Error(), "holds no profiling data") {
		t.Errorf("empty directory: %v", err)
	}
}

// A rank whose data nobody analysed: raw data below the framework's directory.
func TestRead_rankWithoutAnalysis(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "host_1_2_ascend_pt")
	raw := filepath.Join(dir, "PROF_1", "host", "data")
	os.MkdirAll(raw, 0o755)
	os.WriteFile(filepath.Join(dir, "profiler_info.json"), []byte(`{"rank_id":7}`), 0o644)
	os.MkdirAll(filepath.Join(dir, "PROF_1", "device_3", "data"), 0o755)
	os.WriteFile(filepath.Join(raw, "aging.api_event.data.slice_0"), nil, 0o644)
	log := make([]byte, 128)
	for i, kind := range []byte{0, 1} {
		copy(log[64*i:], []byte{kind | byte(i)<<6, 0, 0xD3, 0x6B, 1, 0, 1, 0, byte(i)})
	}
	os.WriteFile(filepath.Join(dir, "PROF_1", "device_3", "data", "stars_soc.data.3.slice_0"), log, 0o644)
	tr, err := File(context.Background(), dir)
	if err != nil || tr.Tasks.Len() != 1 || len(tr.Source.Devices) != 1 || tr.Source.Devices[0] != (trace.SourceDevice{ID: 3, Rank: 7, Device: 3}) {
		t.Fatalf("%v, %+v", err, tr)
	}
}

// Parts are read at once only as far as they fit into the memory together.
func TestReadAll_staysWithinItsMemory(t *testing.T) {
	var now, most, count atomic.Int64
	sizes := []int64{10, 30, 60, 5, 200, 1, 1, 45}
	var parts []part
	for _, n := range sizes {
		parts = append(parts, part{bytes: n, read: func(context.Context) (*trace.Trace, error) {
			need := min(n*growth, 200)
			at := now.Add(need)
			for {
				m := most.Load()
				if at <= m || most.CompareAndSwap(m, at) {
					break
				}
			}
			count.Add(1)
			now.Add(-need)
			return trace.NewRecorder().Finish(), nil
		}})
	}
	traces, errs := readAll(context.Background(), parts, Options{Memory: 200, Workers: 4})
	if most.Load() > 200 || count.Load() != int64(len(sizes)) {
		t.Errorf("%d bytes at once, %d parts", most.Load(), count.Load())
	}
	for i := range traces {
		if traces[i] == nil || errs[i] != nil {
			t.Errorf("part %d: %v, %v", i, traces[i], errs[i])
		}
	}
}
