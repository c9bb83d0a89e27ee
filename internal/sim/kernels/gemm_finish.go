package kernels

import (
	"npu/internal/tensor"
)

// finish is what happens to a block of a product before it is stored:
// out = act(alpha·C + beta·bias + z), rounded once to the type of out.
type finish struct {
	out     loc
	outType tensor.DType
	outBase []int // element offset of each matrix of the batch
	ldo     int   // elements from a row to the next
	// spread, where columns are not adjacent in out, says where those from column j on go.
	spread func(j int) runs

	// turned: columns are rows of out; element (i,j) of a matrix is at i + j·ldo.
	turned bool

	alpha, beta float32
	bias        loc
	biasType    tensor.DType
	biasBase    []int // nil: zeros
	brs, bcs    int   // strides of the bias along rows and columns, 0 where it is broadcast

	z     loc // same layout as out
	zType tensor.DType
	act   activation
}

// runs are columns of a block that go to the output in runs of n, stride apart, each step further than the one before
// and first at off from the row's start. From run to run it is pitch columns; those behind the n are for nothing.
type runs struct {
	off, n, stride int
	count          int
	step, pitch    int
}

// finisher is a finish during a run.
type finisher struct {
	*finish
	dst, b, r vec
}

func (f *finish) open(x *Exec) finisher {
	return finisher{f, newVec(f.outType, f.out.mem(x)), newVec(f.biasType, f.bias.mem(x)), newVec(f.zType, f.z.mem(x))}
}

// straight says that the tiles of a product can go to the output, finished by their ending and the activation.
func (f *finish) straight() bool {
	bias := f.bias.kind == nowhere || f.biasType == tensor.Float32 && f.beta == 1 && f.brs+f.bcs == 1
	return f.outType == tensor.Float32 && f.spread == nil && !f.turned && f.alpha == 1 && bias && (f.z.kind == nowhere || f.zType == tensor.Float32)
}

// ending is what a straight finish does to the tile at (i,j) of a matrix and at element off of the output.
func (f *finisher) ending(batch, i, j, off int, add bool) ending {
	e := ending{add: add}
	if f.bias.kind != nowhere {
		at := i*f.brs + j*f.bcs
		if f.biasBase != nil {
			at += f.biasBase[batch]
		}
		e.bias, e.across = f.b.f[at:], f.bcs == 1
	}
	if f.z.kind != nowhere {
		e.z = f.r.f[off:]
	}
	e.lo, e.hi, e.limits = f.act.clamp()
	e.limits = e.limits && f.act.kind != actNone
	return e
}

// endRow is the ending of n adjacent elements that are stored already.
func (f *finisher) endRow(batch, i, j, off, n int) {
	e, row := f.ending(batch, i, j, off, true), f.dst.f[off:][:n]
	switch {
	case e.bias != nil && e.across:
		addVec(row, row, e.bias)
	case e.bias != nil:
		biasClamp(row, row, e.bias[0], inf(-1), inf(1))
	}
	if e.z != nil {
		addVec(row, row, e.z)
	}
	if e.limits {
		biasClamp(row, row, negativeZero(), e.lo, e.hi)
	}
}

