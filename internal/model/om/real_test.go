package om

import (
	"strings"
	"testing"

	"npu/internal/problem"
)

// TestRead_facts holds real files against what is known of them.
func TestRead_facts(t *testing.T) {
	for _, c := range []struct {
		file            string
		soc             string
		memory, weights int64
		ops, tasks      int
		kernels         int
		inputs, outputs string
		op              string // one that must be there
	}{
		{"nanotrack_backbone_127.om", "Ascend310B4", 867328, 1527808, 174, 213, 79, "input float32[1 3 127 127]", "output float32[1 96 8 8]", "HardSigmoid"},
		{"nanotrack_head.om", "Ascend310B4", 563200, 858624, 173, 159, 34, "input1 float32[1 96 8 8] input2 float32[1 96 16 16]",
			"output1 float32[1 2 15 15] output2 float32[1 4 15 15]", "FullyConnection"},
		{"hh_om.om", "Ascend310", 6014464, 386560, 46, 30, 26, "input float32[100 784]", "generation/output float32[100 28 28 1]", "FrameworkOp"},
		{"gemm_single_op.om", "Ascend310", 5120, 512, 7, 4, 1, "GEMM_in_0 float16[16 16] GEMM_in_1 float16[16 16] GEMM_in_2 float16[16 16] GEMM_in_3 float16[] GEMM_in_4 float16[]",
			"output_0_GEMM_0 float16[16 16]", "GEMM"},
		{"meg_model.om", "", 150528, 9728, 8, 8, 5, "d float32[4 3 16 16]", "conv1 float32[4 17 14 14]", "Conv2D"},
		{"meg_model_dyn.om", "", 361984, 9728, 33, 39, 0, "d float32[-1 3 16 16] ascend_mbatch_shape_data int64[1]", "conv1 float32[8 17 14 14]", "StreamSwitchN"},
		{"meg_model_yuv.om", "", 319488, 9728, 25, 31, 0, "d uint8[-1 24 16 1] ascend_mbatch_shape_data int64[1]", "conv1 float32[8 17 14 14]", "Merge"},
		{"2d_2048_w_stage1_pad0.om", "", 4204544, 25600, 10, 9, 6, "input float32[1 1 1 2048]", "output float32[1 256 1 2048]", "Conv2D"},
		{"root_model.om", "", -1, -1, 3, 0, 0, "_arg_0 int32[16]", "", "FakeOpNpu"},
	} {
		m := parseReal(t, c.file)
		if soc, _ := m.Soc(); soc != c.soc {
			t.Errorf("%s: chip %q, expected %q", c.file, soc, c.soc)
		}
		for name, want := range map[string]int64{"memory_size": c.memory, "weight_size": c.weights} {
			if n, ok := m.Int(name); want >= 0 && (!ok || n != want) {
				t.Errorf("%s: %s is %d, expected %d", c.file, name, n, want)
			}
		}
		sum := func(n map[string]int) (s int) {
			for _, v := range n {
				s += v
			}
			return s
		}
		if n := sum(m.Ops()); n != c.ops {
			t.Errorf("%s: %d operators, expected %d", c.file, n, c.ops)
		}
		if n := sum(m.TaskTypes()); n != c.tasks {
			t.Errorf("%s: %d tasks, expected %d", c.file, n, c.tasks)
		}
		if n := m.KernelCount(); c.kernels > 0 && n != c.kernels {
			t.Errorf("%s: %d kernels, expected %d", c.file, n, c.kernels)
		}
		if got := portText(m.Inputs()); got != c.inputs {
			t.Errorf("%s: inputs %s, expected %s", c.file, got, c.inputs)
		}
		if got := portText(m.Outputs()); c.outputs != "" && got != c.outputs {
			t.Errorf("%s: outputs %s, expected %s", c.file, got, c.outputs)
		}
		if m.Ops()[c.op] == 0 {
			t.Errorf("%s: no %s", c.file, c.op)
		}
	}
}

func portText(list []Port) string {
	var s []string
	for _, p := range list {
		s = append(s, p.Name+" "+p.DType+strings.ReplaceAll(strings.ReplaceAll(intsText(p.Shape), "[", "["), "]", "]"))
	}
	return strings.Join(s, " ")
}

func intsText(v []int64) string {
	l := List{Ints: v}
	return l.String()
}

// TestRead_tasks: every kernel task of new files belongs to an operator whose kernel is in the store.
func TestRead_tasks(t *testing.T) {
	for _, f := range []string{"nanotrack_backbone_127.om", "nanotrack_head.om", "hh_om.om", "meg_model_dyn.om"} {
		g := parseReal(t, f).Groups[0]
		n := 0
		for i := range g.Tasks {
			k := &g.Tasks[i]
			if k.Type != TaskKernel {
				continue
			}
			o := g.OpOf(k)
			if o == nil {
				t.Fatalf("%s: task %d has no operator", f, i)
			}
			if !strings.Contains(k.Kernel, o.Name) {
				t.Errorf("%s: task %d runs %q for operator %q", f, i, k.Kernel, o.Name)
			}
			if g.KernelOf(o) != nil {
				n++
			}
		}
		if n < len(g.Kernels)/2 {
			t.Errorf("%s: %d kernel tasks found their binary, the store has %d", f, n, len(g.Kernels))
		}
	}
}

// TestRead_nested: a flow model holds two complete ones; a dynamic one names its subgraphs twice compressed.
func TestRead_nested(t *testing.T) {
	m := parseReal(t, "flow_model.om")
	if len(m.Nested) != 2 || m.Nested[0].Type != "NPU" || m.Nested[1].Type != "HOST_CPU" || m.Nested[0].Bytes != 2231 || m.Nested[0].Model == nil {
		t.Errorf("nested models %+v", m.Nested)
	}
	if _, err := m.Build(nil); err == nil || problem.ClassOf(err) != problem.Failed || !strings.Contains(err.Error(), "flow model") {
		t.Errorf("building a flow model: %v", err)
	}
	m = parseReal(t, "dynamic_and_static_graph_without_unfold.om")
	if len(m.Groups) != 3 || m.Header.Dynamic != 1 {
		t.Fatalf("%d models", len(m.Groups))
	}
	m.eachOp(func(o *OpDef) {
		for i := range o.Attrs {
			if strings.HasPrefix(o.Attrs[i].Key, "\x00") {
				t.Errorf("operator %q keeps the compressed name %q", o.Name, o.Attrs[i].Key)
			}
		}
	})
	if lib := op(m.Groups[1].Def.Graphs[0], "add").Attrs.Str("_ge_attr_op_kernel_lib_name"); lib != "aicpu_ascend_kernel" {
		t.Errorf("kernel library of add is %q", lib)
	}
}

// TestIndex reads compressed names as the format describes them.
func TestIndex(t *testing.T) {
	for key, want := range map[string]int{"\x00\x06": 5, "\x00\x03\x02": 2 + 127, "\x00\x01": 0, "\x00\x7f": 126} {
		if n, ok := index(key); !ok || n != want {
			t.Errorf("%q is %d, expected %d", key, n, want)
		}
	}
	for _, key := range []string{"", "plain", "\x00", "\x00\x01\x00", "\x00\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01"} {
		if n, ok := index(key); ok {
			t.Errorf("%q is taken as %d", key, n)
		}
	}
}
