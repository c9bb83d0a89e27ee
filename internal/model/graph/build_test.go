package graph_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"npu/internal/model/graph"
	"npu/internal/model/onnx"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

var update = flag.Bool("update", false, "write the golden files")

type attrs = kernels.Attrs

// convert makes a graph of what build adds to a model of opset 17.
func convert(t testing.TB, build func(b *onnx.Builder)) *graph.Graph {
	t.Helper()
	b := onnx.NewBuilder("g", 17)
	build(b)
	file, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Parse(file, "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// infer binds and infers; a graph with operators that are not there yet skips the test.
func infer(t testing.TB, g *graph.Graph, shapes map[string]tensor.Shape) []string {
	t.Helper()
	if _, err := graph.Bind(g, shapes); err != nil {
		t.Fatal(err)
	}
	notes, err := graph.Infer(g)
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(g); err != nil {
		t.Fatal(err)
	}
	if err := graph.CheckTypes(g); err != nil {
		t.Fatal(err)
	}
	return notes
}

// ramp fills a tensor with values that differ, positive and negative, away from zero.
func ramp(t testing.TB, dt tensor.DType, s tensor.Shape) *tensor.Tensor {
	t.Helper()
	x, err := tensor.New(dt, s)
	if err != nil {
		t.Fatal(err)
	}
	switch dt {
	case tensor.Float32:
		for i := range tensor.View[float32](x.Data) {
			tensor.View[float32](x.Data)[i] = float32((i*7919+13)%2001)/300 - 3.3
		}
	case tensor.Int64:
		for i := range tensor.View[int64](x.Data) {
			tensor.View[int64](x.Data)[i] = int64(i * 31 % 7)
		}
	case tensor.Bool:
		for i := range x.Data {
			x.Data[i] = byte(i & 1)
		}
	default:
		t.Fatalf("no ramp of %v", dt)
	}
	return x
}

func ramps(t testing.TB, g *graph.Graph) map[string]*tensor.Tensor {
	in := map[string]*tensor.Tensor{}
	for _, v := range g.Inputs {
		in[v.Name] = ramp(t, v.DType, v.Shape)
	}
	return in
}

func eval(t testing.TB, g *graph.Graph, in map[string]*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	out, err := graph.Eval(g, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// same compares outputs within rtol of the greatest element.
func same(t testing.TB, got, want []*tensor.Tensor, rtol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d outputs, want %d", len(got), len(want))
	}
	for i := range want {
		if err := closeTo(got[i], want[i], rtol, 0); err != nil {
			t.Errorf("output %d: %v", i, err)
		}
	}
}

// closeTo compares within rtol of the greatest element plus atol.
func closeTo(got, want *tensor.Tensor, rtol, atol float64) error {
	if got.DType != want.DType || !got.Shape.Equal(want.Shape) {
		return fmt.Errorf("is %v, want %v", got, want)
	}
	if want.DType != tensor.Float32 {
		if string(got.Data) != string(want.Data) {
			return fmt.Errorf("bytes differ")
		}
		return nil
	}
	a, b := tensor.View[float32](got.Data), tensor.View[float32](want.Data)
	var top float64
	for _, x := range b {
		top = max(top, math.Abs(float64(x)))
	}
	for j := range b {
		if d := math.Abs(float64(a[j]) - float64(b[j])); !(d <= rtol*top+atol) {
			return fmt.Errorf("element %d is %g, want %g", j, a[j], b[j])
		}
	}
	return nil
}

// golden compares text with testdata/name; -update writes it.
func golden(t testing.TB, name, got string) {
	t.Helper()
	f := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(f)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it); got:\n%s\nwant:\n%s", f, got, want)
	}
}
