package onnx

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"npu/internal/tensor"
)

// realCase is one folder of shared/data/onnx.
type realCase struct {
	name            string
	model           string
	Inputs, Outputs []realTensor
}

type realTensor struct {
	Name  string
	DType string
	Shape tensor.Shape
	File  string

	dir string
}

// realCases finds the real models beside the repository; without them the test is skipped.
func realCases(t testing.TB) []realCase {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Skip("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	root := filepath.Join(dir, "..", "shared", "data", "onnx")
	names, err := filepath.Glob(filepath.Join(root, "*", "case.json"))
	if err != nil || len(names) == 0 {
		t.Skip("no real models at ../shared/data/onnx")
	}
	var out []realCase
	for _, f := range names {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		d := filepath.Dir(f)
		c := realCase{name: filepath.Base(d), model: filepath.Join(d, "model.onnx")}
		if err := json.Unmarshal(b, &c); err != nil {
			t.Fatal(err)
		}
		for _, l := range [][]realTensor{c.Inputs, c.Outputs} {
			for i := range l {
				l[i].dir = d
			}
		}
		out = append(out, c)
	}
	return out
}
