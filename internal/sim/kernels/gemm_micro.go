package kernels

// micro is the innermost kernel of every matrix product: it multiplies some rows of A (row-major, lda apart) with some
// columns of B and stores or adds the tiles in row-major C. Row k of B is at offsets[k]; nr columns are adjacent, the
// next nr are step further.
//
// The first rows (1..mr) rows and cols columns must be right; up to spill-1 more columns of B may be read, and of C may
// hold anything. Other rows of C stay as they are.
//
// end, which only inSequence has, is tile with an ending; it writes no column of C beyond cols. row, as well, is tile for a
// single row of rowPanels·nr columns.
type micro struct {
	mr, nr int
	tile   func(rows, cols, k int, a []float32, lda int, b []float32, offsets []int, step int, c []float32, ldc int, add bool)
	end    func(rows, cols, k int, a []float32, lda int, b []float32, offsets []int, step int, c []float32, ldc int, e ending)
	row    func(k int, a, b []float32, offsets []int, step int, c []float32, add bool)
}

// rowPanels is how many times nr columns the row of a micro has.
const rowPanels = 3

// ending is what happens to a tile before it is stored: min(max(tile + C + bias + z, lo), hi), from left to right.
type ending struct {
	add    bool      // C
	bias   []float32 // nil: none
	across bool      // bias is one for each column, not for each row
	z      []float32 // lies like C; nil: none
	limits bool
	lo, hi float32
}

// spill is the widest vector of a micro.
const spill = 16

// quadColumns is the width of a tile of an inQuads product, whose columns are all adjacent.
const quadColumns = spill

// order is the order in which a product sums over k. It belongs to the result, not to the machine: every micro of an
// order computes the same bits. The orders are those in which ONNX Runtime's CPU kernels sum, because models that
// compare floats for equality (a peak is where a score equals the maximum around it) give the same answer only so.
type order uint8

const (
	// inSequence: c = fma(a, b, c) from 0, one k after the other.
	inSequence order = iota
	// inQuads, for a single row of A: products and sums of four k each are rounded on their own, and their sum is
	// added to C: ((p0+p1)+p2)+p3.
	inQuads
	// inLanes, for a single column: eight sums, each over every eighth k, with products rounded on their own; then
	// (((s0+s1)+s2)+s3) + (((s4+s5)+s6)+s7). It is not cut into slices.
	inLanes
)

// newMicro is the kernel of an order for this machine.
func newMicro(o order) micro {
	if m := fastMicros(o); len(m) > 0 {
		return m[0]
	}
	return plainMicro(o)
}

// plainMicro is the kernel in Go.
func plainMicro(o order) micro {
	switch o {
	case inQuads:
		return micro{mr: 1, nr: quadColumns, tile: quadRow}
	case inLanes:
		return micro{mr: 1, nr: 8, tile: laneTile}
	}
	return micro{mr: 2, nr: 4, tile: fmaTile, end: fmaEnd}
}

func fmaEnd(rows, cols, k int, a []float32, lda int, b []float32, offsets []int, step int, c []float32, ldc int, e ending) {
	const mr, nr = 2, 4
	for j := 0; j < cols; j += nr {
		var t [mr * nr]float32
		fmaTile4(rows, k, a, lda, b[j/nr*step:], offsets, t[:], nr, false)
		for i := range rows {
			row := c[i*ldc+j:][:min(nr, cols-j)]
			for l := range row {
				x := t[i*nr+l]
				if e.add {
					x += row[l]
				}
				switch {
				case e.bias != nil && e.across:
					x += e.bias[j+l]
				case e.bias != nil:
					x += e.bias[i]
				}
				if e.z != nil {
					x += e.z[i*ldc+j+l]
				}
				if e.limits {
					x = atMost(e.hi, atLeast(e.lo, x))
				}
				row[l] = x
			}
		}
	}
}

func fmaTile(rows, cols, k int, a []float32, lda int, b []float32, offsets []int, step int, c []float32, ldc int, add bool) {
	const nr = 4
	for j := 0; j < cols; j += nr {
		fmaTile4(rows, k, a, lda, b[j/nr*step:], offsets, c[j:], ldc, add)
	}
}

// fmaTile4 keeps eight accumulators, as many as stay in registers.
func fmaTile4(rows, k int, a []float32, lda int, b []float32, offsets []int, c []float32, ldc int, add bool) {
	var c00, c01, c02, c03, c10, c11, c12, c13 float32
	a0, a1, offsets := a[:k], a[(rows-1)*lda:][:k], offsets[:k]
	for i, x0 := range a0 {
		x1, y := a1[i], b[offsets[i]:][:4]
		c00 = fma32(x0, y[0], c00)
		c01 = fma32(x0, y[1], c01)
		c02 = fma32(x0, y[2], c02)
		c03 = fma32(x0, y[3], c03)
		if rows > 1 {
			c10 = fma32(x1, y[0], c10)
			c11 = fma32(x1, y[1], c11)
			c12 = fma32(x1, y[2], c12)
			c13 = fma32(x1, y[3], c13)
		}
	}
	storeTile(c[:4], add, c00, c01, c02, c03)
	if rows > 1 {
		storeTile(c[ldc:][:4], add, c10, c11, c12, c13)
	}
}

func storeTile(r []float32, add bool, c0, c1, c2, c3 float32) {
	if add {
		c0, c1, c2, c3 = r[0]+c0, r[1]+c1, r[2]+c2, r[3]+c3
	}
	r[0], r[1], r[2], r[3] = c0, c1, c2, c3
}

func quadRow(_, cols, k int, a []float32, _ int, b []float32, offsets []int, _ int, c []float32, _ int, add bool) {
	c = c[:cols]
	if !add {
		clear(c)
	}
	for k0 := 0; k0 < k; k0 += 4 {
		a, at := a[k0:min(k0+4, k)], offsets[k0:]
		for j := range c {
			s := float32(a[0] * b[at[0]+j])
			for i, x := range a[1:] {
				s += float32(x * b[at[1+i]+j])
			}
			c[j] += s
		}
	}
}

func laneTile(_, cols, k int, a []float32, _ int, b []float32, offsets []int, step int, c []float32, _ int, add bool) {
	const nr = 8
	for j := range cols {
		var s [8]float32
		for i, x := range a[:k] {
			s[i%8] += float32(x * b[j/nr*step+offsets[i]+j%nr])
		}
		sum := (((s[0] + s[1]) + s[2]) + s[3]) + (((s[4] + s[5]) + s[6]) + s[7])
		if add {
			sum += c[j]
		}
		c[j] = sum
	}
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
