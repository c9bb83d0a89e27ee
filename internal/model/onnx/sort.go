package onnx

import (
	"slices"
	"strings"

	"npu/internal/problem"
)

// sort puts nodes in execution order, keeping the file's order where it can (a heap is not needed: files are nearly
// always sorted). It finds cycles and values with two producers. Names that nothing here defines are left to the
// conversion, which knows the graphs around.
func (c *converter) sort(nodes []*rawNode, sc *scope) ([]*rawNode, error) {
	maker := make(map[string]int, len(nodes))
	for i, n := range nodes {
		for _, o := range n.out {
			if o == "" {
				continue
			}
			if j, ok := maker[o]; ok {
				return nil, problem.Damagedf("value %q%s is an output of two nodes, %s and %s", o, sc.place, nodes[j].title(), n.title())
			}
			maker[o] = i
		}
	}
	needs := make([][]int, len(nodes))
	sorted := true
	for i, n := range nodes {
		for _, name := range c.uses(n) {
			if j, ok := maker[name]; ok && sc.values[name] == nil {
				needs[i] = append(needs[i], j)
				sorted = sorted && j < i
			}
		}
	}
	if sorted {
		return nodes, nil
	}
	// Depth first with an explicit stack: a chain may be as long as the file.
	const (
		unseen = iota
		open
		done
	)
	state := make([]uint8, len(nodes))
	order := make([]*rawNode, 0, len(nodes))
	type frame struct{ node, next int }
	for root := range nodes {
		stack := []frame{}
		if state[root] == unseen {
			state[root] = open
			stack = append(stack, frame{root, 0})
		}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.next == len(needs[top.node]) {
				state[top.node] = done
				order = append(order, nodes[top.node])
				stack = stack[:len(stack)-1]
				continue
			}
			j := needs[top.node][top.next]
			top.next++
			switch state[j] {
			case unseen:
				state[j] = open
				stack = append(stack, frame{j, 0})
			case open:
				from := slices.IndexFunc(stack, func(f frame) bool { return f.node == j })
				var names []string
				for _, f := range stack[from:min(len(stack), from+10)] {
					names = append(names, nodes[f.node].title())
				}
				if len(stack) > from+10 {
					names = append(names, "...")
				}
				return nil, problem.Damagedf("cycle%s: each of these nodes needs the next, and the last the first: %s", sc.place, strings.Join(names, ", "))
			}
		}
	}
	return order, nil
}

// uses lists the names that a node needs: its inputs and what its branches take from outside.
func (c *converter) uses(n *rawNode) []string {
	used := n.in
	for _, a := range n.attrs {
		if a.graph != nil {
			used = append(used[:len(used):len(used)], c.freeNames(a.graph)...)
		}
	}
	return used
}

// freeNames lists what a graph uses and does not define, each once.
func (c *converter) freeNames(g *rawGraph) []string {
	if f, ok := c.free[g]; ok {
		return f
	}
	own := map[string]bool{"": true}
	for _, t := range g.initializers {
		own[t.name] = true
	}
	for _, v := range g.inputs {
		own[v.Name] = true
	}
	for _, n := range g.nodes {
		for _, o := range n.out {
			own[o] = true
		}
	}
	free := []string{}
	add := func(names []string) {
		for _, s := range names {
			if !own[s] {
				own[s] = true
				free = append(free, s)
			}
		}
	}
	for _, n := range g.nodes {
		add(c.uses(n))
	}
	for _, o := range g.outputs {
		add([]string{o.Name})
	}
	c.free[g] = free
	return free
}
