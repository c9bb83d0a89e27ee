// Package om reads and writes Ascend offline models (.om): the container with its header and partitions, the graph
// engine's protobuf messages, tasks, kernel stores and tensor tables; it converts the compiled graph of such a file
// to the model IR of package graph, and a graph of ours to such a file.
//
// It runs nothing and opens no device. What a compiled file no longer says (strides of a fused convolution, the order
// of fused operators) is reconstructed where the rest of the file determines it, and each such step is reported; an
// operator whose meaning stays unknown is converted to one that only takes time. The package owns no goroutine.
package om

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"npu/internal/problem"
)

// Model is a parsed file. Slices of bytes in it are the file's own.
type Model struct {
	Path   string // "" when parsed from memory
	Bytes  int
	Header Header
	// Groups are the models of the file: one, or the root and its statically compiled subgraphs.
	Groups []*Group
	// Nested are the models inside a flow model or a bundle.
	Nested []Nested
	// Problems are faults that do not keep the file from being read: offset and text.
	Problems []string
}

// Group is one model of a file: its partitions and what stands in them.
type Group struct {
	Name       string
	Partitions []Partition
	Def        *ModelDef // nil in files that have none
	Tasks      []Task
	TaskDef    TaskHeader
	Kernels    []Kernel // TBE_KERNELS
	AICPU      []Kernel // CUST_AICPU_KERNELS
	HostLibs   []HostLib
	Custom     []Kernel // CUSTOM_OPS
	IO         *InOut   // MODEL_INOUT_INFO; nil: not in the file
	Weights    []byte
	Tilings    int // entries of TILING_DATA
}

// Nested is a model inside another.
type Nested struct {
	Name, Type string // of the sub-model: "NPU", "HOST_CPU", "UDF"
	Bytes      int
	Model      *Model // nil where it is no offline model
}

// maxDepth bounds models inside models: a flow model holds plain ones.
const maxDepth = 2

// Read reads and checks a file. A missing, truncated, malformed, encrypted or foreign file is problem.Damaged.
func Read(path string) (*Model, error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, problem.Damagedf("%s: no such file", path)
	case err != nil:
		return nil, problem.Mark(problem.Damaged, err)
	case st.IsDir():
		return nil, problem.Damagedf("%s is a directory; name the .om file in it", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, syscall.EFBIG) || errors.Is(err, syscall.ENOMEM) {
			return nil, problem.Failedf("%s: %w", path, err)
		}
		return nil, problem.Mark(problem.Damaged, err)
	}
	m, err := Parse(b)
	if m != nil {
		m.Path = path
	}
	if err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Parse reads a model from memory and keeps b. With an error of class problem.Damaged the model holds what could be
// read, or is nil.
func Parse(b []byte) (*Model, error) {
	m, err := parse(b, 0)
	if err != nil && problem.ClassOf(err) != problem.Failed {
		return m, err
	}
	return m, problem.Mark(problem.Damaged, err)
}

func parse(b []byte, depth int) (*Model, error) {
	if err := foreign(b); err != nil {
		return nil, err
	}
	m := &Model{Bytes: len(b)}
	if bundle(b) {
		return m, m.bundle(b, depth)
	}
	if err := m.Header.read(b); err != nil {
		return nil, err
	}
	if err := m.Header.check(b); err != nil {
		return m, err
	}
	at := HeaderSize
	for i := range m.Header.groups() {
		g := &Group{}
		m.Groups = append(m.Groups, g)
		end, err := g.table(b, at, &m.Header, i)
		if err != nil {
			return m, err
		}
		at = end
	}
	if at != len(b) {
		return m, fmt.Errorf("offset %#x: %d bytes after the last partition", at, len(b)-at)
	}
	if m.Header.phone(m.Groups[0]) {
		return m, errors.New("this is a model for Kirin phones (HiAI), whose operators differ; only Ascend models are read")
	}
	for i, g := range m.Groups {
		if err := g.contents(b, m, i, depth); err != nil {
			return m, err
		}
	}
	return m, m.check()
}
