package graph

import (
	"fmt"

	"npu/internal/sim/kernels"
)

// Check says what is wrong with a graph: a value used before it is made, made twice, or whose Producer is another
// node; an output that nothing makes; a constant without a type. Branches are checked with what is visible to them.
func Check(g *Graph) error { return check(g, map[*Value]bool{}, map[*Value]bool{}) }

// check takes the values that are visible from outside and every value made anywhere.
func check(g *Graph, outer, made map[*Value]bool) error {
	visible := make(map[*Value]bool, len(outer)+len(g.Nodes))
	for v := range outer {
		visible[v] = true
	}
	define := func(v *Value, by *Node) error {
		if made[v] {
			return fmt.Errorf("graph %q: value %q is made twice", g.Name, v.Name)
		}
		if v.Producer != by || v.Const != nil {
			return fmt.Errorf("graph %q: value %q does not know its producer", g.Name, v.Name)
		}
		made[v], visible[v] = true, true
		return nil
	}
	for _, v := range g.Inputs {
		if err := define(v, nil); err != nil {
			return err
		}
	}
	for _, n := range g.Nodes {
		for i, v := range n.In {
			if v != nil && !visible[v] && v.Const == nil {
				return fmt.Errorf("graph %q: node %s (%s) input %d: value %q is not made before it", g.Name, n.Name, n.Op, i, v.Name)
			}
		}
		for name, b := range n.Bodies {
			if err := check(b, visible, made); err != nil {
				return fmt.Errorf("%s of node %s: %w", name, n.Name, err)
			}
		}
		for _, v := range n.Out {
			if v == nil {
				continue
			}
			if err := define(v, n); err != nil {
				return err
			}
		}
	}
	for _, v := range g.Outputs {
		if v == nil || !visible[v] && v.Const == nil {
			return fmt.Errorf("graph %q: an output is made by no node", g.Name)
		}
	}
	return nil
}

// CheckTypes runs every node's shape rule again on an inferred graph and compares types and shapes: a pass that
// broke one is found at its node.
func CheckTypes(g *Graph) error {
	for _, n := range g.Nodes {
		for name, b := range n.Bodies {
			if err := CheckTypes(b); err != nil {
				return fmt.Errorf("%s of node %s: %w", name, n.Name, err)
			}
		}
		if _, ok := kernels.Lookup(n.Op); !ok {
			continue
		}
		s := Spec(g, n)
		want := s.Out
		s.Out = make([]kernels.Desc, len(n.Out))
		if err := kernels.Infer(s); err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
		for i, v := range n.Out {
			if v == nil {
				continue
			}
			if got := s.Out[i]; got.DType != want[i].DType || !got.Shape.Equal(want[i].Shape) {
				return fmt.Errorf("node %s (%s) output %d is %v[%v], its rule says %v[%v]",
					n.Name, n.Op, i, want[i].DType, want[i].Shape, got.DType, got.Shape)
			}
		}
	}
	return nil
}

// Spec describes a node for package kernels.
func Spec(g *Graph, n *Node) *kernels.Spec {
	s := &kernels.Spec{Op: n.Op, Opset: g.Opset, Attrs: n.Attrs, In: make([]kernels.Desc, len(n.In)), Out: make([]kernels.Desc, len(n.Out))}
	for i, v := range n.In {
		s.In[i] = v.Desc()
	}
	for i, v := range n.Out {
		s.Out[i] = v.Desc()
	}
	return s
}

// Desc describes the value as an operand; nil is absent.
func (v *Value) Desc() kernels.Desc {
	if v == nil {
		return kernels.Desc{}
	}
	return kernels.Desc{DType: v.DType, Shape: v.Shape, Format: v.Format, Const: v.Const}
}
