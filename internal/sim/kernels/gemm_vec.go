package kernels

import "npu/internal/tensor"

// vec is an operand as the vector unit sees it: loads give float32, stores round once (and expect whole numbers for
// 8-bit integers).
type vec struct {
	f []float32 // float32 storage
	h []uint16  // float16 or bfloat16 storage
	d []float64 // float64 storage
	q []uint8   // int8 or uint8 storage
	b bool      // bfloat16, int8
}

func newVec(t tensor.DType, mem []byte) vec {
	switch t {
	case tensor.Float16:
		return vec{h: tensor.View[uint16](mem)}
	case tensor.BFloat16:
		return vec{h: tensor.View[uint16](mem), b: true}
	case tensor.Float64:
		return vec{d: tensor.View[float64](mem)}
	case tensor.Int8, tensor.Uint8:
		return vec{q: mem, b: t == tensor.Int8}
	}
	return vec{f: tensor.View[float32](mem)}
}

// at loads one element.
func (v vec) at(i int) float32 {
	switch {
	case v.f != nil:
		return v.f[i]
	case v.d != nil:
		return float32(v.d[i])
	case v.q != nil && v.b:
		return float32(int8(v.q[i]))
	case v.q != nil:
		return float32(v.q[i])
	case v.b:
		return tensor.BFloat16ToFloat32(v.h[i])
	}
	return tensor.HalfToFloat32(v.h[i])
}

// load copies len(dst) elements that lie stride apart, from element off on.
func (v vec) load(dst []float32, off, stride int) {
	if len(dst) == 0 {
		return
	}
	switch {
	case v.f != nil && stride == 1:
		copy(dst, v.f[off:off+len(dst)])
	case v.f != nil:
		for i := range dst {
			dst[i] = v.f[off+i*stride]
		}
	case v.d != nil:
		for i := range dst {
			dst[i] = float32(v.d[off+i*stride])
		}
	case v.q != nil:
		for i := range dst {
			dst[i] = v.at(off + i*stride)
		}
	case v.b:
		for i := range dst {
			dst[i] = tensor.BFloat16ToFloat32(v.h[off+i*stride])
		}
	default:
		for i := range dst {
			dst[i] = tensor.HalfToFloat32(v.h[off+i*stride])
		}
	}
}

// run is n consecutive elements from off on: the memory itself where it holds float32, else buf filled.
func (v vec) run(buf []float32, off, n int) []float32 {
	if v.f != nil {
		return v.f[off : off+n]
	}
	v.load(buf[:n], off, 1)
	return buf[:n]
}

// store is the inverse of load.
func (v vec) store(off, stride int, src []float32) {
	if len(src) == 0 {
		return
	}
	switch {
	case v.f != nil && stride == 1:
		copy(v.f[off:off+len(src)], src)
	case v.f != nil:
		for i, x := range src {
			v.f[off+i*stride] = x
		}
	case v.d != nil:
		for i, x := range src {
			v.d[off+i*stride] = float64(x)
		}
	case v.q != nil:
		for i, x := range src {
			v.q[off+i*stride] = uint8(int32(x))
		}
	case v.b:
		for i, x := range src {
			v.h[off+i*stride] = tensor.Float32ToBFloat16(x)
		}
	default:
		for i, x := range src {
			v.h[off+i*stride] = tensor.Float32ToHalf(x)
		}
	}
}
