package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"npu/internal/problem"
	"npu/internal/sim/kernels"
)

// OpFault is the operator of a branch that cannot run with the shapes at hand: executing it is a fault with the text
// of its attribute "reason".
const OpFault = "npu.Fault"

// Infer walks the graph once: shape rule a node, constants folded, an If with a constant condition replaced by its
// branch. Inputs must be static (Bind). The notes tell which branches became faults.
//
// Operators, or forms of one, that package kernels does not have are collected into one problem.Failed that names
// each with its nodes and wraps kernels.ErrUnsupported. A node that refuses its operands is problem.Usage where
// shapes were asked for, problem.Damaged where they are the file's own.
func Infer(g *Graph) (notes []string, err error) {
	w := &inferrer{opset: g.Opset, step: g.Step, late: map[*Value]bool{}, sub: map[*Value]*Value{}, why: map[*Value]string{}, blocked: map[*Value]bool{}}
	for _, v := range g.Inputs {
		if v.Kind != Tensor && !g.Step {
			return nil, problem.Failedf("input %q is of kind %v: %w", v.Name, v.Kind, kernels.ErrUnsupported)
		}
		w.late[v] = v.Kind != Tensor
	}
	names := outputNames(g)
	if err := replace(g); err != nil {
		return nil, problem.Mark(problem.Failed, err)
	}
	RemoveDead(g) // what nobody wants need not be supported
	if err = w.graph(g); err == nil {
		RemoveDead(g)
		w.dynamic(g)
	}
	if missing := w.missing(); missing != nil {
		return nil, missing
	}
	if err != nil {
		if errors.Is(err, kernels.ErrUnsupported) {
			return nil, problem.Mark(problem.Failed, err)
		}
		if g.Asked {
			return nil, problem.Mark(problem.Usage, fmt.Errorf("%w (with the shapes given by --shape)", err))
		}
		return nil, problem.Mark(problem.Damaged, err)
	}
	finish(g, names)
	return w.notes, nil
}

// inferrer is the state of one walk.
type inferrer struct {
	opset   int
	step    bool
	late    map[*Value]bool   // made by a node that is Late
	lates   int               // such nodes so far
	sub     map[*Value]*Value // outputs of replaced nodes, and what stands for them
	why     map[*Value]string // why a value has no static shape
	blocked map[*Value]bool   // made by an operator that is not supported, or after one
	lacks   []lack
	notes   []string
	weights int // bytes that folding weights added
}

// lack is an operator that is not supported with the nodes that want it.
type lack struct {
	op, reason string
	nodes      []string
}

func (w *inferrer) graph(g *Graph) error {
	nodes := g.Nodes
	g.Nodes = make([]*Node, 0, len(nodes))
	if err := w.list(nodes, g); err != nil {
		return err
	}
	for i, v := range g.Outputs {
		g.Outputs[i] = w.now(v)
	}
	return nil
}

func (n *Node) hasBodies() bool { return len(n.Bodies) > 0 }

// now is the value that stands for v.
func (w *inferrer) now(v *Value) *Value {
	for {
		s, ok := w.sub[v]
		if !ok {
			return v
		}
		v = s
	}
}

// list infers nodes and appends those that stay to g.
func (w *inferrer) list(nodes []*Node, g *Graph) error {
	for _, n := range nodes {
		blocked, reason := false, ""
		for i, v := range n.In {
			if v == nil {
				continue
			}
			n.In[i] = w.now(v)
			blocked = blocked || w.blocked[n.In[i]]
			if w.late[n.In[i]] && reason == "" {
				reason = fmt.Sprintf("it takes %s, which is made step by step", n.In[i].Name)
			}
		}
		if reason == "" && !blocked && n.hasBodies() && IsStepped(n.Op) {
			if nodes, out := w.unroll(n); nodes != nil {
				if err := w.list(nodes, g); err != nil {
					return fmt.Errorf("node %s (%s): %w", n.Name, n.Op, err)
				}
				for i, v := range n.Out {
					if v != nil && i < len(out) {
						w.sub[v] = w.now(out[i])
					}
				}
				continue
			}
		}
		if w.step && !blocked {
			if IsStepped(n.Op) {
				reason = "it is control flow, or works on sequences or optionals"
			}
			if reason != "" {
				w.keep(n, g, reason)
				continue
			}
		}
		if n.Op == flexAttention && !blocked {
			nodes, y, err := expandFlexAttention(n)
			if err != nil {
				return fmt.Errorf("node %s (%s): %w", n.Name, n.Op, err)
			}
			if err := w.list(nodes, g); err != nil {
				return err
			}
			w.sub[n.Out[0]] = w.now(y)
			continue
		}
		if n.Op == "If" {
			if err := w.branch(n, g, blocked); err != nil {
				return err
			}
			continue
		}
		g.Nodes = append(g.Nodes, n)
		if n.Op == OpFault {
			continue
		}
		if n.Op == OpGroup {
			if w.group(n); blocked {
				w.blockOutputs(n)
			}
			continue
		}
		if IsCollective(n.Op) {
			if blocked {
				w.blockOutputs(n)
			} else if err := w.collective(n); errors.Is(err, kernels.ErrUnsupported) {
				w.block(n, err.Error())
			} else if err != nil {
				return fmt.Errorf("node %s (%s): %w", n.Name, n.Op, err)
			}
			continue
		}
		if _, ok := kernels.Lookup(n.Op); !ok && !(staticShape(n) && !blocked) {
			reason := ""
			if IsStepped(n.Op) {
				reason = "control flow other than If runs only step by step from the host (npu run), it is never compiled"
			}
			w.block(n, reason)
			continue
		}
		if blocked {
			w.blockOutputs(n)
			continue
		}
		if err := w.node(n, g); err != nil {
			if w.step && errors.Is(err, kernels.ErrNotKnown) {
				g.Nodes = g.Nodes[:len(g.Nodes)-1]
				w.keep(n, g, err.Error())
				continue
			}
			if errors.Is(err, kernels.ErrUnsupported) {
				w.block(n, err.Error())
				continue
			}
			return fmt.Errorf("node %s (%s): %w", n.Name, n.Op, err)
		}
	}
	return nil
}

