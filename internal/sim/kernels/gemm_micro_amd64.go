package kernels

// fastMicros are the kernels of an order that this machine has beside the plain one, best first.
func fastMicros(o order) []micro {
	var m []micro
	if hasAVX512() {
		m = append(m, wideMicro(o, 16, 8, fmaTile512, fmaRow512, quadRow512, laneTile512))
	}
	if hasAVX2() {
		m = append(m, wideMicro(o, 8, 4, fmaTile256, fmaRow256, quadRow256, laneTile256))
	}
	return m
}

// fmaFunc is fmaTile512 or fmaTile256.
type fmaFunc func(rows, vecs, k int, a *float32, lda int, b *float32, offsets *int, step int, c *float32, ldc, how, tail int, bias *float32, across int, z *float32, lo, hi float32)

// wideMicro is the kernel of an order with vectors of width elements.
func wideMicro(o order, width, mr int, fma fmaFunc,
	row func(k int, a, b *float32, offsets *int, step int, c *float32, add int),
	quad func(vecs, k int, a, b *float32, offsets *int, c *float32, add int),
	lane func(k int, a, b *float32, offsets *int, c *float32, add int)) micro {
	switch o {
	case inQuads:
		return micro{mr: 1, nr: quadColumns, tile: func(_, cols, k int, a []float32, _ int, b []float32, offsets []int, _ int, c []float32, _ int, add bool) {
			if k > 0 {
				quad(ceilDiv(cols, width), k, &a[0], &b[0], &offsets[0], &c[0], number(add))
			}
		}}
	case inLanes:
		return micro{mr: 1, nr: width, tile: func(_, cols, k int, a []float32, _ int, b []float32, offsets []int, step int, c []float32, _ int, add bool) {
			for j := 0; j < cols && k > 0; j += width {
				lane(k, &a[0], &b[j/width*step], &offsets[0], &c[j], number(add))
			}
		}}
	}
	const vecs = 3
	return micro{
		mr: mr, nr: vecs * width, row: singleRow(row, rowPanels*vecs*width),
		tile: func(rows, cols, k int, a []float32, lda int, b []float32, offsets []int, step int, c []float32, ldc int, add bool) {
			if k > 0 {
				fma(rows, ceilDiv(cols, width), k, &a[0], lda, &b[0], &offsets[0], step, &c[0], ldc, number(add), width, nil, 0, nil, 0, 0)
			}
		},
		end: func(rows, cols, k int, a []float32, lda int, b []float32, offsets []int, step int, c []float32, ldc int, e ending) {
			how, across := number(e.add), 0
			var bias, z *float32
			switch {
			case e.bias != nil && e.across:
				how, bias, across = how|4, &e.bias[0], 4*vecs*width
			case e.bias != nil:
				how, bias = how|2, &e.bias[0]
			}
			if e.z != nil {
				how, z = how|8, &e.z[0]
			}
			if e.limits {
				how |= 16
			}
			fma(rows, ceilDiv(cols, width), k, &a[0], lda, &b[0], &offsets[0], step, &c[0], ldc, how, (cols-1)%width+1, bias, across, z, e.lo, e.hi)
		},
	}
}
