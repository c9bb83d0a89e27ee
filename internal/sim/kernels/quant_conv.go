package kernels

import (
	"fmt"

	"npu/internal/sim/cost"
	"npu/internal/tensor"
)

// quantConv is a convolution of bytes.
type quantConv struct {
	window
	n, groups, ci, co int
	p                 quantPlaces
	t                 tensor.DType
}

func readQuantConv(s *Spec) (*quantConv, error) {
	p, t, err := quantOperands(s)
	if err != nil {
		return nil, err
	}
	x, w := s.In[p.a].Shape, s.In[p.b].Shape
	if len(x) != len(w) || len(x) < 3 {
		return nil, fmt.Errorf("input of shape %v with weights of shape %v: ranks must be equal, 3 or more", x, w)
	}
	win, err := newWindow(s.Attrs, x, w[2:])
	if err != nil {
		return nil, err
	}
	c := &quantConv{window: win, n: x[0], groups: s.Attrs.Int("group", 1), ci: w[1], co: w[0], p: p, t: t}
	if c.groups < 1 || c.co >= 0 && c.co%c.groups != 0 || c.ci >= 0 && x[1] >= 0 && c.ci*c.groups != x[1] {
		return nil, fmt.Errorf("weights of shape %v in %d groups for input of shape %v", w, c.groups, x)
	}
	if err := c.conv(s.Attrs, false); err != nil {
		return nil, err
	}
	for _, i := range []int{p.aZero, p.aScale, p.yScale, p.y} {
		if d := s.Input(i); !d.Absent() && d.Shape.Static() && d.Shape.Count() != 1 {
			return nil, fmt.Errorf("input %d of shape %v, must be one value", i, d.Shape)
		}
	}
	for _, i := range []int{p.bZero, p.bScale, p.bias} {
		if i < 0 || s.Input(i).Absent() || !s.In[i].Shape.Static() || c.co < 0 {
			continue
		}
		if n := s.In[i].Shape.Count(); n != c.co && (n != 1 || i == p.bias) {
			return nil, fmt.Errorf("input %d of shape %v for %d output channels", i, s.In[i].Shape, c.co)
		}
	}
	return c, nil
}

func inferQuantConv(s *Spec) error {
	c, err := readQuantConv(s)
	if err != nil {
		return err
	}
	return s.results(Desc{DType: c.t, Shape: c.outShape(c.n, c.co)})
}

func buildQuantConv(s *Spec) (*Kernel, error) {
	c, err := readQuantConv(s)
	if err != nil {
		return nil, err
	}
	k := s.kernel("QuantConv2D", cost.AIC, 0, all(len(s.In)), nil)
	quantCost(k, c.n*c.groups, volume(c.out), c.ci*volume(c.kernel), c.co/c.groups)
	k.Workspace = 4 * maxParts * volume(c.out)
	lo, hi := bounds(c.t)
	r := requant{c.t, lo, hi}
	pixels := volume(c.out)
	k.Run = quantRun(s, k, c.n*c.co, c.ci*volume(c.kernel)*pixels, pixels, func(x *Exec, u int, acc []int32) {
		image, ch := u/c.co, u%c.co
		c.plane(s, x, image, ch, acc)
		if c.p.bias > 0 && !s.Input(c.p.bias).Absent() {
			b := tensor.View[int32](x.In[c.p.bias])[ch]
			for i := range acc {
				acc[i] += b
			}
		}
		if c.p.y < 0 {
			copy(tensor.View[int32](x.Out[0])[u*pixels:], acc)
			return
		}
		scale := s.single(x, c.p.aScale, 1) * s.element(x, c.p.bScale, ch) / s.single(x, c.p.yScale, 1)
		zero := s.single(x, c.p.y, 0)
		for i, v := range acc {
			r.store(x.Out[0], u*pixels+i, v, scale, zero)
		}
	})
	return k, nil
}

// plane sums one output channel of one image; what lies outside of the input is its zero point and adds nothing.
func (c *quantConv) plane(s *Spec, x *Exec, image, ch int, acc []int32) {
	clear(acc)
	xz, wz := int32(s.single(x, c.p.aZero, 0)), int32(s.element(x, c.p.bZero, ch))
	area, taps := volume(c.in), volume(c.kernel)
	group := ch / (c.co / c.groups)
	for i := range c.ci {
		src := x.In[c.p.a][((image*c.groups+group)*c.ci+i)*area:][:area]
		filter := x.In[c.p.b][(ch*c.ci+i)*taps:][:taps]
		for t, b := range filter {
			w := int32(b)
			if s.In[c.p.b].DType == tensor.Int8 {
				w = int32(int8(b))
			}
			if w -= wz; w == 0 {
				continue
			}
			c.tap(acc, src, s.In[c.p.a].DType == tensor.Int8, xz, w, t/(c.kernel[1]*c.kernel[2]), t/c.kernel[2]%c.kernel[1], t%c.kernel[2])
		}
	}
}

// tap adds one weight times the input under it to every output that it touches.
func (c *quantConv) tap(acc []int32, src []byte, signed bool, zero, w int32, kd, kh, kw int) {
	off := [3]int{kd*c.dilation[0] - c.lo[0], kh*c.dilation[1] - c.lo[1], kw*c.dilation[2] - c.lo[2]}
	first, last := 0, c.out[2] // outputs along the width whose input is inside
	for first < last && first*c.stride[2]+off[2] < 0 {
		first++
	}
	for last > first && (last-1)*c.stride[2]+off[2] >= c.in[2] {
		last--
	}
	for d := range c.out[0] {
		z := d*c.stride[0] + off[0]
		if z < 0 || z >= c.in[0] {
			continue
		}
		for h := range c.out[1] {
			y := h*c.stride[1] + off[1]
			if y < 0 || y >= c.in[1] {
				continue
			}
			line := src[(z*c.in[1]+y)*c.in[2]:][:c.in[2]]
			sum := acc[(d*c.out[1]+h)*c.out[2]:][:c.out[2]]
			at := first*c.stride[2] + off[2]
			for o := first; o < last; o++ {
				v := int32(line[at])
				if signed {
					v = int32(int8(v))
				}
				sum[o] += w * (v - zero)
				at += c.stride[2]
			}
		}
	}
}
