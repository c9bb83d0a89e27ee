package om

import (
	"bytes"
	"testing"

	"npu/internal/model/graph"
	"npu/internal/tensor"
)

// TestStored: tiles at the border of a model are laid out as package tensor lays them out, both ways.
func TestStored(t *testing.T) {
	for _, c := range []struct {
		layout string
		format tensor.Format
		origin []int64
		dims   tensor.Shape
		order  string
	}{
		{"NC1HWC0", tensor.NC1HWC0, []int64{2, 19, 3, 5}, tensor.Shape{2, 19, 3, 5}, "NCHW"},
		{"NC1HWC0", tensor.NC1HWC0, []int64{2, 3, 5, 19}, tensor.Shape{2, 19, 3, 5}, "NHWC"},
		{"FRACTAL_NZ", tensor.FractalNZ, []int64{2, 20, 33}, tensor.Shape{2, 20, 33}, "ND"},
		{"FRACTAL_NZ", tensor.FractalNZ, []int64{7, 5}, tensor.Shape{7, 5}, "ND"},
		{"FRACTAL_Z", tensor.FractalZ, []int64{18, 20, 3, 3}, tensor.Shape{18, 20, 3, 3}, "NCHW"},
	} {
		stored, err := tensor.StorageShape(c.format, c.dims, tensor.Float16)
		if err != nil {
			t.Fatal(err)
		}
		d := &TensorDesc{DType: protoOf(tensor.Float16), Shape: longs(stored), Layout: c.layout}
		d.Attrs.setInts("origin_shape", c.origin)
		d.Attrs.setStr("origin_format", c.order)
		dense := ramp(tensor.Float16, c.dims, 5)
		tiles, err := tensor.New(tensor.Float16, stored)
		if err != nil {
			t.Fatal(err)
		}
		if err := (tensor.Layout{Format: c.format}).Pack(tiles.Data, dense.Data, c.dims, tensor.Float16); err != nil {
			t.Fatal(err)
		}
		b := &builder{g: &graph.Graph{Opset: opset}, names: map[string]int{}}
		in := &graph.Value{Name: "tiles", DType: tensor.Float16, Shape: stored, Known: true}
		b.g.Inputs = []*graph.Value{in}
		v, err := b.unpack(in, d)
		if err != nil {
			t.Fatalf("%s: %v", c.layout, err)
		}
		w, err := b.pack(v, d)
		if err != nil {
			t.Fatalf("%s: %v", c.layout, err)
		}
		b.g.Outputs = []*graph.Value{v, w}
		if _, err := graph.Infer(b.g); err != nil {
			t.Fatal(err)
		}
		out, err := graph.Eval(b.g, map[string]*tensor.Tensor{"tiles": tiles}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !out[0].Shape.Equal(c.dims) || !bytes.Equal(out[0].Data, dense.Data) {
			t.Errorf("%s of %v %s: unpacked to %v, or other numbers", c.layout, c.origin, c.order, out[0].Shape)
		}
		if !out[1].Shape.Equal(stored) || !bytes.Equal(out[1].Data, tiles.Data) {
			t.Errorf("%s of %v %s: packed to %v, or other tiles", c.layout, c.origin, c.order, out[1].Shape)
		}
	}
}

// TestParse_bundle: several complete models in one file, without a magic.
func TestParse_bundle(t *testing.T) {
	one := sample(t)
	build := func() []byte {
		b := make([]byte, HeaderSize)
		b[offType] = TypeBundle
		b[offModelNum] = 2
		var body pb
		table := []byte{3, 0, 0, 0, 0, 0, 0, 0}
		off := uint64(8 + 3*24)
		add := func(kind PartitionType, data []byte) {
			e := make([]byte, 24)
			put(e[0:4], uint64(kind))
			put(e[8:16], off)
			put(e[16:24], uint64(len(data)))
			table = append(table, e...)
			body = append(body, data...)
			off += uint64(len(data))
		}
		add(BundleVarInfo, make([]byte, 8))
		add(BundleModel, one)
		add(BundleModel, one)
		b = append(append(b, table...), body...)
		put(b[offLength64:offLength64+8], uint64(len(b)))
		return b
	}
	m, err := Parse(build())
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Nested) != 2 || m.Nested[1].Model == nil || m.Nested[1].Model.Groups[0].Name != "sample" {
		t.Errorf("models inside: %+v", m.Nested)
	}
	for name, at := range map[string]int{"size": offLength64, "count": offModelNum, "entry offset": HeaderSize + 8 + 24 + 8, "entry size": HeaderSize + 8 + 24 + 16, "entries": HeaderSize} {
		b := build()
		b[at] ^= 0x55
		if _, err := Parse(b); err == nil {
			t.Errorf("%s changed: accepted", name)
		}
	}
}

func put(b []byte, v uint64) {
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
}
