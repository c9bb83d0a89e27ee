package onnx

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

type attrs = kernels.Attrs

// sample is a small model with everything the reader knows but functions and external data.
func sample(t testing.TB) []byte {
	b := NewBuilder("sample", 17)
	b.Metadata("author", "nobody")
	b.Input("x", tensor.Float32, "batch,4")
	b.Input("cond", tensor.Bool, "")
	b.Floats("w", tensor.Shape{4, 3})
	var then, els Builder
	then.Ints("shape", -1, 3)
	then.Node("Reshape", "m shape", "t", attrs{"allowzero": int64(1)})
	then.Output("t", tensor.Float32, "batch,3")
	els.Node("Constant", "", "k", attrs{"value_floats": []float32{1, 2, 3}})
	els.Node("Clip", "m - k", "e", attrs{"names": []string{"a", "b"}, "mode": "x", "list": []int64{1, -2}})
	els.Output("e", tensor.Float32, "batch,3")
	b.Node("MatMul", "x w", "m", nil)
	b.Node("If", "cond", "y", attrs{"then_branch": &then, "else_branch": &els})
	b.Node("my.Op", "y", "z -", attrs{"alpha": float32(0.5), "t": &tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{2}, Data: []byte{1, 2}}})
	b.Output("y", tensor.Float32, "batch,3")
	b.Output("z", tensor.Float32, "batch,3")
	file, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestParse_sample(t *testing.T) {
	m, err := Parse(sample(t), "")
	if err != nil {
		t.Fatal(err)
	}
	if m.IRVersion != 8 || m.Producer != "npu" || m.Opset() != 17 || m.GraphName != "sample" || !slices.Equal(m.Metadata, []Property{{"author", "nobody"}}) {
		t.Errorf("%+v", m)
	}
	if want := map[string]int{"MatMul": 1, "If": 1, "my.Op": 1, "Reshape": 1, "Constant": 1, "Clip": 1}; !maps.Equal(m.Ops, want) {
		t.Errorf("nodes %v, want %v", m.Ops, want)
	}
	g, err := m.Graph()
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(g); err != nil {
		t.Fatal(err)
	}
	want := `graph sample(x float32[batch,4], cond bool[])
  m undefined[unknown] = MatMul(x, w:float32[4x3])
  y undefined[unknown] = If(cond)
    else_branch:
    graph ()
      e float32[?x3] = Clip(m, _, [1 2 3]) {list=[1 -2] mode="x" names=[a b]}
      return e
    then_branch:
    graph ()
      t float32[?x3] = Reshape(m, [-1 3]) {allowzero=1}
      return t
  z undefined[unknown], _ = my.Op(y) {alpha=0.5 t=uint8[2]}
  return y, z
`
	if got := g.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// No cut of a file may panic, and none may be taken for the whole model.
func TestParse_truncated(t *testing.T) {
	file := sample(t)
	for n := range file {
		m, err := Parse(file[:n], "")
		if err == nil {
			t.Errorf("%d of %d bytes: read as a model of %v", n, len(file), m.Ops)
			continue
		}
		if problem.ClassOf(err) != problem.Damaged {
			t.Errorf("%d bytes: %v is no damaged file", n, err)
		}
	}
}

func TestParse_truncatedRealModels(t *testing.T) {
	for _, c := range realCases(t) {
		b, err := os.ReadFile(c.model)
		if err != nil {
			t.Fatal(err)
		}
		for k := range 20 {
			n := len(b) * k / 20
			if _, err := Parse(b[:n:n], ""); problem.ClassOf(err) != problem.Damaged || err == nil {
				t.Errorf("%s cut at %d/20: %v", c.name, k, err)
			}
		}
	}
}

func TestParse_initializerIsASliceOfTheFile(t *testing.T) {
	b := NewBuilder("g", 17)
	b.Floats("w", tensor.Shape{2}, 1, 2)
	b.Output("w", tensor.Float32, "2")
	file, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(file, "")
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(file, tensor.Bytes([]float32{1, 2}))
	file[i] = 7
	if got := m.graph.initializers[0].t.Data[0]; got != 7 {
		t.Errorf("the initializer was copied")
	}
}

// Reading costs little memory beside the file itself.
func TestParse_memory(t *testing.T) {
	for _, c := range realCases(t) {
		b, err := os.ReadFile(c.model)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) < 4<<20 {
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := Parse(b, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Graph(); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(len(b))/4 {
			t.Errorf("%s: %d bytes allocated for a file of %d", c.name, n, len(b))
		} else {
			t.Logf("%s: %d bytes for %d", c.name, n, len(b))
		}
	}
}

// model wraps the fields of a GraphProto.
func model(graph ...[]byte) []byte {
	m := appendVarint(nil, modelIR, 8)
	m = appendMessage(m, modelOpset, appendVarint(nil, opsetVersion, 17))
	return appendMessage(m, modelGraph, bytes.Join(graph, nil))
}

func rawNodeOf(op, in, out string) []byte {
	var b Builder
	b.Node(op, in, out, nil)
	return b.body
}

func init2(fields ...[]byte) []byte {
	return appendMessage(nil, graphInitializer, append(appendString(nil, tensorName, "w"), bytes.Join(fields, nil)...))
}

func dims(d ...uint64) (b []byte) {
	for _, n := range d {
		b = appendVarint(b, tensorDims, n)
	}
	return b
}

func output(name string) []byte {
	var b Builder
	b.Output(name, tensor.Float32, "1")
	return b.body
}

// Each malformed file is refused with words that tell where and why, and nothing is allocated for what it claims.
func TestParse_malformed(t *testing.T) {
	float := appendVarint(nil, tensorType, 1)
	raw := func(n int) []byte { return appendMessage(nil, tensorRaw, make([]byte, n)) }
	external := func(kv ...string) []byte {
		b := appendVarint(nil, tensorLocation, 1)
		for i := 0; i < len(kv); i += 2 {
			b = appendMessage(b, tensorExternal, appendString(appendString(nil, entryKey, kv[i]), entryValue, kv[i+1]))
		}
		return b
	}
	deep := appendString(nil, graphName, "innermost")
	for range 200 {
		a := appendMessage(appendString(nil, attrName, "body"), attrG, deep)
		deep = appendMessage(nil, graphNode, appendMessage(appendString(nil, nodeOp, "If"), nodeAttr, a))
	}
	cases := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "empty file"},
		{"text", []byte("this is no model at all"), "wire type"},
		{"zeros", make([]byte, 64), "offset 0x0"},
		{"no graph", appendVarint(nil, modelIR, 8), "no graph"},
		{"no opset", appendMessage(appendVarint(nil, modelIR, 8), modelGraph, output("x")), "no opset_import"},
		{"wild opset", appendMessage(appendMessage(appendVarint(nil, modelIR, 8), modelOpset, appendVarint(nil, opsetVersion, 1<<40)), modelGraph, output("x")), "version 1099511627776"},
		{"no ir", model()[2:], "ir_version is 0"},
		{"two graphs", append(model(), model()...), "second graph"},
		{"wrong wire type", append(model(), appendString(nil, modelIR, "x")...), "wire type 2"},
		{"node without operator", model(appendMessage(nil, graphNode, appendString(nil, nodeName, "n"))), `graph.node[0] "n" has no op_type`},
		{"attribute without name", model(appendMessage(nil, graphNode, append(appendString(nil, nodeOp, "A"), appendMessage(nil, nodeAttr, appendVarint(nil, attrI, 1))...))), "graph.node[0].attribute[0] has no name"},
		{"attribute without value", model(appendMessage(nil, graphNode, append(appendString(nil, nodeOp, "A"), appendMessage(nil, nodeAttr, appendString(nil, attrName, "a"))...))), `attribute[0] "a" has no value`},
		{"short data", model(init2(float, dims(2, 2), raw(15))), `initializer[0] "w": offset 0x8: shape 2x2 of float32 needs 16 bytes, raw_data has 15`},
		{"long data", model(init2(float, dims(2), raw(16))), "needs 8 bytes, raw_data has 16"},
		{"terabytes", model(init2(float, dims(1<<20, 1<<20), raw(4))), "needs 4398046511104 bytes, raw_data has 4"},
		{"overflow", model(init2(float, dims(1<<40, 1<<40, 1<<40), raw(4))), "more than 2^62 elements"},
		{"negative dimension", model(init2(float, dims(1<<63), raw(4))), "dimension -9223372036854775808"},
		{"many dimensions", model(init2(float, dims(make([]uint64, 1000)...), raw(0))), "more than 64 dimensions"},
		{"no type", model(init2(dims(1), raw(4))), "no element type"},
		{"unknown type", model(init2(appendVarint(nil, tensorType, 99), dims(1), raw(4))), "element type 99"},
		{"few numbers", model(init2(appendVarint(nil, tensorType, 7), dims(3), appendMessage(nil, tensorInt64s, []byte{1, 2}))), "2 numbers for 24 bytes of int64"},
		{"broken number", model(init2(appendVarint(nil, tensorType, 7), dims(1), appendMessage(nil, tensorInt64s, bytes.Repeat([]byte{0x80}, 10)))), "0 numbers for 8 bytes"},
		{"broken number at the end", model(init2(appendVarint(nil, tensorType, 7), dims(1), appendMessage(nil, tensorInt64s, []byte{1, 0x80}))), "a number ends early"},
		{"odd floats", model(init2(float, dims(1), appendMessage(nil, tensorFloats, make([]byte, 5)))), "no whole number"},
		{"nameless initializer", model(appendMessage(nil, graphInitializer, bytes.Join([][]byte{float, raw(4)}, nil))), "has no name"},
		{"deep graphs", model(deep), "graphs inside each other"},
		{"external without folder", model(init2(float, dims(1), external("location", "w.bin"))), "not read from a folder"},
		{"external out of the folder", model(init2(float, dims(1), external("location", "../w.bin"))), "out of the model's folder"},
		{"external absolute", model(init2(float, dims(1), external("location", "/etc/passwd"))), "out of the model's folder"},
		{"external length", model(init2(float, dims(1), external("location", "w.bin", "length", "5"))), "the shape needs 4 bytes, length is 5"},
		{"external offset", model(init2(float, dims(1), external("location", "w.bin", "offset", "x"))), `offset is "x"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(c.file, "")
			if err == nil || !strings.Contains(err.Error(), c.want) || problem.ClassOf(err) != problem.Damaged {
				t.Errorf("%v; want damaged with %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}

func TestGraph_malformed(t *testing.T) {
	cases := []struct {
		name string
		file []byte
		want string
	}{
		{"undefined", model(rawNodeOf("Relu", "q", "y"), output("y")), `node Relu_0 uses value "q", which nothing defines`},
		{"undefined output", model(rawNodeOf("Relu", "x", "y"), appendMessage(nil, graphInput, (&Builder{}).valueInfo("x", 1, "1")), output("z")), `output "z": no node makes it`},
		{"cycle", model(rawNodeOf("A", "c", "a"), rawNodeOf("B", "a", "b"), rawNodeOf("C", "b", "c"), output("c")), "cycle: each of these nodes needs the next, and the last the first: A_0, C_0, B_0"},
		{"own output", model(rawNodeOf("A", "a", "a"), output("a")), "the last the first: A_0"},
		{"two makers", model(rawNodeOf("A", "", "a"), rawNodeOf("B", "", "a"), output("a")), `value "a" is an output of two nodes, A_0 and B_0`},
		{"input made", model(appendMessage(nil, graphInput, (&Builder{}).valueInfo("x", 1, "1")), rawNodeOf("A", "", "x"), output("x")), `node A_0: value "x" is defined twice`},
		{"two inputs", model(appendMessage(nil, graphInput, (&Builder{}).valueInfo("x", 1, "1")), appendMessage(nil, graphInput, (&Builder{}).valueInfo("x", 1, "1")), output("x")), `value "x" is defined twice`},
		{"input without type", model(appendMessage(nil, graphInput, appendString(nil, valueName, "x")), rawNodeOf("A", "x", "y"), output("y")), `input "x" has no element type`},
		{"no outputs", model(rawNodeOf("A", "", "a")), "has no outputs"},
		{"if without branches", model(rawNodeOf("If", "", "a"), output("a")), "If without then_branch"},
		{"empty constant", model(rawNodeOf("Constant", "", "a"), output("a")), "a Constant has one output and one attribute"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, err := Parse(c.file, "")
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Graph()
			if err == nil || !strings.Contains(err.Error(), c.want) || problem.ClassOf(err) != problem.Damaged {
				t.Errorf("%v; want damaged with %q", err, c.want)
			}
		})
	}
}

// Nodes may stand in any order; a branch that needs a value counts as a use of it.
func TestGraph_sorts(t *testing.T) {
	b := NewBuilder("g", 17)
	b.Input("x", tensor.Float32, "1")
	b.Input("cond", tensor.Bool, "")
	var then, els Builder
	then.Node("Relu", "b", "t", nil)
	then.Output("t", tensor.Float32, "1")
	els.Node("Abs", "x", "e", nil)
	els.Output("e", tensor.Float32, "1")
	b.Node("If", "cond", "y", attrs{"then_branch": &then, "else_branch": &els})
	b.Node("Neg", "a", "b", nil)
	b.Node("Exp", "x", "a", nil)
	b.Output("y", tensor.Float32, "1")
	file, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(file, "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.Graph()
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(g); err != nil {
		t.Error(err)
	}
	if g.Nodes[0].Op != "Exp" || g.Nodes[1].Op != "Neg" || g.Nodes[2].Op != "If" {
		t.Errorf("order %v", g)
	}
}

// A long chain in reverse order must not recurse or take quadratic time.
func TestGraph_longReversedChain(t *testing.T) {
	const n = 50000
	var nodes []byte
	name := func(i int) string { return "v" + strconv.Itoa(i) }
	for i := n; i > 0; i-- {
		nodes = append(nodes, rawNodeOf("Relu", name(i-1), name(i))...)
	}
	m, err := Parse(model(appendMessage(nil, graphInput, (&Builder{}).valueInfo(name(0), 1, "1")), nodes, output(name(n))), "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.Graph()
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Nodes) != n || g.Nodes[0].In[0] != g.Inputs[0] {
		t.Errorf("%d nodes", len(g.Nodes))
	}
}

func TestRead_paths(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.onnx")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "missing.onnx"): "no such file",
		dir:                                "is a directory",
		empty:                              "empty file",
	} {
		_, err := Read(path)
		if err == nil || problem.ClassOf(err) != problem.Damaged || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v; want damaged with %q", path, err, want)
		}
	}
}

func TestParse_unsupportedIsNotDamaged(t *testing.T) {
	types := appendVarint(appendString(nil, attrName, "which"), attrType, kindTensors)
	file := model(appendMessage(nil, graphNode, appendMessage(appendString(appendString(nil, nodeOp, "Relu"), nodeOutput, "y"), nodeAttr, types)), output("y"))
	_, err := Parse(file, "")
	if problem.ClassOf(err) != problem.Failed || !errors.Is(err, kernels.ErrUnsupported) || !strings.Contains(err.Error(), "which") {
		t.Errorf("%v", err)
	}
}
