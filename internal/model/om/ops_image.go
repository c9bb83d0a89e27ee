package om

import (
	"fmt"

	"npu/internal/model/graph"
	"npu/internal/sim/kernels"
	"npu/internal/tensor"
)

// resize takes the size from the output.
func resize(x *kernelOp) []*graph.Value {
	v := x.as(0, "NCHW")
	if x.err != nil || len(v.Shape) != 4 {
		return x.fail("resize of shape %v", v.Shape)
	}
	d := x.o.Out[0]
	dims, ok := d.dims()
	if !ok {
		return x.fail("its shape is not known")
	}
	want := permute(dims, permutation(d.order(), "NCHW"))
	if len(want) != 4 {
		return x.fail("resize to shape %v", dims)
	}
	align, half := x.o.Attrs.Bool("align_corners", false), x.o.Attrs.Bool("half_pixel_centers", false)
	attrs := kernels.Attrs{"mode": "linear", "coordinate_transformation_mode": "asymmetric"}
	nearest := x.o.Type != "ResizeBilinear" && x.o.Type != "ResizeBilinearV2" && x.o.Type != "ResizeBilinearV2D"
	if nearest {
		attrs["mode"], attrs["nearest_mode"] = "nearest", "floor"
	}
	switch {
	case align:
		attrs["coordinate_transformation_mode"] = "align_corners"
		if nearest {
			attrs["nearest_mode"] = "round_prefer_ceil"
		}
	case half && nearest:
		attrs["coordinate_transformation_mode"] = "tf_half_pixel_for_nn"
	case half:
		attrs["coordinate_transformation_mode"] = "half_pixel"
	}
	if !nearest {
		x.note("bilinear resize with %s coordinates, as its attributes say; the compiler is known to store half_pixel_centers wrongly", attrs["coordinate_transformation_mode"])
	}
	sizes := []int64{int64(v.Shape[0]), int64(v.Shape[1]), want[2], want[3]}
	y := x.emit("Resize", attrs, v, nil, nil, ints(sizes...))
	return []*graph.Value{x.finish(x.reorder(y, "NCHW", d.order()), 0)}
}

// aippOp is image preprocessing as an operator of its own.
func aippOp(x *kernelOp) []*graph.Value {
	a := x.s.input(x.o, 0).aipp
	if a == nil {
		a = aippOf(x.o)
	}
	if a == nil {
		return x.fail("its configuration is not in the file")
	}
	d := x.o.Out[0]
	y := x.preprocess(a, dtypeOf(d.DType))
	return []*graph.Value{x.finish(x.reorder(y, "NCHW", d.order()), 0)}
}

// preprocess turns the image at input 0 into N,C,H,W: crop and channel order by choosing bytes, colour conversion,
// then (pixel - mean - min)·reciprocal of the variance.
func (x *kernelOp) preprocess(a *aipp, t tensor.DType) *graph.Value {
	raw := x.s.input(x.o, 0).v
	if raw == nil || raw.DType != tensor.Uint8 || len(raw.Shape) != 4 {
		return x.bad(x.errorf("AIPP of an input that is no image of bytes"))
	}
	c := a.attrs
	for _, f := range []string{"resize", "single_line_mode"} {
		if c.Bool(f, false) {
			return x.bad(x.errorf("AIPP with %s", f))
		}
	}
	h, w := int(a.height), int(a.width)
	index, channels, err := a.pixels()
	if err != nil {
		return x.bad(err)
	}
	n := raw.Shape[0]
	bytes := raw.Shape.Count() / max(n, 1)
	for _, i := range index {
		if int(i) >= bytes {
			return x.bad(x.errorf("AIPP reads byte %d of an image of %d", i, bytes))
		}
	}
	if c.Bool("crop", false) {
		if cw := int(c.Int("crop_size_w", 0)); cw > 0 {
			w = cw
		}
		if ch := int(c.Int("crop_size_h", 0)); ch > 0 {
			h = ch
		}
	}
	ti, err := tensor.FromInt64s(tensor.Shape{channels, h, w}, index)
	if err != nil {
		return x.bad(err)
	}
	v := x.emit("Gather", kernels.Attrs{"axis": int64(1)}, x.reshape(raw, tensor.Shape{n, bytes}), constValue("pixels", ti))
	v = x.cast(v, float32Type)
	if c.Bool("csc_switch", false) {
		if channels != 3 {
			return x.bad(x.errorf("colour conversion of %d channels", channels))
		}
		v = x.colours(c, v)
	}
	if v = x.normalise(c, v, channels); x.err != nil {
		return v
	}
	if c.Bool("padding", false) {
		p := func(s string) int64 { return c.Int(s+"_padding_size", 0) }
		v = x.emit("Pad", nil, v, ints(0, 0, p("top"), p("left"), 0, 0, p("bottom"), p("right")), x.scalar(float32(c.Int("padding_value", 0)), v))
	}
	return x.cast(v, t)
}

