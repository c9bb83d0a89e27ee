package om

import (
	"fmt"
	"strings"

	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// geometry is what a convolution needs beside its operands, in the order height, width.
type geometry struct {
	stride, dilation [2]int
	lo, hi           [2]int // padding
	extra            [2]int // transposed: output padding
}

func (g *geometry) attrs(group int) kernels.Attrs {
	pair := func(v [2]int) []int64 { return []int64{int64(v[0]), int64(v[1])} }
	a := kernels.Attrs{"strides": pair(g.stride), "dilations": pair(g.dilation), "group": int64(group),
		"pads": []int64{int64(g.lo[0]), int64(g.lo[1]), int64(g.hi[0]), int64(g.hi[1])}}
	if g.extra != [2]int{} {
		a["output_padding"] = pair(g.extra)
	}
	return a
}

// sizes are the lengths a convolution connects: data, kernel, result.
type sizes struct{ in, kernel, out [2]int }

// convolution is Conv2D over x (0), filter (1), bias (2). The result has the order of the output. fused says that the
// kernel holds other operators too: then the compiler has dropped or reset the attributes.
func (x *kernelOp) convolution(fused bool) *graph.Value {
	var v *graph.Value
	if a := x.s.input(x.o, 0).aipp; a != nil && strings.Contains(x.o.kernelName(), "aipp") {
		v = x.preprocess(a, tensor.Float16)
	} else {
		v = x.as(0, "NCHW")
	}
	w, groups := x.filter(1)
	out, ok := x.outNCHW()
	if x.err != nil {
		return v
	}
	if len(v.Shape) != 4 || len(w.Shape) != 4 || !ok {
		return x.bad(x.errorf("convolution of %v with %v", v.Shape, w.Shape))
	}
	if v.Shape[1] != w.Shape[1]*groups {
		if w.Shape[1] == 0 || v.Shape[1]%w.Shape[1] != 0 {
			return x.bad(x.errorf("%d channels, filter of shape %v", v.Shape[1], w.Shape))
		}
		groups = v.Shape[1] / w.Shape[1]
	}
	s := sizes{in: [2]int{v.Shape[2], v.Shape[3]}, kernel: [2]int{w.Shape[2], w.Shape[3]}, out: [2]int{out[2], out[3]}}
	geo, err := x.geometry(s, fused)
	if err != nil {
		return x.bad(err)
	}
	y := x.biased("Conv", geo.attrs(groups), v, w, w.Shape[0])
	return x.reorder(y, "NCHW", x.o.Out[0].order())
}

// biased applies a convolution with the bias at input 2, if any: in the data's type, or in float32 with one rounding
// where the types differ.
func (x *kernelOp) biased(op string, attrs kernels.Attrs, v, w *graph.Value, channels int) *graph.Value {
	in := []*graph.Value{v, w}
	if x.connected(2) && len(x.o.Inputs) > 2 {
		b := x.in(2)
		in = append(in, x.reshape(b, tensor.Shape{b.Shape.Count()}))
		if b.Shape.Count() != channels && x.err == nil {
			return x.bad(x.errorf("bias of shape %v for %d channels", b.Shape, channels))
		}
	}
	return x.oneType(op, attrs, x.o.Out[0], in...)
}

// oneType applies an operator whose operands must have one type. Sums are in float32 in any case, so that going
// through float32 and rounding once gives what the chip gives.
func (x *kernelOp) oneType(op string, attrs kernels.Attrs, out *TensorDesc, in ...*graph.Value) *graph.Value {
	t := dtypeOf(out.DType)
	same := true
	for _, v := range in {
		same = same && v.DType == t
	}
	if !t.Float() || !in[0].DType.Float() {
		return x.bad(x.errorf("%s of %v to %v", op, in[0].DType, t))
	}
	if same {
		return x.emit(op, attrs, in...)
	}
	wide := make([]*graph.Value, len(in))
	for i, v := range in {
		wide[i] = x.cast(v, float32Type)
	}
	return x.cast(x.emit(op, attrs, wide...), t)
}

// filter is a convolution's filter as O,I,KH,KW with the number of groups its layout states.
func (x *kernelOp) filter(i int) (w *graph.Value, groups int) {
	d := x.desc(i)
	w = x.as(i, "NCHW")
	if x.err != nil {
		return w, 1
	}
	if !named(d.order()) && len(w.Shape) == 4 && !named(d.originFormat()) {
		x.note("filter of shape %v taken as O,I,KH,KW", w.Shape)
	}
	_, groups = d.layout()
	if strings.HasPrefix(x.o.Type, "DepthwiseConv2D") && len(w.Shape) == 4 {
		// The filter is KH,KW,C,M: M results for each channel.
		m, c := w.Shape[0], w.Shape[1]
		if c == 1 && m > 1 {
			return w, m
		}
		if m != 1 {
			t := x.emit("Transpose", kernels.Attrs{"perm": []int64{1, 0, 2, 3}}, w)
			return x.reshape(t, tensor.Shape{c * m, 1, w.Shape[2], w.Shape[3]}), c
		}
		return x.reshape(w, tensor.Shape{c, 1, w.Shape[2], w.Shape[3]}), c
	}
	return w, groups
}

// outNCHW is the shape of the first output as N,C,H,W.
func (x *kernelOp) outNCHW() ([4]int, bool) {
	d := x.o.Out[0]
	dims, ok := d.dims()
	dims = permute(dims, permutation(d.order(), "NCHW"))
	if !ok || len(dims) != 4 {
		return [4]int{}, false
	}
	return [4]int{int(dims[0]), int(dims[1]), int(dims[2]), int(dims[3])}, true
}

// geometry finds strides, dilations and pads: from the attributes, or for fused kernels from the kernel's machine code
// and the shapes.
func (x *kernelOp) geometry(s sizes, fused bool) (geometry, error) {
	g, ok := x.stored()
	if ok && (!fused || g.agrees(s)) {
		if g.lo[0] < 0 {
			for d := range 2 {
				g.same(s, d)
			}
		}
		return g, nil
	}
	var from []string
	g = geometry{dilation: [2]int{1, 1}}
	code := x.codeGeometry(s)
	for d := range 2 {
		switch {
		case code != nil:
			g.stride[d], g.dilation[d] = code.stride[d], code.dilation[d]
		case !g.guess(s, d):
			return g, fmt.Errorf("no stride makes %d of %d with a kernel of %d", s.out[d], s.in[d], s.kernel[d])
		}
		lo := -1
		if code != nil {
			lo = code.lo[d]
		}
		if !g.pad(s, d, lo, x.tensorFlow()) {
			return g, fmt.Errorf("stride %d and dilation %d do not make %d of %d with a kernel of %d", g.stride[d], g.dilation[d], s.out[d], s.in[d], s.kernel[d])
		}
	}
	from = append(from, "the shapes")
	if code != nil {
		from = append([]string{"the kernel's code"}, from...)
	}
	x.note("strides %v, dilations %v, pads %v %v inferred from %s", g.stride, g.dilation, g.lo, g.hi, strings.Join(from, " and "))
	return g, nil
}

// stored reads the attributes; false where the compiler dropped them. Pads of -1 stand for "SAME".
func (x *kernelOp) stored() (geometry, bool) {
	a := x.o.Attrs
	strides, pads := a.Ints("strides"), a.Ints("pads")
	if a.Ints("stride") != nil && strides == nil {
		strides = a.Ints("stride")
	}
	g := geometry{dilation: [2]int{1, 1}}
	if strides == nil {
		return g, false
	}
	order := a.Str("data_format")
	if d := x.dataDesc(); named(d.originFormat()) && (order == "" || !named(order)) {
		order = d.originFormat()
	}
	if !spatial(strides, order, &g.stride) {
		return g, false
	}
	if d := a.Ints("dilations"); d != nil && !spatial(d, order, &g.dilation) {
		return g, false
	}
	switch {
	case len(pads) == 4:
		g.lo, g.hi = [2]int{int(pads[0]), int(pads[2])}, [2]int{int(pads[1]), int(pads[3])}
	case len(pads) == 2:
		g.lo, g.hi = [2]int{int(pads[0]), int(pads[1])}, [2]int{int(pads[0]), int(pads[1])}
	case a.Str("padding") == "SAME":
		g.lo = [2]int{-1, -1}
	case a.Str("padding") == "VALID":
	default:
		return g, false
	}
	if p := a.Ints("output_padding"); len(p) == 4 {
		spatial(p, order, &g.extra)
	}
	return g, g.stride[0] > 0 && g.stride[1] > 0 && g.dilation[0] > 0 && g.dilation[1] > 0
}

// dataDesc is the descriptor of the operand that is convolved.
func (x *kernelOp) dataDesc() *TensorDesc {
	switch x.o.Type {
	case "Conv2DBackpropInputD", "Conv2DTranspose":
		return x.desc(1)
	case "Conv2DBackpropInput":
		return x.desc(2)
	}
	return x.desc(0)
}

// spatial takes height and width out of a list in some order.
func spatial(list []int64, order string, to *[2]int) bool {
	switch len(list) {
	case 1:
		*to = [2]int{int(list[0]), int(list[0])}
	case 2:
		*to = [2]int{int(list[0]), int(list[1])}
	case 4:
		h, w := strings.IndexByte(order, 'H'), strings.IndexByte(order, 'W')
		if h < 0 || w < 0 {
			h, w = 2, 3
		}
		*to = [2]int{int(list[h]), int(list[w])}
	default:
		return false
	}
	return to[0] >= 0 && to[1] >= 0 && to[0] < 1<<16 && to[1] < 1<<16
}

func (g *geometry) extent(s sizes, d int) int { return (s.kernel[d]-1)*g.dilation[d] + 1 }

// agrees says that the geometry makes the result's size.
func (g *geometry) agrees(s sizes) bool {
	for d := range 2 {
		room := s.in[d] + g.lo[d] + g.hi[d] - g.extent(s, d)
		if g.lo[d] < 0 || g.stride[d] < 1 || room < 0 || room/g.stride[d]+1 != s.out[d] {
			return false
		}
	}
	return true
}

// needed is the least total padding that makes the result's size; false where none does.
func (g *geometry) needed(s sizes, d int) (int, bool) {
	total := (s.out[d]-1)*g.stride[d] + g.extent(s, d) - s.in[d]
	if total < 0 {
		// What is left over must be less than a step.
		return 0, -total < g.stride[d]
	}
	return total, total <= 2*(g.extent(s, d)-1)
}

// guess finds the stride from the sizes: the one nearest to their ratio that needs no more padding than the window
// covers.
func (g *geometry) guess(s sizes, d int) bool {
	if s.out[d] < 1 || s.in[d] < 1 || s.kernel[d] < 1 {
		return false
	}
	ratio := (s.in[d] + s.out[d]/2) / s.out[d]
	for off := range max(ratio, 8) + 1 {
		for _, v := range []int{ratio - off, ratio + off} {
			if v < 1 {
				continue
			}
			g.stride[d] = v
			if total, ok := g.needed(s, d); ok && total <= max(g.extent(s, d)-1, 0)*2 {
				return true
			}
		}
	}
	return false
}

// pad settles the padding of a dimension whose stride and dilation are known. first is the padding in front if it is
// known, else -1. TensorFlow pads as little as possible and the odd element behind; others pad both sides alike.
func (g *geometry) pad(s sizes, d, first int, tensorFlow bool) bool {
	least, ok := g.needed(s, d)
	if !ok {
		return false
	}
	most := least + g.stride[d] - 1
	if total := (s.out[d]-1)*g.stride[d] + g.extent(s, d) - s.in[d]; total < 0 {
		most = total + g.stride[d] - 1
	}
	total := least
	if even := 2 * ((g.extent(s, d) - 1) / 2); !tensorFlow {
		switch {
		case even >= least && even <= most:
			total = even
		case first >= 0 && 2*first >= least && 2*first <= most:
			total = 2 * first
		case least%2 == 1 && least+1 <= most:
			total = least + 1
		}
	}
	g.lo[d] = total / 2
	if first >= 0 && first <= total {
		g.lo[d] = first
	}
	g.hi[d] = total - g.lo[d]
	return true
}

// same is the padding of "SAME": the result covers every step of the input.
func (g *geometry) same(s sizes, d int) {
	total := max((s.out[d]-1)*g.stride[d]+g.extent(s, d)-s.in[d], 0)
	g.lo[d], g.hi[d] = total/2, total-total/2
}

// tensorFlow says that the network came from there.
func (x *kernelOp) tensorFlow() bool {
	if f := x.b.m.Attr("framework_type"); f != "" {
		return strings.EqualFold(f, "TensorFlow")
	}
	return x.dataDesc().originFormat() == "NHWC"
}

// transposed is a transposed convolution; the result has the order of the output. The operands stand in another order
// in each of its forms.
func (x *kernelOp) transposed(fused bool) *graph.Value {
	data, filter := 0, 1
	switch x.o.Type {
	case "Conv2DBackpropInputD":
		data, filter = 1, 0
	case "Conv2DTranspose":
		data, filter = 1, 2
	case "Conv2DBackpropInput":
		data, filter = 2, 1
	}
	v := x.as(data, "NCHW")
	w, groups := x.filter(filter)
	out, ok := x.outNCHW()
	if x.err != nil {
		return v
	}
	if len(v.Shape) != 4 || len(w.Shape) != 4 || !ok || w.Shape[0] != v.Shape[1] {
		return x.bad(x.errorf("transposed convolution of %v with %v", v.Shape, w.Shape))
	}
	if w.Shape[1] > 0 && out[1]%w.Shape[1] == 0 {
		groups = out[1] / w.Shape[1]
	}
	s := sizes{in: [2]int{v.Shape[2], v.Shape[3]}, kernel: [2]int{w.Shape[2], w.Shape[3]}, out: [2]int{out[2], out[3]}}
	g, known := x.stored()
	if !known || fused && !g.back(s) {
		// The forward convolution makes the data's size out of the result's.
		fwd := sizes{in: s.out, kernel: s.kernel, out: s.in}
		g = geometry{dilation: [2]int{1, 1}}
		for d := range 2 {
			if !g.guess(fwd, d) || !g.pad(fwd, d, -1, x.tensorFlow()) {
				return x.bad(x.errorf("no stride makes %d of %d with a kernel of %d", s.out[d], s.in[d], s.kernel[d]))
			}
		}
		x.note("strides %v, pads %v %v inferred from the shapes", g.stride, g.lo, g.hi)
	} else if g.lo[0] < 0 {
		fwd := sizes{in: s.out, kernel: s.kernel, out: s.in}
		g.same(fwd, 0)
		g.same(fwd, 1)
	}
	if !g.back(s) {
		return x.bad(x.errorf("strides %v and pads %v %v do not make %v of %v", g.stride, g.lo, g.hi, s.out, s.in))
	}
	attrs := g.attrs(groups)
	in := []*graph.Value{v, w}
	if bias := filter + 1; x.o.Type != "Conv2DBackpropInputD" && x.o.Type != "Conv2DBackpropInput" && x.connected(bias) && bias < len(x.o.Inputs) {
		b := x.in(bias)
		in = append(in, x.reshape(b, tensor.Shape{b.Shape.Count()}))
	}
	y := x.oneType("ConvTranspose", attrs, x.o.Out[0], in...)
	return x.reorder(y, "NCHW", x.o.Out[0].order())
}

// back settles the output padding of a transposed convolution; false where the sizes do not fit.
func (g *geometry) back(s sizes) bool {
	for d := range 2 {
		extra := s.out[d] - ((s.in[d]-1)*g.stride[d] + g.extent(s, d) - g.lo[d] - g.hi[d])
		if extra < 0 || extra >= max(g.stride[d], g.dilation[d]) || g.lo[d] < 0 {
			return false
		}
		g.extra[d] = extra
	}
	return true
}
