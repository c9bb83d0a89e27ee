package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/sim/cost/fit"
)

const kernelDetails = `Name,Type,Accelerator Core,Duration(us),Block Dim,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats
mm,MatMulV2,AI_CORE,80,20,"""4096,1024;1024,2048""",DT_BF16;DT_BF16,ND;ND,"""4096,2048""",DT_BF16,ND
mm,MatMulV2,AI_CORE,81,20,"""4096,1024;1024,2048""",DT_BF16;DT_BF16,ND;ND,"""4096,2048""",DT_BF16,ND
add,Add,AI_VECTOR_CORE,30,40,"""4096,1024;4096,1024""",DT_BF16;DT_BF16,ND;ND,"""4096,1024""",DT_BF16,ND
new,NeverSeen,AI_VECTOR_CORE,30,40,"""4096,1024""",DT_BF16,ND,"""4096,1024""",DT_BF16,ND
ar,hcom_allReduce_,COMMUNICATION,9000,0,N/A,N/A,N/A,N/A,N/A,N/A
`

func kernelFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kernel_details.csv")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSocCheck(t *testing.T) {
	path := kernelFile(t, kernelDetails)
	code, out, e := socCLI(false, "check", "--soc", "910B4", path, "--json")
	var reports []fit.Report
	if err := json.Unmarshal([]byte(out), &reports); code != 0 || err != nil || len(reports) != 1 {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, e)
	}
	r := reports[0]
	if r.Soc != "Ascend910B4" || r.SocReason != "" || r.Measured != "Ascend910B4" || r.FittedOn || r.Rows != 5 || r.Compared != 4 ||
		r.All.Profile.Shapes != 3 || len(r.Types) != 3 || len(r.Worst) != 3 || len(r.Skipped) != 1 || r.Skipped[0].Rows != 1 {
		t.Errorf("%+v", r)
	}
	for _, x := range r.Types {
		if want := x.Name != "NeverSeen"; x.Calibrated == nil || *x.Calibrated != want {
			t.Errorf("%s: calibrated %v", x.Name, x.Calibrated)
		}
		if x.Name == "MatMulV2" && (x.Profile.MedianPercent > 15 || x.Profile.MedianPercent >= x.Roofline.MedianPercent) {
			t.Errorf("%+v", x)
		}
	}
	// As a table, with the chip told from the file or before it.
	code, out, e = socCLI(false, "check", path)
	for _, want := range []string{"told from up to 20 cube and 40 vector blocks", "\nshapes\tmeasured_ns\tmedian_%\tp90_%\t", "over 20 µs", "NeverSeen (not calibrated)", "\nworst\nerror_%\t", "hcom_allReduce_"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q: %s%s", code, want, out, e)
		}
	}
	if code, out, _ = socCLI(true, "check", "910B3="+path); code != 0 || !strings.Contains(out, "Ascend910B3\n") || !strings.Contains(out, "no constants of this chip") {
		t.Errorf("exit %d: %s", code, out)
	}
	// A profile of one's own.
	table := filepath.Join(t.TempDir(), "own.tsv")
	if code, out, e = socCLI(false, "fit", "-s", "910B3", path, "-o", table, "--json"); code != 0 || !strings.Contains(out, `"how": "each shape left out"`) {
		t.Fatalf("exit %d: %s%s", code, out, e)
	}
	if code, out, _ = socCLI(false, "check", "-s", "910B3", "--profile", table, path); code != 0 || !strings.Contains(out, "fitted on this file too") {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, out, _ = socCLI(false, "check", "--profile", "none", path); code != 0 || !strings.Contains(out, "nothing measured") {
		t.Errorf("exit %d: %s", code, out)
	}
}

func TestSocCheck_refuses(t *testing.T) {
	good, bad := kernelFile(t, kernelDetails), kernelFile(t, "a,b\n1,2\n")
	for _, c := range []struct {
		code int
		args []string
	}{
		{2, []string{"check"}}, {2, []string{"fit"}}, {2, []string{"check", "--soc", "910B7", good}}, {3, []string{"check", bad}}, {3, []string{"fit", bad}},
		{3, []string{"check", "missing.csv"}}, {3, []string{"check", filepath.Dir(good)}}, {3, []string{"check", "--profile", bad, good}},
		{1, []string{"fit", "-s", "910B3", kernelFile(t, strings.Join(strings.SplitAfter(kernelDetails, "\n")[:2], ""))}},
	} {
		if code, out, e := socCLI(false, c.args...); code != c.code || out != "" || strings.Count(e, "\n") != 1 {
			t.Errorf("%v: exit %d, want %d: %s%s", c.args, code, c.code, out, e)
		}
	}
}

// docs/cost-model.md is what the fit on the real files prints.
func TestCostModelPage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	files, _ := filepath.Glob("../../../shared/data/kernels/*.csv")
	if len(files) < 2 {
		t.Skip("real kernel times are not here")
	}
	page := filepath.Join(t.TempDir(), "page.md")
	if code, out, e := socCLI(false, append([]string{"fit", "--doc", page}, files...)...); code != 0 {
		t.Fatalf("exit %d: %s%s", code, out, e)
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../../docs/cost-model.md", string(b))
}
