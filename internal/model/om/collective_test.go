package om

import (
	"bytes"
	"testing"

	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// Operators of communication as a compiler of the field writes them: attributes by their names in the graph engine, HCCL
// tasks. The file is one of ours under a command line that is not ours, so that nothing but those is looked at.
func TestBuild_collectives(t *testing.T) {
	f := func(name string, dims ...int) *graph.Value {
		return &graph.Value{Name: name, DType: tensor.Float16, Shape: dims, Known: true}
	}
	x, s, g, r, in := f("x", 4, 3), f("s", 4, 3), f("g", 8, 3), f("r", 4, 3), f("in", 7)
	nodes := []*graph.Node{
		{Name: "sum", Op: graph.AllReduce, In: []*graph.Value{x}, Out: []*graph.Value{s}, Attrs: kernels.Attrs{"reduction": "sum", "group": "hccl_world_group"}},
		{Name: "all", Op: graph.AllGather, In: []*graph.Value{s}, Out: []*graph.Value{g}, Attrs: kernels.Attrs{"rank_size": int64(2)}},
		{Name: "part", Op: graph.ReduceScatter, In: []*graph.Value{g}, Out: []*graph.Value{r}, Attrs: kernels.Attrs{"rank_size": int64(2), "reduction": "max"}},
		{Name: "away", Op: graph.Send, In: []*graph.Value{s}, Attrs: kernels.Attrs{"dest_rank": int64(1), "sr_tag": int64(5)}},
		{Name: "here", Op: graph.Receive, Out: []*graph.Value{in}, Attrs: kernels.Attrs{"src_rank": int64(1), "sr_tag": int64(6), "shape": []int64{7}, "dtype": int64(10)}},
	}
	p := &Program{Name: "m", Soc: "Ascend910B3", Command: "m.onnx"}
	at := map[string]Placed{}
	var tasks []PlannedTask
	for _, n := range nodes {
		for _, v := range n.Out {
			v.Producer = n
		}
		at[n.Name] = Placed{Type: n.Op, Workspace: -1}
		tasks = append(tasks, PlannedTask{Type: TaskHCCL, Node: n.Name})
	}
	p.Gears = []Gear{{Graph: &graph.Graph{Name: "m", Opset: 17, Inputs: []*graph.Value{x}, Outputs: []*graph.Value{r, in}, Nodes: nodes},
		Nodes: at, Tasks: tasks, Inputs: []int64{0}, Outputs: []int64{512, 1024}, Ports: 1536}}
	file, err := Write(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range []bool{true, false} {
		b := file
		if !own {
			b = bytes.ReplaceAll(file, []byte(ourCommand), []byte("atc compile"))
		}
		m, err := Parse(b)
		if err != nil || len(m.Problems) > 0 || m.Ours() != own {
			t.Fatal(err, m.Problems)
		}
		var kinds []string
		for _, x := range m.Groups[0].Tasks {
			if x.Type == TaskHCCL {
				kinds = append(kinds, x.Collective+" "+m.Groups[0].OpOf(&x).Name)
			}
		}
		if want := []string{"HcomAllReduce sum", "HcomAllGather all", "HcomReduceScatter part", "HcomSend away", "HcomReceive here"}; !equal(kinds, want) {
			t.Errorf("tasks %q", kinds)
		}
		if g := m.Groups[0].Def.Attrs.Strs("hcom_group_names"); !equal(g, []string{"hccl_world_group"}) {
			t.Errorf("groups %q", g)
		}
		built, err := m.Build(nil)
		if err != nil || len(built.Timed) > 0 {
			t.Fatal(err, built.Timed)
		}
		if _, err := graph.Infer(built.Graph); err != nil {
			t.Fatal(err)
		}
		found := map[string]*graph.Collective{}
		for _, n := range built.Graph.Nodes {
			if graph.IsCollective(n.Op) {
				if found[n.Name], err = graph.CollectiveOf(n); err != nil {
					t.Error(err)
				}
			}
		}
		for _, n := range nodes {
			want, err := graph.CollectiveOf(n)
			if err != nil {
				t.Fatal(err)
			}
			if got := found[n.Name]; got == nil || *got != *want {
				t.Errorf("own %v: %s is %+v, want %+v", own, n.Name, got, want)
			}
		}
		if out := built.Graph.Outputs; len(out) != 2 || !out[0].Shape.Equal(r.Shape) || !out[1].Shape.Equal(in.Shape) || out[1].DType != tensor.Float16 {
			t.Errorf("outputs %v", out)
		}
	}
}
