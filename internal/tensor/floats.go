package tensor

import (
	"fmt"
	"math"
)

// chunk is how many numbers EachFloats decodes at a time: enough to amortise the call, small enough for L1.
const chunk = 1024

// perElement is how many numbers an element is made of: 2 for the complex types, 0 for types that are no numbers.
func perElement(t DType) int {
	switch {
	case t == Complex64 || t == Complex128:
		return 2
	case t == Bool || t.Float() || t.Int():
		return 1
	}
	return 0
}

// Floats returns every element as float64 in the order of the memory (see Format); a complex element gives its real
// and its imaginary part. Integers beyond 2^53 are rounded. It refuses String and tensors whose memory is too short.
func Floats(t *Tensor) ([]float64, error) {
	n, err := t.numbers()
	if err != nil {
		return nil, err
	}
	out := make([]float64, n)
	return out, DecodeFloats(out, t.DType, t.Data, 0)
}

// EachFloats is the streaming form of Floats: it calls f with pieces of at most 1024 numbers and the position of the
// first one. The slice is reused. An error of f ends the walk and is returned.
func (t *Tensor) EachFloats(f func(at int, v []float64) error) error {
	n, err := t.numbers()
	if err != nil {
		return err
	}
	buf := make([]float64, min(chunk, n))
	for at := 0; at < n; at += chunk {
		v := buf[:min(chunk, n-at)]
		if err := DecodeFloats(v, t.DType, t.Data, at); err != nil {
			return err
		}
		if err := f(at, v); err != nil {
			return err
		}
	}
	return nil
}

// numbers counts what Floats returns; fractal formats include their padding.
func (t *Tensor) numbers() (int, error) {
	k := perElement(t.DType)
	if k == 0 {
		return 0, fmt.Errorf("a %v tensor has no numbers", t.DType)
	}
	s, err := StorageShape(t.Format, t.Shape, t.DType)
	if err != nil {
		return 0, err
	}
	need, err := s.Bytes(t.DType)
	if err != nil {
		return 0, err
	}
	if len(t.Data) < need {
		return 0, fmt.Errorf("tensor %v has %d bytes, its shape needs %d", t, len(t.Data), need)
	}
	return s.Count() * k, nil
}

// DecodeFloats decodes len(dst) numbers of memory from number at on.
func DecodeFloats(dst []float64, t DType, data []byte, at int) error {
	if err := checkRange(t, data, at, len(dst)); err != nil {
		return err
	}
	switch t {
	case Float32, Complex64:
		widen(dst, View[float32](data)[at:])
	case Float64, Complex128:
		copy(dst, View[float64](data)[at:])
	case Int8:
		widen(dst, View[int8](data)[at:])
	case Int16:
		widen(dst, View[int16](data)[at:])
	case Int32:
		widen(dst, View[int32](data)[at:])
	case Int64:
		widen(dst, View[int64](data)[at:])
	case Uint8:
		widen(dst, data[at:])
	case Uint16:
		widen(dst, View[uint16](data)[at:])
	case Uint32:
		widen(dst, View[uint32](data)[at:])
	case Uint64:
		widen(dst, View[uint64](data)[at:])
	case Bool:
		for i, b := range data[at:][:len(dst)] {
			dst[i] = 0
			if b != 0 {
				dst[i] = 1
			}
		}
	case Float16:
		decode(dst, View[uint16](data)[at:], HalfToFloat32)
	case BFloat16:
		decode(dst, View[uint16](data)[at:], BFloat16ToFloat32)
	case Float8E4M3:
		decode(dst, data[at:], E4M3ToFloat32)
	case Float8E5M2:
		decode(dst, data[at:], E5M2ToFloat32)
	case Float8E4M3FNUZ:
		decode(dst, data[at:], E4M3FNUZToFloat32)
	case Float8E5M2FNUZ:
		decode(dst, data[at:], E5M2FNUZToFloat32)
	case Float8E8M0:
		decode(dst, data[at:], E8M0ToFloat32)
	case Float4E2M1:
		for i := range dst {
			dst[i] = float64(E2M1ToFloat32(data[(at+i)/2] >> ((at + i) & 1 * 4)))
		}
	case Int2:
		for i := range dst {
			dst[i] = float64(int8(data[(at+i)/4]>>((at+i)&3*2)<<6) >> 6)
		}
	case Uint2:
		for i := range dst {
			dst[i] = float64(data[(at+i)/4] >> ((at + i) & 3 * 2) & 3)
		}
	case Int4:
		for i := range dst {
			dst[i] = float64(int8(data[(at+i)/2]>>((at+i)&1*4)<<4) >> 4)
		}
	case Uint4:
		for i := range dst {
			dst[i] = float64(data[(at+i)/2] >> ((at + i) & 1 * 4) & 15)
		}
	}
	return nil
}

func widen[T Number](dst []float64, src []T) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = float64(src[i])
	}
}

func decode[T uint8 | uint16](dst []float64, src []T, f func(T) float32) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = float64(f(src[i]))
	}
}

