package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"npu/internal/problem"
)

// TestOperatorsDocs: docs/operators.md is what the command prints for the ONNX project's test data.
func TestOperatorsDocs(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "data", "onnx-backend")
	args := []string{"bench", "conformance", "--markdown", "--threads", "2"}
	for _, f := range []string{"node.zip", "simple.zip", "pytorch-converted.zip", "pytorch-operator.zip", "light.zip"} {
		path := filepath.Join(dir, f)
		if _, err := os.Stat(path); err != nil {
			t.Skipf("no ONNX backend cases at %s", path)
		}
		args = append(args, path)
	}
	var out bytes.Buffer
	root := newRootCmd(&app{streams: &streams{out: &out, err: &out}})
	root.SetArgs(args)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	golden(t, "../../docs/operators.md", out.String())
}

func TestConformance_refuses(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.zip")
	if err := os.WriteFile(bad, []byte("no zip"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  []string
		class problem.Class
	}{
		{[]string{bad}, problem.Damaged}, {[]string{t.TempDir()}, problem.Damaged}, {[]string{"missing.zip"}, problem.Damaged},
		{[]string{bad, "--mode", "fast"}, problem.Usage}, {[]string{bad, "--threads", "0"}, problem.Usage},
	} {
		var out bytes.Buffer
		root := newRootCmd(&app{streams: &streams{out: &out, err: &out}})
		root.SetArgs(append([]string{"bench", "conformance"}, c.args...))
		if err := root.ExecuteContext(t.Context()); problem.ClassOf(err) != c.class || err == nil {
			t.Errorf("%v: %v, want class %v", c.args, err, c.class)
		}
	}
}
