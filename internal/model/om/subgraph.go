package om

import (
	"fmt"
	"slices"

	"npu/internal/model/graph"
)

// branching says that an operator decides on the device what runs after it. Its arms write the same memory, which a
// dense graph does not show.
func branching(t string) bool {
	switch t {
	case "LabelSwitchByIndex", "LabelSwitch", "StreamSwitch", "Switch", "RefSwitch", "LoopCond", "Enter", "RefEnter", "NextIteration", "RefNextIteration":
		return true
	}
	return false
}

// wanted leaves out operators that no output depends on: those of other gears.
func (b *builder) wanted(def *GraphDef, ops []*OpDef) []*OpDef {
	net := netOutput(def)
	if net == nil {
		return ops
	}
	byName := map[string]*OpDef{}
	for _, o := range ops {
		byName[o.Name] = o
	}
	live := map[*OpDef]bool{net: true}
	stack := []*OpDef{net}
	for _, o := range ops {
		if b.gear < 0 && graph.IsCollective(o.Type) { // other ranks wait for it
			live[o] = true
			stack = append(stack, o)
		}
	}
	for len(stack) > 0 {
		o := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		arm := 0
		for _, in := range o.Inputs {
			name, n, ok := source(in)
			if !ok || n < 0 {
				continue
			}
			take := b.gear < 0 || o.Type != "Merge" && o.Type != "RefMerge" || arm == b.gear
			arm++
			if src := byName[name]; take && src != nil && !live[src] {
				live[src] = true
				stack = append(stack, src)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(ops), func(o *OpDef) bool { return !live[o] && !isData(o) })
}

// merge takes the branch of the chosen gear.
func (s *scope) merge(o *OpDef) []val {
	out := make([]val, len(o.Out))
	var arms []val
	for i := range o.Inputs {
		if _, n, ok := source(o.Inputs[i]); ok && n >= 0 {
			arms = append(arms, s.input(o, i))
		}
	}
	if s.b.gear < len(arms) && len(out) > 0 {
		out[0] = arms[s.b.gear]
		out[0].loose = true
	}
	return out
}

// call converts a subgraph in the place of the operator that calls it.
func (s *scope) call(o *OpDef, name string) ([]val, error) {
	def, grp := s.b.graphs[name], s.grp
	for _, g := range s.b.m.Groups[1:] { // a subgraph that was compiled as a model of its own
		if g.Def.Graphs[0].Name == name {
			def, grp = g.Def.Graphs[0], g
		}
	}
	if def == nil {
		return nil, fmt.Errorf("its subgraph %q is not in the file", name)
	}
	args := map[*OpDef]val{}
	for i, d := range dataOps(def) {
		at := int(d.Attrs.Int("_parent_node_index", d.Attrs.Int("index", int64(i))))
		a := s.input(o, at)
		if at < 0 || a.v == nil && a.d == nil {
			return nil, fmt.Errorf("input %q of its subgraph is connected to nothing", d.Name)
		}
		args[d] = a
	}
	inner, err := s.b.graph(def, grp, args)
	if err != nil {
		return nil, fmt.Errorf("subgraph %q: %w", name, err)
	}
	out := make([]val, len(o.Out))
	net := netOutput(def)
	for i, v := range inner {
		at := i
		if net != nil && i < len(net.In) {
			at = int(net.In[i].Attrs.Int("_parent_node_index", int64(i)))
		}
		if at >= 0 && at < len(out) {
			out[at] = v
			if s.b.gear >= 0 {
				out[at].loose = true
			}
		}
	}
	return out, nil
}
