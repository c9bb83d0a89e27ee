package onnx

import (
	"fmt"

	"npu/internal/model/graph"
	"npu/internal/problem"
)

// call inlines a model-local function: its nodes see the call's inputs under the names of the function, and their
// own names get the call's name as a prefix.
func (c *converter) call(f *rawFunction, n *rawNode, sc *scope, out *graph.Graph) error {
	if c.calls++; c.calls > maxDepth {
		return problem.Damagedf("node %s: function %s is inside itself, or %d functions are inside each other", n.title(), f.key, maxDepth)
	}
	defer func() { c.calls-- }()
	if f.opset != 0 && f.opset != out.Opset {
		return unsupportedf("node %s: function %s is written for opset %d of ai.onnx, the model for %d", n.title(), f.key, f.opset, out.Opset)
	}
	if len(n.in) > len(f.in) || len(n.out) > len(f.out) {
		return problem.Damagedf("node %s calls function %s with %d inputs and %d outputs, it has %d and %d", n.title(), f.key, len(n.in), len(n.out), len(f.in), len(f.out))
	}
	inner := &scope{prefix: sc.prefix + n.title() + "/", place: fmt.Sprintf(" in function %s (node %s)", f.key, n.title()), attrs: map[string]rawAttr{}}
	for i, name := range n.in {
		if name == "" {
			continue
		}
		v := sc.find(name)
		if v == nil {
			return problem.Damagedf("node %s uses value %q, which nothing defines%s", n.title(), name, sc.place)
		}
		if err := inner.define(v, f.in[i]); err != nil {
			return err
		}
	}
	for _, a := range f.defaults {
		inner.attrs[a.name] = a
	}
	for _, a := range n.attrs {
		a, ok := sc.resolve(a)
		if ok && a.graph != nil {
			return unsupportedf("node %s: function %s takes a graph as attribute %s", n.title(), f.key, a.name)
		}
		if ok {
			inner.attrs[a.name] = a
		}
	}
	if err := c.list(f.nodes, inner, out); err != nil {
		return err
	}
	for i, name := range n.out {
		if name == "" {
			continue
		}
		v := inner.find(f.out[i])
		if v == nil {
			return problem.Damagedf("function %s: output %q: no node makes it", f.key, f.out[i])
		}
		if err := sc.define(v, name); err != nil {
			return fmt.Errorf("node %s: %w", n.title(), err)
		}
		// The caller's name is the one that people know, unless the value came from outside.
		if v.Producer != nil && !passed(n, sc, v) {
			v.Name = sc.prefix + name
		}
	}
	return nil
}

// passed says that v is one of the call's inputs.
func passed(n *rawNode, sc *scope, v *graph.Value) bool {
	for _, name := range n.in {
		if name != "" && sc.find(name) == v {
			return true
		}
	}
	return false
}
