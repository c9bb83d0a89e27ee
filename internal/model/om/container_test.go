package om

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"npu/internal/problem"
)

// TestWrite_bytes pins header and table of a written file: other readers depend on each field's place.
func TestWrite_bytes(t *testing.T) {
	b := sample(t)
	le := binary.LittleEndian
	for _, f := range []struct {
		at   int
		want string
		what string
	}{
		{0, "494d4f44", "magic"}, {4, "00010000", "headsize"}, {8, "00000020", "version"}, {76, "00000000", "length"}, {80, "00000000", "flags"},
		{84, hex.EncodeToString([]byte("sample\x00")), "name"}, {152, "02000000", "om_ir_version"}, {156, "01000000", "model_num"},
		{160, hex.EncodeToString([]byte("1.11.z.0\x00")), "platform_version"}, {180, "01", "platform_type"}, {256, "05000000" + "00000000", "partitions"},
		{264, "08000000" + "00000000" + "0000000000000000", "first entry: MODEL_INOUT_INFO at 0"},
	} {
		want, _ := hex.DecodeString(f.want)
		if got := b[f.at : f.at+len(want)]; !bytes.Equal(got, want) {
			t.Errorf("%s at %d: % x, expected % x", f.what, f.at, got, want)
		}
	}
	if n := le.Uint64(b[184:]); n != uint64(len(b)-256) {
		t.Errorf("model_length is %d, the payload has %d", n, len(b)-256)
	}
	var types []uint32
	off := uint64(0)
	for i := range 5 {
		e := b[264+24*i:]
		types = append(types, le.Uint32(e))
		if le.Uint64(e[8:]) != off {
			t.Errorf("entry %d at %d, the partitions before it end at %d", i, le.Uint64(e[8:]), off)
		}
		off += le.Uint64(e[16:])
	}
	if want := []uint32{8, 0, 1, 3, 2}; !equal(types, want) {
		t.Errorf("partitions %v, expected %v", types, want)
	}
	if 264+24*5+int(off) != len(b) {
		t.Errorf("partitions end at %d of %d", 264+24*5+int(off), len(b))
	}
}

