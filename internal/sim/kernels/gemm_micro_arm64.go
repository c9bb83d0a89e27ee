package kernels

// fmaTileNEON computes tiles of an inSequence product: 1..8 rows of vectors of 4 columns, two to a tile.
//
//go:noescape
func fmaTileNEON(rows, vecs, k int, a *float32, lda int, b *float32, offsets *int, step int, c *float32, ldc, add int)

// quadRowNEON is the tile of an inQuads product: one row of any number of vectors of 4 columns.
//
//go:noescape
func quadRowNEON(vecs, k int, a, b *float32, offsets *int, c *float32, add int)

// laneTileNEON is the tile of an inLanes product: one row of 4 columns.
//
//go:noescape
func laneTileNEON(k int, a, b *float32, offsets *int, c *float32, add int)

// fastMicros is the kernel of an order; every arm64 has NEON.
func fastMicros(o order) []micro {
	const width, vecs = 4, 2
	switch o {
	case inQuads:
		return []micro{{mr: 1, nr: quadColumns, tile: func(_, cols, k int, a []float32, _ int, b []float32, offsets []int, _ int, c []float32, _ int, add bool) {
			if k > 0 {
				quadRowNEON(ceilDiv(cols, width), k, &a[0], &b[0], &offsets[0], &c[0], number(add))
			}
		}}}
	case inLanes:
		return []micro{{mr: 1, nr: width, tile: func(_, cols, k int, a []float32, _ int, b []float32, offsets []int, step int, c []float32, _ int, add bool) {
			for j := 0; j < cols && k > 0; j += width {
				laneTileNEON(k, &a[0], &b[j/width*step], &offsets[0], &c[j], number(add))
			}
		}}}
	}
	return []micro{{mr: 8, nr: vecs * width, tile: func(rows, cols, k int, a []float32, lda int, b []float32, offsets []int, step int, c []float32, ldc int, add bool) {
		if k > 0 {
			fmaTileNEON(rows, ceilDiv(cols, width), k, &a[0], lda, &b[0], &offsets[0], step, &c[0], ldc, number(add))
		}
	}}}
}
