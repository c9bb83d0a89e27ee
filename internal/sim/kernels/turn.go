package kernels

// turn transposes a matrix of rows × cols: dst[j·dstStep+i] = src[i·srcStep+j].
func turn(dst []float32, dstStep int, src []float32, srcStep, rows, cols int) {
	if rows == 0 || cols == 0 {
		return
	}
	dst, src = dst[:(cols-1)*dstStep+rows], src[:(rows-1)*srcStep+cols]
	r, c := turnBlocks(dst, dstStep, src, srcStep, rows, cols)
	turnPlain(dst, dstStep, src[c:], srcStep, c, r, cols-c)
	turnPlain(dst[r:], dstStep, src[min(r, rows-1)*srcStep:], srcStep, 0, rows-r, cols)
}

// turnPlain is turn for columns that are lines from first on of dst.
func turnPlain(dst []float32, dstStep int, src []float32, srcStep, first, rows, cols int) {
	for j := range cols {
		if rows == 0 {
			return
		}
		line, at := dst[(first+j)*dstStep:][:rows], j
		for i := range line {
			line[i] = src[at]
			at += srcStep
		}
	}
}
