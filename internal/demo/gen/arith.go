package main

import "math"

// mul rounds a product before it is used. Without the conversion the compiler may fuse it with an addition where the
// processor has such an instruction, and the file would depend on the machine.
func mul(a, b float32) float32 { return float32(a * b) }

// exp is e**x for x from -80 to 0, the same on every machine: that of package math is written in assembly for some.
func exp(x float32) float32 {
	const ln2 = 0.693147180559945309
	y := float64(max(x, -80))
	k := math.Floor(y/ln2 + 0.5)
	r := y - float64(k*ln2)
	// Taylor's series for |r| <= ln2/2; the terms left out are below one part in 10^10.
	sum := 1.0
	for n := 9; n > 0; n-- {
		sum = 1 + float64(sum*r)/float64(n)
	}
	return float32(math.Ldexp(sum, int(k)))
}

// panelWidth columns of a matrix are worked on together, so that they stay in the first cache.
const panelWidth = 1024

// addProduct adds a·b to c; a is m×k, b is k×n, c is m×n, row after row.
func addProduct(c, a, b []float32, m, k, n int) {
	for j := 0; j < n; j += panelWidth {
		w := min(panelWidth, n-j)
		for i := range m {
			row := c[i*n+j:][:w]
			p := 0
			for ; p+4 <= k; p += 4 {
				f := a[i*k+p:][:4]
				axpy4(row, f, b[p*n+j:][:w], b[(p+1)*n+j:][:w], b[(p+2)*n+j:][:w], b[(p+3)*n+j:][:w])
			}
			for ; p < k; p++ {
				axpy(row, a[i*k+p], b[p*n+j:][:w])
			}
		}
	}
}

func axpy4(y, f, x0, x1, x2, x3 []float32) {
	f0, f1, f2, f3 := f[0], f[1], f[2], f[3]
	x0, x1, x2, x3 = x0[:len(y)], x1[:len(y)], x2[:len(y)], x3[:len(y)]
	for i := range y {
		y[i] += (mul(f0, x0[i]) + mul(f1, x1[i])) + (mul(f2, x2[i]) + mul(f3, x3[i]))
	}
}

func axpy(y []float32, f float32, x []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += mul(f, x[i])
	}
}

// addOuter adds a·bᵀ to c; a is m×n, b is k×n, c is m×k. Sums of more than a panel are made of those of the panels,
// which also keeps their rounding errors small.
func addOuter(c, a, b []float32, m, k, n int) {
	for j := 0; j < n; j += panelWidth {
		w := min(panelWidth, n-j)
		for i := range m {
			row := a[i*n+j:][:w]
			p := 0
			for ; p+4 <= k; p += 4 {
				dot4(c[i*k+p:][:4], row, b[p*n+j:][:w], b[(p+1)*n+j:][:w], b[(p+2)*n+j:][:w], b[(p+3)*n+j:][:w])
			}
			for ; p < k; p++ {
				c[i*k+p] += dot(row, b[p*n+j:][:w])
			}
		}
	}
}

func dot4(sum, x, y0, y1, y2, y3 []float32) {
	var s0, s1, s2, s3 float32
	y0, y1, y2, y3 = y0[:len(x)], y1[:len(x)], y2[:len(x)], y3[:len(x)]
	for i, v := range x {
		s0 += mul(v, y0[i])
		s1 += mul(v, y1[i])
		s2 += mul(v, y2[i])
		s3 += mul(v, y3[i])
	}
	sum[0] += s0
	sum[1] += s1
	sum[2] += s2
	sum[3] += s3
}

func dot(x, y []float32) float32 {
	var s float32
	y = y[:len(x)]
	for i, v := range x {
		s += mul(v, y[i])
	}
	return s
}

// transpose makes dst n×m of src m×n.
func transpose(dst, src []float32, m, n int) {
	for i := range m {
		for j := range n {
			dst[j*m+i] = src[i*n+j]
		}
	}
}
