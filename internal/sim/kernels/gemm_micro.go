package kernels

// micro is the innermost kernel of every matrix product: it multiplies one packed panel of A (k×mr: for each k, mr
// rows) with one packed panel of B (k×nr: for each k, nr columns) and stores or adds the mr×nr tile in row-major C.
type micro struct {
	mr, nr int
	// tile: the first rows (1..mr) rows of the tile must be right, the others may hold anything. len(a) >= k·mr,
	// len(b) >= k·nr, len(c) >= (mr-1)·ldc+nr. Each element of C is summed over k in order.
	tile func(rows, k int, a, b, c []float32, ldc int, add bool)
}

// portableMicro is the kernel in plain Go. Eight accumulators hide the latency of the additions and still stay in
// registers; larger tiles spill.
func portableMicro() micro { return micro{mr: 2, nr: 4, tile: gemmMicro} }

func gemmMicro(_, k int, a, b, c []float32, ldc int, add bool) {
	var c00, c01, c02, c03, c10, c11, c12, c13 float32
	a, b = a[:2*k], b[:4*k]
	for len(a) >= 8 && len(b) >= 16 {
		x0, x1, y := a[0], a[1], b[0]
		c00 += x0 * y
		c10 += x1 * y
		y = b[1]
		c01 += x0 * y
		c11 += x1 * y
		y = b[2]
		c02 += x0 * y
		c12 += x1 * y
		y = b[3]
		c03 += x0 * y
		c13 += x1 * y

		x0, x1, y = a[2], a[3], b[4]
		c00 += x0 * y
		c10 += x1 * y
		y = b[5]
		c01 += x0 * y
		c11 += x1 * y
		y = b[6]
		c02 += x0 * y
		c12 += x1 * y
		y = b[7]
		c03 += x0 * y
		c13 += x1 * y

		x0, x1, y = a[4], a[5], b[8]
		c00 += x0 * y
		c10 += x1 * y
		y = b[9]
		c01 += x0 * y
		c11 += x1 * y
		y = b[10]
		c02 += x0 * y
		c12 += x1 * y
		y = b[11]
		c03 += x0 * y
		c13 += x1 * y

		x0, x1, y = a[6], a[7], b[12]
		c00 += x0 * y
		c10 += x1 * y
		y = b[13]
		c01 += x0 * y
		c11 += x1 * y
		y = b[14]
		c02 += x0 * y
		c12 += x1 * y
		y = b[15]
		c03 += x0 * y
		c13 += x1 * y
		a, b = a[8:], b[16:]
	}
	for len(a) >= 2 && len(b) >= 4 {
		x0, x1 := a[0], a[1]
		c00 += x0 * b[0]
		c01 += x0 * b[1]
		c02 += x0 * b[2]
		c03 += x0 * b[3]
		c10 += x1 * b[0]
		c11 += x1 * b[1]
		c12 += x1 * b[2]
		c13 += x1 * b[3]
		a, b = a[2:], b[4:]
	}
	r0, r1 := c[:4], c[ldc:][:4]
	if add {
		c00 += r0[0]
		c01 += r0[1]
		c02 += r0[2]
		c03 += r0[3]
		c10 += r1[0]
		c11 += r1[1]
		c12 += r1[2]
		c13 += r1[3]
	}
	r0[0], r0[1], r0[2], r0[3] = c00, c01, c02, c03
	r1[0], r1[1], r1[2], r1[3] = c10, c11, c12, c13
}
