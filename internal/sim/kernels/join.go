package kernels

import (
	"fmt"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// joinOps put tensors together along an axis and take them apart.
func joinOps() map[string]*Op {
	return map[string]*Op{
		"Concat": define(inferConcat, buildConcat),
		"Split":  define(inferSplit, buildSplit),
	}
}

func inferConcat(s *Spec) error {
	if err := s.operands(max(1, len(s.In)), -1); err != nil {
		return err
	}
	if err := s.sameType(all(len(s.In))...); err != nil {
		return err
	}
	if s.Opset >= 4 && !s.Attrs.Has("axis") {
		return fmt.Errorf("no axis")
	}
	out := s.In[0].Shape.Clone()
	at, err := axis(s.Attrs.Int("axis", 1), len(out))
	if err != nil {
		return err
	}
	for i, d := range s.In[1:] {
		if len(d.Shape) != len(out) {
			return fmt.Errorf("input 0 has shape %v, input %d has %v", s.In[0].Shape, i+1, d.Shape)
		}
		for j, n := range d.Shape {
			switch {
			case j == at && (n < 0 || out[j] < 0):
				out[j] = -1
			case j == at:
				if out[j] += n; out[j] > maxDim {
					return fmt.Errorf("dimension %d is too large", j)
				}
			case out[j] < 0:
				out[j] = n
			case n >= 0 && n != out[j]:
				return fmt.Errorf("input 0 has shape %v, input %d has %v", s.In[0].Shape, i+1, d.Shape)
			}
		}
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: out})
}

func buildConcat(s *Spec) (*Kernel, error) {
	size, err := wholeBytes(s.In[0].DType)
	if err != nil {
		return nil, err
	}
	at, _ := axis(s.Attrs.Int("axis", 1), len(s.Out[0].Shape))
	own := s.Out[0].Shape.Strides()
	var parts []func(x *Exec) error
	base := 0
	for i, d := range s.In {
		if d.bytes() > 0 {
			parts = append(parts, newCopy(size, d.Shape, own, d.Shape.Strides(), base, 0).copying(i, 0))
		}
		base += d.Shape[at] * own[at]
	}
	return s.kernel("ConcatD", cost.AIV, 1, all(len(s.In)), func(x *Exec) error {
		for _, p := range parts {
			if err := p(x); err != nil {
				return err
			}
		}
		return nil
	}), nil
}

// splitSizes are the lengths of the parts; -1 where they are not known.
func splitSizes(s *Spec, dim int) ([]int, error) {
	sizes, there, known, err := s.listOrInput("split", 1)
	if err != nil {
		return nil, err
	}
	if !known {
		n := len(s.Out)
		if m, err := s.In[1].length(); err == nil && m > 0 && m <= 1<<16 {
			n = m
		}
		return unknown(n), nil
	}
	if there {
		sum := 0
		for _, n := range sizes {
			if n < 0 || n > maxDim {
				return nil, fmt.Errorf("part of length %d", n)
			}
			sum += n
		}
		if dim >= 0 && sum != dim {
			return nil, fmt.Errorf("parts %v for a dimension of %d", sizes, dim)
		}
		return sizes, nil
	}
	n := len(s.Out)
	if s.Opset >= 18 && s.Attrs.Has("num_outputs") {
		n = s.Attrs.Int("num_outputs", n)
	}
	if n < 1 || n > 1<<16 {
		return nil, fmt.Errorf("%d parts", n)
	}
	if dim < 0 {
		return unknown(n), nil
	}
	if s.Opset < 18 && dim%n != 0 {
		return nil, fmt.Errorf("a dimension of %d in %d equal parts", dim, n)
	}
	sizes = make([]int, n)
	part := (dim + n - 1) / n
	for i := range sizes {
		sizes[i] = min(part, max(0, dim-i*part))
	}
	return sizes, nil
}

func inferSplit(s *Spec) error {
	if err := s.operands(1, 2); err != nil {
		return err
	}
	in := s.In[0].Shape
	at, err := axis(s.Attrs.Int("axis", 0), len(in))
	if err != nil {
		return err
	}
	sizes, err := splitSizes(s, in[at])
	if err != nil {
		return err
	}
	if len(sizes) == 0 {
		return fmt.Errorf("no parts")
	}
	if len(s.Out) == 0 {
		s.Out = make([]Desc, len(sizes))
	}
	if len(s.Out) != len(sizes) {
		return fmt.Errorf("%d outputs for %d parts", len(s.Out), len(sizes))
	}
	for i, n := range sizes {
		out := in.Clone()
		out[at] = n
		s.Out[i] = Desc{DType: s.In[0].DType, Shape: out}
	}
	return nil
}

func buildSplit(s *Spec) (*Kernel, error) {
	size, err := wholeBytes(s.In[0].DType)
	if err != nil {
		return nil, err
	}
	at, _ := axis(s.Attrs.Int("axis", 0), len(s.In[0].Shape))
	own := s.In[0].Shape.Strides()
	parts := make([]func(x *Exec) error, len(s.Out))
	base, elements := 0, int64(0)
	ge := "SplitD"
	for i, d := range s.Out {
		if d.bytes() > 0 {
			parts[i] = newCopy(size, d.Shape, d.Shape.Strides(), own, 0, base).copying(0, i)
		}
		base += d.Shape[at] * own[at]
		elements += int64(d.Shape.Count())
		if !d.Shape.Equal(s.Out[0].Shape) {
			ge = "SplitVD"
		}
	}
	if base != tensor.Shape(s.In[0].Shape[at:]).Count() {
		return nil, fmt.Errorf("parts do not add up to a dimension of %d", s.In[0].Shape[at])
	}
	k := s.kernel(ge, cost.AIV, 1, []int{0}, func(x *Exec) error {
		for i, p := range parts {
			if p != nil && x.wanted(i) {
				if err := p(x); err != nil {
					return err
				}
			}
		}
		return nil
	})
	k.Work.VectorOps = elements
	return k, nil
}
