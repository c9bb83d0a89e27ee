package kernels

import "npu/internal/tensor"

// bandPool is a maximum, or an average of whole windows, over a band: run by run for each tap.
type bandPool struct {
	*pooling
	*band
	partFloats int
}

// overBand is nil where it makes no sense, or where an average counts fewer taps at the edge.
func (p *pooling) overBand() *bandPool {
	for d := range 3 {
		whole := p.lo[d] == 0 && (p.out[d]-1)*p.stride[d]+p.extent(d) <= p.in[d]
		if p.kind == poolLp || p.kind == poolAverage && !whole {
			return nil
		}
	}
	b := &bandPool{pooling: p, band: newBand(p.in, p.wholePhase(), bandPixels(&p.window))}
	if b.band == nil {
		return nil
	}
	if p.kind == poolMax {
		b.pad = inf(-1)
	}
	b.partFloats = b.channel + spill + b.run(b.height, b.width)
	return b
}

// bandPixels is how many results a block of a single channel has, so that it stays in the first-level cache.
func bandPixels(w *window) int {
	n := 5 << 10
	for d := range 3 {
		n /= min(w.stride[d], w.extent(d), n)
	}
	return n
}

// units computes blocks [lo,hi), counted over all planes.
func (b *bandPool) units(x *Exec, part, lo, hi int) {
	mem := tensor.View[float32](x.Workspace[4*b.partFloats*part:])[:b.partFloats]
	acc, rows := mem[:b.run(b.height, b.width)], mem[b.run(b.height, b.width):]
	src, dst := newVec(b.dtype, x.In[0]), newVec(b.dtype, x.Out[0])
	for u := lo; u < hi; u++ {
		plane, i := u/b.blocks, u%b.blocks
		z, y, x, height, width := b.block(i)
		v := acc[:b.run(height, width)]
		b.fill(rows, src, plane*volume(b.band.in), i)
		copy(v, rows[b.tapAt[0]:])
		for _, t := range b.tapAt[1:] {
			if b.kind == poolMax {
				maxVec(v, v, rows[t:][:len(v)])
			} else {
				addVec(v, v, rows[t:][:len(v)])
			}
		}
		if b.kind == poolAverage {
			for i := range v {
				v[i] /= float32(len(b.tapAt))
			}
		}
		at := ((plane*b.out[0]+z)*b.out[1]+y)*b.out[2] + x
		if dst.f != nil {
			clampRows(dst.f[at:], b.out[2], v, b.pitch, height, width, negativeZero(), inf(-1), inf(1))
			continue
		}
		for r := range height {
			dst.store(at+r*b.out[2], 1, v[r*b.pitch:][:width])
		}
	}
}
