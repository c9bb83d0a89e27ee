package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"npu": main})
}

// TestScripts runs the command lines of testdata/script. The real files that some checkouts have beside them are
// under $DATA; a script that needs them begins with "[!data] skip". $SAMPLES is the repository's own testdata.
func TestScripts(t *testing.T) {
	data, err := filepath.Abs("../../../shared/data")
	if err != nil {
		t.Fatal(err)
	}
	samples, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	_, missing := os.Stat(data)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("DATA", data)
			e.Setenv("SAMPLES", samples)
			e.Setenv("NPU_RUN_DIR", filepath.Join(e.WorkDir, ".run"))
			return nil
		},
		Condition: func(c string) (bool, error) { return c == "data" && missing == nil, nil },
	})
}
