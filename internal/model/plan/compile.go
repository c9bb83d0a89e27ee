package plan

import (
	"fmt"

	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// storage is a block of memory that one or more values share: a value and its reshaped views, or the output of an If
// and the results of its branches.
type storage struct {
	buffer int // -1 until it is made
	region Region
	index  int
	bytes  int64
	name   string
	value  *tensor.Tensor // of a constant
	owned  bool           // input, output or constant: cannot become another output's block
}

type compiler struct {
	p       *Plan
	values  map[*graph.Value]*storage
	weights map[*tensor.Tensor]int // buffers of constants in their plain layout
	uses    map[*graph.Value]int   // readers of the memory of a value, by root
	step    int                    // running number of the next step
}

func (c *compiler) compile(g *graph.Graph) error {
	c.count(g)
	for i, v := range g.Inputs {
		n, err := v.Shape.Bytes(v.DType)
		if err != nil {
			return fmt.Errorf("input %s: %w", v.Name, err)
		}
		s := &storage{buffer: -1, region: Input, index: i, bytes: int64(n), name: v.Name, owned: true}
		c.values[v] = s
		c.p.Inputs = append(c.p.Inputs, Port{Name: v.Name, DType: v.DType, Shape: v.Shape, Buffer: c.buffer(s), Bytes: s.bytes})
	}
	outs := make([]*storage, len(g.Outputs))
	taken := map[*graph.Value]bool{}
	for i, v := range g.Outputs {
		n, err := v.Shape.Bytes(v.DType)
		if err != nil {
			return fmt.Errorf("output %s: %w", v.Name, err)
		}
		s := &storage{buffer: -1, region: Output, index: i, bytes: int64(n), name: v.Name, owned: true}
		outs[i] = s
		c.p.Outputs = append(c.p.Outputs, Port{Name: v.Name, DType: v.DType, Shape: v.Shape, Buffer: c.buffer(s), Bytes: s.bytes})
		// The block of an output is where its value is made, if nothing else claims that memory.
		if root := c.root(v); root.Producer != nil && c.values[root] == nil && !taken[root] {
			c.values[root] = s
			taken[root] = true
		}
	}
	steps, err := c.list(g)
	if err != nil {
		return err
	}
	for i, v := range g.Outputs {
		src, err := c.at(v)
		if err != nil {
			return err
		}
		if src != outs[i] {
			steps = append(steps, c.copyStep("copy to "+v.Name, src, outs[i]))
		}
	}
	c.p.Steps = steps
	markControl(steps)
	c.place()
	return nil
}

// root is the value whose memory v is a view of.
func (c *compiler) root(v *graph.Value) *graph.Value {
	for v.Producer != nil && isView(v.Producer) && v.Producer.In[0].DType == v.DType {
		v = v.Producer.In[0]
	}
	return v
}

// isView: the first output is the first input's memory under another shape.
func isView(n *graph.Node) bool {
	op, ok := kernels.Lookup(n.Op)
	return ok && op.View && (len(n.Out) == 1 || len(n.Out) > 1 && n.Out[1] == nil) && n.Out[0] != nil && len(n.In) > 0 && n.In[0] != nil
}

// at is the storage of a value, which is made if need be.
func (c *compiler) at(v *graph.Value) (*storage, error) {
	root := c.root(v)
	if s := c.values[root]; s != nil {
		return s, nil
	}
	n, err := root.Shape.Bytes(root.DType)
	if err != nil {
		return nil, fmt.Errorf("value %s: %w", root.Name, err)
	}
	s := &storage{buffer: -1, bytes: int64(n), name: root.Name}
	if root.Const != nil {
		s.region, s.value, s.owned = Weights, root.Const, true
	}
	c.values[root] = s
	return s, nil
}

// buffer numbers a storage, and extends its life to the present step.
func (c *compiler) buffer(s *storage) int {
	if s.buffer < 0 {
		s.buffer = len(c.p.Buffers)
		c.p.Buffers = append(c.p.Buffers, Buffer{Region: s.region, Index: s.index, Bytes: s.bytes, Name: s.name, first: c.step, last: c.step})
		if s.value != nil {
			c.p.Weights = append(c.p.Weights, Weight{Buffer: s.buffer, Source: s.value})
		}
	}
	b := &c.p.Buffers[s.buffer]
	b.first, b.last = min(b.first, c.step), max(b.last, c.step)
	return s.buffer
}

func (c *compiler) list(g *graph.Graph) ([]Step, error) {
	var steps []Step
	for _, n := range g.Nodes {
		s, err := c.node(g, n)
		if err != nil {
			return nil, fmt.Errorf("node %s (%s): %w", n.Name, n.Op, err)
		}
		steps = append(steps, s...)
	}
	return steps, nil
}

func (c *compiler) node(g *graph.Graph, n *graph.Node) ([]Step, error) {
	switch {
	case n.Op == "If":
		return c.branch(n)
	case graph.IsCollective(n.Op):
		return c.collective(n)
	case n.Op == graph.OpFault:
		s := Step{Name: n.Name, Op: n.Op, Kernel: faultKernel(n.Attrs.Str("reason", "unreachable")), Workspace: absent, Control: true}
		c.step++
		return []Step{s}, nil
	case isView(n) && n.In[0].DType == n.Out[0].DType:
		return nil, nil // the same memory
	}
	var k *kernels.Kernel
	var err error
	if n.Op == graph.OpGroup {
		k, err = groupKernel(n)
	} else {
		k, err = kernels.Compile(graph.Spec(g, n))
	}
	if err != nil {
		return nil, err
	}
	s := Step{Name: n.Name, Op: n.Op, Origin: n.Origin, Kernel: k, Workspace: absent}
	for i, v := range n.In {
		o, err := c.input(n, k, i, v)
		if err != nil {
			return nil, err
		}
		s.In = append(s.In, o)
		s.InDesc = append(s.InDesc, describe(v))
	}
	for _, v := range n.Out {
		s.OutDesc = append(s.OutDesc, describe(v))
		if v == nil {
			s.Out = append(s.Out, absent)
			continue
		}
		st, err := c.at(v)
		if err != nil {
			return nil, err
		}
		s.Out = append(s.Out, Operand{c.buffer(st), st.bytes})
	}
	if k.Workspace > 0 {
		w := &storage{buffer: -1, bytes: int64(k.Workspace), name: n.Name + " workspace"}
		s.Workspace = Operand{c.buffer(w), w.bytes}
	}
	c.step++
	return []Step{s}, nil
}

// describe is the type and shape of an operand; that of one that is left out is empty.
func describe(v *graph.Value) kernels.Desc {
	if v == nil {
		return kernels.Desc{}
	}
	return kernels.Desc{DType: v.DType, Shape: v.Shape, Format: v.Format}
}

// input is operand i of a node: packed weights where the kernel wants them so.
func (c *compiler) input(n *graph.Node, k *kernels.Kernel, i int, v *graph.Value) (Operand, error) {
	if v == nil {
		return absent, nil
	}
	if v.Const != nil {
		for _, w := range k.Weights {
			if w.Input != i {
				continue
			}
			b := len(c.p.Buffers)
			c.p.Buffers = append(c.p.Buffers, Buffer{Region: Weights, Bytes: int64(w.Bytes), Name: v.Name})
			c.p.Weights = append(c.p.Weights, Weight{Buffer: b, Source: v.Const, Pack: w.Pack})
			return Operand{b, int64(w.Bytes)}, nil
		}
		// One buffer for a constant, however many nodes use it.
		b, ok := c.weights[v.Const]
		if !ok {
			b = len(c.p.Buffers)
			c.p.Buffers = append(c.p.Buffers, Buffer{Region: Weights, Bytes: int64(len(v.Const.Data)), Name: v.Name})
			c.p.Weights = append(c.p.Weights, Weight{Buffer: b, Source: v.Const})
			c.weights[v.Const] = b
		}
		return Operand{b, int64(len(v.Const.Data))}, nil
	}
	st, err := c.at(v)
	if err != nil {
		return absent, err
	}
	return Operand{c.buffer(st), st.bytes}, nil
}

func (c *compiler) copyStep(name string, src, dst *storage) Step {
	s := Step{Kind: Copy, Name: name, Op: "Copy", Workspace: absent,
		In: []Operand{{c.buffer(src), src.bytes}}, Out: []Operand{{c.buffer(dst), dst.bytes}}}
	c.step++
	return s
}

// branch compiles an If: the condition becomes an index word, each branch leaves its results in the If's outputs.
func (c *compiler) branch(n *graph.Node) ([]Step, error) {
	cond := n.In[0]
	k, err := castToInt32(cond.Shape)
	if err != nil {
		return nil, err
	}
	in, err := c.input(n, k, 0, cond)
	if err != nil {
		return nil, err
	}
	word := &storage{buffer: -1, bytes: 4, name: n.Name + " index"}
	index := Step{Name: n.Name + " index", Op: "Cast", Kernel: k, Workspace: absent, In: []Operand{in}, Out: []Operand{{c.buffer(word), 4}}}
	c.step++
	s := Step{Kind: Branch, Name: n.Name, Op: n.Op, Workspace: absent, Cond: Operand{c.buffer(word), 4}}
	c.step++
	first := c.step
	if s.Then, err = c.body(n, n.Bodies["then_branch"]); err != nil {
		return nil, err
	}
	if s.Else, err = c.body(n, n.Bodies["else_branch"]); err != nil {
		return nil, err
	}
	// A result is alive from the first branch's begin: only one of them runs, but both have their place in the count.
	for _, v := range n.Out {
		if v == nil {
			continue
		}
		st, err := c.at(v)
		if err != nil {
			return nil, err
		}
		b := &c.p.Buffers[c.buffer(st)]
		b.first = min(b.first, first)
	}
	return []Step{index, s}, nil
}

// body compiles a branch. A value that the branch makes itself is made in the If's output block; anything else
// (constants, values from outside, one value for two outputs) is copied there.
func (c *compiler) body(n *graph.Node, g *graph.Graph) ([]Step, error) {
	inside := map[*graph.Value]bool{}
	for _, m := range g.Nodes {
		for _, v := range m.Out {
			if v != nil {
				inside[v] = true
			}
		}
	}
	direct := make([]bool, len(n.Out))
	for i, v := range n.Out {
		if v == nil || i >= len(g.Outputs) {
			continue
		}
		out, err := c.at(v)
		if err != nil {
			return nil, err
		}
		if r := c.root(g.Outputs[i]); inside[r] && c.values[r] == nil {
			c.values[r] = out
			direct[i] = true
		}
	}
	steps, err := c.list(g)
	if err != nil {
		return nil, err
	}
	for i, v := range n.Out {
		if v == nil || direct[i] || i >= len(g.Outputs) {
			continue
		}
		out, err := c.at(v)
		if err != nil {
			return nil, err
		}
		src, err := c.at(g.Outputs[i])
		if err != nil {
			return nil, err
		}
		steps = append(steps, c.copyStep("copy to "+v.Name, src, out))
	}
	return steps, nil
}

// markControl finds the steps that branch conditions depend on, from the last step backwards.
func markControl(steps []Step) {
	need := map[int]bool{}
	var walk func(steps []Step)
	collect := func(steps []Step) bool {
		found := false
		var visit func([]Step)
		visit = func(l []Step) {
			for i := range l {
				if l[i].Kind == Branch {
					need[l[i].Cond.Buffer] = true
					found = true
				}
				visit(l[i].Then)
				visit(l[i].Else)
			}
		}
		visit(steps)
		return found
	}
	walk = func(l []Step) {
		for i := len(l) - 1; i >= 0; i-- {
			s := &l[i]
			walk(s.Else)
			walk(s.Then)
			for _, o := range s.Out {
				if o.Buffer >= 0 && need[o.Buffer] {
					s.Control = true
				}
			}
			if s.Control {
				for _, in := range s.In {
					if in.Buffer >= 0 {
						need[in.Buffer] = true
					}
				}
			}
		}
	}
	if collect(steps) {
		walk(steps)
	}
}
