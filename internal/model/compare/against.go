package compare

import (
	"fmt"
	"slices"
	"strings"

	"npu/internal/model"
	"npu/internal/problem"
	"npu/internal/tensor"
)

// Dump is a tensor that a device wrote: the first output of an operator.
type Dump struct {
	Node string // the operator's name, with / . \ and blanks as underscores
	File string
	Load func() (*tensor.Tensor, error)
}

// RunAgainst computes one model and holds what a device dumped against it, as Run does with a second model: each layer
// is judged on the inputs that the device had where they were dumped too. A stands for the model, B for the dump.
func RunAgainst(s Source, dumps []Dump, o Options) (*Result, error) {
	m, err := model.Open(s.A, model.Options{Shapes: s.Shapes, Files: s.Files, Passes: plain()})
	if err != nil {
		return nil, err
	}
	if len(m.Timed) > 0 {
		return nil, problem.Failedf("%s: no result can be computed: the meaning of %d operators is not known, first %s", m.Path, len(m.Timed), m.Timed[0])
	}
	given, err := m.Inputs(s.Files)
	if err != nil {
		return nil, err
	}
	inputs, random, err := values(m, m, given, s.Seed)
	if err != nil {
		return nil, err
	}
	r, err := against(m, inputs, dumps, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.A, err)
	}
	for _, n := range random {
		r.Notes = append(r.Notes, fmt.Sprintf("input %s is random (seed %d): give the one that the device had", n, s.Seed))
	}
	return r, nil
}

func against(m *model.Model, inputs map[string]*tensor.Tensor, dumps []Dump, o Options) (*Result, error) {
	s := flatten(m.Graph)
	if err := s.run(inputs, m.Graph.Name); err != nil {
		return nil, err
	}
	device := &side{graph: s.graph, nodes: s.nodes, half: s.half}
	c := &comparison{a: device, b: s, tol: o.Tolerance, res: &Result{}}
	byName := map[string]*layer{} // the last layer of a kernel: its output is what the device writes
	for _, l := range s.layers {
		for _, n := range append([]string{kernelName(l)}, l.origin...) {
			byName[plainName(n)] = l
		}
	}
	used := map[*layer]bool{}
	for _, d := range dumps {
		l := byName[d.Node]
		if l == nil || used[l] {
			c.res.OnlyB = append(c.res.OnlyB, d.Node)
			continue
		}
		t, err := d.Load()
		if err == nil && t.Shape.Count() != l.data.Shape.Count() {
			err = fmt.Errorf("%v, the model gives %v", t, l.data)
		}
		if err == nil {
			t, err = tensor.Convert(t, tensor.ND)
		}
		if err != nil {
			c.res.Notes = append(c.res.Notes, fmt.Sprintf("%s: %v", d.File, err))
			continue
		}
		used[l] = true
		x := &layer{node: l.node, name: d.File, data: &tensor.Tensor{DType: t.DType, Shape: l.data.Shape, Data: t.Data}}
		device.half = device.half || t.DType.Float() && t.DType.Bits() < 32
		device.layers = append(device.layers, x)
		c.pairs = append(c.pairs, pair{x, l})
	}
	if len(c.pairs) == 0 {
		return nil, problem.Failedf("none of the %d dumped tensors belongs to an operator of the model", len(dumps))
	}
	if err := c.force(inputs); err != nil {
		return nil, err
	}
	c.report()
	c.turn()
	return c.res, nil
}

// turn makes the model A and the device B.
func (c *comparison) turn() {
	r := c.res
	for i := range r.Layers {
		l := &r.Layers[i]
		l.A, l.B, l.device = l.B, l.A, true
	}
	r.OnlyA = nil
	for _, l := range c.b.layers {
		if !slices.ContainsFunc(c.pairs, func(p pair) bool { return kernelName(p.b) == kernelName(l) }) {
			r.OnlyA = append(r.OnlyA, l.name)
		}
	}
	r.Verdict = verdict(r)
}

// kernelName is the name of the operator of the file that a layer is part of.
func kernelName(l *layer) string { return strings.TrimSuffix(l.name, "#"+l.node.Op) }

// plainName writes a name as devices do in the names of files.
func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/.\ `, r) {
			return '_'
		}
		return r
	}, s)
}
