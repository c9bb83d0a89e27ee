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
	weights       []float32 // of the first inputs, then of the second
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
	var second []float32
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
		p.weights, second = append(p.weights, w1), append(second, w2)
	}
	p.weights = append(p.weights, second...)
	return p
}

// rows computes output rows [lo,hi), counted over all planes. What a row of the input gives to each position of a row
// of results, on both sides, is kept from one row to the next.
func (r *bilinear) rows(x *Exec, part, lo, hi int) {
	last := len(r.in) - 1
	width, height, n := r.in[last], r.in[last-1], r.out[last]
	mem := tensor.View[float32](x.Workspace[4*r.partFloats*part:])[:r.partFloats]
	line, out := mem[:width], mem[width:width+n]
	up, down := spreadRow{v: mem[width+n : width+3*n], at: -1}, spreadRow{v: mem[width+3*n:], at: -1}
	src, dst := newVec(r.dtype, x.In[0]), newVec(r.dtype, x.Out[0])
	for row := lo; row < hi; row++ {
		plane, i := row/r.out[last-1], row%r.out[last-1]
		a, b := (plane*height+int(r.y.first[i]))*width, (plane*height+int(r.y.second[i]))*width
		if a == down.at {
			up, down = down, up
		}
		r.x.spread(&up, src, line, a)
		r.x.spread(&down, src, line, b)
		sum := out
		if dst.f != nil {
			sum = dst.f[row*n:][:n]
		}
		blendRow(sum, up.v, down.v, r.x.weights, r.y.weights[i], r.y.weights[len(r.y.first)+i])
		if dst.f == nil {
			dst.store(row*n, 1, sum)
		}
	}
}

// spreadRow is the input row at an element offset as the results see it: the first input of each, then the second.
type spreadRow struct {
	v  []float32
	at int
}

func (p *pairs) spread(s *spreadRow, src vec, line []float32, at int) {
	if s.at == at {
		return
	}
	s.at = at
	in := src.run(line, at, len(line))
	n := len(p.first)
	a, b := s.v[:n], s.v[n:][:n]
	for i, f := range p.first {
		a[i] = in[f]
	}
	for i, f := range p.second {
		b[i] = in[f]
	}
}
