// Package cost turns an operator's work (multiply-accumulates, element operations, bytes) into device time and a
// cycle account per pipe, in integers, for a chip of package soc. It computes no results.
package cost

import "npu/internal/tensor"

// Core is the kind of core that a kernel runs on.
type Core uint8

// Kinds of cores: cube (AIC), vector (AIV), cube with its vector cores (MIX), AI CPU.
const (
	AIC Core = iota
	AIV
	Mix
	AICPU
)

func (c Core) String() string {
	return [...]string{"AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "AI_CPU"}[c&3]
}

// Work is what one execution of a kernel does, over all its blocks.
type Work struct {
	// Type is the operator's name in the graph engine (MatMulV2, Add). It selects measured constants; without it, or for
	// a type that was never measured, those of the chip alone hold.
	Type string
	// Matrix product on the cube: Batch × (M×K · K×N). Zero M: none. Convolutions are given as implicit GEMM
	// (M output pixels, K taps × input channels of a group, N output channels of a group, Batch images × groups).
	M, N, K, Batch int64
	MacType        tensor.DType
	// TransA and TransB say that an operand is stored transposed (A as K×M, B as N×K).
	TransA, TransB bool
	HF32           bool // float32 operands may be rounded to half the mantissa
	// VectorOps counts element-operations on the vector unit: elements × vector instructions each of them needs
	// (add 1, exp about 4, division 2).
	VectorOps  int64
	VectorType tensor.DType
	// Elements is how many elements go through the vector unit, whatever is done to each: of the largest operand that is
	// walked in full. Zero: taken from the bytes. Measured instruction counts are per element.
	Elements int64
	// Runs is in how many contiguous pieces the kernel reads and writes the memory (strided slices, transpositions, rows
	// of a gather, rows of a broadcast along the last dimension). Zero: all is contiguous.
	Runs int64
	// Cold says that nothing of what the kernel reads or overwrites is in L2 when it starts.
	Cold bool
	// ScalarOps counts scalar instructions (index arithmetic of gathers, AI CPU loops).
	ScalarOps int64
	// Bytes moved between global memory and the core; WeightBytes is the part of ReadBytes that are weights.
	ReadBytes, WriteBytes, WeightBytes int64
}
