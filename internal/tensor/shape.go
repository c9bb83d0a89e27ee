package tensor

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Shape is a list of dimensions, outermost first. Unknown dimensions are -1. A nil or empty shape is a scalar.
type Shape []int

// Elements is the number of elements, or an error if a dimension is unknown or the product overflows.
func (s Shape) Elements() (int, error) {
	n := uint64(1)
	zero := false
	for _, d := range s {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has an unknown dimension", s)
		}
		if d == 0 {
			zero = true
			continue
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > 1<<62 {
			return 0, fmt.Errorf("shape %v has more than 2^62 elements", s)
		}
		n = lo
	}
	if zero {
		return 0, nil
	}
	return int(n), nil
}

// Count is Elements for shapes that are known to be static and sane; it panics on others.
func (s Shape) Count() int {
	n, err := s.Elements()
	if err != nil {
		panic("tensor: " + err.Error())
	}
	return n
}

// Bytes is the size of a dense tensor of this shape.
func (s Shape) Bytes(t DType) (int, error) {
	n, err := s.Elements()
	if err != nil {
		return 0, err
	}
	if n > 1<<55 {
		return 0, fmt.Errorf("shape %v of %v needs more than 2^55 bytes", s, t)
	}
	return (n*t.Bits() + 7) / 8, nil
}

// Static says whether every dimension is known.
func (s Shape) Static() bool { return !slices.ContainsFunc(s, func(d int) bool { return d < 0 }) }

// Equal compares dimension by dimension.
func (s Shape) Equal(o Shape) bool { return slices.Equal(s, o) }

// Clone copies the shape.
func (s Shape) Clone() Shape { return slices.Clone(s) }

// Strides are the row-major strides in elements.
func (s Shape) Strides() []int {
	st := make([]int, len(s))
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		st[i] = n
		n *= s[i]
	}
	return st
}

// String prints 1x3x224x224; unknown dimensions as ?, a scalar as "scalar".
func (s Shape) String() string {
	if len(s) == 0 {
		return "scalar"
	}
	var b strings.Builder
	for i, d := range s {
		if i > 0 {
			b.WriteByte('x')
		}
		if d < 0 {
			b.WriteByte('?')
		} else {
			b.WriteString(strconv.Itoa(d))
		}
	}
	return b.String()
}

// ParseShape reads 1x3x224x224 or 1,3,224,224; "scalar" and "" are the empty shape.
func ParseShape(s string) (Shape, error) {
	if s == "" || s == "scalar" {
		return Shape{}, nil
	}
	f := strings.FieldsFunc(s, func(r rune) bool { return r == 'x' || r == 'X' || r == ',' })
	out := make(Shape, len(f))
	for i, w := range f {
		d, err := strconv.Atoi(strings.TrimSpace(w))
		if err != nil || d < 0 {
			return nil, fmt.Errorf("shape %q: %q is no dimension (write it like 1x3x224x224)", s, w)
		}
		out[i] = d
	}
	return out, nil
}

// Broadcast is the NumPy broadcast of two static shapes.
func Broadcast(a, b Shape) (Shape, error) {
	n := max(len(a), len(b))
	out := make(Shape, n)
	for i := range n {
		x, y := 1, 1
		if j := i - (n - len(a)); j >= 0 {
			x = a[j]
		}
		if j := i - (n - len(b)); j >= 0 {
			y = b[j]
		}
		switch {
		case x == y || y == 1:
			out[i] = x
		case x == 1:
			out[i] = y
		default:
			return nil, fmt.Errorf("shapes %v and %v do not broadcast", a, b)
		}
	}
	return out, nil
}
