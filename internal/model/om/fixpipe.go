package om

import (
	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
)

// Slots of a FixPipe kernel behind x, filter, bias and offset.
const (
	fixElementwise = 4
	fixQuant0      = 5
	fixRelu0       = 6
	fixClip0       = 7
	fixQuant1      = 8
	fixRelu1       = 9
	fixClip1       = 10
	fixAnti        = 11
)

// fixPipe is what the unit that reads the cube's results does: an activation, the sum with another tensor, a second
// activation. Which of them there are stands in the list of original operators.
func (x *kernelOp) fixPipe(v *graph.Value) *graph.Value {
	for _, i := range []int{fixQuant0, fixQuant1, fixAnti, fixAnti + 1} {
		if x.connected(i) {
			return x.bad(x.errorf("quantisation in its kernel"))
		}
	}
	types, last := x.originals()
	var acts []string
	sum := ""
	for _, t := range types {
		switch t {
		case "Add", "Eltwise", "AddV2", "Sub":
			sum = t
		case "Relu", "Relu6", "LeakyRelu", "PRelu":
			acts = append(acts, t)
		case "Const", "Constant", "Conv2D", "MatMulV2", "BatchMatMulV2", "FullyConnection", "Conv2DTransposeD", "DepthwiseConv2D", "TransData", "Cast", "Conv2DTranspose", "MatMul", "BatchMatMul", "BatchNorm", "BNInfer", "ReFormat", "BiasAdd":
		default:
			return x.bad(x.errorf("%s in its kernel", t))
		}
	}
	if x.connected(fixElementwise) != (sum != "") && x.connected(fixElementwise) {
		sum = "Add"
		x.note("its second operand taken as a sum")
	}
	if sum == "Eltwise" || sum == "AddV2" {
		sum = "Add"
	}
	before, after := "", ""
	switch {
	case len(acts) > 2:
		return x.bad(x.errorf("%d activations in its kernel", len(acts)))
	case len(acts) == 2:
		before, after = acts[0], acts[1]
	case len(acts) == 1 && sum == "":
		before = acts[0]
	case len(acts) == 1 && last == acts[0]:
		after = acts[0]
	case len(acts) == 1:
		before = acts[0]
		x.note("its activation taken before the sum")
	}
	v = x.fixActivation(v, before, fixRelu0, fixClip0)
	if x.connected(fixElementwise) && x.err == nil {
		v = x.pair(sum, v, x.broadcastTo(fixElementwise, x.o.Out[0]))
	}
	return x.fixActivation(v, after, fixRelu1, fixClip1)
}

func (x *kernelOp) fixActivation(v *graph.Value, t string, weight, clip int) *graph.Value {
	if x.err != nil || t == "" {
		return v
	}
	switch {
	case t == "Relu":
		return x.emit("Relu", nil, v)
	case t == "Relu6":
		if x.connected(clip) {
			w := x.in(clip)
			return x.emit("Min", nil, x.emit("Relu", nil, v), x.cast(w, v.DType))
		}
		return x.clip(v, 0, 6)
	case x.connected(weight): // PReLU, and LeakyReLU in that form: the slope is an operand
		w := x.in(weight)
		if n := w.Shape.Count(); n > 1 && named(x.o.Out[0].order()) {
			w = x.channel(w, x.o.Out[0].order())
		} else if n == 1 {
			w = x.reshape(w, nil)
		}
		return x.pair("PRelu", v, w)
	case t == "LeakyRelu" && x.o.Attrs.Has("negative_slope"):
		return x.leaky(v)
	case t == "LeakyRelu":
		return x.commonLeaky(v)
	}
	return x.bad(x.errorf("the slope of %s in its kernel is not stored", t))
}

// commonLeaky is a leaky ReLU that lost its slope: that of all others in the file, if they agree.
func (x *kernelOp) commonLeaky(v *graph.Value) *graph.Value {
	slopes := map[float32]bool{}
	slope := float32(0)
	x.b.m.eachOp(func(o *OpDef) {
		if o.Attrs.Has("negative_slope") {
			slope = o.Attrs.Float("negative_slope", 0)
			slopes[slope] = true
		}
	})
	if len(slopes) != 1 {
		return x.bad(x.errorf("the slope of LeakyRelu in its kernel is not stored"))
	}
	x.note("slope %g of its LeakyRelu taken from the others of the file", slope)
	return x.emit("LeakyRelu", kernels.Attrs{"alpha": slope}, v)
}

// originals are the types of the operators that went into a kernel, and the type of the last of them where the file
// says it: the output names the operator it came from.
func (x *kernelOp) originals() (types []string, last string) {
	types = x.o.Attrs.Strs("_datadump_original_op_types")
	names := x.o.Attrs.Strs("_datadump_original_op_names")
	name := x.o.Out[0].Attrs.Str("_datadump_origin_name")
	// The list of types often leaves out the first operators: both end together.
	for i := range types {
		k := len(names) - len(types) + i
		if k >= 0 && k < len(names) && names[k] == name {
			last = types[i]
		}
	}
	return types, last
}
