package model

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"npu/internal/sim/soc"
	"npu/internal/tensor"
)

// dataDir is the folder of real models that some checkouts have beside them.
func dataDir(t testing.TB) string {
	t.Helper()
	d, err := filepath.Abs("../../../shared/data")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d); err != nil {
		t.Skip("no ../shared/data: the real models are not part of the repository")
	}
	return d
}

type caseFile struct {
	Inputs, Outputs []struct {
		Name, DType, File string
		Shape             []int
	}
}

func loadCase(t testing.TB, dir string) (caseFile, map[string]tensor.Shape, map[string]*tensor.Tensor) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c caseFile
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	shapes, in := map[string]tensor.Shape{}, map[string]*tensor.Tensor{}
	for _, p := range c.Inputs {
		if len(p.Shape) > 0 {
			shapes[p.Name] = p.Shape
		}
		raw, err := os.ReadFile(filepath.Join(dir, p.File))
		if err != nil {
			t.Fatal(err)
		}
		dt, err := tensor.ParseDType(p.DType)
		if err != nil {
			t.Fatal(err)
		}
		in[p.Name] = &tensor.Tensor{DType: dt, Shape: p.Shape, Data: raw}
	}
	return c, shapes, in
}

func chip(t testing.TB) *soc.Chip {
	t.Helper()
	c, err := soc.Lookup("Ascend910B3")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Real models give the outputs of ONNX Runtime, the same bits eagerly and sunk, once and in loops.
func TestRun_realModels(t *testing.T) {
	root := filepath.Join(dataDir(t), "onnx")
	dirs, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		t.Run(d.Name(), func(t *testing.T) {
			dir := filepath.Join(root, d.Name())
			c, shapes, in := loadCase(t, dir)
			m, err := Open(filepath.Join(dir, "model.onnx"), Options{Shapes: shapes})
			if err != nil {
				t.Fatal(err)
			}
			var first *Result
			for _, o := range []RunOptions{{Mode: Sunk}, {Mode: Eager}, {Mode: Sunk, Loop: SinkLoop, Iterations: 2}} {
				o.Chip, o.Inputs = chip(t), in
				m, err := Open(m.Path, Options{Shapes: shapes}) // loading a model uses it up
				if err != nil {
					t.Fatal(err)
				}
				r, err := m.Run(context.Background(), o)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Trace.Check(); err != nil {
					t.Errorf("%s: %v", o.Mode, err)
				}
				if first == nil {
					first = r
					compareCase(t, dir, c, r.Outputs)
					continue
				}
				for i := range r.Outputs {
					if !bytes.Equal(r.Outputs[i].Data, first.Outputs[i].Data) {
						t.Errorf("output %d differs between %s and graph", i, o.Mode)
					}
				}
			}
		})
	}
}

// compareCase holds outputs against the stored ones: |a-b| <= 1e-4 + 1e-4·|b|, and for mlsd, whose values run to
// hundreds, 1e-4·max|b|.
func compareCase(t *testing.T, dir string, c caseFile, got []*tensor.Tensor) {
	t.Helper()
	for i, p := range c.Outputs {
		raw, err := os.ReadFile(filepath.Join(dir, p.File))
		if err != nil {
			t.Fatal(err)
		}
		if p.DType != "float32" {
			continue
		}
		want, have := tensor.View[float32](raw), tensor.View[float32](got[i].Data)
		if len(want) != len(have) {
			t.Errorf("output %s has %d elements, want %d", p.Name, len(have), len(want))
			continue
		}
		var scale, worst float64
		for _, w := range want {
			scale = max(scale, math.Abs(float64(w)))
		}
		at := 0
		for k := range want {
			d := math.Abs(float64(have[k])-float64(want[k])) - 1e-4 - 1e-4*math.Abs(float64(want[k]))
			if filepath.Base(dir) == "mlsd-320-tiny" {
				d = math.Abs(float64(have[k])-float64(want[k])) - 1e-4*scale
			}
			if d > worst || math.IsNaN(float64(have[k])) != math.IsNaN(float64(want[k])) {
				worst, at = d, k
			}
		}
		if worst > 0 {
			t.Errorf("output %s: element %d is %v, want %v", p.Name, at, have[at], want[at])
		}
	}
}
