package kernels

// fastAcross are the kernels that this machine has beside the plain one, best first.
func fastAcross() []acrossMicro {
	var m []acrossMicro
	if hasAVX512() {
		m = append(m, wideAcross(16, 14, fmaAcross512, turnRows512))
	}
	if hasAVX2() {
		m = append(m, wideAcross(8, 6, fmaAcross256, turnRows256))
	}
	return m
}

// wideAcross is the kernel with vectors of width elements.
func wideAcross(width, rows int,
	fma func(rows, cols, k int, a *float32, offsets *int, b *float32, ldb int, c *float32, add int, ahead *float32),
	turn func(dst *float32, dststep int, src *float32, srcstep, rows, n, how int, bias, z *float32, lo, hi float32)) acrossMicro {
	cols := 2 * width
	return acrossMicro{rows: rows, cols: cols,
		tile: func(rows, cols, k int, a []float32, offsets []int, b []float32, ldb int, c []float32, add bool, ahead []float32) {
			fma(rows, cols, k, &a[0], &offsets[0], &b[0], ldb, &c[0], number(add), &ahead[0])
		},
		turn: func(dst []float32, dstStep int, src []float32, rows, n int, e ending) {
			how := 0
			if e.limits {
				how = 16
			}
			for j := 0; j < rows; j += width {
				var bias, z *float32
				if e.bias != nil {
					how, bias = how|2, &e.bias[j]
				}
				if e.z != nil {
					how, z = how|8, &e.z[j*dstStep]
				}
				turn(&dst[j*dstStep], dstStep, &src[j], cols, min(width, rows-j), n, how, bias, z, e.lo, e.hi)
			}
		},
	}
}
