package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// quantizeOps go between floating numbers and integers or small floats with a scale and a zero point for the whole
// tensor, for each index of an axis, or for each block along an axis.
func quantizeOps() map[string]*Op {
	return map[string]*Op{
		"QuantizeLinear":        define(inferQuantize, buildQuantize),
		"DequantizeLinear":      define(inferDequantize, buildDequantize),
		"DynamicQuantizeLinear": define(inferDynamicQuantize, buildDynamicQuantize),
	}
}

// stored says whether t is a type that numbers are quantised to.
func stored(t tensor.DType) bool {
	switch t {
	case tensor.Int8, tensor.Uint8, tensor.Int16, tensor.Uint16, tensor.Int32:
		return true
	}
	return packed(t) || small(t)
}

// packed are the integers of less than a byte, small the floats of at most one.
func packed(t tensor.DType) bool { return t.Int() && t.Bits() < 8 }
func small(t tensor.DType) bool  { return t.Float() && t.Bits() <= 8 }

func inferQuantize(s *Spec) error {
	if err := s.operands(2, 3); err != nil {
		return err
	}
	x, scale, zero := s.In[0], s.In[1], s.Input(2)
	if !floating(x.DType) && x.DType != tensor.Int32 || !floating(scale.DType) && scale.DType != tensor.Float8E8M0 && scale.DType != tensor.Int32 {
		return fmt.Errorf("from %v with a scale of %v: %w", x.DType, scale.DType, ErrUnsupported)
	}
	t := tensor.Uint8
	if n := s.Attrs.Int("output_dtype", 0); n != 0 {
		var err error
		if t, err = onnxType(n); err != nil {
			return err
		}
		if !zero.Absent() && zero.DType != t {
			return fmt.Errorf("output_dtype %v with a zero point of %v", t, zero.DType)
		}
	} else if !zero.Absent() {
		t = zero.DType
	}
	if !stored(t) {
		return errWant("zero point", "an integer of at most 32 bits or a small float", t)
	}
	if _, err := newScales(s, x.Shape); err != nil {
		return err
	}
	return s.results(Desc{DType: t, Shape: x.Shape})
}

func inferDequantize(s *Spec) error {
	if err := s.operands(2, 3); err != nil {
		return err
	}
	x, scale, zero := s.In[0], s.In[1], s.Input(2)
	if !stored(x.DType) || !floating(scale.DType) && scale.DType != tensor.Float8E8M0 {
		return fmt.Errorf("from %v with a scale of %v: %w", x.DType, scale.DType, ErrUnsupported)
	}
	if !zero.Absent() && zero.DType != x.DType {
		return fmt.Errorf("zero point is %v, the input %v", zero.DType, x.DType)
	}
	t := scale.DType
	if n := s.Attrs.Int("output_dtype", 0); n != 0 {
		var err error
		if t, err = onnxType(n); err != nil {
			return err
		}
	}
	if !floating(t) {
		return errWant("result", "a floating type", t)
	}
	if _, err := newScales(s, x.Shape); err != nil {
		return err
	}
	return s.results(Desc{DType: t, Shape: x.Shape})
}

// scales says which scale an element has: the tensor is rows of width elements; row r begins at element start(r), its
// first scale is base(r), and the scale moves on by step with each element.
type scales struct {
	rows, width, step int
	dim, inner        int // of the axis, and what lies behind it
	block, blocks     int // block length and blocks along the axis; block 0: none
	kind              scaleKind
	n                 int // elements
}

type scaleKind uint8

const (
	oneScale  scaleKind = iota
	axisRow             // a row is one index of the axis
	axisLast            // a row is the axis, the scale moves with the element
	blockRow            // a row is one index of the axis, the scales of its block lie beside each other
	blockLast           // a row is one block
)

