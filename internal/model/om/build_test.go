package om

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/tensor"
)

// build converts a real file and settles its graph.
func build(t testing.TB, m *Model, shapes map[string]tensor.Shape) *Built {
	t.Helper()
	b, err := m.Build(shapes)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := graph.Infer(b.Graph); err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(b.Graph); err != nil {
		t.Fatal(err)
	}
	return b
}

func eval(t testing.TB, b *Built, in map[string]*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	if len(b.Timed) > 0 {
		t.Fatalf("timed only: %v", b.Timed)
	}
	out, err := graph.Eval(b.Graph, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ramp fills a tensor with small numbers that differ.
func ramp(t tensor.DType, s tensor.Shape, seed uint32) *tensor.Tensor {
	x, err := tensor.New(t, s)
	if err != nil {
		panic(err)
	}
	v := make([]float64, 1)
	for i := range s.Count() {
		seed = seed*1664525 + 1013904223
		v[0] = float64(seed>>8)/(1<<24)*4 - 2
		if !t.Float() {
			v[0] = float64(seed >> 24)
		}
		if err := tensor.EncodeFloats(x.Data, t, i, v); err != nil {
			panic(err)
		}
	}
	return x
}

// TestBuild_verified runs the files whose outputs are known: from ONNX Runtime, or statistics of a real device.
func TestBuild_verified(t *testing.T) {
	dir := realFiles(t)
	b, err := os.ReadFile(filepath.Join(dir, "verify", "manifest.json"))
	if err != nil {
		t.Skip("no manifest")
	}
	type port struct {
		Name, File string
		Shape      []int
		MinCosine  float64 `json:"min_cosine"`
		MaxAbs     float64 `json:"max_abs"`
		MeanAbs    float64 `json:"mean_abs"`
	}
	var list struct {
		Cases []struct {
			OM              string
			Inputs, Outputs []port
		}
	}
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	load := func(p port) *tensor.Tensor {
		raw, err := os.ReadFile(filepath.Join(dir, p.File))
		if err != nil {
			t.Fatal(err)
		}
		return &tensor.Tensor{DType: tensor.Float32, Shape: p.Shape, Data: raw}
	}
	for _, c := range list.Cases {
		m := build(t, parseReal(t, c.OM), nil)
		in := map[string]*tensor.Tensor{}
		for _, p := range c.Inputs {
			in[p.Name] = load(p)
		}
		out := eval(t, m, in)
		for i, p := range c.Outputs {
			if m.Graph.Outputs[i].Name != p.Name {
				t.Fatalf("%s: output %d is %q, expected %q", c.OM, i, m.Graph.Outputs[i].Name, p.Name)
			}
			d, err := tensor.Compare(out[i], load(p), tensor.Tolerance{})
			if err != nil {
				t.Fatal(err)
			}
			if d.Cosine < p.MinCosine || p.MaxAbs > 0 && d.MaxAbs > p.MaxAbs || p.MeanAbs > 0 && d.MeanAbs > p.MeanAbs {
				t.Errorf("%s %s: cosine %.7f, largest difference %.4f, mean %.4f; expected %.7f, %.4f, %.4f", c.OM, p.Name, d.Cosine, d.MaxAbs, d.MeanAbs, p.MinCosine, p.MaxAbs, p.MeanAbs)
			}
		}
	}
}

// TestBuild_gemm: 2·A·B + C in float16 with float32 sums, to the bit.
func TestBuild_gemm(t *testing.T) {
	m := build(t, parseReal(t, "gemm_single_op.om"), nil)
	a, b, c := ramp(tensor.Float16, tensor.Shape{16, 16}, 1), ramp(tensor.Float16, tensor.Shape{16, 16}, 2), ramp(tensor.Float16, tensor.Shape{16, 16}, 3)
	scalar := func(f float32) *tensor.Tensor {
		x, err := tensor.ScalarFloat32(f).As(tensor.Float16)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	got := eval(t, m, map[string]*tensor.Tensor{"GEMM_in_0": a, "GEMM_in_1": b, "GEMM_in_2": c, "GEMM_in_3": scalar(2), "GEMM_in_4": scalar(1)})[0]
	half := func(x *tensor.Tensor, i int) float32 { return tensor.HalfToFloat32(tensor.View[uint16](x.Data)[i]) }
	for i := range 16 {
		for j := range 16 {
			sum := float32(0)
			for k := range 16 {
				sum += half(a, 16*i+k) * half(b, 16*k+j)
			}
			want := tensor.Float32ToHalf(2*sum + half(c, 16*i+j))
			if h := tensor.View[uint16](got.Data)[16*i+j]; h != want {
				t.Fatalf("element %d,%d is %#x, expected %#x", i, j, h, want)
			}
		}
	}
}

// megWeights are the filter of the meg models as O,I,KH,KW, read from the stored tiles by hand.
func megWeights(t *testing.T, m *Model) []float32 {
	t.Helper()
	o := op(m.rootGraph(), "dynamic_const_2")
	stored := tensor.View[uint16](m.Groups[0].Weights[weightOf(o).Desc.DataOffset:])
	w := make([]float32, 17*3*3*3)
	for oc := range 17 {
		for ic := range 3 {
			for k := range 9 {
				w[(oc*3+ic)*9+k] = tensor.HalfToFloat32(stored[((k*2+oc/16)*16+oc%16)*16+ic])
			}
		}
	}
	return w
}

// plainConv is the convolution of the meg models: 3x3, stride 1, no padding, inputs rounded to float16, sums in
// float64, results rounded to float16.
func plainConv(x []float32, w []float32, n int) []float32 {
	r := func(v float32) float64 { return float64(tensor.HalfToFloat32(tensor.Float32ToHalf(v))) }
	out := make([]float32, 0, n*17*14*14)
	for b := range n {
		for oc := range 17 {
			for i := range 14 {
				for j := range 14 {
					sum := 0.0
					for ic := range 3 {
						for k := range 9 {
							sum += r(x[((b*3+ic)*16+i+k/3)*16+j+k%3]) * float64(w[(oc*3+ic)*9+k])
						}
					}
					out = append(out, tensor.HalfToFloat32(tensor.Float32ToHalf(float32(sum))))
				}
			}
		}
	}
	return out
}

func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, expected %d", what, len(got), len(want))
	}
	for i := range got {
		// One unit of float16: a sum in another order may round to the neighbour.
		if d := math.Abs(float64(got[i] - want[i])); d > math.Max(math.Abs(float64(want[i]))/1000, 1e-3) {
			t.Fatalf("%s: element %d is %g, expected %g", what, i, got[i], want[i])
		}
	}
}

// TestBuild_conv: a compiled convolution is the plain one of its weights.
func TestBuild_conv(t *testing.T) {
	m := parseReal(t, "meg_model.om")
	x := ramp(tensor.Float32, tensor.Shape{4, 3, 16, 16}, 7)
	got := eval(t, build(t, m, nil), map[string]*tensor.Tensor{"d": x})[0]
	near(t, "meg_model", tensor.View[float32](got.Data), plainConv(tensor.View[float32](x.Data), megWeights(t, m), 4))
}

// TestBuild_gears runs each gear, and refuses others with the list of those there are.
func TestBuild_gears(t *testing.T) {
	m := parseReal(t, "meg_model_dyn.om")
	w := megWeights2(t, m)
	for _, n := range []int{1, 2, 4, 8} {
		x := ramp(tensor.Float32, tensor.Shape{n, 3, 16, 16}, uint32(n))
		got := eval(t, build(t, m, map[string]tensor.Shape{"d": {n, 3, 16, 16}}), map[string]*tensor.Tensor{"d": x})[0]
		near(t, fmt.Sprint("gear ", n), tensor.View[float32](got.Data), plainConv(tensor.View[float32](x.Data), w, n))
	}
	if b := build(t, m, nil); b.Graph.Inputs[0].Shape[0] != 8 {
		t.Errorf("without a shape the gear is %v", b.Graph.Inputs[0].Shape)
	}
	_, err := m.Build(map[string]tensor.Shape{"d": {3, 3, 16, 16}})
	if problem.ClassOf(err) != problem.Usage || !strings.Contains(err.Error(), "4x3x16x16") || !strings.Contains(err.Error(), "3x3x16x16") {
		t.Errorf("gear 3: %v", err)
	}
	if _, err := m.Build(map[string]tensor.Shape{"nobody": {1}}); problem.ClassOf(err) != problem.Usage {
		t.Errorf("unknown input: %v", err)
	}
	_, err = parseReal(t, "meg_model.om").Build(map[string]tensor.Shape{"d": {2, 3, 16, 16}})
	if problem.ClassOf(err) != problem.Usage || !strings.Contains(err.Error(), "4x3x16x16") {
		t.Errorf("another size of a fixed input: %v", err)
	}
}

// megWeights2 finds the filter by its type instead of its name.
func megWeights2(t *testing.T, m *Model) []float32 {
	t.Helper()
	for _, o := range m.rootGraph().Ops {
		if weightOf(o) != nil {
			o.Name = "dynamic_const_2"
			return megWeights(t, m)
		}
	}
	t.Fatal("no constant")
	return nil
}

// TestBuild_aipp: NV12 bytes become the three planes Y, U, V, without conversion as the file says.
func TestBuild_aipp(t *testing.T) {
	m := parseReal(t, "meg_model_yuv.om")
	w := megWeights2(t, m)
	for _, n := range []int{1, 4} {
		x := ramp(tensor.Uint8, tensor.Shape{n, 24, 16, 1}, uint32(n))
		planes := make([]float32, n*3*16*16)
		for b := range n {
			img := x.Data[b*384:]
			for i := range 16 {
				for j := range 16 {
					uv := 256 + i/2*16 + j/2*2
					for c, v := range []byte{img[16*i+j], img[uv], img[uv+1]} {
						planes[((b*3+c)*16+i)*16+j] = float32(v)
					}
				}
			}
		}
		// Either way to say the shape: that of the bytes, or that of the network behind the preprocessing.
		for _, s := range []tensor.Shape{{n, 24, 16, 1}, {n, 3, 16, 16}} {
			got := eval(t, build(t, m, map[string]tensor.Shape{"d": s}), map[string]*tensor.Tensor{"d": x})[0]
			near(t, fmt.Sprint("AIPP gear ", n), tensor.View[float32](got.Data), plainConv(planes, w, n))
		}
	}
}

// TestBuild_timed: an operator of unknown meaning makes the model one that is only timed, with its name.
func TestBuild_timed(t *testing.T) {
	for file, op := range map[string]string{"root_model.om": "FakeOpNpu", "dynamic_and_static_graph_without_unfold.om": "Rank"} {
		b := build(t, parseReal(t, file), nil)
		if len(b.Timed) != 1 || !strings.Contains(b.Timed[0], op) {
			t.Errorf("%s: timed only %v", file, b.Timed)
		}
	}
}

// TestBuild_notes: what was inferred is said with the operator's name.
func TestBuild_notes(t *testing.T) {
	b := build(t, parseReal(t, "nanotrack_backbone_127.om"), nil)
	n := 0
	for _, s := range b.Notes {
		if strings.Contains(s, "Conv2D") && strings.Contains(s, "inferred") {
			n++
		}
	}
	if n != 16 {
		t.Errorf("%d notes about convolutions, 16 lost their attributes", n)
	}
}
