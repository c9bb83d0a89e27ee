package om

import (
	"strconv"
	"strings"

	"npu/internal/tensor"
)

// protoTypes are the element types by the protobuf number of TensorDescriptor.dtype. The memory numbering of
// attributes and of MODEL_INOUT_INFO is that of tensor.FromACL.
var protoTypes = [...]struct {
	t    tensor.DType
	acl  int
	name string
}{
	0: {tensor.Undefined, 28, "undefined"}, 1: {tensor.Float32, 0, ""}, 2: {tensor.Float16, 1, ""}, 3: {tensor.Int8, 2, ""}, 4: {tensor.Uint8, 4, ""},
	5: {tensor.Int16, 6, ""}, 6: {tensor.Uint16, 7, ""}, 7: {tensor.Int32, 3, ""}, 8: {tensor.Int64, 9, ""}, 9: {tensor.Uint32, 8, ""},
	10: {tensor.Uint64, 10, ""}, 11: {tensor.Bool, 12, ""}, 12: {tensor.Float64, 11, ""}, 13: {tensor.String, 13, ""},
	14: {tensor.Undefined, 14, "dual_sub_int8"}, 15: {tensor.Undefined, 15, "dual_sub_uint8"}, 16: {tensor.Complex64, 16, ""},
	17: {tensor.Complex128, 17, ""}, 18: {tensor.Undefined, 18, "qint8"}, 19: {tensor.Undefined, 19, "qint16"}, 20: {tensor.Undefined, 20, "qint32"},
	21: {tensor.Undefined, 21, "quint8"}, 22: {tensor.Undefined, 22, "quint16"}, 23: {tensor.Undefined, 23, "resource"},
	24: {tensor.Undefined, 24, "string_ref"}, 25: {tensor.Undefined, 25, "dual"}, 26: {tensor.Undefined, 26, "variant"}, 27: {tensor.BFloat16, 27, ""},
	28: {tensor.Int4, 29, ""}, 29: {tensor.Undefined, 30, "uint1"}, 30: {tensor.Undefined, 31, "int2"}, 31: {tensor.Undefined, 32, "uint2"},
	32: {tensor.Undefined, 33, "complex32"}, 33: {tensor.Undefined, 34, "hifloat8"}, 34: {tensor.Float8E5M2, 35, ""}, 35: {tensor.Float8E4M3, 36, ""},
	36: {tensor.Undefined, 37, "float8_e8m0"}, 37: {tensor.Undefined, 38, "float6_e3m2"}, 38: {tensor.Undefined, 39, "float6_e2m3"},
	39: {tensor.Undefined, 40, "float4_e2m1"}, 40: {tensor.Undefined, 41, "float4_e1m2"}, 41: {tensor.Undefined, 42, "hifloat4"},
}

// dtypeOf is the element type of a protobuf number, Undefined for those that this program does not compute with.
func dtypeOf(proto int64) tensor.DType {
	if proto < 0 || proto >= int64(len(protoTypes)) {
		return tensor.Undefined
	}
	return protoTypes[proto].t
}

// protoOf is the protobuf number of a type, 0 where it has none.
func protoOf(t tensor.DType) int64 {
	for i, p := range protoTypes {
		if p.t == t && t != tensor.Undefined {
			return int64(i)
		}
	}
	return 0
}

// typeName is the name of a protobuf number.
func typeName(proto int64) string {
	if proto < 0 || proto >= int64(len(protoTypes)) {
		return "type " + strconv.FormatInt(proto, 10)
	}
	if p := protoTypes[proto]; p.name != "" {
		return p.name
	}
	return protoTypes[proto].t.String()
}

// memoryName is the name of a number of the memory numbering.
func memoryName(n int64) string {
	for i, p := range protoTypes {
		if int64(p.acl) == n {
			return typeName(int64(i))
		}
	}
	return "type " + strconv.FormatInt(n, 10)
}

