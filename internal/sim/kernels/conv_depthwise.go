package kernels

import "npu/internal/tensor"

// depthwise computes convolutions with one input channel a group row by row: an output row is the sum of input rows
// scaled by the taps.
type depthwise struct {
	*convolution
	fin        finish
	wType      tensor.DType
	partFloats int
}

func (c *convolution) depthwise(s *Spec, k *Kernel, fin finish) *Kernel {
	d := &depthwise{convolution: c, fin: fin, wType: s.In[1].DType, partFloats: c.in[2] + 2*c.out[2]}
	rows := c.n * c.groups * c.co * c.out[0] * c.out[1]
	grain := ceilDiv(grainMACs/8, max(1, c.out[2]*volume(c.kernel)))
	k.Workspace = 4 * d.partFloats * min(maxParts, rows)
	part := d.rows
	return s.guard(k, func(x *Exec) error { x.each(rows, grain, part); return nil })
}

// rows computes output rows [lo,hi), counted over all planes.
func (d *depthwise) rows(x *Exec, part, lo, hi int) {
	mem := tensor.View[float32](x.Workspace[4*d.partFloats*part:])[:d.partFloats]
	acc, tmp, line := mem[:d.out[2]], mem[d.out[2]:2*d.out[2]], mem[2*d.out[2]:]
	src, weights, fin := newVec(d.dtype, x.In[0]), newVec(d.wType, x.In[1]), d.fin.open(x)
	taps := volume(d.kernel)
	for r := lo; r < hi; r++ {
		y, z := r%d.out[1], r/d.out[1]%d.out[0]
		plane := r / (d.out[1] * d.out[0])
		image, channel := plane/d.co, plane%(d.co*d.groups)
		clear(acc)
		if fin.bias.kind != nowhere {
			b := fin.b.at(channel)
			for i := range acc {
				acc[i] = b
			}
		}
		for kz := range d.kernel[0] {
			iz := z*d.stride[0] + kz*d.dilation[0] - d.lo[0]
			if uint(iz) >= uint(d.in[0]) {
				continue
			}
			for ky := range d.kernel[1] {
				iy := y*d.stride[1] + ky*d.dilation[1] - d.lo[1]
				if uint(iy) >= uint(d.in[1]) {
					continue
				}
				in := src.run(line, ((image*d.in[0]+iz)*d.in[1]+iy)*d.in[2], d.in[2])
				d.row(acc, in, weights, channel*taps+(kz*d.kernel[1]+ky)*d.kernel[2])
			}
		}
		fin.end(acc, r*d.out[2], 1, tmp)
	}
}

// row adds one kernel row: acc[i] += Σ w[k]·in[i·stride + k·dilation - pad].
func (d *depthwise) row(acc, in []float32, weights vec, w0 int) {
	stride, dil, pad := d.stride[2], d.dilation[2], d.lo[2]
	if d.kernel[2] == 3 && dil == 1 && stride <= 2 {
		d.row3(acc, in, weights.at(w0), weights.at(w0+1), weights.at(w0+2))
		return
	}
	for k := range d.kernel[2] {
		w := weights.at(w0 + k)
		first := k*dil - pad
		lo, hi := inside(first, stride, len(acc), len(in))
		if lo == hi {
			continue
		}
		out, v := acc[lo:hi], in[first+lo*stride:]
		if stride == 1 {
			v = v[:len(out)]
			for i, x := range v {
				out[i] += w * x
			}
			continue
		}
		for i := range out {
			out[i] += w * v[i*stride]
		}
	}
}

// row3 is row for three adjacent taps and stride 1 or 2.
func (d *depthwise) row3(acc, in []float32, w0, w1, w2 float32) {
	stride, pad := d.stride[2], d.lo[2]
	lo, _ := inside(-pad, stride, len(acc), len(in))
	_, hi := inside(2-pad, stride, len(acc), len(in))
	hi = max(lo, hi)
	for i := range acc[:lo] {
		acc[i] += edge3(in, i*stride-pad, w0, w1, w2)
	}
	if lo < hi {
		out, v := acc[lo:hi], in[lo*stride-pad:]
		if stride == 1 {
			v0, v1, v2 := v[:len(out)], v[1:][:len(out)], v[2:][:len(out)]
			for i := range out {
				out[i] += v0[i]*w0 + v1[i]*w1 + v2[i]*w2
			}
		} else {
			for i := range out {
				u := v[2*i:][:3]
				out[i] += u[0]*w0 + u[1]*w1 + u[2]*w2
			}
		}
	}
	for i := hi; i < len(acc); i++ {
		acc[i] += edge3(in, i*stride-pad, w0, w1, w2)
	}
}

func edge3(in []float32, at int, w0, w1, w2 float32) (sum float32) {
	for k, w := range [3]float32{w0, w1, w2} {
		if i := at + k; uint(i) < uint(len(in)) {
			sum += in[i] * w
		}
	}
	return sum
}