// block finishes rows × cols of c, whose rows lie ldc apart; (i0,j0) is its place in the matrix.
func (f *finisher) block(c []float32, ldc, batch, i0, rows, j0, cols int, tmp []float32) {
	if f.turned {
		f.turnedBlock(c, ldc, batch, i0, rows, j0, cols, tmp)
		return
	}
	base := f.outBase[batch]
	bias := 0
	if f.biasBase != nil {
		bias = f.biasBase[batch]
	}
	lo, hi, clamps := f.act.clamp()
	once := f.dst.f != nil && clamps && f.bcs == 0 && f.z.kind == nowhere // one pass does it all
	for i := range rows {
		row := c[i*ldc:][:cols]
		if f.alpha != 1 {
			scaleShift(row, row, f.alpha, negativeZero())
		}
		off := base + (i0+i)*f.ldo
		add := negativeZero()
		if once && f.bias.kind != nowhere {
			add = f.beta * f.b.at(bias+(i0+i)*f.brs)
		}
		switch {
		case once && f.spread == nil:
			biasClamp(f.dst.f[off+j0:][:cols], row, add, lo, hi)
			continue
		case once:
			f.spreadRow(row, off, j0, add, lo, hi)
			continue
		case f.bias.kind != nowhere:
			f.addBias(row, bias+(i0+i)*f.brs+j0*f.bcs, tmp)
		}
		if f.spread != nil {
			f.addSpread(row, off, j0, tmp)
			f.act.apply(row, row)
			f.spreadRow(row, off, j0, negativeZero(), inf(-1), inf(1))
			continue
		}
		f.addZ(row, off+j0, 1, tmp)
		if f.dst.f != nil {
			f.act.apply(f.dst.f[off+j0:][:cols], row)
			continue
		}
		f.act.apply(row, row)
		f.dst.store(off+j0, 1, row)
	}
}

// turnedBlock is block for a turned output. It has no alpha and no beta, and a bias along columns.
func (f *finisher) turnedBlock(c []float32, ldc, batch, i0, rows, j0, cols int, tmp []float32) {
	base := f.outBase[batch] + i0 + j0*f.ldo
	for i := range rows {
		row := c[i*ldc:][:cols]
		if f.bias.kind != nowhere {
			f.addBias(row, f.biasBase[batch]+j0, tmp)
		}
		f.addZ(row, base+i, f.ldo, tmp)
		f.act.apply(row, row)
		if f.dst.f == nil {
			f.dst.store(base+i, f.ldo, row)
		}
	}
	if f.dst.f != nil {
		turn(f.dst.f[base:], f.ldo, c, ldc, rows, cols)
	}
}

// spreadRow stores min(max(row+add, lo), hi), from column j on, where its columns go.
func (f *finisher) spreadRow(row []float32, off, j int, add, lo, hi float32) {
	for at := 0; at < len(row); {
		r := f.spread(j + at)
		to := off + r.off
		if whole := min(r.count, (len(row)-at+r.pitch-r.n)/r.pitch); f.dst.f != nil && r.stride == 1 && whole > 0 {
			clampRows(f.dst.f[to:], r.step, row[at:], r.pitch, whole, r.n, add, lo, hi)
			at += whole * r.pitch
			continue
		}
		for i := 0; i < r.count && at < len(row); i++ {
			run := row[at:min(at+r.n, len(row))]
			biasClamp(run, run, add, lo, hi)
			f.dst.store(to+i*r.step, r.stride, run)
			at += r.pitch
		}
	}
}

// addSpread adds the residual to a row of columns that go elsewhere.
func (f *finisher) addSpread(row []float32, off, j int, tmp []float32) {
	for at := 0; f.z.kind != nowhere && at < len(row); {
		r := f.spread(j + at)
		for i := 0; i < r.count && at < len(row); i++ {
			f.addZ(row[at:min(at+r.n, len(row))], off+r.off+i*r.step, r.stride, tmp)
			at += r.pitch
		}
	}
}

func (f *finisher) addBias(row []float32, off int, tmp []float32) {
	if f.bcs == 0 {
		biasClamp(row, row, f.beta*f.b.at(off), inf(-1), inf(1))
		return
	}
	v := tmp[:len(row)]
	if f.bcs == 1 {
		v = f.b.run(tmp, off, len(row))
	} else {
		f.b.load(v, off, f.bcs)
	}
	if f.beta != 1 {
		scaleShift(tmp[:len(row)], v, f.beta, negativeZero())
		v = tmp[:len(row)]
	}
	addVec(row, row, v)
}

// addZ adds the residual that belongs to a run of results.
func (f *finisher) addZ(run []float32, off, stride int, tmp []float32) {
	if f.z.kind == nowhere {
		return
	}
	z := tmp[:len(run)]
	if stride == 1 {
		z = f.r.run(tmp, off, len(run))
	} else {
		f.r.load(z, off, stride)
	}
	addVec(run, run, z)
}
