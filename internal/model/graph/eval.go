package graph

import (
	"fmt"

	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// Eval computes the outputs of an inferred graph on the host, one kernel after the other, without a device: the
// reference that the simulated runs are held against. Inputs are by name and must have the graph's types and shapes
// (problem.Usage). watch, if not nil, sees every node's outputs.
func Eval(g *Graph, inputs map[string]*tensor.Tensor, watch func(*Node, []*tensor.Tensor)) ([]*tensor.Tensor, error) {
	e := &evaluator{values: map[*Value]*tensor.Tensor{}, watch: watch}
	for _, v := range g.Inputs {
		t := inputs[v.Name]
		if t == nil {
			return nil, problem.Usagef("no value for input %q %s", v.Name, Type(v))
		}
		if t.DType != v.DType || !t.Shape.Equal(v.Shape) || t.Format != v.Format {
			return nil, problem.Usagef("input %q is %v, got %v", v.Name, Type(v), t)
		}
		e.values[v] = t
	}
	if err := e.graph(g); err != nil {
		return nil, err
	}
	return e.outputs(g), nil
}

type evaluator struct {
	values map[*Value]*tensor.Tensor
	watch  func(*Node, []*tensor.Tensor)
}

func (e *evaluator) value(v *Value) *tensor.Tensor {
	switch {
	case v == nil:
		return nil
	case v.Const != nil:
		return v.Const
	}
	return e.values[v]
}

func (e *evaluator) outputs(g *Graph) []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(g.Outputs))
	for i, v := range g.Outputs {
		out[i] = e.value(v)
	}
	return out
}

func (e *evaluator) graph(g *Graph) error {
	for _, n := range g.Nodes {
		res, err := e.node(g, n)
		if err != nil {
			return fmt.Errorf("node %s (%s): %w", n.Name, n.Op, err)
		}
		for i, v := range n.Out {
			if v != nil {
				e.values[v] = res[i]
			}
		}
		if e.watch != nil {
			e.watch(n, res)
		}
	}
	return nil
}

func (e *evaluator) node(g *Graph, n *Node) ([]*tensor.Tensor, error) {
	if n.Op == OpFault {
		return nil, fmt.Errorf("fault: %s", n.Attrs.Str("reason", ""))
	}
	args := make([]*tensor.Tensor, len(n.In))
	for i, v := range n.In {
		if args[i] = e.value(v); v != nil && args[i] == nil {
			return nil, fmt.Errorf("input %d (%s) has no value", i, v.Name)
		}
	}
	if IsCollective(n.Op) {
		return nil, problem.Failedf("it communicates with other ranks: the host alone cannot compute it")
	}
	switch n.Op {
	case OpGroup:
		return e.group(n)
	case "If":
	default:
		return run(g, n, args)
	}
	if len(args[0].Data) != 1 {
		return nil, fmt.Errorf("condition is %v", args[0])
	}
	body := n.Bodies["else_branch"]
	if args[0].Data[0] != 0 {
		body = n.Bodies["then_branch"]
	}
	if err := e.graph(body); err != nil {
		return nil, err
	}
	return e.outputs(body), nil
}

// run compiles one node and runs it on host memory.
func run(g *Graph, n *Node, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	res := make([]*tensor.Tensor, len(n.Out))
	if op, ok := kernels.Lookup(n.Op); ok && op.View && len(n.Out) == 1 && n.Out[0] != nil {
		v := n.Out[0]
		res[0] = &tensor.Tensor{DType: v.DType, Shape: v.Shape, Data: args[0].Data}
		return res, nil
	}
	k, err := kernels.Compile(Spec(g, n))
	if err != nil {
		return nil, err
	}
	x := &kernels.Exec{In: make([][]byte, len(args)), Out: make([][]byte, len(n.Out)), Workspace: make([]byte, k.Workspace)}
	for i, t := range args {
		if t != nil {
			x.In[i] = t.Data
		}
	}
	for _, w := range k.Weights {
		packed := make([]byte, w.Bytes)
		w.Pack(packed, args[w.Input].Data)
		x.In[w.Input] = packed
	}
	for i, v := range n.Out {
		if v == nil {
			continue
		}
		if res[i], err = tensor.New(v.DType, v.Shape); err != nil {
			return nil, err
		}
		x.Out[i] = res[i].Data
	}
	return res, k.Run(x)
}
