package kernels

import "fmt"

// A convolution is computed as an implicit product: rows are output channels, columns are output pixels, k runs over
// input channels × taps. The matrix of pixels is never stored; its panels are gathered from the input block by block.
//
// A transposed convolution with stride s is s interleaved convolutions of stride 1 (phases), each with the taps
// that reach its pixels.

// phase is one convolution over a grid of output pixels.
type phase struct {
	grid     [3]int
	at, step [3]int // pixel q of the grid is pixel at+q·step of the output
	stride   [3]int // input position of pixel q: q·stride + tap
	taps     []tap
}

// tap is one kernel element: its offset in the input, and its number in the kernel.
type tap struct {
	off [3]int
	pos int
}

// wholePhase is a window that slides over the whole output.
func (w *window) wholePhase() phase {
	p := phase{grid: w.out, step: [3]int{1, 1, 1}, stride: w.stride}
	w.eachTap(func(k [3]int, pos int) {
		t := tap{pos: pos}
		for d := range 3 {
			t.off[d] = k[d]*w.dilation[d] - w.lo[d]
		}
		p.taps = append(p.taps, t)
	})
	return p
}

func (w *window) eachTap(f func(k [3]int, pos int)) {
	pos := 0
	for z := range w.kernel[0] {
		for y := range w.kernel[1] {
			for x := range w.kernel[2] {
				f([3]int{z, y, x}, pos)
				pos++
			}
		}
	}
}

// phases splits a transposed convolution.
func (c *convolution) phases() ([]phase, error) {
	var count [3]int
	for d := range 3 {
		count[d] = min(c.stride[d], c.out[d])
	}
	const most = 1 << 12
	if count[0] > most || count[1] > most || count[2] > most || volume(count) > most {
		return nil, fmt.Errorf("strides %v: %w (product at most %d)", c.stride[3-c.rank:], ErrUnsupported, most)
	}
	var all []phase
	for z := range count[0] {
		for y := range count[1] {
			for x := range count[2] {
				all = append(all, c.phase([3]int{z, y, x}))
			}
		}
	}
	return all, nil
}

func (c *convolution) phase(r [3]int) phase {
	p := phase{at: r, step: c.stride, stride: [3]int{1, 1, 1}}
	for d := range 3 {
		p.grid[d] = ceilDiv(c.out[d]-r[d], c.stride[d])
	}
	c.eachTap(func(k [3]int, pos int) {
		t := tap{pos: pos}
		for d := range 3 {
			n := r[d] + c.lo[d] - k[d]*c.dilation[d]
			if n%c.stride[d] != 0 {
				return
			}
			t.off[d] = n / c.stride[d]
		}
		p.taps = append(p.taps, t)
	})
	return p
}

// slice is the depth of the slices of a convolution's sum: few pixels make slices deeper.
func slice(pixels, depth int) int {
	d := 128
	if pixels < depth {
		for n := 64; n >= pixels && n >= 16; n /= 2 {
			d *= 2
		}
	}
	return d
}

// compile makes one product for each phase; they share the scratch memory and the packed weight.
func (c *convolution) compile(s *Spec, k *Kernel, fin finish, phases []phase) *Kernel {
	whole := volume(c.kernel)
	number, input, weights := make([]int, len(fin.outBase)), make([]int, len(fin.outBase)), make([]int, len(fin.outBase))
	groups := make([]int, c.groups)
	for i := range number {
		g := i % c.groups
		number[i], input[i], weights[i] = g, i*c.ci*volume(c.in), g*c.co*c.ci*whole
		groups[g] = weights[i]
	}
	if c.n == 0 {
		groups = nil
	}
	var packers []*packer
	var gemms []*gemm
	o := inSequence
	if c.co == 1 && s.Op != "ConvTranspose" {
		o = inQuads
	}
	start := 0
	for _, p := range phases {
		g := newGEMM(o, c.co, volume(p.grid), c.ci*len(p.taps))
		g.fin, g.slice = fin, slice(g.n, g.k)
		g.a = side{at: loc{inOperand, 1}, dtype: c.dtype, base: weights, ls: g.k, ks: 1}
		if s.Op == "ConvTranspose" {
			g.a.gather = c.gatherWeights(p)
		}
		g.b = side{at: loc{inOperand, 0}, dtype: c.dtype, base: input, channels: c.ci, plane: volume(c.in)}
		c.columns(g, p)
		if s.In[1].Const != nil && !g.a.direct() {
			pk := g.a.prepack(0, g.m, g.k, groups, number, start)
			packers, start = append(packers, pk), start+pk.floats()
		}
		k.Workspace = max(k.Workspace, g.plan(0))
		gemms = append(gemms, g)
	}
	if len(packers) > 0 {
		k.Weights = append(k.Weights, weight(1, packers...))
	}
	return s.guard(k, func(x *Exec) error {
		for _, g := range gemms {
			g.run(x)
		}
		return nil
	})
}

