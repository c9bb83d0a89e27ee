// Package model opens offline models, loads them into the runtime and runs them. Formats and compilation live below
// it: onnx (file), graph (IR, shapes, passes), plan (memory, steps). A Model is a compiled file; a Session is a Model
// on a device, with its weights resident.
package model

import (
	"bytes"
	"fmt"
	"maps"

	"npu/internal/model/graph"
	"npu/internal/model/onnx"
	"npu/internal/model/plan"
	"npu/internal/problem"
	"npu/internal/tensor"
)

// Options is what a model is opened with.
type Options struct {
	// Shapes of inputs by name: for dynamic dimensions, or another size of a static input.
	Shapes map[string]tensor.Shape
	// Files of inputs: the shapes that they state count where Shapes has none, and their names must be the model's.
	Files *Files
	// Passes of the optimiser that are left out.
	Passes graph.Options
}

// Model is a compiled model for fixed shapes.
type Model struct {
	Name  string
	Path  string
	Graph *graph.Graph
	Plan  *plan.Plan
	// Rest is what cannot be compiled beforehand (graph.Split) and runs step by step after the plan; nil: nothing. Its
	// outputs are then the model's.
	Rest  *graph.Graph
	Notes []string // what was assumed, for the user
	// Of offline models: the chip it was compiled for ("" where the file does not say it), and the operators whose
	// meaning is not known, with the reason. With any, the model is timed and gives no result.
	Soc      string
	SocGuess string // where the file does not say it: the only one its compiler made models for; or ""
	Timed    []string
}

// Open reads, shapes, optimises and compiles a model file. Errors carry their class (package problem).
func Open(path string, o Options) (*Model, error) {
	if offline(path) {
		return openOffline(path, o)
	}
	src, err := onnx.Read(path)
	if err != nil {
		return nil, err
	}
	return compile(path, src, o)
}

// OpenBytes is Open for a model in memory; name stands in messages. The bytes belong to the model from here on.
func OpenBytes(name string, b []byte, o Options) (*Model, error) {
	src, err := onnx.Parse(b, "")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return compile(name, src, o)
}

func compile(path string, src *onnx.Model, o Options) (*Model, error) {
	g, err := src.Graph()
	if err != nil {
		return nil, at(path, err)
	}
	m := &Model{Name: g.Name, Path: path, Graph: g}
	return m, m.lower(o)
}

// lower shapes, optimises and plans the graph as it was read.
func (m *Model) lower(o Options) error {
	path, g := m.Path, m.Graph
	shapes, notes, err := o.shapes(g)
	if err != nil {
		return at(path, err)
	}
	m.Notes = append(m.Notes, notes...)
	notes, err = graph.Bind(g, shapes)
	if err != nil {
		return at(path, err)
	}
	m.Notes = append(m.Notes, notes...)
	g.Step = true
	if notes, err = graph.Infer(g); err != nil {
		return at(path, err)
	}
	m.Notes = append(m.Notes, notes...)
	if m.split(); m.Rest != nil {
		o.Passes.CopyConstants = true // the rest may use them too
	}
	if _, err = graph.Optimize(g, o.Passes); err != nil {
		return at(path, err)
	}
	if m.Plan, err = plan.Compile(g); err != nil {
		return at(path, problem.Mark(problem.Failed, err))
	}
	return nil
}

// shapes joins the shapes that were asked for with those of the files. A static input keeps its shape: a file of
// another one is an error, reported where the file is read, not a wish to change the model. The size of a raw file gives
// the one dimension that is open besides a leading batch, which is 1 then.
func (o Options) shapes(g *graph.Graph) (out map[string]tensor.Shape, notes []string, err error) {
	out = maps.Clone(o.Shapes)
	if o.Files == nil {
		return out, nil, nil
	}
	var names []string
	for _, v := range g.Inputs {
		names = append(names, v.Name)
	}
	if err := o.Files.CheckNames("input", names); err != nil {
		return nil, nil, err
	}
	if out == nil {
		out = map[string]tensor.Shape{}
	}
	for _, v := range g.Inputs {
		if _, asked := out[v.Name]; asked || v.Kind != graph.Tensor || v.Known && v.Shape.Static() {
			continue
		}
		t := o.Files.tensors[v.Name]
		if t == nil && len(names) == 1 {
			t = o.Files.tensors[""]
		}
		if t != nil {
			out[v.Name] = t.Shape
			continue
		}
		if s := o.Files.rawShape(v, len(names) == 1); s != nil {
			out[v.Name] = s
			notes = append(notes, fmt.Sprintf("input %q: shape %v follows from the size of its file", v.Name, s))
		}
	}
	return out, notes, nil
}

// at names the file in an error that does not do so yet, and keeps its class.
func at(path string, err error) error {
	if bytes.Contains([]byte(err.Error()), []byte(path)) {
		return err
	}
	return problem.Mark(problem.ClassOf(err), fmt.Errorf("%s: %w", path, err))
}
