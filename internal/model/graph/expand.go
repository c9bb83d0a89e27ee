package graph

import (
	"fmt"
	"math"
	"slices"

	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// flexAttention is attention whose scores and probabilities go through graphs of the model's own. It has no kernel: it is
// replaced by what ONNX defines it as.
const flexAttention = "ai.onnx.preview.FlexAttention"

// expander makes the nodes that stand for one.
type expander struct {
	of    *Node
	nodes []*Node
}

// add makes a node of one output.
func (x *expander) add(op string, attrs kernels.Attrs, in ...*Value) *Value {
	n := &Node{Name: fmt.Sprintf("%s/%s_%d", x.of.Name, op, len(x.nodes)), Op: op, In: in, Attrs: attrs, Origin: x.of.Origin}
	if attrs == nil {
		n.Attrs = kernels.Attrs{}
	}
	v := &Value{Name: n.Name, Producer: n}
	n.Out = []*Value{v}
	x.nodes = append(x.nodes, n)
	return v
}

// list is a constant shape.
func (x *expander) list(v ...int) *Value { return ints(x.of.Name+"/shape", v) }

// body puts the nodes of a graph of one input and one output in line.
func (x *expander) body(g *Graph, in *Value) (*Value, error) {
	if g == nil {
		return in, nil
	}
	if len(g.Inputs) != 1 || len(g.Outputs) != 1 {
		return nil, fmt.Errorf("graph %q has %d inputs and %d outputs, must have one each", g.Name, len(g.Inputs), len(g.Outputs))
	}
	replace := func(list []*Value) {
		for i, v := range list {
			if v == g.Inputs[0] {
				list[i] = in
			}
		}
	}
	var walk func(b *Graph)
	walk = func(b *Graph) {
		for _, n := range b.Nodes {
			replace(n.In)
			for _, inner := range n.bodies() {
				walk(inner)
			}
		}
		replace(b.Outputs)
	}
	walk(g)
	x.nodes = append(x.nodes, g.Nodes...)
	return g.Outputs[0], nil
}

// expandFlexAttention gives the nodes for one whose operands have static shapes, and its result.
func expandFlexAttention(n *Node) ([]*Node, *Value, error) {
	if len(n.In) != 3 || slices.Contains(n.In, nil) || len(n.Out) != 1 || n.Out[0] == nil {
		return nil, nil, fmt.Errorf("%d inputs and %d outputs, has Q, K, V and one result", len(n.In), len(n.Out))
	}
	q, k, v := n.In[0], n.In[1], n.In[2]
	for _, o := range n.In {
		if !o.Known || !o.Shape.Static() || len(o.Shape) != 4 {
			return nil, nil, fmt.Errorf("%s is %s, must be of rank 4", o.Name, Type(o))
		}
	}
	x := &expander{of: n}
	batch, heads, kv, size := q.Shape[0], q.Shape[1], k.Shape[1], q.Shape[3]
	if kv == 0 || heads%kv != 0 {
		return nil, nil, fmt.Errorf("%d query heads for %d key heads", heads, kv)
	}
	if r := heads / kv; r > 1 {
		wide := func(o *Value) *Value {
			s := o.Shape
			o = x.add("Reshape", nil, o, x.list(batch, kv, 1, s[2], s[3]))
			o = x.add("Expand", nil, o, x.list(batch, kv, r, s[2], s[3]))
			return x.add("Reshape", nil, o, x.list(batch, heads, s[2], s[3]))
		}
		k, v = wide(k), wide(v)
	}
	scale := float64(n.Attrs.Float("scale", 0))
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(max(1, size)))
	}
	t, err := tensor.FromFloat64s(tensor.Shape{}, []float64{math.Sqrt(scale)})
	if err == nil {
		t, err = t.As(q.DType)
	}
	if err != nil {
		return nil, nil, err
	}
	half := constant(n.Name+"/scale", t)
	soft := int64(n.Attrs.Int("softmax_precision", 1))
	if q.DType == tensor.Float64 && !n.Attrs.Has("softmax_precision") {
		soft = 11
	}
	back := map[tensor.DType]int64{tensor.Float32: 1, tensor.Float16: 10, tensor.Float64: 11, tensor.BFloat16: 16}[q.DType]
	if back == 0 {
		return nil, nil, fmt.Errorf("element type %v: %w", q.DType, kernels.ErrUnsupported)
	}
	kt := x.add("Transpose", kernels.Attrs{"perm": []int64{0, 1, 3, 2}}, x.add("Mul", nil, k, half))
	score := x.add("Cast", kernels.Attrs{"to": soft}, x.add("MatMul", nil, x.add("Mul", nil, q, half), kt))
	if score, err = x.body(n.Bodies["score_mod"], score); err != nil {
		return nil, nil, err
	}
	prob := x.add("Softmax", kernels.Attrs{"axis": int64(3)}, score)
	if prob, err = x.body(n.Bodies["prob_mod"], prob); err != nil {
		return nil, nil, err
	}
	y := x.add("MatMul", nil, x.add("Cast", kernels.Attrs{"to": back}, prob), v)
	return x.nodes, y, nil
}
