package sim

import (
	"fmt"

	"npu/internal/tensor"
)

// ReduceOp is how a DMA engine combines what it carries with what lies at the destination, numbered as aclrtReduceKind.
type ReduceOp uint8

// Operations of a reducing copy.
const (
	ReduceSum ReduceOp = iota
	ReduceMax
	ReduceMin
)

func (o ReduceOp) String() string { return [...]string{"sum", "max", "min", "?"}[min(o, 3)] }

// ReduceCode is the function word of a Reduce task.
func ReduceCode(op ReduceOp, t tensor.DType) uint32 { return uint32(op) | uint32(t)<<8 }

// CanReduce says whether DMA engines can combine elements of a type.
func CanReduce(t tensor.DType) bool {
	switch t {
	case tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Int32, tensor.Int16, tensor.Int8:
		return true
	}
	return false
}

// reduceMemory combines the bytes of a Reduce descriptor into their destination: dst = dst op src, element by element,
// each result rounded once.
func (m *Machine) reduceMemory(q *Queue, d *Desc) *Fault {
	n := int(d[7])
	src, f := q.space.Resolve(d[6], n, Read)
	var dst []byte
	if f == nil {
		dst, f = q.space.Resolve(d[5], n, ReadWrite)
	}
	if f != nil {
		f.Code = CodeSDMACopy
		return f
	}
	op, t := ReduceOp(d.function()), tensor.DType(d.function()>>8)
	switch t {
	case tensor.Float32:
		combine(op, tensor.View[float32](dst), tensor.View[float32](src))
	case tensor.Int32:
		combine(op, tensor.View[int32](dst), tensor.View[int32](src))
	case tensor.Int16:
		combine(op, tensor.View[int16](dst), tensor.View[int16](src))
	case tensor.Int8:
		combine(op, tensor.View[int8](dst), tensor.View[int8](src))
	case tensor.Float16:
		combineHalf(op, tensor.View[uint16](dst), tensor.View[uint16](src), tensor.HalfToFloat32s, tensor.Float32ToHalfs)
	case tensor.BFloat16:
		combineHalf(op, tensor.View[uint16](dst), tensor.View[uint16](src), tensor.BFloat16ToFloat32s, tensor.Float32ToBFloat16s)
	default:
		return &Fault{Code: CodeSDMACopy, Detail: fmt.Sprintf("a reducing copy of %v", t)}
	}
	return nil
}

func combine[T float32 | int32 | int16 | int8](op ReduceOp, dst, src []T) {
	switch op {
	case ReduceSum:
		for i, x := range src {
			dst[i] += x
		}
	case ReduceMax:
		for i, x := range src {
			dst[i] = max(dst[i], x)
		}
	case ReduceMin:
		for i, x := range src {
			dst[i] = min(dst[i], x)
		}
	}
}

// combineHalf works on 16-bit floats through float32, in pieces.
func combineHalf(op ReduceOp, dst, src []uint16, widen func([]float32, []uint16), narrow func([]uint16, []float32)) {
	var a, b [512]float32
	for len(src) > 0 {
		n := min(len(src), len(a))
		widen(a[:n], dst[:n])
		widen(b[:n], src[:n])
		combine(op, a[:n], b[:n])
		narrow(dst[:n], a[:n])
		dst, src = dst[n:], src[n:]
	}
}
