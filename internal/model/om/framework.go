package om

import (
	"math"
	"math/rand/v2"

	"npu/internal/model/graph"
	"npu/internal/tensor"
)

// randomSeed makes random operators give the same numbers in every run.
const randomSeed = 1

// framework is an operator of the original framework that runs on the AI CPU.
func (x *kernelOp) framework() []*graph.Value {
	t := x.o.Attrs.Str("original_type")
	switch t {
	case "RandomStandardNormal":
		return x.randomNormal()
	case "Identity", "StopGradient":
		return copyOp(x)
	}
	if len(x.o.Inputs) > 0 && (simple[t] != "" || isPair(t)) {
		if f := meanings(t); f != nil {
			return f(x)
		}
	}
	return x.fail("%s of the framework is not known", t)
}

// maxRandom bounds random tensors that are made ahead.
const maxRandom = 1 << 26

// randomNormal is a tensor of normally distributed numbers. They are drawn when the model is read, the same in each
// run: a real device draws others each time.
func (x *kernelOp) randomNormal() []*graph.Value {
	d := x.o.Out[0]
	dims, ok := d.dims()
	n, err := shapeOf(dims).Elements()
	if !ok || err != nil || n > maxRandom {
		return x.fail("random numbers of shape %v", dims)
	}
	rng := rand.New(rand.NewPCG(randomSeed, math.Float64bits(float64(x.o.ID))))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	t, err := tensor.FromFloat32s(shapeOf(dims), v)
	if err != nil {
		return x.fail("%w", err)
	}
	x.note("random numbers from a fixed seed: a device draws others in each run")
	return []*graph.Value{x.cast(constValue(x.o.Name, t), dtypeOf(d.DType))}
}
