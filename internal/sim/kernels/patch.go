package kernels

import (
	"fmt"
	"math"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// patchOps are convolution's relatives: columns back to an image, and taps that move.
func patchOps() map[string]*Op {
	return map[string]*Op{
		"Col2Im":     define(inferCol2Im, buildCol2Im),
		"DeformConv": define(inferDeformConv, buildDeformConv),
	}
}

// col2im is a Col2Im: blocks of columns that are summed where they overlap.
type col2im struct {
	image, block               []int
	strides, dilations, lo, hi []int
	steps                      []int // blocks along each dimension
}

// readCol2Im needs the values of both shape operands; nil without an error where they are not known.
func readCol2Im(s *Spec) (*col2im, error) {
	if err := s.operands(3, 3); err != nil {
		return nil, err
	}
	if len(s.In[0].Shape) != 3 {
		return nil, fmt.Errorf("input of shape %v, must be of rank 3", s.In[0].Shape)
	}
	if err := wantType(s.In[0].DType, numeric); err != nil {
		return nil, err
	}
	if s.In[1].Const == nil || s.In[2].Const == nil {
		return nil, nil
	}
	c := &col2im{}
	var err error
	if c.image, err = s.values(1); err != nil {
		return nil, err
	}
	if c.block, err = s.values(2); err != nil {
		return nil, err
	}
	rank := len(c.image)
	list := func(name string, n, def int) []int {
		v := s.Attrs.Ints(name)
		if v == nil {
			v = make([]int, n)
			fill(v, def)
		}
		if len(v) != n && err == nil {
			err = fmt.Errorf("%s has %d numbers, must have %d", name, len(v), n)
		}
		return v
	}
	c.strides, c.dilations = list("strides", rank, 1), list("dilations", rank, 1)
	pads := list("pads", 2*rank, 0)
	if err != nil {
		return nil, err
	}
	if len(c.block) != rank || rank == 0 || rank > maxRank {
		return nil, fmt.Errorf("image_shape %v with block_shape %v", c.image, c.block)
	}
	c.lo, c.hi = pads[:rank], pads[rank:]
	for d := range rank {
		if c.block[d] < 1 || c.image[d] < 0 || c.strides[d] < 1 || c.dilations[d] < 1 || c.lo[d] < 0 || c.hi[d] < 0 ||
			max(c.block[d], c.image[d], c.strides[d], c.dilations[d], c.lo[d], c.hi[d]) > maxPad {
			return nil, fmt.Errorf("image_shape %v, block_shape %v, strides %v, dilations %v, pads %v", c.image, c.block, c.strides, c.dilations, pads)
		}
		room := c.image[d] + c.lo[d] + c.hi[d] - (c.block[d]-1)*c.dilations[d] - 1
		c.steps = append(c.steps, max(0, floorDiv(room, c.strides[d])+1))
	}
	return c, nil
}

func floorDiv(a, b int) int {
	if a < 0 {
		return -ceilDiv(-a, b)
	}
	return a / b
}

func inferCol2Im(s *Spec) error {
	c, err := readCol2Im(s)
	if err != nil {
		return err
	}
	x := s.In[0].Shape
	if c == nil {
		n, err := s.Input(1).length()
		if err != nil || n < 0 || n > maxRank-2 {
			return fmt.Errorf("image_shape of length %d is not known: %w", n, ErrNotKnown)
		}
		return s.results(Desc{DType: s.In[0].DType, Shape: append(tensor.Shape{x[0], -1}, unknown(n)...)})
	}
	taps, steps := count(c.block), count(c.steps)
	if x[1] >= 0 && x[1]%taps != 0 || x[2] >= 0 && x[2] != steps {
		return fmt.Errorf("input of shape %v for blocks of %v at %d places", x, c.block, steps)
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: append(tensor.Shape{x[0], divide(x[1], taps)}, c.image...)})
}

func buildCol2Im(s *Spec) (*Kernel, error) {
	c, err := readCol2Im(s)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, fmt.Errorf("image_shape and block_shape: %w", ErrNotKnown)
	}
	x := s.In[0].Shape
	taps, steps, area := count(c.block), count(c.steps), count(c.image)
	planes := s.Out[0].Shape[:2].Count()
	return s.wide("Col2Im", cost.AIV, 2*int64(x.Count()), 0, func(w *wide) error {
		for p := range planes {
			img := w.out[0][p*area:][:area]
			for t := range taps {
				for u := range steps {
					if at, ok := c.pixel(t, u); ok {
						img[at] += w.in[0][(p*taps+t)*steps+u]
					}
				}
			}
		}
		return nil
	})
}

// pixel is where tap t of the block at place u lies in the image, if it does.
func (c *col2im) pixel(t, u int) (at int, inside bool) {
	step := 1
	for d := len(c.image) - 1; d >= 0; d-- {
		i := u%c.steps[d]*c.strides[d] + t%c.block[d]*c.dilations[d] - c.lo[d]
		if i < 0 || i >= c.image[d] {
			return 0, false
		}
		at += i * step
		step *= c.image[d]
		t, u = t/c.block[d], u/c.steps[d]
	}
	return at, true
}

