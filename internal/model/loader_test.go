package model

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"npu/internal/model/onnx"
	"npu/internal/problem"
	"npu/internal/runtime"
	"npu/internal/sim"
	"npu/internal/tensor"
	"npu/internal/trace"
)

// onDevice opens a runtime with one thread on device 0. The test closes it with the function returned, which gives the
// trace.
func onDevice(t *testing.T) (*runtime.Thread, func() *trace.Trace) {
	t.Helper()
	rec := trace.NewRecorder()
	rt, err := runtime.Open(runtime.Config{Chip: chip(t), Recorder: rec})
	if err != nil {
		t.Fatal(err)
	}
	th := rt.Attach()
	if err := th.SetDevice(0); err != nil {
		t.Fatal(err)
	}
	return th, func() *trace.Trace {
		if err := rt.Close(th); err != nil {
			t.Error(err)
		}
		return rec.Finish()
	}
}

func load(t *testing.T, m *Model, th *runtime.Thread, o LoadOptions) *Session {
	t.Helper()
	s, err := m.Load(th, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func okAll(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// result executes a session for an input x and a flag and returns the bits of its outputs.
func result(t *testing.T, s *Session, in map[string]*tensor.Tensor) []byte {
	t.Helper()
	okAll(t, s.SetInput(0, in["x"]), s.SetInput(1, in["flag"]), s.Execute(), s.Wait())
	var b []byte
	for i := range s.m.Plan.Outputs {
		o, err := s.Output(i)
		okAll(t, err)
		b = append(b, o.Data...)
	}
	return b
}

func TestG15_sharedWeights(t *testing.T) {
	th, done := onDevice(t)
	_, _, _, err := th.MemInfo()
	okAll(t, err)
	use := func() int64 {
		free, total, _, err := th.MemInfo()
		okAll(t, err)
		return total - free
	}
	start := use()
	m := openSmall(t)
	a := load(t, m, th, LoadOptions{Mode: Sunk})
	first := use() - start
	w, f := a.Memory()
	b := load(t, m, th, LoadOptions{Mode: Sunk, Weights: w, Features: f})
	if second := use() - start - first; second > first-m.Plan.Memory.WeightBytes-m.Plan.Memory.FeatureBytes {
		t.Errorf("the first session takes %d bytes, the second one %d: weights of %d are there twice", first, second, m.Plan.Memory.WeightBytes)
	}
	hash := func() [32]byte {
		h := make([]byte, m.Plan.Memory.WeightBytes)
		okAll(t, th.MemcpyToHost(h, w))
		return sha256.Sum256(h)
	}
	before := hash()
	want := map[bool][]byte{}
	for _, flag := range []bool{false, true} {
		r := runSmall(t, RunOptions{Mode: Eager}, flag)
		for _, o := range r.Outputs {
			want[flag] = append(want[flag], o.Data...)
		}
	}
	for i := range 6 {
		flag := i%2 == 0
		s := []*Session{a, b}[i%3%2]
		if got := result(t, s, smallInputs(flag)); !bytes.Equal(got, want[flag]) {
			t.Errorf("execution %d differs", i)
		}
	}
	if hash() != before {
		t.Error("an execution has changed the weights")
	}
	okAll(t, b.Unload(), a.Unload())
	if n := use(); n != start {
		t.Errorf("%d bytes in use after unloading, %d before", n, start)
	}
	done()
}

func TestG16_gears(t *testing.T) {
	path := filepath.Join(dataDir(t), "onnx", "ppocr-v2-cls", "model.onnx")
	file := compiled(t, path, CompileOptions{Shapes: map[string]tensor.Shape{"x": {-1, 3, 48, 48}}, Batches: []int{1, 8, 16}})
	for _, n := range []int{1, 8, 16} {
		s := tensor.Shape{n, 3, 48, 48}
		x, err := random(tensor.Float32, s, uint64(n))
		okAll(t, err)
		in := map[string]*tensor.Tensor{"x": x}
		got, want := outputs(t, file, map[string]tensor.Shape{"x": s}, in), outputs(t, path, map[string]tensor.Shape{"x": s}, in)
		if got[0].Shape[0] != n || !bytes.Equal(got[0].Data, want[0].Data) {
			t.Errorf("gear %d: shape %v, or other bits", n, got[0].Shape)
		}
	}
	if _, err := Open(file, Options{Shapes: map[string]tensor.Shape{"x": {5, 3, 48, 48}}}); problem.ClassOf(err) != problem.Usage {
		t.Errorf("gear 5: %v", err)
	}
}

func TestG17_zeroCopy(t *testing.T) {
	th, done := onDevice(t)
	m := openSmall(t)
	s := load(t, m, th, LoadOptions{Mode: Sunk})
	in := smallInputs(true)
	want := result(t, s, in)
	okAll(t, s.Execute(), s.Execute(), s.Wait()) // the same buffers
	malloc := func(n int64) runtime.Ptr {
		p, err := th.Malloc(n)
		okAll(t, err)
		return p
	}
	x, z := malloc(m.Plan.Inputs[0].Bytes), malloc(m.Plan.Outputs[1].Bytes)
	old := s.inputs[0]
	okAll(t, th.MemcpyFromHost(x, in["x"].Data), th.Memset(old, 0xff, m.Plan.Inputs[0].Bytes))
	from := th.Clock()
	okAll(t, s.BindInput(0, x), s.BindOutput(1, z), s.Execute())
	okAll(t, s.BindInput(0, x), s.Execute(), s.Execute(), s.Wait()) // moved once
	to := th.Clock()
	var got []byte
	for i := range m.Plan.Outputs {
		o, err := s.Output(i)
		okAll(t, err)
		got = append(got, o.Data...)
	}
	if !bytes.Equal(got, want) {
		t.Error("outputs differ in the buffers that moved")
	}
	if err := s.BindInput(0, x+4); problem.ClassOf(err) != problem.Usage {
		t.Errorf("an address that is not aligned: %v", err)
	}
	tr := done()
	updates, executions := 0, 0
	for _, r := range tr.Tasks.All() {
		switch {
		case r.Start < from || r.Start >= to:
		case r.Kind == trace.Memcpy && r.Model == 0:
			t.Errorf("a copy at %d", r.Start)
		case r.Kind == trace.Nop:
			updates++
		case r.Kind == trace.ModelExecute:
			executions++
		}
	}
	if updates != 1 || executions != 3 {
		t.Errorf("%d argument updates for %d executions, want 1 for 3", updates, executions)
	}
}

// wideModel has four branches of different kernels between a common begin and end.
func wideModel(t testing.TB) []byte {
	b := onnx.NewBuilder("wide", 17)
	b.Input("x", tensor.Float32, "4,64")
	b.Output("y", tensor.Float32, "4,64")
	b.Node("Sigmoid", "x", "s", nil)
	for i, op := range []string{"Exp", "Tanh", "Sin", "Cos"} {
		b.Node(op, "s", fmt.Sprintf("a%d", i), nil)
		b.Node("Sqrt", fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i), nil)
		b.Node("Softmax", fmt.Sprintf("b%d", i), fmt.Sprintf("c%d", i), nil)
	}
	b.Node("Add", "c0 c1", "d0", nil)
	b.Node("Add", "c2 c3", "d1", nil)
	b.Node("Add", "d0 d1", "y", nil)
	out, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Parallel branches run beside each other, the bits are those of one stream, in every mode and loop.
func TestRun_streams(t *testing.T) {
	var want []byte
	times := map[int]int64{}
	for _, o := range []RunOptions{
		{Mode: Sunk, Streams: 1}, {Mode: Eager, Streams: 4}, {Mode: Sunk, Streams: 2}, {Mode: Sunk, Streams: 4}, {Mode: Sunk}, {Mode: Sunk, Streams: 64},
		{Mode: Sunk, Streams: 3, Iterations: 5}, {Mode: Sunk, Streams: 4, Loop: SinkLoop, Iterations: 5}, {Mode: Sunk, Streams: 4, Policy: sim.Reference},
	} {
		m, err := OpenBytes("wide", wideModel(t), Options{})
		okAll(t, err)
		o.Chip, o.Trace = chip(t), true
		r, err := m.Run(context.Background(), o)
		okAll(t, err, r.Trace.Check())
		if want == nil {
			want = r.Outputs[0].Data
		}
		if !bytes.Equal(r.Outputs[0].Data, want) {
			t.Errorf("%s, %d streams, %s: other bits", o.Mode, o.Streams, o.Loop)
		}
		if o.Mode == Sunk && o.Iterations == 0 && o.Policy == sim.Preempt {
			times[o.Streams] = r.DeviceTime
		}
	}
	if times[4] >= times[1] || times[0] > times[4] || times[2] >= times[1] {
		t.Errorf("device time by streams: %v", times)
	}
}

// Real models: bits do not depend on the number of streams, and the memory stays near its lower bound.
func TestRun_streamsOfRealModels(t *testing.T) {
	if testing.Short() {
		t.Skip("real models take seconds")
	}
	for _, name := range []string{"synthetic-bert-tiny", "oww-embedding", "ppocr-v2-cls"} {
		dir := filepath.Join(dataDir(t), "onnx", name)
		if _, err := os.Stat(dir); err != nil {
			t.Skip(name + " is not there")
		}
		_, shapes, in := loadCase(t, dir)
		var first *Result
		for _, n := range []int{1, 2, 0} {
			m, err := Open(filepath.Join(dir, "model.onnx"), Options{Shapes: shapes})
			okAll(t, err)
			r, err := m.Run(context.Background(), RunOptions{Mode: Sunk, Streams: n, Chip: chip(t), Inputs: in})
			okAll(t, err)
			x := m.Plan.Memory
			t.Logf("%s, streams %d: %d ns, features %d, lower bound %d, width %d", strings.TrimSpace(name), n, r.DeviceTime, x.FeatureBytes, x.LowerBound, m.Plan.Width())
			if float64(x.FeatureBytes) > 1.05*float64(x.LowerBound) {
				t.Errorf("%s, streams %d: %d bytes of features, %d are needed", name, n, x.FeatureBytes, x.LowerBound)
			}
			if first == nil {
				first = r
			}
			for i := range r.Outputs {
				if !bytes.Equal(r.Outputs[i].Data, first.Outputs[i].Data) {
					t.Errorf("%s, streams %d: output %d has other bits", name, n, i)
				}
			}
		}
	}
}

// Every model of the data set: the work memory is within 5 % of what its order needs, on one stream, on two and on as many as the loader takes.
func TestPlan_memoryOfRealModels(t *testing.T) {
	root := dataDir(t)
	files, err := filepath.Glob(filepath.Join(root, "onnx", "*", "model.onnx"))
	okAll(t, err)
	oms, err := filepath.Glob(filepath.Join(root, "om", "*.om"))
	okAll(t, err)
	deep, err := filepath.Glob(filepath.Join(root, "om", "*", "*.om"))
	okAll(t, err)
	seen := 0
	for _, f := range append(append(files, oms...), deep...) {
		shapes := map[string]tensor.Shape{}
		if strings.HasSuffix(f, ".onnx") {
			_, shapes, _ = loadCase(t, filepath.Dir(f))
		}
		m, err := Open(f, Options{Shapes: shapes})
		if err != nil {
			continue // what cannot be opened is the business of other tests
		}
		seen++
		for _, n := range []int{1, 2, 8} {
			s := m.Plan.Assign(n)
			x := m.Plan.Memory
			if float64(x.FeatureBytes) > 1.05*float64(x.LowerBound) {
				t.Errorf("%s on %d streams of %d: %d bytes of features, %d are needed", f[len(root):], n, s.Width, x.FeatureBytes, x.LowerBound)
			}
			if len(s.Lanes) > s.Width || len(s.Lanes) > n {
				t.Errorf("%s: %d streams, width %d, limit %d", f[len(root):], len(s.Lanes), s.Width, n)
			}
		}
	}
	if seen < 8 {
		t.Errorf("only %d models could be opened", seen)
	}
}
