package kernels

import (
	"fmt"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// padOps is Pad in all its modes; negative pads cut away.
func padOps() map[string]*Op {
	return map[string]*Op{"Pad": define(inferPad, buildPad)}
}

// padding resolves the pads, two a dimension; known is false where they are not.
func padding(s *Spec) (before, after []int, known bool, err error) {
	rank := len(s.In[0].Shape)
	attr := "pads"
	if s.Opset < 2 {
		attr = "paddings"
	}
	pads, there, known, err := s.listOrInput(attr, 1)
	if err != nil || !known {
		return nil, nil, false, err
	}
	if !there {
		return nil, nil, false, fmt.Errorf("no pads")
	}
	axes := all(rank)
	if d := s.Input(3); !d.Absent() {
		if d.Const == nil {
			return nil, nil, false, nil
		}
		if axes, err = s.values(3); err != nil {
			return nil, nil, false, err
		}
		if _, err := axisSet(axes, rank); err != nil {
			return nil, nil, false, err
		}
	}
	if len(pads) != 2*len(axes) {
		return nil, nil, false, fmt.Errorf("%d pads for %d dimensions", len(pads), len(axes))
	}
	before, after = make([]int, rank), make([]int, rank)
	for i, a := range axes {
		a, _ = axis(a, rank)
		before[a], after[a] = pads[i], pads[i+len(axes)]
		if before[a] < -maxDim || before[a] > maxDim || after[a] < -maxDim || after[a] > maxDim {
			return nil, nil, false, fmt.Errorf("pads %v are too large", pads)
		}
	}
	return before, after, true, nil
}

func inferPad(s *Spec) error {
	if err := s.operands(1, 4); err != nil {
		return err
	}
	in := s.In[0].Shape
	mode := s.Attrs.Str("mode", "constant")
	switch mode {
	case "constant", "reflect", "edge", "wrap":
	default:
		return fmt.Errorf("mode %q, must be constant, reflect, edge or wrap", mode)
	}
	if v := s.Input(2); !v.Absent() {
		if v.DType != s.In[0].DType {
			return errWant("value", s.In[0].DType.String(), v.DType)
		}
		if n, err := v.length(); err != nil || n >= 0 && n != 1 {
			return fmt.Errorf("value has shape %v, must be a scalar", v.Shape)
		}
	}
	before, after, known, err := padding(s)
	if err != nil {
		return err
	}
	out := unknown(len(in))
	for i, d := range in {
		if !known || d < 0 {
			continue
		}
		out[i] = d + before[i] + after[i]
		switch {
		case out[i] < 0:
			return fmt.Errorf("pads %d and %d leave nothing of a dimension of %d", before[i], after[i], d)
		case mode != "constant" && out[i] > 0 && d+min(before[i], 0)+min(after[i], 0) < 1:
			return fmt.Errorf("nothing to repeat in a dimension of %d", d)
		}
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: out})
}

// padSource maps a place in the padded dimension to one in the dimension of d elements; -1 is padding. cutLo and
// cutHi elements at the ends were cut away by negative pads.
func padSource(mode string, o, before, d, cutLo, cutHi int) int {
	lo, hi := cutLo, d-cutHi
	i := o - before
	if i >= lo && i < hi {
		return i
	}
	n := hi - lo
	switch mode {
	case "edge":
		return min(max(i, lo), hi-1)
	case "wrap":
		return lo + ((i-lo)%n+n)%n
	case "reflect":
		if n == 1 {
			return lo
		}
		p := 2 * (n - 1)
		k := ((i-lo)%p + p) % p
		return lo + min(k, p-k)
	}
	return -1
}

func buildPad(s *Spec) (*Kernel, error) {
	size, err := wholeBytes(s.In[0].DType)
	if err != nil {
		return nil, err
	}
	before, after, known, err := padding(s)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, fmt.Errorf("pads are needed: %w", ErrNotKnown)
	}
	value := make([]byte, size)
	if v := s.Attrs.Float("value", 0); v != 0 && s.Input(2).Absent() {
		if err := wantType(s.In[0].DType, numeric); err != nil {
			return nil, err
		}
		storeFloat(s.In[0].DType, value, 0, []float32{v}, true)
	}
	p := &padPlan{mode: s.Attrs.Str("mode", "constant"), in: s.In[0].Shape, out: s.Out[0].Shape, before: before, after: after,
		own: s.In[0].Shape.Strides(), value: value, hasValue: !s.Input(2).Absent(), size: size}
	if len(p.out) == 0 {
		return s.kernel("PadV3", cost.AIV, 1, []int{0}, copyAll(0, size)), nil
	}
	last := len(p.out) - 1
	run := parallel(p.out[:last].Count(), p.out[last], p.rows)
	return s.kernel("PadV3", cost.AIV, 1, []int{0, 2}, run), nil
}

type padPlan struct {
	mode          string
	in, out       tensor.Shape
	before, after []int
	own           []int
	value         []byte
	hasValue      bool
	size          int
}

// source maps place o of dimension i.
func (p *padPlan) source(i, o int) int {
	return padSource(p.mode, o, p.before[i], p.in[i], max(0, -p.before[i]), max(0, -p.after[i]))
}

// rows writes the innermost rows [lo, hi) of the result.
func (p *padPlan) rows(x *Exec, lo, hi int) {
	value := p.value
	if p.hasValue {
		value = x.In[2][:p.size]
	}
	last := len(p.out) - 1
	n := p.out[last]
	// the part of a row that is a straight copy
	from := min(max(p.before[last], 0), n)
	to := max(from, min(n, p.before[last]+p.in[last]-max(0, -p.after[last])))
	for r := lo; r < hi; r++ {
		base, rest := 0, r
		for i := last - 1; i >= 0 && base >= 0; i-- {
			k := p.source(i, rest%p.out[i])
			rest /= p.out[i]
			if base += k * p.own[i]; k < 0 {
				base = -1
			}
		}
		row := x.Out[0][r*n*p.size:][:n*p.size]
		if base < 0 {
			repeat(row, value)
			continue
		}
		src := x.In[0][base*p.size:]
		p.edge(row, src, value, 0, from)
		if to > from {
			copy(row[from*p.size:to*p.size], src[(from-p.before[last])*p.size:])
		}
		p.edge(row, src, value, to, n)
	}
}

// edge writes the elements [from, to) of a row, outside of the straight copy.
func (p *padPlan) edge(row, src, value []byte, from, to int) {
	if p.mode == "constant" {
		repeat(row[from*p.size:to*p.size], value)
		return
	}
	last := len(p.out) - 1
	for o := from; o < to; o++ {
		k := p.source(last, o)
		copy(row[o*p.size:(o+1)*p.size], src[k*p.size:])
	}
}
