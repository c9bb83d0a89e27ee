package kernels

import (
	"fmt"
	"slices"
	"strings"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// einsumOps is Einsum, computed by its definition: one sum of products an output element. Common contractions are
// better written as MatMul.
func einsumOps() map[string]*Op {
	return map[string]*Op{"Einsum": define(inferEinsum, buildEinsum)}
}

// einsum is a parsed equation: labels are letters, and small numbers for the dimensions of an ellipsis.
type einsum struct {
	in  [][]rune
	out []rune
	dim map[rune]int
}

// terms splits a term into labels; the ellipsis stands for the last of the rank's dimensions that have no letter.
func (e *einsum) terms(term string, rank int) ([]rune, error) {
	before, after, dots := strings.Cut(term, "...")
	letters := []rune(before + after)
	for _, r := range letters {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return nil, fmt.Errorf("term %q", term)
		}
	}
	if !dots {
		return letters, nil
	}
	n := rank - len(letters)
	if n < 0 || n > maxRank {
		return nil, fmt.Errorf("term %q for rank %d", term, rank)
	}
	labels := []rune(before)
	for i := range n {
		labels = append(labels, rune(maxRank-n+i)) // aligned at the right, as broadcasting is
	}
	return append(labels, []rune(after)...), nil
}

func parseEinsum(s *Spec) (*einsum, error) {
	if err := s.operands(max(1, len(s.In)), -1); err != nil {
		return nil, err
	}
	if err := s.sameType(all(len(s.In))...); err != nil {
		return nil, err
	}
	if err := wantType(s.In[0].DType, numeric); err != nil {
		return nil, err
	}
	eq := strings.ReplaceAll(s.Attrs.Str("equation", ""), " ", "")
	left, right, explicit := strings.Cut(eq, "->")
	parts := strings.Split(left, ",")
	if len(parts) != len(s.In) {
		return nil, fmt.Errorf("equation %q has %d terms for %d inputs", eq, len(parts), len(s.In))
	}
	e := &einsum{dim: map[rune]int{}}
	times := map[rune]int{}
	dots := 0
	for i, p := range parts {
		shape := s.In[i].Shape
		labels, err := e.terms(p, len(shape))
		if err != nil {
			return nil, err
		}
		if len(labels) != len(shape) {
			return nil, fmt.Errorf("term %q for shape %v", p, shape)
		}
		if strings.Contains(p, "...") {
			dots = max(dots, len(labels)-len(strings.ReplaceAll(p, "...", "")))
		}
		for j, r := range labels {
			have, ok := e.dim[r]
			switch d := shape[j]; {
			case !ok || have == 1 || have == -1 && d != 1:
				e.dim[r] = d
			case d != have && d != 1 && d != -1:
				return nil, fmt.Errorf("%q: label %q is %d and %d", eq, r, have, d)
			}
			times[r]++
		}
		e.in = append(e.in, labels)
	}
	if explicit {
		labels, err := e.terms(right, len(strings.ReplaceAll(right, "...", ""))+dots)
		if err != nil {
			return nil, err
		}
		for i, r := range labels {
			if times[r] == 0 || slices.Contains(labels[:i], r) {
				return nil, fmt.Errorf("%q: output label %q", eq, r)
			}
		}
		e.out = labels
		return e, nil
	}
	for r, n := range times { // the ellipsis first, then letters that stand once, in order
		if r < maxRank || n == 1 {
			e.out = append(e.out, r)
		}
	}
	slices.Sort(e.out)
	return e, nil
}

func inferEinsum(s *Spec) error {
	e, err := parseEinsum(s)
	if err != nil {
		return err
	}
	out := make(tensor.Shape, len(e.out))
	for i, r := range e.out {
		out[i] = e.dim[r]
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: out})
}

func buildEinsum(s *Spec) (*Kernel, error) {
	e, err := parseEinsum(s)
	if err != nil {
		return nil, err
	}
	if len(s.In) > 2 {
		return nil, fmt.Errorf("equation of %d inputs: %w (at most 2)", len(s.In), ErrUnsupported)
	}
	var summed []rune
	for r := range e.dim {
		if !slices.Contains(e.out, r) {
			summed = append(summed, r)
		}
	}
	slices.Sort(summed)
	if len(e.out)+len(summed) > loopRank || len(summed) > loopRank {
		return nil, fmt.Errorf("%d labels: %w", len(e.dim), ErrUnsupported)
	}
	strides := func(labels []rune) (n, a, b []int) {
		for _, r := range labels {
			n = append(n, e.dim[r])
			st := [2]int{}
			for k, in := range e.in {
				own := s.In[k].Shape.Strides()
				for j, l := range in {
					if l == r && s.In[k].Shape[j] != 1 {
						st[k] += own[j]
					}
				}
			}
			a, b = append(a, st[0]), append(b, st[1])
		}
		return n, a, b
	}
	outN, outA, outB := strides(e.out)
	sumN, sumA, sumB := strides(summed)
	l := newLoops(sumN, sumA, sumB)
	p := sumOfProducts{out: odometer{n: outN, a: outA, b: outB}, sum: odometer{n: l.n, a: l.st[0], b: l.st[1]}, second: len(s.In) > 1}
	p.passes, p.outs = count(sumN), s.Out[0].Shape.Count()
	t := s.In[0].DType
	var run func(x *Exec) error
	if laneOf(t) == laneI64 {
		run = productLoop(p, func(dst []int64, src []byte, off int) { loadI64(dst, t, src, off) },
			func(dst []byte, off int, v []int64) { storeI64(t, dst, off, v, false) })
	} else {
		run = productLoop(p, func(dst []float64, src []byte, off int) { loadF64(dst, t, src, off) },
			func(dst []byte, off int, v []float64) { storeFloat(t, dst, off, v, false) })
	}
	k := s.kernel("Einsum", cost.AIV, 1, all(len(s.In)), run)
	k.Work.VectorOps = int64(p.outs) * int64(p.passes) * 2
	return k, nil
}

type sumOfProducts struct {
	out, sum     odometer
	passes, outs int
	second       bool
}

func productLoop[A float64 | int64](p sumOfProducts, load func([]A, []byte, int), store func([]byte, int, []A)) func(x *Exec) error {
	type buffers struct{ a, b, acc [1]A }
	pool := newScratch[buffers]()
	return parallel(p.outs, p.passes*4, func(x *Exec, lo, hi int) {
		v := pool.get()
		out, sum := p.out, p.sum
		out.seek(lo)
		for i := lo; i < hi; i++ {
			v.acc[0] = 0
			if p.passes > 0 {
				sum.seek(0)
			}
			for range p.passes {
				load(v.a[:], x.In[0], out.x+sum.x)
				if p.second {
					load(v.b[:], x.In[1], out.y+sum.y)
					v.a[0] *= v.b[0]
				}
				v.acc[0] += v.a[0]
				sum.next()
			}
			store(x.Out[0], i, v.acc[:])
			out.next()
		}
		pool.put(v)
	})
}
