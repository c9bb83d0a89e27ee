package kernels

// windowRows is how kernels go through float32 planes row by row of results, where windows lie one or two columns apart:
// a row is one pass over the taps of its windows, read where the input lies or, where they reach beyond it, from a copy
// with its padding.
type windowRows struct {
	*window
	pad            float32
	height, blocks int // rows of results of a block; blocks of a plane
	pitch          int // columns of a padded row
	inside         bool
	padded, direct []int // offsets of the taps
	floats         int   // scratch memory
}

// rowSlack is how many elements may be read behind the last one that is needed.
const rowSlack = 2 * spill

// newWindowRows is nil where the form does not fit.
func newWindowRows(w *window, pad float32) *windowRows {
	const most = 10 << 10 // elements of a padded block, so that it stays in the first-level cache
	high := w.extent(1)
	r := &windowRows{window: w, pad: pad, pitch: (w.out[2]-1)*w.stride[2] + w.extent(2)}
	if w.kernel[0] != 1 || w.in[0] != 1 || w.out[0] != 1 || w.lo[0]+w.hi[0] != 0 || w.stride[2] > 2 || volume(w.out) == 0 || volume(w.in) == 0 ||
		r.pitch > bandLimit || high > bandLimit || high*r.pitch > bandLimit || volume(w.kernel) > bandLimit {
		return nil
	}
	r.height = min(max(1, (most/r.pitch-high)/w.stride[1]+1), w.out[1])
	r.blocks = ceilDiv(w.out[1], r.height)
	r.floats = ((r.height-1)*w.stride[1]+high)*r.pitch + rowSlack
	r.inside = w.lo == [3]int{} && (w.out[1]-1)*w.stride[1]+high <= w.in[1] && r.pitch <= w.in[2]
	for y := range w.kernel[1] {
		for x := range w.kernel[2] {
			r.padded = append(r.padded, y*w.dilation[1]*r.pitch+x*w.dilation[2])
			r.direct = append(r.direct, y*w.dilation[1]*w.in[2]+x*w.dilation[2])
		}
	}
	return r
}

// block gives what results of a plane need from row y on: where the first one's window begins, how far it is to that of
// the next row, the offsets of the taps, and the number of rows of results.
func (r *windowRows) block(mem, in []float32, plane, y int) (src []float32, step int, taps []int, height int) {
	height = min(r.height, r.out[1]-y)
	rows := (height-1)*r.stride[1] + r.extent(1)
	if at := (plane*r.in[1] + y*r.stride[1]) * r.in[2]; r.inside && at+rows*r.in[2]+rowSlack <= len(in) {
		return in[at:], r.stride[1] * r.in[2], r.direct, height
	}
	r.fill(mem, in[plane*volume(r.in):][:volume(r.in)], y*r.stride[1]-r.lo[1], rows)
	return mem, r.stride[1] * r.pitch, r.padded, height
}

// fill copies rows of a plane from row first on, which may lie before it, with padding.
func (r *windowRows) fill(dst, plane []float32, first, rows int) {
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
