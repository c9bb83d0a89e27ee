package main

import (
	"fmt"

	"npu/internal/model/onnx"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

const opset = 17

// export writes the network for one image as an ONNX file: the graph as a framework would give it, normalisations and
// the pieces of hard swish as nodes of their own, so that there is something left to fuse.
func export(n *network, accuracy string) ([]byte, error) {
	b := onnx.NewBuilder("digits", opset)
	b.Metadata("description", "reads a drawn digit: float32 0 (paper) to 1 (ink); made by internal/demo/gen")
	b.Metadata("classes", "0 1 2 3 4 5 6 7 8 9")
	b.Metadata("accuracy", accuracy)
	b.Input("image", tensor.Float32, "1,1,28,28")
	names := map[*maps]string{n.image: "image"}
	for _, l := range n.layers {
		names[l.output()] = l.name
		if err := node(b, l, names); err != nil {
			return nil, err
		}
	}
	b.Node("Softmax", names[n.logits], "probabilities", kernels.Attrs{"axis": int64(-1)})
	b.Output("probabilities", tensor.Float32, fmt.Sprintf("1,%d", classes))
	return b.Bytes()
}

func node(b *onnx.Builder, l named, names map[*maps]string) error {
	name := l.name
	weight := func(suffix string, v []float32, shape ...int) string {
		b.Floats(name+suffix, shape, v...)
		return " " + name + suffix
	}
	square := func(k int64) []int64 { return []int64{k, k} }
	switch l := l.layer.(type) {
	case *conv:
		if l.bias != nil {
			b.Node("Flatten", names[l.in], name+".flat", kernels.Attrs{"axis": int64(1)})
			w := weight(".weight", l.w.v, l.out.c, l.in.c) + weight(".bias", l.bias.v, l.out.c)
			b.Node("Gemm", name+".flat"+w, name, kernels.Attrs{"transB": int64(1)})
			break
		}
		p := int64(l.k / 2)
		b.Node("Conv", names[l.in]+weight(".weight", l.w.v, l.out.c, l.in.c, l.k, l.k), name, kernels.Attrs{
			"kernel_shape": square(int64(l.k)), "strides": square(int64(l.stride)), "pads": []int64{p, p, p, p},
		})
	case *depthwise:
		b.Node("Conv", names[l.in]+weight(".weight", l.w.v, l.in.c, 1, 3, 3), name, kernels.Attrs{
			"kernel_shape": square(3), "strides": square(1), "pads": []int64{1, 1, 1, 1}, "group": int64(l.in.c),
		})
	case *norm:
		in := names[l.in] + weight(".scale", l.scale.v, l.in.c) + weight(".offset", l.offset.v, l.in.c) +
			weight(".mean", l.mean, l.in.c) + weight(".variance", l.variance, l.in.c)
		b.Node("BatchNormalization", in, name, kernels.Attrs{"epsilon": float32(epsilon)})
	case *rectify:
		b.Node("Relu", names[l.in], name, nil)
	case *hardSwish:
		b.Node("HardSigmoid", names[l.in], name+".gate", kernels.Attrs{"alpha": float32(1. / 6), "beta": float32(0.5)})
		b.Node("Mul", names[l.in]+" "+name+".gate", name, nil)
	case *halve:
		b.Node("MaxPool", names[l.in], name, kernels.Attrs{"kernel_shape": square(2), "strides": square(2)})
	case *sum:
		b.Node("Add", names[l.a]+" "+names[l.b], name, nil)
	case *average:
		b.Node("GlobalAveragePool", names[l.in], name, nil)
	default:
		return fmt.Errorf("layer %s: no operator for %T", name, l)
	}
	return nil
}
