package kernels

import (
	"npu/internal/tensor"
)

// depthwise computes convolutions with one input channel a group. A band of rows of a plane is copied into scratch
// memory with its padding, columns sorted by their place within a stride, so that each tap reads a run of adjacent
// elements for a row of results.
type depthwise struct {
	*convolution
	fin   finish
	wType tensor.DType

	band       int   // output rows of a band (of one depth)
	bands      int   // of a plane
	height     int   // input rows that a band reads
	pitch, run int   // elements from a scratch row to the next, and of one place within a stride
	offsets    []int // of the taps in scratch
	partFloats int
}

// bandFloats keeps the scratch memory of a band in the first-level cache, mostFloats bounds it.
const (
	bandFloats = 6 << 10
	mostFloats = 4 << 20
)

// depthwise is nil where a band does not fit: dilation or padding beyond all reason.
func (c *convolution) depthwise(s *Spec, k *Kernel, fin finish) *Kernel {
	d := &depthwise{convolution: c, fin: fin, wType: s.In[1].DType}
	if !d.layout() {
		return nil
	}
	units := c.n * c.groups * c.co * c.out[0] * d.bands
	grain := ceilDiv(grainMACs/8, max(1, d.band*c.out[2]*volume(c.kernel)))
	k.Workspace = 4 * d.partFloats * min(maxParts, units)
	part := d.units
	return s.guard(k, func(x *Exec) error { x.each(units, grain, part); return nil })
}

// layout sets the sizes of the scratch memory; it says whether they are sensible.
func (d *depthwise) layout() bool {
	const vector = 16
	s := d.stride[2]
	reach := (d.kernel[2] - 1) * d.dilation[2]
	d.run = roundUp(d.out[2], vector) + reach/s
	d.pitch = d.run * min(s, reach+1)
	rows := max(1, bandFloats/max(1, d.pitch*d.kernel[0]))
	d.band = min(max(1, d.out[1]), max(1, (rows-d.extent(1))/d.stride[1]+1))
	d.bands = ceilDiv(d.out[1], d.band)
	if d.pitch > mostFloats || d.extent(1)*d.pitch > mostFloats || d.kernel[0]*d.extent(1)*d.pitch > mostFloats {
		return false
	}
	d.height = (d.band-1)*d.stride[1] + d.extent(1)
	for z := range d.kernel[0] {
		for y := range d.kernel[1] {
			for x := range d.kernel[2] {
				at := x * d.dilation[2]
				d.offsets = append(d.offsets, (z*d.height+y*d.dilation[1])*d.pitch+at%s*d.run+at/s)
			}
		}
	}
	d.partFloats = d.kernel[0]*d.height*d.pitch + d.band*d.out[2] + vector + max(d.in[2], d.band*d.out[2]) + 2*len(d.offsets)
	return true
}

// units computes bands [lo,hi), counted over all planes and depths.
func (d *depthwise) units(x *Exec, part, lo, hi int) {
	mem := tensor.View[float32](x.Workspace[4*d.partFloats*part:])[:d.partFloats]
	cut := func(n int) []float32 {
		v := mem[:n]
		mem = mem[n:]
		return v
	}
	w, acc := cut(2*len(d.offsets)), cut(d.band*d.out[2]+16)
	tmp, rows := cut(max(d.in[2], d.band*d.out[2])), mem
	src, weights, fin := newVec(d.dtype, x.In[0]), newVec(d.wType, x.In[1]), d.fin.open(x)
	for u := lo; u < hi; u++ {
		y0, z := u%d.bands*d.band, u/d.bands%d.out[0]
		plane := u / (d.bands * d.out[0])
		input, channel := plane/d.co, plane%(d.co*d.groups)
		n := min(d.band, d.out[1]-y0)
		d.fill(rows, tmp, src, input, z, y0, n)
		for t := range d.offsets {
			w[2*t] = weights.at(channel*len(d.offsets) + t)
		}
		tapRows(acc, d.out[2], rows, d.stride[1]*d.pitch, d.offsets, w, d.out[2], n)
		fin.block(acc, len(acc), input, plane%d.co, 1, (z*d.out[1]+y0)*d.out[2], n*d.out[2], tmp)
	}
}

// fill copies the input rows that n output rows from (z,y0) on read.
func (d *depthwise) fill(dst, tmp []float32, src vec, plane, z, y0, n int) {
	height := (n-1)*d.stride[1] + d.extent(1)
	for kz := range d.kernel[0] {
		iz := z*d.stride[0] + kz*d.dilation[0] - d.lo[0]
		for y := range height {
			iy := y0*d.stride[1] + y - d.lo[1]
			row := dst[(kz*d.height+y)*d.pitch:][:d.pitch]
			if uint(iz) >= uint(d.in[0]) || uint(iy) >= uint(d.in[1]) {
				clear(row)
				continue
			}
			d.spread(row, src.run(tmp, ((plane*d.in[0]+iz)*d.in[1]+iy)*d.in[2], d.in[2]))
		}
	}
}

// spread sorts an input row by place within a stride: place p holds the elements p-pad, p-pad+stride, ….
func (d *depthwise) spread(dst, in []float32) {
	s := d.stride[2]
	for p := range d.pitch / d.run {
		row := dst[p*d.run:][:d.run]
		lo, hi := inside(p-d.lo[2], s, len(row), len(in))
		clear(row[:lo])
		if lo < hi {
			v := in[p-d.lo[2]+lo*s:]
			if s == 1 {
				copy(row[lo:hi], v)
			} else {
				for i := range row[lo:hi] {
					row[lo+i] = v[i*s]
				}
			}
		}
		clear(row[hi:])
	}
}
