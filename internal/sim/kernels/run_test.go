package kernels

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"npu/internal/tensor"
)

// trial is one operator with operands, run in several ways.
type trial struct {
	op    string
	opset int
	attrs Attrs
	in    []*tensor.Tensor // nil: absent
	konst []bool           // operand is known at compile time; beyond the end: no
	outs  int
}

func (c trial) String() string {
	s := c.op
	for _, t := range c.in {
		if t != nil {
			s += fmt.Sprintf(" %v", t)
		}
	}
	return fmt.Sprintf("%s %v konst %v", s, c.attrs, c.konst)
}

func (c trial) spec() *Spec {
	s := &Spec{Op: c.op, Opset: c.opset, Attrs: c.attrs, Out: make([]Desc, max(1, c.outs))}
	if s.Opset == 0 {
		s.Opset = 21
	}
	for i, t := range c.in {
		d := Desc{}
		if t != nil {
			d = Desc{DType: t.DType, Shape: t.Shape}
			if i < len(c.konst) && c.konst[i] {
				d.Const = t
			}
		}
		s.In = append(s.In, d)
	}
	return s
}

// prepare compiles the trial and makes an execution with filled operands.
func (c trial) prepare() (*Kernel, *Exec, []*tensor.Tensor, error) {
	s := c.spec()
	k, err := Compile(s)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := Infer(s); err != nil {
		return nil, nil, nil, err
	}
	x := &Exec{Workspace: bytes.Repeat([]byte{0xff}, k.Workspace)} // NaN: a kernel must not rely on its content
	for _, t := range c.in {
		if t == nil {
			x.In = append(x.In, nil)
		} else {
			x.In = append(x.In, t.Data)
		}
	}
	for _, w := range k.Weights {
		packed := make([]byte, w.Bytes)
		w.Pack(packed, x.In[w.Input])
		x.In[w.Input] = packed
	}
	var outs []*tensor.Tensor
	for _, d := range s.Out {
		t, err := tensor.New(d.DType, d.Shape)
		if err != nil {
			return nil, nil, nil, err
		}
		for i := range t.Data {
			t.Data[i] = 0xff
		}
		outs, x.Out = append(outs, t), append(x.Out, t.Data)
	}
	return k, x, outs, nil
}

// run computes the trial without workers, checks that other numbers of workers give the same bits and that a run
// allocates nothing, and returns the outputs.
func (c trial) run(t *testing.T) []*tensor.Tensor {
	t.Helper()
	k, x, outs, err := c.prepare()
	if err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	if err := k.Run(x); err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	first := make([][]byte, len(outs))
	for i, o := range outs {
		first[i] = bytes.Clone(o.Data)
	}
	for _, n := range []int{1, 2, 3, 5} {
		x.Workers = NewWorkers(n)
		if err := k.Run(x); err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		for i, o := range outs {
			if !bytes.Equal(first[i], o.Data) {
				t.Fatalf("%v: output %d differs with %d workers", c, i, n)
			}
		}
		if n == 1 {
			if a := allocations(2, func() { _ = k.Run(x) }); a != 0 {
				t.Fatalf("%v: a run with one worker allocates %v times", c, a)
			}
		}
		x.Workers.Close()
	}
	x.Workers = nil
	if a := allocations(2, func() { _ = k.Run(x) }); a != 0 {
		t.Fatalf("%v: a run allocates %v times", c, a)
	}
	if k.Type == "" || k.Blocks < 1 || k.Work.WriteBytes < 1 {
		t.Errorf("%v: kernel type %q, blocks %d, work %+v", c, k.Type, k.Blocks, k.Work)
	}
	return outs
}

// random fills a tensor with values in [-1,1) that its type holds exactly.
func random(r *rand.Rand, t tensor.DType, shape ...int) *tensor.Tensor {
	x, err := tensor.New(t, shape)
	if err != nil {
		panic(err)
	}
	v := make([]float64, tensor.Shape(shape).Count())
	for i := range v {
		v[i] = float64(r.IntN(2048)-1024) / 1024
		if t.Int() {
			v[i] = float64(r.IntN(20) - 10)
			if t == tensor.Uint8 || t == tensor.Uint32 || t == tensor.Uint64 {
				v[i] = math.Abs(v[i])
			}
		}
	}
	setNumbers(x, v)
	return x
}

func ints(v ...int) *tensor.Tensor {
	x := &tensor.Tensor{DType: tensor.Int64, Shape: tensor.Shape{len(v)}}
	for _, n := range v {
		x.Data = append(x.Data, tensor.Bytes([]int64{int64(n)})...)
	}
	return x
}

