package plan

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"npu/internal/model/graph"
	"npu/internal/model/onnx"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

func compileModel(t interface{ Fatal(...any) }, b *onnx.Builder) *Plan {
	file, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Parse(file, "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := m.Graph()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := graph.Bind(g, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := graph.Infer(g); err != nil {
		t.Fatal(err)
	}
	p, err := Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// checkPlan holds what every plan must: blocks that are alive at once do not overlap, tail padding included; they are
// aligned and lie in their region; the features are no smaller than the lower bound; inputs and outputs have blocks of
// their own, which no two of them share.
func checkPlan(t interface{ Errorf(string, ...any) }, p *Plan) {
	for i := range p.Buffers {
		a := &p.Buffers[i]
		size := map[Region]int64{Features: p.Memory.FeatureBytes, Weights: p.Memory.WeightBytes}[a.Region]
		if a.Region == Features || a.Region == Weights {
			if a.Offset%Align != 0 || a.Offset < 0 || a.Offset+a.Bytes+Tail > size {
				t.Errorf("%s: offset %d, %d bytes, region of %d", a.Name, a.Offset, a.Bytes, size)
			}
		}
		for j := range p.Buffers[:i] {
			b := &p.Buffers[j]
			if a.Region != b.Region {
				continue
			}
			switch a.Region {
			case Input, Output:
				if a.Index == b.Index {
					t.Errorf("%s and %s share a block", a.Name, b.Name)
				}
				continue
			case Features:
				if a.last < b.first || b.last < a.first {
					continue
				}
			}
			if a.Offset < b.Offset+b.Bytes+Tail && b.Offset < a.Offset+a.Bytes+Tail {
				t.Errorf("%s [%d,%d] at %d+%d overlaps %s [%d,%d] at %d+%d", a.Name, a.first, a.last, a.Offset, a.Bytes, b.Name, b.first, b.last, b.Offset, b.Bytes)
			}
		}
	}
	if p.Memory.FeatureBytes < p.Memory.LowerBound {
		t.Errorf("features of %d bytes are below the lower bound %d", p.Memory.FeatureBytes, p.Memory.LowerBound)
	}
}

// Random graphs of element-wise operators, views and concatenations, with values used late and outputs in the middle.
func TestCompile_properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := onnx.NewBuilder("random", 17)
		b.Input("x0", tensor.Float32, "4,6")
		b.Ints("flat", -1)
		b.Ints("back", 4, -1)
		names := []string{"x0"}
		n := rapid.IntRange(1, 40).Draw(t, "nodes")
		for i := range n {
			out := fmt.Sprintf("v%d", i)
			pick := func() string { return names[rapid.IntRange(0, len(names)-1).Draw(t, "value")] }
			switch rapid.IntRange(0, 4).Draw(t, "op") {
			case 0:
				b.Node("Relu", pick(), out, nil)
			case 1:
				b.Node("Reshape", pick()+" flat", out+"f", nil)
				b.Node("Reshape", out+"f back", out, nil)
			case 2:
				b.Node("Concat", pick()+" "+pick(), out+"c", kernels.Attrs{"axis": int64(1)})
				b.Node("ReduceMean", out+"c", out+"m", kernels.Attrs{"axes": []int64{1}, "keepdims": int64(1)})
				v := pick()
				b.Node("Add", v+" "+out+"m", out, nil)
			default:
				v := pick()
				b.Node("Add", v+" "+v, out, nil)
			}
			names = append(names, out)
		}
		outs := map[string]bool{names[len(names)-1]: true}
		for range rapid.IntRange(0, 3).Draw(t, "more outputs") {
			outs[names[rapid.IntRange(1, len(names)-1).Draw(t, "output")]] = true
		}
		for _, name := range names {
			if outs[name] {
				b.Output(name, tensor.Float32, "")
			}
		}
		p := compileModel(t, b)
		checkPlan(t, p)
		written := map[int]bool{}
		for _, s := range p.Steps {
			for _, o := range s.In {
				if o.Buffer >= 0 && p.Buffers[o.Buffer].Region != Input && p.Buffers[o.Buffer].Region != Weights && !written[o.Buffer] {
					t.Errorf("%s reads a block before it is written", s.Name)
				}
			}
			for _, o := range s.Out {
				written[o.Buffer] = true
			}
		}
		for _, o := range p.Outputs {
			if !written[o.Buffer] {
				t.Errorf("output %s is never written", o.Name)
			}
		}
	})
}

// A view makes no task; a graph output that is an input, a constant or another output's memory is copied.
func TestCompile_viewsAndCopies(t *testing.T) {
	b := onnx.NewBuilder("views", 17)
	b.Input("x", tensor.Float32, "2,6")
	b.Ints("shape", 3, 4)
	b.Node("Relu", "x", "r", nil)
	b.Node("Reshape", "r shape", "a", nil)
	b.Node("Sigmoid", "a", "y", nil)
	b.Output("a", tensor.Float32, "")
	b.Output("y", tensor.Float32, "")
	b.Output("r", tensor.Float32, "")
	p := compileModel(t, b)
	checkPlan(t, p)
	var got []string
	for _, s := range p.Steps {
		got = append(got, s.Op)
	}
	if want := "Relu Sigmoid Copy"; strings.Join(got, " ") != want {
		// Infer may put an Identity where two outputs share their memory: that is the copy, made by a kernel.
		if alt := "Relu Sigmoid Identity"; strings.Join(got, " ") != alt {
			t.Errorf("steps %v, want %s", got, want)
		}
	}
}
