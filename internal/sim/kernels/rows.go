package kernels

import (
	"fmt"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// rowOps move whole rows by a rule that may depend on a small operand read at run time.
func rowOps() map[string]*Op {
	return map[string]*Op{
		"Trilu":           define(inferTrilu, buildTrilu),
		"ReverseSequence": define(inferReverse, buildReverse),
	}
}

// isIndex says whether a type can hold indices.
func isIndex(t tensor.DType) bool { return t == tensor.Int64 || t == tensor.Int32 }

// readIndex reads element i of a list of indices.
func readIndex(t tensor.DType, src []byte, i int) int {
	if t == tensor.Int32 {
		return int(tensor.View[int32](src)[i])
	}
	return int(tensor.View[int64](src)[i])
}

func inferTrilu(s *Spec) error {
	if err := s.operands(1, 2); err != nil {
		return err
	}
	if len(s.In[0].Shape) < 2 {
		return fmt.Errorf("shape %v, must have at least two dimensions", s.In[0].Shape)
	}
	if k := s.Input(1); !k.Absent() {
		if n, err := k.length(); k.DType != tensor.Int64 || err != nil || n >= 0 && n != 1 {
			return fmt.Errorf("k is %v %v, must be one int64", k.DType, k.Shape)
		}
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: s.In[0].Shape})
}

func buildTrilu(s *Spec) (*Kernel, error) {
	size, err := wholeBytes(s.In[0].DType)
	if err != nil {
		return nil, err
	}
	d := s.In[0].Shape
	rows, cols := d[len(d)-2], d[len(d)-1]
	upper := s.Attrs.Int("upper", 1) != 0
	hasK := !s.Input(1).Absent()
	ge := "Tril"
	if upper {
		ge = "Triu"
	}
	return s.kernel(ge, cost.AIV, 1, all(len(s.In)), parallel(d[:len(d)-1].Count(), cols, func(x *Exec, lo, hi int) {
		k := 0
		if hasK {
			k = min(max(readIndex(tensor.Int64, x.In[1], 0), -rows-1), cols+1)
		}
		for r := lo; r < hi; r++ {
			out, in := x.Out[0][r*cols*size:][:cols*size], x.In[0][r*cols*size:][:cols*size]
			first := min(max(r%rows+k, 0), cols) * size // kept from here on
			if upper {
				clear(out[:first])
				copy(out[first:], in[first:])
			} else {
				last := min(max(r%rows+k+1, 0), cols) * size
				copy(out[:last], in)
				clear(out[last:])
			}
		}
	})), nil
}

func reverseAxes(s *Spec) (batch, time int, err error) {
	batch, time = s.Attrs.Int("batch_axis", 1), s.Attrs.Int("time_axis", 0)
	if batch+time != 1 || batch < 0 || time < 0 {
		err = fmt.Errorf("batch_axis %d and time_axis %d, must be 0 and 1", batch, time)
	}
	return
}

func inferReverse(s *Spec) error {
	if err := s.operands(2, 2); err != nil {
		return err
	}
	batch, _, err := reverseAxes(s)
	if err != nil {
		return err
	}
	in, lens := s.In[0].Shape, s.In[1]
	if len(in) < 2 || len(lens.Shape) != 1 || lens.DType != tensor.Int64 {
		return fmt.Errorf("shape %v with lengths %v %v", in, lens.DType, lens.Shape)
	}
	if a, b := in[batch], lens.Shape[0]; a >= 0 && b >= 0 && a != b {
		return fmt.Errorf("%d lengths for a batch of %d", b, a)
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: in})
}

func buildReverse(s *Spec) (*Kernel, error) {
	size, err := wholeBytes(s.In[0].DType)
	if err != nil {
		return nil, err
	}
	batch, time, err := reverseAxes(s)
	if err != nil {
		return nil, err
	}
	d := s.In[0].Shape
	nb, nt, row := d[batch], d[time], d[2:].Count()*size
	at := func(b, t int) int {
		if time == 0 {
			return (t*nb + b) * row
		}
		return (b*nt + t) * row
	}
	k := s.kernel("ReverseSequence", cost.AIV, 1, []int{0, 1}, func(x *Exec) error {
		for b := range nb {
			n := readIndex(tensor.Int64, x.In[1], b)
			if n < 0 || n > nt {
				return fmt.Errorf("sequence %d has length %d of %d", b, n, nt)
			}
			for t := range nt {
				from := t
				if t < n {
					from = n - 1 - t
				}
				copy(x.Out[0][at(b, t):][:row], x.In[0][at(b, from):][:row])
			}
		}
		return nil
	})
	k.Work.ScalarOps = int64(nb) * int64(nt)
	return k, nil
}
