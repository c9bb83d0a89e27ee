package kernels

import "npu/internal/tensor"

// rowPool is a pooling of float32 planes whose windows lie one or two columns apart: a row of results is one pass over
// the taps of its windows, read where the input lies or, where they reach beyond it, from a copy with its padding.
type rowPool struct {
	*pooling
	height, blocks int // rows of results of a block; blocks of a plane
	pitch          int // columns of a padded row
	inside         bool
	padded, direct []int     // offsets of the taps
	div            []float32 // what the sums of a plane are divided by; nil: maxima
	pad            float32
	floats         int
}

// poolSlack is how many elements poolRows may read behind the last one that it needs.
const poolSlack = 2 * spill

// poolRowsPlain computes rows of n results: the maxima over the taps of src[i·stride+tap], or, where div is given, the sums
// divided by it. NaN comes through; of equal numbers the first one does.
func poolRowsPlain(dst []float32, dstStep int, src []float32, srcStep, stride, rows, n int, taps []int, div []float32, divStep int) {
	for r := range rows {
		for i := range n {
			at := r*srcStep + i*stride
			x := src[at+taps[0]]
			for _, t := range taps[1:] {
				y := src[at+t]
				switch {
				case div != nil:
					x += y
				case y > x || y != y:
					x = y
				}
			}
			if div != nil {
				x /= div[r*divStep+i]
			}
			dst[r*dstStep+i] = x
		}
	}
}

// byRows is nil where the form does not fit.
func (p *pooling) byRows() *rowPool {
	const most = 16 << 10 // elements of a padded block, which stays in the first or second-level cache
	extent := [3]int{p.extent(0), p.extent(1), p.extent(2)}
	r := &rowPool{pooling: p, pitch: (p.out[2]-1)*p.stride[2] + extent[2]}
	if p.dtype != tensor.Float32 || p.kind == poolLp || p.kernel[0] != 1 || p.in[0] != 1 || p.out[0] != 1 || p.lo[0]+p.hi[0] != 0 ||
		p.stride[2] > 2 || volume(p.out) == 0 || volume(p.in) == 0 || r.pitch > bandLimit || extent[1] > bandLimit ||
		extent[1]*r.pitch > bandLimit || volume(p.kernel) > bandLimit || volume(p.out) > bandLimit {
		return nil
	}
	r.height = max(1, (most/r.pitch-extent[1])/p.stride[1]+1)
	r.height = min(r.height, p.out[1])
	r.blocks = ceilDiv(p.out[1], r.height)
	r.floats = ((r.height-1)*p.stride[1]+extent[1])*r.pitch + poolSlack
	r.inside = p.lo == [3]int{} && (p.out[1]-1)*p.stride[1]+extent[1] <= p.in[1] && r.pitch <= p.in[2]
	for y := range p.kernel[1] {
		for x := range p.kernel[2] {
			r.padded = append(r.padded, y*p.dilation[1]*r.pitch+x*p.dilation[2])
			r.direct = append(r.direct, y*p.dilation[1]*p.in[2]+x*p.dilation[2])
		}
	}
	if p.kind == poolMax {
		r.pad = inf(-1)
		return r
	}
	r.div = make([]float32, 0, volume(p.out))
	for y := range p.out[1] {
		for x := range p.out[2] {
			r.div = append(r.div, float32(p.taps(0, 0)*p.taps(1, y)*p.taps(2, x)))
		}
	}
	return r
}

// units computes blocks [lo,hi), counted over all planes.
func (r *rowPool) units(x *Exec, part, lo, hi int) {
	mem := tensor.View[float32](x.Workspace[4*r.floats*part:])[:r.floats]
	in, out := tensor.View[float32](x.In[0]), tensor.View[float32](x.Out[0])
	width := r.out[2]
	for u := lo; u < hi; u++ {
		plane, y := u/r.blocks, u%r.blocks*r.height
		height := min(r.height, r.out[1]-y)
		rows := (height-1)*r.stride[1] + r.extent(1)
		src, pitch, taps := mem, r.pitch, r.padded
		if at := (plane*r.in[1] + y*r.stride[1]) * r.in[2]; r.inside && at+rows*r.in[2]+poolSlack <= len(in) {
			src, pitch, taps = in[at:], r.in[2], r.direct
		} else {
			r.fill(mem, in[plane*volume(r.in):][:volume(r.in)], y*r.stride[1]-r.lo[1], rows)
		}
		var div []float32
		if r.div != nil {
			div = r.div[y*width:]
		}
		poolRows(out[plane*volume(r.out)+y*width:], width, src, r.stride[1]*pitch, r.stride[2], height, width, taps, div, width)
	}
}

// fill copies rows of a plane from row first on, which may lie before it, with padding.
func (r *rowPool) fill(dst, plane []float32, first, rows int) {
	top, bottom := inside(first, 1, rows, r.in[1])
	left, right := inside(-r.lo[2], 1, r.pitch, r.in[2])
	if left == right {
		bottom = top
	}
	fill(dst[:top*r.pitch], r.pad)
	if top < bottom {
		at := (first+top)*r.in[2] + left - r.lo[2]
		padRows(dst[top*r.pitch:], r.pitch, plane[at:], r.in[2], 1, bottom-top, left, right-left, r.pitch-right, r.pad)
	}
	fill(dst[bottom*r.pitch:rows*r.pitch], r.pad)
}
