package om

import (
	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// bnInference is (x + in1)·in2, then ·in3 + in4 where they are connected.
func bnInference(x *kernelOp) []*graph.Value {
	d := x.o.Out[0]
	v := x.in(0)
	for i, op := range []string{"Add", "Mul", "Mul", "Add"} {
		if i+1 >= len(x.o.Inputs) || !x.connected(i+1) {
			break
		}
		w := x.broadcastTo(i+1, d)
		if x.err != nil {
			return nil
		}
		v = x.pair(op, v, w)
	}
	return []*graph.Value{x.finish(v, 0)}
}

// batchNorm normalises by channel with stored mean and variance.
func batchNorm(x *kernelOp) []*graph.Value {
	if x.o.Type == "BatchNorm" && x.o.Attrs.Bool("is_training", true) {
		return x.fail("batch normalisation in training")
	}
	v := x.as(0, "NCHW")
	order := x.desc(0).order()
	p := make([]*graph.Value, 4)
	for i := range p {
		w := x.in(i + 1)
		p[i] = x.reshape(w, tensor.Shape{w.Shape.Count()})
	}
	if x.err != nil {
		return nil
	}
	t := v.DType
	in := []*graph.Value{x.cast(v, float32Type)}
	for _, w := range p {
		in = append(in, x.cast(w, float32Type))
	}
	y := x.emit("BatchNormalization", kernels.Attrs{"epsilon": x.o.Attrs.Float("epsilon", 1e-4)}, in...)
	return []*graph.Value{x.finish(x.reorder(x.cast(y, t), nchw(order), x.o.Out[0].order()), 0)}
}

// nchw is the order that as(…, "NCHW") gave: names that cannot be permuted stay.
func nchw(order string) string {
	if named(order) && len(order) == 4 {
		return "NCHW"
	}
	return order
}

func layerNorm(x *kernelOp) []*graph.Value {
	v := x.origin(0)
	axis := int(x.o.Attrs.Int("begin_norm_axis", 0))
	if axis < 0 {
		axis += len(v.Shape)
	}
	params := int(x.o.Attrs.Int("begin_params_axis", 0))
	if params < 0 {
		params += len(v.Shape)
	}
	if params != axis {
		return x.fail("parameters from axis %d, norm from axis %d", params, axis)
	}
	def := float32(1e-7)
	if x.o.Type == "LayerNormV3" {
		def = 1e-5
	}
	f := func(w *graph.Value) *graph.Value { return x.cast(w, float32Type) }
	y := x.emit("LayerNormalization", kernels.Attrs{"axis": int64(axis), "epsilon": x.o.Attrs.Float("epsilon", def)}, f(v), f(x.in(1)), f(x.in(2)))
	return []*graph.Value{x.result(y, 0)}
}

func instanceNorm(x *kernelOp) []*graph.Value {
	v := x.as(0, "NCHW")
	f := func(w *graph.Value) *graph.Value { return x.cast(w, float32Type) }
	vec := func(i int) *graph.Value { w := x.in(i); return f(x.reshape(w, tensor.Shape{w.Shape.Count()})) }
	y := x.emit("InstanceNormalization", kernels.Attrs{"epsilon": x.o.Attrs.Float("epsilon", 1e-6)}, f(v), vec(1), vec(2))
	return []*graph.Value{x.finish(x.reorder(y, nchw(x.desc(0).order()), x.o.Out[0].order()), 0)}
}

func lrn(x *kernelOp) []*graph.Value {
	a := x.o.Attrs
	if r := a.Str("norm_region"); r != "" && r != "ACROSS_CHANNELS" {
		return x.fail("normalisation region %s", r)
	}
	size := 2*a.Int("depth_radius", 5) + 1
	v := x.as(0, "NCHW")
	y := x.emit("LRN", kernels.Attrs{"size": size, "bias": a.Float("bias", 1), "alpha": a.Float("alpha", 1) * float32(size), "beta": a.Float("beta", 0.5)}, v)
	return []*graph.Value{x.finish(x.reorder(y, nchw(x.desc(0).order()), x.o.Out[0].order()), 0)}
}
