package om

import (
	"npu/internal/model/graph"
	"npu/internal/tensor"
)

// geType is the type of a node's operator in the field: the kernel's, or what operators without a kernel are called.
func geType(n *graph.Node, kernel string) string {
	if kernel != "" {
		return kernel
	}
	return n.Op
}

// describe writes the attributes that other readers of the format look for, in their form.
func describe(o *OpDef, n *graph.Node) {
	a := n.Attrs
	ints := func(name string) []int64 {
		var out []int64
		for _, v := range a.Ints(name) {
			out = append(out, int64(v))
		}
		return out
	}
	switch n.Op {
	case graph.AllReduce, graph.AllGather, graph.ReduceScatter, graph.Broadcast, graph.Send, graph.Receive:
		describeCollective(o, n)
	case "Conv", "FusedConv", "ConvTranspose", "MaxPool", "AveragePool":
		windowField(o, n)
	case "MatMul", "FusedMatMul", "Gemm":
		o.Attrs.setBool("transpose_x1", a.Int("transA", 0) != 0)
		o.Attrs.setBool("transpose_x2", a.Int("transB", 0) != 0)
	case "Softmax", "LogSoftmax":
		o.Attrs.setInts("axes", []int64{int64(a.Int("axis", -1))})
	case "Concat":
		o.Attrs.setInt("concat_dim", int64(a.Int("axis", 0)))
		o.Attrs.setInt("N", int64(len(n.In)))
	case "Transpose":
		o.Attrs.setInts("perm", ints("perm"))
	case "LeakyRelu":
		o.Attrs.setFloat("negative_slope", a.Float("alpha", 0.01))
	case "Elu", "HardSigmoid":
		if a.Has("alpha") {
			o.Attrs.setFloat("alpha", a.Float("alpha", 1))
		}
		if a.Has("beta") {
			o.Attrs.setFloat("beta", a.Float("beta", 0.5))
		}
	case "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd":
		o.Attrs.setBool("keep_dims", a.Int("keepdims", 1) != 0)
		if a.Has("axes") {
			o.Attrs.setInts("axes", ints("axes"))
		}
	case "Cast":
		if len(n.Out) > 0 && n.Out[0] != nil {
			o.Attrs.setInt("dst_type", int64(n.Out[0].DType.ACL()))
		}
	case "Gather":
		o.Attrs.setInt("axis", int64(a.Int("axis", 0)))
	case "Split":
		o.Attrs.setInt("split_dim", int64(a.Int("axis", 0)))
		o.Attrs.setInt("num_split", int64(len(n.Out)))
	case "LayerNormalization", "BatchNormalization", "InstanceNormalization":
		o.Attrs.setFloat("epsilon", a.Float("epsilon", 1e-5))
	}
}

// windowField writes strides, pads and dilations in four numbers, as the field does; pads in the order top, bottom,
// left, right.
func windowField(o *OpDef, n *graph.Node) {
	a := n.Attrs
	rank := 0
	if len(n.In) > 0 && n.In[0] != nil {
		rank = len(n.In[0].Shape) - 2
	}
	if rank != 2 {
		return
	}
	four := func(name string, def int) []int64 {
		v := a.Ints(name)
		if len(v) != 2 {
			v = []int{def, def}
		}
		return []int64{1, 1, int64(v[0]), int64(v[1])}
	}
	o.Attrs.setInts("strides", four("strides", 1))
	p := a.Ints("pads")
	if len(p) != 4 {
		p = resolvedPads(n)
	}
	o.Attrs.setInts("pads", []int64{int64(p[0]), int64(p[2]), int64(p[1]), int64(p[3])})
	o.Attrs.setStr("data_format", "NCHW")
	switch n.Op {
	case "MaxPool", "AveragePool":
		o.Attrs.setInts("ksize", four("kernel_shape", 1))
		o.Attrs.setStr("padding_mode", "CALCULATED")
		o.Attrs.setBool("ceil_mode", a.Int("ceil_mode", 0) != 0)
	default:
		o.Attrs.setInts("dilations", four("dilations", 1))
		o.Attrs.setInt("groups", int64(a.Int("group", 1)))
		o.Attrs.setInt("offset_x", 0)
	}
}

// resolvedPads are the pads that auto_pad stands for, as top, left, bottom, right.
func resolvedPads(n *graph.Node) []int {
	p := make([]int, 4)
	mode := n.Attrs.Str("auto_pad", "")
	if mode != "SAME_UPPER" && mode != "SAME_LOWER" || len(n.In) < 1 || len(n.Out) < 1 || n.Out[0] == nil || len(n.Out[0].Shape) != 4 {
		return p
	}
	kernel := tensor.Shape(n.Attrs.Ints("kernel_shape"))
	if len(kernel) != 2 && len(n.In) > 1 && n.In[1] != nil && len(n.In[1].Shape) == 4 {
		kernel = n.In[1].Shape[2:]
	}
	if len(kernel) != 2 {
		return p
	}
	stride, dilation := n.Attrs.Ints("strides"), n.Attrs.Ints("dilations")
	for d := range 2 {
		s, dil := 1, 1
		if len(stride) == 2 {
			s = stride[d]
		}
		if len(dilation) == 2 {
			dil = dilation[d]
		}
		total := max((n.Out[0].Shape[2+d]-1)*s+(kernel[d]-1)*dil+1-n.In[0].Shape[2+d], 0)
		p[d], p[2+d] = total/2, total-total/2
		if mode == "SAME_LOWER" {
			p[d], p[2+d] = p[2+d], p[d]
		}
	}
	return p
}
