package compare

import (
	"fmt"
	"math"
	"slices"

	"npu/internal/model/graph"
	"npu/internal/tensor"
)

// weight is a constant of numbers that a layer computes with.
type weight struct {
	node *graph.Node
	v    *graph.Value
}

// weightsOf lists the constants of a segment but for those that are parameters (bounds, scales).
func weightsOf(list []*graph.Node) []weight {
	var out []weight
	for _, n := range list {
		if activating(n) && n.Op != "PRelu" || family(n) == "resize" || moving(n) {
			continue
		}
		for _, v := range n.In {
			if v != nil && v.Const != nil && v.DType.Float() {
				out = append(out, weight{n, v})
			}
		}
	}
	return out
}

// weights compares the constants of both sides one by one: each of b with the nearest of a. A few numbers that differ
// by more than the rounding of the coarser type are a difference whatever the outputs say; where nearly all do, the
// compiler may have scaled them, and the outputs decide.
func (c *comparison) weights(s segment) (finding, bool) {
	as, bs := weightsOf(s.a), weightsOf(s.b)
	for _, b := range bs {
		y := floats(b.v.Const)
		count, at, alone := len(y)+1, 0, true
		var got, want float64
		for _, a := range as {
			for _, x := range orders(a.v.Const, b.v.Const) {
				alone = false
				if a.v.DType == tensor.Float16 || b.v.DType == tensor.Float16 {
					clamp(x)
					clamp(y)
				}
				if n, i := changed(x, y, max(epsilon(a.v.DType), epsilon(b.v.DType)), max(tiny(a.v.DType), tiny(b.v.DType))); n < count {
					count, at = n, i
					got, want = x[i], y[i]
				}
			}
		}
		if alone || count == 0 {
			continue
		}
		return finding{kind: Weights, sure: 2*count <= len(y),
			detail: fmt.Sprintf("%d of %d numbers of %s in %s; element %d is %.6g against %.6g", count, len(y), b.v.Name, b.node.Name, at, got, want)}, true
	}
	return finding{}, false
}

// orders are the numbers of a in the orders in which they may stand for b's: as they are, or transposed.
func orders(a, b *tensor.Tensor) [][]float64 {
	sa, sb := squeezed(a.Shape), squeezed(b.Shape)
	if sa.Count() != sb.Count() {
		return nil
	}
	x := floats(a)
	if x == nil {
		return nil
	}
	var out [][]float64
	if slices.Equal(sa, sb) || len(sa) != len(sb) {
		out = append(out, x)
	}
	if len(sa) == 2 && len(sb) == 2 && sa[0] == sb[1] && sa[1] == sb[0] {
		t := make([]float64, len(x))
		for i := range sa[0] {
			for j := range sa[1] {
				t[j*sa[0]+i] = x[i*sa[1]+j]
			}
		}
		out = append(out, t)
	}
	return out
}

// changed counts the numbers that differ by more than rounding, and finds the one that differs most.
func changed(x, y []float64, eps, least float64) (n, worst int) {
	far := -1.0
	for i := range x {
		d := math.Abs(x[i] - y[i])
		if x[i] == y[i] || d <= eps*max(math.Abs(x[i]), math.Abs(y[i]))+least || x[i] != x[i] && y[i] != y[i] {
			continue
		}
		n++
		if d > far {
			far, worst = d, i
		}
	}
	return n, worst
}

// epsilon is the relative error of one rounding to a type, with a rounding to spare.
func epsilon(t tensor.DType) float64 {
	switch t {
	case tensor.Float64, tensor.Float32:
		return 0x1p-23
	case tensor.Float16:
		return 0x1p-10
	case tensor.BFloat16:
		return 0x1p-7
	}
	return 0x1p-2
}

// tiny is the absolute error near zero, where a type has no normal numbers.
func tiny(t tensor.DType) float64 {
	if t == tensor.Float16 {
		return 0x1p-23
	}
	return 0
}
