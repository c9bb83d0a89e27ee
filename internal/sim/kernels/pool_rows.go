package kernels

import "npu/internal/tensor"

// rowPool is a pooling of float32 planes whose windows lie one or two columns apart.
type rowPool struct {
	*pooling
	*windowRows
	div []float32 // what the sums of a plane are divided by; nil: maxima
}

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
	pad := float32(0)
	if p.kind == poolMax {
		pad = inf(-1)
	}
	r := &rowPool{pooling: p, windowRows: newWindowRows(&p.window, pad)}
	if p.dtype != tensor.Float32 || p.kind == poolLp || r.windowRows == nil || volume(p.out) > bandLimit {
		return nil
	}
	if p.kind == poolMax {
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
	size, stride := r.pooling.out, r.pooling.stride[2]
	for u := lo; u < hi; u++ {
		plane, y := u/r.blocks, u%r.blocks*r.height
		src, step, taps, height := r.block(mem, in, plane, y)
		var div []float32
		if r.div != nil {
			div = r.div[y*size[2]:]
		}
		poolRows(out[plane*volume(size)+y*size[2]:], size[2], src, step, stride, height, size[2], taps, div, size[2])
	}
}
