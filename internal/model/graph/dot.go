package graph

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WriteDOT writes the graph for Graphviz: a box an operator, an edge a tensor with its type, branches as clusters.
// Constants are left out but for their number in the box.
func WriteDOT(w io.Writer, g *Graph) error {
	b := bufio.NewWriter(w)
	d := &dotter{w: b, from: map[*Value]string{}}
	fmt.Fprintf(b, "digraph %s {\n  node [shape=box fontname=\"sans-serif\" fontsize=10];\n  edge [fontname=\"sans-serif\" fontsize=8];\n", quote(g.Name))
	d.graph(g, "  ")
	fmt.Fprintln(b, "}")
	return b.Flush()
}

type dotter struct {
	w    *bufio.Writer
	n    int
	from map[*Value]string // the box that makes a value
}

func (d *dotter) box(indent, style string, lines ...string) string {
	id := fmt.Sprintf("n%d", d.n)
	d.n++
	label := strings.Join(lines, "\n")
	fmt.Fprintf(d.w, "%s%s [label=%s%s];\n", indent, id, quote(label), style)
	return id
}

func (d *dotter) edge(indent string, v *Value, to string) {
	if from, ok := d.from[v]; ok {
		fmt.Fprintf(d.w, "%s%s -> %s [label=%s];\n", indent, from, to, quote(Type(v)))
	}
}

func (d *dotter) graph(g *Graph, indent string) {
	for _, v := range g.Inputs {
		d.from[v] = d.box(indent, " shape=ellipse", v.Name)
	}
	for _, n := range g.Nodes {
		consts := 0
		for _, v := range n.In {
			if v != nil && v.Const != nil {
				consts++
			}
		}
		lines := []string{n.Op}
		if n.Name != "" {
			lines = append(lines, n.Name)
		}
		if consts > 0 {
			lines = append(lines, fmt.Sprintf("%d constant(s)", consts))
		}
		id := d.box(indent, "", lines...)
		for _, v := range n.In {
			if v != nil {
				d.edge(indent, v, id)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(n.Bodies)) {
			fmt.Fprintf(d.w, "%ssubgraph cluster_%d {\n%s  label=%s;\n", indent, d.n, indent, quote(name+" of "+n.Name))
			d.graph(n.Bodies[name], indent+"  ")
			fmt.Fprintf(d.w, "%s}\n", indent)
		}
		for _, v := range n.Out {
			if v != nil {
				d.from[v] = id
			}
		}
	}
	for _, v := range g.Outputs {
		d.edge(indent, v, d.box(indent, " shape=ellipse", v.Name))
	}
}

// quote writes a DOT string.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
