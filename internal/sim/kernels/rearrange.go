package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// rearrangeOps move whole elements by a pattern that is fixed when the kernel is compiled; each is one strided copy.
func rearrangeOps() map[string]*Op {
	return map[string]*Op{
		"Transpose":    define(inferTranspose, buildTranspose),
		"Expand":       define(inferExpand, buildExpand),
		"Tile":         define(inferTile, buildTile),
		"Slice":        define(inferSlice, buildSlice),
		"DepthToSpace": define(inferDepthToSpace, buildDepthToSpace),
		"SpaceToDepth": define(inferSpaceToDepth, buildSpaceToDepth),
	}
}

// copyKernel makes a kernel of one strided copy of operand 0 in the order of the result.
func (s *Spec) copyKernel(ge string, n, src []int, base int) (*Kernel, error) {
	size, err := wholeBytes(s.In[0].DType)
	if err != nil {
		return nil, err
	}
	p := newCopy(size, n, tensor.Shape(n).Strides(), src, 0, base)
	k := s.kernel(ge, cost.AIV, 1, []int{0}, p.copying(0, 0))
	k.Work.ReadBytes = min(k.Work.ReadBytes, k.Work.WriteBytes)
	return k, nil
}

// permutation is the perm attribute, by default the reversal.
func permutation(s *Spec) ([]int, error) {
	rank := len(s.In[0].Shape)
	perm := s.Attrs.Ints("perm")
	if !s.Attrs.Has("perm") || len(perm) == 0 && rank > 0 {
		perm = all(rank)
		for i := range perm {
			perm[i] = rank - 1 - i
		}
	}
	if len(perm) != rank {
		return nil, fmt.Errorf("perm %v for rank %d", perm, rank)
	}
	for i, p := range perm {
		if p < 0 && p >= -rank {
			perm[i] = p + rank
		}
	}
	_, err := axisSet(perm, rank)
	return perm, err
}

func inferTranspose(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	perm, err := permutation(s)
	if err != nil {
		return err
	}
	out := make(tensor.Shape, len(perm))
	for i, p := range perm {
		out[i] = s.In[0].Shape[p]
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: out})
}

func buildTranspose(s *Spec) (*Kernel, error) {
	perm, err := permutation(s)
	if err != nil {
		return nil, err
	}
	own := s.In[0].Shape.Strides()
	src := make([]int, len(perm))
	for i, p := range perm {
		src[i] = own[p]
	}
	return s.copyKernel("TransposeD", s.Out[0].Shape, src, 0)
}

func inferExpand(s *Spec) error {
	if err := s.operands(2, 2); err != nil {
		return err
	}
	in := s.In[0]
	var want tensor.Shape
	if s.In[1].Const == nil {
		n, err := s.In[1].length()
		if err != nil || n < 0 || n > maxRank {
			return fmt.Errorf("target shape: %w", ErrNotKnown)
		}
		want = unknown(n)
	} else {
		v, err := s.values(1)
		if err != nil {
			return err
		}
		for _, d := range v {
			if d < 0 || d > maxDim {
				return fmt.Errorf("target shape %v has dimension %d", v, d)
			}
		}
		want = v
	}
	out, err := broadcast(in.Shape, want)
	if err != nil {
		return err
	}
	return s.results(Desc{DType: in.DType, Shape: out})
}

func buildExpand(s *Spec) (*Kernel, error) {
	return s.copyKernel("Expand", s.Out[0].Shape, broadcastStrides(s.In[0].Shape, s.Out[0].Shape), 0)
}

func inferTile(s *Spec) error {
	if err := s.operands(2, 2); err != nil {
		return err
	}
	in := s.In[0].Shape
	out := unknown(len(in))
	if s.In[1].Const != nil {
		times, err := s.values(1)
		if err != nil {
			return err
		}
		if len(times) != len(in) {
			return fmt.Errorf("%d repeats for rank %d", len(times), len(in))
		}
		for i, r := range times {
			switch d := in[i]; {
			case r < 0:
				return fmt.Errorf("repeats %v", times)
			case r == 0:
				out[i] = 0
			case d >= 0 && d > maxDim/r:
				return fmt.Errorf("%d repeats of dimension %d are too large", r, d)
			case d >= 0:
				out[i] = d * r
			}
		}
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: out})
}

func buildTile(s *Spec) (*Kernel, error) {
	own := s.In[0].Shape.Strides()
	var n, src []int
	for i, d := range s.In[0].Shape {
		times := 0
		if d > 0 {
			times = s.Out[0].Shape[i] / d
		}
		n = append(n, times, d)
		src = append(src, 0, own[i])
	}
	return s.copyKernel("Tile", n, src, 0)
}

// cut is what Slice takes of one dimension.
type cut struct{ start, step, n int }

// slicing resolves the ranges of Slice, one a dimension. ok is false where they are not known.
func slicing(s *Spec) (cuts []cut, ok bool, err error) {
	in := s.In[0].Shape
	var lists [4][]int
	for i, name := range []string{"starts", "ends", "axes", "steps"} {
		list, there, known, err := s.listOrInput(name, i+1)
		if err != nil {
			return nil, false, err
		}
		if !known {
			return nil, false, nil
		}
		if !there && i < 2 {
			return nil, false, fmt.Errorf("no %s", name)
		}
		lists[i] = list
		if !there && i == 2 {
			lists[i] = all(len(lists[0]))
		} else if !there {
			lists[i] = make([]int, len(lists[0]))
			fill(lists[i], 1)
		}
		if len(lists[i]) != len(lists[0]) {
			return nil, false, fmt.Errorf("%d starts and %d %s", len(lists[0]), len(lists[i]), name)
		}
	}
	if _, err := axisSet(lists[2], len(in)); err != nil {
		return nil, false, err
	}
	cuts = make([]cut, len(in))
	for i, d := range in {
		cuts[i] = cut{0, 1, d}
	}
	for i := range lists[0] {
		a, _ := axis(lists[2][i], len(in))
		if cuts[a], err = cutOf(in[a], lists[0][i], lists[1][i], lists[3][i]); err != nil {
			return nil, false, err
		}
	}
	return cuts, true, nil
}

