package onnx

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"npu/internal/model/graph"
	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// functionOf writes a FunctionProto of domain "f".
func functionOf(name string, opset uint64, in, out string, nodes ...[]byte) []byte {
	b := appendString(appendString(nil, funcName, name), funcDomain, "f")
	for _, s := range strings.Fields(in) {
		b = appendString(b, funcInput, s)
	}
	for _, s := range strings.Fields(out) {
		b = appendString(b, funcOutput, s)
	}
	for _, n := range nodes {
		b = append(b, retag(n)...)
	}
	b = appendMessage(b, funcOpset, appendVarint(nil, opsetVersion, opset))
	return appendMessage(nil, modelFunctions, b)
}

// retag turns a node of a graph (field 1) into one of a function (field 7).
func retag(n []byte) []byte {
	n = bytes.Clone(n)
	n[0] = funcNode<<3 | 2
	return n
}

func refNode(op, in, out, attr, ref string) []byte {
	var b Builder
	b.Node(op, in, out, nil)
	m := appendString(appendString(nil, attrName, attr), attrRef, ref)
	m = appendVarint(m, attrType, kindFloat)
	body := b.body[2:] // one byte tag, one byte length
	return appendMessage(nil, graphNode, appendMessage(bytes.Clone(body), nodeAttr, m))
}

func TestCall_inlines(t *testing.T) {
	b := NewBuilder("g", 17)
	b.Input("x", tensor.Float32, "2")
	b.Node("f.Twice", "x", "m", attrs{"slope": float32(0.25)})
	b.Node("f.Twice", "m", "y", nil)
	b.Output("y", tensor.Float32, "2")
	file, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	file = append(file, functionOf("Twice", 17, "a", "c", refNode("LeakyRelu", "b", "c", "alpha", "slope"), rawNodeOf("f.Inner", "a", "b"))...)
	file = append(file, functionOf("Inner", 17, "a", "b", rawNodeOf("Neg", "a", "b"))...)
	m, err := Parse(file, "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.Graph()
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Check(g); err != nil {
		t.Fatal(err)
	}
	want := `graph g(x float32[2])
  f.Twice_0/b undefined[unknown] = Neg(x)
  m undefined[unknown] = LeakyRelu(f.Twice_0/b) {alpha=0.25}
  f.Twice_1/b undefined[unknown] = Neg(m)
  y undefined[unknown] = LeakyRelu(f.Twice_1/b)
  return y
`
	if got := g.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if g.Nodes[0].Name != "f.Twice_0/f.Inner_0/Neg_0" {
		t.Errorf("node is called %s", g.Nodes[0].Name)
	}
}

func TestCall_refused(t *testing.T) {
	call := func(in string) []byte { return model(rawNodeOf("f.F", in, "y"), output("y")) }
	doubling := call("")
	for i := range 40 {
		name := string(rune('A' + i))
		inner := "f." + string(rune('A'+i+1))
		doubling = append(doubling, functionOf(name, 17, "", "y", rawNodeOf(inner, "", "x"), rawNodeOf(inner, "", "y"))...)
	}
	for _, c := range []struct {
		name  string
		file  []byte
		class problem.Class
		want  string
	}{
		{"itself", append(call(""), functionOf("F", 17, "", "y", rawNodeOf("f.F", "", "y"))...), problem.Damaged, "inside itself"},
		{"doubling", doubling, problem.Damaged, "unfold to far more nodes"},
		{"too many inputs", append(call("y y"), functionOf("F", 17, "a", "y", rawNodeOf("Neg", "a", "y"))...), problem.Damaged, "cycle"},
		{"other opset", append(call(""), functionOf("F", 16, "", "y", rawNodeOf("Neg", "", "y"))...), problem.Failed, "written for opset 16 of ai.onnx, the model for 17"},
		{"no output", append(call(""), functionOf("F", 17, "", "y", rawNodeOf("Neg", "", "z"))...), problem.Damaged, `output "y": no node makes it`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Parse(c.file, "")
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Graph()
			if err == nil || problem.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want class %d with %q", err, c.class, c.want)
			}
			if (c.class == problem.Failed) != errors.Is(err, kernels.ErrUnsupported) {
				t.Errorf("%v: wrong mark", err)
			}
		})
	}
}
