// Package model opens offline models, loads them into the runtime and runs them. Formats and compilation live below
// it: onnx (file), graph (IR, shapes, passes), plan (memory, steps). A Model is a compiled file; a Session is a Model
// on a device, with its weights resident.
package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

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
	// Passes of the optimiser that are left out.
	Passes graph.Options
}

// Model is a compiled model for fixed shapes.
type Model struct {
	Name  string
	Path  string
	Graph *graph.Graph
	Plan  *plan.Plan
	Notes []string // what was assumed, for the user
}

// Open reads, shapes, optimises and compiles a model file. Errors carry their class (package problem).
func Open(path string, o Options) (*Model, error) {
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
	notes, err := graph.Bind(g, o.Shapes)
	if err != nil {
		return nil, at(path, err)
	}
	m.Notes = append(m.Notes, notes...)
	if notes, err = graph.Infer(g); err != nil {
		return nil, at(path, err)
	}
	m.Notes = append(m.Notes, notes...)
	if _, err = graph.Optimize(g, o.Passes); err != nil {
		return nil, at(path, err)
	}
	if m.Plan, err = plan.Compile(g); err != nil {
		return nil, at(path, problem.Mark(problem.Failed, err))
	}
	return m, nil
}

// at names the file in an error that does not do so yet, and keeps its class.
func at(path string, err error) error {
	if bytes.Contains([]byte(err.Error()), []byte(path)) {
		return err
	}
	return problem.Mark(problem.ClassOf(err), fmt.Errorf("%s: %w", path, err))
}

// IsONNX guesses from the first bytes whether a file may be an ONNX model: a protobuf message whose first field is
// one of ModelProto's.
func IsONNX(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, problem.Mark(problem.Damaged, err)
	}
	defer f.Close()
	head := make([]byte, 2)
	if _, err := io.ReadFull(f, head); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		return false, problem.Mark(problem.Damaged, fmt.Errorf("%s: %w", path, err))
	}
	return head[0] == 0x08 && head[1] < 0x80 && head[1] > 0 || head[0] == 0x12 || head[0] == 0x3a || head[0] == 0x42, nil
}
