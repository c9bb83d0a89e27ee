package om

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// move is an instruction that loads one quarter of a register.
func move(reg, quarter int, keep bool, imm uint16) uint32 {
	w := uint32(0x07)<<24 | uint32(quarter)<<22 | uint32(reg)<<17 | uint32(imm)
	if keep {
		w |= 1 << 16
	}
	return w
}

// load writes a 64-bit value into a register, quarter by quarter.
func load(reg int, v uint64) []uint32 {
	var out []uint32
	for q := range 4 {
		out = append(out, move(reg, q, q > 0, uint16(v>>(16*q))))
	}
	return out
}

func words(parts ...[]uint32) []byte {
	var b []byte
	for _, p := range parts {
		for _, w := range p {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
	}
	return b
}

// TestReadGeometry builds the machine code that loads the descriptors and reads it back.
func TestReadGeometry(t *testing.T) {
	descriptor := func(sw, sh, kw, kh, dw, dh uint64) uint64 { return sw | sh<<6 | kw<<12 | kh<<20 | dw<<28 | dh<<36 }
	padding := func(w, rows, left, right, top, bottom uint64) uint64 {
		return w | rows<<16 | left<<32 | right<<40 | top<<48 | bottom<<56
	}
	noise := []uint32{0x12345678, move(9, 1, false, 0xbeef), 0}
	for _, c := range []struct {
		name string
		code []byte
		s    sizes
		want *geometry
	}{
		{"stride 2", words(noise, load(3, descriptor(2, 2, 3, 3, 1, 1)), load(4, padding(127, 20, 1, 1, 1, 255)), noise, load(4, padding(127, 20, 1, 1, 0, 1))),
			sizes{in: [2]int{127, 127}, kernel: [2]int{3, 3}, out: [2]int{64, 64}},
			&geometry{stride: [2]int{2, 2}, dilation: [2]int{1, 1}, lo: [2]int{1, 1}}},
		{"dilation 4", words(load(0, descriptor(1, 1, 3, 3, 4, 4)), load(31, padding(64, 32, 4, 4, 4, 255))),
			sizes{in: [2]int{32, 64}, kernel: [2]int{3, 3}, out: [2]int{32, 64}},
			&geometry{stride: [2]int{1, 1}, dilation: [2]int{4, 4}, lo: [2]int{4, 4}}},
		{"no padding found", words(load(3, descriptor(1, 1, 5, 5, 1, 1))), sizes{in: [2]int{8, 8}, kernel: [2]int{5, 5}, out: [2]int{8, 8}},
			&geometry{stride: [2]int{1, 1}, dilation: [2]int{1, 1}, lo: [2]int{-1, -1}}},
		{"does not fit the sizes", words(load(3, descriptor(2, 2, 3, 3, 1, 1))), sizes{in: [2]int{32, 32}, kernel: [2]int{3, 3}, out: [2]int{32, 32}}, nil},
		{"two that fit", words(load(3, descriptor(1, 1, 3, 3, 1, 1)), load(4, descriptor(1, 1, 3, 3, 2, 2))), sizes{in: [2]int{32, 32}, kernel: [2]int{3, 3}, out: [2]int{32, 32}}, nil},
		{"nothing", words(noise), sizes{in: [2]int{32, 32}, kernel: [2]int{3, 3}, out: [2]int{32, 32}}, nil},
	} {
		got := readGeometry(c.code, c.s)
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v, expected %+v", c.name, got, c.want)
		}
	}
}

