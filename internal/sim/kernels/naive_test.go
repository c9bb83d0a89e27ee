package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

// This file holds the reference forms that the operators are compared with: tensors as float64 by coordinates,
// written from the definitions with no thought of speed.

// array is a dense tensor of the reference.
type array struct {
	shape []int
	v     []float64
}

func newArray(shape ...int) array {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return array{shape, make([]float64, n)}
}

// each visits every coordinate in order; at must not be kept.
func (a array) each(f func(i int, at []int)) {
	at := make([]int, len(a.shape))
	for i := range a.v {
		f(i, at)
		for k := len(at) - 1; k >= 0; k-- {
			if at[k]++; at[k] < a.shape[k] {
				break
			}
			at[k] = 0
		}
	}
}

// get reads at a coordinate, which may be of a shape that a broadcasts to.
func (a array) get(at []int) float64 {
	i := 0
	for k, d := range a.shape {
		c := at[len(at)-len(a.shape)+k]
		if d == 1 {
			c = 0
		}
		i = i*d + c
	}
	return a.v[i]
}

func fromTensor(t *testing.T, x *tensor.Tensor) array {
	v, err := tensor.Floats(x)
	if err != nil {
		t.Fatal(err)
	}
	return array{x.Shape, v}
}

func toTensor(t *testing.T, dt tensor.DType, a array) *tensor.Tensor {
	x, err := tensor.New(dt, a.shape)
	if err != nil {
		t.Fatal(err)
	}
	if err := tensor.EncodeFloats(x.Data, dt, 0, a.v); err != nil {
		t.Fatal(err)
	}
	return x
}

// ints is a constant list of int64.
func intList(t *testing.T, v ...int) *tensor.Tensor {
	w := make([]int64, len(v))
	for i, x := range v {
		w[i] = int64(x)
	}
	x, err := tensor.FromInt64s(tensor.Shape{len(v)}, w)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// randomTensor fills a tensor with numbers that suit the type: small integers, or multiples of 1/8 in [-4, 4).
func randomTensor(t *testing.T, r *rand.Rand, dt tensor.DType, shape ...int) *tensor.Tensor {
	a := newArray(shape...)
	for i := range a.v {
		switch {
		case dt == tensor.Bool:
			a.v[i] = float64(r.IntN(2))
		case dt.Int():
			a.v[i] = float64(r.IntN(15) - 7)
		default:
			a.v[i] = float64(r.IntN(64)-32) / 8
		}
	}
	return toTensor(t, dt, a)
}

func randomShape(r *rand.Rand, rank, most int) []int {
	s := make([]int, rank)
	for i := range s {
		s[i] = 1 + r.IntN(most)
	}
	return s
}

// compute compiles and runs one operator with all its operands known.
func compute(t *testing.T, op string, opset, outs int, attrs Attrs, in ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	n := &testNode{op: op, attrs: attrs}
	values := map[string]*tensor.Tensor{}
	for i, x := range in {
		name := ""
		if x != nil {
			name = fmt.Sprint("in", i)
			values[name] = x
		}
		n.in = append(n.in, name)
	}
	for i := range outs {
		n.out = append(n.out, fmt.Sprint("out", i))
	}
	if err := n.run(values, opset); err != nil {
		t.Fatalf("%s%v of %v: %v", op, attrs, in, err)
	}
	out := make([]*tensor.Tensor, outs)
	for i, name := range n.out {
		out[i] = values[name]
	}
	return out
}

// equal compares a result with the reference rounded to the result's type; tol is relative and absolute.
func equal(t *testing.T, what string, got *tensor.Tensor, want array, tol float64) {
	t.Helper()
	if fmt.Sprint([]int(got.Shape)) != fmt.Sprint(want.shape) {
		t.Fatalf("%s: shape %v, want %v", what, got.Shape, want.shape)
	}
	w := fromTensor(t, toTensor(t, got.DType, want))
	g := fromTensor(t, got)
	for i := range g.v {
		if g.v[i] == w.v[i] || math.IsNaN(g.v[i]) && math.IsNaN(w.v[i]) {
			continue
		}
		if !(math.Abs(g.v[i]-w.v[i]) <= tol*(1+math.Abs(w.v[i]))) {
			t.Fatalf("%s: element %d of %v is %g, want %g", what, i, got, g.v[i], w.v[i])
		}
	}
}

func rounds(t *testing.T, n int, f func(r *rand.Rand)) {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	for range n {
		f(r)
	}
}
