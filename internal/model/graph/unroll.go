package graph

import (
	"fmt"
	"maps"
	"slices"

	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// A loop that turns a known number of times becomes that many copies of its body, so that it is compiled and sunk like
// the rest, up to maxTurns turns and maxUnrolled nodes; a longer one is stepped.
const (
	maxTurns    = 64
	maxUnrolled = 2048
)

// unroll gives the nodes that stand for a Loop or Scan and what stands for its outputs; nil where it stays a loop.
func (w *inferrer) unroll(n *Node) ([]*Node, []*Value) {
	b := n.Bodies["body"]
	if b == nil || len(n.In) == 0 || slices.ContainsFunc(b.Nodes, func(m *Node) bool { return m.hasBodies() || IsStepped(m.Op) }) {
		return nil, nil
	}
	x := &unroller{expander: expander{of: n}, body: b, inf: w}
	switch n.Op {
	case "Loop":
		return x.loop()
	case "Scan":
		return x.scan()
	}
	return nil, nil
}

// unroller copies a body.
type unroller struct {
	expander
	body *Graph
	inf  *inferrer
}

// fits says whether so many turns may be copied.
func (x *unroller) fits(turns int) bool {
	return turns >= 1 && turns <= maxTurns && turns*(len(x.body.Nodes)+1) <= maxUnrolled
}

// turn appends a copy of the body for the given inputs and returns its outputs.
func (x *unroller) turn(k int, in []*Value) []*Value {
	made := map[*Value]*Value{}
	for i, v := range x.body.Inputs {
		made[v] = in[i]
	}
	now := func(v *Value) *Value {
		if v == nil {
			return nil
		}
		if c, ok := made[v]; ok {
			return c
		}
		return x.inf.now(v)
	}
	for _, m := range x.body.Nodes {
		c := &Node{Name: fmt.Sprintf("%s/%d/%s", x.of.Name, k, m.Name), Op: m.Op, Attrs: maps.Clone(m.Attrs), Origin: m.Origin}
		for _, v := range m.In {
			c.In = append(c.In, now(v))
		}
		for _, v := range m.Out {
			if v == nil {
				c.Out = append(c.Out, nil)
				continue
			}
			o := &Value{Name: fmt.Sprintf("%s/%d", v.Name, k), Kind: v.Kind, Producer: c}
			made[v] = o
			c.Out = append(c.Out, o)
		}
		x.nodes = append(x.nodes, c)
	}
	out := make([]*Value, len(x.body.Outputs))
	for i, v := range x.body.Outputs {
		out[i] = now(v)
	}
	return out
}

// join puts rows beside each other along a new axis.
func (x *unroller) join(rows []*Value, axis int) *Value {
	parts := make([]*Value, len(rows))
	for i, r := range rows {
		parts[i] = x.add("Unsqueeze", kernels.Attrs{"axes": []int64{int64(axis)}}, r)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return x.add("Concat", kernels.Attrs{"axis": int64(axis)}, parts...)
}

// constantNumber is the value of a constant integer.
func constantNumber(v *Value) (int, bool) {
	if v == nil || v.Const == nil || (v.DType != tensor.Int64 && v.DType != tensor.Int32) {
		return 0, false
	}
	list, err := v.Desc().ConstInts()
	if err != nil || len(list) != 1 {
		return 0, false
	}
	return list[0], true
}

// always says that a condition is constant and true, or what the body was given.
func always(v, given *Value) bool {
	for v != nil && v != given && v.Const == nil {
		n := v.Producer
		if n == nil || n.Op != "Identity" && n.Op != "Cast" || len(n.In) != 1 {
			return false
		}
		v = n.In[0]
	}
	return v == given || v != nil && v.DType == tensor.Bool && len(v.Const.Data) == 1 && v.Const.Data[0] != 0
}

func (x *unroller) loop() ([]*Node, []*Value) {
	n, b := x.of, x.body
	if len(n.In) < 2 || len(b.Inputs) != len(n.In) || len(b.Outputs) < len(n.In)-1 || slices.Contains(n.In[2:], nil) {
		return nil, nil
	}
	turns, ok := constantNumber(n.In[0])
	if !ok || !x.fits(turns) || n.In[1] != nil && !always(n.In[1], nil) || !always(b.Outputs[0], b.Inputs[1]) {
		return nil, nil
	}
	states := len(n.In) - 2
	state := slices.Clone(n.In[2:])
	rows := make([][]*Value, len(b.Outputs)-1-states)
	yes := constant(n.Name+"/condition", &tensor.Tensor{DType: tensor.Bool, Data: []byte{1}})
	for k := range turns {
		number := constant(fmt.Sprintf("%s/%d/turn", n.Name, k), tensor.ScalarInt64(int64(k)))
		out := x.turn(k, append([]*Value{number, yes}, state...))
		copy(state, out[1:1+states])
		for j := range rows {
			rows[j] = append(rows[j], out[1+states+j])
		}
	}
	for _, r := range rows {
		state = append(state, x.join(r, 0))
	}
	return x.nodes, state
}

func (x *unroller) scan() ([]*Node, []*Value) {
	n, b := x.of, x.body
	scans := n.Attrs.Int("num_scan_inputs", 0)
	states := len(n.In) - scans
	if x.inf.opset < 9 || scans < 1 || states < 0 || len(b.Inputs) != len(n.In) || len(b.Outputs) < states || slices.Contains(n.In, nil) {
		return nil, nil
	}
	at := func(name string, i int) int {
		if list := n.Attrs.Ints(name); i < len(list) {
			return list[i]
		}
		return 0
	}
	turns := -1
	for i, v := range n.In[states:] {
		a := at("scan_input_axes", i)
		if a < 0 {
			a += len(v.Shape)
		}
		if !v.Known || a < 0 || a >= len(v.Shape) || turns >= 0 && v.Shape[a] != turns {
			return nil, nil
		}
		turns = v.Shape[a]
	}
	if !x.fits(turns) {
		return nil, nil
	}
	state := slices.Clone(n.In[:states])
	rows := make([][]*Value, len(b.Outputs)-states)
	for k := range turns {
		in := slices.Clone(state)
		for i, v := range n.In[states:] {
			t := k
			if at("scan_input_directions", i) != 0 {
				t = turns - 1 - k
			}
			place := constant(fmt.Sprintf("%s/%d/place", n.Name, k), tensor.ScalarInt64(int64(t)))
			in = append(in, x.add("Gather", kernels.Attrs{"axis": int64(at("scan_input_axes", i))}, v, place))
		}
		out := x.turn(k, in)
		copy(state, out[:states])
		for j := range rows {
			rows[j] = append(rows[j], out[states+j])
		}
	}
	for j, r := range rows {
		if at("scan_output_directions", j) != 0 {
			slices.Reverse(r)
		}
		state = append(state, x.join(r, at("scan_output_axes", j)))
	}
	return x.nodes, state
}
