package kernels

import (
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
	grainMACs = 1 << 20
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

// side is one factor of a gemm. Its lanes are the rows of A or the columns of B.
type side struct {
	at     loc
	dtype  tensor.DType
	packed bool // holds whole packed matrices, the first at element start
	start  int
	// base is, for each batch index, the element offset of the matrix, or its number where packed.
	base   []int
	ls, ks int // strides of a lane and of k where it is a plain matrix
	// gather replaces packPlain for matrices that are not in memory as such.
	gather func(dst []float32, src vec, tmp []float32, base, l0, lanes, k0, depth int)
}

// gemm is a compiled product. Set all up to fin, then call plan.
type gemm struct {
	mk      micro
	slice   int // the depth of a slice
	m, n, k int
	a, b    side
	fin     finish

	mc, nc, kc       int // block
	mBlocks, nBlocks int
	blocks           int
	ws               int // scratch: byte offset in the workspace
	partFloats       int // scratch of one thread
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
func roundUp(a, b int) int { return ceilDiv(a, b) * b }

// panelFloats is the size of a packed matrix.
func panelFloats(lanes, depth, width int) int { return roundUp(lanes, width) * depth }

// newGEMM starts a product with the kernel for its order.
func newGEMM(o order, m, n, k int) *gemm {
	return &gemm{mk: newMicro(o), slice: sliceDepth, m: m, n: n, k: k}
}

// plan chooses the blocks and gives the scratch memory its place from byte offset ws of the workspace on.
// It returns the end of the scratch memory.
func (g *gemm) plan(ws int) int {
	mr, nr := g.mk.mr, g.mk.nr
	g.kc = max(1, min(g.slice, g.k))
	m, n := roundUp(max(1, g.m), mr), roundUp(max(1, g.n), nr)
	switch {
	case g.a.packed && !g.b.packed:
		g.mc = min(m, roundUp(512, mr))
		g.nc = min(n, roundUp(min(128, max(64, 32768/g.mc)), nr))
	case g.b.packed:
		g.nc = min(n, roundUp(512, nr))
		g.mc = min(m, roundUp(min(256, max(32, 32768/g.nc)), mr))
	default:
		g.mc, g.nc = min(m, roundUp(160, mr)), min(n, roundUp(160, nr))
	}
	batch := len(g.fin.outBase)
	for {
		g.mBlocks, g.nBlocks = max(1, ceilDiv(g.m, g.mc)), max(1, ceilDiv(g.n, g.nc))
		g.mc, g.nc = roundUp(ceilDiv(m, g.mBlocks), mr), roundUp(ceilDiv(n, g.nBlocks), nr)
		g.blocks = batch * g.mBlocks * g.nBlocks
		if g.blocks >= blocksWanted || g.blockMACs() <= 2*grainMACs {
			break
		}
		if mc, nc := roundUp(g.mc/2, mr), roundUp(g.nc/2, nr); nc < g.nc && (g.nc >= g.mc || mc >= g.mc) {
			g.nc = nc
		} else if mc < g.mc {
			g.mc = mc
		} else {
			break
		}
	}
	if g.m == 0 || g.n == 0 {
		g.blocks = 0
	}
	g.partFloats = g.mc*g.nc + max(g.mc, g.nc, g.kc)
	if !g.a.packed {
		g.partFloats += g.mc * g.kc
	}
	if !g.b.packed {
		g.partFloats += g.nc * g.kc
	}
	g.ws = ws
	return ws + min(maxParts, g.blocks)*g.partFloats*4
}

func (g *gemm) blockMACs() int { return g.mc * g.nc * max(1, g.k) }

// run computes the product. part is bound by the caller once: f must be g.part.
func (g *gemm) run(x *Exec, f func(x *Exec, part, lo, hi int)) {
	x.each(g.blocks, ceilDiv(grainMACs, g.blockMACs()), f)
}

// part computes blocks [lo,hi) with the scratch memory of a part.
func (g *gemm) part(x *Exec, part, lo, hi int) {
	mr, nr := g.mk.mr, g.mk.nr
	mem := tensor.View[float32](x.Workspace[g.ws+part*g.partFloats*4:])[:g.partFloats]
	c, mem := mem[:g.mc*g.nc], mem[g.mc*g.nc:]
	tmp, mem := mem[:max(g.mc, g.nc, g.kc)], mem[max(g.mc, g.nc, g.kc):]
	a := operand{side: &g.a, width: mr, matrix: panelFloats(g.m, g.k, mr), src: newVec(g.a.dtype, g.a.at.mem(x))}
	b := operand{side: &g.b, width: nr, matrix: panelFloats(g.n, g.k, nr), src: newVec(g.b.dtype, g.b.at.mem(x))}
	if !g.a.packed {
		a.scratch, mem = mem[:g.mc*g.kc], mem[g.mc*g.kc:]
	}
	if !g.b.packed {
		b.scratch = mem[:g.nc*g.kc]
	}
	a.forget()
	b.forget()
	fin := g.fin.open(x)
	for i := lo; i < hi; i++ {
		batch, mb, nb := g.place(i)
		m0, n0 := mb*g.mc, nb*g.nc
		rows, cols := min(g.mc, g.m-m0), min(g.nc, g.n-n0)
		if g.k == 0 {
			clear(c)
		}
		for k0 := 0; k0 < g.k; k0 += g.kc {
			depth := min(g.kc, g.k-k0)
			ap, aStep := a.panels(batch, m0, rows, k0, depth, g.k, tmp)
			bp, bStep := b.panels(batch, n0, cols, k0, depth, g.k, tmp)
			for j := 0; j < cols; j += nr {
				panel := bp[j/nr*bStep:]
				for i := 0; i < rows; i += mr {
					g.mk.tile(min(mr, rows-i), min(nr, cols-j), depth, ap[i/mr*aStep:], panel, c[i*g.nc+j:], g.nc, k0 > 0)
				}
			}
		}
		fin.block(c, g.nc, batch, m0, rows, n0, cols, tmp)
	}
}

// place turns a block's number into its position. The factor that is packed on the way stays the same from block to
// block as long as possible.
func (g *gemm) place(i int) (batch, mb, nb int) {
	if g.a.packed {
		mb, i = i%g.mBlocks, i/g.mBlocks
		return i / g.nBlocks, mb, i % g.nBlocks
	}
	nb, i = i%g.nBlocks, i/g.nBlocks
	return i / g.mBlocks, i % g.mBlocks, nb
}

// operand is a side during a run, with the key of what its scratch memory holds.
type operand struct {
	*side
	width, matrix  int
	src            vec
	scratch        []float32
	base, l0, k0   int
	lanes, panelAt int
}

func (o *operand) forget() { o.base = -1 }

// panels gives the packed panels of lanes [l0,l0+lanes) × [k0,k0+depth), and the distance between them.
func (o *operand) panels(batch, l0, lanes, k0, depth, k int, tmp []float32) ([]float32, int) {
	base := o.side.base[batch]
	if o.packed {
		m := o.src.f[o.start+base*o.matrix:][:o.matrix]
		return m[l0*k+k0*o.width:], k * o.width
	}
	if o.base != base || o.l0 != l0 || o.k0 != k0 || o.lanes != lanes {
		if o.gather != nil {
			o.gather(o.scratch, o.src, tmp, base, l0, lanes, k0, depth)
		} else {
			packPlain(o.scratch, o.src, tmp, o.width, base, o.ls, o.ks, l0, lanes, k0, depth)
		}
		o.base, o.l0, o.k0, o.lanes = base, l0, k0, lanes
	}
	return o.scratch, depth * o.width
}

// packer packs count plain matrices at the given element offsets one after the other.
type packer struct {
	side
	width, lanes, depth int
	offsets             []int
}

func (p *packer) floats() int { return panelFloats(p.lanes, p.depth, p.width) * len(p.offsets) }

func (p *packer) pack(dst []float32, src []byte) {
	size, v := panelFloats(p.lanes, p.depth, p.width), newVec(p.dtype, src)
	tmp := make([]float32, max(p.lanes, p.depth))
	if size == 0 {
		return
	}
	for i, off := range p.offsets {
		d := dst[i*size:][:size]
		if p.gather != nil {
			p.gather(d, v, tmp, off, 0, p.lanes, 0, p.depth)
		} else {
			packPlain(d, v, tmp, p.width, off, p.ls, p.ks, 0, p.lanes, 0, p.depth)
		}
	}
}

// prepack turns the side into one that is packed when the model is loaded: matrices at the given element offsets,
// batch index i uses matrix number[i]. start is where they begin in the packed weight.
func (s *side) prepack(width, lanes, depth int, offsets, number []int, start int) *packer {
	p := &packer{*s, width, lanes, depth, offsets}
	p.start = start
	s.packed, s.start, s.base, s.dtype, s.gather = true, start, number, tensor.Float32, nil
	return p
}

// weight makes the weight of an operand from what is packed into it.
func weight(input int, parts ...*packer) Weight {
	n := 0
	for _, p := range parts {
		n += p.floats()
	}
	return Weight{Input: input, Bytes: 4 * n, Pack: func(dst, src []byte) {
		d := tensor.View[float32](dst)
		for _, p := range parts {
			p.pack(d[:p.floats()], src)
			d = d[p.floats():]
		}
	}}
}
