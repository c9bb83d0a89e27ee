package kernels

import (
	"fmt"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// topOps is TopK: k is an attribute up to opset 9 and an operand from 10 on. Equal values keep their order.
func topOps() map[string]*Op {
	return map[string]*Op{"TopK": define(inferTop, buildTop)}
}

func inferTop(s *Spec) error {
	if err := s.operands(1, 2); err != nil {
		return err
	}
	if err := wantType(s.In[0].DType, numeric); err != nil {
		return err
	}
	in := s.In[0].Shape
	at, err := axis(s.Attrs.Int("axis", -1), len(in))
	if err != nil {
		return err
	}
	list, there, known, err := s.listOrInput("k", 1)
	if err != nil {
		return err
	}
	if !there || known && len(list) != 1 {
		return fmt.Errorf("no k, or more than one")
	}
	out := in.Clone()
	out[at] = -1
	if known {
		out[at] = list[0]
		if list[0] < 0 || in[at] >= 0 && list[0] > in[at] {
			return fmt.Errorf("k %d of a dimension of %d", list[0], in[at])
		}
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: out}, Desc{DType: tensor.Int64, Shape: out})
}

func buildTop(s *Spec) (*Kernel, error) {
	size, err := wholeBytes(s.In[0].DType)
	if err != nil {
		return nil, err
	}
	in, t := s.In[0].Shape, s.In[0].DType
	at, _ := axis(s.Attrs.Int("axis", -1), len(in))
	n, k, inner := in[at], s.Out[0].Shape[at], in[at+1:].Count()
	if k > n {
		return nil, fmt.Errorf("k %d of a dimension of %d", k, n)
	}
	if len(s.Out) > 1 && !s.Out[1].Shape.Equal(s.Out[0].Shape) {
		return nil, fmt.Errorf("values are given as %v, indices as %v", s.Out[0].Shape, s.Out[1].Shape)
	}
	rows := in[:at].Count() * inner
	if k == 0 {
		rows = 0
	}
	least := s.Attrs.Int("largest", 1) == 0
	space := 8 * (n + k)
	kernel := s.kernel("TopK", cost.AICPU, 1, []int{0}, func(x *Exec) error {
		if len(x.Workspace) < space {
			return fmt.Errorf("workspace has %d bytes, needs %d", len(x.Workspace), space)
		}
		work := tensor.View[uint64](x.Workspace)
		h := topHeap{keys: work[:n], kept: work[n : n+k]}
		for u := range rows {
			base, to := u/inner*n*inner+u%inner, u/inner*k*inner+u%inner
			for i := range n {
				key := orderKey(t, x.In[0], base+i*inner, false)
				if least { // NaN is above all numbers and so comes last
					key = ^key
				}
				h.keys[i] = key
			}
			for i, from := range h.best() {
				copy(x.Out[0][(to+i*inner)*size:(to+i*inner+1)*size], x.In[0][(base+int(from)*inner)*size:])
				if x.wanted(1) {
					tensor.View[int64](x.Out[1])[to+i*inner] = int64(from)
				}
			}
		}
		return nil
	})
	kernel.Workspace = space
	kernel.Work.ScalarOps = int64(in.Count()) * 4
	return kernel, nil
}

// topHeap selects the places of the largest keys. kept is a heap with the worst of them at the root.
type topHeap struct{ keys, kept []uint64 }

// worse says whether place a loses to place b: a smaller key, or an equal one further back.
func (h topHeap) worse(a, b uint64) bool {
	x, y := h.keys[a], h.keys[b]
	return x < y || x == y && a > b
}

func (h topHeap) sift(kept []uint64, i int) {
	for {
		c := 2*i + 1
		if c >= len(kept) {
			return
		}
		if c+1 < len(kept) && h.worse(kept[c+1], kept[c]) {
			c++
		}
		if !h.worse(kept[c], kept[i]) {
			return
		}
		kept[i], kept[c] = kept[c], kept[i]
		i = c
	}
}

// best gives the places of the best keys, best first.
func (h topHeap) best() []uint64 {
	k := len(h.kept)
	if k == 0 {
		return nil
	}
	for i := range h.kept {
		h.kept[i] = uint64(i)
	}
	for i := k/2 - 1; i >= 0; i-- {
		h.sift(h.kept, i)
	}
	for i := k; i < len(h.keys); i++ {
		if h.worse(h.kept[0], uint64(i)) {
			h.kept[0] = uint64(i)
			h.sift(h.kept, 0)
		}
	}
	for n := k - 1; n > 0; n-- { // the worst goes last
		h.kept[0], h.kept[n] = h.kept[n], h.kept[0]
		h.sift(h.kept[:n], 0)
	}
	return h.kept
}
