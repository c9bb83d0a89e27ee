package conform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"npu/internal/model"
	"npu/internal/model/graph"
	"npu/internal/model/onnx"
	"npu/internal/problem"
	"npu/internal/sim/kernels"
	"npu/internal/sim/soc"
	"npu/internal/tensor"
)

// Status is what became of a case.
type Status string

// What becomes of a case.
const (
	Passed      Status = "passed"
	Failed      Status = "failed"
	Unsupported Status = "unsupported"
)

// Result is what became of a case. Operators are those that it uses; of an unsupported case those that nobody computes,
// if there are such.
type Result struct {
	Name      string   `json:"name"`
	Operators []string `json:"operators"`
	Status    Status   `json:"status"`
	Reason    string   `json:"reason,omitempty"`
	Stepped   bool     `json:"stepped"` // some of it ran step by step from the host
}

// Options is how cases are run.
type Options struct {
	Chip    *soc.Chip
	Mode    model.Mode
	Threads int
}

// Run computes one case.
func (s *Suite) Run(ctx context.Context, c *Case, o Options) Result {
	r := Result{Name: c.Name}
	err := s.run(ctx, c, o, &r)
	switch {
	case err == nil:
		r.Status = Passed
	case errors.Is(err, kernels.ErrUnsupported):
		r.Status, r.Reason = Unsupported, err.Error()
		unknown := slices.DeleteFunc(slices.Clone(r.Operators), graph.Computes)
		if len(unknown) > 0 {
			r.Operators = unknown
		}
	default:
		r.Status, r.Reason = Failed, err.Error()
	}
	return r
}

func (s *Suite) run(ctx context.Context, c *Case, o Options, r *Result) error {
	b, err := s.read(c.model)
	if err != nil {
		return err
	}
	src, err := onnx.Parse(slices.Clone(b), "")
	if err != nil {
		return err
	}
	r.Operators = operators(src)
	if len(c.sets) == 0 {
		return problem.Damagedf("no data set")
	}
	for i := range c.sets {
		if err := s.runSet(ctx, c, i, slices.Clone(b), src, o, r); err != nil {
			if len(c.sets) > 1 {
				return fmt.Errorf("data set %d: %w", i, err)
			}
			return err
		}
	}
	return nil
}

// operators lists what a model uses.
func operators(m *onnx.Model) []string {
	list := slices.Sorted(maps.Keys(m.Ops))
	if len(list) > 1 {
		list = slices.DeleteFunc(list, func(op string) bool { return op == "Constant" })
	}
	return list
}

// runSet computes the outputs of one data set on a model of its own: shapes may differ between the sets.
func (s *Suite) runSet(ctx context.Context, c *Case, set int, file []byte, src *onnx.Model, o Options, r *Result) error {
	inputs, shapes, data := map[string]*tensor.Tensor{}, map[string]tensor.Shape{}, map[string]*graph.Data{}
	for i, in := range src.Inputs {
		kind := kindOf(in)
		d := &graph.Data{Kind: kind}
		switch {
		case c.ramp:
			t, err := ramp(in)
			if err != nil {
				return err
			}
			d.Tensor = t
		case i < len(c.sets[set].in) && c.sets[set].in[i] != "":
			b, err := s.read(c.sets[set].in[i])
			if err != nil {
				return err
			}
			if d, err = onnx.ParseData(b, kind); err != nil {
				return fmt.Errorf("%s: %w", c.sets[set].in[i], err)
			}
		default:
			continue
		}
		if kind == graph.Tensor {
			inputs[in.Name], shapes[in.Name] = d.Tensor, d.Tensor.Shape
		} else {
			data[in.Name] = d
		}
	}
	m, err := model.OpenBytes(c.Name, file, model.Options{Shapes: shapes})
	if err != nil {
		return err
	}
	r.Stepped = r.Stepped || m.Rest != nil
	for _, in := range m.Plan.Inputs {
		if inputs[in.Name] == nil {
			return problem.Damagedf("no value for input %q", in.Name)
		}
	}
	res, err := m.Run(ctx, model.RunOptions{Chip: o.Chip, Mode: o.Mode, Loop: model.HostLoop, Iterations: 1, Threads: o.Threads, Inputs: inputs, Data: data})
	if err != nil {
		return err
	}
	got := res.Data
	if m.Rest == nil {
		got = nil
		for _, t := range res.Outputs {
			got = append(got, &graph.Data{Tensor: t})
		}
	}
	if len(got) != len(src.Outputs) {
		return problem.Failedf("%d outputs, the model declares %d", len(got), len(src.Outputs))
	}
	loose, tol := uses(src, "Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"), tensor.Tolerance{RTol: 1e-3, ATol: 1e-7}
	if uses(src, "DFT", "STFT") {
		tol.ATol = 1e-6 // where sums cancel, what is stored is the rounding of the reference's float32
	}
	for i, out := range src.Outputs {
		if i >= len(c.sets[set].out) || c.sets[set].out[i] == "" {
			continue
		}
		b, err := s.read(c.sets[set].out[i])
		if err != nil {
			return err
		}
		want, err := onnx.ParseData(b, kindOf(out))
		if err != nil {
			return fmt.Errorf("%s: %w", c.sets[set].out[i], err)
		}
		if err := same(got[i], want, tol, loose); err != nil {
			return problem.Failedf("output %q: %w", out.Name, err)
		}
	}
	return nil
}

