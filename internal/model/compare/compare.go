// Package compare holds two models against each other, layer by layer, on the same input: an offline model and the ONNX
// file it was compiled from, or any two of them. It answers which layer is the first that computes something else, and
// what kind of difference that is.
//
// Both models are computed twice. The free run gives the figures of the report. In the second run each layer of the
// second model gets what the first model's layers made, so that a layer is judged by what it does itself and not by what
// came before it. The package owns no goroutine.
package compare

import (
	"fmt"
	"math"
	"slices"

	"npu/internal/model"
	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/tensor"
)

// Kind is what makes two layers differ.
type Kind string

// Kinds. Inherited is a layer that does the same on the same inputs, and got others; Unexplained differs, and nothing
// that the files say tells why.
const (
	Equal       Kind = "equal"
	Precision   Kind = "precision"
	Inherited   Kind = "inherited"
	Layout      Kind = "layout"
	Window      Kind = "pad/stride/dilation"
	Activation  Kind = "activation"
	Resize      Kind = "resize rule"
	Weights     Kind = "weights"
	Operator    Kind = "operator"
	Unexplained Kind = "unexplained"
)

// differs says that the layer itself is at fault.
func (k Kind) differs() bool { return k != Equal && k != Precision && k != Inherited }

// Options steer a comparison.
type Options struct {
	// Tolerance is the error of one layer on the same inputs, relative to its output (root of the sums of squares), that
	// still counts as rounding. 0: 0.01 where one side computes in 16 bits, 0.0001 else.
	Tolerance float64
}

// Layer is a pair of layers, with the figures of the free run. Cosine and MaxAbs are nil where the shapes differ.
type Layer struct {
	A            string   `json:"a"`
	B            string   `json:"b"`
	OpA          string   `json:"op_a"`
	OpB          string   `json:"op_b"`
	Shape        string   `json:"shape"`
	Cosine       *float64 `json:"cosine"`
	CosineReason string   `json:"cosine_reason,omitempty"`
	MaxAbs       *float64 `json:"max_abs"`
	MaxAbsReason string   `json:"max_abs_reason,omitempty"`
	LocalError   *float64 `json:"local_error"` // relative, on the same inputs; nil where it could not be computed
	Kind         Kind     `json:"kind"`
	Detail       string   `json:"detail,omitempty"`

	device bool // B is a file of a device
}

