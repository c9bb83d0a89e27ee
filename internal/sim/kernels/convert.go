package kernels

import (
	"math"

	"npu/internal/tensor"
)

// This file reads and writes blocks of elements of any type through one of three wide lanes: float32 for the
// floating types up to 32 bits, float64, and int64 for the integers (uint64 as its bits). Offsets are in elements.

// lane is the wide type that elements of a type are computed in.
type lane uint8

const (
	laneF32 lane = iota
	laneF64
	laneI64
)

func laneOf(t tensor.DType) lane {
	switch {
	case t == tensor.Float64:
		return laneF64
	case t.Float():
		return laneF32
	}
	return laneI64
}

// loadF32 reads len(dst) elements of a floating type up to 32 bits.
func loadF32(dst []float32, t tensor.DType, src []byte, off int) {
	n := len(dst)
	switch t {
	case tensor.Float32:
		copy(dst, tensor.View[float32](src)[off:off+n])
	case tensor.Float16:
		tensor.HalfToFloat32s(dst, tensor.View[uint16](src)[off:off+n])
	case tensor.BFloat16:
		tensor.BFloat16ToFloat32s(dst, tensor.View[uint16](src)[off:off+n])
	case tensor.Float8E4M3:
		tensor.E4M3ToFloat32s(dst, src[off:off+n])
	case tensor.Float8E5M2:
		tensor.E5M2ToFloat32s(dst, src[off:off+n])
	default: // the rare small formats
		for i := range dst {
			var v [1]float64
			_ = tensor.DecodeFloats(v[:], t, src, off+i) // the range was checked above
			dst[i] = float32(v[0])
		}
	}
}

// storeF32 writes the elements of src as type t, rounded once.
func storeF32(t tensor.DType, dst []byte, off int, src []float32, saturate bool) {
	n := len(src)
	switch t {
	case tensor.Float32:
		copy(tensor.View[float32](dst)[off:off+n], src)
	case tensor.Float16:
		tensor.Float32ToHalfs(tensor.View[uint16](dst)[off:off+n], src)
	case tensor.BFloat16:
		tensor.Float32ToBFloat16s(tensor.View[uint16](dst)[off:off+n], src)
	case tensor.Float8E4M3:
		tensor.Float32ToE4M3s(dst[off:off+n], src, saturate)
	case tensor.Float8E5M2:
		tensor.Float32ToE5M2s(dst[off:off+n], src, saturate)
	default:
		storeFloat(t, dst, off, src, saturate)
	}
}

// storeFloat writes floating values as any type. A value beyond the range of an integer type becomes the nearest
// end of it, NaN becomes 0: processors disagree about these, so we say.
func storeFloat[F float32 | float64](t tensor.DType, dst []byte, off int, src []F, saturate bool) {
	n := len(src)
	switch t {
	case tensor.Float32:
		convert(tensor.View[float32](dst)[off:off+n], src)
	case tensor.Float64:
		convert(tensor.View[float64](dst)[off:off+n], src)
	case tensor.Float4E2M1:
		for i, x := range src {
			setNibble(dst, off+i, int64(tensor.Float32ToE2M1(float32(x))))
		}
	case tensor.Float8E8M0:
		for i, x := range src {
			dst[off+i] = tensor.Float32ToE8M0(float32(x), tensor.ScaleUp, saturate)
		}
	case tensor.Float16, tensor.BFloat16, tensor.Float8E4M3, tensor.Float8E5M2, tensor.Float8E4M3FNUZ, tensor.Float8E5M2FNUZ:
		most := math.Inf(1)
		if saturate {
			most = largest(t)
		}
		for i, x := range src {
			v := [1]float64{min(max(float64(x), -most), most)}
			_ = tensor.EncodeFloats(dst, t, off+i, v[:]) // the range was checked above
		}
	case tensor.Int8:
		clampTo(tensor.View[int8](dst)[off:off+n], src, math.MinInt8, math.MaxInt8)
	case tensor.Int16:
		clampTo(tensor.View[int16](dst)[off:off+n], src, math.MinInt16, math.MaxInt16)
	case tensor.Int32:
		clampTo(tensor.View[int32](dst)[off:off+n], src, math.MinInt32, math.MaxInt32)
	case tensor.Int64:
		clampTo(tensor.View[int64](dst)[off:off+n], src, math.MinInt64, math.MaxInt64)
	case tensor.Uint8:
		clampTo(dst[off:off+n], src, 0, math.MaxUint8)
	case tensor.Uint16:
		clampTo(tensor.View[uint16](dst)[off:off+n], src, 0, math.MaxUint16)
	case tensor.Uint32:
		clampTo(tensor.View[uint32](dst)[off:off+n], src, 0, math.MaxUint32)
	case tensor.Uint64:
		clampTo(tensor.View[uint64](dst)[off:off+n], src, 0, math.MaxUint64)
	case tensor.Bool:
		for i, x := range src {
			dst[off+i] = bit(x != 0)
		}
	case tensor.Int4, tensor.Uint4: // these wrap around, as ONNX's own cases do
		for i, x := range src {
			if x != x {
				x = 0
			}
			setNibble(dst, off+i, int64(min(max(x, -1<<40), 1<<40)))
		}
	case tensor.Int2, tensor.Uint2:
		for i, x := range src {
			if x != x {
				x = 0
			}
			setPair(dst, off+i, int64(min(max(x, -1<<40), 1<<40)))
		}
	}
}

