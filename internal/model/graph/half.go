package graph

import (
	"fmt"
	"math"

	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// onnxFloat and onnxHalf are the numbers of ONNX for these types.
const (
	onnxFloat = int64(1)
	onnxHalf  = int64(10)
)

// maxHalf is the largest finite float16.
const maxHalf = 65504

// Half makes an inferred graph compute in float16 what it computes in float32: weights are rounded once, inputs and
// outputs keep their types and are converted at the border. Operands that are parameters, not data (scales of Resize,
// limits of Range), stay. An operator that has no
// form in float16 is problem.Failed.
func Half(g *Graph) error {
	h := &halver{halves: map[*tensor.Tensor]*tensor.Tensor{}, values: map[*Value]*Value{}, narrowed: map[*Value]bool{}}
	var before []*Node
	for _, v := range g.Inputs {
		if v.DType != tensor.Float32 {
			continue
		}
		n := &Node{Name: v.Name + "/half", Op: "Cast", In: []*Value{v}, Attrs: kernels.Attrs{"to": onnxHalf}, Origin: []string{v.Name}}
		w := &Value{Name: v.Name + "/half", DType: tensor.Float16, Shape: v.Shape, Known: true, Producer: n}
		n.Out = []*Value{w}
		h.values[v] = w
		before = append(before, n)
	}
	if err := h.graph(g); err != nil {
		return err
	}
	g.Nodes = append(before, g.Nodes...)
	for i, v := range g.Outputs {
		if v.DType != tensor.Float16 || !h.narrowed[v] {
			continue
		}
		n := &Node{Name: v.Name + "/float", Op: "Cast", In: []*Value{v}, Attrs: kernels.Attrs{"to": onnxFloat}, Origin: []string{v.Name}}
		w := &Value{Name: v.Name, DType: tensor.Float32, Shape: v.Shape, Known: true, Producer: n}
		v.Name += "/half"
		n.Out = []*Value{w}
		g.Nodes = append(g.Nodes, n)
		g.Outputs[i] = w
	}
	if _, err := Infer(g); err != nil {
		return problem.Mark(problem.Failed, fmt.Errorf("in float16: %w", err))
	}
	return nil
}

type halver struct {
	halves   map[*tensor.Tensor]*tensor.Tensor
	values   map[*Value]*Value // inputs, and what stands for them
	narrowed map[*Value]bool
}

func (h *halver) graph(g *Graph) error {
	for _, n := range g.Nodes {
		h.operands(n)
		for _, b := range n.bodies() {
			if err := h.graph(b); err != nil {
				return err
			}
		}
		if n.Op == "Cast" && n.Attrs.Int("to", 0) == int(onnxFloat) {
			n.Attrs = withAttr(n.Attrs, "to", onnxHalf)
		}
		if n.Op == Receive && len(n.Out) == 1 && n.Out[0].DType == tensor.Float32 { // its sender sends halves too
			n.Attrs = withAttr(n.Attrs, "dtype", onnxHalf)
		}
		if t := n.Attrs.Tensor("value"); t != nil && t.DType == tensor.Float32 {
			half, err := h.narrow(t)
			if err != nil {
				return err
			}
			n.Attrs = withAttr(n.Attrs, "value", half)
		}
		for _, v := range n.Out {
			if v != nil && v.DType == tensor.Float32 {
				v.DType = tensor.Float16
				h.narrowed[v] = true
			}
		}
	}
	for i, v := range g.Outputs {
		if w := h.values[v]; w != nil {
			g.Outputs[i] = w
			h.narrowed[w] = true
		}
	}
	return nil
}

// operands replaces inputs and constants of a node.
func (h *halver) operands(n *Node) {
	for i, v := range n.In {
		switch {
		case v == nil:
		case h.values[v] != nil:
			n.In[i] = h.values[v]
		case v.Const != nil && v.DType == tensor.Float32 && !parameter(n.Op, i):
			if half, err := h.narrow(v.Const); err == nil {
				n.In[i] = &Value{Name: v.Name, DType: half.DType, Shape: half.Shape, Known: true, Const: half}
			}
		}
	}
}

// narrow rounds a constant, once for all its uses.
func (h *halver) narrow(t *tensor.Tensor) (*tensor.Tensor, error) {
	if half := h.halves[t]; half != nil {
		return half, nil
	}
	wide := t.Clone()
	for i, x := range tensor.View[float32](wide.Data) {
		// A finite number stays finite: masks of the lowest float32 would become infinite, and 0 times that NaN.
		if !math.IsInf(float64(x), 0) {
			tensor.View[float32](wide.Data)[i] = min(max(x, -maxHalf), maxHalf)
		}
	}
	half, err := wide.As(tensor.Float16)
	if err != nil {
		return nil, err
	}
	h.halves[t] = half
	return half, nil
}

// parameter says that an operand is no data and keeps its type.
func parameter(op string, i int) bool {
	switch op {
	case "Resize", "Upsample":
		return i > 0
	case "NonMaxSuppression", "Range", "OneHot":
		return true
	}
	return false
}

func withAttr(a kernels.Attrs, key string, v any) kernels.Attrs {
	out := kernels.Attrs{key: v}
	for k, x := range a {
		if k != key {
			out[k] = x
		}
	}
	return out
}