// maxImage bounds the table of pixels.
const maxImage = 1 << 26

// pixels says which byte of an image makes which element of C,H,W after the crop.
func (a *aipp) pixels() (index []int64, channels int, err error) {
	c := a.attrs
	h, w := a.height, a.width
	x0, y0, cw, ch := int64(0), int64(0), w, h
	if c.Bool("crop", false) {
		x0, y0 = c.Int("load_start_pos_w", 0), c.Int("load_start_pos_h", 0)
		if n := c.Int("crop_size_w", 0); n > 0 {
			cw = n
		}
		if n := c.Int("crop_size_h", 0); n > 0 {
			ch = n
		}
	}
	if w <= 0 || h <= 0 || w > 1<<16 || h > 1<<16 || x0 < 0 || y0 < 0 || x0+cw > w || y0+ch > h || cw*ch > maxImage {
		return nil, 0, fmt.Errorf("AIPP of %dx%d with a crop of %dx%d at %d,%d", w, h, cw, ch, x0, y0)
	}
	swap := c.Bool("rbuv_swap_switch", false)
	var at func(k, row, col int64) int64
	switch a.format {
	case aippGray:
		channels = 1
		at = func(_, row, col int64) int64 { return row*w + col }
	case aippRGB:
		channels = 3
		at = func(k, row, col int64) int64 {
			if swap {
				k = 2 - k
			}
			return (row*w+col)*3 + k
		}
	case aippXRGB:
		channels = 4
		at = func(k, row, col int64) int64 {
			if c.Bool("ax_swap_switch", false) {
				k = (k + 1) % 4
			}
			if swap && k > 0 {
				k = 4 - k
			}
			return (row*w+col)*4 + k
		}
	case aippYUV420:
		channels = 3
		at = func(k, row, col int64) int64 {
			if k == 0 {
				return row*w + col
			}
			if swap {
				k = 3 - k
			}
			return h*w + row/2*w + col/2*2 + k - 1
		}
	default:
		return nil, 0, errAmbiguous
	}
	index = make([]int64, 0, int64(channels)*ch*cw)
	for k := range int64(channels) {
		for row := range ch {
			for col := range cw {
				index = append(index, at(k, row+y0, col+x0))
			}
		}
	}
	return index, channels, nil
}

// colours is ((matrix · (pixel - input bias)) >> 8) + output bias, within 0 to 255.
func (x *kernelOp) colours(c Attrs, v *graph.Value) *graph.Value {
	get := func(name string, i int) float32 { return float32(c.Int(name+string(rune('0'+i)), 0)) }
	var in, out, m []float32
	for i := range 3 {
		in, out = append(in, get("input_bias_", i)), append(out, get("output_bias_", i))
		for j := range 3 {
			m = append(m, get("matrix_r"+string(rune('0'+i))+"c", j))
		}
	}
	v = x.emit("Sub", nil, v, x.vector(in))
	t, err := tensor.FromFloat32s(tensor.Shape{3, 3, 1, 1}, m)
	if err != nil {
		return x.bad(err)
	}
	v = x.emit("Conv", nil, v, constValue("matrix", t))
	v = x.emit("Floor", nil, x.emit("Mul", nil, v, x.scalar(1.0/256, v)))
	x.note("colour conversion by AIPP's matrix, rounded down")
	return x.clip(x.emit("Add", nil, v, x.vector(out)), 0, 255)
}

func (x *kernelOp) normalise(c Attrs, v *graph.Value, channels int) *graph.Value {
	var sub, mul []float32
	change := false
	for i := range channels {
		d := string(rune('0' + i))
		s := float32(c.Int("mean_chn_"+d, 0)) + c.Float("min_chn_"+d, 0)
		m := c.Float("var_reci_chn_"+d, 1)
		sub, mul = append(sub, s), append(mul, m)
		change = change || s != 0 || m != 1
	}
	if !change {
		return v
	}
	return x.emit("Mul", nil, x.emit("Sub", nil, v, x.vector(sub)), x.vector(mul))
}

// vector lies along the channels of N,C,H,W.
func (x *kernelOp) vector(f []float32) *graph.Value {
	t, err := tensor.FromFloat32s(tensor.Shape{1, len(f), 1, 1}, f)
	if err != nil {
		return x.bad(err)
	}
	return constValue("channels", t)
}
