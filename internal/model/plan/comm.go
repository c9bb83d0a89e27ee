package plan

import "npu/internal/model/graph"

// collective compiles a node of communication. Its operands are brought into feature memory where they are not: inputs
// and outputs of the model may move, and other ranks hold the address of what they write.
func (c *compiler) collective(n *graph.Node) ([]Step, error) {
	x, err := graph.CollectiveOf(n)
	if err != nil {
		return nil, err
	}
	var before, after []Step
	var in, out []*storage
	for _, v := range n.In {
		src, err := c.at(v)
		if err != nil {
			return nil, err
		}
		in = append(in, src)
	}
	for i, v := range n.Out {
		to := c.values[v]
		work := to
		switch {
		case inPlace(n.Op) && c.last(n.In[i], in[i]):
			work = in[i]
		case to == nil:
			if work, err = c.at(v); err != nil {
				return nil, err
			}
		case to.region != Features:
			work = stage(to, v.Name)
		}
		if to == nil {
			c.values[v] = work
		}
		out = append(out, work)
	}
	for i, v := range n.In {
		to := in[i]
		switch {
		case inPlace(n.Op):
			to = out[i]
		case to.region != Features:
			to = stage(to, v.Name)
		}
		if to != in[i] {
			before = append(before, c.copyStep(n.Name+"/in", in[i], to))
			in[i] = to
		}
	}
	s := Step{Kind: Communicate, Name: n.Name, Op: n.Op, Origin: n.Origin, Workspace: absent, Comm: x}
	for i, v := range n.In {
		s.In, s.InDesc = append(s.In, Operand{c.buffer(in[i]), in[i].bytes}), append(s.InDesc, describe(v))
	}
	for i, v := range n.Out {
		s.Out, s.OutDesc = append(s.Out, Operand{c.buffer(out[i]), out[i].bytes}), append(s.OutDesc, describe(v))
	}
	c.step++
	for i, v := range n.Out {
		if to := c.values[v]; to != out[i] {
			after = append(after, c.copyStep(n.Name+"/out", out[i], to))
		}
	}
	return append(append(before, s), after...), nil
}

// inPlace says that a collective's result lies where its operand was.
func inPlace(op string) bool { return op == graph.AllReduce || op == graph.Broadcast }

// last says that the block of v is feature memory that nobody else reads, so that a result can take it.
func (c *compiler) last(v *graph.Value, s *storage) bool {
	return s.region == Features && !s.owned && c.uses[c.root(v)] == 1
}

// stage is a block of features as large as s.
func stage(s *storage, name string) *storage {
	return &storage{buffer: -1, bytes: s.bytes, name: name + "/staged"}
}

// count notes who reads the memory of each value, branches included.
func (c *compiler) count(g *graph.Graph) {
	for _, n := range g.Nodes {
		if !isView(n) || n.In[0].DType != n.Out[0].DType {
			for _, v := range n.In {
				if v != nil {
					c.uses[c.root(v)]++
				}
			}
		}
		if n.Op == graph.OpGroup {
			continue // In has what its body uses
		}
		for _, b := range n.Bodies {
			c.count(b)
		}
	}
	for _, v := range g.Outputs {
		c.uses[c.root(v)]++
	}
}
