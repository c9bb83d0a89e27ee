package model

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/model/graph"
	"npu/internal/model/om"
	"npu/internal/problem"
	"npu/internal/sim/soc"
	"npu/internal/tensor"
)

// onnxCase is a folder of ../shared/data/onnx with its inputs.
type onnxCase struct {
	dir    string
	Inputs []struct {
		Name, DType, File string
		Shape             tensor.Shape
	}
}

func onnxCases(t *testing.T) []onnxCase {
	t.Helper()
	root := filepath.Join("..", "..", "..", "shared", "data", "onnx")
	dirs, err := filepath.Glob(filepath.Join(root, "*", "case.json"))
	if err != nil || len(dirs) == 0 {
		t.Skip("no real models at ../shared/data/onnx")
	}
	var out []onnxCase
	for _, f := range dirs {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		c := onnxCase{dir: filepath.Dir(f)}
		if err := json.Unmarshal(b, &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

func (c *onnxCase) shapes() map[string]tensor.Shape {
	out := map[string]tensor.Shape{}
	for _, in := range c.Inputs {
		if len(in.Shape) > 0 {
			out[in.Name] = in.Shape
		}
	}
	return out
}

func (c *onnxCase) inputs(t *testing.T) map[string]*tensor.Tensor {
	t.Helper()
	out := map[string]*tensor.Tensor{}
	for _, in := range c.Inputs {
		b, err := os.ReadFile(filepath.Join(c.dir, in.File))
		if err != nil {
			t.Fatal(err)
		}
		d, err := tensor.ParseDType(in.DType)
		if err != nil {
			t.Fatal(err)
		}
		out[in.Name] = &tensor.Tensor{DType: d, Shape: in.Shape, Data: b}
	}
	return out
}

// outputs computes a model on the host.
func outputs(t *testing.T, path string, shapes map[string]tensor.Shape, in map[string]*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	m, err := Open(path, Options{Shapes: shapes})
	if err != nil {
		t.Fatal(err)
	}
	out, err := graph.Eval(m.Graph, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func compiled(t *testing.T, path string, o CompileOptions) string {
	t.Helper()
	chip, err := soc.Lookup(soc.Default)
	if err != nil {
		t.Fatal(err)
	}
	o.Chip = chip
	c, err := Compile(path, o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := om.Parse(c.File)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Problems) > 0 {
		t.Errorf("%s: %v", path, m.Problems)
	}
	if !bytes.Equal(m.Encode(), c.File) {
		t.Errorf("%s: the written file encodes differently", path)
	}
	file := filepath.Join(t.TempDir(), "m.om")
	if err := os.WriteFile(file, c.File, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCompile_bits: the compiled file computes the bits of the ONNX file, with shapes fixed and open.
func TestCompile_bits(t *testing.T) {
	for _, c := range onnxCases(t) {
		name := filepath.Base(c.dir)
		path := filepath.Join(c.dir, "model.onnx")
		in := c.inputs(t)
		want := outputs(t, path, c.shapes(), in)
		for _, form := range []struct {
			what  string
			o     CompileOptions
			later map[string]tensor.Shape
		}{{"fixed", CompileOptions{Shapes: c.shapes()}, nil}, {"open", CompileOptions{}, c.shapes()}} {
			got := outputs(t, compiled(t, path, form.o), form.later, in)
			if len(got) != len(want) {
				t.Fatalf("%s, %s: %d outputs, expected %d", name, form.what, len(got), len(want))
			}
			for i := range got {
				if got[i].DType != want[i].DType || !got[i].Shape.Equal(want[i].Shape) || !bytes.Equal(got[i].Data, want[i].Data) {
					t.Errorf("%s, %s: output %d differs", name, form.what, i)
				}
			}
		}
	}
}

// TestCompile_half stays near the float32 result.
func TestCompile_half(t *testing.T) {
	for _, c := range onnxCases(t) {
		switch filepath.Base(c.dir) {
		case "synthetic-bert-tiny", "ppocr-v2-cls":
		default:
			continue
		}
		path := filepath.Join(c.dir, "model.onnx")
		in := c.inputs(t)
		want := outputs(t, path, c.shapes(), in)
		got := outputs(t, compiled(t, path, CompileOptions{Shapes: c.shapes(), Half: true}), nil, in)
		for i := range got {
			d, err := tensor.Compare(got[i], want[i], tensor.Tolerance{})
			if err != nil {
				t.Fatal(err)
			}
			if d.Cosine < 0.9999 || d.MaxAbs == 0 {
				t.Errorf("%s: output %d has cosine %v and difference %v", c.dir, i, d.Cosine, d.MaxAbs)
			}
		}
	}
}

// TestCompile_gears: each gear computes what the ONNX file computes at that size, others are refused.
func TestCompile_gears(t *testing.T) {
	for _, c := range onnxCases(t) {
		if filepath.Base(c.dir) != "ppocr-v2-cls" {
			continue
		}
		path := filepath.Join(c.dir, "model.onnx")
		file := compiled(t, path, CompileOptions{Shapes: map[string]tensor.Shape{"x": {-1, 3, 48, 96}}, Batches: []int{2, 1}})
		for _, n := range []int{1, 2} {
			s := tensor.Shape{n, 3, 48, 96}
			x, err := random(tensor.Float32, s, uint64(n))
			if err != nil {
				t.Fatal(err)
			}
			in := map[string]*tensor.Tensor{"x": x}
			got, want := outputs(t, file, map[string]tensor.Shape{"x": s}, in), outputs(t, path, map[string]tensor.Shape{"x": s}, in)
			if !bytes.Equal(got[0].Data, want[0].Data) {
				t.Errorf("batch %d differs", n)
			}
		}
		_, err := Open(file, Options{Shapes: map[string]tensor.Shape{"x": {3, 3, 48, 96}}})
		if problem.ClassOf(err) != problem.Usage || !strings.Contains(err.Error(), "2x3x48x96") {
			t.Errorf("batch 3: %v", err)
		}
		dims := compiled(t, path, CompileOptions{Shapes: map[string]tensor.Shape{"x": {-1, 3, 48, -1}}, Dims: [][]int{{1, 96}, {2, 192}}})
		m, err := Open(dims, Options{})
		if err != nil || !m.Plan.Inputs[0].Shape.Equal(tensor.Shape{2, 3, 48, 192}) {
			t.Errorf("largest gear: %v, %v", m, err)
		}
	}
}

// TestCompile_usage: gears and shapes that make no sense.
func TestCompile_usage(t *testing.T) {
	cases := onnxCases(t)
	path := filepath.Join(cases[0].dir, "model.onnx")
	chip, err := soc.Lookup(soc.Default)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]CompileOptions{
		"both gears":    {Batches: []int{1}, Dims: [][]int{{1}}},
		"batch 0":       {Batches: []int{0}},
		"no such input": {Shapes: map[string]tensor.Shape{"nobody": {1}}},
		"too many dims": {Dims: [][]int{{1, 2, 3, 4, 5, 6, 7, 8, 9}}},
	} {
		o.Chip = chip
		if _, err := Compile(path, o); problem.ClassOf(err) != problem.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, s := range []string{"", "1,x", "1;2,3", "0"} {
		if _, err := ParseGears(s); problem.ClassOf(err) != problem.Usage {
			t.Errorf("gears %q: %v", s, err)
		}
	}
	if s, err := ParseOpenShapes([]string{"x=-1x3x-1"}); err != nil || !s["x"].Equal(tensor.Shape{-1, 3, -1}) {
		t.Errorf("open shape: %v %v", s, err)
	}
}

// TestOpen_chip: a compiled model brings its chip, and another one is worth a word.
func TestOpen_chip(t *testing.T) {
	file := filepath.Join("..", "..", "..", "shared", "data", "om", "nanotrack_head.om")
	if _, err := os.Stat(file); err != nil {
		t.Skip("no real .om files at ../shared/data/om")
	}
	m, err := Open(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Soc != "Ascend310B4" || m.CheckChip("Ascend310B4") != "" || !strings.Contains(m.CheckChip("Ascend910B3"), "Ascend310B4") {
		t.Errorf("chip %q, on another: %q", m.Soc, m.CheckChip("Ascend910B3"))
	}
}
