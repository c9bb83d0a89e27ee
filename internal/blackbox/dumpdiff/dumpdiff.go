// Package dumpdiff compares tensors that were dumped on two sides: two dumps, a dump and .npy files, or two folders,
// operator by operator in the order of execution, so that the first operator that differs stands on top.
package dumpdiff

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"npu/internal/problem"
	"npu/internal/tensor"
)

// Options are the limits.
type Options struct {
	RTol, ATol float64
	Cosine     float64 // least cosine that counts as equal
}

// Pair is one compared tensor.
type Pair struct {
	Node     string  `json:"node"`
	Tensor   string  `json:"tensor"`
	A        string  `json:"a"`
	B        string  `json:"b"`
	DTypeA   string  `json:"dtype_a"`
	DTypeB   string  `json:"dtype_b"`
	Shape    string  `json:"shape"`
	Elements int     `json:"elements"`
	Cosine   float64 `json:"cosine"`
	MaxAbs   Float   `json:"max_abs"`
	MeanAbs  Float   `json:"mean_abs"`
	MaxRel   Float   `json:"max_rel"`
	NaN      [2]int  `json:"nan"`
	Inf      [2]int  `json:"inf"`
	Differ   int     `json:"beyond_tolerance"`
	FirstAt  []int   `json:"first_difference,omitempty"`
	FirstA   Float   `json:"first_a"`
	FirstB   Float   `json:"first_b"`
	Verdict  string  `json:"verdict"` // equal, close, differs, not compared
	Why      string  `json:"why,omitempty"`
	order    uint64
	hasFirst bool
}

// Result is a comparison.
type Result struct {
	Pairs  []Pair   `json:"pairs"`            // in order of execution
	First  *Pair    `json:"first"`            // first that differs
	OnlyA  []string `json:"only_a,omitempty"` // tensors without a partner
	OnlyB  []string `json:"only_b,omitempty"`
	Notes  []string `json:"notes,omitempty"`
	Passed bool     `json:"passed"`
}

// item is one tensor of a side, loaded when it is compared.
type item struct {
	node, name string // name: input.0
	label      string
	order      uint64
	load       func() (*tensor.Tensor, error)
}

