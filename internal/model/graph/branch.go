package graph

import (
	"errors"
	"fmt"

	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// branch infers an If. A constant condition puts the branch in the If's place. Otherwise both branches are inferred;
// one that does not fit the shapes becomes a fault, and the If has the shapes of the other.
func (w *inferrer) branch(n *Node, g *Graph, blocked bool) error {
	then, els := n.Bodies["then_branch"], n.Bodies["else_branch"]
	if then == nil || els == nil || len(n.In) != 1 || n.In[0] == nil {
		return fmt.Errorf("node %s: If needs a condition and two branches", n.Name)
	}
	for name, b := range n.Bodies {
		if len(b.Outputs) != len(n.Out) {
			return fmt.Errorf("node %s: %s has %d outputs, the If %d", n.Name, name, len(b.Outputs), len(n.Out))
		}
	}
	if taken, known, err := condition(n.In[0]); err != nil {
		return fmt.Errorf("node %s: %w", n.Name, err)
	} else if known {
		body := els
		if taken {
			body = then
		}
		if err := w.list(body.Nodes, g); err != nil {
			return err
		}
		for i, v := range n.Out {
			if v != nil {
				w.sub[v] = w.now(body.Outputs[i])
			}
		}
		return nil
	}
	g.Nodes = append(g.Nodes, n)
	before := w.lates
	errThen := w.graph(then)
	between := w.lates
	errElse := w.graph(els)
	// A branch that becomes a fault makes nothing late: the other one says what the If makes.
	late := errThen == nil && between > before || errElse == nil && w.lates > between || errThen == nil && errElse == nil && w.disagree(n)
	if errThen != nil && errElse != nil {
		return fmt.Errorf("node %s: both branches refuse their shapes: then: %w; else: %w", n.Name, errThen, errElse)
	}
	if blocked || errors.Is(errThen, kernels.ErrUnsupported) || errors.Is(errElse, kernels.ErrUnsupported) {
		w.blockOutputs(n)
		return nil
	}
	if w.step && late {
		for name, err := range map[string]error{"then_branch": errThen, "else_branch": errElse} {
			if err != nil {
				w.fault(n, name, err)
			}
		}
		w.mark(n, "what its branches make is known only when one runs")
		return nil
	}
	for i, v := range n.Out {
		if v == nil {
			continue
		}
		a, b := then.Outputs[i], els.Outputs[i]
		switch {
		case errThen != nil:
			a = b
		case errElse != nil:
			b = a
		}
		if w.blocked[a] || w.blocked[b] {
			w.blocked[v] = true
			continue
		}
		if err := w.join(n, v, a, b); err != nil {
			return err
		}
	}
	if errThen != nil {
		w.fault(n, "then_branch", errThen)
	}
	if errElse != nil {
		w.fault(n, "else_branch", errElse)
	}
	return nil
}

// condition reads a constant condition: one element, as ONNX wants it.
func condition(v *Value) (taken, known bool, err error) {
	if v.Const == nil {
		return false, false, nil
	}
	if v.DType != tensor.Bool || len(v.Const.Data) != 1 {
		return false, false, fmt.Errorf("condition %q is %s, not one bool", v.Name, Type(v))
	}
	return v.Const.Data[0] != 0, true, nil
}

// join gives an output of an If the type of both branches.
func (w *inferrer) join(n *Node, v, a, b *Value) error {
	if a.DType != b.DType {
		return fmt.Errorf("node %s: output %q is %v in one branch and %v in the other", n.Name, v.Name, a.DType, b.DType)
	}
	v.DType, v.Known = a.DType, a.Known && b.Known && len(a.Shape) == len(b.Shape)
	if !v.Known || !a.Shape.Equal(b.Shape) {
		w.why[v] = fmt.Sprintf("its shape depends on the condition of %s: %s in one branch, %s in the other", n.Name, Type(a), Type(b))
	}
	if !v.Known {
		v.Shape = nil
		return nil
	}
	v.Shape = a.Shape.Clone()
	for i, d := range b.Shape {
		if v.Shape[i] != d {
			v.Shape[i] = -1
		}
	}
	return nil
}

// fault replaces a branch by one node that is a fault, with outputs of the If's types.
func (w *inferrer) fault(n *Node, name string, reason error) {
	text := fmt.Sprintf("%s of %s cannot run with these shapes: %v", name, n.Name, reason)
	w.notes = append(w.notes, text)
	f := &Node{Name: n.Name + "/" + name, Op: OpFault, Attrs: kernels.Attrs{"reason": text}, Origin: []string{n.Name}}
	body := &Graph{Name: n.Bodies[name].Name, Opset: w.opset, Nodes: []*Node{f}}
	for _, v := range n.Out {
		o := &Value{Name: f.Name, Producer: f}
		if v != nil {
			o.DType, o.Shape, o.Known = v.DType, v.Shape, v.Known
		}
		f.Out = append(f.Out, o)
	}
	body.Outputs = append(body.Outputs, f.Out...)
	n.Bodies[name] = body
}
