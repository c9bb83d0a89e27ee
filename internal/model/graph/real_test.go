package graph_test

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"npu/internal/model/graph"
	"npu/internal/model/onnx"
	"npu/internal/tensor"
)

// realModel is one folder of real data: a model, inputs and what another runtime computed from them.
type realModel struct {
	dir             string
	Inputs, Outputs []struct {
		Name, DType, File string
		Shape             tensor.Shape
	}
}

// realModels finds the real models beside the repository; without them the test is skipped.
func realModels(t testing.TB) []realModel {
	t.Helper()
	root, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil || root == filepath.Dir(root) {
			break
		}
		root = filepath.Dir(root)
	}
	files, err := filepath.Glob(filepath.Join(root, "..", "shared", "data", "onnx", "*", "case.json"))
	if err != nil || len(files) == 0 {
		t.Skip("no real models at ../shared/data/onnx")
	}
	var out []realModel
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m := realModel{dir: filepath.Dir(f)}
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

func (m realModel) load(t testing.TB, file, dtype string, s tensor.Shape) *tensor.Tensor {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(m.dir, file))
	if err != nil {
		t.Fatal(err)
	}
	dt, err := tensor.ParseDType(dtype)
	if err != nil {
		t.Fatal(err)
	}
	return &tensor.Tensor{DType: dt, Shape: s, Data: b}
}

// TestReal_outputs infers the real models and compares what they compute with another runtime's outputs, before and
// after the passes.
func TestReal_outputs(t *testing.T) {
	for _, m := range realModels(t) {
		t.Run(filepath.Base(m.dir), func(t *testing.T) {
			model, err := onnx.Read(filepath.Join(m.dir, "model.onnx"))
			if err != nil {
				t.Fatal(err)
			}
			g, err := model.Graph()
			if err != nil {
				t.Fatal(err)
			}
			shapes := map[string]tensor.Shape{}
			in := map[string]*tensor.Tensor{}
			for _, i := range m.Inputs {
				shapes[i.Name] = i.Shape
				in[i.Name] = m.load(t, i.File, i.DType, i.Shape)
			}
			if _, err := graph.Bind(g, shapes); err != nil {
				t.Fatal(err)
			}
			notes, err := graph.Infer(g)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range notes {
				t.Log(s)
			}
			check := func(when string) {
				t.Helper()
				if err := graph.Check(g); err != nil {
					t.Fatal(err)
				}
				if err := graph.CheckTypes(g); err != nil {
					t.Fatal(err)
				}
				got, err := graph.Eval(g, in, nil)
				if err != nil {
					t.Fatal(err)
				}
				for i, o := range m.Outputs {
					if g.Outputs[i].Name != o.Name {
						t.Errorf("output %d is called %q, want %q", i, g.Outputs[i].Name, o.Name)
					}
					m.compare(t, when, o.Name, got[i], m.load(t, o.File, o.DType, o.Shape))
				}
				t.Log(when, graph.Ops(g))
			}
			check("before")
			var ms [2]runtime.MemStats
			runtime.ReadMemStats(&ms[0])
			stats, err := graph.Optimize(g, graph.Options{})
			if err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&ms[1])
			if n := ms[1].TotalAlloc - ms[0].TotalAlloc; n > uint64(model.WeightBytes)/8+3<<20 {
				t.Errorf("the passes allocated %d bytes beside %d of weights", n, model.WeightBytes)
			} else {
				t.Logf("the passes allocated %d bytes beside %d of weights", n, model.WeightBytes)
			}
			t.Log(stats)
			check("after")
		})
	}
}

// compare holds |a-b| <= 1e-4 + 1e-4|b|. Of two models every operator sums in the reference's order: the line detector,
// whose scores are those that equal the greatest of their neighbourhood, and the speech embedding. Their bits are equal.
func (m realModel) compare(t *testing.T, when, name string, got, want *tensor.Tensor) {
	t.Helper()
	if got.DType != want.DType || !got.Shape.Equal(want.Shape) {
		t.Errorf("%s: output is %v, want %v", when, got, want)
		return
	}
	if want.DType != tensor.Float32 {
		return
	}
	a, b := tensor.View[float32](got.Data), tensor.View[float32](want.Data)
	tolerance := 1e-4
	switch filepath.Base(m.dir) {
	case "mlsd-320-tiny", "oww-embedding":
		tolerance = 0
	}
	worst := 0.0
	for i := range b {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if !(d <= tolerance+tolerance*math.Abs(float64(b[i]))) {
			t.Errorf("%s: element %d of %s is %g, want %g", when, i, name, a[i], b[i])
			return
		}
		worst = max(worst, d)
	}
	t.Logf("%s: worst difference of %s %.2g", when, name, worst)
}

// The run-time If on the sampling rate stays; the Ifs on shapes are gone.
func TestReal_sileroBranches(t *testing.T) {
	for _, m := range realModels(t) {
		if filepath.Base(m.dir) != "silero-vad-v5" {
			continue
		}
		model, err := onnx.Read(filepath.Join(m.dir, "model.onnx"))
		if err != nil {
			t.Fatal(err)
		}
		if model.Ops["If"] != 25 {
			t.Fatalf("the file has %d Ifs", model.Ops["If"])
		}
		g, err := model.Graph()
		if err != nil {
			t.Fatal(err)
		}
		shapes := map[string]tensor.Shape{}
		for _, i := range m.Inputs {
			shapes[i.Name] = i.Shape
		}
		if _, err := graph.Bind(g, shapes); err != nil {
			t.Fatal(err)
		}
		if _, err := graph.Infer(g); err != nil {
			t.Fatal(err)
		}
		if n := graph.Ops(g)["If"]; n != 1 {
			t.Errorf("%d Ifs are left, want the one on sr", n)
		}
		t.Log(slices.Sorted(maps.Keys(graph.Ops(g))))
	}
}
