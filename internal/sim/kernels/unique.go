package kernels

import (
	"cmp"
	"fmt"
	"slices"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// uniqueRows is the operand of Unique as n rows to be told apart: elements, or slices along an axis.
type uniqueRows struct {
	t               tensor.DType
	outer, n, inner int
}

func uniqueOf(s *Spec) (r uniqueRows, at int, flat bool, err error) {
	in := s.In[0].Shape
	r = uniqueRows{t: s.In[0].DType, outer: 1, inner: 1}
	if !s.Attrs.Has("axis") {
		r.n, err = product(in)
		return r, 0, true, err
	}
	if at, err = axis(s.Attrs.Int("axis", 0), len(in)); err != nil {
		return r, at, false, err
	}
	if !in.Static() {
		r.n = in[at]
		return r, at, false, nil
	}
	if _, err = in.Elements(); err != nil {
		return r, at, false, err
	}
	r.outer, r.n, r.inner = in[:at].Count(), in[at], in[at+1:].Count()
	if r.n == 0 || r.inner == 0 {
		r.outer, r.inner = 0, 0 // no elements, however long the other dimensions are
	}
	return r, at, false, nil
}

// compare orders rows a and b by their elements.
func (r uniqueRows) compare(src []byte, a, b int) int {
	for o := range r.outer {
		for i := range r.inner {
			x := orderKey(r.t, src, (o*r.n+a)*r.inner+i, false)
			y := orderKey(r.t, src, (o*r.n+b)*r.inner+i, false)
			if x != y {
				return cmp.Compare(x, y)
			}
		}
	}
	return 0
}

// groups sorts the rows into order and returns the number of different ones. After it, order lists the rows by
// value and then by place, and group[row] is the number of the row's value: by value, or by first appearance.
func (r uniqueRows) groups(src []byte, order, group, first []int64, sorted bool) int {
	for i := range order {
		order[i] = int64(i)
	}
	slices.SortFunc(order, func(a, b int64) int {
		if c := r.compare(src, int(a), int(b)); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	n := 0
	for i, row := range order {
		if i == 0 || r.compare(src, int(order[i-1]), int(row)) != 0 {
			first[n] = row
			n++
		}
		group[row] = int64(n - 1)
	}
	if sorted {
		return n
	}
	// renumber by first appearance: order is free to hold the new numbers
	fill(order, -1)
	next := int64(0)
	for row, g := range group {
		if order[g] < 0 {
			order[g] = next
			first[next] = int64(row)
			next++
		}
		group[row] = order[g]
	}
	return n
}

func inferUnique(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	if err := wantType(s.In[0].DType, func(t tensor.DType) bool { return numeric(t) || t == tensor.Bool }); err != nil {
		return err
	}
	r, at, flat, err := uniqueOf(s)
	if err != nil {
		return err
	}
	n := -1
	if c := s.In[0].Const; c != nil && len(c.Data) > 0 && s.In[0].Shape.Static() && r.outer*r.n*r.inner*r.t.Size() == len(c.Data) {
		work := make([]int64, 3*r.n)
		n = r.groups(c.Data, work[:r.n], work[r.n:2*r.n], work[2*r.n:], true)
	}
	if r.n == 0 {
		n = 0
	}
	out := tensor.Shape{n}
	if !flat {
		out = s.In[0].Shape.Clone()
		out[at] = n
	}
	list := func(n int) Desc { return Desc{DType: tensor.Int64, Shape: tensor.Shape{n}} }
	return s.results(Desc{DType: s.In[0].DType, Shape: out}, list(n), list(r.n), list(n))
}

func buildUnique(s *Spec) (*Kernel, error) {
	size, err := wholeBytes(s.In[0].DType)
	if err != nil {
		return nil, err
	}
	r, at, _, err := uniqueOf(s)
	if err != nil {
		return nil, err
	}
	want, sorted, row := s.Out[0].Shape[at], s.Attrs.Int("sorted", 1) != 0, r.inner*size
	if want > r.n {
		return nil, fmt.Errorf("%d different of %d", want, r.n)
	}
	for _, i := range []int{1, 3} {
		if i < len(s.Out) && s.Out[i].Shape[0] != want {
			return nil, fmt.Errorf("output %d is given as %v for %d different", i, s.Out[i].Shape, want)
		}
	}
	space := 3 * 8 * r.n
	k := s.kernel("Unique", cost.AICPU, 1, []int{0}, func(x *Exec) error {
		if len(x.Workspace) < space {
			return fmt.Errorf("workspace has %d bytes, needs %d", len(x.Workspace), space)
		}
		work := tensor.View[int64](x.Workspace[:space])
		group, first := work[r.n:2*r.n], work[2*r.n:]
		if n := r.groups(x.In[0], work[:r.n], group, first, sorted); n != want {
			return otherCount(n, want)
		}
		for o := range r.outer {
			for i, from := range first[:want] {
				copy(x.Out[0][(o*want+i)*row:(o*want+i+1)*row], x.In[0][(o*r.n+int(from))*row:])
			}
		}
		if x.wanted(1) {
			copy(tensor.View[int64](x.Out[1]), first[:want])
		}
		if x.wanted(2) {
			copy(tensor.View[int64](x.Out[2]), group)
		}
		if x.wanted(3) {
			counts := tensor.View[int64](x.Out[3])[:want]
			clear(counts)
			for _, g := range group {
				counts[g]++
			}
		}
		return nil
	})
	k.Workspace = space
	k.Work.ScalarOps = int64(r.outer*r.n*r.inner) * 8
	return k, nil
}
