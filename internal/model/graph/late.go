package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// IsStepped says whether an operator always runs step by step: control flow other than If, sequences, optionals.
func IsStepped(op string) bool {
	switch op {
	case "Loop", "Scan", "SequenceMap",
		"SequenceConstruct", "SequenceEmpty", "SequenceAt", "SequenceInsert", "SequenceErase", "SequenceLength",
		"SplitToSequence", "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement":
		return true
	}
	return false
}

// Computes says whether a model may use an operator: package kernels has it, it is stepped, or it vanishes before.
func Computes(op string) bool {
	_, ok := kernels.Lookup(op)
	if short, found := strings.CutPrefix(op, microsoft); found {
		return slices.Contains(ContribOps(), short)
	}
	return ok || IsStepped(op) || op == "If" || op == "Constant" || op == "Shape" || op == "Size" || op == flexAttention
}

// keep leaves a node for the host to step through. An operator in it that nobody computes is refused as everywhere.
func (w *inferrer) keep(n *Node, g *Graph, reason string) {
	g.Nodes = append(g.Nodes, n)
	w.mark(n, reason)
	w.inside(n)
}

// mark notes that a node is Late and with it what it makes.
func (w *inferrer) mark(n *Node, reason string) {
	n.Late = reason
	w.lates++
	for _, v := range n.Out {
		if v != nil {
			w.late[v] = true
			v.Known, v.Shape = false, nil
		}
	}
}

// inside follows replaced values into the bodies of a node and looks for operators that are not supported.
func (w *inferrer) inside(n *Node) {
	if _, ok := kernels.Lookup(n.Op); !ok && !IsStepped(n.Op) && !staticShape(n) && n.Op != "If" && n.Op != OpFault && n.Op != OpGroup {
		w.block(n, "")
	}
	for _, b := range n.bodies() {
		for _, m := range b.Nodes {
			for i, v := range m.In {
				if v != nil {
					m.In[i] = w.now(v)
				}
			}
			w.inside(m)
		}
		for i, v := range b.Outputs {
			b.Outputs[i] = w.now(v)
		}
	}
}

// settled makes a node Late whose result has a size that only running it tells, or that cannot be compiled without
// the value of an operand that is made at run time. It is the last of g's nodes.
func (w *inferrer) settled(n *Node, g *Graph) {
	reason := ""
	for _, v := range n.Out {
		if v != nil && !(v.Known && v.Shape.Static()) {
			reason = fmt.Sprintf("the size of %s depends on data", v.Name)
		}
	}
	open := slices.ContainsFunc(n.In, func(v *Value) bool { return v != nil && v.Const == nil && !v.DType.Float() })
	if reason == "" && open {
		_, err := kernels.Compile(Spec(g, n))
		if errors.Is(err, kernels.ErrNotKnown) {
			reason = err.Error()
		}
	}
	if reason != "" {
		w.mark(n, reason)
	}
}

// disagree says whether the branches of an If make results of different kinds, types or shapes.
func (w *inferrer) disagree(n *Node) bool {
	then, els := n.Bodies["then_branch"], n.Bodies["else_branch"]
	for i, v := range n.Out {
		if v == nil {
			continue
		}
		a, b := then.Outputs[i], els.Outputs[i]
		if w.late[a] || w.late[b] || a.Kind != Tensor || b.Kind != Tensor {
			return true
		}
		if a.Known && b.Known && a.DType == b.DType && !a.Shape.Equal(b.Shape) {
			return true
		}
	}
	return false
}

// Split takes the late nodes, and with them everything that needs what they make, out of an inferred graph: they come
// back as a graph of their own, nil where there is none. g keeps the others and gets as outputs, after nothing else, the
// values that the rest and the model's outputs take from it; those are the rest's inputs, followed by the inputs of g
// that it takes directly.
func Split(g *Graph) *Graph {
	rest := &Graph{Name: g.Name, Opset: g.Opset}
	var early []*Node
	late := map[*Value]bool{}
	for _, n := range g.Nodes {
		if n.Late == "" && !usesAny(n, late) {
			early = append(early, n)
			continue
		}
		rest.Nodes = append(rest.Nodes, n)
		for _, v := range n.Out {
			late[v] = true
		}
	}
	if len(rest.Nodes) == 0 && !slices.ContainsFunc(g.Inputs, func(v *Value) bool { return v.Kind != Tensor }) {
		return nil
	}
	rest.Outputs = g.Outputs
	input := map[*Value]bool{}
	for _, v := range g.Inputs {
		input[v] = true
	}
	made := map[*Value]bool{}
	for _, n := range early {
		for _, v := range n.Out {
			made[v] = v != nil
		}
	}
	var cross, direct []*Value
	seen := map[*Value]bool{}
	take := func(v *Value) {
		switch {
		case v == nil || seen[v]:
		case made[v]:
			cross = append(cross, v)
		case input[v]:
			direct = append(direct, v)
		}
		seen[v] = true
	}
	var walk func(nodes []*Node)
	walk = func(nodes []*Node) {
		for _, n := range nodes {
			for _, v := range n.In {
				take(v)
			}
			for _, b := range n.bodies() {
				walk(b.Nodes)
				for _, v := range b.Outputs {
					take(v)
				}
			}
		}
	}
	walk(rest.Nodes)
	for _, v := range rest.Outputs {
		take(v)
	}
	rest.Inputs = append(slices.Clone(cross), direct...)
	g.Nodes, g.Outputs = early, cross
	g.Inputs = slices.DeleteFunc(slices.Clone(g.Inputs), func(v *Value) bool { return v.Kind != Tensor })
	return rest
}

// usesAny says whether a node or its bodies take one of the values.
func usesAny(n *Node, set map[*Value]bool) bool {
	for _, v := range n.In {
		if v != nil && set[v] {
			return true
		}
	}
	for _, b := range n.bodies() {
		if slices.ContainsFunc(b.Nodes, func(m *Node) bool { return usesAny(m, set) }) ||
			slices.ContainsFunc(b.Outputs, func(v *Value) bool { return set[v] }) {
			return true
		}
	}
	return false
}

// Data is a value of any kind on the host.
type Data struct {
	Kind   Kind
	Tensor *tensor.Tensor // of a tensor
	List   []*Data        // elements of a sequence
	Held   *Data          // what an optional holds; nil: nothing
}
