package compare

import (
	"fmt"
	"slices"

	"npu/internal/model/graph"
)

var windowed = []string{"Conv", "FusedConv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool"}

// windows compares how the windows of convolutions and pools lie.
func windows(s segment) (finding, bool) {
	is := func(n *graph.Node) bool { return slices.Contains(windowed, n.Op) }
	a, b := only(s.a, is), only(s.b, is)
	if len(a) != len(b) {
		return finding{}, false
	}
	padded := func(list []*graph.Node) bool {
		return slices.ContainsFunc(list, func(n *graph.Node) bool { return n.Op == "Pad" })
	}
	explicit := padded(s.a) == padded(s.b)
	for i := range a {
		x, y := windowOf(a[i]), windowOf(b[i])
		for _, f := range []struct {
			name string
			x, y []int
			skip bool
		}{
			{"pads", x.pads, y.pads, !explicit}, {"strides", x.strides, y.strides, false}, {"dilations", x.dilations, y.dilations, false},
			{"kernel", x.kernel, y.kernel, false}, {"group", x.group, y.group, false}, {"padding in the mean", x.include, y.include, false},
		} {
			if !f.skip && !slices.Equal(f.x, f.y) {
				return finding{kind: Window, detail: fmt.Sprintf("%s of %s: %v against %v", f.name, b[i].Name, f.x, f.y)}, true
			}
		}
	}
	return finding{}, false
}

// window is where the windows of an operator lie, with the defaults filled in.
type window struct{ pads, strides, dilations, kernel, group, include []int }

func windowOf(n *graph.Node) window {
	w := window{kernel: n.Attrs.Ints("kernel_shape"), group: []int{n.Attrs.Int("group", 1)}, include: []int{n.Attrs.Int("count_include_pad", 0)}}
	if len(w.kernel) == 0 && len(n.In) > 1 && n.In[1] != nil && len(n.In[1].Shape) > 2 {
		w.kernel = n.In[1].Shape[2:]
	}
	fill := func(name string, count, with int) []int {
		if v := n.Attrs.Ints(name); len(v) > 0 {
			return v
		}
		return slices.Repeat([]int{with}, count)
	}
	k := len(w.kernel)
	w.strides, w.dilations = fill("strides", k, 1), fill("dilations", k, 1)
	if mode := n.Attrs.Str("auto_pad", "NOTSET"); mode == "SAME_UPPER" || mode == "SAME_LOWER" {
		w.pads = samePads(n, w, mode == "SAME_UPPER")
	} else {
		w.pads = fill("pads", 2*k, 0)
	}
	for i := range min(k, len(w.dilations)) { // a window of one element has no dilation
		if w.kernel[i] == 1 {
			w.dilations = slices.Clone(w.dilations)
			w.dilations[i] = 1
		}
	}
	return w
}

// samePads are the pads that auto_pad stands for.
func samePads(n *graph.Node, w window, upper bool) []int {
	k := len(w.kernel)
	out := make([]int, 2*k)
	in, made := n.In[0].Shape, n.Out[0].Shape
	if len(in) != k+2 || len(made) != k+2 || len(w.strides) != k || len(w.dilations) != k {
		return out
	}
	for i := range k {
		total := max(0, (made[i+2]-1)*w.strides[i]+(w.kernel[i]-1)*w.dilations[i]+1-in[i+2])
		out[i], out[i+k] = total/2, total-total/2
		if !upper {
			out[i], out[i+k] = out[i+k], out[i]
		}
	}
	return out
}
