package kernels

// Winograd's F(2×2, 3×3): a tile of 2×2 results of a 3×3 convolution comes from 4×4 inputs d by 16 multiplications in
// place of 36, Aᵀ((G g Gᵀ) ⊙ (Bᵀ d B))A, with
//
//	     1  0 -1  0        1    0    0
//	Bᵀ = 0  1  1  0   G = 1/2  1/2  1/2   Aᵀ = 1  1  1  0
//	     0 -1  1  0       1/2 -1/2  1/2        0  1 -1 -1
//	     0  1  0 -1        0    0    1
//
// The sum over input channels goes between the transforms, which makes the ⊙ sixteen matrix products. The functions
// here say what those in assembly compute, operation by operation.

const (
	winogradTile  = 2                           // results of a tile along a dimension
	winogradSpan  = winogradTile + 2            // and inputs
	winogradTerms = winogradSpan * winogradSpan // products
)

// winogradInPlain transforms rows of n tiles: tile i of row r reads the 4×4 elements at src[2r·srcStep+2i], rows srcStep
// apart, and its term p goes to dst[p·dstPlane+r·n+i].
func winogradInPlain(dst []float32, dstPlane int, src []float32, srcStep, rows, n int) {
	for r := range rows {
		for i := range n {
			var v [winogradTerms]float32
			for x := range winogradSpan {
				d := src[2*r*srcStep+2*i+x:]
				d0, d1, d2, d3 := d[0], d[srcStep], d[2*srcStep], d[3*srcStep]
				v[x], v[4+x], v[8+x], v[12+x] = d0-d2, d1+d2, d2-d1, d1-d3
			}
			for p := 0; p < winogradTerms; p += 4 {
				at := dst[p*dstPlane+r*n+i:]
				at[0], at[dstPlane], at[2*dstPlane], at[3*dstPlane] = v[p]-v[p+2], v[p+1]+v[p+2], v[p+2]-v[p+1], v[p+1]-v[p+3]
			}
		}
	}
}

// winogradOutPlain is the way back for tiles in rows of n: rows of width results, dstStep apart, which may end within a
// tile, each min(max(result+bias, lo), hi).
func winogradOutPlain(dst []float32, dstStep int, src []float32, srcPlane, rows, n, width int, bias, lo, hi float32) {
	for y := 0; y < rows; y += 2 {
		for x := 0; x < width; x += 2 {
			var s, t [4]float32
			for c := range 4 {
				m := src[c*srcPlane+y/2*n+x/2:]
				m0, m1, m2, m3 := m[0], m[4*srcPlane], m[8*srcPlane], m[12*srcPlane]
				s[c], t[c] = m1+m0+m2, m1-m2-m3
			}
			for r, v := range [2][4]float32{s, t} {
				if y+r == rows {
					break
				}
				to := dst[(y+r)*dstStep+x:]
				to[0] = atMost(hi, atLeast(lo, v[0]+v[1]+v[2]+bias))
				if x+1 < width {
					to[1] = atMost(hi, atLeast(lo, v[1]-v[2]-v[3]+bias))
				}
			}
		}
	}
}

// winogradFilter is G.
func winogradFilter() [][3]float64 {
	return [][3]float64{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}
}

// filterTerms computes the terms G g Gᵀ of the nine elements of a filter, each rounded once.
func filterTerms(dst, g []float32, matrix [][3]float64) {
	n := len(matrix)
	for y, row := range matrix {
		var h [3]float64
		for x := range h {
			h[x] = float64(row[0]*float64(g[x])) + float64(row[1]*float64(g[3+x])) + float64(row[2]*float64(g[6+x]))
		}
		for x, col := range matrix {
			dst[y*n+x] = float32(float64(h[0]*col[0]) + float64(h[1]*col[1]) + float64(h[2]*col[2]))
		}
	}
}

// panelTilePlain multiplies a panel of eight rows of A, k after k, with cols columns of B, whose rows are ldb apart:
// c = fma(a, b, c) from 0, one k after the other. Rows of C are ldc apart.
func panelTilePlain(cols, k int, a, b []float32, ldb int, c []float32, ldc int) {
	for j := range cols {
		var sum [winogradRows]float32
		for i := range k {
			y := b[i*ldb+j]
			for r, x := range a[i*winogradRows:][:winogradRows] {
				sum[r] = fma32(x, y, sum[r])
			}
		}
		for r, x := range sum {
			c[r*ldc+j] = x
		}
	}
}
