package kernels

import "npu/internal/tensor"

// bilinear is the linear resize of planes, without antialiasing: each result is the sum of the four inputs around it,
// upper pair first, each with the rounded product of its two weights. Other runtimes sum so (see order).
type bilinear struct {
	*resizer
	y, x pairs
}

// pairs are the two inputs of each output position along a dimension, and their weights. At the far edge both are
// the same input and count half each.
type pairs struct {
	first, second []int32
	w1, w2        []float32
}

// planes says whether the resize is one that bilinear computes.
func (r *resizer) planes(z *resizing) bool {
	n := len(r.taps)
	return z.mode == "linear" && !z.antialias && z.coordinates != "tf_crop_and_resize" && floating(r.dtype) &&
		(n == 2 || n == 3 && r.taps[0].same) && !r.taps[n-1].same && !r.taps[n-2].same
}

// pairsOf makes the table of a dimension.
func (z *resizing) pairsOf(d int) pairs {
	var p pairs
	in := z.in[d]
	for i := range z.out[d] {
		x := min(max(z.coordinate(d, i), 0), float32(in-1))
		a := int(x)
		b := min(a+1, in-1)
		w1, w2 := float32(b)-x, x-float32(a)
		if a == b {
			w1, w2 = 0.5, 0.5
		}
		p.first, p.second = append(p.first, int32(a)), append(p.second, int32(b))
		p.w1, p.w2 = append(p.w1, w1), append(p.w2, w2)
	}
	return p
}

// rows computes output rows [lo,hi), counted over all planes.
func (r *bilinear) rows(x *Exec, part, lo, hi int) {
	last := len(r.in) - 1
	width, height := r.in[last], r.in[last-1]
	mem := tensor.View[float32](x.Workspace[4*r.partFloats*part:])[:r.partFloats]
	up, down, out := mem[:width], mem[width:2*width], mem[2*width:]
	src, dst := newVec(r.dtype, x.In[0]), newVec(r.dtype, x.Out[0])
	for row := lo; row < hi; row++ {
		plane, i := row/r.out[last-1], row%r.out[last-1]
		base := plane * height * width
		a := src.run(up, base+int(r.y.first[i])*width, width)
		b := src.run(down, base+int(r.y.second[i])*width, width)
		r.x.between(out, a, b, r.y.w1[i], r.y.w2[i])
		dst.store(row*r.out[last], 1, out)
	}
}

// between computes a row from the rows above and below it.
func (p *pairs) between(out, a, b []float32, w1, w2 float32) {
	first, second, x1, x2 := p.first[:len(out)], p.second[:len(out)], p.w1[:len(out)], p.w2[:len(out)]
	for i := range out {
		f, s := first[i], second[i]
		v := float32(x1[i]*w1) * a[f]
		v += float32(float32(x2[i]*w1) * a[s])
		v += float32(float32(x1[i]*w2) * b[f])
		out[i] = v + float32(float32(x2[i]*w2)*b[s])
	}
}