func newScales(s *Spec, x tensor.Shape) (*scales, error) {
	scale, zero := s.In[1], s.Input(2)
	if !zero.Absent() && len(zero.Shape) != len(scale.Shape) && zero.Shape.Static() && zero.Shape.Count() != 1 {
		return nil, fmt.Errorf("zero point of shape %v for scales of shape %v", zero.Shape, scale.Shape)
	}
	if !zero.Absent() && zero.Shape.Static() && scale.Shape.Static() && zero.Shape.Count() != scale.Shape.Count() {
		return nil, fmt.Errorf("zero point of shape %v for scales of shape %v", zero.Shape, scale.Shape)
	}
	block := s.Attrs.Int("block_size", 0)
	if len(scale.Shape) == 0 || !x.Static() || !scale.Shape.Static() {
		n := 0
		if x.Static() {
			n = x.Count()
		}
		return &scales{rows: ceilDiv(n, blockLen), width: blockLen, n: n}, nil
	}
	if len(scale.Shape) == 1 && scale.Shape[0] == 1 && block == 0 {
		return &scales{rows: ceilDiv(x.Count(), blockLen), width: blockLen, n: x.Count()}, nil
	}
	at, err := axis(s.Attrs.Int("axis", 1), len(x))
	if err != nil {
		return nil, err
	}
	c := &scales{dim: x[at], inner: x[at+1:].Count(), n: x.Count()}
	outer := x[:at].Count()
	if block == 0 && len(scale.Shape) == 1 {
		if scale.Shape[0] != c.dim {
			return nil, fmt.Errorf("%d scales for axis %d of %v", scale.Shape[0], at, x)
		}
		if c.kind = axisRow; c.inner == 1 {
			c.kind, c.rows, c.width, c.step = axisLast, outer, c.dim, 1
		} else {
			c.rows, c.width = outer*c.dim, c.inner
		}
		return c, nil
	}
	if len(scale.Shape) != len(x) {
		return nil, fmt.Errorf("scales of shape %v for %v", scale.Shape, x)
	}
	for i, n := range scale.Shape {
		if i != at && n != x[i] {
			return nil, fmt.Errorf("scales of shape %v for %v in blocks along axis %d", scale.Shape, x, at)
		}
	}
	c.block, c.blocks = block, scale.Shape[at]
	if block == 0 && c.blocks > 0 {
		c.block = ceilDiv(c.dim, c.blocks)
	}
	if c.block < 1 || c.blocks != ceilDiv(c.dim, c.block) {
		return nil, fmt.Errorf("%d scales along axis %d of %v in blocks of %d", c.blocks, at, x, c.block)
	}
	if c.kind = blockRow; c.inner == 1 {
		c.kind, c.rows, c.width = blockLast, outer*c.blocks, c.block
	} else {
		c.rows, c.width, c.step = outer*c.dim, c.inner, 1
	}
	return c, nil
}

// row is where row r begins, how long it is, and its first scale.
func (c *scales) row(r int) (start, n, scale int) {
	switch c.kind {
	case axisRow:
		return r * c.width, c.width, r % c.dim
	case axisLast:
		return r * c.width, c.width, 0
	case blockRow:
		return r * c.width, c.width, (r/c.dim*c.blocks + r%c.dim/c.block) * c.inner
	case blockLast:
		o, b := r/c.blocks, r%c.blocks
		return o*c.dim + b*c.block, min(c.block, c.dim-b*c.block), r
	}
	return r * c.width, min(c.width, c.n-r*c.width), 0
}

// each makes the loop over pieces of at most blockLen elements. Elements of less than a byte stay on one thread: two rows
// may meet in a byte.
func (c *scales) each(t [2]tensor.DType, body func(x *Exec, at, scale, n int)) func(x *Exec) error {
	loop := func(x *Exec, lo, hi int) {
		for r := lo; r < hi; r++ {
			start, n, scale := c.row(r)
			for i := 0; i < n; i += blockLen {
				body(x, start+i, scale+i*c.step, min(blockLen, n-i))
			}
		}
	}
	if t[0].Bits() < 8 || t[1].Bits() < 8 {
		return func(x *Exec) error { loop(x, 0, c.rows); return nil }
	}
	return parallel(c.rows, c.width, loop)
}