// cutOf clamps a range to a dimension as ONNX says; n is -1 for an unknown dimension.
func cutOf(d, start, end, step int) (cut, error) {
	if step == 0 || step == math.MinInt {
		return cut{}, fmt.Errorf("step %d", step)
	}
	if d < 0 {
		return cut{0, step, -1}, nil
	}
	if start < 0 {
		start += d
	}
	if end < 0 {
		end += d
	}
	if step > 0 {
		start, end = min(max(start, 0), d), min(max(end, 0), d)
		if start >= end {
			return cut{0, 1, 0}, nil
		}
		return cut{start, step, (end-start-1)/step + 1}, nil
	}
	start, end = min(max(start, -1), d-1), min(max(end, -1), d-1)
	if start <= end {
		return cut{0, 1, 0}, nil
	}
	return cut{start, step, (start-end-1)/-step + 1}, nil
}

func inferSlice(s *Spec) error {
	if err := s.operands(1, 5); err != nil {
		return err
	}
	cuts, ok, err := slicing(s)
	if err != nil {
		return err
	}
	in := s.In[0].Shape
	out := unknown(len(in))
	if ok {
		for i, c := range cuts {
			out[i] = c.n
		}
	} else if axes, there, known, err := s.listOrInput("axes", 3); err == nil && known && there {
		if cutAway, err := axisSet(axes, len(in)); err == nil {
			for i, c := range cutAway {
				if !c {
					out[i] = in[i]
				}
			}
		}
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: out})
}

func buildSlice(s *Spec) (*Kernel, error) {
	cuts, ok, err := slicing(s)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("ranges are needed: %w", ErrNotKnown)
	}
	own := s.In[0].Shape.Strides()
	n, src, base := make([]int, len(cuts)), make([]int, len(cuts)), 0
	for i, c := range cuts {
		n[i] = c.n
		if c.n > 1 {
			src[i] = own[i] * c.step
		}
		base += own[i] * c.start
	}
	return s.copyKernel("StridedSliceD", n, src, base)
}

// blockShape checks the operand of the depth and space operators.
func blockShape(s *Spec) (n, c, h, w, b int, err error) {
	if err = s.operands(1, 1); err != nil {
		return
	}
	d := s.In[0].Shape
	b = s.Attrs.Int("blocksize", 0)
	if len(d) != 4 {
		err = fmt.Errorf("shape %v, must be N,C,H,W", d)
	} else if b < 1 || b > 1<<15 {
		err = fmt.Errorf("blocksize %d", b)
	} else {
		n, c, h, w = d[0], d[1], d[2], d[3]
	}
	return
}

// scaled multiplies or divides a dimension that may be unknown.
func scaled(d, times, by int) int {
	if d < 0 {
		return -1
	}
	return d / by * times
}

func inferDepthToSpace(s *Spec) error {
	n, c, h, w, b, err := blockShape(s)
	if err != nil {
		return err
	}
	if c >= 0 && c%(b*b) != 0 {
		return fmt.Errorf("%d channels do not divide by blocksize %d squared", c, b)
	}
	if m := s.Attrs.Str("mode", "DCR"); m != "DCR" && m != "CRD" {
		return fmt.Errorf("mode %q, must be DCR or CRD", m)
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: tensor.Shape{n, scaled(c, 1, b*b), scaled(min(h, maxDim), b, 1), scaled(min(w, maxDim), b, 1)}})
}

func buildDepthToSpace(s *Spec) (*Kernel, error) {
	n, c, h, w, b, err := blockShape(s)
	if err != nil {
		return nil, err
	}
	c /= b * b
	map2 := h * w
	cs, is, js := map2, b*c*map2, c*map2
	if s.Attrs.Str("mode", "DCR") == "CRD" {
		cs, is, js = b*b*map2, b*map2, map2
	}
	return s.copyKernel("DepthToSpace", []int{n, c, h, b, w, b}, []int{c * b * b * map2, cs, w, is, 1, js}, 0)
}

func inferSpaceToDepth(s *Spec) error {
	n, c, h, w, b, err := blockShape(s)
	if err != nil {
		return err
	}
	if h >= 0 && h%b != 0 || w >= 0 && w%b != 0 {
		return fmt.Errorf("map %dx%d does not divide by blocksize %d", h, w, b)
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: tensor.Shape{n, scaled(min(c, maxDim>>15), b*b, 1), scaled(h, 1, b), scaled(w, 1, b)}})
}

func buildSpaceToDepth(s *Spec) (*Kernel, error) {
	n, c, h, w, b, err := blockShape(s)
	if err != nil {
		return nil, err
	}
	return s.copyKernel("SpaceToDepth", []int{n, b, b, c, h / b, w / b}, []int{c * h * w, w, 1, h * w, b * w, b}, 0)
}