// kindOf is the kind that a model declares for an input or output.
func kindOf(v onnx.ValueInfo) graph.Kind {
	switch v.Kind {
	case "sequence":
		return graph.Sequence
	case "optional":
		return graph.Optional
	}
	return graph.Tensor
}

// ramp fills an input by the suite's rule.
func ramp(in onnx.ValueInfo) (*tensor.Tensor, error) {
	n, err := in.Shape().Elements()
	if err != nil || in.DType != tensor.Float32 {
		return nil, problem.Damagedf("input %q is %v%v: the rule fills float32 of a known shape", in.Name, in.DType, in.Shape())
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i) / float32(n)
	}
	return tensor.FromFloat32s(in.Shape(), v)
}

// uses says whether a model has one of the operators. Of those that draw numbers only types and shapes can be compared.
func uses(m *onnx.Model, ops ...string) bool {
	return slices.ContainsFunc(ops, func(op string) bool { return m.Ops[op] > 0 })
}

// same compares a value with the stored one; loose looks at types and shapes only.
func same(got, want *graph.Data, tol tensor.Tolerance, loose bool) error {
	if want.Kind == graph.Optional && got.Kind != graph.Optional && want.Held != nil {
		want = want.Held // an output may be declared optional and be there
	}
	if got.Kind != want.Kind {
		return fmt.Errorf("is a %v, expected a %v", got.Kind, want.Kind)
	}
	switch got.Kind {
	case graph.Sequence:
		if len(got.List) != len(want.List) {
			return fmt.Errorf("has %d elements, expected %d", len(got.List), len(want.List))
		}
		for i := range got.List {
			if err := same(got.List[i], want.List[i], tol, loose); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
		return nil
	case graph.Optional:
		if (got.Held == nil) != (want.Held == nil) {
			return fmt.Errorf("holds something: %v, expected %v", got.Held != nil, want.Held != nil)
		}
		if got.Held == nil {
			return nil
		}
		return same(got.Held, want.Held, tol, loose)
	}
	g, w := got.Tensor, want.Tensor
	if g.DType != w.DType || !g.Shape.Equal(w.Shape) {
		return fmt.Errorf("is %v, expected %v", g, w)
	}
	if loose {
		return nil
	}
	d, err := tensor.Compare(g, w, tolerance(tol, g.DType))
	if err != nil {
		return err
	}
	if !d.Equal() {
		return fmt.Errorf("%d of %d elements differ; worst at %v: %g, expected %g", d.Mismatches, d.Elements, d.WorstAt, d.Got, d.Want)
	}
	return nil
}

// tolerance widens that of the suite for types whose steps are coarser.
func tolerance(tol tensor.Tolerance, t tensor.DType) tensor.Tolerance {
	switch t {
	case tensor.Float16:
		tol.ATol = max(tol.ATol, 1e-5)
	case tensor.BFloat16:
		tol = tensor.Tolerance{RTol: 1e-2, ATol: 1e-5}
	}
	return tol
}
