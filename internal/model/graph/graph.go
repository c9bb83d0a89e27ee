// Package graph is the model IR: values and operator nodes, shape inference with constant propagation, and the
// passes that run before a model is compiled. It knows no file format and no runtime, and owns no goroutine.
//
// A graph goes Bind, Infer, Optimize; each keeps it valid for Check. Constants belong to the graph: passes may change
// the bytes of one that has a single use.
package graph

import (
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// Graph is a list of nodes in execution order (topological, checked by Check). A subgraph (a branch of If) may use
// values of the graphs around it.
type Graph struct {
	Name    string
	Opset   int // version of ai.onnx that the operators follow
	Inputs  []*Value
	Outputs []*Value
	Nodes   []*Node
	// Asked says that Bind got shapes from the user, so that shapes that do not fit are his error, not the file's.
	Asked bool
	// Step lets Infer keep nodes that cannot be compiled because their shapes depend on data: they are marked Late.
	Step bool
}

// Kind is what a value is.
type Kind uint8

// Kinds. A sequence is a list of tensors, an optional holds a tensor or a sequence, or nothing. Only stepped nodes have
// to do with them.
const (
	Tensor Kind = iota
	Sequence
	Optional
)

func (k Kind) String() string { return [...]string{"tensor", "sequence", "optional"}[k%3] }

// Value is a tensor that a node or the outside makes. A constant has Const set and no Producer.
type Value struct {
	Name     string
	Kind     Kind
	DType    tensor.DType
	Shape    tensor.Shape // nil with Rank unknown: see Known
	Known    bool         // Shape (possibly with -1 dimensions) is known
	Symbols  []string     // names of the -1 dimensions of an input, "" where there is none; nil: no names
	Format   tensor.Format
	Const    *tensor.Tensor
	Producer *Node
}

// Node is one operator. In has nil where an optional input is left out; Out has nil where an optional output is not
// wanted.
type Node struct {
	Name  string
	Op    string // ONNX operator name, or a fused operator of package kernels
	In    []*Value
	Out   []*Value
	Attrs kernels.Attrs
	// Bodies are the subgraphs of control flow by attribute name (then_branch, else_branch, body).
	Bodies map[string]*Graph
	// Late says why the node runs step by step from the host, see Split: what it makes, or whether it runs at all, is
	// known only while it runs. Empty: it is compiled with the rest.
	Late string
	// Origin names the nodes of the file that went into this one, first the one that gives it its name.
	Origin []string
}
