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

// depthwise is nil where a band makes no sense.
func (c *convolution) depthwise(s *Spec, k *Kernel, fin finish) *Kernel {
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
