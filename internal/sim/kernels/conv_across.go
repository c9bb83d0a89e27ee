package kernels

import "npu/internal/tensor"

// across computes a convolution whose planes are small, or whose rows end within a vector, as a product with pixels as
// rows and output channels as columns: every vector is full then. Units are some panels of channels of a block of
// pixels; a block is a part of a plane, read where it is or from a band.
type across struct {
	*convolution
	mk    acrossMicro
	fin   finish
	k     int
	slice int // depth of a slice of the sum
	fill  int // depth that is read, or filled in, for all panels before the next, in whole slices

	pixels, weights side
	offsets         []int // of the channels where pixels are read where they are
	block           int   // pixels of a block
	blocks          int   // in a plane
	whole, last     []pixelRun

	panels     int // of channels
	each, most int // panels of a unit, and in scratch memory
	chunks     int // units of a block
	floats     int // scratch memory of a thread
}

// pixelRun are n adjacent pixels, a tile: pixel is the first one's number in the block, at its offset.
type pixelRun struct{ at, pixel, n int }

// across is nil where the form makes no sense, or the result needs more than an ending. Its sums are those of the ordinary
// form, bit for bit.
func (c *convolution) across(s *Spec, k *Kernel, fin finish) *Kernel {
	p := c.wholePhase()
	a := &across{convolution: c, mk: newAcross(), fin: fin, k: c.ci * volume(c.kernel)}
	plane := volume(c.out)
	full := 4*c.co >= 3*roundUp(c.co, spill)
	if c.co == 1 || !full || !fin.straight() || a.k == 0 || plane == 0 || c.n == 0 {
		return nil
	}
	a.slice = slice(plane, a.k)
	a.pixels = side{at: loc{inOperand, 0}, dtype: c.dtype, channels: c.ci, plane: volume(c.in)}
	a.weights = side{at: loc{inOperand, 1}, dtype: c.dtype, ls: a.k, ks: 1}
	number, groups := make([]int, c.n*c.groups), make([]int, c.groups)
	for i := range number {
		number[i] = i % c.groups
		groups[i%c.groups] = i % c.groups * c.co * a.k
		a.pixels.base = append(a.pixels.base, i*c.ci*volume(c.in))
		a.weights.base = append(a.weights.base, groups[i%c.groups])
	}
	if !a.cut(p) {
		return nil
	}
	a.panels = ceilDiv(c.co, a.mk.cols)
	a.share()
	if s.In[1].Const != nil {
		pk := a.weights.prepack(a.mk.cols, c.co, a.k, groups, number, 0)
		pk.tight = true
		k.Weights = append(k.Weights, weight(1, pk))
	} else {
		a.floats += a.fill * a.mk.cols
	}
	units := c.n * c.groups * a.blocks * a.chunks
	grain := ceilDiv(grainMACs, a.block*a.each*a.mk.cols*a.k)
	k.Workspace = 4 * a.floats * min(maxParts, units)
	part := a.units
	return s.guard(k, func(x *Exec) error {
		grain := grain
		if n := x.Workers.threads(); a.pixels.band != nil && a.chunks > 1 {
			grain = max(grain, units/n) // each thread fills its band once
		}
		x.each(units, grain, part)
		return nil
	})
}

// cut lays out the blocks of a plane: an even number of about the same size, so that two threads get equal shares.
func (a *across) cut(p phase) bool {
	const (
		most   = 448      // pixels of a block
		pixels = 96 << 10 // elements in the second-level cache, and
		sums   = 96 << 10 // of all channels of a block
	)
	plane := volume(a.out)
	if a.dtype == tensor.Float32 && volume(a.kernel) == 1 && a.stride == [3]int{1, 1, 1} && a.in == a.out && a.lo == [3]int{} {
		if plane <= 256 && a.ci < 48 || plane > 256 && (2*a.co > a.ci || a.co%(2*spill) != 0 || a.ci < 64) {
			return false // the product with pixels as columns turns no results
		}
		for i := range a.ci {
			a.offsets = append(a.offsets, i*plane)
		}
		a.block = roundUp(ceilDiv(plane, even(ceilDiv(plane, most))), a.mk.rows)
		a.blocks = ceilDiv(plane, a.block)
		a.whole, a.last = a.runs(1, a.block, a.block), a.runs(1, plane-(a.blocks-1)*a.block, 0)
		a.fill = roundUp(max(1, min(a.k, pixels/a.block)), a.slice)
		return true
	}
	rows := ceilDiv(a.out[1], even(max(ceilDiv(plane, most), plane*a.co/sums)))
	b := newBand(a.in, p, rows*(a.out[2]+a.extent(2)))
	if b == nil || b.across > 1 || b.grid[0] > 1 {
		return false
	}
	a.pixels.band = b
	a.block, a.blocks = b.height*b.width, b.blocks
	a.whole, a.last = a.runs(b.height, b.width, b.pitch), a.runs(b.grid[1]-(b.down-1)*b.height, b.width, b.pitch)
	a.fill = roundUp(max(1, min(a.k, pixels/b.channel*len(b.tapAt))), a.slice)
	a.pixels.layout(0, 0, a.fill)
	a.floats = a.pixels.floats
	return true
}

// even rounds a number above one up.
func even(n int) int {
	if n <= 1 {
		return 1
	}
	return roundUp(n, 2)
}