// Result is a comparison; layers are in an order of execution.
type Result struct {
	Layers  []Layer  `json:"layers"`
	First   *Layer   `json:"first"` // the first that differs itself; nil: none
	Verdict string   `json:"verdict"`
	OnlyA   []string `json:"only_a,omitempty"` // layers without a partner, not part of one either
	OnlyB   []string `json:"only_b,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	// Against is the first model against what a device dumped, where that was asked for beside a second model.
	Against *Result `json:"against,omitempty"`
}

// Models compares two opened models (see Open) on the inputs, which are those of b's graph; a's get the same values.
func Models(a, b *model.Model, inputs map[string]*tensor.Tensor, o Options) (*Result, error) {
	sa, sb := flatten(a.Graph), flatten(b.Graph)
	if err := sa.run(inputs, a.Graph.Name); err != nil {
		return nil, fmt.Errorf("%s: %w", a.Path, err)
	}
	if err := sb.run(inputs, b.Graph.Name); err != nil {
		return nil, fmt.Errorf("%s: %w", b.Path, err)
	}
	pairs := align(sa, sb)
	c := &comparison{a: sa, b: sb, pairs: pairs, tol: o.Tolerance, res: &Result{}}
	if len(pairs) == 0 {
		return nil, problem.Failedf("%s and %s: no layer of one looks like one of the other", a.Path, b.Path)
	}
	c.slide()
	if err := c.settle(inputs); err != nil {
		return nil, fmt.Errorf("%s: %w", b.Path, err)
	}
	c.report()
	return c.res, nil
}

type comparison struct {
	a, b  *side
	pairs []pair
	tol   float64
	res   *Result
	local map[*layer]local // by layer of b
}

// local is what a layer of b does with the inputs of its partner.
type local struct {
	err     float64 // relative; +Inf where one side is not finite and the other is
	clean   bool    // the inputs were indeed those of the partner
	sorted  bool    // the same numbers in another order
	overrun bool    // numbers left the range of float16 on one side
}

// limit is the error of a layer that counts as rounding.
func (c *comparison) limit(p pair) float64 {
	if c.tol > 0 {
		return c.tol
	}
	if c.a.half || c.b.half {
		return 0.01
	}
	return 1e-4
}

// force runs b a second time. What a layer gave is compared and then overwritten by what its partner gave.
func (c *comparison) force(inputs map[string]*tensor.Tensor) error {
	c.local = map[*layer]local{}
	partner := map[*graph.Node]pair{}
	for _, p := range c.pairs {
		partner[p.b.node] = p
	}
	dirty := map[*graph.Value]bool{}
	var failed error
	err := c.b.eval(inputs, func(n *graph.Node, out []*tensor.Tensor) {
		tainted := slices.ContainsFunc(n.In, func(v *graph.Value) bool { return dirty[v] })
		p, ok := partner[n]
		if ok {
			l := local{clean: !tainted}
			forced := false
			if got := out[0]; len(n.Bodies) == 0 && sameElements(p.a.data.Shape, got.Shape) {
				l.err, l.sorted, l.overrun = distance(p.a.data, got)
				l.clean = l.clean || l.err <= c.limit(p)
				if err := overwrite(got, p.a.data); err != nil && failed == nil {
					failed = err
				}
				forced = true
			} else {
				l.err = math.Inf(1)
			}
			c.local[p.b] = l
			tainted = !forced
		}
		for _, v := range n.Out {
			if v != nil && tainted {
				dirty[v] = true
			}
		}
	})
	if err == nil {
		err = failed
	}
	return err
}

// report judges every pair in order.
func (c *comparison) report() {
	r := c.res
	bad := map[*graph.Value]bool{} // values of b that a differing layer had a hand in
	mark := func(n *graph.Node) bool {
		return slices.ContainsFunc(n.In, func(v *graph.Value) bool { return bad[v] })
	}
	partner := map[*graph.Node]pair{}
	for _, p := range c.pairs {
		partner[p.b.node] = p
	}
	segments := c.segments()
	for _, n := range c.b.nodes {
		tainted := mark(n)
		if p, ok := partner[n]; ok {
			l := c.judge(p, segments[p.b], tainted)
			r.Layers = append(r.Layers, l)
			tainted = tainted || l.Kind.differs()
		}
		for _, v := range n.Out {
			if v != nil && tainted {
				bad[v] = true
			}
		}
	}
	for i := range r.Layers {
		if r.Layers[i].Kind.differs() {
			r.First = &r.Layers[i]
			break
		}
	}
	c.alone(segments)
	r.Verdict = verdict(r)
}

// where names the layer: as the second model does, or the first where the second side is a file of a device.
func (l *Layer) where() string {
	if l.device {
		return l.A
	}
	return l.B
}

func verdict(r *Result) string {
	count := map[Kind]int{}
	for _, l := range r.Layers {
		count[l.Kind]++
	}
	if f := r.First; f != nil {
		s := fmt.Sprintf("differs: %s, first in %s (%s)", f.Kind, f.where(), f.OpB)
		if f.Detail != "" {
			s += ": " + f.Detail
		}
		return s
	}
	if count[Precision] > 0 {
		return fmt.Sprintf("the same up to precision: %d of %d layers differ by rounding", count[Precision], len(r.Layers))
	}
	return fmt.Sprintf("equal: %d layers", len(r.Layers))
}

// alone lists the layers that have no partner and are no part of a layer that has one.
func (c *comparison) alone(segs map[*layer]segment) {
	used := map[*graph.Node]bool{}
	for _, s := range segs {
		for _, n := range append(slices.Clone(s.a), s.b...) {
			used[n] = true
		}
	}
	for _, s := range []struct {
		side *side
		to   *[]string
	}{{c.a, &c.res.OnlyA}, {c.b, &c.res.OnlyB}} {
		for _, l := range s.side.layers {
			if !used[l.node] {
				*s.to = append(*s.to, l.name)
			}
		}
	}
}