// quantBuffers are the blocks of a quantising loop.
type quantBuffers struct{ v, scale, zero [blockLen]float32 }

// params reads the n scales and zero points from one on; step 0 repeats the first.
func (b *quantBuffers) params(s *Spec, x *Exec, at, step, n int) (scale, zero []float32) {
	m := n
	if step == 0 {
		m = 1
	}
	scale, zero = b.scale[:n], b.zero[:n]
	loadAny(scale[:m], s.In[1].DType, x.In[1], at)
	if s.Input(2).Absent() {
		clear(zero)
	} else {
		loadAny(zero[:m], s.In[2].DType, x.In[2], at)
	}
	if step == 0 {
		fill(scale, scale[0])
		fill(zero, zero[0])
	}
	return scale, zero
}

// loadAny reads elements of any type as float32.
func loadAny(dst []float32, t tensor.DType, src []byte, off int) {
	if t.Float() && t != tensor.Float64 {
		loadF32(dst, t, src, off)
		return
	}
	var w [blockLen]float64
	for i := 0; i < len(dst); i += blockLen {
		b := w[:min(blockLen, len(dst)-i)]
		_ = tensor.DecodeFloats(b, t, src, off+i) // the caller's range is inside
		convert(dst[i:i+len(b)], b)
	}
}

// bounds are the ends of an integer type as floats.
func bounds(t tensor.DType) (lo, hi float32) {
	switch t {
	case tensor.Int32:
		return math.MinInt32, math.MaxInt32
	case tensor.Int8, tensor.Int16, tensor.Int4, tensor.Int2:
		return -float32(int(1) << (t.Bits() - 1)), float32(int(1)<<(t.Bits()-1) - 1)
	}
	return 0, float32(uint64(1)<<t.Bits() - 1)
}

func buildQuantize(s *Spec) (*Kernel, error) {
	c, err := newScales(s, s.In[0].Shape)
	if err != nil {
		return nil, err
	}
	from, to := s.In[0].DType, s.Out[0].DType
	saturate := s.Attrs.Int("saturate", 1) != 0
	half := s.In[1].DType // the type that the quotient is rounded to
	if n := s.Attrs.Int("precision", 0); n != 0 {
		if half, err = onnxType(n); err != nil {
			return nil, err
		}
	}
	if half != tensor.Float16 && half != tensor.BFloat16 {
		half = tensor.Float32
	}
	lo, hi := bounds(to)
	quick := half == tensor.Float32 && c.step == 0 && to.Int() && (to.Bits() == 8 || to.Bits() == 16)
	pool := newScratch[quantBuffers]()
	return s.kernel("AscendQuantV2", cost.AIV, 4, all(len(s.In)), c.each([2]tensor.DType{from, to}, func(x *Exec, at, first, n int) {
		b := pool.get()
		scale, zero := b.params(s, x, first, c.step, n)
		v := b.v[:n]
		loadAny(v, from, x.In[0], at)
		divVec(v, v, scale)
		if quick {
			biasClamp(v, v, 0, lo-zero[0], hi-zero[0])
			roundBytes(x.Out[0], to, at, v, int32(zero[0]))
			pool.put(b)
			return
		}
		if half != tensor.Float32 {
			roundTo(half, v)
		}
		if small(to) {
			for i := range v {
				v[i] += zero[i]
			}
			storeF32(to, x.Out[0], at, v, saturate)
		} else {
			for i, q := range v {
				if q != q {
					q = 0
				}
				v[i] = min(max(float32(math.RoundToEven(float64(q)))+zero[i], lo), hi)
			}
			storeFloat(to, x.Out[0], at, v, true)
		}
		pool.put(b)
	})), nil
}

