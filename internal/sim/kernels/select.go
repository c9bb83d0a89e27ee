package kernels

import (
	"fmt"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// selectOps have results whose shape depends on values. Where the values are known the shape is; otherwise Infer says
// -1 and the kernel can be compiled only for an output shape that the caller gives, which a run then checks.
func selectOps() map[string]*Op {
	return map[string]*Op{
		"NonZero":  define(inferNonZero, buildNonZero),
		"Compress": define(inferCompress, buildCompress),
		"Unique":   define(inferUnique, buildUnique),
	}
}

// otherCount says that the values ask for another shape than the kernel was compiled for.
func otherCount(got, want int) error {
	return fmt.Errorf("the values give %d elements, the kernel is compiled for %d", got, want)
}

// isSet says whether element i, of size bytes, is not zero. For floating types the sign bit does not count.
func isSet(t tensor.DType, src []byte, i int) bool {
	size := t.Size()
	e := src[i*size : (i+1)*size]
	last := e[size-1]
	if t.Float() {
		last &= 0x7f
	}
	for _, b := range e[:size-1] {
		last |= b
	}
	return last != 0
}

func inferNonZero(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	in := s.In[0]
	if err := wantType(in.DType, func(t tensor.DType) bool { return numeric(t) || t == tensor.Bool }); err != nil {
		return err
	}
	n := -1
	if c := in.Const; c != nil {
		n = 0
		for i := range len(c.Data) / in.DType.Size() {
			n += int(bit(isSet(in.DType, c.Data, i)))
		}
	}
	return s.results(Desc{DType: tensor.Int64, Shape: tensor.Shape{max(1, len(in.Shape)), n}})
}

func buildNonZero(s *Spec) (*Kernel, error) {
	t, in, found := s.In[0].DType, s.In[0].Shape, s.Out[0].Shape[1]
	own, elements := in.Strides(), in.Count()
	if len(in) == 0 {
		own, in = []int{1}, tensor.Shape{1}
	}
	k := s.kernel("NonZero", cost.AICPU, 1, []int{0}, func(x *Exec) error {
		out := tensor.View[int64](x.Out[0])
		n := 0
		for i := range elements {
			if !isSet(t, x.In[0], i) {
				continue
			}
			if n < found {
				for d, st := range own {
					out[d*found+n] = int64(i / st % in[d])
				}
			}
			n++
		}
		if n != found {
			return otherCount(n, found)
		}
		return nil
	})
	k.Work.ScalarOps = int64(elements)
	return k, nil
}

// compressed is the axis along which Compress selects; flat says that it selects of all elements in order.
func compressed(s *Spec) (at, dim int, flat bool, err error) {
	in := s.In[0].Shape
	if !s.Attrs.Has("axis") {
		dim, err = product(in)
		return 0, dim, true, err
	}
	if at, err = axis(s.Attrs.Int("axis", 0), len(in)); err == nil {
		dim = in[at]
	}
	return at, dim, false, err
}

func inferCompress(s *Spec) error {
	if err := s.operands(2, 2); err != nil {
		return err
	}
	at, dim, flat, err := compressed(s)
	if err != nil {
		return err
	}
	cond := s.In[1]
	if cond.DType != tensor.Bool || len(cond.Shape) != 1 {
		return fmt.Errorf("condition is %v %v, must be a list of bool", cond.DType, cond.Shape)
	}
	if dim >= 0 && cond.Shape[0] > dim {
		return fmt.Errorf("%d conditions for a dimension of %d", cond.Shape[0], dim)
	}
	n := -1
	if cond.Const != nil {
		n = 0
		for _, b := range cond.Const.Data {
			n += int(bit(b != 0))
		}
	}
	out := tensor.Shape{n}
	if !flat {
		out = s.In[0].Shape.Clone()
		out[at] = n
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: out})
}

func buildCompress(s *Spec) (*Kernel, error) {
	size, err := wholeBytes(s.In[0].DType)
	if err != nil {
		return nil, err
	}
	at, dim, flat, err := compressed(s)
	if err != nil {
		return nil, err
	}
	in, conds, kept := s.In[0].Shape, s.In[1].Shape[0], s.Out[0].Shape[at]
	outer, inner := 1, size
	if !flat {
		outer, inner = in[:at].Count(), in[at+1:].Count()*size
	}
	return s.kernel("Compress", cost.AICPU, 1, []int{0, 1}, func(x *Exec) error {
		n := 0
		for _, b := range x.In[1][:conds] {
			n += int(bit(b != 0))
		}
		if n != kept {
			return otherCount(n, kept)
		}
		if kept == 0 || inner == 0 {
			return nil
		}
		for o := range outer {
			to := o * kept
			for i, b := range x.In[1][:conds] {
				if b != 0 {
					copy(x.Out[0][to*inner:(to+1)*inner], x.In[0][(o*dim+i)*inner:])
					to++
				}
			}
		}
		return nil
	}), nil
}
