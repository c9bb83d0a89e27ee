package kernels

// acrossMicro is the innermost kernel of convolutions whose planes are small: the rows of a tile are adjacent pixels, its
// columns output channels, so that no vector is filled up with pixels that are not there. It sums in sequence as every
// micro of that order; which of them computes a product makes no difference to its bits.
type acrossMicro struct {
	rows, cols int // of a tile at most
	// tile computes rows pixels × cols channels: C (rows of acrossMicro.cols) gets, or adds, the sums over k of
	// a[offsets[k]+i]·b[k·ldb+j]. Columns of C behind cols may hold anything. ahead is memory that will be read next.
	tile func(rows, cols, k int, a []float32, offsets []int, b []float32, ldb int, c []float32, add bool, ahead []float32)
	// turn writes rows and columns exchanged: dst[j·dstStep+i] for i < n, j < rows of src[i·cols+j], with an ending whose
	// bias is by j and whose z lies like dst. What it reads of src is rounded up to whole vectors in both directions.
	turn func(dst []float32, dstStep int, src []float32, rows, n int, e ending)
}

func plainAcross() acrossMicro {
	const cols = 4
	return acrossMicro{rows: 2, cols: cols,
		tile: func(rows, n, k int, a []float32, offsets []int, b []float32, ldb int, c []float32, add bool, _ []float32) {
			for i := range rows {
				var s [cols]float32
				for l, at := range offsets[:k] {
					x := a[at+i]
					for j, y := range b[l*ldb:][:n] {
						s[j] = fma32(x, y, s[j])
					}
				}
				storeTile(c[i*cols:][:cols], add, s[0], s[1], s[2], s[3])
			}
		},
		turn: func(dst []float32, dstStep int, src []float32, rows, n int, e ending) {
			for j := range rows {
				for i := range n {
					x := src[i*cols+j]
					if e.bias != nil {
						x += e.bias[j]
					}
					if e.z != nil {
						x += e.z[j*dstStep+i]
					}
					if e.limits {
						x = atMost(e.hi, atLeast(e.lo, x))
					}
					dst[j*dstStep+i] = x
				}
			}
		},
	}
}

// newAcross is the kernel for this machine.
func newAcross() acrossMicro {
	if m := fastAcross(); len(m) > 0 {
		return m[0]
	}
	return plainAcross()
}
