package model

import (
	"bytes"
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"npu/internal/model/graph"
	"npu/internal/model/onnx"
	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
	"npu/internal/trace"
	"npu/internal/trace/chrome"
	"npu/internal/trace/npt"
)

// smallModel is a convolution with batch norm and activation, a view, a matrix product, and an If on run-time data
// whose branches return a computed value, an outer value, and a constant.
func smallModel(t testing.TB) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	floats := func(b *onnx.Builder, name string, s tensor.Shape) {
		v := make([]float32, s.Count())
		for i := range v {
			v[i] = rng.Float32() + 0.1
		}
		b.Floats(name, s, v...)
	}
	b := onnx.NewBuilder("small", 17)
	b.Input("x", tensor.Float32, "N,2,8,8")
	b.Input("flag", tensor.Bool, "")
	b.Output("y", tensor.Float32, "N,3")
	b.Output("z", tensor.Float32, "N,3")
	floats(b, "w", tensor.Shape{4, 2, 3, 3})
	for _, n := range []string{"scale", "shift", "mean", "var"} {
		floats(b, n, tensor.Shape{4})
	}
	floats(b, "m", tensor.Shape{4 * 8 * 8, 3})
	b.Ints("flat", 0, -1)
	b.Node("Conv", "x w", "c", kernels.Attrs{"pads": []int64{1, 1, 1, 1}})
	b.Node("BatchNormalization", "c scale shift mean var", "n", nil)
	b.Node("Relu", "n", "r", nil)
	b.Node("Reshape", "r flat", "v", nil)
	b.Node("MatMul", "v m", "p", nil)
	b.Node("Softmax", "p", "y", kernels.Attrs{"axis": int64(1)})
	var then, els onnx.Builder
	then.Node("Sigmoid", "p", "zt", nil)
	then.Output("zt", tensor.Float32, "N,3")
	els.Node("Identity", "p", "ze", nil)
	els.Output("ze", tensor.Float32, "N,3")
	b.Node("If", "flag", "z", kernels.Attrs{"then_branch": &then, "else_branch": &els})
	out, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func smallInputs(flag bool) map[string]*tensor.Tensor {
	x, err := tensor.New(tensor.Float32, tensor.Shape{1, 2, 8, 8})
	if err != nil {
		panic(err)
	}
	for i, v := 0, tensor.View[float32](x.Data); i < len(v); i++ {
		v[i] = float32(i%13)/6 - 1
	}
	f, err := tensor.FromBools(nil, []bool{flag})
	if err != nil {
		panic(err)
	}
	return map[string]*tensor.Tensor{"x": x, "flag": f}
}

