package kernels

// band is how a part of the input of a convolution lies in scratch memory, so that the products read it without a
// copy for each tap: with its padding, and rows and columns sorted by their place within a stride. The pixels of a
// block of results are then one run: row after row, with a few columns between them that no result needs, and each
// tap reads the run at an offset of its own.
type band struct {
	phase
	in        [3]int
	pad       float32 // what lies around the input
	lo, reach [3]int  // least offset of a tap, and from there to the greatest

	width, height int // results of a block
	across, down  int // blocks in a plane of results
	blocks        int // in all planes

	pitch, rows    int // columns and rows of a place
	places         [3]int
	plane, channel int   // elements of a plane (one depth) and of a channel
	tapAt          []int // offset of each tap
}

// bandLimit bounds the elements of a channel of a band: dilation or padding beyond all reason does not fit.
const bandLimit = 1 << 20

// newBand lays out blocks of about pixels results, those between the rows counted; nil where that makes no sense.
func newBand(in [3]int, p phase, pixels int) *band {
	b := &band{phase: p, in: in}
	if len(p.taps) == 0 || volume(p.grid) == 0 {
		return nil
	}
	b.lo = p.taps[0].off
	hi := b.lo
	for _, t := range p.taps {
		for d := range 3 {
			b.lo[d], hi[d] = min(b.lo[d], t.off[d]), max(hi[d], t.off[d])
		}
	}
	for d := range 3 {
		b.reach[d] = hi[d] - b.lo[d]
		b.places[d] = min(p.stride[d], b.reach[d]+1)
	}
	extra := b.reach[2] / p.stride[2]
	b.across = ceilDiv(p.grid[2], max(1, pixels))
	b.width = ceilDiv(p.grid[2], b.across)
	b.pitch = b.width + extra
	b.height = 1
	if b.across == 1 {
		b.height = min(p.grid[1], max(1, pixels/b.pitch))
	}
	b.down = ceilDiv(p.grid[1], b.height)
	b.height = ceilDiv(p.grid[1], b.down)
	b.blocks = b.across * b.down * p.grid[0]
	b.rows = b.height + b.reach[1]/p.stride[1]
	if b.rows > bandLimit || b.pitch > bandLimit || b.places[1] > bandLimit || b.places[2] > bandLimit || b.reach[0] > bandLimit ||
		b.rows*b.pitch > bandLimit || b.places[1]*b.places[2] > bandLimit || b.places[1]*b.places[2]*b.rows*b.pitch > bandLimit {
		return nil
	}
	b.plane = b.places[1] * b.places[2] * b.rows * b.pitch
	if b.plane*(b.reach[0]+1) > bandLimit {
		return nil
	}
	b.channel = b.plane * (b.reach[0] + 1)
	for _, t := range p.taps {
		y, x := t.off[1]-b.lo[1], t.off[2]-b.lo[2]
		sy, sx := p.stride[1], p.stride[2]
		b.tapAt = append(b.tapAt, (t.off[0]-b.lo[0])*b.plane+
			((y%sy*b.places[2]+x%sx)*b.rows+y/sy)*b.pitch+x/sx)
	}
	return b
}

// block is the place of block i: its first result and its size.
func (b *band) block(i int) (z, y, x, height, width int) {
	x = i % b.across * b.width
	y = i / b.across % b.down * b.height
	return i / (b.across * b.down), y, x, min(b.height, b.grid[1]-y), min(b.width, b.grid[2]-x)
}

// run is the length of the run of results of a block.
func (b *band) run(height, width int) int { return (height-1)*b.pitch + width }

// adjacent says that the runs of all blocks, one behind the other, are the results in their order.
func (b *band) adjacent() bool {
	return b.pitch == b.grid[2] && (b.grid[0] == 1 || b.grid[1]%b.height == 0)
}

// fill copies what block i needs of a channel, which begins at element base of the input. It may write up to spill-1
// elements behind the channel.
func (b *band) fill(dst []float32, src vec, base, i int) {
	z0, y0, x0, height, width := b.block(i)
	first := x0*b.stride[2] + b.lo[2]
	span := (width-1)*b.stride[2] + b.reach[2] + 1 // columns that the block reads
	lo, hi := inside(first, 1, span, b.in[2])
	for z := range b.reach[0] + 1 {
		iz := z0*b.stride[0] + b.lo[0] + z
		for py := range b.places[1] {
			// rows of the place that some result reads, and those of them that are in the input
			n := max(0, ((height-1)*b.stride[1]+b.reach[1]-py)/b.stride[1]+1)
			iy := y0*b.stride[1] + b.lo[1] + py
			top, bottom := inside(iy, b.stride[1], n, b.in[1])
			if uint(iz) >= uint(b.in[0]) || lo == hi {
				bottom = top
			}
			for px := range b.places[2] {
				place := dst[z*b.plane+(py*b.places[2]+px)*b.rows*b.pitch:]
				b.blank(place[:top*b.pitch])
				if top < bottom {
					at := base + (iz*b.in[1]+iy+top*b.stride[1])*b.in[2] + first + lo
					b.place(place[top*b.pitch:], src, at, bottom-top, px-lo, hi-lo)
				}
				b.blank(place[bottom*b.pitch : n*b.pitch])
			}
		}
	}
}

// place fills rows of a place. The input's rows have n elements at the offset at; the place takes every stride-th,
// from element first on, which may lie before them.
func (b *band) place(dst []float32, src vec, at, rows, first, n int) {
	s, step := b.stride[2], b.stride[1]*b.in[2]
	lo, hi := inside(first, s, b.pitch, n)
	if src.f != nil && s <= 2 && lo < hi {
		padRows(dst, b.pitch, src.f[at+first+lo*s:], step, s, rows, lo, hi-lo, b.pitch-hi, b.pad)
		return
	}
	for r := range rows {
		row := dst[r*b.pitch:][:b.pitch]
		b.blank(row[:lo])
		if lo < hi {
			src.load(row[lo:hi], at+r*step+first+lo*s, s)
		}
		b.blank(row[hi:])
	}
}

func (b *band) blank(v []float32) {
	if b.pad == 0 {
		clear(v)
		return
	}
	fill(v, b.pad)
}
