// Package kernels holds what runs on the simulated cores: for each operator its shape rule, the compiled form for
// fixed shapes (result, tiling, work account) and the arithmetic. A compiled Kernel is the counterpart of an AI core
// binary with static shapes.
//
// It is not a graph: it knows one operator at a time. It starts no goroutine except the helpers of Workers.
package kernels

import (
	"errors"
	"fmt"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// Desc describes one operand of an operator while it is compiled. A dimension of -1 is not known yet.
// The zero Desc (DType Undefined) stands for an optional operand that is left out.
type Desc struct {
	DType  tensor.DType
	Shape  tensor.Shape
	Format tensor.Format
	// Const is the operand's value where it is known at compile time (weights, axes, shapes).
	// The operator may keep a reference and must not change it.
	Const *tensor.Tensor
}

// Absent says that an optional operand was left out.
func (d Desc) Absent() bool { return d.DType == tensor.Undefined }

// Spec is one operator instance: type, attributes, operands. Op and Attrs have the meaning of the ONNX operator
// of that name and opset (domain ai.onnx), or of one of this package's fused operators (FusedConv, ...).
type Spec struct {
	Op    string
	Opset int
	Attrs Attrs
	In    []Desc
	Out   []Desc
}

// Input is operand i, or an absent Desc outside of the list.
func (s *Spec) Input(i int) Desc {
	if i >= 0 && i < len(s.In) {
		return s.In[i]
	}
	return Desc{}
}

// Kernel is an operator compiled for fixed shapes. It is immutable and may run on several streams at once.
type Kernel struct {
	// Type is the operator's name in the graph engine and in profiles (Conv2D, MatMulV2, Add).
	Type string
	// Core says which kind of core executes it; Blocks is the block dim it asks for at most.
	Core   cost.Core
	Blocks int
	// Workspace is the bytes of scratch memory a run needs.
	Workspace int
	// Work is what the cost model charges.
	Work cost.Work
	// Weights lists operands whose constant value is transformed once when the model is loaded.
	Weights []Weight
	// Run computes. It must not allocate in the steady state and must give the same bits for any number of workers.
	// An error is a fault of the core that ran it.
	Run func(x *Exec) error
}

// Weight is a constant operand in the layout that a kernel wants.
type Weight struct {
	Input int                   // operand number
	Bytes int                   // size after packing
	Pack  func(dst, src []byte) // src: the dense ND constant
}

// Exec is one execution: the operands' memory. Absent operands are nil.
type Exec struct {
	In, Out   [][]byte
	Workspace []byte
	Workers   *Workers

	at int // the block that a loop over the parts of one block is about
}

// Op is one row of the operator table.
type Op struct {
	Name string
	// Infer fills Out (type and shape) from In and Attrs. It gets len(Out) right for the outputs asked for. Where a
	// dimension depends on values that are not known it is -1.
	Infer func(s *Spec) error
	// Compile needs static shapes everywhere.
	Compile func(s *Spec) (*Kernel, error)
	// View says that the output is the first input's memory under another shape (Reshape, Squeeze, Identity).
	View bool
}

// ErrUnsupported is wrapped by errors that name an operator, or a form of it, which this package does not compute.
var ErrUnsupported = errors.New("not supported")

// Lookup finds an operator by its ONNX name.
func Lookup(name string) (*Op, bool) {
	o, ok := table[name]
	return o, ok
}

// Infer runs the operator's shape rule.
func Infer(s *Spec) error {
	o, ok := Lookup(s.Op)
	if !ok {
		return fmt.Errorf("operator %s: %w", s.Op, ErrUnsupported)
	}
	return o.Infer(s)
}

// Compile makes the kernel of an operator whose shapes are static.
func Compile(s *Spec) (*Kernel, error) {
	o, ok := Lookup(s.Op)
	if !ok {
		return nil, fmt.Errorf("operator %s: %w", s.Op, ErrUnsupported)
	}
	return o.Compile(s)
}
