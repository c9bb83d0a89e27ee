package elem

import (
	"npu/internal/tensor"
)

// Out is the type a .npy file of t has: its own, or the one it is widened to (bfloat16, 8-bit and 4-bit floats to
// float32, packed integers to 8 bits, half complex to complex64); Undefined if the numbers cannot be decoded.
func (t Type) Out() tensor.DType {
	d := t.DType()
	switch t.code {
	case raw:
		return tensor.Undefined
	case uint1, uint2:
		return tensor.Uint8
	case int2:
		return tensor.Int8
	case complex32:
		return tensor.Complex64
	case e8m0, hif8, fp4e2m1, fp4e1m2:
		return tensor.Float32
	}
	switch d {
	case tensor.BFloat16, tensor.Float8E4M3, tensor.Float8E5M2:
		return tensor.Float32
	case tensor.Int4:
		return tensor.Int8
	case tensor.Uint4:
		return tensor.Uint8
	}
	return d
}

// Direct says that the bytes of a dump are those of the .npy file.
func (t Type) Direct() bool { return t.code == viaTensor && t.Out() == t.DType() }

// Widen converts whole elements to bytes of type Out and appends them to dst. It is the identity for direct types.
func (t Type) Widen(dst, src []byte) []byte {
	if t.Direct() {
		return append(dst, src...)
	}
	if t.DType() == tensor.BFloat16 {
		n := len(src) / 2
		at := len(dst)
		dst = append(dst, make([]byte, 4*n)...)
		tensor.BFloat16ToFloat32s(tensor.View[float32](dst[at:]), tensor.View[uint16](src)[:n])
		return dst
	}
	buf := make([]float64, int(t.Count(uint64(len(src))))*t.Numbers())
	n := t.Decode(buf, src)
	out := t.Out()
	if out == tensor.Complex64 {
		out = tensor.Float32
	}
	at := len(dst)
	dst = append(dst, make([]byte, n*out.Size())...)
	if tensor.EncodeFloats(dst[at:], out, 0, buf[:n]) != nil {
		return dst[:at]
	}
	return dst
}
