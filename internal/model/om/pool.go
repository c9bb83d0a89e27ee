package om

import (
	"strings"

	"npu/internal/model/graph"
	"npu/internal/tensor"
)

// pooling is the maximum or average of windows. Where the window leaves elements over, the result's size says whether
// they count.
func pooling(x *kernelOp) []*graph.Value {
	v := x.as(0, "NCHW")
	out, ok := x.outNCHW()
	if x.err != nil {
		return nil
	}
	if len(v.Shape) != 4 || !ok {
		return x.fail("pooling of shape %v", v.Shape)
	}
	a := x.o.Attrs
	op, count := "MaxPool", false
	switch {
	case strings.HasPrefix(x.o.Type, "AvgPool"):
		op, count = "AveragePool", !a.Bool("exclusive", true)
	case x.o.Type == "Pooling" && a.Int("mode", 0) == 1:
		op, count = "AveragePool", true
	}
	var kernel, stride [2]int
	order := a.Str("data_format")
	if d := x.desc(0); !named(order) && named(d.originFormat()) {
		order = d.originFormat()
	}
	size, steps := a.Ints("ksize"), a.Ints("strides")
	if x.o.Type == "Pooling" {
		size, steps = a.Ints("window"), a.Ints("stride")
	}
	in := [2]int{v.Shape[2], v.Shape[3]}
	if a.Bool("global_pooling", false) {
		kernel, stride = in, [2]int{1, 1}
	} else if !spatial(size, order, &kernel) || !spatial(steps, order, &stride) || kernel[0] < 1 || kernel[1] < 1 || stride[0] < 1 || stride[1] < 1 {
		return x.fail("its window and strides are not known")
	}
	g := geometry{stride: stride, dilation: [2]int{1, 1}}
	s := sizes{in: in, kernel: kernel, out: [2]int{out[2], out[3]}}
	mode := a.Str("padding_mode")
	if mode == "" {
		mode = a.Str("padding")
	}
	pads := a.Ints("pads")
	if x.o.Type == "Pooling" {
		pads = a.Ints("pad")
	}
	switch {
	case a.Bool("global_pooling", false), mode == "VALID":
	case mode == "SAME":
		g.same(s, 0)
		g.same(s, 1)
	case len(pads) == 4:
		g.lo, g.hi = [2]int{int(pads[0]), int(pads[2])}, [2]int{int(pads[1]), int(pads[3])}
	}
	attrs := g.attrs(1)
	delete(attrs, "group")
	delete(attrs, "dilations")
	attrs["kernel_shape"] = []int64{int64(kernel[0]), int64(kernel[1])}
	if op == "AveragePool" && count {
		attrs["count_include_pad"] = int64(1)
	}
	if !g.agrees(s) {
		attrs["ceil_mode"] = int64(1)
	}
	var y *graph.Value
	if op == "AveragePool" && v.DType != tensor.Float32 {
		y = x.precise(v, func(v *graph.Value) *graph.Value { return x.emit(op, attrs, v) })
	} else {
		y = x.emit(op, attrs, v)
	}
	return []*graph.Value{x.finish(x.reorder(y, "NCHW", x.o.Out[0].order()), 0)}
}
