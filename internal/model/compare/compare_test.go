package compare

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"npu/internal/model"
	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// data is a folder of real files beside the checkout.
func data(t *testing.T, elem ...string) string {
	t.Helper()
	p := filepath.Join(append([]string{"..", "..", "..", "..", "shared", "data"}, elem...)...)
	if _, err := os.Stat(p); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no ../shared/data beside the checkout: the real models are not part of the repository")
	}
	return p
}

// real opens the compiled tracker and the ONNX file it came from, and the stored input.
func real(t *testing.T) (a, b *model.Model, in map[string]*tensor.Tensor) {
	t.Helper()
	dir := data(t, "om")
	files, err := model.OpenFiles([]model.Binding{{Name: "input", File: filepath.Join(dir, "verify", "nanotrack_backbone_127.input.bin")}})
	if err != nil {
		t.Fatal(err)
	}
	a, b, in, _, err = open(Source{A: filepath.Join(dir, "nanotrack_backbone_127.om"), B: filepath.Join(dir, "verify", "nanotrack_backbone.onnx"), Files: files})
	if err != nil {
		t.Fatal(err)
	}
	return a, b, in
}

func TestRealLinesUp(t *testing.T) {
	a, b, in := real(t)
	r, err := Models(a, b, in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	working := 0
	for _, n := range b.Graph.Nodes {
		if !moving(n) {
			working++
		}
	}
	if len(r.Layers) != working || len(r.OnlyA)+len(r.OnlyB) != 0 {
		t.Errorf("%d of %d layers lined up; only in a %v, only in b %v", len(r.Layers), working, r.OnlyA, r.OnlyB)
	}
	for _, l := range r.Layers {
		if l.Kind != Precision || *l.Cosine < 0.9999 {
			t.Errorf("%s: %s, cosine %v", l.B, l.Kind, *l.Cosine)
		}
	}
	if r.First != nil {
		t.Errorf("first %+v", r.First)
	}
}

func node(t *testing.T, g *graph.Graph, name string) *graph.Node {
	t.Helper()
	i := slices.IndexFunc(g.Nodes, func(n *graph.Node) bool { return n.Name == name })
	if i < 0 {
		t.Fatalf("no node %s", name)
	}
	return g.Nodes[i]
}

// One change in the ONNX file is found at its layer, with its kind.
func TestRealChanges(t *testing.T) {
	weight := func(at int, to func(float32) float32) func(*graph.Node) {
		return func(n *graph.Node) {
			b := bytes.Clone(n.In[1].Const.Data)
			v := math.Float32frombits(binary.LittleEndian.Uint32(b[4*at:]))
			binary.LittleEndian.PutUint32(b[4*at:], math.Float32bits(to(v)))
			c := *n.In[1].Const
			c.Data = b
			n.In[1].Const = &c
		}
	}
	pads := func(v ...int64) func(*graph.Node) { return func(n *graph.Node) { n.Attrs["pads"] = v } }
	op := func(name string) func(*graph.Node) {
		return func(n *graph.Node) { n.Op, n.Attrs = name, kernels.Attrs{} }
	}
	for _, c := range []struct {
		name, node string
		change     func(*graph.Node)
		kind       Kind
	}{
		{"big weight", "Conv_15", weight(7, func(v float32) float32 { return v + 3 }), Weights},
		{"small weight", "Conv_63", weight(40, func(v float32) float32 { return v + 0.01 }), Weights},
		{"weight of a product", "Gemm_58", weight(3, func(v float32) float32 { return -v - 1 }), Weights},
		{"pad of the first", "Conv_0", pads(2, 2, 0, 0), Window},
		{"pad in the middle", "Conv_39", pads(1, 2, 3, 2), Window},
		{"dilation", "Conv_53", func(n *graph.Node) {
			n.Attrs["dilations"], n.Attrs["pads"] = []int64{2, 2}, []int64{4, 4, 4, 4}
		}, Window},
		{"activation", "Relu_3", op("HardSwish"), Activation},
		{"activation in a product", "Relu_57", op("Sigmoid"), Activation},
		{"activation late", "HardSwish_103", op("Relu"), Activation},
		{"its parameter", "HardSigmoid_45", func(n *graph.Node) { n.Attrs["alpha"] = float32(0.2) }, Activation},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b, in := real(t)
			c.change(node(t, b.Graph, c.node))
			r, err := Models(a, b, in, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.First == nil || r.First.B != c.node || r.First.Kind != c.kind || !strings.Contains(r.Verdict, c.node) {
				t.Errorf("first %+v, expected %s in %s", r.First, c.kind, c.node)
			}
			for _, l := range r.Layers {
				if l.Kind.differs() && l.B != c.node {
					t.Errorf("%s is blamed too: %s, %s", l.B, l.Kind, l.Detail)
				}
			}
		})
	}
}
