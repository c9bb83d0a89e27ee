// Package tensor holds what a tensor is, apart from any device: data types, shapes, Ascend storage formats and
// their conversions, and the .npy and .npz files. It imports nothing of this module and owns no goroutine.
package tensor

import "fmt"

// DType is an element type. The zero value is no type.
type DType uint8

// Element types. Int4, Uint4 and Float4E2M1 pack two elements a byte, Int2 and Uint2 four, the low bits first.
const (
	Undefined DType = iota
	Float32
	Float16
	BFloat16
	Float64
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Bool
	Float8E4M3
	Float8E5M2
	Int4
	Uint4
	Complex64
	Complex128
	String
	Float8E4M3FNUZ
	Float8E5M2FNUZ
	Float8E8M0
	Float4E2M1
	Int2
	Uint2
	dtypeCount
)

// info is one row of the type table: the name that this tool prints, the size in bits, and the number in
// aclDataType / ge::DataType (-1: none).
type info struct {
	name string
	bits int
	acl  int
}

var dtypes = [dtypeCount]info{
	Undefined:  {"undefined", 0, 28},
	Float32:    {"float32", 32, 0},
	Float16:    {"float16", 16, 1},
	BFloat16:   {"bfloat16", 16, 27},
	Float64:    {"float64", 64, 11},
	Int8:       {"int8", 8, 2},
	Int16:      {"int16", 16, 6},
	Int32:      {"int32", 32, 3},
	Int64:      {"int64", 64, 9},
	Uint8:      {"uint8", 8, 4},
	Uint16:     {"uint16", 16, 7},
	Uint32:     {"uint32", 32, 8},
	Uint64:     {"uint64", 64, 10},
	Bool:       {"bool", 8, 12},
	Float8E4M3: {"float8_e4m3fn", 8, 36},
	Float8E5M2: {"float8_e5m2", 8, 35},
	Int4:       {"int4", 4, 29},
	Uint4:      {"uint4", 4, -1},
	Complex64:  {"complex64", 64, 16},
	Complex128: {"complex128", 128, 17},
	String:     {"string", 0, 13},

	Float8E4M3FNUZ: {"float8_e4m3fnuz", 8, -1},
	Float8E5M2FNUZ: {"float8_e5m2fnuz", 8, -1},
	Float8E8M0:     {"float8_e8m0", 8, 37},
	Float4E2M1:     {"float4_e2m1", 4, 40},
	Int2:           {"int2", 2, -1},
	Uint2:          {"uint2", 2, -1},
}

func (t DType) String() string {
	if t < dtypeCount {
		return dtypes[t].name
	}
	return fmt.Sprintf("dtype(%d)", uint8(t))
}

// Bits is the size of one element in bits; 0 for Undefined and String.
func (t DType) Bits() int {
	if t < dtypeCount {
		return dtypes[t].bits
	}
	return 0
}

// Size is the size of one element in bytes; 0 for types without a whole number of bytes.
func (t DType) Size() int {
	if b := t.Bits(); b%8 == 0 {
		return b / 8
	}
	return 0
}

// ACL is the type's number in aclDataType (and ge::DataType), or -1.
func (t DType) ACL() int {
	if t < dtypeCount {
		return dtypes[t].acl
	}
	return -1
}

// FromACL is the inverse of ACL; Undefined for numbers that this package does not know.
func FromACL(n int) DType {
	for t, d := range dtypes {
		if d.acl == n && DType(t) != Undefined {
			return DType(t)
		}
	}
	return Undefined
}

// ParseDType reads a name as String prints it.
func ParseDType(s string) (DType, error) {
	for t, d := range dtypes {
		if d.name == s && DType(t) != Undefined {
			return DType(t), nil
		}
	}
	return Undefined, fmt.Errorf("unknown data type %q", s)
}

// Float says whether t is a floating-point type.
func (t DType) Float() bool {
	switch t {
	case Float32, Float16, BFloat16, Float64, Float8E4M3, Float8E5M2, Float8E4M3FNUZ, Float8E5M2FNUZ, Float8E8M0, Float4E2M1:
		return true
	}
	return false
}

// Int says whether t is a signed or unsigned integer type; Bool is none.
func (t DType) Int() bool {
	switch t {
	case Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Int4, Uint4, Int2, Uint2:
		return true
	}
	return false
}
