package kernels

import "npu/internal/tensor"

// depthwise computes convolutions with one input channel a group, block by block of a band.
type depthwise struct {
	*convolution
	*band
	mk         micro
	fin        finish
	wType      tensor.DType
	partFloats int
}

// depthwise is nil where a band makes no sense. Where rows can be summed at once, they are; the sums are the same.
func (c *convolution) depthwise(s *Spec, k *Kernel, fin finish) *Kernel {
	if r := newWindowRows(&c.window, 0); r != nil && fin.straight() && fin.z.kind == nowhere {
		return (&rowDepthwise{c, r, fin}).kernel(s, k)
	}
	d := &depthwise{c, newBand(c.in, c.wholePhase(), bandPixels(&c.window)), newMicro(inQuads), fin, s.In[1].DType, 0}
	if d.band == nil {
		return nil
	}
	d.fin.spread = c.spreadBand(d.band, c.wholePhase())
	units := c.n * c.groups * c.co * d.blocks
	run := d.run(d.height, d.width)
	grain := ceilDiv(grainMACs/8, max(1, run*len(d.tapAt)))
	d.partFloats = d.channel + spill + run + spill + run + len(d.tapAt)
	k.Workspace = 4 * d.partFloats * min(maxParts, units)
	part := d.units
	return s.guard(k, func(x *Exec) error { x.each(units, grain, part); return nil })
}

// units computes blocks [lo,hi), counted over all planes.
func (d *depthwise) units(x *Exec, part, lo, hi int) {
	mem := tensor.View[float32](x.Workspace[4*d.partFloats*part:])[:d.partFloats]
	cut := func(n int) []float32 {
		v := mem[:n]
		mem = mem[n:]
		return v
	}
	whole := d.run(d.height, d.width)
	w, acc, tmp, rows := cut(len(d.tapAt)), cut(whole+spill), cut(whole), mem
	src, weights, fin := newVec(d.dtype, x.In[0]), newVec(d.wType, x.In[1]), d.fin.open(x)
	for u := lo; u < hi; u++ {
		plane, i := u/d.blocks, u%d.blocks
		input, channel := plane/d.co, plane%(d.co*d.groups)
		_, _, _, height, width := d.block(i)
		run := d.run(height, width)
		d.fill(rows, src, input*volume(d.band.in), i)
		weights.load(w, channel*len(w), 1)
		d.mk.tile(1, run, len(w), w, 0, rows, d.tapAt, 0, acc, 0, false)
		fin.block(acc, len(acc), input, plane%d.co, 1, i*whole, run, tmp)
	}
}

// rowDepthwise computes depthwise convolutions row by row.
type rowDepthwise struct {
	*convolution
	*windowRows
	fin finish
}

func (d *rowDepthwise) kernel(s *Spec, k *Kernel) *Kernel {
	units := d.n * d.groups * d.co * d.blocks
	grain := ceilDiv(grainMACs/8, max(1, d.height*d.convolution.out[2]*len(d.padded)))
	k.Workspace = 4 * d.floats * min(maxParts, units)
	part := d.units
	return s.guard(k, func(x *Exec) error { x.each(units, grain, part); return nil })
}

// units computes blocks [lo,hi), counted over all planes of results.
func (d *rowDepthwise) units(x *Exec, part, lo, hi int) {
	mem := tensor.View[float32](x.Workspace[4*d.floats*part:])[:d.floats]
	in, w, out := tensor.View[float32](x.In[0]), tensor.View[float32](x.In[1]), tensor.View[float32](x.Out[0])
	bias := newVec(d.fin.biasType, d.fin.bias.mem(x))
	least, most, limits := d.fin.act.clamp()
	if !limits {
		least, most = inf(-1), inf(1)
	}
	size := d.convolution.out
	for u := lo; u < hi; u++ {
		plane, y := u/d.blocks, u%d.blocks*d.height
		channel := plane % (d.co * d.groups)
		add := negativeZero()
		if d.fin.bias.kind != nowhere {
			add = bias.at(channel)
		}
		src, step, taps, height := d.block(mem, in, plane/d.co, y)
		rows := out[plane*volume(size)+y*size[2]:][:height*size[2]]
		depthRows(rows, size[2], src, step, d.convolution.stride[2], height, size[2], taps, w[channel*len(taps):][:len(taps)], add, least, most)
		if !limits {
			d.fin.act.apply(rows, rows)
		}
	}
}

// depthRowsPlain computes rows of n sums over the taps of weight times src[i·stride+tap], in the order inQuads, and
// min(max(sum+bias, lo), hi).
func depthRowsPlain(dst []float32, dstStep int, src []float32, srcStep, stride, rows, n int, taps []int, weights []float32, bias, lo, hi float32) {
	for r := range rows {
		for i := range n {
			at, x := r*srcStep+i*stride, float32(0)
			for t := 0; t < len(taps); t += 4 {
				s := float32(weights[t] * src[at+taps[t]])
				for j := t + 1; j < min(t+4, len(taps)); j++ {
					s += float32(weights[j] * src[at+taps[j]])
				}
				x += s
			}
			dst[r*dstStep+i] = atMost(hi, atLeast(lo, x+bias))
		}
	}
}
