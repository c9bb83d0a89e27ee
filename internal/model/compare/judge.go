package compare

import (
	"fmt"
	"math"
	"slices"

	"npu/internal/model/graph"
	"npu/internal/tensor"
)

// finding is a difference between what two layers say of themselves.
type finding struct {
	kind   Kind
	detail string
	sure   bool // counts even where the outputs do not show it
}

// judge compares one pair: the figures of the free run, and the kind of difference by the hypotheses in the order in
// which they explain most.
func (c *comparison) judge(p pair, s segment, tainted bool) Layer {
	l := Layer{A: p.a.name, B: p.b.name, OpA: ending(p.a.node), OpB: ending(p.b.node), Shape: p.b.data.Shape.String()}
	free, same := figures(&l, p)
	loc, limit := c.local[p.b], c.limit(p)
	if loc.clean && !math.IsInf(loc.err, 0) {
		l.LocalError = &loc.err
	}
	found := c.findings(p, s)
	if i := slices.IndexFunc(found, func(f finding) bool { return f.sure }); i >= 0 && loc.err <= limit {
		l.Kind, l.Detail = found[i].kind, found[i].detail
		return l
	}
	switch {
	case !loc.clean && len(found) == 0:
		l.Kind = Inherited
	case loc.err > limit && len(found) > 0:
		l.Kind, l.Detail = found[0].kind, found[0].detail
	case loc.err > limit && loc.sorted:
		l.Kind, l.Detail = Layout, "the same numbers in another order"
	case loc.err > limit && same:
		l.Kind, l.Detail = Unexplained, fmt.Sprintf("relative error %.3g on the same inputs", loc.err)
	case loc.err > limit:
		l.Kind, l.Detail = Operator, fmt.Sprintf("shapes %v and %v", p.a.data.Shape, p.b.data.Shape)
	case free == 0 && p.a.data.DType == p.b.data.DType:
		l.Kind = Equal
	case tainted && free > limit:
		l.Kind = Inherited
	default:
		l.Kind = Precision
		if loc.overrun {
			l.Detail = "numbers leave the range of float16"
		} else if p.a.data.DType != p.b.data.DType {
			l.Detail = fmt.Sprintf("%v against %v", p.a.data.DType, p.b.data.DType)
		}
	}
	return l
}

// figures fills in the cosine and the largest difference of the free run; free is its relative error.
func figures(l *Layer, p pair) (free float64, same bool) {
	if !sameElements(p.a.data.Shape, p.b.data.Shape) {
		l.Shape = fmt.Sprintf("%v against %v", p.a.data.Shape, p.b.data.Shape)
		l.CosineReason = "the shapes differ"
		l.MaxAbsReason = l.CosineReason
		return math.Inf(1), false
	}
	a := &tensor.Tensor{DType: p.a.data.DType, Shape: p.b.data.Shape, Data: p.a.data.Data}
	d, err := tensor.Compare(a, p.b.data, tensor.Tolerance{})
	if err != nil {
		l.CosineReason = err.Error()
		l.MaxAbsReason = l.CosineReason
		return math.Inf(1), true
	}
	l.Cosine = &d.Cosine
	if math.IsInf(d.MaxAbs, 0) {
		l.MaxAbsReason = "infinite"
	} else {
		l.MaxAbs = &d.MaxAbs
	}
	free, _, _ = distance(p.a.data, p.b.data)
	return free, true
}

// findings compares what both sides of a segment say of themselves.
func (c *comparison) findings(p pair, s segment) []finding {
	var out []finding
	for _, try := range []func(segment) (finding, bool){windows, resizes, activationsOf, transposes} {
		if f, ok := try(s); ok {
			out = append(out, f)
		}
	}
	if f, ok := c.weights(s); ok {
		out = append(out, f)
	}
	if len(out) == 0 && len(s.a) == 1 && len(s.b) == 1 && family(p.a.node) != family(p.b.node) {
		out = append(out, finding{kind: Operator, detail: fmt.Sprintf("%s against %s", p.a.node.Op, p.b.node.Op)})
	}
	return out
}

// transposes finds another order of dimensions.
func transposes(s segment) (finding, bool) {
	perm := func(list []*graph.Node) (out [][]int) {
		for _, n := range only(list, func(n *graph.Node) bool { return n.Op == "Transpose" }) {
			out = append(out, n.Attrs.Ints("perm"))
		}
		return out
	}
	a, b := perm(s.a), perm(s.b)
	if slices.EqualFunc(a, b, slices.Equal) || len(a) != len(b) {
		return finding{}, false
	}
	return finding{kind: Layout, detail: fmt.Sprintf("transposed by %v against %v", a, b)}, true
}

// resizes compares the rules of resizing: how coordinates are mapped, which neighbour is taken, how they are weighed.
func resizes(s segment) (finding, bool) {
	is := func(n *graph.Node) bool { return family(n) == "resize" }
	a, b := only(s.a, is), only(s.b, is)
	if len(a) != len(b) {
		return finding{}, false
	}
	for i := range a {
		for _, x := range []struct{ name, def string }{
			{"mode", "nearest"}, {"coordinate_transformation_mode", "half_pixel"}, {"nearest_mode", "round_prefer_floor"},
		} {
			if x.name == "nearest_mode" && a[i].Attrs.Str("mode", "nearest") != "nearest" {
				continue
			}
			if u, v := a[i].Attrs.Str(x.name, x.def), b[i].Attrs.Str(x.name, x.def); u != v {
				return finding{kind: Resize, detail: fmt.Sprintf("%s of %s: %s against %s", x.name, b[i].Name, u, v)}, true
			}
		}
		if u, v := a[i].Attrs.Float("cubic_coeff_a", -0.75), b[i].Attrs.Float("cubic_coeff_a", -0.75); u != v {
			return finding{kind: Resize, detail: fmt.Sprintf("cubic_coeff_a of %s: %g against %g", b[i].Name, u, v)}, true
		}
	}
	return finding{}, false
}