// EncodeFloats stores v from number at on, converted as described at Tensor.As; Bool stores 1 for anything but 0.
func EncodeFloats(data []byte, t DType, at int, v []float64) error {
	if err := checkRange(t, data, at, len(v)); err != nil {
		return err
	}
	switch t {
	case Float32, Complex64:
		encode(View[float32](data)[at:], v, func(x float64) float32 { return float32(x) })
	case Float64, Complex128:
		copy(View[float64](data)[at:], v)
	case Int8:
		encode(View[int8](data)[at:], v, clamp[int8](math.MinInt8, 1<<7, math.MaxInt8))
	case Int16:
		encode(View[int16](data)[at:], v, clamp[int16](math.MinInt16, 1<<15, math.MaxInt16))
	case Int32:
		encode(View[int32](data)[at:], v, clamp[int32](math.MinInt32, 1<<31, math.MaxInt32))
	case Int64:
		encode(View[int64](data)[at:], v, clamp[int64](math.MinInt64, 1<<63, math.MaxInt64))
	case Uint8:
		encode(data[at:], v, clamp[uint8](0, 1<<8, math.MaxUint8))
	case Uint16:
		encode(View[uint16](data)[at:], v, clamp[uint16](0, 1<<16, math.MaxUint16))
	case Uint32:
		encode(View[uint32](data)[at:], v, clamp[uint32](0, 1<<32, math.MaxUint32))
	case Uint64:
		encode(View[uint64](data)[at:], v, clamp[uint64](0, 1<<64, math.MaxUint64))
	case Bool:
		encode(data[at:], v, func(x float64) uint8 {
			if x != 0 {
				return 1
			}
			return 0
		})
	case Float16:
		encode(View[uint16](data)[at:], v, func(x float64) uint16 { return Float32ToHalf(toOdd(x)) })
	case BFloat16:
		encode(View[uint16](data)[at:], v, func(x float64) uint16 { return Float32ToBFloat16(toOdd(x)) })
	case Float8E4M3:
		encode(data[at:], v, func(x float64) uint8 { return Float32ToE4M3(toOdd(x), false) })
	case Float8E5M2:
		encode(data[at:], v, func(x float64) uint8 { return Float32ToE5M2(toOdd(x), false) })
	case Float8E4M3FNUZ:
		encode(data[at:], v, func(x float64) uint8 { return Float32ToE4M3FNUZ(toOdd(x), false) })
	case Float8E5M2FNUZ:
		encode(data[at:], v, func(x float64) uint8 { return Float32ToE5M2FNUZ(toOdd(x), false) })
	case Float8E8M0:
		encode(data[at:], v, func(x float64) uint8 { return Float32ToE8M0(float32(x), ScaleNearest, false) })
	case Float4E2M1:
		for i, x := range v {
			p, sh := &data[(at+i)/2], (at+i)&1*4
			*p = *p&^(15<<sh) | Float32ToE2M1(toOdd(x))<<sh
		}
	case Int2, Uint2:
		pair := clamp[int8](-2, 2, 1)
		if t == Uint2 {
			pair = clamp[int8](0, 4, 3)
		}
		for i, x := range v {
			p, sh := &data[(at+i)/4], (at+i)&3*2
			*p = *p&^(3<<sh) | byte(pair(x))&3<<sh
		}
	case Int4, Uint4:
		nibble := clamp[int8](-8, 8, 7)
		if t == Uint4 {
			nibble = clamp[int8](0, 16, 15)
		}
		for i, x := range v {
			p, sh := &data[(at+i)/2], (at+i)&1*4
			*p = *p&^(15<<sh) | byte(nibble(x))&15<<sh
		}
	}
	return nil
}

func encode[T Number](dst []T, v []float64, f func(float64) T) {
	dst = dst[:len(v)]
	for i, x := range v {
		dst[i] = f(x)
	}
}

// clamp converts to an integer of [lo, end) towards zero; top stands for everything above, NaN gives 0.
func clamp[T Number](lo, end float64, top T) func(float64) T {
	return func(x float64) T {
		switch x = math.Trunc(x); {
		case x != x:
			return 0
		case x <= lo:
			return T(lo)
		case x >= end:
			return top
		}
		return T(x)
	}
}

// toOdd converts to float32 so that a later rounding to fewer bits sees on which side of a tie x was: inexact values
// get an odd last bit.
func toOdd(x float64) float32 {
	f := float32(x)
	if float64(f) == x || x != x || math.IsInf(x, 0) {
		return f
	}
	b := math.Float32bits(f)
	if math.Abs(float64(f)) > math.Abs(x) { // rounded away from zero: step back
		b--
	}
	return math.Float32frombits(b | 1)
}

func checkRange(t DType, data []byte, at, n int) error {
	k := perElement(t)
	if k == 0 {
		return fmt.Errorf("%v has no numbers", t)
	}
	if have := len(data) * 8 * k / t.Bits(); at < 0 || n > have-at {
		return fmt.Errorf("numbers %d to %d of %v, the memory holds %d", at, at+n, t, have)
	}
	return nil
}
