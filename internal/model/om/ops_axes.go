package om

import (
	"math"
	"slices"
	"strings"

	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// Operators of this file count axes; they compute in the logical order, in which their attributes count.

func softmax(x *kernelOp) []*graph.Value {
	v := x.origin(0)
	axes := x.o.Attrs.Ints("axes")
	if a := x.o.Attrs.Get("axis"); len(axes) == 0 && a != nil {
		axes = []int64{a.Int}
	}
	if len(axes) == 0 {
		axes = []int64{-1}
	}
	if len(axes) != 1 {
		return x.fail("softmax over axes %v", axes)
	}
	op := "Softmax"
	if x.o.Type == "LogSoftmaxV2" {
		op = "LogSoftmax"
	}
	return []*graph.Value{x.result(x.emit(op, kernels.Attrs{"axis": axes[0]}, v), 0)}
}

func reduce(x *kernelOp) []*graph.Value {
	v := x.origin(0)
	axes, ok := x.listOr("axes", 1)
	if !ok {
		return x.fail("its axes are not known")
	}
	keep := int64(0)
	if x.o.Attrs.Bool("keep_dims", false) {
		keep = 1
	}
	op := strings.TrimSuffix(x.o.Type, "D")
	attrs := kernels.Attrs{"keepdims": keep}
	in := []*graph.Value{v}
	if op == "ReduceSum" {
		in = append(in, ints(axes...))
	} else {
		attrs["axes"] = axes
	}
	return []*graph.Value{x.result(x.emit(op, attrs, in...), 0)}
}

func globalAverage(x *kernelOp) []*graph.Value {
	v := x.as(0, "NCHW")
	axes := []int64{}
	for i := 2; i < len(v.Shape); i++ {
		axes = append(axes, int64(i))
	}
	y := x.emit("ReduceMean", kernels.Attrs{"axes": axes, "keepdims": int64(1)}, v)
	return []*graph.Value{x.finish(x.reorder(y, nchw(x.desc(0).order()), x.o.Out[0].order()), 0)}
}

// stridedSlice reads begin, end, strides and the masks, one bit a dimension.
func stridedSlice(x *kernelOp) []*graph.Value {
	v := x.origin(0)
	begin, ok1 := x.listOr("begin", 1)
	end, ok2 := x.listOr("end", 2)
	strides, ok3 := x.listOr("strides", 3)
	a := x.o.Attrs
	if !ok1 || !ok2 {
		return x.fail("its begin and end are not known")
	}
	if !ok3 || len(strides) == 0 {
		strides = slices.Repeat([]int64{1}, len(begin))
	}
	if len(end) != len(begin) || len(strides) != len(begin) {
		return x.fail("begin %v, end %v and strides %v", begin, end, strides)
	}
	var starts, ends, axes, steps []int64
	axis, known := 0, 0
	for i := range begin {
		bit := int64(1) << i
		if (a.Int("ellipsis_mask", 0)|a.Int("new_axis_mask", 0))&bit == 0 {
			known++
		}
	}
	for i := range begin {
		bit := int64(1) << i
		on := func(mask string) bool { return a.Int(mask, 0)&bit != 0 }
		if on("ellipsis_mask") {
			axis += max(len(v.Shape)-known, 0) // the axes that no entry speaks of
			continue
		}
		if on("new_axis_mask") {
			continue // of length 1: it comes with the shape of the result
		}
		b, e, step := begin[i], end[i], strides[i]
		if on("begin_mask") {
			if b = 0; step < 0 {
				b = math.MaxInt32
			}
		}
		if on("end_mask") {
			if e = math.MaxInt32; step < 0 {
				e = math.MinInt32
			}
		}
		if on("shrink_axis_mask") {
			if b, e, step = begin[i], begin[i]+1, 1; e == 0 {
				e = math.MaxInt32
			}
		}
		starts, ends, axes, steps = append(starts, b), append(ends, e), append(axes, int64(axis)), append(steps, step)
		axis++
	}
	if axis > len(v.Shape) {
		return x.fail("%d axes sliced of shape %v", axis, v.Shape)
	}
	return []*graph.Value{x.result(x.emit("Slice", nil, v, ints(starts...), ints(ends...), ints(axes...), ints(steps...)), 0)}
}

// stridedSliceV2 takes axes and strides as inputs, as ONNX does.
func stridedSliceV2(x *kernelOp) []*graph.Value {
	v := x.origin(0)
	begin, ok1 := x.constInts(1)
	end, ok2 := x.constInts(2)
	if !ok1 || !ok2 || len(begin) != len(end) {
		return x.fail("its begin and end are not known")
	}
	in := []*graph.Value{v, ints(begin...), ints(end...)}
	axes, ok := x.constInts(3)
	if !ok {
		for i := range begin {
			axes = append(axes, int64(i))
		}
	}
	in = append(in, ints(axes...))
	if strides, ok := x.constInts(4); ok {
		in = append(in, ints(strides...))
	}
	return []*graph.Value{x.result(x.emit("Slice", nil, in...), 0)}
}

// slice takes offsets and sizes, -1 for what is left.
func slice(x *kernelOp) []*graph.Value {
	v := x.origin(0)
	begin, ok1 := x.listOr("offsets", 1)
	size, ok2 := x.listOr("size", 2)
	if !ok1 || !ok2 || len(begin) != len(size) {
		return x.fail("its offsets and sizes are not known")
	}
	end, axes := make([]int64, len(begin)), make([]int64, len(begin))
	for i := range begin {
		axes[i] = int64(i)
		if end[i] = begin[i] + size[i]; size[i] < 0 {
			end[i] = math.MaxInt32
		}
	}
	return []*graph.Value{x.result(x.emit("Slice", nil, v, ints(begin...), ints(end...), ints(axes...)), 0)}
}

func concat(x *kernelOp) []*graph.Value {
	axis, ok := x.o.Attrs.Int("concat_dim", 0), x.o.Attrs.Has("concat_dim")
	var slots []int
	for i := range x.o.Inputs {
		if x.connected(i) {
			slots = append(slots, i)
		}
	}
	if !ok && len(slots) > 1 {
		at := slots[0] // Concat: the axis comes first; ConcatV2: last
		if x.o.Type == "ConcatV2" {
			at = slots[len(slots)-1]
		}
		list, known := x.constInts(at)
		if !known || len(list) != 1 {
			return x.fail("its axis is not known")
		}
		axis = list[0]
		slots = slices.DeleteFunc(slots, func(i int) bool { return i == at })
	}
	var in []*graph.Value
	for _, i := range slots {
		in = append(in, x.origin(i))
	}
	if len(in) == 0 {
		return x.fail("it is connected to nothing")
	}
	return []*graph.Value{x.result(x.emit("Concat", kernels.Attrs{"axis": axis}, in...), 0)}
}

func pack(x *kernelOp) []*graph.Value {
	axis := x.o.Attrs.Int("axis", 0)
	var in []*graph.Value
	for i := range x.o.Inputs {
		if x.connected(i) {
			in = append(in, x.emit("Unsqueeze", nil, x.origin(i), ints(axis)))
		}
	}
	if len(in) == 0 {
		return x.fail("it is connected to nothing")
	}
	return []*graph.Value{x.result(x.emit("Concat", kernels.Attrs{"axis": axis}, in...), 0)}
}

// split takes the sizes from the outputs themselves.
func split(x *kernelOp) []*graph.Value {
	data, dim := 0, 1
	if x.o.Type == "Split" {
		data, dim = 1, 0
	}
	if x.o.Type == "SplitV" {
		dim = 2
	}
	v := x.origin(data)
	list, ok := x.listOr("split_dim", dim)
	if !ok || len(list) != 1 {
		return x.fail("its axis is not known")
	}
	axis := int(list[0])
	if axis < 0 {
		axis += len(v.Shape)
	}
	if axis < 0 || axis >= len(v.Shape) {
		return x.fail("axis %d of shape %v", list[0], v.Shape)
	}
	sizes := make([]int64, len(x.o.Out))
	for i, d := range x.o.Out {
		dims, ok := d.originShape()
		if !ok || axis >= len(dims) {
			return x.fail("output %d has no shape", i)
		}
		sizes[i] = dims[axis]
	}
	if x.err != nil {
		return nil
	}
	outs, err := x.b.emitN(x.body, x.o.Name+"/Split", "Split", kernels.Attrs{"axis": int64(axis)}, len(sizes), v, ints(sizes...))
	if err != nil {
		return x.fail("%w", err)
	}
	for i := range outs {
		outs[i] = x.result(outs[i], i)
	}
	return outs
}

func transpose(x *kernelOp) []*graph.Value {
	perm, ok := x.listOr("perm", 1)
	if !ok {
		if perm, ok = x.listOr("order", -1); !ok {
			return x.fail("its permutation is not known")
		}
	}
	return []*graph.Value{x.result(x.emit("Transpose", kernels.Attrs{"perm": perm}, x.origin(0)), 0)}
}

func gather(x *kernelOp) []*graph.Value {
	axis := []int64{x.o.Attrs.Int("axis", 0)}
	if x.o.Type == "GatherV2" {
		var ok bool
		if axis, ok = x.constInts(2); !ok || len(axis) != 1 {
			return x.fail("its axis is not known")
		}
	}
	if x.o.Attrs.Int("batch_dims", 0) != 0 {
		return x.fail("gather with batch dimensions")
	}
	return []*graph.Value{x.result(x.emit("Gather", kernels.Attrs{"axis": axis[0]}, x.origin(0), x.origin(1)), 0)}
}

// pad takes pairs of numbers a dimension; ONNX takes all begins, then all ends.
func pad(x *kernelOp) []*graph.Value {
	v := x.origin(0)
	var list []int64
	if a := x.o.Attrs.Get("paddings"); a != nil && a.Kind == AttrIntLists {
		for _, p := range a.Ints {
			list = append(list, p...)
		}
	} else {
		var ok bool
		if list, ok = x.listOr("paddings", 1); !ok {
			return x.fail("its paddings are not known")
		}
	}
	n := len(v.Shape)
	if len(list) != 2*n {
		return x.fail("%d paddings for shape %v", len(list), v.Shape)
	}
	if x.o.Attrs.Bool("paddings_contiguous", true) {
		onnx := make([]int64, 2*n)
		for i := range n {
			onnx[i], onnx[n+i] = list[2*i], list[2*i+1]
		}
		list = onnx
	}
	mode := strings.ToLower(x.o.Attrs.Str("mode"))
	if mode == "" {
		mode = "constant"
	}
	in := []*graph.Value{v, ints(list...)}
	switch {
	case x.o.Attrs.Has("constant_values"):
		c := float32(x.o.Attrs.Int("constant_values", 0))
		if f := x.o.Attrs.Float("constant_values", 0); f != 0 {
			c = f
		}
		in = append(in, x.scalar(c, v))
	case mode == "constant" && x.connected(2):
		in = append(in, x.cast(x.in(2), v.DType))
	}
	return []*graph.Value{x.result(x.emit("Pad", kernels.Attrs{"mode": mode}, in...), 0)}
}

// expand repeats a tensor up to the shape of the output.
func expand(x *kernelOp) []*graph.Value {
	v := x.origin(0)
	dims, ok := x.o.Out[0].originShape()
	if !ok || len(dims) < len(v.Shape) {
		return x.fail("its shape is not known")
	}
	repeats := make([]int64, len(dims))
	lead := len(dims) - len(v.Shape)
	s := make(tensor.Shape, len(dims))
	for i, n := range dims {
		have := int64(1)
		if i >= lead {
			have = int64(v.Shape[i-lead])
		}
		s[i] = int(have)
		if have == 0 || n < 0 || n%have != 0 {
			return x.fail("shape %v repeated to %v", v.Shape, dims)
		}
		repeats[i] = n / have
	}
	return []*graph.Value{x.result(x.emit("Tile", nil, x.reshape(v, s), ints(repeats...)), 0)}
}

func argMax(x *kernelOp) []*graph.Value {
	list, ok := x.listOr("dimension", 1)
	if !ok || len(list) != 1 {
		return x.fail("its axis is not known")
	}
	op := "ArgMax"
	if strings.HasPrefix(x.o.Type, "ArgMin") {
		op = "ArgMin"
	}
	return []*graph.Value{x.result(x.emit(op, kernels.Attrs{"axis": list[0], "keepdims": int64(0)}, x.origin(0)), 0)}
}

func depthSpace(x *kernelOp) []*graph.Value {
	v := x.as(0, "NCHW")
	attrs := kernels.Attrs{"blocksize": x.o.Attrs.Int("block_size", 2)}
	if x.o.Type == "DepthToSpace" {
		attrs["mode"] = "DCR"
		if m := x.o.Attrs.Str("mode"); m != "" {
			attrs["mode"] = m
		}
	}
	y := x.emit(x.o.Type, attrs, v)
	return []*graph.Value{x.finish(x.reorder(y, nchw(x.desc(0).order()), x.o.Out[0].order()), 0)}
}
