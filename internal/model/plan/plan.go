// Package plan compiles an optimised graph with static shapes into what a device executes: a list of steps (kernel
// launches, copies, switches), and the place of every tensor in device memory. It knows no runtime: package model
// loads a Plan eagerly or sunk, and both run the same steps.
package plan

import (
	"fmt"

	"npu/internal/model/graph"
	"npu/internal/sim/cost"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// Region is a part of device memory with its own rule.
type Region uint8

// Regions. Weights stay resident; Features are reused between steps; each input and output has a block of its own,
// so that the caller's address can take its place.
const (
	Features Region = iota
	Weights
	Input
	Output
)

// Buffer is a block of device memory. Offset counts from the region's start; for Input and Output it is 0 and Index
// tells which one.
type Buffer struct {
	Region Region
	Index  int
	Offset int64
	Bytes  int64 // what the tensor needs, without padding
	Name   string
	first  int // steps between which it is alive
	last   int
}

// Operand is a step's view of a buffer; Buffer is -1 where an optional operand is left out.
type Operand struct {
	Buffer int
	Bytes  int64
}

// absent is an operand that is left out.
var absent = Operand{Buffer: -1}

// StepKind is what a step does.
type StepKind uint8

// Kinds of steps.
const (
	Launch      StepKind = iota // run Kernel
	Copy                        // In[0] to Out[0]
	Branch                      // run Then if the int32 word at Cond is not 0, else Else
	Communicate                 // Comm, with the other ranks
)

// Step is one task, or a branch of tasks.
type Step struct {
	Kind      StepKind
	Name      string // node's name
	Op        string // type in the file
	Origin    []string
	Kernel    *kernels.Kernel
	In, Out   []Operand
	InDesc    []kernels.Desc // types and shapes of In and Out, for those who look at memory; may be nil
	OutDesc   []kernels.Desc
	Workspace Operand
	// Control marks steps that a branch condition depends on: they compute even where only time is wanted.
	Control    bool
	Cond       Operand
	Then, Else []Step
	// Comm is what a step of communication does. Its operands lie in Features: other ranks write there too. Those that
	// keep the shape, all-reduce and broadcast, work in place: In and Out are the same.
	Comm *graph.Collective
}

// Weight is a resident buffer and how it is filled.
type Weight struct {
	Buffer int
	Source *tensor.Tensor
	Pack   func(dst, src []byte) // nil: copy
}

// Port is an input or output of the model.
type Port struct {
	Name   string
	DType  tensor.DType
	Shape  tensor.Shape
	Buffer int
	Bytes  int64
}

// Plan is a compiled model.
type Plan struct {
	Name            string
	Inputs, Outputs []Port
	Buffers         []Buffer
	Weights         []Weight
	Steps           []Step
	Memory          Memory
}

// Memory is the plan's need in bytes. LowerBound is what the features need at the busiest step if nothing were lost
// to fragmentation.
type Memory struct {
	WeightBytes, FeatureBytes, LowerBound int64
}

// Align is the start of every block, Tail what is kept free behind it, so that a transfer of whole 32-byte blocks
// never touches a neighbour.
const (
	Align = 512
	Tail  = 32
)

// AddressAlign is what addresses of inputs and outputs that the caller provides must be a multiple of.
const AddressAlign = 32

// padded is the room that n bytes take in a region.
func padded(n int64) int64 { return ((n+31)/32*32 + Tail + Align - 1) / Align * Align }

// Compile makes the plan of a graph. Shapes must be static (graph.Bind, graph.Infer).
func Compile(g *graph.Graph) (*Plan, error) {
	c := &compiler{p: &Plan{Name: g.Name}, values: map[*graph.Value]*storage{}, weights: map[*tensor.Tensor]int{}, uses: map[*graph.Value]int{}}
	if err := c.compile(g); err != nil {
		return nil, err
	}
	return c.p, nil
}

// Count is the number of steps, those of branches included.
func Count(steps []Step) int {
	n := 0
	for i := range steps {
		n += 1 + Count(steps[i].Then) + Count(steps[i].Else)
	}
	return n
}

// castToInt32 compiles the kernel that turns a bool condition into the index word that a switch reads.
func castToInt32(shape tensor.Shape) (*kernels.Kernel, error) {
	s := &kernels.Spec{Op: "Cast", Opset: 13, Attrs: kernels.Attrs{"to": int64(6)},
		In: []kernels.Desc{{DType: tensor.Bool, Shape: shape}}, Out: []kernels.Desc{{DType: tensor.Int32, Shape: shape}}}
	return kernels.Compile(s)
}

// faultKernel is a step that must not be reached.
func faultKernel(reason string) *kernels.Kernel {
	return &kernels.Kernel{Type: "Fault", Core: cost.AICPU, Blocks: 1, Run: func(*kernels.Exec) error { return fmt.Errorf("%s", reason) }}
}
