package kernels

// fastMicros are the kernels of an order that this machine has beside the plain one, best first.
func fastMicros(o order) []micro {
	var m []micro
	if hasAVX512() {
		m = append(m, wideMicro(o, 16, 8, fmaTile512, quadRow512, laneTile512))
	}
	if hasAVX2() {
		m = append(m, wideMicro(o, 8, 4, fmaTile256, quadRow256, laneTile256))
	}
	return m
}

// wideMicro is the kernel of an order with vectors of width elements.
func wideMicro(o order, width, mr int,
	fma func(rows, vecs, k int, a *float32, lda int, b *float32, offsets *int, step int, c *float32, ldc, add int),
	quad func(vecs, k int, a, b *float32, offsets *int, c *float32, add int),
	lane func(k int, a, b *float32, offsets *int, c *float32, add int)) micro {
	switch o {
	case inQuads:
		return micro{1, quadColumns, func(_, cols, k int, a []float32, _ int, b []float32, offsets []int, _ int, c []float32, _ int, add bool) {
			if k > 0 {
				quad(ceilDiv(cols, width), k, &a[0], &b[0], &offsets[0], &c[0], number(add))
			}
		}}
	case inLanes:
		return micro{1, width, func(_, cols, k int, a []float32, _ int, b []float32, offsets []int, step int, c []float32, _ int, add bool) {
			for j := 0; j < cols && k > 0; j += width {
				lane(k, &a[0], &b[j/width*step], &offsets[0], &c[j], number(add))
			}
		}}
	}
	return micro{mr, 3 * width, func(rows, cols, k int, a []float32, lda int, b []float32, offsets []int, step int, c []float32, ldc int, add bool) {
		if k > 0 {
			fma(rows, ceilDiv(cols, width), k, &a[0], lda, &b[0], &offsets[0], step, &c[0], ldc, number(add))
		}
	}}
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
