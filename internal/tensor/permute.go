package tensor

import "fmt"

// permute reorders the dimensions of a row-major tensor: dimension i of the result is dimension axes[i] of t.
func permute(t *Tensor, to Format, axes ...int) (*Tensor, error) {
	if len(t.Shape) != len(axes) {
		return nil, fmt.Errorf("%v to %v of shape %v: expected %d dimensions", t.Format, to, t.Shape, len(axes))
	}
	if err := checkBytes(t); err != nil {
		return nil, err
	}
	s := make(Shape, len(axes))
	for i, a := range axes {
		s[i] = t.Shape[a]
	}
	out, err := New(t.DType, s)
	if err != nil {
		return nil, err
	}
	out.Format = to
	if len(out.Data) == 0 {
		return out, nil
	}
	run, err := mover(out.Data, t.Data, t.DType)
	if err != nil {
		return nil, err
	}
	strided := t.Shape.Strides()
	steps := make([]int, len(axes))
	for i, a := range axes {
		steps[i] = strided[a]
	}
	walkRows(s, func(row int, index []int) {
		from := 0
		for i, x := range index {
			from += x * steps[i]
		}
		last := len(s) - 1
		run(row*s[last], from, s[last], 1, steps[last])
	})
	return out, nil
}

// walkRows calls f for each row (run of the last dimension) of a shape of rank 1 or more without zero dimensions, with
// the row's number and the index of its first element.
func walkRows(s Shape, f func(row int, index []int)) {
	index := make([]int, len(s))
	for row := 0; ; row++ {
		f(row, index)
		d := len(s) - 2
		for ; d >= 0; d-- {
			if index[d]++; index[d] < s[d] {
				break
			}
			index[d] = 0
		}
		if d < 0 {
			return
		}
	}
}
