package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The outputs of docs/traces.md are real: of a generated run, and of profiles of real devices where the machine has them.
func TestTraceDocs(t *testing.T) {
	samples, err := filepath.Abs("../../../shared/data/prof")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := filepath.Abs("../../docs/traces.md")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(samples, "raw/ascend910b/div-level1/PROF*"))
	if len(found) != 1 {
		t.Skip("no profiling samples of real devices on this machine")
	}
	t.Chdir(t.TempDir())
	for link, to := range map[string]string{"PROF_div": found[0], "job_dir": filepath.Join(samples, "torch/ascend910b-ddp/text-level1")} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	checkBlocks(t, doc, string(b), 9)
}
