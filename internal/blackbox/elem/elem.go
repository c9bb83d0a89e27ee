// Package elem decodes the element types that dumps hold: those of package tensor and the ones that only devices
// have (hifloat8, float8_e8m0, the 4-bit floats, packed bits, half complex). Dumps number types in two ways, as the
// dump message does and as GE does; the numbers must not be mixed up. It also takes statistics of a stream of
// elements. Owns no goroutine.
package elem

import (
	"fmt"
	"math"
	"strings"

	"npu/internal/tensor"
)

// Type is an element type of a dump. The zero value is unknown: its bytes can be shown, not its numbers.
type Type struct {
	Name string
	Bits int // 0: no fixed size, or packing unknown
	code code
}

// code tells the decoders apart.
type code uint8

const (
	raw code = iota
	viaTensor
	uint1
	int2
	uint2
	fp4e2m1
	fp4e1m2
	e8m0
	hif8
	complex32
)

// types by name; the number in tensor's table is found by the name.
var special = map[string]Type{
	"uint1":         {"uint1", 1, uint1},
	"int2":          {"int2", 2, int2},
	"uint2":         {"uint2", 2, uint2},
	"float4_e2m1":   {"float4_e2m1", 4, fp4e2m1},
	"float4_e1m2":   {"float4_e1m2", 4, fp4e1m2},
	"float8_e8m0":   {"float8_e8m0", 8, e8m0},
	"hifloat8":      {"hifloat8", 8, hif8},
	"complex32":     {"complex32", 32, complex32},
	"float6_e3m2":   {"float6_e3m2", 0, raw},
	"float6_e2m3":   {"float6_e2m3", 0, raw},
	"hifloat4":      {"hifloat4", 0, raw},
	"undefined":     {"undefined", 0, raw},
	"resource":      {"resource", 0, raw},
	"variant":       {"variant", 0, raw},
	"string_ref":    {"string_ref", 0, raw},
	"dual":          {"dual", 0, raw},
	"dual_sub_int8": {"dual_sub_int8", 8, raw},
}

// names of the dump message's OutputDataType.
var protoNames = [...]string{"undefined", "float32", "float16", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint32", "uint64", "bool",
	"float64", "string", "dual_sub_int8", "dual_sub_uint8", "complex64", "complex128", "int8", "int16", "int32", "uint8", "uint16", "resource",
	"string_ref", "dual", "variant", "bfloat16", "int4", "uint1", "int2", "uint2", "complex32", "hifloat8", "float8_e5m2", "float8_e4m3fn",
	"float8_e8m0", "float6_e3m2", "float6_e2m3", "float4_e2m1", "float4_e1m2", "hifloat4", "hifloat4_scale"}

// quantized types of the dump message read as their integers, but keep their name.
var protoLabels = map[int]string{18: "qint8", 19: "qint16", 20: "qint32", 21: "quint8", 22: "quint16"}

// Proto is the type with a number of the dump message (toolkit.dump OutputDataType).
func Proto(n int) Type {
	if n < 0 || n >= len(protoNames) {
		return Type{Name: fmt.Sprintf("unknown(%d)", n)}
	}
	t, _ := Parse(protoNames[n])
	if l, ok := protoLabels[n]; ok {
		t.code, t.Name = viaTensor, protoNames[n]
		t.Name = strings.TrimSpace(l)
	}
	return t
}

// GE is the type with a number of ge::DataType (aclDataType): kernel prints, tiny-chip dumps, statistics.
func GE(n int) Type {
	if d := tensor.FromACL(n); n >= 0 && d != tensor.Undefined {
		return Of(d)
	}
	names := map[int]string{28: "undefined", 30: "uint1", 31: "int2", 32: "uint2", 33: "complex32", 34: "hifloat8", 37: "float8_e8m0", 38: "float6_e3m2", 39: "float6_e2m3", 40: "float4_e2m1", 41: "float4_e1m2"}
	if s, ok := names[n]; ok {
		return special[s]
	}
	return Type{Name: fmt.Sprintf("unknown(%d)", n)}
}

// Of is the type of package tensor.
func Of(d tensor.DType) Type {
	c := viaTensor
	if d == tensor.String || d == tensor.Undefined {
		c = raw
	}
	return Type{Name: d.String(), Bits: d.Bits(), code: c}
}

// Parse reads a name as dumps, kernel descriptions and users write it: float16, DT_FLOAT16, fp16, bf16, double.
func Parse(s string) (Type, bool) {
	s = strings.ToLower(strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(s)), "DT_"))
	alias := map[string]string{"float": "float32", "fp32": "float32", "fp16": "float16", "half": "float16", "bf16": "bfloat16", "double": "float64",
		"fp64": "float64", "hif8": "hifloat8", "fp8_e4m3": "float8_e4m3fn", "float8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2",
		"fp4_e2m1": "float4_e2m1", "fp4_e1m2": "float4_e1m2", "e8m0": "float8_e8m0", "boolean": "bool"}
	if a, ok := alias[s]; ok {
		s = a
	}
	if d, err := tensor.ParseDType(s); err == nil {
		return Of(d), true
	}
	t, ok := special[s]
	if !ok {
		return Type{Name: s}, false
	}
	return t, true
}