// TestGeometry_guess: strides and padding from sizes alone, as frameworks make them.
func TestGeometry_guess(t *testing.T) {
	for _, c := range []struct {
		in, kernel, out int
		tf              bool
		stride, lo, hi  int
	}{
		{224, 7, 112, false, 2, 3, 3},
		{127, 3, 64, false, 2, 1, 1},
		{64, 1, 32, false, 2, 0, 0},
		{56, 3, 56, false, 1, 1, 1},
		{16, 5, 8, false, 2, 2, 2},
		{16, 5, 8, true, 2, 1, 2},
		{28, 5, 14, true, 2, 1, 2},
		{8, 3, 6, false, 1, 0, 0},
		{16, 2, 15, false, 1, 0, 0},
		{15, 4, 15, false, 1, 1, 2},
		{1, 1, 1, false, 1, 0, 0},
	} {
		s := sizes{in: [2]int{c.in, c.in}, kernel: [2]int{c.kernel, c.kernel}, out: [2]int{c.out, c.out}}
		g := geometry{dilation: [2]int{1, 1}}
		if !g.guess(s, 0) || !g.pad(s, 0, -1, c.tf) {
			t.Errorf("%d with %d to %d: nothing fits", c.in, c.kernel, c.out)
			continue
		}
		if g.stride[0] != c.stride || g.lo[0] != c.lo || g.hi[0] != c.hi {
			t.Errorf("%d with %d to %d: stride %d, pads %d %d; expected %d, %d %d", c.in, c.kernel, c.out, g.stride[0], g.lo[0], g.hi[0], c.stride, c.lo, c.hi)
		}
		if room := c.in + g.lo[0] + g.hi[0] - c.kernel; room/g.stride[0]+1 != c.out {
			t.Errorf("%d with %d to %d: the result would be %d", c.in, c.kernel, c.out, room/g.stride[0]+1)
		}
	}
}

// TestFusedNames takes kernel names apart.
func TestFusedNames(t *testing.T) {
	h16, h64 := "2bd70059907934ee", strings.Repeat("0123456789abcdef", 4)
	for name, want := range map[string]string{
		"te_fused_op_abs_mul_mul_add_" + h16 + "_2d722d672a9d6cb9_0__kernel0":    "Abs Mul Mul Add",
		"te_fused_op_conv2d_clip_by_value_" + h64 + "__kernel0":                  "Conv2D ClipByValue",
		"te_fused_op_conv2d_hard_swish_" + h64 + "__kernel0":                     "Conv2D HardSwish",
		"te_fused_op_trans_data_batch_matmul_v2_fix_pipe_" + h64 + "__kernel0":   "TransData BatchMatMulV2 FixPipe",
		"te_fused_op_mat_mul_add_" + h16 + "_2d722d672a9d6cb9_0__kernel0":        "MatMulV2 Add",
		"te_fused_op_aipp_conv2d_b5c526bf02ca9b00_0__kernel0":                    "Aipp Conv2D",
		"te_fused_op_add_leaky_relu_6308bf2bcda5c2380_19c07031a3377512__kernel0": "Add LeakyRelu",
		"te_fused_op_mul_sub_" + h16 + "__kernel0":                               "Mul Sub",
		"te_fused_op_strange_thing_" + h16 + "__kernel0":                         "strange_thing",
		"te_fused_op_fully_connection_sigmoid_" + h64 + "__kernel0":              "FullyConnection Sigmoid",
		"te_conv2d_" + h64 + "__kernel0":                                         "",
		"":                                                                       "",
	} {
		got, ok := fusedNames(name)
		if ok != (want != "") || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, expected %q", name, got, want)
		}
	}
}

// TestUserName: names of outputs, sources and orders of dimensions.
func TestUserName(t *testing.T) {
	for full, want := range map[string]string{
		"conv1:0:conv1": "conv1", "generation/output:0": "generation/output", "/cls/Conv:0:output1": "output1", "plain": "plain", "a:b": "a:b", "x:12:y:z": "x:12:y:z",
	} {
		if got := userName(full); got != want {
			t.Errorf("%q is %q, expected %q", full, got, want)
		}
	}
	if n, i, ok := source("a:b:3"); n != "a:b" || i != 3 || !ok {
		t.Errorf("source a:b:3 is %q %d %t", n, i, ok)
	}
	if p := permutation("NHWC", "NCHW"); !slices.Equal(p, []int{0, 3, 1, 2}) {
		t.Errorf("NHWC to NCHW by %v", p)
	}
	if p := permutation("ND", "NCHW"); p != nil {
		t.Errorf("ND to NCHW by %v", p)
	}
}
