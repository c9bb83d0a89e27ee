package npt_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"npu/internal/trace"
	"npu/internal/trace/gen"
	"npu/internal/trace/npt"
)

// Tables beside the tasks come back as they were, those of several chunks too.
func TestSheets_roundTrip(t *testing.T) {
	tr := gen.Trace(gen.Options{Tasks: 10})
	s := trace.NewSheet("pmu", trace.TextColumn("name"), trace.IntColumn("task"), trace.FloatColumn("mac_ratio"))
	for i := range 10_000 {
		var ratio any
		if i%3 > 0 {
			ratio = float64(i) / 7
		}
		s.Add([]string{"", "conv", "配置"}[i%3], int64(i)*-1_000_003, ratio)
	}
	tr.Source.AddSheet(s)
	var b bytes.Buffer
	if err := npt.Write(&b, tr); err != nil {
		t.Fatal(err)
	}
	got, err := npt.Read(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(tr.Source.Sheets, got.Source.Sheets, cmpopts.EquateNaNs(), cmpopts.IgnoreUnexported(trace.SheetColumn{})); d != "" {
		t.Error(d)
	}
	if v := got.Source.Sheet("pmu").Column("mac_ratio").Float[0]; !math.IsNaN(v) {
		t.Errorf("a missing value became %v", v)
	}
	// Cut short inside the table, the rows before it are there, and the loss is said.
	got, err = npt.Read(bytes.NewReader(b.Bytes()[:b.Len()-200]))
	if err == nil || got == nil || got.Tasks.Len() != tr.Tasks.Len() || len(got.Source.Missing) == 0 {
		t.Errorf("cut short: error %v, trace there: %v", err, got != nil)
	}
}
