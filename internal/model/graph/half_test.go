package graph

import (
	"math"
	"testing"

	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// TestHalf: data becomes float16 between conversions at the border, parameters and other types stay, finite numbers
// stay finite.
func TestHalf(t *testing.T) {
	x := &Value{Name: "x", DType: tensor.Float32, Shape: tensor.Shape{1, 1, 2, 2}, Known: true}
	c := func(name string, s tensor.Shape, v ...float32) *Value {
		k, err := tensor.FromFloat32s(s, v)
		if err != nil {
			t.Fatal(err)
		}
		return &Value{Name: name, DType: tensor.Float32, Shape: s, Known: true, Const: k}
	}
	g := &Graph{Name: "g", Opset: 17, Inputs: []*Value{x}}
	add := func(name, op string, a kernels.Attrs, in ...*Value) *Value {
		n := &Node{Name: name, Op: op, In: in, Attrs: a, Origin: []string{name}}
		n.Out = []*Value{{Name: name, Producer: n}}
		g.Nodes = append(g.Nodes, n)
		return n.Out[0]
	}
	y := add("mul", "Mul", kernels.Attrs{}, x, c("k", tensor.Shape{1}, -math.MaxFloat32))
	z := add("resize", "Resize", kernels.Attrs{"mode": "nearest"}, y, nil, c("scales", tensor.Shape{4}, 1, 1, 2, 2))
	g.Outputs = []*Value{z}
	if _, err := Infer(g); err != nil {
		t.Fatal(err)
	}
	if err := Half(g); err != nil {
		t.Fatal(err)
	}
	if g.Inputs[0].DType != tensor.Float32 || g.Outputs[0].DType != tensor.Float32 || g.Outputs[0].Name != "resize" {
		t.Errorf("border is %v, %v %s", g.Inputs[0].DType, g.Outputs[0].DType, g.Outputs[0].Name)
	}
	ops := Ops(g)
	if ops["Cast"] != 2 {
		t.Errorf("operators %v", ops)
	}
	for _, n := range g.Nodes {
		switch n.Op {
		case "Mul":
			if n.Out[0].DType != tensor.Float16 || tensor.HalfToFloat32(tensor.View[uint16](n.In[1].Const.Data)[0]) != -65504 {
				t.Errorf("Mul is %v with %v", n.Out[0].DType, n.In[1].Const)
			}
		case "Resize":
			if n.In[2].DType != tensor.Float32 || n.Out[0].DType != tensor.Float16 {
				t.Errorf("Resize to %v with scales of %v", n.Out[0].DType, n.In[2].DType)
			}
		}
	}
	one, err := tensor.FromFloat32s(x.Shape, []float32{0, 0.5, -0.25, 2})
	if err != nil {
		t.Fatal(err)
	}
	out, err := Eval(g, map[string]*tensor.Tensor{"x": one}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := tensor.View[float32](out[0].Data)
	if got[0] != 0 || got[2] != -32752 || !math.IsInf(float64(got[len(got)-1]), -1) {
		t.Errorf("result %v", got)
	}
}
