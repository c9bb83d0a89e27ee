package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"npu/internal/model"
	"npu/internal/model/graph"
	"npu/internal/model/onnx"
	"npu/internal/problem"
	"npu/internal/tensor"
)

// Source is what the models are opened with.
type Source struct {
	A, B   string
	Shapes map[string]tensor.Shape
	Files  *model.Files
	Seed   uint64
}

// Run opens both models and compares them. The first takes shapes and files of the inputs; a compiled model has its
// shapes from its compiler, so it goes first. The other gets the same shapes and values, by name or by position.
func Run(s Source, o Options) (*Result, error) {
	a, b, inputs, notes, err := open(s)
	if err != nil {
		return nil, err
	}
	r, err := Models(a, b, inputs, o)
	if err != nil {
		return nil, err
	}
	r.Notes = append(notes, r.Notes...)
	return r, nil
}

// plain keeps the operators of the file as they are.
func plain() graph.Options { return graph.Options{Disable: graph.PassNames()} }

func open(s Source) (a, b *model.Model, inputs map[string]*tensor.Tensor, notes []string, err error) {
	first, second := s.A, s.B
	swapped := inputNames(first) != nil && inputNames(second) == nil
	if swapped {
		first, second = second, first
	}
	m, err := model.Open(first, model.Options{Shapes: s.Shapes, Files: s.Files, Passes: plain()})
	if err != nil {
		return nil, nil, nil, nil, err
	}
	given, err := m.Inputs(s.Files)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	shapes := map[string]tensor.Shape{}
	names := inputNames(second)
	for i, v := range m.Graph.Inputs {
		name := v.Name
		if len(names) == len(m.Graph.Inputs) && !slices.Contains(names, name) {
			name = names[i]
		}
		shapes[name] = v.Shape
	}
	other, err := model.Open(second, model.Options{Shapes: shapes, Passes: plain()})
	if err != nil {
		return nil, nil, nil, nil, err
	}
	for _, x := range []*model.Model{m, other} {
		if len(x.Timed) > 0 {
			return nil, nil, nil, nil, problem.Failedf("%s: no result can be computed: the meaning of %d operators is not known, first %s", x.Path, len(x.Timed), x.Timed[0])
		}
		notes = append(notes, x.Notes...)
		if x.Rest != nil && len(x.Graph.Nodes) == 0 {
			return nil, nil, nil, nil, problem.Failedf("%s: every node runs step by step, no layer can be compared", x.Path)
		}
		if x.Rest != nil {
			notes = append(notes, fmt.Sprintf("%s: the nodes that run step by step are not compared", x.Path))
		}
	}
	inputs, random, err := values(m, other, given, s.Seed)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	for i, n := range random {
		notes = slices.Insert(notes, i, fmt.Sprintf("input %s is random (seed %d)", n, s.Seed))
	}
	if swapped {
		m, other = other, m
	}
	return m, other, inputs, notes, nil
}

// inputNames are the inputs of an ONNX file; nil of any other.
func inputNames(path string) []string {
	m, err := onnx.Read(path)
	if err != nil {
		return nil
	}
	var out []string
	for _, v := range m.Inputs {
		out = append(out, v.Name)
	}
	return out
}

// values makes the inputs of both models, under the names of both.
func values(m, other *model.Model, given map[string]*tensor.Tensor, seed uint64) (map[string]*tensor.Tensor, []string, error) {
	if len(m.Graph.Inputs) != len(other.Graph.Inputs) {
		return nil, nil, problem.Usagef("%s has %d inputs, %s has %d: they are not the same network", m.Path, len(m.Graph.Inputs), other.Path, len(other.Graph.Inputs))
	}
	byName := map[string]*graph.Value{}
	for _, v := range other.Graph.Inputs {
		byName[v.Name] = v
	}
	out := map[string]*tensor.Tensor{}
	var random []string
	for i, v := range m.Graph.Inputs {
		t := given[v.Name]
		if t == nil {
			var err error
			if t, err = tensor.New(v.DType, v.Shape); err != nil {
				return nil, nil, err
			}
			if err := randomize(t, seed+uint64(i)); err != nil {
				return nil, nil, fmt.Errorf("input %q: %w", v.Name, err)
			}
			random = append(random, v.Name)
		}
		out[v.Name] = t
		w := byName[v.Name]
		if w == nil {
			w = other.Graph.Inputs[i]
		}
		if !sameElements(v.Shape, w.Shape) {
			return nil, nil, problem.Usagef("input %q is %v in %s and %v in %s: give a shape with --shape", v.Name, v.Shape, m.Path, w.Shape, other.Path)
		}
		if w.DType != v.DType || !w.Shape.Equal(v.Shape) {
			if w.Name == v.Name {
				return nil, nil, problem.Usagef("input %q is %s in %s and %s in %s", v.Name, graph.Type(v), m.Path, graph.Type(w), other.Path)
			}
			c, err := tensor.New(w.DType, w.Shape)
			if err != nil {
				return nil, nil, err
			}
			if err := overwrite(c, t); err != nil {
				return nil, nil, err
			}
			t = c
		}
		out[w.Name] = t
	}
	return out, random, nil
}

// randomize fills a tensor: floats in [-1, 1), integers 0 or 1, so that they are valid as most indices.
func randomize(t *tensor.Tensor, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	v := make([]float64, t.Shape.Count())
	for i := range v {
		v[i] = float64(float32(rng.Float64()*2 - 1))
		if !t.DType.Float() {
			v[i] = float64(rng.IntN(2))
		}
	}
	return tensor.EncodeFloats(t.Data, t.DType, 0, v)
}