// largest is the greatest value of a floating type that saturates; infinity for the others.
func largest(t tensor.DType) float64 {
	switch t {
	case tensor.Float8E4M3:
		return 448
	case tensor.Float8E5M2, tensor.Float8E5M2FNUZ:
		return 57344
	case tensor.Float8E4M3FNUZ:
		return 240
	}
	return math.Inf(1)
}

// convert is the plain conversion between two element types.
func convert[D, S tensor.Number](dst []D, src []S) {
	src = src[:len(dst)]
	for i, x := range src {
		dst[i] = D(x)
	}
}

// clampTo truncates towards zero; lo and hi are the ends of D.
func clampTo[D tensor.Number, F float32 | float64](dst []D, src []F, lo int64, hi uint64) {
	fl, fh := F(lo), F(hi) // fh may round up to hi+1, which is why it is compared with >=
	for i, x := range src {
		switch {
		case x >= fh:
			dst[i] = D(hi)
		case x <= fl:
			dst[i] = D(lo)
		case x != x:
			dst[i] = 0
		default:
			dst[i] = D(x)
		}
	}
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// setNibble writes element i of a packed 4-bit tensor, low nibble first. The elements come in order: the low one clears
// its neighbour, which leaves the padding of an odd tensor 0.
func setNibble(dst []byte, i int, v int64) {
	if i&1 == 0 {
		dst[i/2] = byte(v & 15)
	} else {
		dst[i/2] = dst[i/2]&0x0f | byte(v&15)<<4
	}
}

// setPair is setNibble for 2-bit elements.
func setPair(dst []byte, i int, v int64) {
	sh := i & 3 * 2
	if sh == 0 {
		dst[i/4] = byte(v & 3)
	} else {
		dst[i/4] = dst[i/4]&^(0xff<<sh) | byte(v&3)<<sh
	}
}

// loadI64 reads len(dst) elements of an integer type or of bool.
func loadI64(dst []int64, t tensor.DType, src []byte, off int) {
	n := len(dst)
	switch t {
	case tensor.Int8:
		convert(dst, tensor.View[int8](src)[off:off+n])
	case tensor.Int16:
		convert(dst, tensor.View[int16](src)[off:off+n])
	case tensor.Int32:
		convert(dst, tensor.View[int32](src)[off:off+n])
	case tensor.Int64:
		copy(dst, tensor.View[int64](src)[off:off+n])
	case tensor.Uint8:
		convert(dst, src[off:off+n])
	case tensor.Uint16:
		convert(dst, tensor.View[uint16](src)[off:off+n])
	case tensor.Uint32:
		convert(dst, tensor.View[uint32](src)[off:off+n])
	case tensor.Uint64:
		convert(dst, tensor.View[uint64](src)[off:off+n])
	case tensor.Bool:
		for i, b := range src[off : off+n] {
			dst[i] = int64(bit(b != 0))
		}
	case tensor.Int4:
		for i := range dst {
			dst[i] = int64(int8(nibble(src, off+i)<<4) >> 4)
		}
	case tensor.Uint4:
		for i := range dst {
			dst[i] = int64(nibble(src, off+i))
		}
	case tensor.Int2:
		for i := range dst {
			dst[i] = int64(int8(src[(off+i)/4]>>((off+i)&3*2)<<6) >> 6)
		}
	case tensor.Uint2:
		for i := range dst {
			dst[i] = int64(src[(off+i)/4] >> ((off + i) & 3 * 2) & 3)
		}
	}
}

func nibble(src []byte, i int) byte { return src[i/2] >> (i & 1 * 4) & 15 }

// storeI64 writes integers as any type, integer types wrap around. unsigned says that src holds the bits of uint64.
func storeI64(t tensor.DType, dst []byte, off int, src []int64, unsigned bool) {
	n := len(src)
	switch t {
	case tensor.Int8, tensor.Uint8:
		convert(dst[off:off+n], src)
	case tensor.Int16, tensor.Uint16:
		convert(tensor.View[uint16](dst)[off:off+n], src)
	case tensor.Int32, tensor.Uint32:
		convert(tensor.View[uint32](dst)[off:off+n], src)
	case tensor.Int64, tensor.Uint64:
		copy(tensor.View[int64](dst)[off:off+n], src)
	case tensor.Bool:
		for i, x := range src {
			dst[off+i] = bit(x != 0)
		}
	case tensor.Int4, tensor.Uint4:
		for i, x := range src {
			setNibble(dst, off+i, x)
		}
	case tensor.Int2, tensor.Uint2:
		for i, x := range src {
			setPair(dst, off+i, x)
		}
	case tensor.Float32:
		d := tensor.View[float32](dst)[off : off+n]
		for i, x := range src {
			if unsigned {
				d[i] = float32(uint64(x))
			} else {
				d[i] = float32(x)
			}
		}
	default:
		for i, x := range src {
			w := [1]float64{float64(x)}
			if unsigned {
				w[0] = float64(uint64(x))
			}
			storeFloat(t, dst, off+i, w[:], true)
		}
	}
}

// loadF64 reads len(dst) elements of any floating type.
func loadF64(dst []float64, t tensor.DType, src []byte, off int) {
	n := len(dst)
	switch t {
	case tensor.Float64:
		copy(dst, tensor.View[float64](src)[off:off+n])
	case tensor.Float32:
		convert(dst, tensor.View[float32](src)[off:off+n])
	default:
		var w [blockLen]float32
		for i := 0; i < n; i += blockLen {
			b := w[:min(blockLen, n-i)]
			loadF32(b, t, src, off+i)
			convert(dst[i:i+len(b)], b)
		}
	}
}
