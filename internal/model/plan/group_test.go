package plan

import (
	"bytes"
	"testing"

	"npu/internal/model/graph"
	"npu/internal/sim/cost"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// grouped is one kernel of a convolution with bias, a Relu and a sum with another tensor, in float16; the sum's second
// operand is also seen under another shape.
func grouped(t *testing.T) *graph.Graph {
	t.Helper()
	val := func(name string, s ...int) *graph.Value {
		return &graph.Value{Name: name, DType: tensor.Float16, Shape: s, Known: true}
	}
	constant := func(name string, s ...int) *graph.Value {
		x, err := tensor.New(tensor.Float16, s)
		if err != nil {
			t.Fatal(err)
		}
		for i := range tensor.View[uint16](x.Data) {
			tensor.View[uint16](x.Data)[i] = tensor.Float32ToHalf(float32(i%5) - 2)
		}
		v := val(name, s...)
		v.Const = x
		return v
	}
	x, z := val("x", 1, 3, 8, 8), val("z", 1, 4, 64)
	w, b := constant("w", 4, 3, 3, 3), constant("b", 4)
	y, r, zz, sum := val("y", 1, 4, 8, 8), val("r", 1, 4, 8, 8), val("zz", 1, 4, 8, 8), val("sum", 1, 4, 8, 8)
	shape, err := tensor.FromInt64s(tensor.Shape{4}, []int64{1, 4, 8, 8})
	if err != nil {
		t.Fatal(err)
	}
	list := &graph.Value{Name: "shape", DType: tensor.Int64, Shape: tensor.Shape{4}, Known: true, Const: shape}
	body := &graph.Graph{Opset: 17, Outputs: []*graph.Value{sum, zz}}
	add := func(name, op string, out *graph.Value, a kernels.Attrs, in ...*graph.Value) {
		n := &graph.Node{Name: name, Op: op, In: in, Out: []*graph.Value{out}, Attrs: a}
		out.Producer = n
		body.Nodes = append(body.Nodes, n)
	}
	add("conv", "Conv", y, kernels.Attrs{"pads": []int64{1, 1, 1, 1}}, x, w, b)
	add("relu", "Relu", r, kernels.Attrs{}, y)
	add("view", "Reshape", zz, kernels.Attrs{}, z, list)
	add("add", "Add", sum, kernels.Attrs{}, r, zz)
	g := &graph.Graph{Name: "g", Opset: 17, Inputs: []*graph.Value{x, z}}
	n := &graph.Node{Name: "fused", Op: graph.OpGroup, In: []*graph.Value{x, w, b, z, list}, Attrs: kernels.Attrs{"type": "Conv2D", "blocks": int64(3)}, Bodies: map[string]*graph.Graph{graph.GroupBody: body}}
	for _, v := range body.Outputs {
		o := val(v.Name+":out", v.Shape...)
		o.Producer = n
		n.Out = append(n.Out, o)
	}
	g.Nodes, g.Outputs = []*graph.Node{n}, n.Out
	return g
}

// TestGroupKernel: a group computes what its operators compute one by one, as one task of the file's type, and takes
// no memory in the steady state.
func TestGroupKernel(t *testing.T) {
	g := grouped(t)
	if err := graph.Check(g); err != nil {
		t.Fatal(err)
	}
	in := map[string]*tensor.Tensor{}
	for _, v := range g.Inputs {
		x, err := tensor.New(v.DType, v.Shape)
		if err != nil {
			t.Fatal(err)
		}
		for i := range tensor.View[uint16](x.Data) {
			tensor.View[uint16](x.Data)[i] = tensor.Float32ToHalf(float32(i%11)/4 - 1)
		}
		in[v.Name] = x
	}
	want, err := graph.Eval(g, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := g.Nodes[0]
	k, err := groupKernel(n)
	if err != nil {
		t.Fatal(err)
	}
	if k.Type != "Conv2D" || k.Core != cost.AIC || k.Blocks != 3 || k.Work.M != 64 || k.Work.N != 4 || k.Work.K != 27 || k.Work.MacType != tensor.Float16 {
		t.Errorf("kernel %s on %v, %d blocks, work %+v", k.Type, k.Core, k.Blocks, k.Work)
	}
	if k.Work.WriteBytes != 2*2*256 || k.Work.ReadBytes != int64(2*(3*64+4*27+4+256)+32) {
		t.Errorf("%d bytes read, %d written", k.Work.ReadBytes, k.Work.WriteBytes)
	}
	x := &kernels.Exec{Workspace: make([]byte, k.Workspace)}
	for i, v := range n.In {
		data := in[v.Name]
		if v.Const != nil {
			data = v.Const
		}
		b := data.Data
		for _, w := range k.Weights {
			if w.Input == i {
				b = make([]byte, w.Bytes)
				w.Pack(b, data.Data)
			}
		}
		x.In = append(x.In, b)
	}
	for _, v := range n.Out {
		x.Out = append(x.Out, make([]byte, v.Shape.Count()*2))
	}
	if err := k.Run(x); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !bytes.Equal(x.Out[i], want[i].Data) {
			t.Errorf("output %d differs", i)
		}
	}
	run := func() { _ = k.Run(x) }
	if a := min(testing.AllocsPerRun(20, run), testing.AllocsPerRun(20, run)); a > 0 { // twice: garbage collection empties the pools
		t.Errorf("%v allocations a run", a)
	}
}

// TestGroupKernel_opaque: without a body there is time and no result.
func TestGroupKernel_opaque(t *testing.T) {
	g := grouped(t)
	n := g.Nodes[0]
	n.Bodies = nil
	n.Attrs = kernels.Attrs{"type": "FakeOp", "core": "AICPU"}
	k, err := groupKernel(n)
	if err != nil {
		t.Fatal(err)
	}
	if k.Core != cost.AICPU || k.Work.ScalarOps == 0 || k.Run(&kernels.Exec{}) == nil {
		t.Errorf("core %v, work %+v", k.Core, k.Work)
	}
	if _, err := Compile(g); err != nil {
		t.Errorf("a plan with it: %v", err)
	}
	if _, err := graph.Eval(g, nil, nil); err == nil {
		t.Error("it was computed")
	}
}
