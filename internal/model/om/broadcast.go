package om

import (
	"errors"
	"fmt"

	"npu/internal/model/graph"
	"npu/internal/tensor"
)

const float32Type = tensor.Float32

func (x *kernelOp) errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// broadcast brings inputs to the order of the output, so that they broadcast as their logical forms do: a tensor of
// fewer dimensions stands at the end of the logical order, whatever the order of the value is.
func (x *kernelOp) broadcast(slots ...int) []*graph.Value {
	out := make([]*graph.Value, len(slots))
	for k, i := range slots {
		out[k] = x.broadcastTo(i, x.o.Out[0])
	}
	return out
}

func (x *kernelOp) broadcastTo(i int, to *TensorDesc) *graph.Value {
	v, d := x.in(i), x.desc(i)
	if x.err != nil {
		return v
	}
	order, origin := to.order(), to.originFormat()
	dims, _ := to.dims()
	rank := len(dims)
	switch {
	case len(v.Shape) == rank:
		return x.reorder(v, d.order(), order)
	case len(v.Shape) == 0 || len(v.Shape) > rank:
		return v
	}
	name, _ := d.layout()
	channel := name == "NC1HWC0" || x.o.Type == "BiasAdd" || x.o.Type == "Bias" || x.o.Type == "BNInferenceD" || x.o.Type == "PRelu"
	if len(v.Shape) == 1 && channel && named(order) {
		return x.channel(v, order)
	}
	s := make(tensor.Shape, rank)
	for k := range s {
		s[k] = 1
	}
	copy(s[rank-len(v.Shape):], v.Shape)
	if permutation(origin, order) == nil {
		return v
	}
	return x.reorder(x.reshape(v, s), origin, order)
}

// channel shapes a vector so that it lies along the channels of an order.
func (x *kernelOp) channel(v *graph.Value, order string) *graph.Value {
	s := make(tensor.Shape, len(order))
	for k := range s {
		s[k] = 1
		if order[k] == 'C' {
			s[k] = v.Shape.Count()
		}
	}
	return x.reshape(v, s)
}

// errAmbiguous says that the file leaves two meanings open.
var errAmbiguous = errors.New("the file leaves its meaning open")
