package kernels

import "npu/internal/tensor"

// winograd computes a convolution of 3×3 windows tile by tile (winograd_plain.go says how), block after block of tiles.
// A block's inputs are transformed once to the sixteen factors; then, for a group of output channels at a time, the
// sixteen products are summed over the input channels and transformed back. What stands between the steps stays in the
// caches. No result depends on how blocks or channels are shared out.
//
// Results are nearly as exact as those of the plain sum (TestWinograd_exact). An infinity or NaN in the input may reach
// all four results of its tiles.
type winograd struct {
	*convolution
	fin finish

	high, wide           int // tiles of a plane
	height, width        int // tiles of a block
	down, across, blocks int // blocks of a plane, and of all images
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

const (
	winogradRows = 8       // output channels whose packed filters are together
	mostTiles    = 112     // in a block
	slotsMost    = 1 << 19 // elements of the factors of all blocks that are in work
)

// winograd is nil where the plain sum is the better way.
func (c *convolution) winograd(s *Spec, k *Kernel, fin finish) *Kernel {
	ones := [3]int{1, 1, 1}
	if s.Attrs.Int("winograd", 0) == 0 || c.dtype != tensor.Float32 || c.rank != 2 || c.groups != 1 || c.kernel != [3]int{1, 3, 3} || c.stride != ones ||
		c.dilation != ones || c.n == 0 || volume(c.out) == 0 {
		return nil
	}
	w := &winograd{convolution: c, fin: fin}
	w.tile()
	if !w.suits(s) {
		return nil
	}
	w.group = min(32, roundUp(ceilDiv(c.co, blocksWanted/2), winogradRows))
	w.pitch = 2*roundUp(w.width, spill) + 2
	w.ld = roundUp((w.height-1)*w.width+roundUp(w.width, spill), spill)
	if w.ld/spill%2 == 0 {
		w.ld += spill // rows and terms a power of two apart would share few lines of the cache
	}
	w.factor, w.term = roundUp(c.ci, 2)*w.ld+spill, w.group*w.ld+spill // an odd number of vectors, as well
	w.slotFloats = winogradTerms * w.factor
	w.slots = max(1, min(4, w.blocks, slotsMost/w.slotFloats))
	w.rowFloats = (2*w.height+2)*w.pitch + spill
	w.partFloats = max(w.rowFloats, winogradTerms*w.term+4*w.height*w.width)
	w.steps = [3]func(x *Exec, part, lo, hi int){w.wholes, w.someInputs, w.someResults}
	tiles := w.height * w.width
	for i, macs := range []int{winogradTerms * w.ci * w.co * tiles, 128 * tiles, winogradTerms * w.ci * w.group * tiles} {
		w.grains[i] = ceilDiv(grainMACs, macs) // a transform costs what about 128 multiplications do
	}
	own := max(min(maxParts, c.ci/w.grains[1])*w.rowFloats, min(maxParts, max(w.slots, ceilDiv(c.co, w.group)))*w.partFloats)
	k.Workspace = 4 * (w.slots*w.slotFloats + own)
	k.Weights = append(k.Weights, Weight{Input: 1, Bytes: 4 * winogradTerms * c.ci * roundUp(c.co, winogradRows), Pack: w.pack})
	return s.guard(k, func(x *Exec) error { w.run(x); return nil })
}

// suits says where the transforms cost less than they save: not for few channels, and not where most of the
// columns of the products, which are whole vectors of tiles, would be for nothing.
func (w *winograd) suits(s *Spec) bool {
	columns := w.down * w.across * roundUp(w.height*w.width, spill)
	return s.In[1].Const != nil && w.ci >= 8 && w.co >= 16 && w.ci*w.co >= 256 && winogradTerms*columns <= 7*volume(w.out)
}

// tile cuts a plane into blocks of whole rows of tiles, or of parts of a row, so that few columns of the products are
// for nothing.
func (w *winograd) tile() {
	w.high, w.wide = ceilDiv(w.out[1], winogradTile), ceilDiv(w.out[2], winogradTile)
	w.across = ceilDiv(w.wide, mostTiles)
	w.width, w.height = ceilDiv(w.wide, w.across), 1
	if w.across == 1 {
		least := w.high * w.width
		for h := 1; h <= min(w.high, mostTiles/w.width); h++ {
			vectors, rest := w.high/h*ceilDiv(h*w.width, spill), w.high%h
			if rest > 0 && 4*rest < 3*h {
				continue // blocks of much the same size are shared out best
			}
			if vectors += ceilDiv(rest*w.width, spill); vectors <= least {
				least, w.height = vectors, h
			}
		}
	}
	w.down = ceilDiv(w.high, w.height)
	w.blocks = w.n * w.down * w.across
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
	var u [winogradTerms]float32
	for o := 0; o < w.co; o += winogradRows {
		panels := d[o*winogradTerms*w.ci:]
		for i := range w.ci {
			for r := range min(winogradRows, w.co-o) {
				winogradFilter(&u, g[((o+r)*w.ci+i)*9:][:9])
				for p, x := range u {
					panels[(p*w.ci+i)*winogradRows+r] = x
				}
			}
		}
	}
}