// runs cuts rows of width pixels into tiles of about the same size.
func (a *across) runs(rows, width, pitch int) []pixelRun {
	if pitch == width {
		rows, width = 1, rows*width
	}
	var out []pixelRun
	parts := ceilDiv(width, a.mk.rows)
	for y := range rows {
		for i := range parts {
			lo, hi := chunk(width, parts, i)
			out = append(out, pixelRun{y*pitch + lo, y*width + lo, hi - lo})
		}
	}
	return out
}

// share says how panels become units, and what scratch memory sums need.
func (a *across) share() {
	const floats = 96 << 10
	size := roundUp(a.block, spill) * a.mk.cols
	a.most = max(1, min(a.panels, floats/size))
	a.each = a.most
	if whole := a.n * a.groups * a.blocks; whole < blocksWanted {
		a.each = max(1, min(a.each, a.panels*whole/blocksWanted))
	}
	a.most -= a.most % a.each
	a.chunks = ceilDiv(a.panels, a.each)
	a.floats += a.most * size
}

// units computes units [lo,hi) with the scratch memory of a part.
func (a *across) units(x *Exec, part, lo, hi int) {
	mem := tensor.View[float32](x.Workspace[4*a.floats*part:])[:a.floats]
	pixels := operand{side: &a.pixels, src: newVec(a.dtype, x.In[0]), scratch: mem}
	mem = mem[a.pixels.floats:]
	size := roundUp(a.block, spill) * a.mk.cols
	c := mem[:a.most*size]
	weights := operand{side: &a.weights, src: newVec(a.weights.dtype, x.In[1]), scratch: mem[len(c):]}
	fin := a.fin.open(x)
	for i := lo; i < hi; {
		l, block := i%a.chunks, i/a.chunks%a.blocks
		batch := i / (a.chunks * a.blocks)
		count := min(hi-i, a.chunks-l, a.most/a.each)
		first, end := l*a.each, min((l+count)*a.each, a.panels)
		for k0 := 0; k0 < a.k; k0 += a.fill {
			a.sum(&pixels, &weights, batch, block, first, end, k0, c, size)
		}
		for p := first; p < end; p++ {
			a.finish(&fin, batch, block, p, c[(p-first)*size:])
		}
		i += count
	}
}

// sum adds the products of k from k0 on, as deep as is filled at a time, for panels [first,end).
func (a *across) sum(pixels, weights *operand, batch, block, first, end, k0 int, c []float32, size int) {
	depth := min(a.fill, a.k-k0)
	var src []float32
	var offsets []int
	if a.pixels.band == nil {
		src, offsets = pixels.src.f[a.pixels.base[batch]+block*a.block:], a.offsets[k0:]
	} else {
		src, offsets, _ = pixels.cols(batch, block*a.pixels.band.run(a.pixels.band.height, a.pixels.band.width), 0, k0, depth, 0, a.k, 0)
	}
	runs := a.whole
	if block == a.blocks-1 {
		runs = a.last
	}
	cols := a.mk.cols
	w, next := a.panel(weights, batch, first, k0, depth), []float32(nil)
	for p := first; p < end; p++ {
		if next = nil; p+1 < end && weights.packed {
			next = a.panel(weights, batch, p+1, k0, depth)
		}
		width := min(cols, a.co-p*cols)
		for k1 := 0; k1 < depth; k1 += a.slice {
			d := min(a.slice, depth-k1)
			ahead := next
			if k1+d < depth {
				ahead = w[(k1+d)*width:]
			}
			tiles := c[(p-first)*size:]
			for t, r := range runs {
				soon := w
				if at := t * d * 8; at < min(a.slice*width, len(ahead)) {
					soon = ahead[at:]
				}
				a.mk.tile(r.n, width, d, src[r.at:], offsets[k1:], w[k1*width:], width, tiles[r.pixel*cols:], k0+k1 > 0, soon)
			}
		}
		if w = next; w == nil && p+1 < end {
			w = a.panel(weights, batch, p+1, k0, depth)
		}
	}
}

// panel is depth k from k0 on of the weights of a panel, whose rows are as long as it has channels.
func (a *across) panel(weights *operand, batch, p, k0, depth int) []float32 {
	first, base := p*a.mk.cols, a.weights.base[batch]
	cols := min(a.mk.cols, a.co-first)
	if weights.packed {
		return weights.src.f[a.weights.start+(base*a.co+first)*a.k+k0*cols:][:depth*cols]
	}
	copyRows(weights.scratch, cols, weights.src, base+first*a.k+k0, depth, 1, cols, a.k)
	return weights.scratch[:depth*cols]
}

// finish writes a panel of a block to the output.
func (a *across) finish(f *finisher, batch, block, p int, c []float32) {
	channel := p * a.mk.cols
	rows, n := min(a.mk.cols, a.co-channel), min(a.block, volume(a.out)-block*a.block)
	off := f.outBase[batch] + channel*f.ldo + block*a.block
	a.mk.turn(f.dst.f[off:], f.ldo, c, rows, n, f.ending(batch, channel, 0, off, false))
	if _, _, limits := f.act.clamp(); !limits {
		for i := range rows {
			row := f.dst.f[off+i*f.ldo:][:n]
			f.act.apply(row, row)
		}
	}
}