// roundBytes rounds numbers below 2^22 to the nearest, ties to even, adds the zero point and stores integers of one or two
// bytes; NaN counts as 0.
func roundBytes(dst []byte, t tensor.DType, at int, v []float32, zero int32) {
	const shift = 3 << 22 // beside it floats are whole numbers
	if t.Bits() == 16 {
		d := tensor.View[uint16](dst)[at:][:len(v)]
		for i, q := range v {
			q += shift
			d[i] = uint16(int32(q-shift) + zero)
		}
		return
	}
	d := dst[at:][:len(v)]
	for i, q := range v {
		q += shift
		d[i] = byte(int32(q-shift) + zero)
	}
}

// roundTo rounds numbers to a 16-bit type in place.
func roundTo(t tensor.DType, v []float32) {
	for i, f := range v {
		if t == tensor.Float16 {
			v[i] = tensor.HalfToFloat32(tensor.Float32ToHalf(f))
		} else {
			v[i] = tensor.BFloat16ToFloat32(tensor.Float32ToBFloat16(f))
		}
	}
}

func buildDequantize(s *Spec) (*Kernel, error) {
	c, err := newScales(s, s.In[0].Shape)
	if err != nil {
		return nil, err
	}
	from, to := s.In[0].DType, s.Out[0].DType
	quick := to == tensor.Float32 && c.step == 0 && (from == tensor.Uint8 || from == tensor.Int8)
	pool := newScratch[quantBuffers]()
	return s.kernel("AscendDequant", cost.AIV, 3, all(len(s.In)), c.each([2]tensor.DType{from, to}, func(x *Exec, at, first, n int) {
		b := pool.get()
		scale, zero := b.params(s, x, first, c.step, n)
		if quick {
			out := tensor.View[float32](x.Out[0])[at:][:n]
			if from == tensor.Uint8 {
				widenBytes(out, x.In[0][at:], zero[0], scale[0])
			} else {
				widenBytes(out, tensor.View[int8](x.In[0])[at:], zero[0], scale[0])
			}
			pool.put(b)
			return
		}
		v := b.v[:n]
		loadAny(v, from, x.In[0], at)
		for i := range v {
			v[i] = (v[i] - zero[i]) * scale[i]
		}
		storeFloat(to, x.Out[0], at, v, true)
		pool.put(b)
	})), nil
}

// widenBytes brings bytes back.
func widenBytes[T int8 | uint8](dst []float32, src []T, zero, scale float32) {
	src = src[:len(dst)]
	for i, q := range src {
		dst[i] = (float32(q) - zero) * scale
	}
}

func inferDynamicQuantize(s *Spec) error {
	if err := s.operands(1, 1); err != nil {
		return err
	}
	if s.In[0].DType != tensor.Float32 {
		return errWant("input", "float32", s.In[0].DType)
	}
	return s.results(Desc{DType: tensor.Uint8, Shape: s.In[0].Shape}, Desc{DType: tensor.Float32}, Desc{DType: tensor.Uint8})
}

func buildDynamicQuantize(s *Spec) (*Kernel, error) {
	n := s.In[0].Shape.Count()
	return s.kernel("DynamicQuant", cost.AIV, 6, []int{0}, func(x *Exec) error {
		v, q := tensor.View[float32](x.In[0])[:n], x.Out[0][:n]
		var lo, hi float32
		for _, f := range v {
			lo, hi = min(lo, f), max(hi, f)
		}
		scale := (hi - lo) / 255
		zero := float32(0)
		if scale != 0 {
			zero = min(max(float32(math.RoundToEven(float64(-lo/scale))), 0), 255)
		}
		for i, f := range v {
			r := float32(0)
			if scale != 0 {
				r = float32(math.RoundToEven(float64(f / scale)))
			}
			q[i] = uint8(min(max(r+zero, 0), 255))
		}
		if x.wanted(1) {
			tensor.View[float32](x.Out[1])[0] = scale
		}
		if x.wanted(2) {
			x.Out[2][0] = uint8(zero)
		}
		return nil
	}), nil
}
