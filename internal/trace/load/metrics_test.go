package load

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"npu/internal/trace"
	"npu/internal/trace/msprof"
	"npu/internal/trace/profdb"
)

type kernelKey struct{ stream, start int64 }

// metricsByKernel is the PMU table by kernel and metric.
func metricsByKernel(t *testing.T, tr *trace.Trace) map[kernelKey]map[string]float64 {
	t.Helper()
	s := tr.Source.Sheet("pmu")
	if s == nil {
		t.Fatalf("no PMU table: %+v", tr.Source.Records)
	}
	out := map[kernelKey]map[string]float64{}
	stream, start := s.Column("stream"), s.Column("start_ns")
	for i := range s.Rows {
		values := map[string]float64{}
		for k := range s.Columns {
			switch v := s.Columns[k].Value(i).(type) {
			case float64:
				values[s.Columns[k].Name] = v
			case int64:
				values[s.Columns[k].Name] = float64(v)
			}
		}
		out[kernelKey{stream.IntAt(i), start.IntAt(i)}] = values
	}
	return out
}

// The metrics that we derive from raw counters are those that the vendor's tools derived from them.
func TestRead_rawMetricsEqualTheVendors(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(samples(t), "raw/ascend910b/*/PROF*"))
	if len(dirs) != 4 {
		t.Fatalf("found %v", dirs)
	}
	for _, dir := range dirs {
		raw, err := msprof.Read(context.Background(), dir)
		files, _ := filepath.Glob(filepath.Join(dir, "msprof*.db"))
		vendor, err2 := profdb.Read(context.Background(), files[0])
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		ours, theirs := metricsByKernel(t, raw), metricsByKernel(t, vendor)
		compared, times := 0, 0
		for key, want := range theirs {
			got, ok := ours[key]
			if !ok { // the vendor's tools describe the context of a MIX kernel, which starts later
				for other, values := range ours {
					if other.stream == key.stream && other.start <= key.start && key.start-other.start < 100_000 && values["aic_total_cycles"] == want["aic_total_cycles"] {
						got, ok = values, true
					}
				}
			}
			if !ok {
				t.Errorf("%s: no kernel at %+v", filepath.Base(dir), key)
				continue
			}
			for name, w := range want {
				g, ok := got[name]
				switch name {
				case "device", "stream", "task", "start_ns", "duration_ns":
					continue
				}
				isTime := len(name) > 8 && name[len(name)-8:] == "_time_us"
				if isTime && !ok && w == 0 {
					continue // without a number of blocks the vendor writes 0 for what is not known
				}
				if w == 0 && (!ok || want["aic_total_cycles"] > 0 && name[:4] == "aiv_") {
					continue // nothing was counted, or, in a MIX kernel, the vendor's tools do not know on how many blocks
				}
				if isTime {
					times++
				}
				compared++
				if !ok || math.Abs(g-w) > 1e-9*math.Max(1, math.Abs(w)) {
					t.Errorf("%s: %s at %+v is %v, the vendor has %v", filepath.Base(dir), name, key, g, w)
				}
			}
			if t.Failed() {
				break
			}
		}
		t.Logf("%s: %d kernels, %d values equal, %d of them times", filepath.Base(dir), len(theirs), compared, times)
		if compared < 6*len(theirs) {
			t.Errorf("%s: only %d values of %d kernels were compared", filepath.Base(dir), compared, len(theirs))
		}
	}
}

// What torch_npu exports beside its timeline is what its files say.
func TestRead_tablesBesideTheTasks(t *testing.T) {
	tr, err := File(context.Background(), filepath.Join(samples(t), "torch/ascend910b-ddp/text-level1"))
	if err != nil {
		t.Fatal(err)
	}
	for name, rows := range map[string]int{
		"l2_cache": 179 + 179, "memory_record": 2008, "operator_memory": 368, "communication": 10, "communication_matrix": 96, "op_statistic": 66, "api_statistic": 114,
	} {
		if s := tr.Source.Sheet(name); s == nil || s.Rows != rows {
			t.Errorf("table %s: %+v, want %d rows", name, s != nil, rows)
		}
	}
	if tr.Source.BadRecords != 0 || len(tr.Source.Devices) != 2 {
		t.Errorf("%d bad records, devices %+v", tr.Source.BadRecords, tr.Source.Devices)
	}
	s := tr.Source.Sheet("communication")
	sum := map[int64]int64{}
	for i := range s.Rows {
		if op := s.Column("op").Text[i]; op != "Total Op Info" {
			sum[s.Column("device").Int[i]] += s.Column("elapse_ns").Int[i]
		}
	}
	if sum[0] != 105991878 || sum[1] != 100375286 { // Communication of step_trace_time.csv
		t.Errorf("communication takes %v", sum)
	}
	if m := tr.Source.Sheet("operator_memory"); m.Column("size_bytes").Int[0] != 19268096 || m.Column("allocation_time_ns").Int[0] != 1736408883694624810 {
		t.Errorf("operator_memory starts with %v, %v", m.Column("size_bytes").Int[0], m.Column("allocation_time_ns").Int[0])
	}
	if l := tr.Source.Sheet("l2_cache"); l.Column("victim_rate").Value(0) != 0.23264 {
		t.Errorf("l2_cache starts with %v", l.Column("victim_rate").Value(0))
	}
}