// DType is the type in package tensor; Undefined for those it lacks.
func (t Type) DType() tensor.DType {
	if t.code != viaTensor {
		return tensor.Undefined
	}
	d, err := tensor.ParseDType(strings.TrimPrefix(t.Name, "q"))
	if err != nil {
		return tensor.Undefined
	}
	return d
}

// Numeric says whether elements can be decoded to numbers.
func (t Type) Numeric() bool { return t.code != raw }

// Bytes is the size of n elements; false if the type has no size or the product overflows.
func (t Type) Bytes(n uint64) (uint64, bool) {
	if t.Bits == 0 || n > 1<<55 {
		return 0, false
	}
	return (n*uint64(t.Bits) + 7) / 8, true
}

// Count is the number of whole elements in size bytes.
func (t Type) Count(size uint64) uint64 {
	if t.Bits == 0 {
		return 0
	}
	if t.Bits >= 8 {
		return size / uint64(t.Bits/8)
	}
	return size * 8 / uint64(t.Bits)
}

// Numbers is how many numbers an element is made of: 2 for complex types.
func (t Type) Numbers() int {
	if strings.HasPrefix(t.Name, "complex") {
		return 2
	}
	return 1
}

// Decode writes the numbers of the elements in src to dst and returns how many. dst must have room for them:
// Count(len(src)) times Numbers.
func (t Type) Decode(dst []float64, src []byte) int {
	n := int(t.Count(uint64(len(src)))) * t.Numbers()
	dst = dst[:n]
	switch t.code {
	case viaTensor:
		if tensor.DecodeFloats(dst, t.DType(), src, 0) != nil {
			return 0
		}
	case complex32:
		for i, h := range tensor.View[uint16](src)[:n] {
			dst[i] = float64(tensor.HalfToFloat32(h))
		}
	case uint1, int2, uint2, fp4e2m1, fp4e1m2:
		t.packed(dst, src)
	case e8m0, hif8:
		f := e8m0Value
		if t.code == hif8 {
			f = hif8Value
		}
		for i := range dst {
			dst[i] = f(src[i])
		}
	default:
		return 0
	}
	return n
}

// packed decodes types smaller than a byte. Bits of uint1 come most significant first, the others low part first.
func (t Type) packed(dst []float64, src []byte) {
	per := 8 / t.Bits
	for i := range dst {
		b := src[i/per]
		switch t.code {
		case uint1:
			dst[i] = float64(b >> (7 - i%8) & 1)
		case uint2:
			dst[i] = float64(b >> (2 * (i % 4)) & 3)
		case int2:
			dst[i] = float64(int8(b>>(2*(i%4))<<6) >> 6)
		case fp4e2m1:
			dst[i] = sign(b>>(4*(i%2))&15, 8, [8]float64{0, .5, 1, 1.5, 2, 3, 4, 6})
		case fp4e1m2:
			dst[i] = sign(b>>(4*(i%2))&15, 8, [8]float64{0, .25, .5, .75, 1, 1.25, 1.5, 1.75})
		}
	}
}

func sign(v, mask byte, values [8]float64) float64 {
	f := values[v&7]
	if v&mask != 0 {
		return -f
	}
	return f
}

// e8m0Value is a power of two: exponent only, 0xff is NaN.
func e8m0Value(b byte) float64 {
	if b == 0xff {
		return math.NaN()
	}
	return math.Ldexp(1, int(b)-127)
}

// hif8Value decodes HiFloat8: sign, a prefix code for the number of exponent bits, exponent with an implied leading
// one behind its sign, the rest mantissa.
func hif8Value(b byte) float64 {
	switch b {
	case 0x00:
		return 0
	case 0x80:
		return math.NaN()
	case 0x6f:
		return math.Inf(1)
	case 0xef:
		return math.Inf(-1)
	}
	s := 1.0
	if b&0x80 != 0 {
		s = -1
	}
	v := b & 0x7f
	var d, used int
	switch {
	case v>>5 == 3:
		d, used = 4, 2
	case v>>5 == 2:
		d, used = 3, 2
	case v>>5 == 1:
		d, used = 2, 2
	case v>>4 == 1:
		d, used = 1, 3
	case v>>3 == 1:
		d, used = 0, 4
	default: // subnormal
		return s * math.Ldexp(1, int(v&7)-23)
	}
	rest := 7 - used // exponent and mantissa bits
	m := rest - d
	e := 0
	if d > 0 {
		field := int(v>>m) & (1<<d - 1)
		mag := field&(1<<(d-1)-1) | 1<<(d-1)
		e = mag
		if field>>(d-1) != 0 {
			e = -mag
		}
	}
	frac := float64(int(v)&(1<<m-1)) / float64(int(1)<<m)
	return s * math.Ldexp(1+frac, e)
}
