package kernels

import "npu/internal/tensor"

// winograd computes a convolution of 3×3 windows tile by tile (winograd_plain.go and winograd4_plain.go say how), block
// after block of tiles. A block's inputs are transformed once to as many factors as the form has terms; then, for a group
// of output channels at a time, the products are summed over the input channels and transformed back. What stands between
// the steps stays in the caches. No result depends on how blocks or channels are shared out.
//
// Results are nearly as exact as those of the plain sum (TestWinograd_exact). An infinity or NaN in the input may reach
// all results of its tiles.
type winograd struct {
	*convolution
	winogradForm
	fin finish

	high, wide           int // tiles of a plane
	height, width        int // tiles of a block
	down, across, blocks int // blocks of a plane, and of all images
	columns              int // of the products of a plane, in whole vectors of tiles
	group                int // output channels that are computed together

	pitch      int // from a row of a block's input to the next
	ld, factor int // factors: from a channel to the next, from a term to the next
	term       int // products: from a term to the next; channels are ld apart
	slots      int // blocks that may be in work at once
	// scratch memory: a block's factors, and a thread's rows of input or its products and rows of results
	slotFloats, rowFloats, partFloats int

	// wholes, someInputs and someResults, bound once, so that a run allocates nothing; and the least of them that is worth a
	// second thread
	steps  [3]func(x *Exec, part, lo, hi int)
	grains [3]int
}

// winogradForm is the size of the tiles: side results and span inputs along a dimension.
type winogradForm struct{ side, span, terms int }

const (
	winogradRows = 8       // output channels whose packed filters are together
	mostTiles    = 112     // in a block
	fewTiles     = 32      // in a block whose factors would be more than half of the layer's elements
	slotsMost    = 1 << 19 // elements of the factors of all blocks that are in work
)

// winograd is nil where the plain sum is the better way.
func (c *convolution) winograd(s *Spec, k *Kernel, fin finish) *Kernel {
	ones := [3]int{1, 1, 1}
	if s.Attrs.Int("winograd", 0) == 0 || s.In[1].Const == nil || c.dtype != tensor.Float32 || c.rank != 2 || c.groups != 1 ||
		c.kernel != [3]int{1, 3, 3} || c.stride != ones || c.dilation != ones || c.n == 0 || volume(c.out) == 0 {
		return nil
	}
	w := c.bestWinograd()
	if w == nil {
		return nil
	}
	w.fin = fin
	w.group = min(32, roundUp(ceilDiv(c.co, blocksWanted/2), winogradRows))
	w.pitch = roundUp(w.side*roundUp(w.width, spill)+2, spill)
	w.ld = roundUp((w.height-1)*w.width+roundUp(w.width, spill), spill)
	if w.ld/spill%4 == 0 {
		w.ld += spill // rows a power of two apart would share few lines of the cache, and so would terms
	}
	w.factor, w.term = roundUp(c.ci, 2)*w.ld+spill, w.group*w.ld+spill
	w.slotFloats = w.terms * w.factor
	w.slots = max(1, min(4, w.blocks, slotsMost/w.slotFloats))
	tiles := w.height * w.width
	w.rowFloats = (w.side*w.height+2)*w.pitch + spill + w.between()
	w.partFloats = max(w.rowFloats, w.terms*w.term+w.side*w.span*w.ld+w.side*w.side*tiles)
	w.steps = [3]func(x *Exec, part, lo, hi int){w.wholes, w.someInputs, w.someResults}
	for i, macs := range []int{w.terms * w.ci * w.co * tiles, 8 * w.terms * tiles, w.terms * w.ci * w.group * tiles} {
		w.grains[i] = ceilDiv(grainMACs, macs) // to make a factor costs what about eight multiplications do
	}
	own := max(min(maxParts, c.ci/w.grains[1])*w.rowFloats, min(maxParts, max(w.slots, ceilDiv(c.co, w.group)))*w.partFloats)
	k.Workspace = 4 * (w.slots*w.slotFloats + own)
	k.Weights = append(k.Weights, Weight{Input: 1, Bytes: 4 * w.terms * c.ci * roundUp(c.co, winogradRows), Pack: w.pack})
	return s.guard(k, func(x *Exec) error { w.run(x); return nil })
}

// bestWinograd is the form that suits a convolution: none for few channels, and where most of the columns of the products
// would be for nothing. Larger tiles have four times the filters, which is too much where the planes are small.
func (c *convolution) bestWinograd() *winograd {
	if c.ci < 8 || c.co < 16 || c.ci*c.co < 256 {
		return nil
	}
	w, large := c.tiled(winogradForm{winogradTile, winogradSpan, winogradTerms}), c.tiled(winogradForm{wideTile, wideSpan, wideTerms})
	if wideTerms*c.ci*c.co <= 6*(c.ci+c.co)*volume(c.out) && 9*wideTerms*large.columns <= 8*winogradTerms*w.columns {
		w = large
	}
	if w.terms*w.columns > 7*volume(c.out) {
		return nil
	}
	return w
}

// tiled cuts a plane into blocks of whole rows of tiles, or of parts of a row, so that few columns of the products are
// for nothing.
func (c *convolution) tiled(f winogradForm) *winograd {
	w := &winograd{convolution: c, winogradForm: f}
	w.high, w.wide = ceilDiv(w.out[1], w.side), ceilDiv(w.out[2], w.side)
	most := max(fewTiles, min(mostTiles, (c.ci+c.co)*volume(c.out)/(2*w.terms*c.ci)))
	w.across = ceilDiv(w.wide, most)
	w.width, w.height = ceilDiv(w.wide, w.across), 1
	vectors := w.high * w.across * ceilDiv(w.width, spill)
	for h := 2; w.across == 1 && h <= min(w.high, most/w.width); h++ {
		n, rest := w.high/h*ceilDiv(h*w.width, spill), w.high%h
		if rest > 0 && 4*rest < 3*h {
			continue // blocks of much the same size are shared out best
		}
		if n += ceilDiv(rest*w.width, spill); n <= vectors {
			vectors, w.height = n, h
		}
	}
	w.down, w.columns = ceilDiv(w.high, w.height), vectors*spill
	w.blocks = w.n * w.down * w.across
	return w
}

// between is the memory for rows between the two steps of a transform in two steps.
func (w *winograd) between() int {
	if w.side == winogradTile {
		return 0
	}
	return w.span*w.height*w.pitch + spill
}

// place is a block's image, its first tile, and its size in tiles.
func (w *winograd) place(b int) (image, y, x, height, width int) {
	x = b % w.across * w.width
	y = b / w.across % w.down * w.height
	return b / (w.across * w.down), y, x, min(w.height, w.high-y), min(w.width, w.wide-x)
}

// pack transforms the filters: for each eight output channels and each term a panel, input channel after input channel.
func (w *winograd) pack(dst, src []byte) {
	d, g := tensor.View[float32](dst), tensor.View[float32](src)
	if w.co%winogradRows != 0 {
		clear(d)
	}
	matrix := winogradFilter()
	if w.side == wideTile {
		matrix = wideFilter()
	}
	var u [wideTerms]float32
	for o := 0; o < w.co; o += winogradRows {
		panels := d[o*w.terms*w.ci:]
		for i := range w.ci {
			for r := range min(winogradRows, w.co-o) {
				filterTerms(u[:w.terms], g[((o+r)*w.ci+i)*9:][:9], matrix)
				for p, x := range u[:w.terms] {
					panels[(p*w.ci+i)*winogradRows+r] = x
				}
			}
		}
	}
}
