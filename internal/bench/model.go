package bench

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"npu/internal/model"
	"npu/internal/runtime"
	"npu/internal/tensor"
)

// ModelOptions say how the models of a benchmark are run.
type ModelOptions struct {
	Shapes  map[string]tensor.Shape // of inputs, by name
	Inputs  *model.Files            // of model.OpenFiles; missing ones are random
	Seed    uint64
	Threads int // host threads for the arithmetic
}

// Models is a family with one benchmark a model file: an inference of a loaded, sunk model, its inputs copied to the
// device and its outputs copied back, from and to pinned memory as programs do that care for their speed.
func Models(paths []string, o ModelOptions) Family {
	f := Family{Name: "model"}
	for _, p := range paths {
		f.Specs = append(f.Specs, Spec{
			Name: "Model/" + modelName(p), Pages: countsPages,
			About: "an inference of " + p + ": inputs to the device, execution, outputs back",
			open:  func(b *Options) (*probe, error) { return inference(p, o, b) },
		})
	}
	return f
}

// modelName is the file's name without its suffix, or its folder's where every model is called model.onnx. Blanks would
// end a name of the Go benchmark format.
func modelName(path string) string {
	n := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if d := filepath.Base(filepath.Dir(path)); n == "model" && d != "." && d != string(filepath.Separator) {
		n = d
	}
	return strings.Join(strings.Fields(n), "_")
}

func inference(path string, o ModelOptions, b *Options) (*probe, error) {
	m, err := model.Open(path, model.Options{Shapes: o.Shapes, Files: o.Inputs})
	if err != nil {
		return nil, err
	}
	if len(m.Timed) > 0 {
		return nil, fmt.Errorf("%s: no result can be computed: the meaning of operator %s is not known", path, m.Timed[0])
	}
	in, err := m.Inputs(o.Inputs)
	if err != nil {
		return nil, err
	}
	list, _, err := m.Fill(in, o.Seed)
	if err != nil {
		return nil, err
	}
	rt, err := runtime.Open(runtime.Config{Chip: b.Chip, Workers: o.Threads})
	if err != nil {
		return nil, err
	}
	th := rt.Attach()
	p := &probe{close: func() error { return rt.Close(th) }}
	if err = th.SetDevice(0); err == nil {
		p.burst, err = inferences(m, th, list)
	}
	if err != nil {
		return nil, cmp.Or(err, p.close())
	}
	return p, nil
}

func inferences(m *model.Model, th *runtime.Thread, in []*tensor.Tensor) (func(*meter) error, error) {
	s, err := m.Load(th, model.LoadOptions{Mode: model.Sunk})
	if err != nil {
		return nil, err
	}
	from, to := make([]runtime.HostMem, len(in)), make([]runtime.HostMem, len(m.Plan.Outputs))
	for i, t := range in {
		if from[i], err = pinned(th, len(t.Data)); err != nil {
			return nil, err
		}
		copy(from[i].Bytes, t.Data)
	}
	for i := range to {
		t, err := s.Output(i)
		if err != nil {
			return nil, err
		}
		if to[i], err = pinned(th, len(t.Data)); err != nil {
			return nil, err
		}
	}
	once := func() error {
		for i := range from {
			if err := s.SetInputFrom(i, from[i]); err != nil {
				return err
			}
		}
		if err := s.Execute(); err != nil {
			return err
		}
		if err := s.Wait(); err != nil {
			return err
		}
		for i := range to {
			if err := s.ReadOutputTo(i, to[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return func(b *meter) error {
		start := th.Clock()
		if err := b.run(once); err != nil {
			return err
		}
		b.ops, b.timed, b.device = b.ops+1, true, b.device+th.Clock()-start
		return nil
	}, nil
}

// pinned allocates page-locked host memory of n bytes, none for an empty tensor.
func pinned(th *runtime.Thread, n int) (runtime.HostMem, error) {
	if n == 0 {
		return runtime.HostMem{}, nil
	}
	return th.MallocHost(int64(n))
}
