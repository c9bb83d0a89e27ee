package kernels

import "npu/internal/tensor"

// A convolution with few output pixels is computed the other way round: rows are pixels, columns are output channels,
// so that vectors are full and each weight is read once. So is one of a signal, whose windows then need no copy. Weights
// are packed when the model is loaded. The sums are those of the ordinary form, bit for bit.

// fewPixels bounds the pixels of an image: as many rows as a tile has.
const fewPixels = 8

// few is nil where the ordinary form is the better one. It counts on the order of the ordinary form to be inSequence.
func (c *convolution) few(s *Spec, k *Kernel, fin finish) *Kernel {
	p := c.wholePhase()
	pixels, depth := volume(c.out), c.ci*len(p.taps)
	padded := c.lo != [3]int{} || c.hi != [3]int{}
	signal := !padded && c.ci == 1 && c.in[0] == 1 && c.in[1] == 1 && c.dilation[2] == 1 && c.dtype == tensor.Float32
	if s.In[1].Const == nil || pixels < 1 || depth < 1 || c.n < 1 || c.co < 2*pixels || c.co < spill || pixels > fewPixels && !signal {
		return nil
	}
	g := newGEMM(inSequence, pixels, c.co, depth)
	g.slice = slice(pixels, depth)
	g.a = side{at: loc{inOperand, 0}, dtype: c.dtype}
	g.b = side{at: loc{inOperand, 1}, dtype: c.dtype, ls: depth, ks: 1}
	g.fin = fin
	g.fin.brs, g.fin.bcs, g.fin.turned = 0, 1, pixels > 1
	for i := range c.n * c.groups {
		g.a.base = append(g.a.base, i*c.ci*volume(c.in))
		g.b.base = append(g.b.base, i%c.groups*c.co*depth)
	}
	switch {
	case signal: // windows are runs of it
		g.a.ls, g.a.ks = c.stride[2], 1
	case !padded && (c.in == c.kernel || c.in == [3]int{1, 1, 1}):
		g.a.ls, g.a.ks = depth, 1
	default:
		g.a.gather = c.gatherPixels(p)
	}
	k.Weights = append(k.Weights, prepackPlain(&g.b, 1, g.mk.nr, c.co, depth))
	k.Workspace = g.plan(0)
	return s.guard(k, func(x *Exec) error { g.run(x); return nil })
}

// gatherPixels copies what pixels see: for each, taps of channels.
func (c *convolution) gatherPixels(p phase) func(dst []float32, src vec, base, l0, lanes, k0, depth int) {
	taps, plane := len(p.taps), volume(c.in)
	var at []int // for each tap of each pixel, its place in a plane of the input, or -1
	for i := range volume(p.grid) {
		q := [3]int{i / p.grid[2] / p.grid[1], i / p.grid[2] % p.grid[1], i % p.grid[2]}
		for _, t := range p.taps {
			n := 0
			for d := range 3 {
				v := q[d]*p.stride[d] + t.off[d]
				if uint(v) >= uint(c.in[d]) {
					n = -1
					break
				}
				n = n*c.in[d] + v
			}
			at = append(at, n)
		}
	}
	return func(dst []float32, src vec, base, l0, lanes, k0, depth int) {
		for l := range lanes {
			row := dst[l*depth:][:depth]
			for t, n := range at[(l0+l)*taps:][:taps] {
				first := (t - k0%taps + taps) % taps // element of the row, tap t of the first channel
				channel := base + (k0+first)/taps*plane + n
				switch {
				case n < 0:
					for i := first; i < depth; i += taps {
						row[i] = 0
					}
				case src.f != nil:
					for i := first; i < depth; i += taps {
						row[i] = src.f[channel]
						channel += plane
					}
				default:
					for i := first; i < depth; i += taps {
						row[i] = src.at(channel)
						channel += plane
					}
				}
			}
		}
	}
}
