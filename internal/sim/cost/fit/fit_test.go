package fit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/sim/cost"
	"npu/internal/sim/cost/fit"
	"npu/internal/sim/cost/measured"
	"npu/internal/sim/soc"
)

// realFiles finds the files of real kernel times beside the repository.
func realFiles(t *testing.T) []string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "..", "shared", "data", "kernels", "*.csv"))
	if len(files) < 2 {
		t.Skip("real kernel times are not here")
	}
	return files
}

// The goals, on kernels of real chips that the constants have not seen.
func TestStudy_realKernels(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	var sources []fit.Source
	for _, path := range realFiles(t) {
		f, chip, why, err := fit.Load(path, "")
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"gpt": "Ascend910B1", "qwen3": "Ascend910B4"}[strings.Split(filepath.Base(path), "-")[0]]; want != "" && chip.Name != want {
			t.Errorf("%s: taken for %s, told from %s", path, chip.Name, why)
		}
		sources = append(sources, fit.Source{File: f, Chip: chip, Why: why})
	}
	st, err := fit.NewStudy(context.Background(), sources)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range st.Files {
		for _, goal := range []struct {
			how                     string
			all, over20, over, most float64
		}{
			{fit.ByLeftOut, 17, 10, 10, 0},
			{fit.ByOthers, 25, 25, 25, 0},
			{fit.ByAssumed, 30, 30, 30, 0},
		} {
			m, ok := f.Of(goal.how)
			if !ok {
				t.Fatalf("%s: nothing %s", f.File, goal.how)
			}
			t.Logf("%s, %s: %.1f %%, over 20 µs %.1f %%, large products %.1f %%", f.Soc, goal.how, m.All.MedianPercent, m.Over20.MedianPercent, m.Products.MedianPercent)
			if m.All.MedianPercent > goal.all || m.Over20.MedianPercent > goal.over20 || m.Products.MedianPercent > goal.over || m.All.Shapes < 100 || m.Products.Shapes < 5 {
				t.Errorf("%s, %s: %+v", f.Soc, goal.how, m)
			}
		}
		sheet, _ := f.Of(fit.ByRoofline)
		left, _ := f.Of(fit.ByLeftOut)
		if left.All.MedianPercent > 0.5*sheet.All.MedianPercent {
			t.Errorf("%s: %.1f %% beside %.1f %% of the roofline", f.Soc, left.All.MedianPercent, sheet.All.MedianPercent)
		}
	}
	// The embedded table is what a fit on these files gives.
	var now, have strings.Builder
	if err := errors.Join(cost.WriteFitted(&now, st.Fit), cost.WriteFitted(&have, cost.Embedded())); err != nil {
		t.Fatal(err)
	}
	if now.String() != have.String() {
		t.Error("fitted.tsv is stale: make it anew with npu soc fit FILE... -o internal/sim/cost/fitted.tsv")
	}
	// Few constants: fewer than shapes.
	n := 0
	for _, r := range st.Fit {
		for _, v := range r.Constants {
			if v > 0 {
				n++
			}
		}
	}
	t.Logf("%d constants on %d shapes", n, st.Files[0].Shapes+st.Files[1].Shapes)
	if n > (st.Files[0].Shapes+st.Files[1].Shapes)*2/3 {
		t.Errorf("%d constants", n)
	}
}

// synthetic makes a file of kernels that take what the model says with known constants.
func synthetic(t *testing.T, chip *soc.Chip, truth *cost.Profile) *measured.File {
	t.Helper()
	var b strings.Builder
	b.WriteString("Type,Accelerator Core,Duration(us),Block Dim,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats\n")
	for k := range 9 {
		n := 1024 << (2 * k)
		fmt.Fprintf(&b, "Exp,AI_VECTOR_CORE,1,0,\"8,%d\",FLOAT,ND,\"8,%d\",FLOAT,ND\n", n, n)
	}
	for _, m := range []int{512, 1024, 2048, 4096, 8192} {
		fmt.Fprintf(&b, "MatMulV2,AI_CORE,1,0,\"%d,4096;4096,4096\",FLOAT16;FLOAT16,ND;ND,\"%d,4096\",FLOAT16,ND\n", m, m)
	}
	f, err := measured.Read(strings.NewReader(b.String()), "synthetic.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range fit.Samples(chip, f) {
		s.Times[0] = s.Estimate(truth)
	}
	return f
}

// What the model can express is found again.
func TestFit_findsConstants(t *testing.T) {
	chip, err := soc.Lookup("910B3")
	if err != nil {
		t.Fatal(err)
	}
	truth := cost.NewProfile([]cost.Fitted{
		{Scope: cost.Scope{Chip: "*", Name: "Exp"}, Constants: cost.Constants{cost.Start: 4000, cost.Stream: 800, cost.L2Gain: 300, cost.Instr: 900}},
		{Scope: cost.Scope{Chip: "*", Name: "MatMul"}, Constants: cost.Constants{cost.Start: 9000, cost.Cube: 600}},
	})
	f := synthetic(t, chip, truth)
	samples := fit.Samples(chip, f)
	before, after := fit.Sum(fit.Predict(&cost.Profile{}, samples)), fit.Sum(fit.Predict(cost.NewProfile(fit.Fit(samples)), samples))
	t.Logf("%+v, fitted %+v", before, after)
	if before.MedianPercent < 15 || after.MedianPercent > 3 || after.P90Percent > 8 {
		t.Errorf("%+v, fitted %+v", before, after)
	}
	c := cost.NewProfile(fit.Fit(samples)).Constants(chip, cost.AIC, "MatMul")
	if c[cost.Cube] < 570 || c[cost.Cube] > 630 {
		t.Errorf("cube %d, want about 600", c[cost.Cube])
	}
}

// A shape that is left out does not reach its own prediction: changing its time changes nothing.
func TestLeaveOneOut_isBlind(t *testing.T) {
	chip, err := soc.Lookup("910B3")
	if err != nil {
		t.Fatal(err)
	}
	samples := fit.Samples(chip, synthetic(t, chip, &cost.Profile{}))
	first, err := fit.LeaveOneOut(context.Background(), samples)
	if err != nil {
		t.Fatal(err)
	}
	samples[3].Times[0] *= 7
	again, err := fit.LeaveOneOut(context.Background(), samples)
	if err != nil {
		t.Fatal(err)
	}
	if first[3].EstimateNs != again[3].EstimateNs {
		t.Errorf("%d ns, then %d ns", first[3].EstimateNs, again[3].EstimateNs)
	}
	for i := range samples {
		if i != 3 {
			samples[i].Times[0] *= 2
		}
	}
	if again, err = fit.LeaveOneOut(context.Background(), samples); err != nil {
		t.Fatal(err)
	}
	if r := float64(again[3].EstimateNs) / float64(first[3].EstimateNs); r < 1.3 {
		t.Errorf("all others take twice as long, and the one that is left out %.2f times", r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := fit.LeaveOneOut(ctx, samples); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