// columns chooses how the input becomes columns of a product: 1×1 kernels take the planes as they are, others a band
// unless rows are so short that the columns for nothing in it would be many.
func (c *convolution) columns(g *gemm, p phase) {
	if volume(c.kernel) == 1 && p.stride == [3]int{1, 1, 1} && p.grid == c.in && len(p.taps) == 1 && p.taps[0].off == [3]int{} {
		g.b.ls, g.b.ks = 1, volume(c.in)
		return
	}
	pixels := max(96, min(448, 32<<10/max(1, min(g.m, 512))))
	b := newBand(c.in, p, pixels)
	if b != nil && b.run(b.height, b.width) <= 2*b.height*b.width {
		g.b.band = b
		if !b.adjacent() || p.step != [3]int{1, 1, 1} {
			g.fin.spread = c.spreadBand(b, p)
		}
		return
	}
	g.b.pixels = &pixelGather{p, c.in}
	if p.step != [3]int{1, 1, 1} {
		g.fin.spread = func(j int) runs {
			x, r := j%p.grid[2], j/p.grid[2]
			return runs{off: c.pixel(p, r/p.grid[1], r%p.grid[1], x), n: p.grid[2] - x, stride: p.step[2], count: 1, pitch: p.grid[2] - x}
		}
	}
}

// spreadBand places the columns of a band's blocks in the output.
func (c *convolution) spreadBand(b *band, p phase) func(j int) runs {
	whole := b.run(b.height, b.width)
	return func(j int) runs { // j is the first column of a block, or of one of its rows
		z, y, x, height, width := b.block(j / whole)
		row := j % whole / b.pitch
		return runs{c.pixel(p, z, y+row, x), width, p.step[2], height - row, p.step[1] * c.out[2], b.pitch}
	}
}

// pixel is where the result at a place in a phase's grid is in the output.
func (c *convolution) pixel(p phase, z, y, x int) int {
	return ((z*p.step[0]+p.at[0])*c.out[1]+y*p.step[1]+p.at[1])*c.out[2] + x*p.step[2] + p.at[2]
}

// gatherWeights copies the taps of a phase of transposed weights (input channel, output channel, tap).
func (c *convolution) gatherWeights(p phase) func(dst []float32, src vec, base, l0, lanes, k0, depth int) {
	// groups follow each other along input channels, which makes the group's offset the same as for ordinary weights
	whole := volume(c.kernel)
	return func(dst []float32, src vec, base, l0, lanes, k0, depth int) {
		for l := range lanes {
			for i := range depth {
				ci, t := (k0+i)/len(p.taps), p.taps[(k0+i)%len(p.taps)]
				dst[l*depth+i] = src.at(base + (ci*c.co+l0+l)*whole + t.pos)
			}
		}
	}
}

// pixelGather makes rows of the matrix of pixels: for each tap of each channel, what the pixels see there.
type pixelGather struct {
	phase
	in [3]int
}

// row is row k for pixels from l0 on.
func (g *pixelGather) row(dst []float32, src vec, base, k, l0 int) {
	off := g.taps[k%len(g.taps)].off
	base += k / len(g.taps) * volume(g.in)
	x, y, z := l0%g.grid[2], l0/g.grid[2]%g.grid[1], l0/g.grid[2]/g.grid[1]
	sx := g.stride[2]
	for len(dst) > 0 {
		n := min(len(dst), g.grid[2]-x)
		iz, iy := z*g.stride[0]+off[0], y*g.stride[1]+off[1]
		if uint(iz) >= uint(g.in[0]) || uint(iy) >= uint(g.in[1]) {
			clear(dst[:n])
		} else {
			at := base + (iz*g.in[1]+iy)*g.in[2]
			lo, hi := inside(x*sx+off[2], sx, n, g.in[2])
			clear(dst[:lo])
			if lo < hi {
				src.load(dst[lo:hi], at+(x+lo)*sx+off[2], sx)
			}
			clear(dst[hi:n])
		}
		dst, x = dst[n:], 0
		if y++; y == g.grid[1] {
			y, z = 0, z+1
		}
	}
}

// inside is the range of i in [0,n) for which first+i·step lies in [0,length).
func inside(first, step, n, length int) (lo, hi int) {
	if first < 0 {
		lo = min(n, ceilDiv(-first, step))
	}
	if last := length - 1 - first; last < 0 {
		hi = 0
	} else {
		hi = min(n, last/step+1)
	}
	return lo, max(lo, hi)
}
