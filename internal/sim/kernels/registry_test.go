package kernels

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"npu/internal/tensor"
)

// TestRegistry_complete: the registry names the operators of the table, those that graphs make themselves left out, and
// knows the types by their names.
func TestRegistry_complete(t *testing.T) {
	listed := map[string]bool{}
	for _, e := range Registry() {
		if listed[e.Op] {
			t.Errorf("%s is listed twice", e.Op)
		}
		listed[e.Op] = true
		if e.Since < 1 || e.Since > NewestOpset {
			t.Errorf("%s since opset %d", e.Op, e.Since)
		}
		if _, err := e.types(); err != nil {
			t.Errorf("%s: %v", e.Op, err)
		}
	}
	for op := range table {
		own := op == "FusedConv" || op == "FusedMatMul" || op == "Silu"
		if listed[op] == own {
			t.Errorf("%s is computed, and listed: %v", op, listed[op])
		}
	}
}

// types are the element types that an entry claims.
func (e Entry) types() ([]tensor.DType, error) {
	var out []tensor.DType
	for w := range strings.FieldsSeq(e.Types) {
		switch w {
		case "any", "bytes":
			for d := tensor.Float32; d <= tensor.Uint2; d++ {
				if d != tensor.String && (w == "any" || d.Size() > 0) {
					out = append(out, d)
				}
			}
		case "floating":
			out = append(out, tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float64)
		case "integer":
			out = append(out, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64)
		default:
			d, err := tensor.ParseDType(w)
			if err != nil {
				return nil, err
			}
			out = append(out, d)
		}
	}
	return out, nil
}

// TestRegistry_typesCompile: each operator compiles with each type that the registry claims, on the operands of the ONNX
// project's own cases with another type.
func TestRegistry_typesCompile(t *testing.T) {
	claims := map[string][]tensor.DType{}
	for _, e := range Registry() {
		claims[e.Op], _ = e.types() // TestRegistry_complete checks them
	}
	compiled, tried := map[string]map[tensor.DType]bool{}, map[string]bool{}
	for _, file := range []string{"node.zip", "pytorch-operator.zip"} {
		cases := openCases(t, file)
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			c := cases[name]
			m, err := readModel(c["model.onnx"])
			if err != nil || len(m.nodes) != 1 {
				continue
			}
			for i, in := range m.inputs {
				if v, _, err := readTensor(c["test_data_set_0/"+fmt.Sprintf("input_%d.pb", i)]); err == nil {
					m.values[in] = v
				}
			}
			n := m.nodes[0]
			if n.domain != "" {
				n.op = n.domain + "." + n.op
			}
			if _, ok := Lookup(n.op); !ok || claims[n.op] == nil {
				continue // graphs expand it, or it is not computed
			}
			tried[n.op] = true
			if compiled[n.op] == nil {
				compiled[n.op] = map[tensor.DType]bool{}
			}
			for _, d := range claims[n.op] {
				if s := retyped(n, m, d); s != nil && Infer(s) == nil {
					_, err := Compile(s)
					compiled[n.op][d] = compiled[n.op][d] || err == nil
				}
			}
		}
	}
	for op := range tried {
		if op == "NonZero" || op == "Unique" || op == "Range" || op == "Upsample" {
			continue // without values, which have the old type, their results have no size
		}
		for _, d := range claims[op] {
			if !compiled[op][d] {
				t.Errorf("%s of %v is claimed and does not compile", op, d)
			}
		}
	}
}

// retyped is a node with its first operand, and those of the same type, in another type.
func retyped(n *testNode, m *testModel, d tensor.DType) *Spec {
	s := n.spec(m.values, m.opset)
	if len(s.In) == 0 {
		return nil
	}
	first := s.In[0].DType
	for i := range s.In {
		if in := &s.In[i]; in.DType == first && first != d && (i == 0 || !isIndex(first)) {
			in.DType, in.Const = d, nil
		}
	}
	return s
}
