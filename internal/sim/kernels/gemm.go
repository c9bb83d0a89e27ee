package kernels

import (
	"math"

	"npu/internal/tensor"
)

// Every matrix product of this package (MatMul, Gemm, convolutions, recurrent layers) is a gemm: C = A·B for a batch
// of matrices, cut into blocks of C that threads compute on their own. A block takes packed panels of A and B, either
// from a weight that was packed at load or packed into scratch on the way, sums over K in slices of a fixed depth, and
// hands the finished block in float32 to the epilogue (finish). No element of C depends on how blocks are shared out.

const (
	// sliceDepth is how many k are summed before the sum goes into C, so that the panels stay in the cache. Like the
	// order (see order) it belongs to the result.
	sliceDepth = 256
	// grainMACs is the least work for a second thread.
	grainMACs = 1 << 18
	// blocksWanted is how many blocks a large product should have, so that threads get equal shares.
	blocksWanted = 8
)

// loc says where a kernel finds the memory of an operand.
type loc struct {
	kind locKind
	i    int // operand number, or byte offset in the workspace
}

type locKind uint8

const (
	nowhere locKind = iota
	inOperand
	outOperand
	inWorkspace
)

func (l loc) mem(x *Exec) []byte {
	switch l.kind {
	case inOperand:
		return x.In[l.i]
	case outOperand:
		return x.Out[l.i]
	case inWorkspace:
		return x.Workspace[l.i:]
	}
	return nil
}

