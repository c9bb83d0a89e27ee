package onnx

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/problem"
	"npu/internal/tensor"

	"google.golang.org/protobuf/encoding/protowire"
)

// Every data field of TensorProto, packed and not, gives the bytes that raw_data would.
func TestTensor_dataFields(t *testing.T) {
	varints := func(v ...uint64) (b []byte) {
		for _, x := range v {
			b = protowire.AppendVarint(b, x)
		}
		return b
	}
	f32 := func(v ...float32) []byte { return bytes.Clone(tensor.Bytes(v)) }
	minus := func(n int64) uint64 { return uint64(n) }
	cases := []struct {
		name string
		elem uint64
		data []byte
		want []byte
	}{
		{"float_data packed", 1, appendMessage(nil, tensorFloats, f32(1, -2)), f32(1, -2)},
		{"float_data single", 1, protowire.AppendFixed32(protowire.AppendTag(protowire.AppendFixed32(protowire.AppendTag(nil, tensorFloats, protowire.Fixed32Type), math.Float32bits(1)), tensorFloats, protowire.Fixed32Type), math.Float32bits(-2)), f32(1, -2)},
		{"float_data in two runs", 1, append(appendMessage(nil, tensorFloats, f32(1)), appendMessage(nil, tensorFloats, f32(-2))...), f32(1, -2)},
		{"double_data", 11, appendMessage(nil, tensorDoubles, bytes.Clone(tensor.Bytes([]float64{1, -2}))), tensor.Bytes([]float64{1, -2})},
		{"int32_data of int32", 6, appendMessage(nil, tensorInt32s, varints(1, minus(-2))), tensor.Bytes([]int32{1, -2})},
		{"int32_data single", 6, appendVarint(appendVarint(nil, tensorInt32s, 1), tensorInt32s, minus(-2)), tensor.Bytes([]int32{1, -2})},
		{"int32_data of int8", 3, appendMessage(nil, tensorInt32s, varints(1, minus(-2))), tensor.Bytes([]int8{1, -2})},
		{"int32_data of uint16", 4, appendMessage(nil, tensorInt32s, varints(1, 65535)), tensor.Bytes([]uint16{1, 65535})},
		{"int32_data of bool", 9, appendMessage(nil, tensorInt32s, varints(1, 0)), []byte{1, 0}},
		{"int32_data of float16", 10, appendMessage(nil, tensorInt32s, varints(0x3c00, 0xc000)), tensor.Bytes([]uint16{0x3c00, 0xc000})},
		{"int32_data of int4", 22, appendMessage(nil, tensorInt32s, varints(0x7f)), []byte{0x7f}},
		{"int64_data", 7, appendMessage(nil, tensorInt64s, varints(1, minus(-2))), tensor.Bytes([]int64{1, -2})},
		{"uint64_data of uint64", 13, appendMessage(nil, tensorUint64s, varints(1, math.MaxUint64)), tensor.Bytes([]uint64{1, math.MaxUint64})},
		{"uint64_data of uint32", 12, appendMessage(nil, tensorUint64s, varints(1, math.MaxUint32)), tensor.Bytes([]uint32{1, math.MaxUint32})},
		{"raw_data", 5, appendMessage(nil, tensorRaw, []byte{1, 0, 0xfe, 0xff}), tensor.Bytes([]int16{1, -2})},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, err := Parse(model(init2(appendVarint(nil, tensorType, c.elem), dims(2), c.data), output("w")), "")
			if err != nil {
				t.Fatal(err)
			}
			if got := m.graph.initializers[0].t.Data; !bytes.Equal(got, c.want) {
				t.Errorf("%x, want %x", got, c.want)
			}
		})
	}
}

func TestTensor_external(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "model", "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("model/data/w.bin", "....ABCDEFGH")
	write("secret", "ABCDEFGH")
	if err := os.Symlink("../secret", filepath.Join(dir, "model", "link")); err != nil {
		t.Fatal(err)
	}
	file := func(location, offset string) []byte {
		b := appendVarint(nil, tensorLocation, 1)
		for _, kv := range [][2]string{{"location", location}, {"offset", offset}, {"length", "8"}} {
			b = appendMessage(b, tensorExternal, appendString(appendString(nil, entryKey, kv[0]), entryValue, kv[1]))
		}
		return model(init2(appendVarint(nil, tensorType, 1), dims(2), b), output("w"))
	}
	path := filepath.Join(dir, "model", "m.onnx")
	for _, c := range []struct{ location, offset, want string }{
		{"data/w.bin", "4", ""},
		{"data/w.bin", "8", "8 bytes at offset 8, the file has 12"},
		{"data/w.bin", "9223372036854775807", "the file has 12"},
		{"data/none.bin", "0", "put the file beside the model"},
		{"data", "0", "no regular file"},
		{"link", "0", "escapes"},
	} {
		if err := os.WriteFile(path, file(c.location, c.offset), 0o644); err != nil {
			t.Fatal(err)
		}
		m, err := Read(path)
		if c.want == "" {
			if err != nil {
				t.Fatal(err)
			}
			if got := string(m.graph.initializers[0].t.Data); got != "ABCDEFGH" {
				t.Errorf("%q", got)
			}
			continue
		}
		if err == nil || problem.ClassOf(err) != problem.Damaged || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s at %s: %v; want damaged with %q", c.location, c.offset, err, c.want)
		}
	}
}