func floats(v ...float32) *tensor.Tensor {
	return &tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{len(v)}, Data: tensor.Bytes(v)}
}

// numbers reads a tensor as float64; nil for nil.
func numbers(x *tensor.Tensor) []float64 {
	if x == nil {
		return nil
	}
	v := make([]float64, x.Shape.Count())
	for i := range v {
		switch x.DType {
		case tensor.Int8:
			v[i] = float64(int8(x.Data[i]))
		case tensor.Uint8:
			v[i] = float64(x.Data[i])
		case tensor.Int32:
			v[i] = float64(tensor.View[int32](x.Data)[i])
		case tensor.Int64:
			v[i] = float64(tensor.View[int64](x.Data)[i])
		case tensor.Uint32:
			v[i] = float64(tensor.View[uint32](x.Data)[i])
		case tensor.Uint64:
			v[i] = float64(tensor.View[uint64](x.Data)[i])
		case tensor.Float64:
			v[i] = tensor.View[float64](x.Data)[i]
		default:
			v[i] = float64(newVec(x.DType, x.Data).at(i))
		}
	}
	return v
}

// setNumbers is the inverse of numbers.
func setNumbers(x *tensor.Tensor, v []float64) {
	for i := range v {
		switch x.DType {
		case tensor.Int8:
			x.Data[i] = byte(int8(v[i]))
		case tensor.Uint8:
			x.Data[i] = byte(v[i])
		case tensor.Int32:
			tensor.View[int32](x.Data)[i] = int32(v[i])
		case tensor.Int64:
			tensor.View[int64](x.Data)[i] = int64(v[i])
		case tensor.Uint32:
			tensor.View[uint32](x.Data)[i] = uint32(v[i])
		case tensor.Uint64:
			tensor.View[uint64](x.Data)[i] = uint64(v[i])
		case tensor.Float64:
			tensor.View[float64](x.Data)[i] = v[i]
		default:
			newVec(x.DType, x.Data).store(i, 1, []float32{float32(v[i])})
		}
	}
}

func tolerance(t tensor.DType) float64 {
	switch t {
	case tensor.Float16:
		return 2e-3
	case tensor.BFloat16:
		return 1.6e-2
	}
	return 3e-5
}

// near compares with the reference.
func (c trial) near(t *testing.T, got *tensor.Tensor, want []float64) {
	t.Helper()
	g := numbers(got)
	if len(g) != len(want) {
		t.Fatalf("%v: %v has %d elements, want %d", c, got, len(g), len(want))
	}
	tol := tolerance(got.DType)
	for i := range g {
		if !(math.Abs(g[i]-want[i]) <= tol*(1+math.Abs(want[i]))) {
			t.Fatalf("%v: %v element %d is %g, want %g", c, got, i, g[i], want[i])
		}
	}
}

// refAct is a fused activation in float64.
func refAct(at Attrs, x float64) float64 {
	a, b := float64(at.Float("act_alpha", 0)), float64(at.Float("act_beta", 0))
	switch at.Str("activation", "") {
	case "Relu":
		return math.Max(x, 0)
	case "LeakyRelu":
		if x < 0 {
			return a * x
		}
	case "Clip":
		return math.Min(math.Max(x, float64(at.Float("act_min", 0))), float64(at.Float("act_max", 0)))
	case "Sigmoid":
		return 1 / (1 + math.Exp(-x))
	case "HardSigmoid":
		return math.Max(0, math.Min(1, a*x+b))
	case "HardSwish":
		return x * math.Max(0, math.Min(1, x/6+0.5))
	case "Silu":
		return x / (1 + math.Exp(-x))
	case "Tanh":
		return math.Tanh(x)
	case "Gelu":
		return x / 2 * (1 + math.Erf(x/math.Sqrt2))
	}
	return x
}

// someActivation is one of the fused activations with its parameters.
func someActivation(r *rand.Rand, at Attrs) {
	names := []string{"", "Relu", "LeakyRelu", "Clip", "Sigmoid", "HardSigmoid", "HardSwish", "Silu", "Tanh", "Gelu"}
	at["activation"] = names[r.IntN(len(names))]
	at["act_alpha"], at["act_beta"] = float32(0.25), float32(0.375)
	at["act_min"], at["act_max"] = float32(-0.5), float32(0.75)
}

func i64(v ...int) []int64 {
	out := make([]int64, len(v))
	for i, x := range v {
		out[i] = int64(x)
	}
	return out
}
