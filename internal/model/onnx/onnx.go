// Package onnx reads .onnx files: the protobuf wire form, the checks that a file must pass, and the conversion to the
// model IR of package graph. A small Builder writes such files.
//
// It is not a protobuf library and knows no operator: what an operator means is the business of package kernels.
// The file is read once into one slice; weights are slices of it, never copies, so that a model costs about its own
// size in memory. Passes that fold constants may therefore overwrite the file's bytes in place: a Model gives its
// weights away with the first Graph. It owns no goroutine.
package onnx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// Model is a parsed file. Everything but the graph itself is for reports.
type Model struct {
	Path            string // "" when parsed from memory
	Bytes           int
	IRVersion       int64
	Producer        string
	ProducerVersion string
	Domain          string
	Version         int64
	Doc             string
	GraphName       string
	Opsets          []Opset
	Metadata        []Property
	Inputs          []ValueInfo // without those that an initializer gives
	Outputs         []ValueInfo
	Initializers    int
	WeightBytes     int            // initializers and Constant nodes, subgraphs included
	Ops             map[string]int // nodes by operator, subgraphs and functions included
	Functions       []string       // model-local functions, domain.name

	graph     *rawGraph
	functions map[string]*rawFunction
}

// Opset is one imported operator set; domain "" is ai.onnx.
type Opset struct {
	Domain  string
	Version int64
}

// Property is one metadata entry.
type Property struct{ Key, Value string }

// ValueInfo is a declared input or output.
type ValueInfo struct {
	Name  string
	DType tensor.DType
	Kind  string // "tensor", or sequence, map, optional, sparse_tensor: not supported
	Known bool   // Dims was declared
	Dims  []Dim
}

// Dim is one declared dimension: Size, or -1 with the symbol that stands for it ("" where there is none).
type Dim struct {
	Size   int
	Symbol string
}

// Shape is the declared shape with -1 for symbols.
func (v ValueInfo) Shape() tensor.Shape {
	s := make(tensor.Shape, len(v.Dims))
	for i, d := range v.Dims {
		s[i] = d.Size
	}
	return s
}

// Opset is the version of ai.onnx that the model asks for; 1 for files older than operator sets.
func (m *Model) Opset() int {
	for _, o := range m.Opsets {
		if o.Domain == "" {
			return int(o.Version)
		}
	}
	return 1
}

// Read reads and checks a file. A missing, empty, truncated or malformed file is problem.Damaged.
func Read(path string) (*Model, error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, problem.Damagedf("%s: no such file", path)
	case err != nil:
		return nil, problem.Mark(problem.Damaged, err)
	case st.IsDir():
		return nil, problem.Damagedf("%s is a directory; name the .onnx file in it", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, syscall.EFBIG) || errors.Is(err, syscall.ENOMEM) {
			return nil, problem.Failedf("%s: %w", path, err)
		}
		return nil, problem.Mark(problem.Damaged, err)
	}
	m, err := Parse(b, filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m.Path = path
	return m, nil
}

// Parse reads a model from memory and keeps b. External data are looked for in dir; with dir "" a model that has any
// is problem.Damaged.
func Parse(b []byte, dir string) (*Model, error) {
	if len(b) == 0 {
		return nil, problem.Damagedf("empty file, no ONNX model")
	}
	d := &decoder{b: b, dir: dir}
	defer d.close()
	m, err := d.model()
	if errors.Is(err, kernels.ErrUnsupported) {
		return nil, err
	}
	if err != nil {
		return nil, problem.Mark(problem.Damaged, err)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// check looks at what makes a model: a graph, an operator set for it.
func (m *Model) check() error {
	if m.graph == nil {
		return problem.Damagedf("no graph in %d bytes (no ONNX model, or a truncated one)", m.Bytes)
	}
	if m.IRVersion < 1 || m.IRVersion > 1000 {
		return problem.Damagedf("ir_version is %d (no ONNX model, or a truncated one)", m.IRVersion)
	}
	if m.IRVersion >= 3 && len(m.Opsets) == 0 {
		return problem.Damagedf("no opset_import (truncated file?)")
	}
	for _, o := range m.Opsets {
		if o.Domain == "" && (o.Version < 1 || o.Version > 1000) {
			return problem.Damagedf("opset_import asks for version %d of ai.onnx", o.Version)
		}
	}
	return nil
}