func openSmall(t testing.TB) *Model {
	t.Helper()
	m, err := OpenBytes("small", smallModel(t), Options{Shapes: map[string]tensor.Shape{"x": {1, 2, 8, 8}}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func runSmall(t testing.TB, o RunOptions, flag bool) *Result {
	t.Helper()
	o.Chip, o.Inputs, o.Trace = chip(t), smallInputs(flag), true
	r, err := openSmall(t).Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Trace.Check(); err != nil {
		t.Error(err)
	}
	return r
}

// Every way of running gives the bits of the host interpreter, for both branches of the If.
func TestRun_sameBitsEveryWay(t *testing.T) {
	for _, flag := range []bool{false, true} {
		want, err := graph.Eval(openSmall(t).Graph, smallInputs(flag), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []RunOptions{
			{Mode: Eager}, {Mode: Sunk}, {Mode: Sunk, Threads: 3}, {Mode: Eager, Iterations: 3}, {Mode: Sunk, Iterations: 3},
			{Mode: Sunk, Loop: SinkLoop, Iterations: 5},
		} {
			r := runSmall(t, o, flag)
			for i := range want {
				if !bytes.Equal(r.Outputs[i].Data, want[i].Data) {
					t.Errorf("flag %v, %+v: output %d is %v, want %v", flag, o.Mode, i, tensor.View[float32](r.Outputs[i].Data), tensor.View[float32](want[i].Data))
				}
			}
		}
	}
}

// Executing again with the same buffers adds no copy and moves no weight (R3.3): after loading, the only copies are
// the inputs before and the outputs after.
func TestRun_noCopyBetweenIterations(t *testing.T) {
	for _, o := range []RunOptions{{Mode: Sunk, Iterations: 1}, {Mode: Sunk, Iterations: 20}, {Mode: Sunk, Loop: SinkLoop, Iterations: 20}} {
		r := runSmall(t, o, true)
		copies, kernels := 0, 0
		for _, x := range r.Trace.Tasks.All() {
			if x.Start < r.LoadEnd {
				continue
			}
			if x.Kind == trace.Memcpy {
				copies++
			}
			if x.Kind.Kernel() {
				kernels++
			}
		}
		if copies != 4 {
			t.Errorf("%v iterations: %d copies, want 2 inputs and 2 outputs", o.Iterations, copies)
		}
		if kernels%o.Iterations != 0 || kernels < 4*o.Iterations {
			t.Errorf("%v iterations: %d kernels", o.Iterations, kernels)
		}
	}
}

// A loop on the device needs a handful of meetings between host and device; one driven by the host two an iteration.
func TestRun_interactions(t *testing.T) {
	sunk := runSmall(t, RunOptions{Mode: Sunk, Loop: SinkLoop, Iterations: 1000}, true)
	host := runSmall(t, RunOptions{Mode: Sunk, Loop: HostLoop, Iterations: 1000}, true)
	if n := sunk.Counters.Interactions(); n > 12 {
		t.Errorf("a sunk loop of 1000: %d interactions", n)
	}
	if n := host.Counters.Interactions(); n < 1000 {
		t.Errorf("a host loop of 1000: %d interactions", n)
	}
	if sunk.DeviceTime > host.DeviceTime {
		t.Errorf("sunk %d ns, driven by the host %d ns", sunk.DeviceTime, host.DeviceTime)
	}
}

// Captures of the same run are equal byte for byte.
func TestRun_deterministicTraces(t *testing.T) {
	write := func() (a, b []byte) {
		r := runSmall(t, RunOptions{Mode: Eager, Iterations: 2}, true)
		var x, y bytes.Buffer
		if err := npt.Write(&x, r.Trace); err != nil {
			t.Fatal(err)
		}
		if err := chrome.Write(&y, r.Trace); err != nil {
			t.Fatal(err)
		}
		return x.Bytes(), y.Bytes()
	}
	a1, b1 := write()
	for range 3 {
		if a, b := write(); !bytes.Equal(a, a1) || !bytes.Equal(b, b1) {
			t.Fatal("two runs of one program give different traces")
		}
	}
}

// Timing only: the same tasks at the same times as with the arithmetic, and the branch that the data asks for.
func TestRun_timingOnly(t *testing.T) {
	for _, flag := range []bool{false, true} {
		full, timed := runSmall(t, RunOptions{Mode: Sunk}, flag), runSmall(t, RunOptions{Mode: Sunk, TimingOnly: true}, flag)
		rows := func(r *Result) (out []trace.Task) {
			for _, x := range r.Trace.Tasks.All() {
				if x.Model != 0 {
					out = append(out, x)
				}
			}
			return out
		}
		if !slices.Equal(rows(full), rows(timed)) {
			t.Errorf("flag %v: the sunk tasks differ", flag)
		}
		if timed.Outputs != nil {
			t.Error("a run without arithmetic has outputs")
		}
	}
}

func TestOpen_errors(t *testing.T) {
	for name, c := range map[string]struct {
		shapes map[string]tensor.Shape
		class  problem.Class
	}{
		"unknown input":  {map[string]tensor.Shape{"nope": {1}}, problem.Usage},
		"wrong rank":     {map[string]tensor.Shape{"x": {1, 2}}, problem.Usage},
		"wrong channels": {map[string]tensor.Shape{"x": {1, 3, 8, 8}}, problem.Usage},
		"too big":        {map[string]tensor.Shape{"x": {1 << 40, 2, 8, 8}}, problem.Usage},
	} {
		if _, err := OpenBytes("small", smallModel(t), Options{Shapes: c.shapes}); err == nil || problem.ClassOf(err) != c.class {
			t.Errorf("%s: %v, class %d", name, err, problem.ClassOf(err))
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.onnx"), Options{}); problem.ClassOf(err) != problem.Damaged {
		t.Errorf("missing file: %v", err)
	}
}
