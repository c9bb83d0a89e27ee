package model

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/model/onnx"
	"npu/internal/runtime"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// written is an ONNX file of what f builds.
func written(t testing.TB, name string, f func(b *onnx.Builder)) string {
	t.Helper()
	b := onnx.NewBuilder(name, 17)
	f(b)
	x, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name+".onnx")
	if err := os.WriteFile(path, x, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func opened(t testing.TB, path string) *Model {
	t.Helper()
	m, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ranksOf(m *Model, n int) (list []*Model) {
	for range n {
		list = append(list, m)
	}
	return list
}

// wholes are n random tensors of whole numbers that every type holds, and their elements.
func wholes(t testing.TB, n int, dt tensor.DType, s tensor.Shape) (list []map[string]*tensor.Tensor, values [][]float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), uint64(s.Count())))
	for range n {
		x, err := tensor.New(dt, s)
		if err != nil {
			t.Fatal(err)
		}
		v := make([]float64, s.Count())
		for i := range v {
			v[i] = float64(rng.IntN(201) - 100)
		}
		if err := tensor.EncodeFloats(x.Data, dt, 0, v); err != nil {
			t.Fatal(err)
		}
		list, values = append(list, map[string]*tensor.Tensor{"x": x}), append(values, v)
	}
	return list, values
}

// Operators of communication against what the host computes: every type, 2 to 8 ranks, ring and mesh, sunk, looped on the
// device and eager, from the ONNX file and from the compiled one. In front of each operator stands one that computes, so
// that the collective finds its operand in work memory, and its result is an output.
func TestWorld_collectives(t *testing.T) {
	types := []tensor.DType{tensor.Float32, tensor.Float16, tensor.Int32}
	kinds := []struct {
		mode Mode
		loop Loop
		n    int
	}{{Sunk, HostLoop, 2}, {Sunk, SinkLoop, 3}, {Eager, HostLoop, 2}}
	turn := 0
	for n := 2; n <= 8; n++ {
		for _, op := range []string{"HcomAllReduce", "HcomAllGather", "HcomReduceScatter", "HcomBroadcast"} {
			for k := range 2 * len(kinds) {
				dt, kind := types[turn%3], kinds[k/2]
				alg := []runtime.Algorithm{runtime.Ring, runtime.Mesh}[k%2]
				name := fmt.Sprintf("%s of %v on %d, %v, %s, %s", op, dt, n, alg, kind.mode, kind.loop)
				turn++
				rows := n * (1 + turn%3)
				out := rows
				a := kernels.Attrs{"group": "hccl_world_group"}
				switch op {
				case "HcomAllReduce":
					a["reduction"] = []string{"sum", "max", "min"}[turn%3]
				case "HcomAllGather":
					a["rank_size"], out = int64(n), rows*n
				case "HcomReduceScatter":
					a["rank_size"], a["reduction"], out = int64(n), "sum", rows/n
				case "HcomBroadcast":
					a["root_rank"] = int64(n - 1)
				}
				path := written(t, op, func(b *onnx.Builder) {
					b.Input("x", dt, fmt.Sprintf("%d,5", rows))
					b.Output("y", dt, fmt.Sprintf("%d,5", out))
					b.Node("Neg", "x", "h", nil)
					b.Node("npu."+op, "h", "y", a)
				})
				if turn%2 == 0 {
					path = compiled(t, path, CompileOptions{})
				}
				in, v := wholes(t, n, dt, tensor.Shape{rows, 5})
				res, err := RunRanks(context.Background(), ranksOf(opened(t, path), n), RunOptions{Chip: chip(t), Mode: kind.mode, Loop: kind.loop,
					Iterations: kind.n, RankInputs: in, Collective: alg})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for r, y := range res.Outputs {
					want := onHost(op, a.Str("reduction", ""), v, r)
					got := make([]float64, len(want))
					if err := tensor.DecodeFloats(got, dt, y.Data, 0); err != nil {
						t.Fatal(err)
					}
					for i := range want {
						if got[i] != want[i] {
							t.Fatalf("%s: rank %d, element %d is %v, want %v", name, r, i, got[i], want[i])
						}
					}
				}
				if op := res.Ops[0]; op.Count != n*kind.n && strings.HasPrefix(op.Type, "Hcom") {
					t.Errorf("%s: %d × %s, want %d", name, op.Count, op.Type, n*kind.n)
				}
			}
		}
	}
}

// onHost is what rank r should get for operands -v.
func onHost(op, reduction string, v [][]float64, r int) (out []float64) {
	combine := func(i int) float64 {
		x := -v[0][i]
		for _, w := range v[1:] {
			switch reduction {
			case "sum":
				x -= w[i]
			case "max":
				x = max(x, -w[i])
			case "min":
				x = min(x, -w[i])
			}
		}
		return x
	}
	n, count := len(v), len(v[0])
	switch op {
	case "HcomAllGather":
		for _, w := range v {
			for _, x := range w {
				out = append(out, -x)
			}
		}
	case "HcomBroadcast":
		for _, x := range v[n-1] {
			out = append(out, -x)
		}
	case "HcomReduceScatter":
		for i := r * count / n; i < (r+1)*count/n; i++ {
			out = append(out, combine(i))
		}
	default:
		for i := range count {
			out = append(out, combine(i))
		}
	}
	return out
}