func equal[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestWrite_again: what is parsed encodes to the same bytes, container and messages.
func TestWrite_again(t *testing.T) {
	for name, b := range map[string][]byte{"static": sample(t), "gears": sample(t, 1, 4)} {
		m, err := Parse(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(m.Problems) > 0 {
			t.Errorf("%s: %v", name, m.Problems)
		}
		if !bytes.Equal(m.Encode(), b) {
			t.Errorf("%s: the container comes out differently", name)
		}
		for _, p := range m.Groups[0].Partitions {
			var again []byte
			switch p.Type {
			case ModelDefPart:
				again = m.Groups[0].Def.encode()
			case TaskInfo:
				again = encodeTasks(&m.Groups[0].TaskDef, m.Groups[0].Tasks)
			case InOutInfo:
				again = m.Groups[0].IO.append(nil)
			default:
				continue
			}
			if !bytes.Equal(again, p.Data) {
				t.Errorf("%s: %v comes out differently", name, p.Type)
			}
		}
		if second := sampleAgain(t, name); !bytes.Equal(second, b) {
			t.Errorf("%s: writing twice gives different bytes", name)
		}
	}
}

func sampleAgain(t *testing.T, name string) []byte {
	if name == "gears" {
		return sample(t, 1, 4)
	}
	return sample(t)
}

// TestEncode_real: header and tables of real files come out as they are, in both versions and widths.
func TestEncode_real(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(realFiles(t), "*.om"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(b)
		if err != nil {
			if !strings.HasSuffix(f, "_en.om") {
				t.Errorf("%s: %v", filepath.Base(f), err)
			}
			continue
		}
		n++
		if got := m.Encode(); !bytes.Equal(got, b) {
			t.Errorf("%s: %d bytes come out as %d different ones", filepath.Base(f), len(b), len(got))
		}
	}
	if n < 10 {
		t.Errorf("only %d files parsed", n)
	}
}

// damaged are files of which each must be refused with the place that is wrong.
func TestParse_malformed(t *testing.T) {
	le := binary.LittleEndian
	set32 := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { le.PutUint32(b[at:], v); return b }
	}
	set64 := func(at int, v uint64) func([]byte) []byte {
		return func(b []byte) []byte { le.PutUint64(b[at:], v); return b }
	}
	entry := func(i int) int { return 264 + 24*i }
	for _, c := range []struct {
		name string
		edit func(b []byte) []byte
		want string
	}{
		{"empty", func([]byte) []byte { return nil }, "empty"},
		{"header cut", func(b []byte) []byte { return b[:200] }, "header"},
		{"text", func([]byte) []byte { return []byte("just a text file\n") }, "text"},
		{"lfs", func([]byte) []byte { return []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\n") }, "LFS"},
		{"zip", func([]byte) []byte { return []byte("PK\x03\x04rest") }, "OM2"},
		{"pico", func([]byte) []byte { return []byte("PICO\x00\x00\x00\x00") }, "Smart Vision"},
		{"encrypted as a whole", func(b []byte) []byte { b[0] = 0x75; return b }, "encrypted"},
		{"headsize", set32(4, 128), "headsize"},
		{"version", set32(8, 0x30000000), "version"},
		{"encrypted", func(b []byte) []byte { b[80] = 1; return b }, "is_encrypt"},
		{"modeltype", func(b []byte) []byte { b[82] = 9; return b }, "modeltype"},
		{"payload longer", set64(184, 1<<40), "missing"},
		{"payload shorter", set64(184, 100), "more"},
		{"model_num 0", set32(156, 0), "model_num"},
		{"model_num huge", set32(156, 1<<31), "model_num"},
		{"no partitions", set32(256, 0), "no partitions"},
		{"nine partitions", set32(256, 9), "at most 8"},
		{"2^32-1 partitions", set32(256, 1<<32-1), "at most 8"},
		{"offset", set64(entry(1)+8, 7), "offset"},
		{"size over the end", set64(entry(4)+16, 1<<40), "left"},
		{"size overflow", set64(entry(4)+16, 1<<64-1), "left"},
		{"twice", set32(entry(4), 0), "twice"},
		{"two models announced", set32(156, 2), "model 1"},
		{"no MODEL_DEF", set32(entry(1), 26), "CUSTOM_OPS"},
		{"last byte gone", func(b []byte) []byte { return b[:len(b)-1] }, "missing"},
		{"byte too many", func(b []byte) []byte { return append(b, 0) }, "more"},
	} {
		m, err := Parse(c.edit(sample(t)))
		if err == nil {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		if problem.ClassOf(err) != problem.Damaged {
			t.Errorf("%s: class %v", c.name, problem.ClassOf(err))
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q does not say %q", c.name, err, c.want)
		}
		_ = m
	}
}

// TestParse_content: faults inside the partitions, each found with its place.
func TestParse_content(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(g *GraphDef, m *ModelDef)
		want string
	}{
		{"same name", func(g *GraphDef, _ *ModelDef) { g.Ops[1].Name = g.Ops[0].Name }, "two operators"},
		{"no name", func(g *GraphDef, _ *ModelDef) { g.Ops[1].Name = "" }, "without name"},
		{"no output", func(g *GraphDef, _ *ModelDef) { g.Ops = g.Ops[:len(g.Ops)-1] }, "NetOutput"},
		{"source missing", func(g *GraphDef, _ *ModelDef) { op(g, "conv").Inputs[0] = "nobody:0" }, "nobody"},
		{"source output", func(g *GraphDef, _ *ModelDef) { op(g, "conv").Inputs[0] = "x:0:7" }, "output 7"},
		{"source form", func(g *GraphDef, _ *ModelDef) { op(g, "conv").Inputs[0] = "x" }, "name:output"},
		{"cycle", func(g *GraphDef, _ *ModelDef) { op(g, "conv").Inputs[0] = "if:0" }, "cycle"},
		{"subgraph", func(g *GraphDef, _ *ModelDef) { op(g, "if").Subgraphs[0] = "none" }, "none"},
		{"negative shape", func(g *GraphDef, _ *ModelDef) { op(g, "conv").Out[0].Shape[0] = -5 }, "negative"},
		{"huge shape", func(g *GraphDef, _ *ModelDef) { op(g, "conv").Out[0].Shape = []int64{1 << 40, 1 << 40} }, "64 bits"},
		{"rank", func(g *GraphDef, _ *ModelDef) { op(g, "conv").Out[0].Shape = make([]int64, 33) }, "rank 33"},
		{"weight outside", func(g *GraphDef, _ *ModelDef) { weightOf(op(g, "w")).Desc.DataOffset = 1 << 40 }, "outside of the"},
		{"weight negative", func(g *GraphDef, _ *ModelDef) { weightOf(op(g, "w")).Desc.DataOffset = -8 }, "outside of the"},
		{"weight short", func(g *GraphDef, _ *ModelDef) { weightOf(op(g, "w")).Desc.WeightSize = 4 }, "needs"},
		{"output beyond memory", func(g *GraphDef, _ *ModelDef) { op(g, "conv").OutputI[0] = 1 << 30 }, "memory"},
		{"memory absurd", func(_ *GraphDef, m *ModelDef) { m.Attrs.Get("memory_size").Int = 1 << 60 }, "memory_size"},
		{"streams absurd", func(_ *GraphDef, m *ModelDef) { m.Attrs.Get("stream_num").Int = -1 }, "stream_num"},
		{"stream of a task", func(_ *GraphDef, m *ModelDef) { m.Attrs.Get("stream_num").Int = 0 }, "stream 0 of 0"},
		{"label of a task", func(_ *GraphDef, m *ModelDef) { m.Attrs.Get("label_num").Int = -1 }, "label_num"},
		{"operator of a task", func(g *GraphDef, _ *ModelDef) { op(g, "conv").ID = 999 }, "operator"},
		{"dictionary", func(g *GraphDef, m *ModelDef) {
			m.Attrs.setStrs("attr_name_enum", []string{"a"})
			m.Attrs.add("attrs_use_string_value", Attr{Kind: AttrList, List: &List{Bools: []bool{false}}})
			op(g, "conv").Attrs.setInt("\x00\x05", 1)
		}, "attr_name_enum"},
		{"dictionary lengths", func(_ *GraphDef, m *ModelDef) { m.Attrs.setStrs("attr_name_enum", []string{"a"}) }, "entries"},
	} {
		m, err := Parse(sample(t))
		if err != nil {
			t.Fatal(err)
		}
		g := m.Groups[0]
		c.edit(g.Def.Graphs[0], g.Def)
		g.part(ModelDefPart).Data = g.Def.encode()
		_, err = Parse(m.Encode())
		if err == nil {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		if problem.ClassOf(err) != problem.Damaged || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v (class %v), expected %q", c.name, err, problem.ClassOf(err), c.want)
		}
	}
}

func op(g *GraphDef, name string) *OpDef {
	for _, o := range g.Ops {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// TestParse_unknownPartition: kept, named and skipped.
func TestParse_unknownPartition(t *testing.T) {
	m, err := Parse(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	m.Groups[0].Partitions = append(m.Groups[0].Partitions, Partition{Type: 77, Data: []byte("future")})
	again, err := Parse(m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Problems) != 1 || !strings.Contains(again.Problems[0], "partition 77") {
		t.Errorf("notes %v", again.Problems)
	}
}

// TestParse_stores: malformed kernel stores, tensor tables and host libraries.
func TestParse_stores(t *testing.T) {
	le := binary.LittleEndian
	good := appendKernel(nil, "k", []byte("\x7fELFcode"))
	libs := le.AppendUint32(le.AppendUint32(nil, 1), kernelMagic)
	libs = append(libs, 2, 0, 1, 0, 1, 0, 0, 0, 4, 0, 0, 0)
	libs = append(libs, "soVcode"...)
	for _, c := range []struct {
		name string
		t    PartitionType
		data []byte
		want string // "": fine
	}{
		{"kernels", TBEKernels, append(bytes.Clone(good), good...), ""},
		{"kernel magic", TBEKernels, append([]byte{1}, good[1:]...), "magic"},
		{"kernel name", TBEKernels, append(le.AppendUint32(bytes.Clone(good[:4]), 1<<32-1), good[8:]...), "left"},
		{"kernel size", TBEKernels, append(le.AppendUint32(bytes.Clone(good[:8]), 1<<32-1), good[12:]...), "left"},
		{"kernel rest", TBEKernels, append(bytes.Clone(good), 1, 2), "left over"},
		{"libraries", SoBins, libs, ""},
		{"library count", SoBins, append(le.AppendUint32(nil, 1<<32-1), libs[4:]...), "announced"},
		{"library rest", SoBins, append(bytes.Clone(libs), 0), "after the last"},
		{"tilings cut", TilingData, []byte{1, 2}, "head"},
		{"tiling magic", TilingData, make([]byte, 12), "magic"},
		{"tensor count", InOutInfo, le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 0), 4), 1<<32-1), "tensors"},
		{"table cut", InOutInfo, le.AppendUint32(le.AppendUint32(nil, 0), 400), "left"},
		{"texts", InOutInfo, le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, ioShapes), 4), 1<<31), "lengths"},
	} {
		m, err := Parse(sample(t))
		if err != nil {
			t.Fatal(err)
		}
		g := m.Groups[0]
		if p := g.part(c.t); p != nil {
			p.Data = c.data
		} else {
			g.Partitions = append(g.Partitions, Partition{Type: c.t, Data: c.data})
		}
		_, err = Parse(m.Encode())
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, expected %q", c.name, err, c.want)
		}
	}
}