// Compare compares two files or folders.
func Compare(ctx context.Context, a, b string, o Options) (*Result, error) {
	ia, na, err := side(a)
	if err != nil {
		return nil, err
	}
	ib, nb, err := side(b)
	if err != nil {
		return nil, err
	}
	res := &Result{Pairs: []Pair{}, Notes: append(na, nb...)}
	match(ia, ib, func(x, y *item) {
		switch {
		case y == nil:
			res.OnlyA = append(res.OnlyA, x.label)
		case x == nil:
			res.OnlyB = append(res.OnlyB, y.label)
		case ctx.Err() == nil:
			res.Pairs = append(res.Pairs, pair(x, y, o))
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(res.Pairs) == 0 {
		return res, problem.Damagedf("%s and %s have no tensor in common", a, b)
	}
	slices.SortStableFunc(res.Pairs, func(x, y Pair) int { return cmp.Compare(x.order, y.order) })
	for i := range res.Pairs {
		if res.Pairs[i].Verdict == "differs" {
			res.First = &res.Pairs[i]
			break
		}
	}
	res.Passed = res.First == nil
	return res, nil
}

// match pairs by node and name; single files pair by name alone, and single tensors with each other.
func match(a, b []*item, fn func(x, y *item)) {
	key := func(i *item) string { return i.node + "|" + i.name }
	if oneNode(a) && oneNode(b) {
		key = func(i *item) string { return i.name }
		if len(a) == 1 && len(b) == 1 {
			key = func(*item) string { return "" }
		}
	}
	byKey := map[string][]*item{}
	for _, y := range b {
		byKey[key(y)] = append(byKey[key(y)], y)
	}
	for _, x := range a {
		k := key(x)
		if list := byKey[k]; len(list) > 0 {
			fn(x, list[0])
			byKey[k] = list[1:]
			continue
		}
		fn(x, nil)
	}
	for _, y := range b {
		if slices.Contains(byKey[key(y)], y) {
			fn(nil, y)
		}
	}
}

func oneNode(items []*item) bool {
	for _, i := range items {
		if i.node != items[0].node {
			return false
		}
	}
	return true
}

// pair compares one tensor.
func pair(x, y *item, o Options) Pair {
	p := Pair{Node: x.node, Tensor: x.name, A: x.label, B: y.label, order: x.order, Verdict: "not compared"}
	a, err := x.load()
	if err != nil {
		p.Why = x.label + ": " + err.Error()
		return p
	}
	b, err := y.load()
	if err != nil {
		p.Why = y.label + ": " + err.Error()
		return p
	}
	p.DTypeA, p.DTypeB, p.Shape = a.DType.String(), b.DType.String(), a.Shape.String()
	if !a.Shape.Equal(b.Shape) {
		na, erra := a.Shape.Elements()
		nb, errb := b.Shape.Elements()
		if erra != nil || errb != nil || na != nb {
			p.Verdict, p.Why = "differs", fmt.Sprintf("shapes %v and %v", a.Shape, b.Shape)
			return p
		}
		p.Why = fmt.Sprintf("shapes %v and %v, compared in order of memory", a.Shape, b.Shape)
		a, b = flat(a, na), flat(b, nb)
	}
	d, err := tensor.Compare(a, b, tensor.Tolerance{RTol: o.RTol, ATol: o.ATol})
	if err != nil {
		p.Why = err.Error()
		return p
	}
	p.Elements, p.Cosine, p.Differ = d.Elements, d.Cosine, d.Mismatches
	p.MaxAbs, p.MeanAbs, p.MaxRel, p.NaN, p.Inf = Float(d.MaxAbs), Float(d.MeanAbs), Float(d.MaxRel), d.NaNs, d.Infs
	p.first(a, b, o)
	judge(&p, a, b, d, o)
	return p
}

func flat(t *tensor.Tensor, n int) *tensor.Tensor {
	return &tensor.Tensor{DType: t.DType, Shape: tensor.Shape{n}, Data: t.Data}
}

func judge(p *Pair, a, b *tensor.Tensor, d *tensor.Difference, o Options) {
	switch {
	case a.DType == b.DType && bytes.Equal(a.Data, b.Data), d.MaxAbs == 0 && d.Mismatches == 0:
		p.Verdict = "equal"
	case d.NaNs[0] != d.NaNs[1] || d.Infs[0] != d.Infs[1]:
		p.Verdict = "differs"
		p.Why = strings.TrimPrefix(p.Why+fmt.Sprintf("; NaN %d and %d, Inf %d and %d", d.NaNs[0], d.NaNs[1], d.Infs[0], d.Infs[1]), "; ")
	case d.Mismatches == 0:
		p.Verdict = "close"
	case d.Cosine >= o.Cosine && d.Mismatches*1000 <= d.Elements:
		p.Verdict = "close"
		p.Why = strings.TrimPrefix(p.Why+fmt.Sprintf("; %d of %d beyond the tolerance", d.Mismatches, d.Elements), "; ")
	default:
		p.Verdict = "differs"
	}
}

// first finds the first element beyond the tolerance.
func (p *Pair) first(a, b *tensor.Tensor, o Options) {
	var vb [1024]float64
	stop := errors.New("found")
	k := 1
	if a.DType == tensor.Complex64 || a.DType == tensor.Complex128 {
		k = 2
	}
	err := a.EachFloats(func(at int, va []float64) error {
		w := vb[:len(va)]
		if err := tensor.DecodeFloats(w, b.DType, b.Data, at); err != nil {
			return err
		}
		for i := range va {
			diff := va[i] - w[i]
			if diff < 0 {
				diff = -diff
			}
			same := va[i] == w[i] || va[i] != va[i] && w[i] != w[i]
			if same || diff <= o.ATol+o.RTol*max(w[i], -w[i]) {
				continue
			}
			p.FirstAt, p.FirstA, p.FirstB, p.hasFirst = index((at+i)/k, a.Shape), Float(va[i]), Float(w[i]), true
			return stop
		}
		return nil
	})
	if err != nil && !errors.Is(err, stop) {
		p.Why = err.Error()
	}
}

func index(n int, s tensor.Shape) []int {
	out := make([]int, len(s))
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] > 0 {
			out[i] = n % s[i]
			n /= s[i]
		}
	}
	return out
}
