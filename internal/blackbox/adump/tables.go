package adump

import "fmt"

// formats of the dump message and of GE.
var formatNames = [...]string{"NCHW", "NHWC", "ND", "NC1HWC0", "FRACTAL_Z", "NC1C0HWPAD", "NHWC1C0", "FSR_NCHW", "FRACTAL_DECONV", "C1HWNC0",
	"FRACTAL_DECONV_TRANSPOSE", "FRACTAL_DECONV_SP_STRIDE_TRANS", "NC1HWC0_C04", "FRACTAL_Z_C04", "CHWN", "FRACTAL_DECONV_SP_STRIDE8_TRANS",
	"HWCN", "NC1KHKWHWC0", "BN_WEIGHT", "FILTER_HWCK", "HASHTABLE_LOOKUP_LOOKUPS", "HASHTABLE_LOOKUP_KEYS", "HASHTABLE_LOOKUP_VALUE",
	"HASHTABLE_LOOKUP_OUTPUT", "HASHTABLE_LOOKUP_HITS", "C1HWNCoC0", "MD", "NDHWC", "FRACTAL_ZZ", "FRACTAL_NZ", "NCDHW", "DHWCN", "NDC1HWC0",
	"FRACTAL_Z_3D", "CN", "NC", "DHWNC", "FRACTAL_Z_3D_TRANSPOSE", "FRACTAL_ZN_LSTM", "FRACTAL_Z_G", "RESERVED", "ALL", "NULL", "ND_RNN_BIAS",
	"FRACTAL_ZN_RNN", "NYUV", "NYUV_A", "NCL", "FRACTAL_Z_WINO", "C1HWC0"}

// FormatName names a format number; the upper bytes of GE's numbers (sub format, C0) are left out.
func FormatName(n int) string {
	if p := n & 0xff; n >= 0 && p < len(formatNames) {
		return formatNames[p]
	}
	return fmt.Sprintf("unknown(%d)", n)
}

// TensorType names a DfxTensorType, the kind of an argument in exception dumps and core files.
func TensorType(n int) string {
	switch n {
	case 0:
		return "invalid"
	case 1:
		return "general"
	case 2:
		return "input"
	case 3:
		return "output"
	case 4:
		return "workspace"
	case 5:
		return "kernel log"
	case 6:
		return "MC2 context"
	case 7:
		return "tiling data"
	case 8:
		return "L1"
	case 9:
		return "L2"
	case 10:
		return "overflow address"
	case 11:
		return "FFTS address"
	case 12:
		return "shape tensor"
	case 101:
		return "argument block"
	case 102:
		return "stack"
	case 103:
		return "kernel text"
	case 104:
		return "SIMT stack"
	}
	return fmt.Sprintf("unknown(%d)", n)
}
