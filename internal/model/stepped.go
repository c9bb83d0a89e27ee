package model

import (
	"fmt"
	"slices"
	"strings"

	"npu/internal/model/graph"
	"npu/internal/model/plan"
	"npu/internal/model/step"
	"npu/internal/problem"
	"npu/internal/runtime"
	"npu/internal/tensor"
)

// split takes the nodes that cannot be compiled out of the graph, and says which and why.
func (m *Model) split() {
	m.Rest = graph.Split(m.Graph)
	if m.Rest == nil {
		return
	}
	total, late, first := len(m.Graph.Nodes)+len(m.Rest.Nodes), 0, []string{}
	for _, n := range m.Rest.Nodes {
		if late++; n.Late != "" && len(first) < 3 && !strings.HasPrefix(n.Late, "it takes") {
			first = append(first, fmt.Sprintf("%s (%s): %s", n.Name, n.Op, n.Late))
		}
	}
	if late > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("%d of %d nodes run step by step from the host in both modes: %s", late, total, strings.Join(first, "; ")))
	}
}

// stepped is the stepped part of a loaded model.
type stepped struct {
	machine *step.Machine
	inputs  map[string]*step.Item // those that are no tensors
	results []*step.Item
}

// loadStepped prepares the stepped part, if there is one.
func (s *Session) loadStepped() {
	if s.m.Rest != nil {
		s.stepped = &stepped{machine: step.New(s.th, s.stream, s.m.Rest), inputs: map[string]*step.Item{}}
	}
}

// setData gives an input that is no tensor.
func (s *Session) setData(name string, d *graph.Data) {
	x := s.stepped
	x.machine.Release(x.inputs[name])
	x.inputs[name] = x.machine.FromHost(d)
}

// step runs the stepped part behind the compiled one. The results of the last execution give way to the new ones.
func (s *Session) step() error {
	x := s.stepped
	var in, mine []*step.Item
	borrow := func(at runtime.Ptr, p plan.Port) {
		it := x.machine.Borrow(at, p.DType, p.Shape)
		in, mine = append(in, it), append(mine, it)
	}
	defer func() {
		for _, it := range mine {
			x.machine.Release(it)
		}
	}()
	p := s.m.Plan
	for i, o := range p.Outputs {
		borrow(s.outputs[i], o)
	}
	for _, v := range s.m.Rest.Inputs[len(p.Outputs):] {
		if v.Kind != graph.Tensor {
			in = append(in, x.inputs[v.Name])
			continue
		}
		for i, o := range p.Inputs {
			if o.Name == v.Name {
				borrow(s.inputs[i], o)
			}
		}
	}
	for _, it := range x.results {
		x.machine.Release(it)
	}
	var err error
	x.results, err = x.machine.Run(in)
	return err
}

// closeStepped gives up what the stepped part holds on the device.
func (s *Session) closeStepped() error {
	x := s.stepped
	for _, it := range x.results {
		x.machine.Release(it)
	}
	for _, it := range x.inputs {
		x.machine.Release(it)
	}
	return x.machine.Close()
}

// Results reads the outputs of a stepped model, of any kind.
func (s *Session) Results() ([]*graph.Data, error) {
	var out []*graph.Data
	for _, it := range s.stepped.results {
		d, err := s.stepped.machine.ToHost(it)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// flatten lists the tensors of a value with their names: an element of a sequence is NAME[i], an empty optional nothing.
func flatten(name string, d *graph.Data, add func(string, *tensor.Tensor)) {
	switch {
	case d == nil:
	case d.Kind == graph.Sequence:
		for i, e := range d.List {
			flatten(fmt.Sprintf("%s[%d]", name, i), e, add)
		}
	case d.Kind == graph.Optional:
		flatten(name, d.Held, add)
	default:
		add(name, d.Tensor)
	}
}

// otherInputs are the inputs that are no tensors.
func (m *Model) otherInputs() []*graph.Value {
	if m.Rest == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.Rest.Inputs), func(v *graph.Value) bool { return v.Kind == graph.Tensor })
}

// data are the inputs that are no tensors: as given, from files, or an empty optional.
func (m *Model) data(given map[string]*graph.Data) (map[string]*graph.Data, error) {
	out := map[string]*graph.Data{}
	for _, v := range m.otherInputs() {
		switch d := given[v.Name]; {
		case d != nil:
			out[v.Name] = d
		case v.Kind == graph.Optional:
			out[v.Name] = &graph.Data{Kind: graph.Optional}
		default:
			return nil, problem.Usagef("input %q is a sequence: give its elements, in order, as -i '%s[0]=FILE.npy' and so on", v.Name, v.Name)
		}
	}
	return out, nil
}

// Lists are the inputs of a model that are no tensors, from the files that are named for them.
func (m *Model) Lists(f *Files) map[string]*graph.Data {
	out := map[string]*graph.Data{}
	for _, v := range m.otherInputs() {
		var list []*graph.Data
		for {
			t := f.tensors[fmt.Sprintf("%s[%d]", v.Name, len(list))]
			if t == nil {
				break
			}
			list = append(list, &graph.Data{Tensor: t})
		}
		switch t := f.tensors[v.Name]; {
		case v.Kind == graph.Sequence && list != nil:
			out[v.Name] = &graph.Data{Kind: graph.Sequence, List: list}
		case v.Kind == graph.Optional && list != nil:
			out[v.Name] = &graph.Data{Kind: graph.Optional, Held: &graph.Data{Kind: graph.Sequence, List: list}}
		case v.Kind == graph.Optional && t != nil:
			out[v.Name] = &graph.Data{Kind: graph.Optional, Held: &graph.Data{Tensor: t}}
		}
	}
	return out
}

// expectedLate is Expected for outputs whose shapes only the run tells: files must state theirs.
func (m *Model) expectedLate(f *Files) (map[string]*tensor.Tensor, error) {
	out := map[string]*tensor.Tensor{}
	for name, t := range f.tensors {
		if name == "" {
			if len(m.Rest.Outputs) != 1 {
				return nil, f.CheckNames("output", names(m.Rest.Outputs))
			}
			name = m.Rest.Outputs[0].Name
		}
		base, _, _ := strings.Cut(name, "[")
		if !slices.ContainsFunc(m.Rest.Outputs, func(v *graph.Value) bool { return v.Name == name || v.Name == base }) {
			return nil, f.CheckNames("output", names(m.Rest.Outputs))
		}
		out[name] = t
	}
	for name, path := range f.raw {
		return nil, problem.Usagef("output %q: its shape is known only when the model has run: give %s as .npy", name, path)
	}
	return out, nil
}

func names(list []*graph.Value) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.Name
	}
	return out
}
