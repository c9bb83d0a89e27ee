package om

import (
	"slices"

	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// others are the operators that are more than one function of each element.
func others(t string) meaning {
	switch t {
	case "Cast", "TransData", "Identity", "Reshape", "Squeeze", "Unsqueeze", "ExpandDims", "Flatten", "FlattenV2", "ReFormat", "TransposeBatch":
		return copyOp
	case "Conv2D", "DepthwiseConv2D", "DepthwiseConv2DNative", "Conv2DCompress":
		return func(x *kernelOp) []*graph.Value { return []*graph.Value{x.finish(x.convolution(false), 0)} }
	case "Conv2DTransposeD", "Conv2DTranspose", "Deconvolution", "Conv2DBackpropInputD", "Conv2DBackpropInput":
		return func(x *kernelOp) []*graph.Value { return []*graph.Value{x.finish(x.transposed(false), 0)} }
	case "MatMul", "MatMulV2", "MatMulV3", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3":
		return func(x *kernelOp) []*graph.Value { return []*graph.Value{x.result(x.matmul(false), 0)} }
	case "FullyConnection", "InnerProduct":
		return func(x *kernelOp) []*graph.Value { return []*graph.Value{x.finish(x.fullyConnection(), 0)} }
	case "GEMM":
		return gemm
	case "BNInferenceD", "BNInference":
		return bnInference
	case "BNInfer", "BatchNorm":
		return batchNorm
	case "Scale":
		return scaleOp
	case "Eltwise", "AddN", "AccumulateNV2":
		return eltwise
	case "MaxPool", "MaxPoolV3", "AvgPool", "AvgPoolV2", "Pooling":
		return pooling
	case "GlobalAveragePool":
		return globalAverage
	case "SoftmaxV2", "Softmax", "LogSoftmaxV2":
		return softmax
	case "ReduceMeanD", "ReduceMaxD", "ReduceMinD", "ReduceSumD", "ReduceProdD", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd":
		return reduce
	case "StridedSliceD", "StridedSlice":
		return stridedSlice
	case "StridedSliceV2":
		return stridedSliceV2
	case "SliceD", "Slice":
		return slice
	case "ConcatD", "ConcatV2D", "Concat", "ConcatV2", "PhonyConcat":
		return concat
	case "SplitD", "SplitVD", "Split", "SplitV":
		return split
	case "Pack":
		return pack
	case "Transpose", "TransposeD", "Permute":
		return transpose
	case "GatherV2", "GatherV2D", "Gather":
		return gather
	case "PadD", "Pad", "PadV3D", "PadV3", "MirrorPad":
		return pad
	case "TileD", "Tile", "TileWithAxis", "BroadcastToD", "BroadcastTo", "ExpandD", "Expand":
		return expand
	case "ResizeBilinearV2", "ResizeBilinearV2D", "ResizeNearestNeighborV2", "ResizeNearestNeighborV2D", "Upsample", "ResizeBilinear", "ResizeNearestNeighbor":
		return resize
	case "ClipByValue", "ClipByValueV2":
		return clipByValue
	case "SelectV2", "Select":
		return choose
	case "LayerNorm", "LayerNormV3":
		return layerNorm
	case "InstanceNorm":
		return instanceNorm
	case "ArgMaxD", "ArgMaxV2", "ArgMinD", "ArgMin":
		return argMax
	case "DepthToSpace", "SpaceToDepth":
		return depthSpace
	case "Aipp":
		return aippOp
	case "LRN":
		return lrn
	}
	return nil
}

// copyOp moves elements: another layout, type or shape.
func copyOp(x *kernelOp) []*graph.Value {
	a := x.s.input(x.o, 0)
	d := x.desc(0)
	if a.v == nil {
		return x.fail("it is connected to nothing")
	}
	v := x.in(0)
	if x.err != nil {
		return nil
	}
	// Layouts of the same tensor: between the orders of both; views: as far as shapes go.
	w, err := x.b.feed(x.body, x.o.Name+"/copy", val{v: v, d: d, loose: x.loose}, x.o.Out[0])
	if err != nil {
		return x.fail("%w", err)
	}
	return []*graph.Value{x.cast(w, dtypeOf(x.o.Out[0].DType))}
}

// gemm is alpha·A·B + beta·C with sums in float32, rounded once.
func gemm(x *kernelOp) []*graph.Value {
	a, b, c, alpha, beta := x.origin(0), x.origin(1), x.origin(2), x.in(3), x.in(4)
	ta, tb := x.o.Attrs.Int("transpose_a", 0), x.o.Attrs.Int("transpose_b", 0)
	if x.err != nil {
		return nil
	}
	if a.DType.Int() {
		return x.fail("GEMM of %v", a.DType)
	}
	f := func(v *graph.Value) *graph.Value { return x.cast(v, float32Type) }
	p := x.emit("FusedMatMul", kernels.Attrs{"transA": ta, "transB": tb}, f(a), f(b))
	sum := x.emit("Add", nil, x.emit("Mul", nil, p, f(alpha)), x.emit("Mul", nil, f(c), f(beta)))
	return []*graph.Value{x.result(sum, 0)}
}

// scaleOp is Caffe's Scale: x·scale + bias along an axis.
func scaleOp(x *kernelOp) []*graph.Value {
	v := x.origin(0)
	axis := int(x.o.Attrs.Int("axis", 1))
	if axis < 0 {
		axis += len(v.Shape)
	}
	for i, op := range []string{"Mul", "Add"} {
		if !x.connected(i + 1) {
			continue
		}
		w := x.in(i + 1)
		if n := int(x.o.Attrs.Int("num_axes", 1)); len(w.Shape) < len(v.Shape) && len(w.Shape) > 0 && axis < len(v.Shape) && (n != -1) {
			s := make(tensor.Shape, len(v.Shape))
			for k := range s {
				s[k] = 1
			}
			copy(s[axis:], w.Shape)
			w = x.reshape(w, s)
		}
		if x.err != nil {
			return nil
		}
		v = x.pair(op, v, w)
	}
	return []*graph.Value{x.result(v, 0)}
}

// eltwise is a sum, product or maximum of several tensors.
func eltwise(x *kernelOp) []*graph.Value {
	mode := int64(1)
	if x.o.Type == "Eltwise" {
		mode = x.o.Attrs.Int("mode", 1)
	}
	if a := x.o.Attrs.Get("coeff"); a != nil && a.List != nil && slices.ContainsFunc(a.List.Floats, func(f float32) bool { return f != 1 }) {
		return x.fail("sum with coefficients")
	}
	op := map[int64]string{0: "Mul", 1: "Add", 2: "Max"}[mode]
	if op == "" {
		return x.fail("mode %d", mode)
	}
	var v *graph.Value
	for i := range x.o.Inputs {
		if !x.connected(i) {
			continue
		}
		w := x.broadcastTo(i, x.o.Out[0])
		if x.err != nil {
			return nil
		}
		if v == nil {
			v = w
		} else {
			v = x.emit(op, nil, v, w)
		}
	}
	if v == nil {
		return x.fail("it is connected to nothing")
	}
	return []*graph.Value{x.finish(v, 0)}
}

// clipByValue bounds every element.
func clipByValue(x *kernelOp) []*graph.Value {
	v := x.broadcast(0, 1, 2)
	if x.err != nil {
		return nil
	}
	y := x.emit("Min", nil, x.emit("Max", nil, v[0], x.cast(v[1], v[0].DType)), x.cast(v[2], v[0].DType))
	return []*graph.Value{x.finish(y, 0)}
}

// choose takes elements of one tensor or another.
func choose(x *kernelOp) []*graph.Value {
	v := x.broadcast(0, 1, 2)
	if x.err != nil {
		return nil
	}
	c := x.cast(v[0], tensor.Bool)
	return []*graph.Value{x.finish(x.emit("Where", nil, c, v[1], v[2]), 0)}
}