// node infers one operator whose inputs are known, and folds it where it can.
func (w *inferrer) node(n *Node, g *Graph) error {
	for i, v := range n.In {
		if v == nil || v.Known && v.Shape.Static() {
			continue
		}
		if why := w.why[v]; why != "" {
			return fmt.Errorf("input %d (%s): %s", i, v.Name, why)
		}
		return fmt.Errorf("input %d (%s) has shape %s, which depends on data: %w", i, v.Name, Type(v), kernels.ErrUnsupported)
	}
	if staticShape(n) && shapeOf(n) {
		g.Nodes = g.Nodes[:len(g.Nodes)-1]
		return nil
	}
	s := Spec(g, n)
	s.Out = make([]kernels.Desc, len(n.Out))
	if err := kernels.Infer(s); err != nil {
		return err
	}
	for i, v := range n.Out {
		if v == nil || i >= len(s.Out) {
			continue
		}
		v.DType, v.Shape, v.Known, v.Format = s.Out[i].DType, s.Out[i].Shape.Clone(), true, s.Out[i].Format
		if !v.Shape.Static() {
			continue
		}
		if b, err := v.Shape.Bytes(v.DType); err != nil || b > maxBytes {
			return fmt.Errorf("output %d would be %s, more than any device holds", i, Type(v))
		}
	}
	if fold(n, g) {
		g.Nodes = g.Nodes[:len(g.Nodes)-1]
		return nil
	}
	w.weight(n, g)
	if w.step {
		w.settled(n, g)
	}
	return nil
}

// dynamic collects the nodes whose result has a size that only running it tells.
func (w *inferrer) dynamic(g *Graph) {
	for _, n := range g.Nodes {
		if n.Late != "" {
			continue
		}
		if len(n.Out) > 0 && n.Out[0] != nil && w.blocked[n.Out[0]] {
			continue // it, or what it needs, is refused already
		}
		for _, b := range n.bodies() {
			w.dynamic(b)
		}
		for _, v := range n.Out {
			if v != nil && !w.blocked[v] && !(v.Known && v.Shape.Static()) {
				reason := fmt.Sprintf("the size of %s depends on data", v.Name)
				if w.why[v] != "" {
					reason = fmt.Sprintf("%s: %s", v.Name, w.why[v])
				}
				w.block(n, reason)
			}
		}
	}
}

func (w *inferrer) block(n *Node, reason string) {
	i := slices.IndexFunc(w.lacks, func(l lack) bool { return l.op == n.Op && l.reason == reason })
	if i < 0 {
		i = len(w.lacks)
		w.lacks = append(w.lacks, lack{op: n.Op, reason: reason})
	}
	w.lacks[i].nodes = append(w.lacks[i].nodes, n.Name)
	w.blockOutputs(n)
}

func (w *inferrer) blockOutputs(n *Node) {
	for _, v := range n.Out {
		if v != nil {
			w.blocked[v] = true
		}
	}
}

// missing is the error that names every unsupported operator.
func (w *inferrer) missing() error {
	if len(w.lacks) == 0 {
		return nil
	}
	parts := make([]string, len(w.lacks))
	for i, l := range w.lacks {
		names := l.nodes
		more := ""
		if len(names) > 8 {
			more = fmt.Sprintf(" and %d more", len(names)-8)
			names = names[:8]
		}
		parts[i] = fmt.Sprintf("operator %s (nodes %s%s)", l.op, strings.Join(names, ", "), more)
		if l.reason != "" {
			parts[i] += ": " + l.reason
		}
	}
	return problem.Failedf("%s: %w", strings.Join(parts, "; "), kernels.ErrUnsupported)
}
