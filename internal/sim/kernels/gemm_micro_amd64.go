package kernels

// fastMicros are the kernels of an order that this machine has beside the plain one, best first.
func fastMicros(o order) []micro {
	var m []micro
	if hasAVX512() {
		m = append(m, wideMicro(o, 16, 8, fmaTile512, quadTile512, laneTile512))
	}
	if hasAVX2() {
		m = append(m, wideMicro(o, 8, 4, fmaTile256, quadTile256, laneTile256))
	}
	return m
}

// wideMicro is the kernel of an order with vectors of width elements.
func wideMicro(o order, width, mr int, fma func(rows, vecs, k int, a *float32, lda int, b, c *float32, ldc, add int),
	quad, lane func(k int, a, b, c *float32, add int)) micro {
	single := func(nr int, tile func(k int, a, b, c *float32, add int)) micro {
		return micro{mr: 1, nr: nr, tile: func(_, _, k int, a []float32, _ int, b, c []float32, _ int, add bool) {
			if k > 0 {
				tile(k, &a[0], &b[0], &c[0], number(add))
			}
		}}
	}
	switch o {
	case inQuads:
		return single(4*width, quad)
	case inLanes:
		return single(width, lane)
	}
	return micro{mr: mr, nr: 3 * width, tile: func(rows, cols, k int, a []float32, lda int, b, c []float32, ldc int, add bool) {
		if k > 0 {
			fma(rows, ceilDiv(cols, width), k, &a[0], lda, &b[0], &c[0], ldc, number(add))
		}
	}}
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
