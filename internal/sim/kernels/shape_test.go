package kernels

import (
	"errors"
	"testing"

	"npu/internal/tensor"
)

// TestInfer_unknownDimensions: what can be said of a result when dimensions or values are not known.
func TestInfer_unknownDimensions(t *testing.T) {
	f := func(dims ...int) Desc { return Desc{DType: tensor.Float32, Shape: dims} }
	list := func(n int) Desc { return Desc{DType: tensor.Int64, Shape: tensor.Shape{n}} }
	known := func(v ...int) Desc {
		c := intList(t, v...)
		return Desc{DType: tensor.Int64, Shape: c.Shape, Const: c}
	}
	cases := []struct {
		op    string
		attrs Attrs
		in    []Desc
		want  tensor.Shape
	}{
		{"Add", nil, []Desc{f(-1, 3), f(1, 3)}, tensor.Shape{-1, 3}},
		{"Add", nil, []Desc{f(-1, 3), f(5, 1)}, tensor.Shape{5, 3}},
		{"Add", nil, []Desc{f(-1), f(-1)}, tensor.Shape{-1}},
		{"Reshape", nil, []Desc{f(-1, 12, 8, 4), known(0, 0, -1)}, tensor.Shape{-1, 12, 32}},
		{"Reshape", nil, []Desc{f(-1, 12, 8), known(0, -1)}, tensor.Shape{-1, 96}},
		{"Reshape", nil, []Desc{f(-1, 12, 8), known(-1, 8)}, tensor.Shape{-1, 8}},
		{"Reshape", nil, []Desc{f(2, 6), list(3)}, tensor.Shape{-1, -1, -1}},
		{"Flatten", nil, []Desc{f(-1, 3, 4)}, tensor.Shape{-1, 12}},
		{"Concat", Attrs{"axis": int64(0)}, []Desc{f(-1, 3), f(2, -1)}, tensor.Shape{-1, 3}},
		{"Slice", nil, []Desc{f(-1, 9), known(1), known(3), known(1)}, tensor.Shape{-1, 2}},
		{"Slice", nil, []Desc{f(5, 9), list(1), list(1), known(1)}, tensor.Shape{5, -1}},
		{"Gather", nil, []Desc{f(7, 3), {DType: tensor.Int64, Shape: tensor.Shape{-1, 2}}}, tensor.Shape{-1, 2, 3}},
		{"Expand", nil, []Desc{f(1, 3), list(3)}, tensor.Shape{-1, -1, 3}},
		{"ReduceSum", nil, []Desc{f(2, 3), list(1)}, tensor.Shape{-1, -1}},
		{"ReduceSum", Attrs{"keepdims": int64(0)}, []Desc{f(2, -1, 4), known(0)}, tensor.Shape{-1, 4}},
		{"Unsqueeze", nil, []Desc{f(-1), known(0, 2)}, tensor.Shape{1, -1, 1}},
		{"Squeeze", nil, []Desc{f(1, -1), known(0)}, tensor.Shape{-1}},
		{"Shape", nil, []Desc{f(-1, 3)}, tensor.Shape{2}},
		{"NonZero", nil, []Desc{f(4, 4)}, tensor.Shape{2, -1}},
		{"TopK", nil, []Desc{f(-1, 9), list(1)}, tensor.Shape{-1, -1}},
		{"Pad", nil, []Desc{f(-1, 9), known(0, 1, 0, 2)}, tensor.Shape{-1, 12}},
		{"Tile", nil, []Desc{f(-1, 9), known(1, 2)}, tensor.Shape{-1, 18}},
		{"OneHot", nil, []Desc{list(-1), known(5), f(2)}, tensor.Shape{-1, 5}},
		{"ConstantOfShape", nil, []Desc{list(2)}, tensor.Shape{-1, -1}},
		{"Where", nil, []Desc{{DType: tensor.Bool, Shape: tensor.Shape{-1, 1}}, f(1, 4), f()}, tensor.Shape{-1, 4}},
	}
	for _, c := range cases {
		s := &Spec{Op: c.op, Opset: 13, Attrs: c.attrs, In: c.in, Out: make([]Desc, 1)}
		if c.op == "TopK" {
			s.Out = make([]Desc, 2)
		}
		if err := Infer(s); err != nil {
			t.Errorf("%s %v: %v", c.op, c.in, err)
		} else if !s.Out[0].Shape.Equal(c.want) {
			t.Errorf("%s %v: %v, want %v", c.op, c.in, s.Out[0].Shape, c.want)
		}
	}
}

