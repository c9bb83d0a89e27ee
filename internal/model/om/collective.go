package om

import (
	"fmt"

	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
)

// collectiveInts are the numbers among the attributes of operators of communication.
var collectiveInts = []string{"rank_size", "root_rank", "dest_rank", "src_rank", "sr_tag"}

// describeCollective writes the attributes of an operator of communication under the names of the graph engine.
func describeCollective(o *OpDef, n *graph.Node) {
	for _, name := range collectiveInts {
		if n.Attrs.Has(name) {
			o.Attrs.setInt(name, int64(n.Attrs.Int(name, 0)))
		}
	}
	o.Attrs.setStr("group", n.Attrs.Str("group", graph.WorldGroup))
	if r := n.Attrs.Str("reduction", ""); r != "" {
		o.Attrs.setStr("reduction", r)
	}
	if n.Op == graph.Receive && len(n.Out) == 1 {
		o.Attrs.setInts("shape", longs(n.Out[0].Shape))
		o.Attrs.setInt("dtype", int64(n.Out[0].DType.ACL()))
	}
}

// communicate converts an operator of communication: a node of the graph itself, since other ranks take part in it.
func (s *scope) communicate(o *OpDef) ([]val, error) {
	n := &graph.Node{Name: s.b.unique(o.Name), Op: o.Type, Origin: o.origins(), Attrs: kernels.Attrs{"group": o.Attrs.Str("group")}}
	if n.Attrs.Str("group", "") == "" {
		n.Attrs["group"] = graph.WorldGroup
	}
	if r := o.Attrs.Str("reduction"); r != "" {
		n.Attrs["reduction"] = r
	}
	for _, name := range collectiveInts {
		if o.Attrs.Has(name) {
			n.Attrs[name] = o.Attrs.Int(name, 0)
		}
	}
	made := make([]val, len(o.Out))
	for i := range o.Inputs {
		a := s.input(o, i)
		if a.v == nil && a.d == nil {
			continue // a control edge
		}
		if i >= len(o.In) {
			return nil, fmt.Errorf("input %d has no descriptor", i)
		}
		if o.Type != graph.AllReduce && o.Type != graph.Broadcast && !o.In[i].rowMajor() {
			return nil, fmt.Errorf("input %d in layout %s: %w", i, o.In[i].Layout, kernels.ErrUnsupported)
		}
		v, err := s.b.feed(s.b.g, o.Name+"/view", a, o.In[i])
		if err != nil {
			return nil, fmt.Errorf("input %d: %w", i, err)
		}
		n.In = append(n.In, v)
	}
	for i, d := range o.Out {
		dims, ok := d.dims()
		if t := dtypeOf(d.DType); !ok || t.Bits() == 0 || !shapeOf(dims).Static() {
			return nil, fmt.Errorf("output %d: %s has no size that is known", i, d)
		}
		v := &graph.Value{Name: outName(n.Name, i), DType: dtypeOf(d.DType), Shape: shapeOf(dims), Known: true, Producer: n}
		n.Out, made[i] = append(n.Out, v), val{v: v, d: d}
	}
	if _, err := graph.CollectiveOf(n); err != nil {
		return nil, err
	}
	s.b.g.Nodes = append(s.b.g.Nodes, n)
	return made, nil
}

// collective reads KernelHcclDef.
func (t *Task) collective(f *field) error {
	w, err := f.message(1)
	if err != nil {
		return err
	}
	t.OpIndex = max(t.OpIndex, 0)
	return w.each(func(x *field) error {
		switch x.num {
		case 8:
			return x.int(&t.OpIndex)
		case 9:
			return x.str(&t.Collective)
		}
		return nil
	})
}
