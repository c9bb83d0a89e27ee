package kernels

import "npu/internal/tensor"

// side is one factor of a gemm. Its lanes are the rows of A or the columns of B.
type side struct {
	at     loc
	dtype  tensor.DType
	packed bool // holds whole packed matrices, the first at element start
	start  int
	// base is, for each batch index, the element offset of the matrix, or its number where packed.
	base   []int
	ls, ks int // strides of a lane and of k where it is a plain matrix
	// gather copies a part of A into rows of depth elements.
	gather func(dst []float32, src vec, base, l0, lanes, k0, depth int)

	// B, where it is not packed, is copied slice by slice into scratch memory: a plain matrix row by row, an input of a
	// convolution as a band or pixel by pixel.
	band     *band
	pixels   *pixelGather
	channels int
	plane    int   // elements of a channel of the input
	ld       int   // from a row of scratch memory to the next
	floats   int   // scratch memory
	slots    int   // channels of a band in scratch memory
	offsets  []int // of the rows; those of a band go on from slice to slice
}

// direct says that the rows of A can be read where they are.
func (s *side) direct() bool {
	return s.gather == nil && s.ks == 1 && s.dtype == tensor.Float32
}

// layout says where the rows of B are for slices of depth kc and blocks of nc columns.
func (s *side) layout(nr, nc, kc int) {
	switch {
	case s.packed:
		s.ld = nr
	case s.band != nil:
		taps := len(s.band.tapAt)
		s.slots = max(1, min(ceilDiv(kc, taps)+1, s.channels))
		s.floats = s.slots*s.band.channel + spill
		for c := range s.channels {
			for _, t := range s.band.tapAt {
				s.offsets = append(s.offsets, c%s.slots*s.band.channel+t)
			}
		}
		return
	default:
		s.ld = roundUp(nc, spill)
		if s.ld/spill%2 == 0 {
			s.ld += spill // rows a power of two apart would share few lines of the cache
		}
		s.floats = kc*s.ld + spill
	}
	for k := range kc {
		s.offsets = append(s.offsets, k*s.ld)
	}
}

// columns is the number of columns of block i, of which a plain one has n.
func (s *side) columns(i, n int) int {
	if s.band == nil {
		return n
	}
	_, _, _, height, width := s.band.block(i)
	return s.band.run(height, width)
}

// operand is a side during a run.
type operand struct {
	*side
	src     vec
	scratch []float32
}

// rows gives rows [l0,l0+lanes) × [k0,k0+depth) of A, which has all rows of k elements, and the distance between them.
func (o *operand) rows(batch, l0, lanes, k0, depth, all, k int) ([]float32, int) {
	base := o.base[batch]
	switch {
	case o.packed:
		return o.src.f[o.start+(base*all+l0)*k+k0:], k
	case o.direct():
		return o.src.f[base+l0*o.ls+k0:], o.ls
	case o.gather != nil:
		o.gather(o.scratch, o.src, base, l0, lanes, k0, depth)
	default:
		copyRows(o.scratch, depth, o.src, base+l0*o.ls+k0*o.ks, lanes, o.ls, depth, o.ks)
	}
	return o.scratch, depth
}

// cols gives columns [l0,l0+lanes) × [k0,k0+depth) of B, which is k×all, the offsets of the rows, and the distance from
// a tile of nr columns to the next.
func (o *operand) cols(batch, l0, lanes, k0, depth, all, k, nr int) (b []float32, offsets []int, step int) {
	base := o.base[batch]
	switch {
	case o.packed:
		m := o.src.f[o.start+base*roundUp(all, nr)*k:]
		return m[l0*k+k0*nr:], o.offsets[:depth], k * nr
	case o.band != nil:
		n := len(o.band.tapAt)
		block := l0 / o.band.run(o.band.height, o.band.width)
		for c := k0 / n; c*n < k0+depth; c++ {
			o.band.fill(o.scratch[c%o.slots*o.band.channel:], o.src, base+c*o.plane, block)
		}
		return o.scratch, o.offsets[k0 : k0+depth], nr
	case o.pixels != nil:
		for i := range depth {
			o.pixels.row(o.scratch[i*o.ld:][:lanes], o.src, base, k0+i, l0)
		}
	default:
		copyRows(o.scratch, o.ld, o.src, base+l0*o.ls+k0*o.ks, depth, o.ks, lanes, o.ls)
	}
	return o.scratch, o.offsets[:depth], nr
}

// copyRows copies a strided matrix from element off on into rows ld apart.
func copyRows(dst []float32, ld int, src vec, off, rows, rowStep, n, step int) {
	if rowStep == 1 && step != 1 && src.f != nil {
		turn(dst, ld, src.f[off:], step, n, rows)
		return
	}
	for r := range rows {
		src.load(dst[r*ld:][:n], off+r*rowStep, step)
	}
}

// packer packs matrices at the given element offsets one after the other: rows of A, or panels of width columns of B.
type packer struct {
	side
	width, lanes, depth int
	tight               bool // the last panel has no more columns than there are
	offsets             []int
}

func (p *packer) size() int {
	if p.tight {
		return p.lanes * p.depth
	}
	return roundUp(p.lanes, max(1, p.width)) * p.depth
}

func (p *packer) floats() int { return p.size() * len(p.offsets) }

func (p *packer) pack(dst []float32, v vec) {
	for i, off := range p.offsets {
		d := dst[i*p.size():][:p.size()]
		switch {
		case p.width > 0:
			for l := 0; l < p.lanes; l += p.width {
				n, ld := min(p.width, p.lanes-l), p.width
				if p.tight {
					ld = n
				}
				copyRows(d[l*p.depth:], ld, v, off+l*p.ls, p.depth, p.ks, n, p.ls)
			}
		case p.gather != nil:
			p.gather(d, v, off, 0, p.lanes, 0, p.depth)
		default:
			copyRows(d, p.depth, v, off, p.lanes, p.ls, p.depth, p.ks)
		}
	}
}

// prepack turns the side into one that is packed when the model is loaded: matrices at the given element offsets,
// batch index i uses matrix number[i]. start is where they begin in the packed weight. width is 0 for A.
func (s *side) prepack(width, lanes, depth int, offsets, number []int, start int) *packer {
	p := &packer{side: *s, width: width, lanes: lanes, depth: depth, offsets: offsets}
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
			p.pack(d[:p.floats()], newVec(p.dtype, src))
			d = d[p.floats():]
		}
	}}
}