// TestCompile_dependsOnValues: an operator whose shape depends on values says so; with a shape given it compiles, and
// a run that finds another shape is an error.
func TestCompile_dependsOnValues(t *testing.T) {
	s := &Spec{Op: "NonZero", Opset: 13, In: []Desc{{DType: tensor.Uint8, Shape: tensor.Shape{4}}}, Out: make([]Desc, 1)}
	if _, err := Compile(s); !errors.Is(err, ErrUnsupported) {
		t.Fatalf("error %v, want one that is ErrUnsupported", err)
	}
	s.Out[0] = Desc{DType: tensor.Int64, Shape: tensor.Shape{1, 2}}
	k, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 16)
	if err := k.Run(&Exec{In: [][]byte{{0, 1, 0, 9}}, Out: [][]byte{out}}); err != nil {
		t.Error(err)
	}
	if v := tensor.View[int64](out); v[0] != 1 || v[1] != 3 {
		t.Errorf("places %v, want 1 and 3", v)
	}
	if err := k.Run(&Exec{In: [][]byte{{0, 1, 1, 9}}, Out: [][]byte{out}}); err == nil {
		t.Error("three places in a kernel for two are no error")
	}
}

// TestCompile_rejects lists nonsense that must be an error with a word about it.
func TestCompile_rejects(t *testing.T) {
	f := func(dims ...int) Desc { return Desc{DType: tensor.Float32, Shape: dims} }
	i64 := Desc{DType: tensor.Int64, Shape: tensor.Shape{3}}
	for name, s := range map[string]*Spec{
		"types differ":      {Op: "Add", In: []Desc{f(3), i64}},
		"no broadcast":      {Op: "Add", In: []Desc{f(3), f(2)}},
		"missing operand":   {Op: "Add", In: []Desc{f(3)}},
		"too many operands": {Op: "Relu", In: []Desc{f(3), f(3)}},
		"too many results":  {Op: "Relu", In: []Desc{f(3)}, Out: make([]Desc, 2)},
		"axis":              {Op: "ArgMax", In: []Desc{f(3)}, Attrs: Attrs{"axis": int64(1)}},
		"axis twice":        {Op: "ReduceSum", In: []Desc{f(3, 4)}, Attrs: Attrs{"axes": []int64{1, -1}}},
		"perm":              {Op: "Transpose", In: []Desc{f(3, 4)}, Attrs: Attrs{"perm": []int64{0, 0}}},
		"elements":          {Op: "Reshape", In: []Desc{f(3)}, Attrs: Attrs{"shape": []int64{2, -1}}},
		"squeeze":           {Op: "Squeeze", In: []Desc{f(3)}, Attrs: Attrs{"axes": []int64{0}}},
		"truth":             {Op: "And", In: []Desc{f(3), f(3)}},
		"direction":         {Op: "BitShift", In: []Desc{{DType: tensor.Uint8}, {DType: tensor.Uint8}}},
		"too large":         {Op: "Add", In: []Desc{f(1<<40, 1<<20), f()}},
		"type":              {Op: "Cast", In: []Desc{f(3)}, Attrs: Attrs{"to": int64(99)}},
		"unknown dimension": {Op: "Relu", In: []Desc{f(-1)}},
		"output disagrees":  {Op: "Relu", In: []Desc{f(3)}, Out: []Desc{f(4)}},
		"fractal format":    {Op: "Relu", In: []Desc{{DType: tensor.Float32, Shape: tensor.Shape{3}, Format: tensor.FractalNZ}}},
	} {
		s.Opset = 12
		if _, err := Compile(s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestWork_account pins what the cost model is told.
func TestWork_account(t *testing.T) {
	f := Desc{DType: tensor.Float32, Shape: tensor.Shape{64, 1024}}
	k, err := Compile(&Spec{Op: "Add", Opset: 14, In: []Desc{f, {DType: tensor.Float32, Shape: tensor.Shape{1024}}}})
	if err != nil {
		t.Fatal(err)
	}
	w := k.Work
	if k.Type != "Add" || w.VectorOps != 65536 || w.ReadBytes != 266240 || w.WriteBytes != 262144 || w.VectorType != tensor.Float32 || k.Blocks != 17 {
		t.Errorf("%s in %d blocks, %+v", k.Type, k.Blocks, w)
	}
}