// TestParse_truncated: at every border of a partition and at random places; the error is about the file, and memory
// stays within a multiple of it.
func TestParse_truncated(t *testing.T) {
	files := map[string][]byte{"ours": sample(t), "gears": sample(t, 1, 2, 4)}
	for _, f := range []string{"nanotrack_head.om", "meg_model_dyn.om", "gemm_single_op.om", "dynamic_and_static_graph_without_unfold.om", "flow_model.om"} {
		if _, err := os.Stat(filepath.Join("..", "..", "..", "..", "shared", "data", "om", f)); err == nil {
			files[f] = readReal(t, f)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for name, b := range files {
		m, err := Parse(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var cuts []int
		for _, g := range m.Groups {
			for _, p := range g.Partitions {
				cuts = append(cuts, p.Offset, p.Offset+1)
			}
		}
		for range 200 {
			cuts = append(cuts, rng.IntN(len(b)))
		}
		for _, n := range cuts {
			if n >= len(b) {
				continue
			}
			if _, err := Parse(b[:n:n]); err == nil || problem.ClassOf(err) != problem.Damaged {
				t.Errorf("%s cut at %d: %v", name, n, err)
			}
		}
		// The same with a header that agrees: the faults inside must be found.
		for range 200 {
			c := bytes.Clone(b)
			c[HeaderSize+rng.IntN(len(c)-HeaderSize)] ^= byte(1 << rng.IntN(8))
			_, _ = Parse(c)
		}
		for at := range HeaderSize {
			c := bytes.Clone(b)
			c[at] ^= 0xff
			if _, err := Parse(c); err != nil && problem.ClassOf(err) != problem.Damaged {
				t.Errorf("%s with byte %d flipped: class %v of %v", name, at, problem.ClassOf(err), err)
			}
		}
	}
}

// TestParse_memory: messages that say little and cost much are refused before they cost it.
func TestParse_memory(t *testing.T) {
	m, err := Parse(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	var g, d pb
	for range 1 << 19 {
		g.bytes(6, nil) // an operator of no bytes
	}
	d.bytes(7, g)
	m.Groups[0].part(ModelDefPart).Data = d
	file := m.Encode()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = Parse(file)
	runtime.ReadMemStats(&after)
	if err == nil {
		t.Error("accepted")
	}
	if cost := after.TotalAlloc - before.TotalAlloc; cost > 60*uint64(len(file)) {
		t.Errorf("%d bytes allocated for a file of %d", cost, len(file))
	}
}