var formatNames = [...]string{
	"NCHW", "NHWC", "ND", "NC1HWC0", "FRACTAL_Z", "NC1C0HWPAD", "NHWC1C0", "FSR_NCHW", "FRACTAL_DECONV", "C1HWNC0", "FRACTAL_DECONV_TRANSPOSE",
	"FRACTAL_DECONV_SP_STRIDE_TRANS", "NC1HWC0_C04", "FRACTAL_Z_C04", "CHWN", "FRACTAL_DECONV_SP_STRIDE8_TRANS", "HWCN", "NC1KHKWHWC0", "BN_WEIGHT",
	"FILTER_HWCK", "HASHTABLE_LOOKUP_LOOKUPS", "HASHTABLE_LOOKUP_KEYS", "HASHTABLE_LOOKUP_VALUE", "HASHTABLE_LOOKUP_OUTPUT", "HASHTABLE_LOOKUP_HITS",
	"C1HWNCoC0", "MD", "NDHWC", "FRACTAL_ZZ", "FRACTAL_NZ", "NCDHW", "DHWCN", "NDC1HWC0", "FRACTAL_Z_3D", "CN", "NC", "DHWNC",
	"FRACTAL_Z_3D_TRANSPOSE", "FRACTAL_ZN_LSTM", "FRACTAL_Z_G", "RESERVED", "ALL", "NULL", "ND_RNN_BIAS", "FRACTAL_ZN_RNN", "NYUV", "NYUV_A", "NCL",
	"FRACTAL_Z_WINO", "C1HWC0", "FRACTAL_NZ_C0_16", "FRACTAL_NZ_C0_32", "FRACTAL_NZ_C0_2", "FRACTAL_NZ_C0_4", "FRACTAL_NZ_C0_8",
}

func formatName(n int64) string {
	if n &= 0xff; int(n) < len(formatNames) {
		return formatNames[n]
	}
	return "format " + strconv.FormatInt(n, 10)
}

// layout splits a layout into its name and the number of groups behind the colon (1 without one).
func (d *TensorDesc) layout() (string, int) {
	name, rest, ok := strings.Cut(strings.TrimPrefix(d.Layout, "FORMAT_"), ":")
	if !ok {
		return name, 1
	}
	g, err := strconv.Atoi(rest)
	if err != nil || g < 1 {
		return name, 1
	}
	return name, g
}

// unused says that a descriptor stands for an optional operand that is left out.
func (d *TensorDesc) unused() bool {
	name, _ := d.layout()
	return name == "RESERVED" || d.DType == 0 && name == "" && len(d.Shape) == 0
}

// rowMajor says that the stored shape is the tensor itself, in the order of the layout's name.
func (d *TensorDesc) rowMajor() bool {
	switch name, _ := d.layout(); name {
	case "NCHW", "NHWC", "ND", "HWCN", "CHWN", "MD", "NDHWC", "NCDHW", "DHWCN", "DHWNC", "CN", "NC", "NCL", "", "NULL", "ALL", "FILTER_HWCK":
		return true
	}
	return false
}

// originFormat is the order of the logical dimensions.
func (d *TensorDesc) originFormat() string {
	if f := strings.TrimPrefix(d.Attrs.Str("origin_format"), "FORMAT_"); f != "" {
		return f
	}
	name, _ := d.layout()
	return name
}

// originShape is the logical shape; ok is false where the file does not say it.
func (d *TensorDesc) originShape() ([]int64, bool) {
	a := d.Attrs.Get("origin_shape")
	if a != nil && a.Kind == AttrList && a.List != nil && (len(a.List.Ints) > 0 || len(d.Shape) == 0) {
		return a.List.Ints, true
	}
	return d.Shape, d.rowMajor()
}

// shapeOf converts dimensions; negative ones stay -1.
func shapeOf(dims []int64) tensor.Shape {
	s := make(tensor.Shape, len(dims))
	for i, n := range dims {
		s[i] = int(max(n, -1))
	}
	return s
}
