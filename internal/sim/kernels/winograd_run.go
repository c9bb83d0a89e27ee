package kernels

import "npu/internal/tensor"

// run shares out whole blocks as far as they give the threads equal shares, and the channels of each of the rest.
func (w *winograd) run(x *Exec) {
	n, whole := x.Workers.threads(), 0
	if n <= w.slots {
		whole = w.blocks / n * n
		x.each(whole, w.grains[0], w.steps[0])
	}
	for x.at = whole; x.at < w.blocks; x.at++ {
		x.each(w.ci, w.grains[1], w.steps[1])
		x.each(ceilDiv(w.co, w.group), w.grains[2], w.steps[2])
	}
}

// wholes computes blocks [lo,hi), someInputs and someResults input channels and groups of output channels of one.
func (w *winograd) wholes(x *Exec, part, lo, hi int) {
	for b := lo; b < hi; b++ {
		factors, own := w.memory(x, part, part*w.partFloats)
		w.inputs(x, factors, own, b, 0, w.ci)
		w.results(x, factors, own, b, 0, w.co)
	}
}

func (w *winograd) someInputs(x *Exec, part, lo, hi int) {
	factors, own := w.memory(x, 0, part*w.rowFloats)
	w.inputs(x, factors, own, x.at, lo, hi)
}

func (w *winograd) someResults(x *Exec, part, lo, hi int) {
	factors, own := w.memory(x, 0, part*w.partFloats)
	w.results(x, factors, own, x.at, lo*w.group, min(hi*w.group, w.co))
}

// memory is the scratch memory for the factors of a block, and that of a thread, which begins at an offset.
func (w *winograd) memory(x *Exec, slot, own int) (factors, rest []float32) {
	all := tensor.View[float32](x.Workspace)
	return all[slot*w.slotFloats:][:w.slotFloats], all[w.slots*w.slotFloats+own:]
}

// inputs transforms input channels [lo,hi) of a block, each of which it copies first, with its padding.
func (w *winograd) inputs(x *Exec, factors, rows []float32, b, lo, hi int) {
	src := tensor.View[float32](x.In[0])
	image, ty, tx, height, width := w.place(b)
	y0, x0, down, across := w.side*ty-w.lo[1], w.side*tx-w.lo[2], w.side*height+2, w.side*width+2
	top, bottom := inside(y0, 1, down, w.in[1])
	left, right := inside(x0, 1, across, w.in[2])
	if left == right {
		bottom = top
	}
	rows, between := rows[:w.rowFloats-w.between()], rows[w.rowFloats-w.between():]
	clear(rows[:top*w.pitch])
	for c := lo; c < hi; c++ {
		if top < bottom {
			at := ((image*w.ci+c)*w.in[1]+y0+top)*w.in[2] + x0 + left
			padRows(rows[top*w.pitch:], w.pitch, src[at:], w.in[2], 1, bottom-top, left, right-left, across-right, 0)
		}
		clear(rows[bottom*w.pitch : down*w.pitch])
		if to := factors[c*w.ld:]; w.side == winogradTile {
			winogradIn(to, w.factor, rows, w.pitch, height, width)
		} else {
			winogradInDown(between, w.pitch, rows, w.pitch, height, across)
			winogradInAlong(to, w.factor, between, w.pitch, height, width)
		}
	}
}

// results computes output channels [lo,hi) of a block.
func (w *winograd) results(x *Exec, factors, own []float32, b, lo, hi int) {
	products, rows := own[:w.terms*w.term], own[w.terms*w.term:]
	filters, fin := tensor.View[float32](x.In[1]), w.fin.open(x)
	for o := lo; o < hi; o += w.group {
		n := min(w.group, hi-o)
		w.multiply(filters[o*w.terms*w.ci:], factors, products, n, b)
		for i := range n {
			w.finish(&fin, products[i*w.ld:], rows, b, o+i)
		}
	}
}

// multiply computes the products of n output channels, rounded up to whole panels.
func (w *winograd) multiply(filters, factors, products []float32, n, b int) {
	_, _, _, height, width := w.place(b)
	for p := range w.terms {
		for i := 0; i < n; i += winogradRows {
			panel := filters[(i*w.terms+p*winogradRows)*w.ci:]
			panelTile(height*width, w.ci, panel, factors[p*w.factor:], w.ld, products[p*w.term+i*w.ld:], w.ld)
		}
	}
}

// finish transforms an output channel back. Limits are applied on the way; a residual and other activations take the
// way through rows.
func (w *winograd) finish(f *finisher, products, rows []float32, b, o int) {
	image, ty, tx, height, width := w.place(b)
	y, x := w.side*ty, w.side*tx
	down, across := min(w.side*height, w.out[1]-y), min(w.side*width, w.out[2]-x)
	off := f.outBase[image] + (o*w.out[1]+y)*w.out[2] + x
	bias := negativeZero()
	if f.bias.kind != nowhere {
		bias = f.b.at(o)
	}
	from, plane := products, w.term
	if w.side == wideTile {
		from, plane, rows = rows, w.ld, rows[w.side*w.span*w.ld:]
		winogradOutDown(from, plane, products, w.term, height*width)
	}
	back := func(dst []float32, step int, lo, hi float32) {
		if w.side == wideTile {
			winogradOutAlong(dst, step, from, plane, down, width, across, bias, lo, hi)
		} else {
			winogradOut(dst, step, from, plane, down, width, across, bias, lo, hi)
		}
	}
	if lo, hi, clamps := f.act.clamp(); clamps && f.z.kind == nowhere {
		back(f.dst.f[off:], w.out[2], lo, hi)
		return
	}
	back(rows, across, inf(-1), inf(1))
	if w.across == 1 {
		down, across = 1, down*across
	}
	for range down {
		row := rows[:across]
		if f.z.kind != nowhere {
			addVec(row, row, f.r.f[off:][:across])
		}
		f.act.apply(f.dst.f[off:][:across], row)
		rows, off = rows[across:], off+w.out[2]
	}
}