// gemm is a compiled product. Set all up to fin, then call plan.
type gemm struct {
	mk      micro
	slice   int // the depth of a slice
	m, n, k int
	a, b    side
	fin     finish

	// C is shared out in units: a block of one dimension (short) by a part of the other (long), along which the
	// factor stays that has to be packed on the way. A thread computes adjacent units together, up to mc×nc.
	rowsLong   bool
	straight   bool // tiles go to the output at once, finished, without a block in between
	mc, nc, kc int
	ldc        int // from a row of a block to the next
	unit       int // rows or columns of a unit
	short      int // blocks of the short dimension
	long       int // units of the long dimension
	blocks     int // units in all
	// part of units, and of whole blocks; bound once, so that a run allocates nothing
	units, wholes func(x *Exec, part, lo, hi int)
	work          int // multiplications in a unit

	ws         int // scratch: byte offset in the workspace
	partFloats int // scratch of one thread
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
func roundUp(a, b int) int { return ceilDiv(a, b) * b }

// newGEMM starts a product with the kernel for its order.
func newGEMM(o order, m, n, k int) *gemm {
	return &gemm{mk: newMicro(o), slice: sliceDepth, m: m, n: n, k: k}
}

// plan chooses the blocks and gives the scratch memory its place from byte offset ws of the workspace on.
// It returns the end of the scratch memory.
func (g *gemm) plan(ws int) int {
	longest := 512     // rows or columns of a block along the long dimension
	tile := 48 << 10   // elements of C in a block, and
	panels := 32 << 10 // of the panels that are packed for a slice: both stay in the second-level cache
	g.kc = max(1, min(g.slice, g.k))
	g.rowsLong = !g.b.packed
	g.straight = g.mk.end != nil && g.k > 0 && g.fin.straight()
	if g.straight {
		tile = math.MaxInt // there is none
		panels *= 2
		if g.rowsLong {
			panels += panels / 2
			if g.a.packed || g.a.direct() {
				longest = max(longest, g.m)
			}
		}
	}
	long, lw, short, sw := g.n, g.mk.nr, g.m, g.mk.mr
	if g.rowsLong {
		long, lw, short, sw = short, sw, long, min(lw, spill)
	}
	most := min(roundUp(max(1, long), lw), roundUp(longest, lw))
	block := roundUp(max(1, min(tile/most, panels/g.kc)), sw)
	if b := g.b.band; b != nil {
		block, g.short = b.run(b.height, b.width), b.blocks
	} else {
		g.short = ceilDiv(short, block)
		if g.straight && g.short > 1 {
			g.short = roundUp(g.short, 2) // so that two threads get equal shares
		}
		block = roundUp(ceilDiv(max(1, short), max(1, g.short)), sw)
		g.short = ceilDiv(short, block)
		if !g.rowsLong && g.short == 1 && short > sw && uneven(long, lw) {
			block = roundUp(ceilDiv(short, 2), sw)
			g.short = 2
		}
	}
	batch := len(g.fin.outBase)
	parts := max(1, min(blocksWanted/max(1, batch*g.short), most/lw, most*block*g.k/grainMACs))
	g.unit = roundUp(ceilDiv(most, parts), lw)
	g.long = ceilDiv(long, g.unit)
	g.mc, g.nc = block, roundUp(most, g.unit)
	if g.rowsLong {
		g.mc, g.nc = g.nc, g.mc
	}
	g.ldc = roundUp(g.nc, spill)
	g.blocks, g.work = batch*g.short*g.long, g.unit*block*max(1, g.k)
	g.partFloats = max(g.mc, g.nc, g.kc)
	if !g.straight {
		g.partFloats += g.mc * g.ldc
	}
	if !g.a.packed && !g.a.direct() {
		g.partFloats += g.mc * g.kc
	}
	g.b.layout(g.mk.nr, g.nc, g.kc)
	g.partFloats += g.b.floats
	g.ws, g.units = ws, g.part
	g.wholes = func(x *Exec, part, lo, hi int) { g.part(x, part, lo*g.long, hi*g.long) }
	return ws + min(maxParts, g.blocks)*g.partFloats*4
}

// uneven says that two threads cannot get about equal shares of n lanes in panels of w.
func uneven(n, w int) bool {
	most := ceilDiv(ceilDiv(n, w), 2) * w
	return 9*most > 5*n
}

// run computes the product. Threads share out whole blocks of the short dimension where that gives them equal shares:
// the factor that is packed on the way is then packed once. Otherwise they share out units.
func (g *gemm) run(x *Exec) {
	if g.blocks == 0 {
		return
	}
	if whole, n := g.blocks/g.long, x.Workers.threads(); whole >= 2*n || whole%n == 0 {
		x.each(whole, ceilDiv(grainMACs, g.work*g.long), g.wholes)
		return
	}
	x.each(g.blocks, ceilDiv(grainMACs, g.work), g.units)
}

// part computes units [lo,hi) with the scratch memory of a part.
func (g *gemm) part(x *Exec, part, lo, hi int) {
	mem := tensor.View[float32](x.Workspace[g.ws+part*g.partFloats*4:])[:g.partFloats]
	cut := func(n int) []float32 {
		v := mem[:n]
		mem = mem[n:]
		return v
	}
	tmp := cut(max(g.mc, g.nc, g.kc))
	var c []float32
	if !g.straight {
		c = cut(g.mc * g.ldc)
	}
	a := operand{side: &g.a, src: newVec(g.a.dtype, g.a.at.mem(x))}
	b := operand{side: &g.b, src: newVec(g.b.dtype, g.b.at.mem(x)), scratch: cut(g.b.floats)}
	if !g.a.packed && !g.a.direct() {
		a.scratch = cut(g.mc * g.kc)
	}
	fin := g.fin.open(x)
	for i := lo; i < hi; {
		l, s := i%g.long, i/g.long%g.short
		batch := i / (g.long * g.short)
		most := g.nc
		if g.rowsLong {
			most = g.mc
		}
		count := min(hi-i, g.long-l, most/g.unit)
		m0, n0 := s*g.mc, l*g.unit
		rows, cols := min(g.mc, g.m-m0), min(count*g.unit, g.n-n0)
		if g.rowsLong {
			m0, n0 = l*g.unit, s*g.nc
			rows, cols = min(count*g.unit, g.m-m0), g.b.columns(s, min(g.nc, g.n-n0))
		}
		if g.straight {
			g.straightBlock(&a, &b, &fin, batch, m0, rows, n0, cols)
		} else {
			g.block(&a, &b, c, batch, m0, rows, n0, cols)
			fin.block(c, g.ldc, batch, m0, rows, n0, cols, tmp)
		}
		i += count
	}
}

// block computes rows × cols elements of C.
func (g *gemm) block(a, b *operand, c []float32, batch, m0, rows, n0, cols int) {
	mr, nr := g.mk.mr, g.mk.nr
	if g.k == 0 {
		clear(c)
	}
	for k0 := 0; k0 < g.k; k0 += g.kc {
		depth := min(g.kc, g.k-k0)
		ap, lda := a.rows(batch, m0, rows, k0, depth, g.m, g.k)
		bp, offsets, step := b.cols(batch, n0, cols, k0, depth, g.n, g.k, nr)
		if g.rowsLong { // the factor that was packed on the way stays in the cache
			for i := 0; i < rows; i += mr {
				g.mk.tile(min(mr, rows-i), cols, depth, ap[i*lda:], lda, bp, offsets, step, c[i*g.ldc:], g.ldc, k0 > 0)
			}
			continue
		}
		for j := 0; j < cols; j += nr {
			if g.mk.row != nil && rows == 1 && cols-j >= rowPanels*nr {
				g.mk.row(depth, ap, bp[j/nr*step:], offsets, step, c[j:], k0 > 0)
				j += (rowPanels - 1) * nr
				continue
			}
			for i := 0; i < rows; i += mr {
				g.mk.tile(min(mr, rows-i), min(nr, cols-j), depth, ap[i*lda:], lda, bp[j/nr*step:], offsets, step, c[i*g.ldc+j:], g.ldc, k0 > 0)
			}
		}
	}
}

// straightBlock computes rows × cols elements of the output.
func (g *gemm) straightBlock(a, b *operand, fin *finisher, batch, m0, rows, n0, cols int) {
	mr, nr := g.mk.mr, g.mk.nr
	out := g.fin.outBase[batch] + m0*g.fin.ldo + n0
	for k0 := 0; k0 < g.k; k0 += g.kc {
		depth := min(g.kc, g.k-k0)
		ap, lda := a.rows(batch, m0, rows, k0, depth, g.m, g.k)
		bp, offsets, step := b.cols(batch, n0, cols, k0, depth, g.n, g.k, nr)
		e := ending{add: k0 > 0}
		last := k0+depth == g.k
		if g.rowsLong { // the factor that was packed on the way stays in the cache
			for i := 0; i < rows; i += mr {
				at := out + i*g.fin.ldo
				if last {
					e = fin.ending(batch, m0+i, n0, at, e.add)
				}
				g.mk.end(min(mr, rows-i), cols, depth, ap[i*lda:], lda, bp, offsets, step, fin.dst.f[at:], g.fin.ldo, e)
			}
			continue
		}
		for j := 0; j < cols; j += nr {
			if g.mk.row != nil && rows == 1 && cols-j >= rowPanels*nr {
				g.mk.row(depth, ap, bp[j/nr*step:], offsets, step, fin.dst.f[out+j:], k0 > 0)
				if last {
					fin.endRow(batch, m0, n0+j, out+j, rowPanels*nr)
				}
				j += (rowPanels - 1) * nr
				continue
			}
			for i := 0; i < rows; i += mr {
				at := out + i*g.fin.ldo + j
				if last {
					e = fin.ending(batch, m0+i, n0+j, at, e.add)
				}
				g.mk.end(min(mr, rows-i), min(nr, cols-j), depth, ap[i*lda:], lda, bp[j/nr*step:], offsets, step, fin.dst.f[at:], g.fin.ldo, e)
			}
		}
	}
	if _, _, limits := g.fin.act.clamp(); !limits {
		for i := range rows {
			row := fin.dst.f[out+i*g.fin.ldo:][:cols]
			g.fin.act.apply(row, row)
		}
	}
}
