package kernels

import (
	"fmt"
	"sync"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// wideMost is how many operands an operator may have that computes through a wide form.
const wideMost = 10

// wide is one run of an operator that has no loops of its own for each element type: every operand widened to float64,
// results that are rounded once at the end, and scratch. Operands and results that are left out are nil.
type wide struct {
	in, out [wideMost][]float64
	tmp     []float64
}

// wideForm is what s.wide knows of the operands of one operator.
type wideForm struct {
	types  [2][]tensor.DType
	counts [2][]int
	tmp    int
	body   func(w *wide) error
	pool   sync.Pool
}

// wide makes a kernel whose body computes in float64, on one thread: for operators where being right and short is worth
// more than speed. Operands are widened into the workspace; integers are exact to 2^53. ops is what an element costs.
func (s *Spec) wide(ge string, core cost.Core, ops int64, tmp int, body func(w *wide) error) (*Kernel, error) {
	if len(s.In) > wideMost || len(s.Out) > wideMost {
		return nil, fmt.Errorf("%d operands and %d results: %w", len(s.In), len(s.Out), ErrUnsupported)
	}
	f := &wideForm{tmp: tmp, body: body}
	f.pool.New = func() any { return new(wide) }
	total := tmp
	for side, list := range [2][]Desc{s.In, s.Out} {
		f.types[side], f.counts[side] = make([]tensor.DType, len(list)), make([]int, len(list))
		for i, d := range list {
			if d.Absent() {
				continue
			}
			n := d.Shape.Count()
			f.types[side][i], f.counts[side][i] = d.DType, n
			total += n
		}
	}
	k := s.kernel(ge, core, 1, all(len(s.In)), f.run)
	k.Workspace = 8 * max(1, total)
	if core == cost.AICPU {
		k.Work.ScalarOps = ops
	} else {
		k.Work.VectorOps = ops
	}
	return k, nil
}

func (f *wideForm) run(x *Exec) error {
	w := f.pool.Get().(*wide)
	defer f.pool.Put(w)
	work := tensor.View[float64](x.Workspace)
	take := func(n int) []float64 {
		v := work[:n:n]
		work = work[n:]
		return v
	}
	for i, n := range f.counts[0] {
		w.in[i] = nil
		if t := f.types[0][i]; t != tensor.Undefined {
			w.in[i] = take(n)
			if err := tensor.DecodeFloats(w.in[i], t, x.In[i], 0); err != nil {
				return err
			}
		}
	}
	for i, n := range f.counts[1] {
		w.out[i] = nil
		if i == 0 || x.wanted(i) {
			w.out[i] = take(n)
			clear(w.out[i])
		}
	}
	w.tmp = take(f.tmp)
	if err := f.body(w); err != nil {
		return err
	}
	for i, v := range w.out[:len(f.counts[1])] {
		if v != nil {
			storeFloat(f.types[1][i], x.Out[i], 0, v, true)
		}
	}
	return nil
}