// Two layers split over the ranks, with parallel branches and an all-reduce behind each, give the layers in one piece:
// eager, sunk on one stream and on several, and looped.
func TestWorld_layers(t *testing.T) {
	const n, wide = 4, 24
	path := written(t, "layers", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "3,24")
		b.Input("w", tensor.Float32, "24,6")
		b.Output("y", tensor.Float32, "3,24")
		b.Output("z", tensor.Float32, "3,24")
		b.Node("MatMul", "x w", "a", nil) // the rank's columns
		b.Node("Relu", "a", "r", nil)
		b.Node("Transpose", "w", "t", kernels.Attrs{"perm": []int64{1, 0}})
		b.Node("MatMul", "r t", "p", nil) // its part of the sum
		b.Node("npu.HcomAllReduce", "p", "s", kernels.Attrs{"reduction": "sum"})
		b.Node("Neg", "p", "q", nil) // reads the operand too: it must not be overwritten
		b.Node("npu.HcomAllReduce", "q", "u", kernels.Attrs{"reduction": "sum"})
		b.Node("Add", "s x", "y", nil)
		b.Node("Add", "u x", "z", nil)
	})
	x, err := random(tensor.Float32, tensor.Shape{3, wide}, 3)
	okAll(t, err)
	var in []map[string]*tensor.Tensor
	sum := make([]float64, 3*wide)
	for r := range n {
		w, err := random(tensor.Float32, tensor.Shape{wide, wide / n}, uint64(r))
		okAll(t, err)
		in = append(in, map[string]*tensor.Tensor{"w": w})
		xv, wv := tensor.View[float32](x.Data), tensor.View[float32](w.Data)
		for i := range 3 {
			for j := range wide / n {
				var h float64
				for k := range wide {
					h += float64(xv[i*wide+k]) * float64(wv[k*wide/n+j])
				}
				for k := range wide {
					sum[i*wide+k] += max(h, 0) * float64(wv[k*wide/n+j])
				}
			}
		}
	}
	var first []*tensor.Tensor
	for _, o := range []RunOptions{{Mode: Eager}, {Mode: Sunk, Streams: 1}, {Mode: Sunk, Streams: 3}, {Mode: Sunk, Streams: 3, Loop: SinkLoop, Iterations: 20}} {
		o.Chip, o.Inputs, o.RankInputs = chip(t), map[string]*tensor.Tensor{"x": x}, in
		res, err := RunRanks(context.Background(), ranksOf(opened(t, path), n), o)
		okAll(t, err)
		if first == nil {
			first = res.Outputs
		}
		for i, y := range res.Outputs {
			sign := 1.0
			if i%2 == 1 {
				sign = -1
			}
			for k, got := range tensor.View[float32](y.Data) {
				if want := sign*sum[k] + float64(tensor.View[float32](x.Data)[k]); math.Abs(float64(got)-want) > 1e-4 {
					t.Fatalf("%+v: output %d of rank %d, element %d is %v, want %v", o.Mode, i%2, i/2, k, got, want)
				}
			}
			if !bytes.Equal(y.Data, first[i].Data) {
				t.Errorf("%v on %d streams: output %d has other bits than eager", o.Mode, o.Streams, i)
			}
		}
	}
}

// A collective inside a branch takes place where all ranks take that branch, and is left out where they do not.
func TestWorld_branch(t *testing.T) {
	path := written(t, "branch", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "6")
		b.Input("flag", tensor.Bool, "")
		b.Output("y", tensor.Float32, "6")
		b.Node("Neg", "x", "h", nil)
		var then, els onnx.Builder
		then.Node("npu.HcomAllReduce", "h", "s", kernels.Attrs{"reduction": "sum"})
		then.Output("s", tensor.Float32, "6")
		els.Node("Abs", "h", "a", nil)
		els.Output("a", tensor.Float32, "6")
		b.Node("If", "flag", "v", kernels.Attrs{"then_branch": &then, "else_branch": &els})
		b.Node("npu.HcomAllReduce", "v", "y", kernels.Attrs{"reduction": "max"})
	})
	const n = 3
	in, v := wholes(t, n, tensor.Float32, tensor.Shape{6})
	for _, flag := range []bool{true, false} {
		f, err := tensor.FromBools(nil, []bool{flag})
		okAll(t, err)
		for _, o := range []RunOptions{{Mode: Sunk, Iterations: 3}, {Mode: Sunk, Iterations: 3, Loop: SinkLoop, Collective: runtime.Mesh}, {Mode: Eager, Iterations: 2, Collective: runtime.Mesh}} {
			o.Chip, o.RankInputs, o.Inputs = chip(t), in, map[string]*tensor.Tensor{"flag": f}
			res, err := RunRanks(context.Background(), ranksOf(opened(t, path), n), o)
			okAll(t, err)
			for r, y := range res.Outputs {
				for i, got := range tensor.View[float32](y.Data) {
					want, top := 0.0, 0.0
					for _, w := range v {
						want, top = want-w[i], max(top, math.Abs(w[i]))
					}
					if !flag {
						want = top
					}
					if float64(got) != want {
						t.Fatalf("flag %v, %v, %v: rank %d, element %d is %v, want %v", flag, o.Mode, o.Loop, r, i, got, want)
					}
				}
			}
		}
	}
}
