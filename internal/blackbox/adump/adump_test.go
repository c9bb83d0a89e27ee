package adump

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func sample(t testing.TB, elem ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(path(t, elem...))
	if err != nil {
		t.Skipf("the samples are not here: %v", err)
	}
	return b
}

func path(t testing.TB, elem ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Skip("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	return filepath.Join(append([]string{dir, "..", "shared", "data", "dump"}, elem...)...)
}

func parse(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := Parse(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func numbers(t *testing.T, b []byte, x Tensor) []float64 {
	t.Helper()
	out := make([]float64, int(x.DType.Count(x.Have))*x.DType.Numbers())
	x.DType.Decode(out, b[x.Offset:x.Offset+int64(x.Have)])
	return out
}

func TestL0WithKernelDescription(t *testing.T) {
	b := sample(t, "writer", "exception", "exception_info.3.42.20261130044856428")
	f := parse(t, b)
	if f.Version != "2.0" || f.Time != 1796014136428692 || f.HeaderLen != 2112 || len(f.Tensors) != 7 || len(f.Problems) != 0 {
		t.Fatalf("%+v", f)
	}
	f.Addresses()
	p := path(t, "writer", "exception", "exception_info.3.42.20261130044856428")
	if got := f.FillTypes(KernelsBeside(p)); filepath.Base(got) != "DemoScatter_5f0c1d2e3a4b5968778695a4b3c2d1e0.json" {
		t.Errorf("types from %q", got)
	}
	in0 := f.Tensors[0]
	if v := numbers(t, b, in0); in0.DType.Name != "float32" || in0.Address != 0x12c041200000 || in0.ArgIndex != 0 || v[1] != .5 || v[23] != 11.5 {
		t.Errorf("in0 %+v %v", in0, v)
	}
	if in2 := f.Tensors[2]; in2.DType.Name != "int64" || !slices.Equal(numbers(t, b, in2), []float64{-3, -2, 1, 6, 13, 22}) {
		t.Errorf("in2 %+v", in2)
	}
	til := f.Tensors[3]
	if til.InputType != 7 || til.Size != 72 || til.ArgIndex != 5 || binary.LittleEndian.Uint64(b[til.Offset+64:]) != 0xa5a5a5a500000000 {
		t.Errorf("tiling %+v", til)
	}
	out := f.Tensors[5]
	if out.Role != "output" || out.DType.Name != "float32" || numbers(t, b, out)[1] != -1.25 {
		t.Errorf("out %+v", out)
	}
	space := f.Tensors[6]
	if space.Role != "space" || space.ArgIndex != 4 || space.Address != 0x12c041201000 || binary.LittleEndian.Uint32(b[space.Offset+4:]) != 0xC0DE0001 {
		t.Errorf("space %+v", space)
	}
	if a := f.Args(); len(a) != 8 || a[6] != 0 || a[7] != 0x12c0dead0000 {
		t.Errorf("args %x", a)
	}
}

func TestL1AndCustom(t *testing.T) {
	b := sample(t, "writer", "exception", "MatMulV2.layer_0_attention_self_query.42.20261130044857042")
	f := parse(t, b)
	f.Addresses()
	if f.OpName != "layer/0/attention.self query" || f.HeaderLen != 1201 || len(f.Problems) != 0 {
		t.Fatalf("%+v", f)
	}
	in1, out := f.Tensors[1], f.Tensors[3]
	if in1.DType.Name != "float16" || FormatName(in1.Format) != "FRACTAL_NZ" || in1.Size != 32 || in1.Address != 0x12c041200200 {
		t.Errorf("in1 %+v", in1)
	}
	if out.Role != "output" || FormatName(out.Format) != "NCHW" || out.Address != 0x12c041200600 {
		t.Errorf("out %+v", out)
	}
	if f.Facts()["node_type"] != "MatMulV2" {
		t.Errorf("facts %v", f.Facts())
	}
	f = parse(t, sample(t, "writer", "exception", "kv_cache.custom.20261130044857172"))
	if len(f.Attrs) != 1 || f.Attrs[0] != [2]string{"user_tag", "rank=3;phase=decode"} || f.HeaderLen != 783 {
		t.Errorf("%+v", f.Attrs)
	}
}

func TestDataDump(t *testing.T) {
	b := sample(t, "synthetic", "Conv2D.conv1_BiasAdd.12.7.1623124369613540")
	f := parse(t, b)
	if len(f.Tensors) != 6 || len(f.Problems) != 0 || f.OpName != "conv1/BiasAdd" {
		t.Fatalf("%+v", f)
	}
	in0, in1, out, buf := f.Tensors[0], f.Tensors[1], f.Tensors[2], f.Tensors[3]
	if v := numbers(t, b, in0); FormatName(in0.Format) != "NC1HWC0" || !slices.Equal(in0.OrigShape, []uint64{1, 16, 4, 4}) || v[9] != -1 || in0.Address != 0x12c041200000 {
		t.Errorf("in0 %+v", in0)
	}
	if v := numbers(t, b, in1); FormatName(in1.Format) != "FRACTAL_Z" || v[2] != -50 {
		t.Errorf("in1 %+v %v", in1, v[:4])
	}
	if v := numbers(t, b, out); out.DType.Name != "bfloat16" || out.OrigOp != "conv1/BiasAdd" || v[3] != -2.5 {
		t.Errorf("out %+v %v", out, v[:4])
	}
	if buf.Role != "buffer" || buf.Size != 64 || b[buf.Offset+63] != 63 {
		t.Errorf("buffer %+v", buf)
	}
	f = parse(t, sample(t, "synthetic", "truncated.12.7.1623124369613540"))
	if len(f.Tensors) != 6 || f.Tensors[0].Have != 509 || f.Tensors[0].DType.Count(509) != 254 || len(f.Problems) != 6 {
		t.Errorf("truncated: %d problems %v", len(f.Problems), f.Problems)
	}
	b = sample(t, "synthetic", "Cast.layer_3_cast.5.1700000000000000")
	f = parse(t, b)
	if v := numbers(t, b, f.Tensors[1]); !slices.Equal(v, []float64{1, 2, 448, 0x1p-9}) {
		t.Errorf("fp8 %v", v)
	}
	if v := numbers(t, b, f.Tensors[2]); !slices.Equal(v, []float64{1, 2, 3, -4}) {
		t.Errorf("complex %v", v)
	}
	if v := numbers(t, b, f.Tensors[0]); len(v) != 64 || !slices.Equal(v[:8], []float64{1, 1, 1, 0, 1, 1, 1, 1}) {
		t.Errorf("uint1 %v", v)
	}
	b = sample(t, "synthetic", "FullyConnection.fc_MatMul.3.1.1700000000000777")
	f = parse(t, b)
	if v := numbers(t, b, f.Tensors[1]); !f.Tiny || f.OpName != "fc/MatMul" || !slices.Equal(v, []float64{.5, -1.5, 2.25, 1e6}) || !slices.Equal(f.Tensors[1].OrigShape, []uint64{2, 2}) {
		t.Errorf("tiny %+v %v", f, v)
	}
}

func TestOverflow(t *testing.T) {
	for _, c := range []struct {
		file string
		want Overflow
	}{
		{"Opdebug.Node_OpDebug.12.7.1623124369613999", Overflow{Unit: "AIV", Valid: true, Model: NoModel, Stream: 7, Task: 12, PCStart: 0x124080014000, ParaBase: 0x12c0c0002000, Core: 6, Block: 3}},
		{"Opdebug.Node_OpDebug.13.1600000000000001", Overflow{Unit: "AI Core", Valid: true, OldLayout: true, Model: 1, Stream: 7, Task: 12, PCStart: 0x124080014000, ParaBase: 0x12c0c0002000, Block: 0x200000}},
	} {
		b := sample(t, "synthetic", c.file)
		f := parse(t, b)
		os, probs := ParseOverflow(b[f.Tensors[0].Offset:])
		if len(os) != 1 || len(probs) != 0 {
			t.Errorf("%s: %+v %v", c.file, os, probs)
			continue
		}
		got := os[0]
		st := got.Status
		got.Status, got.Context, got.Thread, got.TaskType = nil, 0, 0, 0
		if got.Unit != c.want.Unit || got.Stream != c.want.Stream || got.Task != c.want.Task || got.PCStart != c.want.PCStart || got.Core != c.want.Core || got.Block != c.want.Block || got.Model != c.want.Model {
			t.Errorf("%s: %+v", c.file, got)
		}
		if c.want.Unit == "AIV" && st[0] != 0x200000000000000 || c.want.OldLayout && st[0] != 2 {
			t.Errorf("%s: status %x", c.file, st)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]Name{
		"Conv2D.conv1_BiasAdd.12.7.1623124369613540":                                 {Scheme: "data", OpType: "Conv2D", OpName: "conv1_BiasAdd", Task: 12, Stream: 7},
		"Cast.layer_3_cast.5.1700000000000000":                                       {Scheme: "data", OpType: "Cast", OpName: "layer_3_cast", Task: 5, Stream: -1},
		"exception_info.3.42.20261130044856428":                                      {Scheme: "L0", Stream: 3, Task: 42},
		"MatMulV2.layer_0_attention_self_query.42.20261130044857042":                 {Scheme: "L1", OpType: "MatMulV2", OpName: "layer_0_attention_self_query", Task: 42, Stream: -1},
		"kv_cache.custom.20261130044857172":                                          {Scheme: "custom", OpName: "kv_cache", Stream: -1, Task: -1},
		"DemoScatter_5f0c1d2e3a4b5968778695a4b3c2d1e0_0.3.42.20261130044855761.core": {Scheme: "core", OpName: "DemoScatter_5f0c1d2e3a4b5968778695a4b3c2d1e0_0", Stream: 3, Task: 42},
		"Add.x.1.2.1623124369613540.4.7.8.0":                                         {Scheme: "data", OpType: "Add", OpName: "x", Task: 1, Stream: 2, Context: 7, Thread: 8, Device: 0},
		"Opdebug.Node_OpDebug.12.7.1623124369613999":                                 {Scheme: "overflow", OpType: "Opdebug", OpName: "Node_OpDebug", Task: 12, Stream: 7},
		"notes.txt": {Stream: -1, Task: -1},
		"":          {Stream: -1, Task: -1},
	} {
		got := ParseName(name)
		if got.Scheme != want.Scheme || got.OpType != want.OpType || got.OpName != want.OpName || got.Task != want.Task || got.Stream != want.Stream {
			t.Errorf("%s: %+v", name, got)
		}
		if want.Context != 0 && (got.Context != 7 || got.Thread != 8 || got.Device != 0) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Every cut and every flipped byte of the header: tensors never lie outside the file.
func TestDamage(t *testing.T) {
	for _, s := range [][]string{{"writer", "exception", "exception_info.3.42.20261130044856428"}, {"synthetic", "Conv2D.conv1_BiasAdd.12.7.1623124369613540"}, {"synthetic", "FullyConnection.fc_MatMul.3.1.1700000000000777"}} {
		b := sample(t, s...)
		for cut := 0; cut < min(len(b), 900); cut++ {
			check(t, b[:cut])
			c := bytes.Clone(b)
			c[cut] ^= 0x81
			check(t, c)
		}
	}
}

func check(t *testing.T, b []byte) {
	f, err := Parse(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return
	}
	for _, x := range f.Tensors {
		if x.Offset < 0 || uint64(x.Offset)+x.Have > uint64(len(b)) || x.Have > x.Size {
			t.Fatalf("tensor outside the file of %d bytes: %+v", len(b), x)
		}
	}
	for _, p := range f.Problems {
		if p.Offset < 0 || p.Offset > int64(len(b))+8 {
			t.Fatalf("problem outside the file of %d bytes: %+v", len(b), p)
		}
	}
	f.Addresses()
	f.Args()
	ParseOverflow(b)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{30, 0, 0, 0, 0, 0, 0, 0, 10, 3, '2', '.', '0', 16, 1, 34, 10, 26, 4, 10, 2, 4, 6, 40, 96, 80, 0, 74, 0, 0, 0, 0, 1, 2})
	tiny := make([]byte, 90)
	tiny[0] = 80
	binary.LittleEndian.PutUint32(tiny[8:], Magic)
	tiny[16], tiny[20], tiny[24] = 4, 60, 1
	f.Add(tiny)
	over := make([]byte, 128)
	binary.LittleEndian.PutUint32(over, Magic)
	over[8], over[20] = 1, 88
	f.Add(over)
	f.Fuzz(func(t *testing.T, b []byte) {
		check(t, b)
		if rows, err := ParseStatsBin(b); err == nil && len(rows) > len(b) {
			t.Fatal("more rows than bytes")
		}
		ParseKernel(b)
		ParseStatsCSV(b)
		ParseName(string(b))
	})
}
