package graph

import (
	"fmt"

	"npu/internal/tensor"
)

// OpGroup is one kernel of a compiled file, described by several operators: its arithmetic is the body named GroupBody,
// which uses values of the graph around it directly; In lists those, and Out takes the body's outputs by position.
// Types and shapes are settled when it is made. A group without a body has no known meaning: it can be timed, not
// computed. Attributes: "type" its type in the file, "blocks" its block dim (0: as many as it can use), "core" the
// core it runs on ("AICPU"; else what the operators want).
const (
	OpGroup   = "npu.Group"
	GroupBody = "body"
)

// group follows the values of a group that the walk replaced by others.
func (w *inferrer) group(n *Node) {
	body := n.Bodies[GroupBody]
	if body == nil {
		return
	}
	for _, m := range body.Nodes {
		for i, v := range m.In {
			if v != nil {
				m.In[i] = w.now(v)
			}
		}
	}
	for i, v := range body.Outputs {
		body.Outputs[i] = w.now(v)
	}
}

// group computes a group on the host.
func (e *evaluator) group(n *Node) ([]*tensor.Tensor, error) {
	body := n.Bodies[GroupBody]
	if body == nil {
		return nil, fmt.Errorf("%s has no known meaning: it can be timed, not computed", n.Attrs.Str("type", n.Op))
	}
	inner := &evaluator{values: e.values}
	if err := inner.graph(body); err != nil {
		return nil, err
	}
	return inner.outputs(body), nil
}
