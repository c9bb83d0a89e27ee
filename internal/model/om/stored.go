package om

import (
	"fmt"

	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// A model may take its inputs and give its outputs in a stored layout (single operators do): then the program hands
// over the tiles, and they are laid out here.

// unpack turns a tensor of stored tiles into the dense value of its descriptor.
func (b *builder) unpack(v *graph.Value, d *TensorDesc) (*graph.Value, error) {
	if d.rowMajor() {
		return v, nil
	}
	t, err := tilesOf(d, v.Shape)
	if err != nil {
		return nil, err
	}
	x, err := b.reshape(b.g, v.Name+"/tiles", v, t.tiles)
	if err != nil {
		return nil, err
	}
	if x, err = b.transpose(b.g, v.Name+"/tiles", x, t.perm); err != nil {
		return nil, err
	}
	if x, err = b.reshape(b.g, v.Name+"/tiles", x, t.padded); err != nil {
		return nil, err
	}
	var end, axes, begin []int64
	for i := range t.dense {
		begin, end, axes = append(begin, 0), append(end, int64(t.dense[i])), append(axes, int64(i))
	}
	if x, err = b.emit(b.g, v.Name+"/tiles", "Slice", nil, x, ints(begin...), ints(end...), ints(axes...)); err != nil {
		return nil, err
	}
	return b.reshape(b.g, v.Name+"/tiles", x, t.value)
}

// pack is the inverse of unpack.
func (b *builder) pack(v *graph.Value, d *TensorDesc) (*graph.Value, error) {
	if d == nil || d.rowMajor() {
		return v, nil
	}
	t, err := tilesOf(d, shapeOf(d.Shape))
	if err != nil {
		return nil, err
	}
	x, err := b.reshape(b.g, v.Name+"/tiles", v, t.dense)
	if err != nil {
		return nil, err
	}
	pads := make([]int64, 2*len(t.dense))
	for i := range t.dense {
		pads[len(t.dense)+i] = int64(t.padded[i] - t.dense[i])
	}
	if x, err = b.emit(b.g, v.Name+"/tiles", "Pad", nil, x, ints(pads...)); err != nil {
		return nil, err
	}
	split := make(tensor.Shape, len(t.perm))
	back := make([]int, len(t.perm))
	for i, k := range t.perm {
		split[i], back[k] = t.tiles[k], i
	}
	if x, err = b.reshape(b.g, v.Name+"/tiles", x, split); err != nil {
		return nil, err
	}
	if x, err = b.transpose(b.g, v.Name+"/tiles", x, back); err != nil {
		return nil, err
	}
	return b.reshape(b.g, v.Name+"/tiles", x, shapeOf(d.Shape))
}

// tiling says how the tiles of a layout make a dense tensor: seen as tiles, permuted, joined to padded, cut to dense
// and seen as the value.
type tiling struct {
	tiles         tensor.Shape
	perm          []int
	padded, dense tensor.Shape
	value         tensor.Shape
}

func tilesOf(d *TensorDesc, stored tensor.Shape) (*tiling, error) {
	dims, ok := d.dims()
	value := shapeOf(dims)
	if !ok || !value.Static() || !stored.Static() {
		return nil, fmt.Errorf("the logical shape of %s is not in the file: %w", d, kernels.ErrUnsupported)
	}
	name, groups := d.layout()
	t := &tiling{tiles: stored, value: value, dense: value}
	n := len(stored)
	switch {
	case name == "NC1HWC0" && n == 5 && len(value) == 4:
		t.perm = []int{0, 1, 4, 2, 3}
		t.padded = tensor.Shape{stored[0], stored[1] * stored[4], stored[2], stored[3]}
	case name == "FRACTAL_NZ" && n >= 4 && len(value) >= 2 && len(value) == n-2:
		for i := range n - 4 {
			t.perm = append(t.perm, i)
		}
		t.perm = append(t.perm, n-3, n-2, n-4, n-1)
		t.padded = append(stored[:n-4].Clone(), stored[n-3]*stored[n-2], stored[n-4]*stored[n-1])
	case name == "FRACTAL_Z" && groups == 1 && n == 4 && len(value) == 4 && stored[0]%(max(value[2]*value[3], 1)) == 0:
		kh, kw := value[2], value[3]
		c1 := stored[0] / max(kh*kw, 1)
		t.tiles = tensor.Shape{c1, kh, kw, stored[1], stored[2], stored[3]}
		t.perm = []int{3, 4, 0, 5, 1, 2}
		t.padded = tensor.Shape{stored[1] * stored[2], c1 * stored[3], kh, kw}
	default:
		return nil, fmt.Errorf("layout %s at the border of the model: %w", d.Layout, kernels.ErrUnsupported)
	}
	for i := range t.dense {
		if i >= len(t.padded) || t.dense[i] > t.padded[i] {
			return nil, fmt.Errorf("%s does not hold %v", d, value)
		}
	}
	return t, nil
}
