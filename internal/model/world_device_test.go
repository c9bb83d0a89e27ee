package model

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"math"
	"os"
	"testing"

	"npu/internal/model/onnx"
	"npu/internal/runtime"
	"npu/internal/sim/cost"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
	"npu/internal/trace"
)

// The tasks of an operator carry its name and type, and a large one takes what the links need: 2(n-1)/n of the bytes over
// a link of the ring.
func TestWorld_time(t *testing.T) {
	const n, rows = 4, 1 << 16 // 64 MiB: the ranks do not begin at once
	path := written(t, "large", func(b *onnx.Builder) {
		b.Input("x", tensor.Float32, "256")
		b.Output("y", tensor.Float32, "256")
		b.Ints("wide", rows, 256)
		b.Ints("axis", 0)
		b.Node("Expand", "x wide", "h", nil)
		b.Node("npu.HcomAllReduce", "h", "s", kernels.Attrs{"reduction": "sum"})
		b.Node("ReduceMax", "s axis", "y", kernels.Attrs{"keepdims": int64(0)})
	})
	c := chip(t)
	res, err := RunRanks(context.Background(), ranksOf(opened(t, path), n), RunOptions{Chip: c, Mode: Sunk, TimingOnly: true, Trace: true})
	okAll(t, err)
	var from, to int64 = math.MaxInt64, 0
	names := res.Trace.Strings
	for i := range res.Trace.Tasks.Len() {
		x := res.Trace.Tasks.At(i)
		switch {
		case names[x.Op] != "HcomAllReduce":
		case names[x.Name] != "npu.HcomAllReduce_1":
			t.Fatalf("a task of the collective is called %q", names[x.Name])
		case x.Kind == trace.Reduce || x.Kind == trace.Memcpy:
			from, to = min(from, x.Start), max(to, x.End)
		}
	}
	want := 2 * (n - 1) * cost.LinkNs(c, c.HCCS, rows*256*4/n)
	if r := float64(to-from) / float64(want); r < 0.95 || r > 1.05 {
		t.Errorf("%d ns, the ring's formula says %d", to-from, want)
	}
}

var update = flag.Bool("update", false, "write the sample models")

// The sample model of the documentation: two layers of which each rank holds its share of the weights, as inputs.
func TestSample_tensorParallel(t *testing.T) {
	const path = "../../testdata/models/tensor-parallel.onnx"
	b := onnx.NewBuilder("tensor-parallel", 17)
	b.Input("x", tensor.Float32, "4,16")
	b.Input("w1", tensor.Float32, "16,8")
	b.Input("w2", tensor.Float32, "8,16")
	b.Output("y", tensor.Float32, "4,16")
	b.Node("MatMul", "x w1", "columns", nil)
	b.Node("Relu", "columns", "hidden", nil)
	b.Node("MatMul", "hidden w2", "part", nil)
	b.Node("npu.HcomAllReduce", "part", "sum", kernels.Attrs{"reduction": "sum", "group": "hccl_world_group"})
	b.Node("Add", "sum x", "y", nil)
	want, err := b.Bytes()
	okAll(t, err)
	if *update {
		okAll(t, os.WriteFile(path, want, 0o644))
	}
	got, err := os.ReadFile(path)
	okAll(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the test builds: go test ./internal/model -run TestSample -update", path)
	}
}

// Buffers of the caller may move between executions, also those of a collective whose operand is an input and whose
// result is an output, and sessions of one model on several devices are independent of each other.
func TestWorld_movedBuffers(t *testing.T) {
	path := written(t, "bare", func(b *onnx.Builder) {
		b.Input("x", tensor.Int32, "4")
		b.Output("y", tensor.Int32, "4")
		b.Node("npu.HcomAllReduce", "x", "y", kernels.Attrs{"reduction": "sum"})
	})
	rt, err := runtime.Open(runtime.Config{Chip: chip(t), Devices: 2})
	okAll(t, err)
	th := rt.Attach()
	w, err := LoadWorld(th, ranksOf(opened(t, path), 2), LoadOptions{Mode: Sunk})
	okAll(t, err)
	in, out := make([]runtime.Ptr, 2), make([]runtime.Ptr, 2)
	for round := range 3 {
		for r := range 2 {
			okAll(t, w.On(r, func(s *Session) error {
				if round != 1 { // the second round finds the buffers where they were
					if in[r], err = th.Malloc(64); err != nil {
						return err
					}
					if out[r], err = th.Malloc(64); err != nil {
						return err
					}
				}
				v := []int32{int32(round), int32(r), 3, 4}
				return cmp.Or(s.BindInput(0, in[r]), s.BindOutput(0, out[r]), th.MemcpyFromHost(in[r], tensor.Bytes(v)))
			}))
		}
		okAll(t, w.Execute(), w.Wait())
		for r := range 2 {
			got := make([]byte, 16)
			okAll(t, w.On(r, func(*Session) error { return th.MemcpyToHost(got, out[r]) }))
			if want := tensor.Bytes([]int32{2 * int32(round), 1, 6, 8}); !bytes.Equal(got, want) {
				t.Errorf("round %d, rank %d: %v, want %v", round, r, tensor.View[int32](got), tensor.View[int32](want))
			}
		}
	}
	okAll(t, w.Unload(), rt.Close(th))
}
