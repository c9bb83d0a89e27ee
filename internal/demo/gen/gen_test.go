package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"npu/internal/demo"
	"npu/internal/model/graph"
	"npu/internal/model/onnx"
	"npu/internal/tensor"
)

// Digests of what the same code gave once: they must not depend on the run, the day or the machine. Where a change of
// the drawing or the network is meant, put the new ones here and run the generator.
const (
	drawingsDigest = "c81fb5583be482fe"
	stepsDigest    = "3578bb5e2f481ba2"
)

func digest(parts ...[]float32) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(tensor.Bytes(p))
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

func TestDraw_isReproducible(t *testing.T) {
	var all [][]float32
	var seen [classes]bool
	for i := range 50 {
		a, b := draw(heldOut, i), draw(heldOut, i)
		if a != b {
			t.Fatalf("image %d differs when drawn again", i)
		}
		if a.pixels == draw(training, i).pixels {
			t.Errorf("image %d is in both sets", i)
		}
		for _, v := range a.pixels {
			if level := v * 255; v < 0 || v > 1 || level != float32(int(level+0.5)) {
				t.Fatalf("image %d has a pixel of %v", i, v)
			}
		}
		seen[a.digit] = true
		all = append(all, a.pixels[:])
	}
	if slices.Contains(seen[:], false) {
		t.Errorf("digits among 50 images: %v", seen)
	}
	if got := digest(all...); got != drawingsDigest {
		t.Errorf("digest of the drawings is %s, want %s", got, drawingsDigest)
	}
}

func TestTrain_isReproducible(t *testing.T) {
	n := newNetwork(8)
	opt := adam{}
	answers := make([]int, 8)
	for step := range 3 {
		if loss := trainStep(n, &opt, step, 0.004, answers); !(loss > 1 && loss < 6) {
			t.Errorf("loss of step %d is %v, want about ln 10", step, loss)
		}
	}
	parts := [][]float32{n.probs}
	for _, p := range n.all {
		parts = append(parts, p.v)
	}
	if got := digest(parts...); got != stepsDigest {
		t.Errorf("digest after three steps is %s, want %s", got, stepsDigest)
	}
}

// One batch shown again and again must be learned by heart.
func TestTrain_learns(t *testing.T) {
	n := newNetwork(8)
	opt := adam{}
	answers := make([]int, 8)
	first := trainStep(n, &opt, 0, 0.004, answers)
	last := 0.0
	for range 25 {
		last = trainStep(n, &opt, 0, 0.004, answers)
	}
	if last > first/4 {
		t.Errorf("loss went from %v to %v", first, last)
	}
}

// The samples that package demo embeds are held-out images, and its model has the form that export gives.
func TestEmbedded_areOurs(t *testing.T) {
	for _, s := range demo.Samples() {
		var digit, index int
		if _, err := fmt.Sscanf(s.Name, "digit-%d-%d", &digit, &index); err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		im := draw(heldOut, index)
		if im.digit != s.Label || !slices.Equal(im.pixels[:], tensor.View[float32](s.Image.Data)) {
			t.Errorf("%s is not held-out image %d", s.Name, index)
		}
	}
	file, err := export(newNetwork(1), fmt.Sprintf("0.9999 of %d drawn images", heldOutImages))
	if err != nil {
		t.Fatal(err)
	}
	if len(file) != len(demo.Model()) {
		t.Errorf("the embedded model has %d bytes, a new one %d: run the generator", len(demo.Model()), len(file))
	}
}

// What is written computes what was trained, with normalisations that do something.
func TestExport_computesTheSame(t *testing.T) {
	n := newNetwork(1)
	r := rand.New(rand.NewPCG(7, 8))
	for _, l := range n.layers {
		if l, ok := l.layer.(*norm); ok {
			for c := range l.mean {
				l.mean[c], l.variance[c] = r.Float32()-0.5, r.Float32()+0.5
				l.scale.v[c], l.offset.v[c] = r.Float32()+0.5, r.Float32()-0.5
			}
		}
	}
	file, err := export(n, "none")
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
	if _, err := graph.Infer(g); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		n.load(heldOut, i, make([]int, 1))
		n.forward(false)
		image, err := tensor.FromFloat32s(tensor.Shape{1, 1, side, side}, n.image.v)
		if err != nil {
			t.Fatal(err)
		}
		out, err := graph.Eval(g, map[string]*tensor.Tensor{"image": image}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := tensor.FromFloat32s(tensor.Shape{1, classes}, n.probs)
		if err != nil {
			t.Fatal(err)
		}
		d, err := tensor.Compare(out[0], want, tensor.Tolerance{RTol: 1e-4, ATol: 1e-6})
		if err != nil || !d.Equal() {
			t.Errorf("image %d: %+v, %v", i, d, err)
		}
	}
}

func TestFiles_compareAndReplace(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "samples"), 0o755); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(dir, "samples", "digit-1-0000.npy")
	if err := os.WriteFile(stale, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	files := []file{{"demo.onnx", []byte("model")}, {"samples/digit-1-0001.npy", []byte("new")}}
	if err := write(dir, files); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("the sample of the run before is still there")
	}
	if err := compare(dir, files); err != nil {
		t.Error(err)
	}
	files[0].data = []byte("another")
	if err := compare(dir, files); err == nil || !strings.Contains(err.Error(), "demo.onnx differs") {
		t.Errorf("got %v", err)
	}
}