// readDeformConv checks operands X, W, offset, bias?, mask?.
func readDeformConv(s *Spec) (w window, groups, offsets int, err error) {
	if err = s.operands(3, 5); err != nil {
		return
	}
	x, f := s.In[0].Shape, s.In[1].Shape
	if len(x) != 4 || len(f) != 4 || len(s.In[2].Shape) != 4 {
		err = fmt.Errorf("input %v, weights %v, offset %v: %w (rank must be 4)", x, f, s.In[2].Shape, ErrUnsupported)
		return
	}
	for i, d := range s.In {
		if !d.Absent() && !floating(d.DType) {
			err = fmt.Errorf("input %d of type %v: %w", i, d.DType, ErrUnsupported)
			return
		}
	}
	groups, offsets = s.Attrs.Int("group", 1), s.Attrs.Int("offset_group", 1)
	if w, err = newWindow(s.Attrs, x, f[2:]); err == nil {
		err = w.conv(s.Attrs, false)
	}
	if err == nil && (groups < 1 || offsets < 1 || x[1] >= 0 && x[1]%offsets != 0 || f[0] >= 0 && f[0]%groups != 0 ||
		x[1] >= 0 && f[1] >= 0 && x[1] != f[1]*groups) {
		err = fmt.Errorf("group %d and offset_group %d for input %v and weights %v", groups, offsets, x, f)
	}
	return
}

func inferDeformConv(s *Spec) error {
	w, _, _, err := readDeformConv(s)
	if err != nil {
		return err
	}
	return s.results(Desc{DType: s.In[0].DType, Shape: w.outShape(s.In[0].Shape[0], s.In[1].Shape[0])})
}

func buildDeformConv(s *Spec) (*Kernel, error) {
	win, groups, offsets, err := readDeformConv(s)
	if err != nil {
		return nil, err
	}
	x, f, out := s.In[0].Shape, s.In[1].Shape, s.Out[0].Shape
	taps, pixels, area := f[2]*f[3], out[2]*out[3], x[2]*x[3]
	for i, n := range map[int]int{2: x[0] * offsets * 2 * taps * pixels, 3: f[0], 4: x[0] * offsets * taps * pixels} {
		if d := s.Input(i); !d.Absent() && d.Shape.Count() != n {
			return nil, fmt.Errorf("input %d of shape %v, must have %d elements", i, d.Shape, n)
		}
	}
	r := roiAligner{h: x[2], w: x[3]}
	k, err := s.wide("DeformableConv2D", cost.Mix, 16*int64(x[0])*int64(x[1])*int64(taps)*int64(pixels), x[1]*taps, func(w *wide) error {
		for u := range x[0] * pixels {
			n, p := u/pixels, u%pixels
			for c := range x[1] {
				group := n*offsets + c/(x[1]/offsets)
				for t := range taps {
					at := (group*2*taps + 2*t) * pixels
					y := float64(p/out[3]*win.stride[1]-win.lo[1]+t/f[3]*win.dilation[1]) + w.in[2][at+p]
					z := float64(p%out[3]*win.stride[2]-win.lo[2]+t%f[3]*win.dilation[2]) + w.in[2][at+pixels+p]
					v := r.bilinear(w.in[0][(n*x[1]+c)*area:][:area], y, z)
					if w.in[4] != nil {
						v *= w.in[4][(group*taps+t)*pixels+p]
					}
					w.tmp[c*taps+t] = v
				}
			}
			for o := range f[0] {
				sum, first := 0.0, o/(f[0]/groups)*f[1]*taps
				if w.in[3] != nil {
					sum = w.in[3][o]
				}
				for i, v := range w.in[1][o*f[1]*taps:][:f[1]*taps] {
					sum += v * w.tmp[first+i]
				}
				w.out[0][(n*f[0]+o)*pixels+p] = sum
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	k.Work.M, k.Work.K, k.Work.N, k.Work.Batch, k.Work.MacType = int64(pixels), int64(f[1]*taps), int64(f[0]/groups), int64(x[0]*groups), s.In[0].DType
	return k, nil
}

// bilinear reads between pixels; what lies outside of the image is 0.
func (r *roiAligner) bilinear(img []float64, y, x float64) float64 {
	if !(y > -1 && y < float64(r.h) && x > -1 && x < float64(r.w)) {
		return 0
	}
	y0, x0 := math.Floor(y), math.Floor(x)
	fy, fx := y-y0, x-x0
	sum := 0.0
	for i, a := range [2]float64{1 - fy, fy} {
		for j, b := range [2]float64{1 - fx, fx} {
			if yy, xx := int(y0)+i, int(x0)+j; yy >= 0 && yy < r.h && xx >= 0 && xx < r.w {
				sum += a * b * img[yy*r.w+xx]
			}
		}
	}
	return sum
}
