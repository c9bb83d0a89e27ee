package kernels

import (
	"fmt"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// maxBytes bounds one operand: more than any chip's memory.
const maxBytes = 1 << 40

// tileBytes is what one block of an element-wise kernel takes at a time.
const tileBytes = 16 << 10

// rule is a shape rule, builder makes a kernel from a spec whose shapes are settled.
type (
	rule    func(s *Spec) error
	builder func(s *Spec) (*Kernel, error)
)

// define makes a row of the operator table: errors are prefixed with the operator, and the builder gets a copy of
// the spec in which every shape is static and agrees with the shape rule.
func define(infer rule, build builder) *Op {
	named := func(s *Spec) error {
		for i, d := range s.In {
			if d.Shape.Static() {
				if _, err := d.Shape.Elements(); err != nil {
					return fmt.Errorf("%s: input %d: %w", s.Op, i, err)
				}
			}
		}
		if err := infer(s); err != nil {
			return fmt.Errorf("%s: %w", s.Op, err)
		}
		return nil
	}
	return &Op{Infer: named, Compile: func(s *Spec) (*Kernel, error) {
		c, err := settle(s, infer)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Op, err)
		}
		k, err := build(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Op, err)
		}
		k.charge(c)
		return k, nil
	}}
}

// settle infers the outputs of a copy of s. Dimensions that depend on values are taken from what the caller put in
// s.Out, if anything.
func settle(s *Spec, infer rule) (*Spec, error) {
	for i, d := range s.In {
		if d.Absent() {
			continue
		}
		if !d.Shape.Static() {
			return nil, fmt.Errorf("input %d has shape %v, must be static to be compiled", i, d.Shape)
		}
		if err := checkSize(d); err != nil {
			return nil, fmt.Errorf("input %d: %w", i, err)
		}
		if d.Format == tensor.NC1HWC0 || d.Format == tensor.FractalZ || d.Format == tensor.FractalNZ {
			return nil, fmt.Errorf("input %d in format %v: %w", i, d.Format, ErrUnsupported)
		}
	}
	c := *s
	c.Out = make([]Desc, len(s.Out))
	if err := infer(&c); err != nil {
		return nil, err
	}
	for i := range c.Out {
		d := &c.Out[i]
		if i < len(s.Out) && !s.Out[i].Absent() && s.Out[i].Shape.Static() && len(s.Out[i].Shape) == len(d.Shape) {
			d.Shape = d.Shape.Clone()
			for j, n := range s.Out[i].Shape {
				if d.Shape[j] < 0 {
					d.Shape[j] = n
				} else if d.Shape[j] != n {
					return nil, fmt.Errorf("output %d is given as %v, is %v", i, s.Out[i].Shape, d.Shape)
				}
			}
		}
		if !d.Shape.Static() {
			return nil, fmt.Errorf("output %d has shape %v, it depends on values: %w", i, d.Shape, ErrNotKnown)
		}
		if err := checkSize(*d); err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
	}
	return &c, nil
}

func checkSize(d Desc) error {
	if len(d.Shape) > maxRank {
		return fmt.Errorf("rank %d: %w (at most %d)", len(d.Shape), ErrUnsupported, maxRank)
	}
	if d.DType == tensor.String {
		return fmt.Errorf("strings: %w", ErrUnsupported)
	}
	n, err := d.Shape.Bytes(d.DType)
	if err == nil && n > maxBytes {
		err = fmt.Errorf("shape %v of %v needs %d bytes, more than any chip has", d.Shape, d.DType, n)
	}
	return err
}

// bytes is the size of an operand of static shape; 0 for one that is absent.
func (d Desc) bytes() int {
	n, err := d.Shape.Bytes(d.DType)
	if err != nil || d.Absent() {
		return 0
	}
	return n
}

// values reads a constant operand that the kernel folds into itself.
func (s *Spec) values(i int) ([]int, error) {
	v, err := s.Input(i).ConstInts()
	if err != nil {
		return nil, fmt.Errorf("input %d: %w", i, err)
	}
	return v, nil
}

// kernel wraps run as a kernel that reads the operands listed in reads and writes every output. instr is the number
// of vector instructions an output element costs. run finds each listed operand and each output complete.
func (s *Spec) kernel(ge string, core cost.Core, instr int, reads []int, run func(x *Exec) error) *Kernel {
	in := make([]int, len(s.In))
	out := make([]int, len(s.Out))
	k := &Kernel{Type: ge, Core: core}
	for _, i := range reads {
		if i < len(in) {
			in[i] = s.In[i].bytes()
			k.Work.ReadBytes += int64(in[i])
		}
	}
	for i, d := range s.Out {
		out[i] = d.bytes()
		k.Work.WriteBytes += int64(out[i])
	}
	elements := int64(s.Out[0].Shape.Count())
	if len(s.In) > 0 && !s.In[0].Absent() {
		k.Work.VectorType = s.In[0].DType
	} else {
		k.Work.VectorType = s.Out[0].DType
	}
	if core == cost.AICPU {
		k.Work.ScalarOps = elements * int64(instr)
		k.Blocks = 1
	} else {
		k.Work.VectorOps = elements * int64(instr)
		k.Blocks = int(max(1, (max(k.Work.ReadBytes, k.Work.WriteBytes)+tileBytes-1)/tileBytes))
		if k.Work.WriteBytes == 0 { // nothing to write, however long the other dimensions are
			run = func(*Exec) error { return nil }
		}
	}
	k.Run = func(x *Exec) error {
		if err := complete("input", x.In, in); err != nil {
			return err
		}
		if err := complete("output", x.Out, out); err != nil {
			return err
		}
		return run(x)
	}
	return k
}

// complete checks that each operand's memory is as large as its shape says; results after the first may be left out.
func complete(what string, mem [][]byte, want []int) error {
	for i, n := range want {
		if n == 0 || i > 0 && what == "output" && (i >= len(mem) || mem[i] == nil) {
			continue
		}
		if i >= len(mem) || len(mem[i]) < n {
			have := 0
			if i < len(mem) {
				have = len(mem[i])
			}
			return fmt.Errorf("%s %d has %d bytes of memory, needs %d", what, i, have, n)
		}
	}
	return nil
}

// wanted says whether an optional output is asked for in this run.
func (x *Exec) wanted(i int) bool { return i < len(x.Out) && x.Out[i] != nil }

// all lists the operands 0..n-1.
func all(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = i
	}
	return v
}
